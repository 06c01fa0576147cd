// SPDX-License-Identifier: Apache-2.0
// A card without gateware, written against tp_model.h alone: it moves memory when its registers say so, and breaks a rule on demand.
// Tests of the simulator use it; it is as strict about what it is told as the simulator is about what it does.
//
// BAR 0: discovery in page 0 (1 channel, 4 vectors, 4 KiB window); in page 4: source 0x00, target 0x08, length 0x10, vector 0x14, go 0x18
// (COPY, WRITE, READ, or a misdeed), last status of a completion 0x1c; posted writes to page 6 are logged, and read back from page 7 as
// the offsets in order of arrival. BAR 2 and page 6 are memory.
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "tp_model.h"

#ifndef WIDTH
#define WIDTH 128
#endif
#ifndef USER_KHZ
#define USER_KHZ 0
#endif

namespace {

enum { COPY = 1, WRITE, READ, CROSS_PAGE, TOO_LONG, HOLES, TAG_TWICE, RETRACT, SHORT_PACKET, FATAL, FINISH, DISPLAY, SILENT, HOLD };
const unsigned LANES = WIDTH / 32;

struct Packet {
    uint64_t addr;
    unsigned first_be, last_be, dwords;
    std::vector<uint32_t> data;
    unsigned sent = 0;
};

struct Tag {
    bool busy = false;
    uint64_t at = 0;  // address of the next byte
    unsigned left = 0, into = 0;
};

struct Card {
    tp_model_print print;
    void *context;
    tp_model_config config{};
    uint8_t registers[0x20]{}, window[4096]{}, page[4096]{};
    std::vector<uint32_t> log;
    std::deque<Packet> writes;
    std::deque<tp_model_read> reads;
    std::deque<tp_model_answer> answers;
    Tag tags[256];
    std::vector<uint8_t> buffer;
    unsigned asked = 0, landed = 0, length = 0, kind = 0, credits_due = 4;
    bool last_posted = true, silent = false, retract = false, resetting = false, holds = false;
    unsigned status = 0;
    uint64_t src = 0, dst = 0;

    void say(int what, const char *format, ...) {
        char text[256];
        va_list list;
        va_start(list, format);
        int n = vsnprintf(text, sizeof text, format, list);
        va_end(list);
        print(context, what, text, n);
    }

    void fail(const char *why) {
        say(0, "fake_card.cpp: %s\n", why);
        say(2, "fake_card.cpp:1");
    }

    template <class T> T reg(unsigned at) {
        T value;
        memcpy(&value, registers + at, sizeof value);
        return value;
    }

    uint32_t word(unsigned bar, unsigned offset) {
        uint32_t value = 0;
        if (bar == 2) {
            memcpy(&value, window + offset % 4096, 4);
        } else if (offset < 0x1000) {
            uint8_t header[64] = {'T', 'O', 'W', 'P', 'A', 'T', 'H', 0, 2, 0, 0, 0, 0, 1, 12, WIDTH / 8, 1, 0};
            header[0x16] = 4;     // vectors
            header[0x1d] = 0x10;  // window_bytes 0x1000
            if (offset < 64) memcpy(&value, header + offset, 4);
        } else if (offset >> 12 == 4) {
            if (offset % 0x1000 == 0x1c)
                value = status;
            else
                memcpy(&value, registers + offset % 0x20, 4);
        } else if (offset >> 12 == 6) {
            memcpy(&value, page + offset % 4096, 4);
        } else if (offset >> 12 == 7) {
            unsigned index = offset % 4096 / 4;
            value = index < log.size() ? log[index] : 0xffffffff;
        }
        return value;
    }

    void queue_write(uint64_t addr, const uint8_t *bytes, unsigned n) {
        Packet p;
        unsigned lead = addr & 3;
        p.addr = addr - lead;
        p.dwords = (lead + n + 3) / 4;
        p.data.resize(p.dwords);
        memcpy(reinterpret_cast<uint8_t *>(p.data.data()) + lead, bytes, n);
        unsigned end = (lead + n - 1) % 4 + 1, low = (0xf << lead) & 0xf, high = 0xf >> (4 - end);
        p.first_be = p.dwords == 1 ? low & high : low;
        p.last_be = p.dwords == 1 ? 0 : high;
        writes.push_back(p);
    }

    void write_out() {
        unsigned mps = 128u << config.max_payload;
        for (unsigned at = 0; at < length;) {
            unsigned n = mps - (dst + at) % mps;
            if (n > length - at) n = length - at;
            queue_write(dst + at, buffer.data() + at, n);
            at += n;
        }
        uint32_t vector = reg<uint32_t>(0x14);
        if (vector < 4) queue_write(0xfee00000, reinterpret_cast<uint8_t *>(&vector), 4);
    }

