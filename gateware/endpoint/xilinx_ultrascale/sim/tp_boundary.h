// SPDX-License-Identifier: Apache-2.0
// The UltraScale+ block for PCI Express between the simulator's neutral beats and the pins of tp_xilinx_ultrascale_card: what the block
// shows and takes there (PG213; as the card is built for it, with client tags, dword-aligned streams, RC and RQ straddled where they can
// be).
//
// A packet begins at the pins in the clock in which the simulator delivers its first beat, and goes on without a gap. A packet of the
// adapter's reaches the simulator as its beats are taken. A sequence number is told when its request has left for the link: behind that
// nothing passes it. So what the simulator measures holds the adapter's clocks, and none of the model's but for one where tp_outgoing.h
// says so.
//
// The block demands: packets of the length that their descriptor tells, without gaps, beats that stay until they are taken, `tkeep` or, at
// 512 bit, lawful starts and ends in the side band, and descriptors that ask for nothing that the card is not set up for. It knows its
// user's reads and says beside an answer what is wrong with it, stray ones among them; as the guide has it, all are passed on. What a link
// partner demands is the simulator's to check.
//
// Not modelled: the block's own completion timeout, its loss of writes while bus mastering is off, refusals (the simulator's host reads and
// writes what is there), byte enables of single bytes on CQ and RC, ECRC, parity, hot reset, a change of the configuration with the link,
// reads that a function-level reset ends. With the link down it takes and drops packets.
#ifndef TP_BOUNDARY_H
#define TP_BOUNDARY_H
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <utility>

#include "../../sim/tp_incoming.h"
#include "../../sim/tp_outgoing.h"
#include "Vtp_model.h"
#include "tp_lanes.h"
#include "tp_model.h"

