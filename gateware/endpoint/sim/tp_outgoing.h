// SPDX-License-Identifier: Apache-2.0
// What the pin models of all hard blocks share: a packet that an adapter hands over at a block's pins, on its way to the simulator in beats
// of a neutral stream; and the end of a run when the adapter breaks a rule of the block's.
//
// At the pins a header takes room of the first beats, in a neutral stream it stands beside the payload. So a beat at the pins completes one
// neutral beat, none, or at a packet's end two: only then the pins wait a clock longer than they need to.
#ifndef TP_OUTGOING_H
#define TP_OUTGOING_H
#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include "tp_model.h"

// The adapter has broken a rule: ends the run with this text, as a failed assertion would.
[[noreturn]] __attribute__((format(printf, 1, 2))) inline void breach(const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    throw std::runtime_error(text);
}

class Outgoing {
public:
    enum Kind { NONE, WRITE, READ, ANSWER };
    static constexpr unsigned LANES = TP_MODEL_DATA_WIDTH / 32;

    Kind kind = NONE; // NONE: there is no packet
    // Of these, the one of `kind` holds the header.
    tp_model_write write{};
    tp_model_read read{};
    tp_model_answer answer{};

    // The header is whole; so many dwords of payload follow it.
    void begin(Kind what, unsigned payload) {
        kind = what;
        dwords = payload;
        have = given = 0;
    }

    void add(uint32_t dword) { data[have++] = dword; }

    // A beat is shown to the simulator.
    bool offers() const { return kind != NONE && (have == dwords || have - given >= LANES); }

    // Beats for the simulator that are complete.
    unsigned waits() const {
        if (kind == NONE) return 0;
        return have == dwords ? std::max(1u, (dwords - given + LANES - 1) / LANES) : (have - given) / LANES;
    }

    // The simulator has a part of the packet, or is shown one.
    bool committed() const { return given > 0 || offers(); }

    // The simulator has a part of the packet.
    bool inside() const { return kind != NONE && given > 0; }

    bool ready(const tp_model_in &in) const {
        return offers() && (kind == WRITE ? in.posted_ready : kind == READ ? in.read_ready : in.answer_ready);
    }

    // The beat that was shown has been taken. Returns whether it was the packet's last.
    bool taken() {
        given = std::min(dwords, given + LANES);
        if (given < dwords) return false;
        kind = NONE;
        return true;
    }

    // The rest of it will not come, and means nothing: the simulator gets zeros.
    void fill() {
        std::fill(data + have, data + dwords, 0);
        have = dwords;
    }

    void show(tp_model_out &out) const {
        if (!offers()) return;
        const uint8_t last = dwords - given <= LANES;
        if (kind == READ) {
            out.read = read;
            out.read.valid = 1;
        } else if (kind == WRITE) {
            out.posted = write;
            out.posted.valid = 1;
            out.posted.last = last;
            std::copy_n(data + given, LANES, out.posted.data);
        } else {
            out.answer = answer;
            out.answer.valid = 1;
            out.answer.last = last;
            std::copy_n(data + given, LANES, out.answer.data);
        }
    }

private:
    unsigned dwords = 0, have = 0, given = 0;
    uint32_t data[1024 + TP_MODEL_LANES] = {};
};
#endif
