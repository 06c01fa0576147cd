// SPDX-License-Identifier: Apache-2.0
// The demo in C++20: a picture goes through the core "sobel" and comes back as its edges, both directions at once, by two coroutines; the
// result is compared with the same filter computed here.
//
//     c++ -std=c++20 edges.cpp $(pkg-config --cflags --libs towpath) -o edges && ./edges picture.pgm edges.pgm
//
// Pictures are 8-bit PGM (P5). Without arguments it draws one of its own. TOWPATH_DEVICE names a card, or else the core is simulated.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <towpath_async.hpp>

struct picture {
    std::uint32_t width = 0, height = 0;
    std::vector<unsigned char> pixels;
    int at(std::uint32_t x, std::uint32_t y) const { return pixels[y * std::size_t{width} + x]; }
};

static picture drawn() {
    picture made{200, 150, {}};
    for (std::uint32_t y = 0; y < made.height; y++)
        for (std::uint32_t x = 0; x < made.width; x++)
            made.pixels.push_back(static_cast<unsigned char>((x - 100) * (x - 100) + (y - 75) * (y - 75) < 2500 ? 200 : x + y / 2));
    return made;
}

static picture load(const char *name) {
    std::ifstream file(name, std::ios::binary);
    std::string magic;
    unsigned most = 0;
    picture loaded;
    file >> magic >> loaded.width >> loaded.height >> most;
    file.get();
    if (!file || magic != "P5" || most != 255 || loaded.width < 3 || loaded.width > 4096 || loaded.height == 0 || loaded.height > 1 << 16)
        throw std::runtime_error(std::string(name) + ": not an 8-bit PGM (P5) of 3 to 4096 pixels in a row");
    loaded.pixels.resize(loaded.width * std::size_t{loaded.height});
    file.read(reinterpret_cast<char *>(loaded.pixels.data()), static_cast<std::streamsize>(loaded.pixels.size()));
    if (!file) throw std::runtime_error(std::string(name) + ": ends too early");
    return loaded;
}

static void store(const picture &edges, const char *name) {
    std::ofstream file(name, std::ios::binary);
    file << "P5\n" << edges.width << ' ' << edges.height << "\n255\n";
    file.write(reinterpret_cast<const char *>(edges.pixels.data()), static_cast<std::streamsize>(edges.pixels.size()));
    if (!file.flush()) throw std::runtime_error(std::string(name) + ": cannot be written");
}

// What the core computes: |gx| + |gy|, at most 255, and 0 on the border.
static picture filtered(const picture &p) {
    picture edges{p.width, p.height, std::vector<unsigned char>(p.pixels.size())};
    for (std::uint32_t y = 1; y + 1 < p.height; y++) {
        for (std::uint32_t x = 1; x + 1 < p.width; x++) {
            int gx = 0, gy = 0;
            for (int d = -1; d <= 1; d++) {
                const int weight = d == 0 ? 2 : 1;
                gx += weight * (p.at(x + 1, y + d) - p.at(x - 1, y + d));
                gy += weight * (p.at(x + d, y + 1) - p.at(x + d, y - 1));
            }
            edges.pixels[y * std::size_t{p.width} + x] = static_cast<unsigned char>(std::min(255, std::abs(gx) + std::abs(gy)));
        }
    }
    return edges;
}

static constexpr std::size_t PIECE = 16 * 1024;

static towpath::task<> send(towpath::async_channel &pixels, std::span<const unsigned char> rest) {
    while (!rest.empty()) {
        const auto piece = rest.first(std::min(PIECE, rest.size()));
        rest = rest.subspan(piece.size());
        auto message = towpath::sized<towpath_message>();
        message.flags = rest.empty() ? 0 : TOWPATH_MORE;
        co_await pixels.send(piece, &message);
    }
}

static towpath::task<> receive(towpath::async_channel &edges, std::span<unsigned char> rest) {
    while (!rest.empty()) {
        const auto done = co_await edges.recv(rest.first(std::min(PIECE, rest.size())));
        rest = rest.subspan(done.bytes);
    }
}

int main(int argc, char **argv) try {
    const auto given = argc > 1 ? load(argv[1]) : drawn();
    const char *name = std::getenv("TOWPATH_DEVICE");
    auto card = towpath::open(name && *name ? name : "sim:sobel");
    towpath::check(towpath_write_register_name(card.get(), "width", given.width));
    towpath::check(towpath_write_register_name(card.get(), "height", given.height));
    towpath::async_channel pixels(card, towpath::open_channel(card, "pixels", TOWPATH_H2C));
    towpath::async_channel edges(card, towpath::open_channel(card, "edges", TOWPATH_C2H));

    picture result{given.width, given.height, std::vector<unsigned char>(given.pixels.size())};
    towpath::loop loop;
    loop.watch(pixels);
    loop.watch(edges);
    loop.start(receive(edges, result.pixels));
    loop.start(send(pixels, given.pixels));
    loop.run();

    if (argc > 2) store(result, argv[2]);
    const bool same = result.pixels == filtered(given).pixels;
    std::cout << given.width << " x " << given.height << " pixels: " << (same ? "identical to" : "not") << " the host's filter\n";
    return same ? 0 : 1;
} catch (const std::exception &error) {
    std::cerr << "edges: " << error.what() << '\n';
    return 1;
}
