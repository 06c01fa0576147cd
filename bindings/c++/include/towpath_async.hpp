// SPDX-License-Identifier: Apache-2.0
// Towpath's transfers in coroutines of C++20, under any event loop that watches a file descriptor.
//
// An async_channel has one descriptor, fd(). Whenever it is readable, call dispatch(): that resumes, in this thread, the coroutines whose
// transfers have ended. A program without an event loop takes the small one here, `loop`, with `task` for its coroutines. The channels of
// one loop belong to one thread; other threads have loops and channels of their own.
//
// Destroying a coroutine while it waits cancels its transfer, and the card is done with the memory when that returns. What has arrived by
// then is in the memory, but nobody learns how much it is: to keep count, call cancel() and let the coroutine end by its exception.
#ifndef TOWPATH_ASYNC_HPP
#define TOWPATH_ASYNC_HPP

#include <algorithm>
#include <cerrno>
#include <coroutine>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "towpath.hpp"

namespace towpath {

// How a transfer ended, if not well: the completion has the bytes that moved.
class transfer_error : public error {
public:
    transfer_error(towpath_status status, const towpath_completion &completion) : error(status), completion_(completion) {}
    const towpath_completion &completion() const noexcept { return completion_; }

private:
    towpath_completion completion_;
};

class transfer;

namespace detail {

class descriptor {
public:
    descriptor(int fd, const char *what) : fd_(fd) {
        if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
    }
    descriptor(const descriptor &) = delete;
    descriptor &operator=(const descriptor &) = delete;
    ~descriptor() { ::close(fd_); }
    int get() const noexcept { return fd_; }

private:
    int fd_;
};

// What a channel and its transfers share. It lives as long as any of them.
struct channel_state {
    explicit channel_state(towpath::channel &&channel)
        : handle(std::move(channel)), timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create"),
          both(epoll_create1(EPOLL_CLOEXEC), "epoll_create1") {
        check(towpath_event_fd(handle.get(), &events));
        for (const int fd : {events, timer.get()}) {
            epoll_event interest{};
            interest.events = EPOLLIN;
            if (epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &interest) != 0)
                throw std::system_error(errno, std::generic_category(), "epoll_ctl");
        }
    }

    // The timer looks after what signals nothing here: room that others have made, and news that a call of another thread has consumed.
    void set_timer(long first_nanoseconds, long then_nanoseconds) noexcept {
        itimerspec when{};
        when.it_value.tv_nsec = first_nanoseconds;
        when.it_interval.tv_nsec = then_nanoseconds;
        timerfd_settime(timer.get(), 0, &when, nullptr);
    }
    void look_again() noexcept { set_timer(LOOK, LOOK); }
    void look_now() noexcept { set_timer(1, LOOK); }
    void rest() noexcept { set_timer(0, 0); }

    void drain() noexcept {
        std::uint64_t count = 0;
        for (const int fd : {events, timer.get()})
            while (::read(fd, &count, sizeof count) < 0 && errno == EINTR) {
            }
    }

    static constexpr long LOOK = 100'000'000;

    towpath::channel handle;
    descriptor timer;
    descriptor both;
    int events = -1; // the channel's own
    std::list<transfer *> waiting;
};

} // namespace detail

// One transfer, to be awaited at once: co_await channel.send(...). It begins when it is awaited, and its result is its completion.
class [[nodiscard("co_await it")]] transfer {
public:
    transfer(const transfer &) = delete;
    transfer &operator=(const transfer &) = delete;
    ~transfer() {
        leave();
        if (ticket_) end();
    }

    bool await_ready() { return advance(has_room()); }
    void await_suspend(std::coroutine_handle<> waiter) {
        waiter_ = waiter;
        if (state_->waiting.empty()) state_->look_again();
        place_ = state_->waiting.insert(state_->waiting.end(), this);
        list_ = &state_->waiting;
    }
    towpath_completion await_resume() {
        if (failed_) std::rethrow_exception(failed_);
        return completion_;
    }

private:
    friend class async_channel;

    transfer(std::shared_ptr<detail::channel_state> state, towpath_buffer *memory, std::uint64_t first, std::uint64_t bytes,
             const towpath_message *message, buffer own = nullptr)
        : own_(std::move(own)), state_(std::move(state)), memory_(memory), first_(first), bytes_(bytes) {
        if (message) message_ = *message;
    }

    towpath_channel *handle() const noexcept { return state_->handle.get(); }

    // Transfers that wait for room in the queue go first.
    bool has_room() const noexcept { return state_->waiting.empty() || state_->waiting.back()->ticket_; }

