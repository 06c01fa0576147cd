// SPDX-License-Identifier: Apache-2.0
// towpath.hpp: handles give themselves back, in any order of ends, and errors are thrown with their status and text.
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <utility>

#include <towpath.hpp>

static int failed = 0;

static void expect(bool so, const char *what) {
    if (so) return;
    std::cerr << "not so: " << what << '\n';
    failed = 1;
}

int main() {
    try {
        towpath::open("teapot:1");
        expect(false, "a device of an unknown kind is refused");
    } catch (const towpath::error &error) {
        expect(error.status() == TOWPATH_UNKNOWN_SCHEME && error.error_number() == EINVAL, "status and errno are kept");
        expect(std::string(error.what()).find("teapot:1") != std::string::npos, "the text is kept");
    }

    auto card = towpath::open("sim:loopback");
    auto in = towpath::open_channel(card, "in", TOWPATH_H2C);
    auto out = towpath::open_channel(card, "out", TOWPATH_C2H);
    auto message = towpath::sized<towpath_message>();
    message.user = 7;
    towpath::send(in, "hello", 5, &message);
    char got[3];
    auto received = towpath::recv(out, got, sizeof got);
    expect(received.bytes == 3 && received.end_of_message == 0 && received.user == 7, "the first part comes with its user word");
    auto rest = towpath::recv_message(out);
    expect(rest->bytes == 2 && std::memcmp(rest->data, "lo", 2) == 0, "the rest comes");

    // A channel that is opened twice throws, and leaves the first as it was; given back, it can be opened again.
    try {
        towpath::open_channel(card, "in", TOWPATH_H2C);
        expect(false, "a channel in use is refused");
    } catch (const towpath::error &error) {
        expect(error.status() == TOWPATH_CHANNEL_IN_USE, "a channel in use says so");
    }
    towpath::channel moved = std::move(in);
    moved.reset();
    in = towpath::open_channel(card, "in", TOWPATH_H2C);

    auto pad = towpath::open("sim:scratchpad");
    auto ram = towpath::open_memory(pad, "ram");
    towpath::write(ram, 3, "hello", 5);
    char back[5];
    towpath::read(ram, 3, back, sizeof back);
    expect(std::memcmp(back, "hello", sizeof back) == 0, "a memory keeps what was written");
    try {
        towpath::read(ram, UINT64_MAX, back, sizeof back);
        expect(false, "what is not in the memory is refused");
    } catch (const towpath::error &error) {
        expect(error.status() == TOWPATH_INVALID, "what is not in the memory is invalid");
    }

    // The device's handle goes before what was made from it.
    auto memory = towpath::allocate(card, 64);
    card.reset();
    std::uint64_t ticket = 0;
    towpath::check(towpath_submit(in.get(), memory.get(), 0, 64, nullptr, TOWPATH_CHANNEL_TIMEOUT, &ticket));
    towpath::check(towpath_wait(in.get(), ticket, TOWPATH_FOREVER, nullptr));
    return failed;
}