namespace tp_ultrascale {

constexpr unsigned LANES = Outgoing::LANES;
constexpr bool WIDE = LANES == 16; // the side band signals of 512 bit have a layout of their own
constexpr unsigned RC_STRADDLE = LANES == 16 ? 4 : LANES == 8 ? 2 : 1, RQ_STRADDLE = LANES == 16 ? 2 : 1; // as endpoint.toml says
using User = std::array<uint32_t, 8>; // of a beat, lowest bits first

inline unsigned field(const uint32_t *words, unsigned low, unsigned bits) {
    const uint64_t both = words[low / 32] | static_cast<uint64_t>(words[low / 32 + 1]) << 32;
    return both >> low % 32 & ((1ull << bits) - 1);
}

inline void put(User &user, unsigned low, unsigned bits, uint64_t value) {
    for (unsigned i = 0; i < bits; i++)
        if (value >> i & 1) user[(low + i) / 32] |= 1u << (low + i) % 32;
}

// A stream from the adapter, RQ or CC, whose packets begin with a descriptor of HEAD dwords; of which STRADDLE may share a beat; and whose
// side band at 512 bit tells of starts and ends from bit FRAMING on. The simulator gets the packets one after the other.
template <unsigned HEAD, unsigned STRADDLE, unsigned FRAMING> class Handover {
public:
    struct Beat {
        std::array<uint32_t, LANES> words{};
        unsigned keep = 0;
        bool last = false;
        User user{};
        bool operator==(const Beat &b) const { return words == b.words && keep == b.keep && last == b.last && user == b.user; }
    };
    struct Packet {
        Outgoing outgoing;
        unsigned number = 0; // its sequence number
    };

    std::array<uint32_t, HEAD + 1> head{}; // with one more for field()

    explicit Handover(const char *stream) : name(stream) {}

    // The packet that the simulator is shown, the one that it has taken last, and the place of one that begins.
    const Outgoing &front() const { return ring[at].outgoing; }
    const Packet &sent() const { return ring[(at + SLOTS - 1) % SLOTS]; }
    Packet &next() { return ring[(at + held) % SLOTS]; }

    // What the adapter shows after an edge. `begin` reads the descriptor, and the side band of the beat in which the packet was the n-th to
    // start: it begins `next`, and tells how many dwords follow.
    template <typename Begin> void look(bool valid, const Beat &now, bool up, Begin begin) {
        if (waiting && !(valid && now == beat)) breach("%s: a beat changes or goes before it is taken", name);
        if (!valid && open) breach("%s: a gap within a packet", name);
        idle = !valid;
        if (waiting || !valid) return;
        if (up && held >= STRADDLE + open) return;
        beat = now;
        waiting = true;
        counts = false;
        std::array<Part, 2> parts;
        const unsigned count = split(parts);
        for (unsigned i = 0; i < count; i++) {
            if (parts[i].starts) dropping = !up;
            if (!dropping) judge(parts[i], begin);
            opens = !parts[i].ends;
        }
    }

    // What the block takes at an edge. Returns the kind of the packet of which the simulator has taken the last beat.
    Outgoing::Kind move(const tp_model_in &in, bool up, bool &ready) {
        Outgoing &outgoing = ring[at].outgoing;
        const Outgoing::Kind kind = outgoing.kind;
        const bool moved = outgoing.ready(in), whole = moved && outgoing.taken();
        if (whole) at = (at + 1) % SLOTS, held--;
        if (waiting)
            ready = !counts || !up || (offered() < STRADDLE && (moved || open || in.config.transmit_room > 0));
        else
            ready = idle && up;
        if (waiting && ready) {
            open = opens;
            waiting = false;
            dropping = (dropping || !up) && open;
        }
        if (!up && held > 0) {
            // The simulator's part of a packet has to end; it goes nowhere. What it has nothing of is lost.
            for (; held > 1; held--) ring[(at + held - 1) % SLOTS].outgoing.kind = Outgoing::NONE;
            if (ring[at].outgoing.committed())
                ring[at].outgoing.fill();
            else
                ring[at].outgoing.kind = Outgoing::NONE, held = 0;
        }
        return whole ? kind : Outgoing::NONE;
    }

private:
    static constexpr unsigned SLOTS = 2 * STRADDLE - 1; // one packet waits, another is at the pins, and so may a third be

    // What a beat holds of one packet.
    struct Part {
        unsigned first, last; // lanes
        bool starts, ends;
        unsigned nth; // of those that start
    };

    const char *name;
    Beat beat;
    bool idle = true; // nothing is at the pins
    bool waiting = false; // `beat` is at the pins and has been looked at
    bool counts = false; // it holds what the simulator is to get
    bool open = false, opens = false; // of a packet, beats have been taken, and not its end; with `beat`
    bool dropping = false; // the link has gone: the packet means nothing
    std::array<Packet, SLOTS> ring;
    unsigned at = 0, held = 0; // the first of those in the ring, and how many
    unsigned come = 0, total = 0, nth = 0;
    User first_user{};

    // Beats of the simulator's that are complete.
    unsigned offered() const {
        unsigned beats = 0;
        for (unsigned i = 0; i < held; i++) beats += ring[(at + i) % SLOTS].outgoing.waits();
        return beats;
    }

    // Which packets are in the beat: one from the first lane, and perhaps one from the middle.
    unsigned split(std::array<Part, 2> &parts) const {
        constexpr unsigned MIDDLE = LANES / 2;
        const unsigned all = (1u << LANES) - 1;
        if (STRADDLE == 1 && (beat.last ? !beat.keep || beat.keep & (beat.keep + 1) : beat.keep != all))
            breach("%s: tkeep is %#x in %s beat of a packet", name, beat.keep, beat.last ? "the last" : "a");
        parts[0] = {0, beat.keep == all ? LANES - 1 : __builtin_ctz(~beat.keep) - 1u, !open, beat.last, 0};
        if (!WIDE) return 1;

        const unsigned starts = field(beat.user.data(), FRAMING, 2), ends = field(beat.user.data(), FRAMING + 6, 2);
        const unsigned at0 = 4 * field(beat.user.data(), FRAMING + 2, 2), at1 = 4 * field(beat.user.data(), FRAMING + 4, 2);
        const unsigned end0 = field(beat.user.data(), FRAMING + 8, 4), end1 = field(beat.user.data(), FRAMING + 12, 4);
        const bool second = open ? starts & 1 : starts >> 1;
        const Part first = {0, ends & 1 ? end0 : LANES - 1, !open, (ends & 1) != 0, 0};
        bool legal = starts == (open ? second : 1u | second << 1) && (second || ends < 2);
        if (starts & 1) legal = legal && at0 == (open ? MIDDLE : 0);
        if (second)
            legal = legal && STRADDLE == 2 && (open || at1 == MIDDLE) && (ends & 1) && end0 < MIDDLE && (!(ends >> 1) || end1 >= MIDDLE);
        if (STRADDLE == 1) legal = legal && first.last == parts[0].last && first.ends == parts[0].ends;
        if (!legal)
            breach("%s: starts %u at %u and %u, ends %u at %u and %u %s a packet", name, starts, at0, at1, ends, end0, end1,
                   open ? "within" : "after");
        parts = {first, {MIDDLE, ends >> 1 ? end1 : LANES - 1, true, ends >> 1 != 0, open ? 0u : 1u}};
        return second ? 2 : 1;
    }

    template <typename Begin> void judge(const Part &part, Begin begin) {
        counts = true;
        if (part.starts) {
            come = total = 0;
            first_user = beat.user;
            nth = part.nth;
        }
        for (unsigned lane = part.first; lane <= part.last; lane++, come++) {
            if (come < HEAD) {
                head[come] = beat.words[lane];
                if (come == HEAD - 1) total = HEAD + begin(first_user, nth), held++;
            } else if (come < total && takes_payload()) {
                ring[(at + held - 1) % SLOTS].outgoing.add(beat.words[lane]);
            }
        }
        if (total == 0 ? part.ends : come > total || (come == total) != part.ends)
            breach("%s: a packet has %u dwords%s, its descriptor wants %u", name, come, part.ends ? "" : " and more", total);
    }

    // The log behind an answer that refuses is the block's alone.
    bool takes_payload() const {
        const Outgoing &outgoing = ring[(at + held - 1) % SLOTS].outgoing;
        return outgoing.kind == Outgoing::WRITE || (outgoing.kind == Outgoing::ANSWER && outgoing.answer.status == 0);
    }
};

} // namespace tp_ultrascale