    void go(unsigned what) {
        kind = what;
        src = reg<uint64_t>(0);
        dst = reg<uint64_t>(8);
        length = reg<uint32_t>(0x10);
        asked = landed = 0;
        status = 0;
        const uint8_t nothing[4096] = {};
        switch (what) {
        case COPY:
        case READ:
            buffer.assign(length, 0);
            if (length == 0) write_out();
            break;
        case WRITE:
            buffer.resize(length);
            for (unsigned i = 0; i < length; i++) buffer[i] = uint8_t(i * 7 + (i >> 8));
            write_out();
            break;
        case CROSS_PAGE:
            queue_write(dst - dst % 4096 + 4096 - 8, nothing, 16);
            break;
        case TOO_LONG:
            queue_write(dst - dst % 4096, nothing, (128u << config.max_payload) + 4);
            break;
        case HOLES:
            queue_write(dst, nothing, 32);
            writes.back().first_be = 5;
            break;
        case SHORT_PACKET:
            queue_write(dst, nothing, 64);
            writes.back().dwords = 20;
            break;
        case TAG_TWICE:
            for (int i = 0; i < 2; i++) reads.push_back({src & ~3ull, 1, 9, 15, 0, 0, 1});
            break;
        case RETRACT:
            retract = true;
            break;
        case FATAL:
            fail("the core is unhappy");
            break;
        case FINISH:
            say(1, "core.sv:7");
            break;
        case DISPLAY:
            say(0, "length is %u\n", length);
            break;
        case SILENT:
            silent = !silent;
            break;
        case HOLD:
            holds = true;
            break;
        }
    }

    void issue() {
        if ((kind != COPY && kind != READ) || asked >= length) return;
        for (unsigned t = 0; t < 32; t++) {
            if (tags[t].busy) continue;
            uint64_t at = src + asked;
            unsigned mrrs = 128u << config.max_read, n = mrrs - at % mrrs;
            if (n > length - asked) n = length - asked;
            unsigned lead = at & 3, dwords = (lead + n + 3) / 4, end = (lead + n - 1) % 4 + 1;
            unsigned low = (0xf << lead) & 0xf, high = 0xf >> (4 - end);
            tags[t] = {true, at, n, asked};
            tp_model_read r{};
            r.addr = at - lead;
            r.dwords = uint16_t(dwords);
            r.tag = uint16_t(t);
            r.first_be = uint8_t(dwords == 1 ? low & high : low);
            r.last_be = uint8_t(dwords == 1 ? 0 : high);
            r.valid = 1;
            reads.push_back(r);
            asked += n;
            return;
        }
    }

    unsigned beat = 0;
    void complete(const tp_model_completion &c) {
        if (c.tag >= 256 || !tags[c.tag].busy) return fail("a completion for no request");
        Tag &t = tags[c.tag];
        if (c.poisoned) status = 0x80;
        if (c.status != 0) {
            status = c.status;
            t.busy = false;
            landed += t.left;
        } else {
            if (beat == 0) {
                if (c.byte_count != t.left) return fail("wrong byte count");
                if (c.lower_addr != (t.at & 0x7f)) return fail("wrong lower address");
                if (c.dwords * 4u > 128u << config.max_payload) return fail("a completion longer than MPS");
            }
            unsigned lead = t.at & 3, here = c.dwords - beat;
            if (here > LANES) here = LANES;
            if ((here == c.dwords - beat) != bool(c.last)) return fail("last is not on the last beat");
            unsigned n = here * 4 - lead;
            if (n > t.left) n = t.left;
            memcpy(buffer.data() + t.into, reinterpret_cast<const uint8_t *>(c.data) + lead, n);
            t.at += n;
            t.into += n;
            t.left -= n;
            landed += n;
            beat = c.last ? 0 : beat + LANES;
            if (c.last && t.left && t.at % (config.rcb_128 ? 128 : 64)) return fail("a completion ends off the boundary");
            if (!t.left) t.busy = false;
        }
        if (landed == length) {
            if (kind == READ) length = 0;  // only the interrupt
            if (kind == COPY || kind == READ) write_out();
            kind = 0;
        }
    }