    // Post it, if there may be room, and look whether it has ended; if not, the channel's descriptor signals its end.
    bool advance(bool may_post) {
        if (failed_) return true;
        if (!ticket_) {
            if (!may_post) return false;
            std::uint64_t ticket = 0;
            const auto posted = towpath_submit(handle(), memory_, first_, bytes_, message_ ? &*message_ : nullptr, 0, &ticket);
            if (posted == TOWPATH_QUEUE_FULL) return false;
            if (posted != TOWPATH_OK) return fail(std::make_exception_ptr(error(posted)));
            ticket_ = ticket;
        }
        completion_ = sized<towpath_completion>();
        const auto waited = towpath_wait(handle(), *ticket_, 0, &completion_);
        if (waited == TOWPATH_PENDING || waited == TOWPATH_INTERRUPTED) return false;
        const bool collected = waited != TOWPATH_BUS;
        if (waited != TOWPATH_OK) fail(std::make_exception_ptr(transfer_error(waited, completion_)));
        if (!collected) end();
        ticket_.reset();
        return true;
    }

    bool fail(std::exception_ptr why) noexcept {
        failed_ = std::move(why);
        return true;
    }

    void leave() noexcept {
        if (!list_) return;
        list_->erase(place_);
        list_ = nullptr;
        if (state_->waiting.empty()) state_->rest();
    }

    // The memory is the caller's again: cancel, and wait for the end, which the library brings about if the card does not.
    void end() noexcept {
        towpath_cancel_transfer(handle(), *ticket_);
        towpath_status waited;
        do waited = towpath_wait(handle(), *ticket_, TOWPATH_FOREVER, nullptr);
        while (waited == TOWPATH_INTERRUPTED);
        if (waited == TOWPATH_BUS) towpath_abandon(handle(), *ticket_);
        ticket_.reset();
        if (!state_->waiting.empty()) state_->look_now(); // that wait may have consumed the news of others
    }

    buffer own_; // of memory that is registered for this transfer alone
    std::shared_ptr<detail::channel_state> state_;
    towpath_buffer *memory_;
    std::uint64_t first_, bytes_;
    std::optional<towpath_message> message_;
    std::optional<std::uint64_t> ticket_;
    towpath_completion completion_{};
    std::exception_ptr failed_;
    std::coroutine_handle<> waiter_;
    std::list<transfer *> *list_ = nullptr;
    std::list<transfer *>::iterator place_;
};

// A channel whose transfers coroutines await. It moves; transfers that wait keep the channel open.
class async_channel {
public:
    // Of an open channel on this device. No other call may wait on the channel any more.
    async_channel(const device &device, channel &&channel)
        : device_(device.get()), state_(std::make_shared<detail::channel_state>(std::move(channel))) {}

    // For an event loop: readable when dispatch() is to be called. It stays the channel's.
    int fd() const noexcept { return state_->both.get(); }
    bool waits() const noexcept { return !state_->waiting.empty(); }

    // Resume the coroutines whose transfers have ended. They may do anything, also destroy each other or this channel.
    void dispatch() {
        const auto state = state_;
        state->drain();
        std::list<transfer *> ended;
        bool room = true;
        for (auto next = state->waiting.begin(); next != state->waiting.end();) {
            const auto here = next++;
            transfer &one = **here;
            if (one.advance(room)) {
                ended.splice(ended.end(), state->waiting, here);
                one.list_ = &ended;
            } else {
                room = room && one.ticket_;
            }
        }
        while (!ended.empty()) {
            const auto waiter = ended.front()->waiter_;
            ended.front()->leave();
            waiter.resume();
        }
    }

    // Bytes of a registered buffer, as towpath_submit().
    transfer submit(const buffer &buffer, std::uint64_t first, std::uint64_t bytes, const towpath_message *message = nullptr) {
        return transfer(state_, buffer.get(), first, bytes, message);
    }

    // A message, or a part of one, from memory of the caller's: one transfer, 64 MiB at most (4 MiB through the kernel module).
    template <sendable_bytes Range> transfer send(const Range &data, const towpath_message *message = nullptr) {
        const auto bytes = bytes_of(data);
        return wrapped(const_cast<std::byte *>(bytes.data()), bytes.size(), TOWPATH_ACCESS_READ, message);
    }

    // Into memory of the caller's, until it is full or the message ends: one transfer, as above.
    template <writable_bytes Range> transfer recv(Range &&room) {
        const auto bytes = writable_bytes_of(room);
        return wrapped(bytes.data(), bytes.size(), TOWPATH_ACCESS_WRITE, nullptr);
    }