class Boundary {
public:
    void apply(Vtp_model &top, const tp_model_in &in) {
        if (in.reset) *this = Boundary();
        const bool was_up = up;
        // It does not come up again before packets that were cut have been filled.
        up = in.config.link_up && !in.reset && (was_up || (rc.left() == 0 && cq.left() == 0));
        quiet = was_up && up ? std::max(quiet - 1, 0) : SETTLE;
        top.rst = top.user_reset = in.reset != 0;
        top.user_lnk_up = up;
        top.cfg_phy_link_down = !up;
        top.cfg_hot_reset_out = 0;
        transmit(top, in);
        if (was_up && !up) lose();
        count(top, in);
        accept(in);
        pass_reads(top);
        present(top);
        configure(top, in);
    }

    void show(tp_model_out &out, const Vtp_model &top) {
        if (!top.rst) look(top);
        out.posted.valid = out.read.valid = out.answer.valid = 0;
        rq.front().show(out);
        cc.front().show(out);
        out.nonposted_credit = top.rst ? 0 : credits;
        if (!top.rst) credits = 0;
        out.function_reset_done = reset_over;
        out.hold = up ? quiet > 0 || rc.full(between) || cq.full(between) : between;
    }

private:
    static constexpr unsigned LANES = tp_ultrascale::LANES;
    static constexpr bool WIDE = tp_ultrascale::WIDE;
    static constexpr int SETTLE = 4; // clocks from user_lnk_up to the first packet
    static constexpr unsigned NONPOSTED = 12; // reads that the receive buffer holds: its credits
    static constexpr uint64_t BARS = 1ull << 46; // where the host has put them ...
    static constexpr unsigned APERTURE = 32; // ... and from one to the next, as a power of two
    static constexpr unsigned REGISTER_CLOCKS = 4; // that a read of the configuration space takes
    enum { MEM_READ = 0, MEM_WRITE = 1 };
    static constexpr uint32_t IS_READ = 1 << 8; // beside a packet on CQ, above its byte enables
    enum { NORMAL = 0, POISONED = 1, BAD_STATUS = 2, INVALID_LENGTH = 3, INVALID_ADDRESS = 5, INVALID_TAG = 6 };
    using User = tp_ultrascale::User;

