// SPDX-License-Identifier: Apache-2.0
// Transfers that stay in flight, from and to memory that the card knows: nothing is copied, and the program may do something else
// meanwhile.
//
//     c++ buffers.cpp $(pkg-config --cflags --libs towpath) -o buffers && ./buffers
//
// Handles give themselves back, and errors are exceptions: see towpath.hpp. What it does not have is called as in C.
#include <algorithm>
#include <iostream>

#include <towpath.hpp>

static unsigned char *bytes(const towpath::buffer &buffer) {
    void *data = nullptr;
    towpath::check(towpath_get_buffer(buffer.get(), &data, nullptr));
    return static_cast<unsigned char *>(data);
}

int main(int argc, char **argv) try {
    const std::uint64_t size = 4096;
    auto card = towpath::open(argc > 1 ? argv[1] : "sim:loopback");
    // Buffers first: what is declared later is closed earlier, and a channel that closes ends its transfers.
    auto source = towpath::allocate(card, size), target = towpath::allocate(card, size);
    auto in = towpath::open_channel(card, "in", TOWPATH_H2C);
    auto out = towpath::open_channel(card, "out", TOWPATH_C2H);

    for (std::uint64_t i = 0; i < size; i++) bytes(source)[i] = static_cast<unsigned char>(i);
    std::uint64_t sent = 0, received = 0;
    towpath::check(towpath_submit(out.get(), target.get(), 0, size, nullptr, TOWPATH_CHANNEL_TIMEOUT, &received));
    towpath::check(towpath_submit(in.get(), source.get(), 0, size, nullptr, TOWPATH_CHANNEL_TIMEOUT, &sent));

    auto completion = towpath::sized<towpath_completion>();
    towpath::check(towpath_wait(out.get(), received, TOWPATH_FOREVER, &completion));
    towpath::check(towpath_wait(in.get(), sent, TOWPATH_FOREVER, nullptr));
    const bool same = std::equal(bytes(source), bytes(source) + size, bytes(target));
    std::cout << completion.bytes << " bytes back, " << (same ? "the same" : "not the same") << "; "
              << towpath_outcome_name(completion.outcome) << '\n';
    return same ? 0 : 1;
} catch (const towpath::error &error) {
    std::cerr << towpath_status_name(error.status()) << ": " << error.what() << '\n';
    return 1;
}
