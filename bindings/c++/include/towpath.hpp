// SPDX-License-Identifier: Apache-2.0
// Towpath for C++11 and later: handles of towpath.h that give themselves back, and exceptions instead of a status; from C++20 on, spans and
// other contiguous ranges as data. Nothing else: what is not here is called as in C, with get() for the handle, and check() around the
// call. Coroutines: towpath_async.hpp.
#ifndef TOWPATH_HPP
#define TOWPATH_HPP

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#if __cplusplus >= 202002L
#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>
#endif

#include "towpath.h"

namespace towpath {

// What a call that failed says: what happened, on which channel, and what to do.
class error : public std::runtime_error {
public:
    explicit error(towpath_status status)
        : std::runtime_error(towpath_last_error()), status_(status), error_number_(towpath_last_errno()) {}
    towpath_status status() const noexcept { return status_; }
    // As towpath_last_errno().
    int error_number() const noexcept { return error_number_; }

private:
    towpath_status status_;
    int error_number_;
};

// Throws unless the call did what it was asked to.
inline void check(towpath_status status) {
    if (status != TOWPATH_OK) throw error(status);
}

// A struct of towpath.h with its size set, and zeros.
template <typename T> T sized() {
    T value{};
    value.size = sizeof value;
    return value;
}

struct give_back {
    void operator()(towpath_device *device) const noexcept { towpath_close(device); }
    void operator()(towpath_channel *channel) const noexcept { towpath_close_channel(channel); }
    // While a transfer is in flight this does nothing: close its channel first, or declare it after the buffer.
    void operator()(towpath_buffer *buffer) const noexcept { towpath_free_buffer(buffer); }
    void operator()(towpath_memory *memory) const noexcept { towpath_close_memory(memory); }
    void operator()(towpath_received_message *message) const noexcept { towpath_free_message(message); }
};

using device = std::unique_ptr<towpath_device, give_back>;
using channel = std::unique_ptr<towpath_channel, give_back>;
using buffer = std::unique_ptr<towpath_buffer, give_back>;
using memory = std::unique_ptr<towpath_memory, give_back>;
using message = std::unique_ptr<towpath_received_message, give_back>;

inline device open(const std::string &name = "", const towpath_open_options *options = nullptr) {
    towpath_device *opened = nullptr;
    check(towpath_open(name.c_str(), options, &opened));
    return device(opened);
}

inline channel open_channel(const device &device, const std::string &name, towpath_direction direction,
                            const towpath_channel_options *options = nullptr) {
    towpath_channel *opened = nullptr;
    check(towpath_open_channel(device.get(), name.c_str(), direction, options, &opened));
    return channel(opened);
}

inline memory open_memory(const device &device, const std::string &name, const towpath_channel_options *options = nullptr) {
    towpath_memory *opened = nullptr;
    check(towpath_open_memory(device.get(), name.c_str(), options, &opened, nullptr));
    return memory(opened);
}

inline void read(const memory &memory, std::uint64_t address, void *data, std::uint64_t bytes) {
    check(towpath_read_memory(memory.get(), address, data, bytes, TOWPATH_CHANNEL_TIMEOUT, nullptr));
}

inline void write(const memory &memory, std::uint64_t address, const void *data, std::uint64_t bytes) {
    check(towpath_write_memory(memory.get(), address, data, bytes, TOWPATH_CHANNEL_TIMEOUT, nullptr));
}

inline buffer allocate(const device &device, std::uint64_t bytes) {
    towpath_buffer *allocated = nullptr;
    check(towpath_allocate(device.get(), bytes, &allocated));
    return buffer(allocated);
}

inline void send(const channel &channel, const void *data, std::uint64_t bytes, const towpath_message *message = nullptr) {
    check(towpath_send(channel.get(), data, bytes, message, nullptr));
}

inline towpath_received recv(const channel &channel, void *data, std::uint64_t bytes) {
    auto received = sized<towpath_received>();
    check(towpath_recv(channel.get(), data, bytes, &received));
    return received;
}

inline message recv_message(const channel &channel, std::uint64_t nanoseconds = TOWPATH_CHANNEL_TIMEOUT) {
    towpath_received_message *received = nullptr;
    check(towpath_recv_message(channel.get(), nanoseconds, &received));
    return message(received);
}

#if __cplusplus >= 202002L
// Memory whose bytes may be sent: a span, vector, array or string of plain values.
template <typename Range>
concept contiguous_bytes = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
                           std::is_trivially_copyable_v<std::ranges::range_value_t<Range>>;

// What is sent: no text in quotes, with which a zero would go. A std::string_view of it will do.
template <typename Range>
concept sendable_bytes = contiguous_bytes<Range> &&
                         !(std::is_array_v<std::remove_reference_t<Range>> && std::is_same_v<std::ranges::range_value_t<Range>, char>);

// The same, into which may be received: what owns its memory must not be a temporary.
template <typename Range>
concept writable_bytes = contiguous_bytes<Range> && (std::is_lvalue_reference_v<Range> || std::ranges::borrowed_range<Range>) &&
                         !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<Range>>>;

template <contiguous_bytes Range> std::span<const std::byte> bytes_of(const Range &data) {
    return std::as_bytes(std::span(std::ranges::data(data), std::ranges::size(data)));
}

template <writable_bytes Range> std::span<std::byte> writable_bytes_of(Range &&room) {
    return std::as_writable_bytes(std::span(std::ranges::data(room), std::ranges::size(room)));
}

// The memory of a registered buffer.
inline std::span<std::byte> bytes_of(const buffer &buffer) {
    void *data = nullptr;
    std::uint64_t bytes = 0;
    check(towpath_get_buffer(buffer.get(), &data, &bytes));
    return {static_cast<std::byte *>(data), static_cast<std::size_t>(bytes)};
}

inline std::span<const std::byte> bytes_of(const message &message) {
    return {static_cast<const std::byte *>(static_cast<const void *>(message->data)), static_cast<std::size_t>(message->bytes)};
}

template <sendable_bytes Range> void send(const channel &channel, const Range &data, const towpath_message *message = nullptr) {
    const auto bytes = bytes_of(data);
    send(channel, bytes.data(), bytes.size(), message);
}

template <writable_bytes Range> towpath_received recv(const channel &channel, Range &&room) {
    const auto bytes = writable_bytes_of(room);
    return recv(channel, bytes.data(), bytes.size());
}

template <contiguous_bytes Range> void write(const memory &memory, std::uint64_t address, const Range &data) {
    const auto bytes = bytes_of(data);
    write(memory, address, bytes.data(), bytes.size());
}

template <writable_bytes Range> void read(const memory &memory, std::uint64_t address, Range &&room) {
    const auto bytes = writable_bytes_of(room);
    read(memory, address, bytes.data(), bytes.size());
}
#endif

} // namespace towpath

#endif