    bool up = false;
    int quiet = SETTLE;
    unsigned credits = NONPOSTED; // to be given

    // ---------------------------------------------------------------------------------------------- from the adapter
    tp_ultrascale::Handover<4, tp_ultrascale::RQ_STRADDLE, 20> rq{"s_axis_rq"};
    tp_ultrascale::Handover<3, 1, 0> cc{"s_axis_cc"};

    // The block's record of a read.
    struct Asked {
        bool out;
        uint64_t at; // of the next byte
        unsigned left;
    };
    std::array<Asked, 256> asked{};

    template <typename Beat, typename Data, typename UserPort>
    static Beat pins(const Data &data, unsigned keep, bool last, const UserPort &user) {
        Beat beat;
        give(beat.words.data(), data);
        give(beat.user.data(), user);
        beat.keep = keep;
        beat.last = last;
        // Lanes that do not count may change.
        for (unsigned lane = 0; lane < LANES; lane++)
            if (!(keep >> lane & 1)) beat.words[lane] = 0;
        return beat;
    }

    void look(const Vtp_model &top) {
        using Rq = decltype(rq)::Beat;
        using Cc = decltype(cc)::Beat;
        const auto request = pins<Rq>(top.s_axis_rq_tdata, top.s_axis_rq_tkeep, top.s_axis_rq_tlast, top.s_axis_rq_tuser);
        const auto answer = pins<Cc>(top.s_axis_cc_tdata, top.s_axis_cc_tkeep, top.s_axis_cc_tlast, top.s_axis_cc_tuser);
        rq.look(top.s_axis_rq_tvalid, request, up, [this](const User &user, unsigned nth) { return begin_request(user, nth); });
        cc.look(top.s_axis_cc_tvalid, answer, up, [this](const User &, unsigned) { return begin_answer(); });
    }

    unsigned begin_request(const User &user, unsigned nth) {
        auto &[outgoing, number] = rq.next();
        const uint32_t *h = rq.head.data();
        const unsigned dwords = h[2] & 0x7ff, kind = h[2] >> 11 & 15;
        if ((kind != MEM_READ && kind != MEM_WRITE) || h[2] >> 15 || h[0] & 3 || h[3] & 0xd1ffff00 || dwords == 0 || dwords > 1024)
            breach("s_axis_rq: a descriptor %08x %08x %08x %08x", h[0], h[1], h[2], h[3]);
        if (tp_ultrascale::field(user.data(), WIDE ? 36 : 11, 1)) breach("s_axis_rq: a packet is discontinued");
        const uint64_t addr = static_cast<uint64_t>(h[1]) << 32 | h[0];
        const uint8_t first_be = user[0] >> 4 * nth & 15, last_be = user[0] >> (WIDE ? 8 + 4 * nth : 4) & 15;
        const uint8_t relaxed = h[3] >> 29 & 1, tc = h[3] >> 25 & 7;
        number = WIDE ? tp_ultrascale::field(user.data(), 61 + 6 * nth, 6)
                      : tp_ultrascale::field(user.data(), 24, 4) | tp_ultrascale::field(user.data(), 60, 2) << 4;
        if (kind == MEM_WRITE) {
            tp_model_write &to = outgoing.write;
            to.addr = addr, to.dwords = dwords, to.relaxed = relaxed, to.tc = tc, to.first_be = first_be, to.last_be = last_be;
            outgoing.begin(Outgoing::WRITE, dwords);
            return dwords;
        }
        tp_model_read &to = outgoing.read;
        to.addr = addr, to.dwords = dwords, to.relaxed = relaxed, to.tc = tc, to.first_be = first_be, to.last_be = last_be;
        to.tag = h[3] & 255;
        outgoing.begin(Outgoing::READ, 0);
        return 0;
    }

