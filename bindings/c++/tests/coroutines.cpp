// SPDX-License-Identifier: Apache-2.0
// towpath_async.hpp and the spans of towpath.hpp: random messages through the loopback, many transfers at once, coroutines that are
// destroyed while they wait, cancels, resets, exceptions, another event loop, threads. TOWPATH_SEED repeats a run.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <towpath_async.hpp>

static int failed = 0;

static void expect(bool so, const char *what) {
    if (so) return;
    std::cerr << "not so: " << what << '\n';
    failed = 1;
}

using bytes = std::vector<unsigned char>;
using random_numbers = std::mt19937_64;

static std::size_t below(random_numbers &random, std::size_t limit) { return random() % limit; }

static bytes random_bytes(random_numbers &random, std::size_t count) {
    bytes made(count);
    for (auto &one : made) one = static_cast<unsigned char>(random());
    return made;
}

static towpath_message part(bool end) {
    auto message = towpath::sized<towpath_message>();
    message.flags = end ? 0 : TOWPATH_MORE;
    return message;
}

// A loopback, and its two channels.
struct card {
    explicit card(const char *name = "sim:loopback")
        : device(towpath::open(name)), in(device, towpath::open_channel(device, "in", TOWPATH_H2C)),
          out(device, towpath::open_channel(device, "out", TOWPATH_C2H)) {
        loop.watch(in);
        loop.watch(out);
    }
    towpath::device device;
    towpath::async_channel in, out;
    towpath::loop loop;
};

static towpath::task<> send_all(towpath::async_channel &in, const std::vector<bytes> &messages, std::uint64_t seed) {
    random_numbers random(seed);
    for (const auto &message : messages) {
        std::size_t at = 0;
        do {
            const auto count = std::min(message.size() - at, 1 + below(random, 5000));
            at += count;
            const auto about = part(at == message.size());
            const auto done = co_await in.send(std::span(message).subspan(at - count, count), &about);
            expect(done.bytes == count, "a send moves what it is given");
        } while (at < message.size());
    }
}

static towpath::task<bytes> recv_one(towpath::async_channel &out, random_numbers &random) {
    bytes message;
    for (;;) {
        bytes piece(1 + below(random, 4000));
        const auto done = co_await out.recv(piece);
        message.insert(message.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(done.bytes));
        if (done.outcome == TOWPATH_OUTCOME_END_OF_MESSAGE) co_return message;
    }
}

static towpath::task<> recv_all(towpath::async_channel &out, const std::vector<bytes> &messages, std::uint64_t seed) {
    random_numbers random(seed);
    for (const auto &message : messages) expect(co_await recv_one(out, random) == message, "each message comes back, byte for byte");
}