    // End everything that is awaited: the coroutines get a transfer_error with the bytes that moved.
    void cancel() {
        check(towpath_cancel(get()));
        if (!waits()) return;
        const auto none = sized<towpath_completion>();
        for (auto *one : state_->waiting)
            if (!one->ticket_) one->fail(std::make_exception_ptr(transfer_error(TOWPATH_CANCELLED, none)));
        state_->look_now();
    }

    // For other calls of towpath.h.
    towpath_channel *get() const noexcept { return state_->handle.get(); }

private:
    transfer wrapped(std::byte *data, std::size_t bytes, std::uint32_t access, const towpath_message *message) {
        static std::byte nothing; // an empty message needs a place, too
        towpath_buffer *made = nullptr;
        check(towpath_wrap(device_, bytes ? data : &nothing, bytes ? bytes : 1, access, &made));
        return transfer(state_, made, 0, bytes, message, buffer(made));
    }

    towpath_device *device_;
    std::shared_ptr<detail::channel_state> state_;
};

template <typename T = void> class task;

namespace detail {

struct promise_base {
    std::coroutine_handle<> then = std::noop_coroutine();
    std::exception_ptr failed;

    struct last {
        bool await_ready() noexcept { return false; }
        template <typename Promise> std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
            return self.promise().then;
        }
        void await_resume() noexcept {}
    };

    std::suspend_always initial_suspend() noexcept { return {}; }
    last final_suspend() noexcept { return {}; }
    void unhandled_exception() noexcept { failed = std::current_exception(); }
};

template <typename T> struct promise : promise_base {
    std::optional<T> value;
    task<T> get_return_object();
    template <typename U> void return_value(U &&result) { value.emplace(std::forward<U>(result)); }
    T result() {
        if (failed) std::rethrow_exception(failed);
        return std::move(*value);
    }
};

template <> struct promise<void> : promise_base {
    task<void> get_return_object();
    void return_void() noexcept {}
    void result() {
        if (failed) std::rethrow_exception(failed);
    }
};

} // namespace detail

// A coroutine that begins when it is awaited or started in a loop; destroying it destroys what it awaits.
template <typename T> class [[nodiscard("co_await it, or start it in a loop")]] task {
public:
    using promise_type = detail::promise<T>;

    explicit task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
    task(task &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    task &operator=(task &&other) noexcept {
        if (this != &other) {
            if (handle_) handle_.destroy();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    ~task() {
        if (handle_) handle_.destroy();
    }

    bool await_ready() const noexcept { return handle_.done(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> then) noexcept {
        handle_.promise().then = then;
        return handle_;
    }
    T await_resume() { return handle_.promise().result(); }

    // Without awaiting it, for event loops: begin, see whether it has ended, and take its result or exception.
    void begin() { handle_.resume(); }
    bool done() const noexcept { return !handle_ || handle_.done(); }
    T result() { return handle_.promise().result(); }

private:
    std::coroutine_handle<promise_type> handle_;
};

template <typename T> task<T> detail::promise<T>::get_return_object() {
    return task<T>(std::coroutine_handle<promise<T>>::from_promise(*this));
}
inline task<void> detail::promise<void>::get_return_object() {
    return task<void>(std::coroutine_handle<promise<void>>::from_promise(*this));
}

// An event loop for programs that have none. Its channels live longer than it does.
class loop {
public:
    void watch(async_channel &channel) { channels_.push_back(&channel); }

    // Begin a coroutine: it runs until it first waits.
    void start(task<> begun) {
        tasks_.push_back(std::move(begun));
        tasks_.back().begin();
    }

    // Until all have ended. The first exception leaves them: what still waits goes on with the next run(), or is destroyed with the loop.
    void run() {
        while (!all_ended()) {
            if (std::none_of(channels_.begin(), channels_.end(), [](const auto *channel) { return channel->waits(); }))
                throw std::logic_error("a task waits, and no channel that this loop watches is to wake it");
            std::vector<pollfd> polled;
            for (const auto *channel : channels_) polled.push_back({channel->fd(), POLLIN, 0});
            if (::poll(polled.data(), polled.size(), -1) < 0) {
                if (errno == EINTR) continue;
                throw std::system_error(errno, std::generic_category(), "poll");
            }
            for (std::size_t i = 0; i < polled.size(); i++)
                if (polled[i].revents) channels_[i]->dispatch();
        }
    }

private:
    bool all_ended() {
        for (auto next = tasks_.begin(); next != tasks_.end();) {
            const auto here = next++;
            if (!here->done()) continue;
            task<> ended = std::move(*here);
            tasks_.erase(here);
            ended.result();
        }
        return tasks_.empty();
    }

    std::vector<async_channel *> channels_;
    std::list<task<>> tasks_;
};

} // namespace towpath

#endif