    unsigned begin_answer() {
        const uint32_t *h = cc.head.data();
        Outgoing &outgoing = cc.next().outgoing;
        tp_model_answer &to = outgoing.answer;
        to.lower_addr = h[0] & 127;
        to.byte_count = h[0] >> 16 & 0x1fff;
        to.dwords = h[1] & 0x7ff;
        to.status = h[1] >> 11 & 7;
        to.requester = h[1] >> 16;
        to.tag = h[2] & 255;
        to.tc = h[2] >> 25 & 7;
        to.attr = h[2] >> 28 & 7;
        if (h[0] & 0xe000ff80 || h[1] & 0xc000 || h[2] & 0x81ffff00 || (to.status == 0) != (to.dwords != 0))
            breach("s_axis_cc: a descriptor %08x %08x %08x", h[0], h[1], h[2]);
        outgoing.begin(Outgoing::ANSWER, to.dwords);
        return to.status == 0 ? to.dwords : 5;
    }

    void transmit(Vtp_model &top, const tp_model_in &in) {
        bool ready = false;
        const Outgoing::Kind sent = rq.move(in, up, ready);
        top.s_axis_rq_tready = ready;
        if (sent != Outgoing::NONE) buffered.push_back({sent, rq.sent().number});
        if (sent == Outgoing::READ) {
            const tp_model_read &r = rq.sent().outgoing.read;
            const unsigned lead = r.first_be ? __builtin_ctz(r.first_be) : 0;
            const unsigned end = r.dwords == 1 ? (r.first_be ? 32 - __builtin_clz(r.first_be) : 1) : 32 - __builtin_clz(r.last_be | 1);
            asked[r.tag] = {true, r.addr + lead, 4u * r.dwords - lead - (4 - end)};
        }
        if (cc.move(in, up, ready) != Outgoing::NONE) buffered.push_back({Outgoing::ANSWER, 0});
        top.s_axis_cc_tready = ready;
    }

    // ---------------------------------------------------------------------------------------------- what waits in the block
    std::deque<std::pair<Outgoing::Kind, unsigned>> buffered;
    std::deque<unsigned> gone; // sequence numbers that are to be told, two a clock
    unsigned capacity = 0;

    void count(Vtp_model &top, const tp_model_in &in) {
        capacity = std::max<unsigned>(capacity, in.config.transmit_room);
        const unsigned begun = rq.front().inside() + cc.front().inside(), inside = capacity - in.config.transmit_room;
        for (; buffered.size() > inside - std::min(inside, begun); buffered.pop_front())
            if (buffered.front().first != Outgoing::ANSWER) gone.push_back(buffered.front().second);
        const auto tell = [this](CData &valid, CData &value) {
            valid = !gone.empty();
            if (!valid) return;
            value = gone.front();
            gone.pop_front();
        };
        tell(top.pcie_rq_seq_num_vld0, top.pcie_rq_seq_num0);
        tell(top.pcie_rq_seq_num_vld1, top.pcie_rq_seq_num1);
        top.pcie_tfc_nph_av = 15; // the host takes every read
    }

    // ---------------------------------------------------------------------------------------------- to the adapter
    Incoming<tp_ultrascale::RC_STRADDLE> rc;
    Incoming<1> cq;
    std::deque<tp_model_request> reads; // that the adapter has not asked for
    unsigned wanted = 0; // reads that it has asked for
    bool between = true; // the simulator's next beat begins a packet
    bool discard = false; // its packet does not get to the pins
    unsigned expected = 0; // dwords of it that are to come

    // The link goes: what waits is lost. A packet at the pins is finished, for the block has it whole; and what the adapter has asked for
    // is still asked for.
    void lose() {
        credits += reads.size();
        reads.clear();
        rc.finish(0);
        wanted += cq.finish(IS_READ);
        discard = !between && !rc.unfinished() && !cq.unfinished();
        buffered.clear();
        gone.clear();
        asked.fill({});
    }

