// SPDX-License-Identifier: Apache-2.0
// What the pin models of all hard blocks share: packets from the simulator on their way to an adapter, cut into beats of the pins.
//
// A packet comes here as its dwords in the order of the pins, header first. Up to PIECES packets share a beat; each begins in a lane that
// is a multiple of LANES / PIECES.
#ifndef TP_INCOMING_H
#define TP_INCOMING_H
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>

#include "tp_model.h"

template <unsigned PIECES> class Incoming {
public:
    static constexpr unsigned LANES = TP_MODEL_DATA_WIDTH / 32;
    static constexpr unsigned STEP = LANES / PIECES;

    // What a beat holds of one packet.
    struct Part {
        uint32_t side;  // what stands beside the packet
        bool starts, ends;
        unsigned first, last;  // lanes
    };
    struct Beat {
        std::array<uint32_t, LANES> words;
        std::array<Part, PIECES> parts;
        unsigned count = 0;  // parts
    };

    // The dwords that follow are of a packet of so many.
    void begin(unsigned dwords, uint32_t beside) {
        size = dwords;
        side = beside;
    }

    void add(uint32_t word) {
        queue.push_back({word, size, side});
        size = 0;
    }

    // Between the simulator's packets: the next beat has no room where another one could begin. Within one: the adapter pauses.
    bool full(bool between) const { return queue.size() > (between ? LANES - STEP : 2 * LANES); }

    // Dwords of the packet at the pins that are to come.
    unsigned left() const { return shown; }

    // What waits is lost; the packet at the pins gets its length, but the rest of it means nothing.
    void cut() { queue.assign(shown, {RUBBISH, 0, 0}); }

    // What waits is lost, but not the rest of the packet at the pins. Returns how many packets were lost that have a bit of `marks` beside
    // them.
    unsigned finish(uint32_t marks) {
        unsigned lost = 0;
        for (; queue.size() > shown; queue.pop_back()) lost += queue.back().size > 0 && queue.back().side & marks;
        return lost;
    }

    // Of the packet at the pins, dwords have not come from the simulator yet.
    bool unfinished() const { return queue.size() < shown; }

    // The next beat, if there is one.
    bool next(Beat &beat) {
        beat.words.fill(RUBBISH);
        beat.count = 0;
        for (unsigned lane = 0; lane < LANES && !queue.empty();) {
            const bool starts = shown == 0;
            const unsigned rest = starts ? queue.front().size : shown, count = std::min(LANES - lane, rest);
            if (queue.size() < count) break;
            shown = rest - count;
            beat.parts[beat.count++] = {queue.front().side, starts, shown == 0, lane, lane + count - 1};
            for (unsigned i = 0; i < count; i++, queue.pop_front()) beat.words[lane++] = queue.front().word;
            lane = (lane + STEP - 1) / STEP * STEP;
        }
        return beat.count > 0;
    }

private:
    static constexpr uint32_t RUBBISH = 0xdeadbeef;
    struct Dword {
        uint32_t word;
        unsigned size;  // of the packet that begins with it; otherwise 0
        uint32_t side;
    };

    std::deque<Dword> queue;
    unsigned size = 0, shown = 0;
    uint32_t side = 0;
};
#endif