static void random_messages(std::uint64_t seed, std::size_t count) {
    random_numbers random(seed);
    card card;
    std::vector<bytes> messages{{}, bytes(1, 7), random_bytes(random, 70'000)};
    while (messages.size() < count) messages.push_back(random_bytes(random, below(random, 9000)));
    card.loop.start(recv_all(card.out, messages, random()));
    card.loop.start(send_all(card.in, messages, random()));
    card.loop.run();
}

static towpath::task<> send_one(towpath::async_channel &in, const bytes &message) { co_await in.send(message); }

static towpath::task<> recv_number(towpath::async_channel &out, std::size_t number, std::size_t &all) {
    std::array<std::uint32_t, 2> got{};
    const auto done = co_await out.recv(got);
    expect(done.bytes == 4 && got[0] == number, "transfers take messages in the order in which they were awaited");
    all++;
}

// More than the queue holds: those that wait for room go before later ones, also when one that is destroyed makes room.
static void many_at_once() {
    card card;
    const std::uint32_t count = 300;
    std::size_t all = 0;
    std::vector<bytes> messages(count, bytes(4));
    for (std::uint32_t i = 0; i < count; i++) std::memcpy(messages[i].data(), &i, sizeof i);
    {
        auto destroyed = recv_number(card.out, 0, all);
        destroyed.begin();
        for (std::uint32_t i = 0; i < count - 1; i++) card.loop.start(recv_number(card.out, i, all));
    }
    card.loop.start(recv_number(card.out, count - 1, all));
    for (const auto &message : messages) card.loop.start(send_one(card.in, message));
    card.loop.run();
    expect(all == count, "all have come");
}

static towpath::task<> recv_into(towpath::async_channel &out, bytes &room, std::size_t &got) { got = (co_await out.recv(room)).bytes; }

// Dispatch until it has ended.
static void finish(towpath::async_channel &channel, const towpath::task<> &task) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!task.done()) {
        pollfd polled{channel.fd(), POLLIN, 0};
        if (::poll(&polled, 1, 20'000) != 1 || std::chrono::steady_clock::now() > end)
            return expect(false, "a transfer has its news in time");
        channel.dispatch();
    }
}

static void destroyed_while_it_waits(random_numbers &random) {
    card card;
    bytes dead(64, 0xee), room(64);
    std::size_t got = 0;
    for (int round = 0; round < 20; round++) {
        auto other = recv_into(card.out, room, got); // behind the one that is destroyed, or before it
        const bool before = below(random, 2) != 0;
        got = 0;
        if (before) other.begin();
        {
            auto waiting = recv_into(card.out, dead, got);
            waiting.begin();
            expect(!waiting.done(), "nothing has come yet");
            if (!before) other.begin();
        }
        const auto message = random_bytes(random, 1 + below(random, 64));
        card.loop.start(send_one(card.in, message));
        card.loop.run();
        finish(card.out, other);
        if (failed) return;
        other.result();
        expect(got == message.size() && std::equal(message.begin(), message.end(), room.begin()), "the other one got all of it");
        expect(std::all_of(dead.begin(), dead.end(), [](unsigned char one) { return one == 0xee; }), "dead memory is left alone");
    }
    expect(!card.out.waits(), "nobody waits");
}

// A coroutine that destroys others, one of which has ended in the same dispatch.
static towpath::task<> recv_and_destroy(towpath::async_channel &out, std::vector<towpath::task<>> &others) {
    bytes room(8);
    co_await out.recv(room);
    others.clear();
}

static void destroyed_by_another() {
    card card;
    std::vector<towpath::task<>> others;
    std::vector<bytes> rooms(4, bytes(8));
    std::size_t got = 0;
    auto first = recv_and_destroy(card.out, others);
    first.begin();
    for (auto &room : rooms) {
        others.push_back(recv_into(card.out, room, got));
        others.back().begin();
    }
    for (int i = 0; i < 2; i++) towpath::check(towpath_send(card.in.get(), "message", 7, nullptr, nullptr));
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // so that both have most likely ended
    while (!first.done()) card.out.dispatch();
    first.result();
    expect(!card.out.waits(), "all others are gone");
}

static towpath_status status_of(towpath::task<> &task) {
    try {
        task.result();
    } catch (const towpath::error &error) {
        expect(!std::string_view(error.what()).empty(), "the text is kept");
        return error.status();
    }
    return TOWPATH_OK;
}

static void ends_that_are_errors() {
    card card;
    bytes room(16);
    std::size_t got = 0;
    auto cancelled = recv_into(card.out, room, got);
    cancelled.begin();
    card.out.cancel();
    finish(card.out, cancelled);
    expect(status_of(cancelled) == TOWPATH_CANCELLED, "a cancel is an exception");

    // Those, too, that wait for room in the card's queue.
    std::vector<bytes> rooms(100, bytes(64));
    std::vector<std::uint64_t> came(rooms.size());
    std::vector<towpath::task<>> tasks;
    for (std::size_t i = 0; i < rooms.size(); i++) tasks.push_back(recv_into(card.out, rooms[i], came[i]));
    for (auto &task : tasks) task.begin();
    card.out.cancel();
    for (auto &task : tasks) finish(card.out, task);
    for (auto &task : tasks) expect(status_of(task) == TOWPATH_CANCELLED, "a cancel ends what waits for room");
    auto reset = recv_into(card.out, room, got);
    reset.begin();
    towpath::check(towpath_reset(card.device.get()));
    finish(card.out, reset);
    expect(status_of(reset) == TOWPATH_RESET, "a reset is an exception");
    auto wrong = send_one(card.out, room);
    wrong.begin();
    expect(wrong.done() && status_of(wrong) == TOWPATH_INVALID, "what cannot begin is an exception at once");

    // A loop hands on the first exception, and the rest goes on with the next run.
    card.loop.start(send_one(card.out, room));
    card.loop.start(recv_into(card.out, room, got));
    card.loop.start(send_one(card.in, bytes(3, 1)));
    try {
        card.loop.run();
        expect(false, "a loop hands on an exception");
    } catch (const towpath::error &error) {
        expect(error.status() == TOWPATH_INVALID, "which one");
    }
    card.loop.run();
    expect(got == 3, "the others have gone on");
}

// Handles move while transfers are in flight, and the channel stays open as long as one waits.
static void moved_handles() {
    auto device = towpath::open("sim:loopback");
    bytes room(16);
    std::size_t got = 0;
    towpath::async_channel moved(device, towpath::open_channel(device, "out", TOWPATH_C2H));
    auto waiting = recv_into(moved, room, got);
    waiting.begin();
    auto out = std::move(moved);
    towpath::send(towpath::open_channel(device, "in", TOWPATH_H2C), std::string_view("abc"));
    finish(out, waiting);
    expect(got == 3, "a moved channel goes on");
    auto last = std::make_unique<towpath::async_channel>(std::move(out));
    auto left = recv_into(*last, room, got);
    left.begin();
    last.reset();
    try {
        towpath::open_channel(device, "out", TOWPATH_C2H);
        expect(false, "a channel with a transfer that waits is open");
    } catch (const towpath::error &error) {
        expect(error.status() == TOWPATH_CHANNEL_IN_USE, "it is in use");
    }
    {
        const auto destroyed = std::move(left);
    }
    auto again = towpath::open_channel(device, "out", TOWPATH_C2H);
    auto assigned = std::move(again);
    expect(!again && assigned, "what was moved from is empty");
}

// Under a loop that knows nothing of Towpath: epoll, by hand.
static void another_event_loop() {
    card card;
    bytes room(100), message(100, 9);
    std::size_t got = 0;
    auto receiving = recv_into(card.out, room, got), sending = send_one(card.in, message);
    receiving.begin();
    sending.begin();
    const int all = epoll_create1(EPOLL_CLOEXEC);
    for (auto *channel : {&card.in, &card.out}) {
        epoll_event interest{};
        interest.events = EPOLLIN;
        interest.data.ptr = channel;
        epoll_ctl(all, EPOLL_CTL_ADD, channel->fd(), &interest);
    }
    while (!receiving.done() || !sending.done()) {
        epoll_event event{};
        if (epoll_wait(all, &event, 1, 20'000) != 1) return expect(false, "the descriptors become readable");
        static_cast<towpath::async_channel *>(event.data.ptr)->dispatch();
    }
    receiving.result(), sending.result();
    expect(got == 100 && room == message, "it came");
    epoll_event event{};
    epoll_wait(all, &event, 1, 300); // what is left over
    card.in.dispatch(), card.out.dispatch();
    expect(epoll_wait(all, &event, 1, 300) == 0, "nothing is readable while nobody waits");
    ::close(all);
}

static void spans(random_numbers &random) {
    auto device = towpath::open("sim:loopback");
    auto in = towpath::open_channel(device, "in", TOWPATH_H2C);
    auto out = towpath::open_channel(device, "out", TOWPATH_C2H);
    const std::array<double, 3> numbers{1.5, 2.5, 3.5};
    towpath::send(in, numbers);
    std::vector<double> back(3);
    expect(towpath::recv(out, back).bytes == sizeof numbers && std::equal(back.begin(), back.end(), numbers.begin()), "numbers");
    for (int round = 0; round < 50; round++) {
        const auto message = random_bytes(random, below(random, 3000));
        towpath::send(in, message);
        auto buffer = towpath::allocate(device, 3000);
        const auto got = towpath::recv(out, towpath::bytes_of(buffer));
        expect(got.bytes == message.size() && std::memcmp(towpath::bytes_of(buffer).data(), message.data(), got.bytes) == 0,
               "random bytes");
    }
    towpath::send(in, std::string("text"));
    const auto message = towpath::recv_message(out);
    expect(towpath::bytes_of(message).size() == 4, "a message is a span");
    static_assert(!towpath::writable_bytes<const bytes &> && !towpath::writable_bytes<bytes> && towpath::writable_bytes<std::span<int>>);
    static_assert(!towpath::contiguous_bytes<std::vector<std::string>>);
}

int main() try {
    const char *given = std::getenv("TOWPATH_SEED");
    const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "TOWPATH_SEED=" << seed << std::endl;
    random_numbers random(seed);
    spans(random);
    random_messages(random(), 40);
    many_at_once();
    destroyed_while_it_waits(random);
    destroyed_by_another();
    ends_that_are_errors();
    moved_handles();
    another_event_loop();
    // Each thread has a card, channels and a loop of its own.
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) threads.emplace_back(random_messages, random(), 12);
    for (auto &thread : threads) thread.join();
    return failed;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 1;
}