    template <typename Stream> void payload(Stream &stream, const uint32_t *data, bool last) {
        const unsigned count = std::min(expected, LANES);
        for (unsigned i = 0; i < count && !discard; i++) stream.add(data[i]);
        expected -= count;
        between = last;
    }

    void begin_request(const tp_model_request &p, unsigned kind) {
        const uint64_t addr = BARS | static_cast<uint64_t>(p.bar) << APERTURE | p.offset;
        cq.begin(4 + (kind == MEM_WRITE ? p.dwords : 0), p.first_be | p.last_be << 4 | (kind == MEM_READ ? IS_READ : 0));
        cq.add(addr);
        cq.add(addr >> 32);
        cq.add((p.dwords & 0x7ffu) | kind << 11 | static_cast<uint32_t>(p.requester) << 16);
        cq.add((p.tag & 255u) | p.bar << 16 | APERTURE << 19 | p.tc << 25 | p.attr << 28);
    }

    // What is wrong with an answer, and whether it ends its request.
    std::pair<unsigned, bool> check(const tp_model_completion &p) {
        Asked &a = asked[p.tag];
        if (!a.out) return {INVALID_TAG, false};
        const unsigned bytes = 4u * p.dwords - (p.lower_addr & 3u);
        const bool bad = p.status || !p.dwords || p.byte_count > a.left, over = bad || p.byte_count <= bytes;
        const unsigned error = p.status                       ? BAD_STATUS
                               : bad                          ? INVALID_LENGTH
                               : p.poisoned                   ? POISONED
                               : p.lower_addr != (a.at & 127) ? INVALID_ADDRESS
                                                              : NORMAL;
        a.out = !over;
        a.at += bytes;
        a.left -= std::min(a.left, bytes);
        return {error, over};
    }

    // What the simulator delivers at an edge.
    void accept(const tp_model_in &in) {
        if (in.completion.valid) {
            const tp_model_completion &p = in.completion;
            if (between) {
                discard = !up || p.tag > 255; // a tag of more bits than the block has is of no request of its
                expected = p.dwords;
                if (!discard) {
                    const uint32_t lower = (asked[p.tag].at & 0xf80) | p.lower_addr;
                    const auto [error, over] = check(p);
                    rc.begin(3 + p.dwords, 0);
                    rc.add(lower | error << 12 | static_cast<uint32_t>(p.byte_count) << 16 | static_cast<uint32_t>(over) << 30);
                    rc.add((p.dwords & 0x7ffu) | p.status << 11 | p.poisoned << 14 | static_cast<uint32_t>(in.config.requester) << 16);
                    rc.add(p.tag);
                }
            }
            payload(rc, p.data, p.last);
        }
        if (in.posted.valid) {
            if (between) {
                discard = !up;
                expected = in.posted.dwords;
                if (!discard) begin_request(in.posted, MEM_WRITE);
            }
            payload(cq, in.posted.data, in.posted.last);
        }
        if (in.nonposted.valid) {
            if (up)
                reads.push_back(in.nonposted);
            else
                credits++;
        }
    }

    // A read goes behind what came before it, when the adapter has asked for one.
    void pass_reads(const Vtp_model &top) {
        wanted += top.pcie_cq_np_req & 1;
        if (!between || reads.empty() || wanted == 0) return;
        wanted--;
        begin_request(reads.front(), MEM_READ);
        reads.pop_front();
        credits++;
    }

    void present(Vtp_model &top) {
        if (!(top.m_axis_rc_tvalid && !top.m_axis_rc_tready)) {
            decltype(rc)::Beat beat;
            top.m_axis_rc_tvalid = rc.next(beat);
            if (top.m_axis_rc_tvalid) present_rc(top, beat);
        }
        if (!(top.m_axis_cq_tvalid && !top.m_axis_cq_tready)) {
            decltype(cq)::Beat beat;
            top.m_axis_cq_tvalid = cq.next(beat);
            if (top.m_axis_cq_tvalid) present_cq(top, beat);
        }
    }

