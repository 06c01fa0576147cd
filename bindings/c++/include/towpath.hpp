// SPDX-License-Identifier: Apache-2.0
// Towpath for C++11 and later: handles of towpath.h that give themselves back, and exceptions instead of a status. Nothing else: what is
// not here is called as in C, with get() for the handle, and check() around the call.
#ifndef TOWPATH_HPP
#define TOWPATH_HPP

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

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

} // namespace towpath

#endif