    unsigned held = 0;
    unsigned at = 0, retries = 0;  // of the posted beat in its packet
    void take(const tp_model_request &r) {
        if (at == 0 && r.bar == 0 && r.offset >> 12 == 6) log.push_back(r.offset | r.first_be << 24);
        for (unsigned i = 0; i < LANES && at + i < r.dwords; i++) {
            unsigned be = at + i == 0 ? r.first_be : at + i == r.dwords - 1u ? r.last_be : 15;
            unsigned offset = r.offset + 4 * (at + i);
            uint8_t *to = r.bar == 2          ? window + offset % 4096
                          : offset >> 12 == 6 ? page + offset % 4096
                          : offset >> 12 == 4 ? registers + offset % 0x20
                                              : nullptr;
            if (!to) continue;
            for (unsigned b = 0; b < 4; b++)
                if (be >> b & 1) to[b] = uint8_t(r.data[i] >> (8 * b));
            if (r.bar == 0 && offset == 0x4018) go(reg<uint32_t>(0x18));
        }
        at = r.last ? 0 : at + LANES;
    }

    void clock(const tp_model_in &in, tp_model_out &out) {
        config = in.config;
        out.nonposted_credit = 0;
        out.function_reset_done = 0;
        if (in.reset) {
            memset(&out, 0, sizeof out);
            credits_due = 4;
            return;
        }
        if (out.hold && (in.completion.valid || in.posted.valid || in.nonposted.valid))
            return fail("a beat although the card holds them back");
        out.hold = holds && ++held % 4 != 0;
        if (out.posted.valid && in.posted_ready) {
            Packet &p = writes.front();
            p.sent += LANES;
            if (out.posted.last) writes.pop_front();
            out.posted.valid = 0;
        }
        if (out.read.valid && in.read_ready) out.read.valid = 0;
        if (out.answer.valid && in.answer_ready) out.answer.valid = 0;
        if (in.completion.valid) complete(in.completion);
        if (in.posted.valid) take(in.posted);
        if (in.nonposted.valid) {
            const tp_model_request &r = in.nonposted;
            credits_due++;
            if (!silent) {
                tp_model_answer a{};
                a.requester = r.requester;
                a.tag = r.tag;
                a.dwords = r.dwords;
                a.byte_count = uint16_t(r.dwords * 4);
                a.lower_addr = uint8_t(r.offset & 0x7f);
                a.last = a.valid = 1;
                for (unsigned i = 0; i < r.dwords; i++) a.data[i] = word(r.bar, r.offset + 4 * i);
                answers.push_back(a);
            }
        }
        if (credits_due) {
            credits_due--;
            out.nonposted_credit = 1;
        }
        issue();
        if (retract) {  // shown without being meant: taken back when it is not accepted
            if (out.read.valid) {
                out.read.valid = 0;
                retract = false;
            } else if (in.config.transmit_room == 0) {
                out.read = {src & ~3ull, 1, uint16_t(100 + retries++ % 150), 15, 0, 0, 1};
            } else if (writes.size() < 200) {
                const uint8_t z[128] = {};
                queue_write(dst, z, 4);
            }
        }
        if (!out.posted.valid && !writes.empty()) {
            const Packet &p = writes.front();
            out.posted.addr = p.addr;
            out.posted.dwords = uint16_t(p.dwords);
            out.posted.first_be = uint8_t(p.first_be);
            out.posted.last_be = uint8_t(p.last_be);
            unsigned n = unsigned(p.data.size()) - p.sent;
            if (n > LANES) n = LANES;
            memcpy(out.posted.data, p.data.data() + p.sent, n * 4);
            out.posted.last = p.sent + LANES >= p.data.size();
            out.posted.valid = 1;
        }
        if (!out.read.valid && !reads.empty()) {
            out.read = reads.front();
            reads.pop_front();
        }
        // An answer comes after the writes before it: the simplest card waits until they are out.
        if (!out.answer.valid && !answers.empty() && writes.empty()) {
            out.answer = answers.front();
            answers.pop_front();
        }
        if (in.config.function_reset && !resetting) out.function_reset_done = 1;
        resetting = in.config.function_reset;
    }
};

}  // namespace

extern "C" {
void tp_model_info(struct tp_model_info *info) { *info = {TP_MODEL_ABI, WIDTH, 250000, {USER_KHZ}}; }
void tp_model_trace(void *, uint64_t, uint64_t) {}
void tp_model_beats(void *, struct tp_model_beats *beats) { *beats = {}; }
void *tp_model_new(const char *trace, tp_model_print print, void *context) {
    Card *card = new Card();
    card->print = print;
    card->context = context;
    if (trace) {
        FILE *file = fopen(trace, "w");
        if (!file) {
            card->say(0, "the file cannot be opened\n");
            delete card;
            return nullptr;
        }
        fclose(file);
    }
    return card;
}
void tp_model_free(void *model) { delete static_cast<Card *>(model); }
void tp_model_core_clock(void *model, uint64_t, const struct tp_model_in *in, struct tp_model_out *out) {
    static_cast<Card *>(model)->clock(*in, *out);
}
void tp_model_user_clock(void *model, uint32_t, uint64_t) { static_cast<Card *>(model)->window[4092]++; }
}