    // Starts and ends are numbered by their order in the beat.
    void present_rc(Vtp_model &top, const decltype(rc)::Beat &beat) {
        constexpr unsigned STEP = decltype(rc)::STEP;
        User user{};
        unsigned starts = 0, ends = 0;
        for (unsigned i = 0; i < beat.count; i++) {
            const auto &part = beat.parts[i];
            if (part.starts && WIDE) tp_ultrascale::put(user, 68 + 2 * starts, 2, part.first / STEP);
            if (part.starts) tp_ultrascale::put(user, (WIDE ? 64 : 32) + starts++, 1, 1);
            if (part.ends && WIDE)
                tp_ultrascale::put(user, 80 + 4 * ends, 4, part.last), tp_ultrascale::put(user, 76 + ends++, 1, 1);
            else if (part.ends)
                tp_ultrascale::put(user, 34 + 4 * ends++, 4, 1 | part.last << 1);
        }
        take(top.m_axis_rc_tdata, beat.words.data());
        take(top.m_axis_rc_tuser, user.data());
        // Where packets share beats these two do not count.
        const bool shares = tp_ultrascale::RC_STRADDLE > 1;
        top.m_axis_rc_tlast = shares || beat.parts[0].ends;
        top.m_axis_rc_tkeep = shares ? (1u << LANES) - 1 : (2u << beat.parts[0].last) - 1;
    }

    void present_cq(Vtp_model &top, const decltype(cq)::Beat &beat) {
        const auto &part = beat.parts[0];
        User user{};
        if (part.starts) {
            tp_ultrascale::put(user, 0, 4, part.side);
            tp_ultrascale::put(user, WIDE ? 8 : 4, 4, part.side >> 4);
            tp_ultrascale::put(user, WIDE ? 80 : 40, 1, 1);
        }
        if (part.ends && WIDE) tp_ultrascale::put(user, 86, 1, 1), tp_ultrascale::put(user, 88, 4, part.last);
        take(top.m_axis_cq_tdata, beat.words.data());
        take(top.m_axis_cq_tuser, user.data());
        top.m_axis_cq_tlast = part.ends;
        top.m_axis_cq_tkeep = (2u << part.last) - 1;
    }

    // ---------------------------------------------------------------------------------------------- configuration
    unsigned reading = 0; // clocks that a read of a register has taken
    bool reset_over = false; // the adapter has said so

    void configure(Vtp_model &top, const tp_model_in &in) {
        const tp_model_config &c = in.config;
        reset_over = c.function_reset && (reset_over || (top.cfg_flr_done & 1));
        top.cfg_flr_in_process = c.function_reset && !reset_over;
        top.cfg_bus_number = c.requester >> 8;
        top.cfg_max_payload = c.max_payload & 7;
        top.cfg_max_read_req = c.max_read & 7;
        top.cfg_function_status = 1 << 1 | (c.bus_master & 1) << 2;
        top.cfg_function_power_state = c.active ? 1 : 4;
        top.cfg_rcb_status = c.rcb_128 & 1;
        top.cfg_interrupt_msix_enable = c.msix_enable & 1;
        top.cfg_interrupt_msix_mask = c.msix_mask & 1;
        reading = top.cfg_mgmt_read && !top.cfg_mgmt_read_write_done ? reading + 1 : 0;
        top.cfg_mgmt_read_write_done = reading >= REGISTER_CLOCKS;
        if (!top.cfg_mgmt_read_write_done) return;
        // Device Control and Device Control 2, in a capability at 0x70; addresses count dwords.
        if (top.cfg_mgmt_addr == 0x78 / 4)
            top.cfg_mgmt_read_data = (c.relaxed & 1) << 4 | (c.max_payload & 7) << 5 | (c.tags_8bit & 1) << 8 | (c.max_read & 7) << 12;
        else if (top.cfg_mgmt_addr == 0x98 / 4)
            top.cfg_mgmt_read_data = c.completion_timeout & 15;
        else
            breach("cfg_mgmt: a read of register %#x", 4u * top.cfg_mgmt_addr);
    }
};
#endif
