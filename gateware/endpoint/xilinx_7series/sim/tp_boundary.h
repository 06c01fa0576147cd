// SPDX-License-Identifier: Apache-2.0
// The 7 Series Integrated Block for PCI Express between the simulator's neutral beats and the pins of tp_xilinx_7series_card: what the
// block shows and takes there (PG054; ../tb/plan.md lists the rules and their sources).
//
// A packet begins at the pins in the clock in which the simulator delivers its first beat, and goes on without a gap; at 128 bit it shares
// a beat with the end of the one before it where it can. A packet of the adapter's reaches the simulator as its beats are taken. So what
// the simulator measures holds the adapter's clocks, and none of the model's but for one where tp_outgoing.h says so.
//
// The block demands: a packet's length, `tkeep`, and beats that stay until they are taken; a header without reserved bits, the function's
// id, four dwords only beyond 4 GiB. What else a link partner demands is the simulator's to check. Faults of the simulator that damage
// answers pass as they are, for this block knows nothing of its user's reads.
//
// Not modelled: packets of the block's own, refusals (the simulator's host reads and writes what is there), ECRC, hot reset, a change of
// the configuration with the link.
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

class Boundary {
public:
    void apply(Vtp_model &top, const tp_model_in &in) {
        if (in.reset) *this = Boundary();
        const bool was_up = up;
        // It does not come up again before a packet that was cut has been filled.
        up = in.config.link_up && !in.reset && (was_up || rx.left() == 0);
        quiet = was_up && up ? std::max(quiet - 1, 0) : SETTLE;
        top.rst = top.user_reset_out = in.reset != 0;
        top.user_lnk_up = up;
        transmit(top, in);
        if (was_up && !up) lose();
        count(top, in);
        accept(in);
        pass_reads(top);
        present(top);
        configure(top, in);
    }

    void show(tp_model_out &out, const Vtp_model &top) {
        look(top);
        out.posted.valid = out.read.valid = out.answer.valid = 0;
        outgoing.show(out);
        out.nonposted_credit = top.rst ? 0 : credits;
        if (!top.rst) credits = 0;
        out.function_reset_done = resetting > RESET_CLOCKS;
        out.hold = up ? quiet > 0 || rx.full(between) : between;
        if (top.cfg_err_ur || top.cfg_err_poisoned)
            breach("the adapter refuses a packet, and the host has sent none that could be refused");
    }

private:
    static constexpr unsigned LANES = Outgoing::LANES;
    static constexpr int SETTLE = 4;             // clocks from user_lnk_up to the first packet
    static constexpr unsigned NONPOSTED = 12;    // reads that the receive buffer holds: its credits
    static constexpr unsigned LATE = 2;          // reads that may still begin when rx_np_ok has fallen
    static constexpr unsigned ACKNOWLEDGE = 32;  // clocks that a packet which was sent keeps its buffer
    static constexpr unsigned BUFFERS = 63;      // what tx_buf_av can tell
    // For the 100 ms that software waits after a function-level reset: the block has no pin by which the end of one is told.
    static constexpr unsigned RESET_CLOCKS = 4096;
    static constexpr uint64_t BARS = 1ull << 46;      // where the host has put them
    static constexpr uint32_t RESERVED = 0x808bcc00;  // of the first dword; digest and poison are among them, for the adapter sends none
    enum { MEMORY = 0, COMPLETION = 10 };
    // Beside a packet: the BARs that it hit (for an answer these pins may tell anything), and this.
    static constexpr uint32_t NO_BAR = 0x7f, POISONED = 1 << 8;

    // A beat of the adapter's.
    struct Beat {
        std::array<uint32_t, LANES> words;
        uint32_t keep;
        bool last;
        uint8_t user;
        bool operator==(const Beat &b) const { return words == b.words && keep == b.keep && last == b.last && user == b.user; }
    };

    bool up = false;
    int quiet = SETTLE;
    unsigned credits = NONPOSTED;  // to be given
    unsigned resetting = 0;        // clocks since the function's reset began
    uint16_t id = 0;

    // ---------------------------------------------------------------------------------------------- from the adapter
    Outgoing outgoing;
    Beat beat{};
    bool idle = true;       // nothing is at the pins
    bool waiting = false;   // `beat` is at the pins and has been looked at
    bool open = false;      // beats of a packet have been taken, and its end has not
    bool dropping = false;  // ... and the link has gone: the rest means nothing
    std::array<uint32_t, 4> header{};
    unsigned come = 0, total = 0;  // dwords of the packet at the pins; `total` counts once the header is whole

    // What the adapter shows after an edge.
    void look(const Vtp_model &top) {
        const bool valid = top.s_axis_tx_tvalid;
        Beat now{};
        if (valid) {
            give(now.words.data(), top.s_axis_tx_tdata);
            now.keep = top.s_axis_tx_tkeep;
            now.last = top.s_axis_tx_tlast;
            now.user = top.s_axis_tx_tuser;
            // Bytes that do not count may change.
            for (unsigned lane = 0; lane < LANES; lane++)
                if (!(now.keep >> 4 * lane & 1)) now.words[lane] = 0;
        }
        if (waiting && !(valid && now == beat)) breach("s_axis_tx: a beat changes or goes before it is taken");
        idle = !valid;
        if (waiting || !valid) return;
        if (!dropping && (!up || (!open && outgoing.kind != Outgoing::NONE))) return;  // with the link down nothing is begun
        beat = now;
        waiting = true;
        if (!dropping) judge();
    }

    // A beat counts from when it is seen, for it stays.
    void judge() {
        const uint32_t all = LANES == 4 ? 0xffff : 0xff;
        if (beat.last ? beat.keep != (all & 0xf) && beat.keep != (all & 0xff) && beat.keep != (all & 0xfff) && beat.keep != all
                      : beat.keep != all)
            breach("s_axis_tx: tkeep is %#x in %s beat of a packet", beat.keep, beat.last ? "the last" : "a");
        if (beat.user & 8) breach("s_axis_tx: a packet is discontinued while the link is up");
        if (!open) come = total = 0;
        for (unsigned lane = 0; lane < LANES && beat.keep >> 4 * lane & 1; lane++) {
            const uint32_t word = beat.words[lane];
            if (come < 4) header[come] = word;
            come++;
            if (come == 3 + (header[0] >> 29 & 1))
                begin();
            else if (total && come <= total)
                outgoing.add(__builtin_bswap32(word));
        }
        if (total == 0 ? beat.last : come > total || (come == total) != beat.last)
            breach("s_axis_tx: a packet has %u dwords%s, its header %08x wants %u", come, beat.last ? "" : " and more", header[0], total);
    }

    void begin() {
        const uint32_t first = header[0], second = header[1], third = header[2];
        const unsigned kind = first >> 24 & 31, fmt = first >> 29;
        const bool data = fmt & 2, four = fmt & 1;
        const unsigned dwords = first & 1023 ? first & 1023 : 1024;
        if (first & RESERVED || (kind != MEMORY && kind != COMPLETION) || (kind == COMPLETION && four))
            breach("s_axis_tx: a header begins with %08x", first);
        if (second >> 16 != id) breach("s_axis_tx: a packet is from %04x, the function is %04x", second >> 16, id);
        total = 3 + four + (data ? dwords : 0);
        if (kind == COMPLETION) {
            if (second & 1 << 12 || third & 1 << 7) breach("s_axis_tx: reserved bits in the header %08x %08x %08x", first, second, third);
            tp_model_answer &to = outgoing.answer;
            to.requester = third >> 16;
            to.tag = third >> 8 & 255;
            to.byte_count = second & 4095 ? second & 4095 : 4096;
            to.dwords = data ? dwords : 0;
            to.tc = first >> 20 & 7;
            to.attr = (first >> 12 & 3) | (first >> 16 & 4);
            to.lower_addr = third & 127;
            to.status = second >> 13 & 7;
            outgoing.begin(Outgoing::ANSWER, to.dwords);
            return;
        }
        const uint64_t addr = four ? static_cast<uint64_t>(third) << 32 | header[3] : third;
        if (addr & 3 || (four && addr >> 32 == 0)) breach("s_axis_tx: a header of %u dwords with address %#llx", 3 + four, 0ull + addr);
        if (first & 0x00045000) breach("s_axis_tx: a request with attributes of its own: %08x", first);
        const uint8_t relaxed = first >> 13 & 1, tc = first >> 20 & 7, first_be = second & 15, last_be = second >> 4 & 15;
        if (data) {
            tp_model_write &to = outgoing.write;
            to.addr = addr, to.dwords = dwords, to.relaxed = relaxed, to.tc = tc, to.first_be = first_be, to.last_be = last_be;
            outgoing.begin(Outgoing::WRITE, dwords);
        } else {
            tp_model_read &to = outgoing.read;
            to.addr = addr, to.dwords = dwords, to.relaxed = relaxed, to.tc = tc, to.first_be = first_be, to.last_be = last_be;
            to.tag = second >> 8 & 255;
            outgoing.begin(Outgoing::READ, 0);
        }
    }

    // What the block takes at an edge: `waiting` is what stood at the pins before it.
    void transmit(Vtp_model &top, const tp_model_in &in) {
        const Outgoing::Kind kind = outgoing.kind;
        const bool moved = outgoing.ready(in);
        if (moved && outgoing.taken()) buffered.push_back(kind);
        bool take = idle && up;
        if (waiting) {
            if (dropping)
                take = true;
            else if (!up)
                take = open || moved;  // what has begun goes on; what has not may be taken back
            else
                take = !outgoing.offers() && (moved || open || top.tx_buf_av > 0);
            if (take) {
                open = !beat.last;
                dropping = dropping && open;
            }
            if (take || !up) waiting = false;
        }
        top.s_axis_tx_tready = take;
        if (!up && !dropping) {
            // The simulator's part of the packet has to end; it goes nowhere.
            if (outgoing.kind != Outgoing::NONE) {
                if (outgoing.committed())
                    outgoing.fill();
                else
                    outgoing.kind = Outgoing::NONE;
            }
            dropping = open;
        }
    }

    // ---------------------------------------------------------------------------------------------- what waits in the block
    std::deque<Outgoing::Kind> buffered;
    unsigned capacity = 0;
    uint8_t sent[3] = {};  // credits consumed: posted, non-posted, answers
    std::array<uint8_t, ACKNOWLEDGE> leaving{};  // packets that were sent in each of the last clocks
    unsigned clock = 0, unacknowledged = 0;

    void count(Vtp_model &top, const tp_model_in &in) {
        const unsigned room = in.config.transmit_room;
        capacity = std::max(capacity, room);
        const unsigned inside = capacity - room > outgoing.inside() ? capacity - room - outgoing.inside() : 0;
        uint8_t &now = leaving[clock++ % ACKNOWLEDGE];
        unacknowledged -= now;
        now = 0;
        for (; buffered.size() > inside; buffered.pop_front(), now++)
            sent[buffered.front() == Outgoing::WRITE ? 0 : buffered.front() == Outgoing::READ ? 1 : 2]++;
        unacknowledged += now;
        const bool consumed = top.fc_sel == 6;
        top.fc_ph = consumed ? sent[0] : 0;
        top.fc_nph = consumed ? sent[1] : 0;
        top.fc_cplh = consumed ? sent[2] : 0;
        top.tx_buf_av = std::min(room - std::min(room, unacknowledged), BUFFERS);
    }

    // ---------------------------------------------------------------------------------------------- to the adapter
    using Words = std::array<uint32_t, 4>;
    Incoming<LANES / 2> rx;
    std::deque<std::pair<Words, uint8_t>> reads;  // that wait for rx_np_ok, and the BARs that they hit
    unsigned late = 0;                            // reads that may begin although it is low
    bool between = true;                          // the simulator's next beat begins a packet
    bool discard = false;                         // its packet does not get to the pins
    unsigned expected = 0;                        // dwords of it that are to come

    // The link goes: what waits is lost; a packet at the pins gets its length, but the rest of it means nothing.
    void lose() {
        credits += reads.size();
        reads.clear();
        rx.cut();
        discard = !between;
        buffered.clear();
        std::fill_n(sent, 3, 0);
        leaving.fill(0);
        unacknowledged = 0;
    }

    void begin(const Words &words, unsigned size, unsigned payload, uint32_t beside) {
        expected = payload;
        if (discard) return;
        rx.begin(size + payload, beside);
        for (unsigned i = 0; i < size; i++) rx.add(words[i]);
    }

    void payload(const uint32_t *data, bool last) {
        const unsigned count = std::min(expected, LANES);
        for (unsigned i = 0; i < count && !discard; i++) rx.add(__builtin_bswap32(data[i]));
        expected -= count;
        between = last;
    }

    static Words request(const tp_model_request &p, bool data) {
        const uint64_t addr = BARS | static_cast<uint64_t>(p.bar) << 32 | p.offset;
        return {(data ? 3u : 1u) << 29 | p.tc << 20 | (p.attr & 4u) << 16 | (p.attr & 3u) << 12 | (p.dwords & 1023u),
                static_cast<uint32_t>(p.requester) << 16 | (p.tag & 255u) << 8 | p.last_be << 4 | p.first_be,
                static_cast<uint32_t>(addr >> 32), static_cast<uint32_t>(addr)};
    }

    // What the simulator delivers at an edge.
    void accept(const tp_model_in &in) {
        if (in.completion.valid) {
            const tp_model_completion &p = in.completion;
            if (between) {
                // A tag of more bits than the block has is of no request of its.
                discard = !up || p.tag > 255;
                const uint32_t first = (p.dwords ? 2u : 0u) << 29 | COMPLETION << 24 | p.poisoned << 14 | (p.dwords & 1023u);
                const uint32_t second = static_cast<uint32_t>(p.status) << 13 | (p.byte_count & 4095u);
                const uint32_t third = static_cast<uint32_t>(id) << 16 | p.tag << 8 | p.lower_addr;
                begin({first, second, third}, 3, p.dwords, NO_BAR | (p.poisoned ? POISONED : 0));
            }
            payload(p.data, p.last);
        }
        if (in.posted.valid) {
            if (between) {
                discard = !up;
                begin(request(in.posted, true), 4, in.posted.dwords, 1u << in.posted.bar);
            }
            payload(in.posted.data, in.posted.last);
        }
        if (in.nonposted.valid) {
            if (up)
                reads.push_back({request(in.nonposted, false), 1 << in.nonposted.bar});
            else
                credits++;
        }
    }

    // A read goes behind what came before it, when the adapter takes reads.
    void pass_reads(const Vtp_model &top) {
        if (top.rx_np_ok) late = LATE;
        if (!between || reads.empty() || !late) return;
        if (!top.rx_np_ok) late--;
        discard = false;
        begin(reads.front().first, 4, 0, reads.front().second);
        reads.pop_front();
        credits++;
    }

    // The next beat at the pins. At 128 bit a packet may begin in the middle of a beat whose lower half ends another one: the BARs are
    // those of the packet that begins, and the poison of either shows.
    void present(Vtp_model &top) {
        if (top.m_axis_rx_tvalid && !top.m_axis_rx_tready) return;
        decltype(rx)::Beat beat;
        top.m_axis_rx_tvalid = rx.next(beat);
        if (!top.m_axis_rx_tvalid) return;
        uint32_t user = (beat.parts[beat.count - 1].side & 0xff) << 2;
        bool whole = true;
        for (unsigned i = 0; i < beat.count; i++) {
            const auto &part = beat.parts[i];
            if (part.side & POISONED) user |= 1 << 1;
            if (part.starts) user |= 1 << 14 | part.first * 4 << 10;
            if (part.ends) user |= 1 << 21 | (part.last * 4 + 3) << 17;
            whole = part.last == LANES - 1;
        }
        take(top.m_axis_rx_tdata, beat.words.data());
        top.m_axis_rx_tuser = user;
        // At 128 bit these two do not count.
        top.m_axis_rx_tlast = LANES == 2 && beat.parts[0].ends;
        top.m_axis_rx_tkeep = LANES == 4 ? 0xffff : whole ? 0xff : 0xf;
    }

    // ---------------------------------------------------------------------------------------------- configuration
    void configure(Vtp_model &top, const tp_model_in &in) {
        const tp_model_config &c = in.config;
        id = c.requester;
        resetting = c.function_reset ? resetting + 1 : 0;
        top.cfg_received_func_lvl_rst = resetting == 1;
        top.cfg_bus_number = id >> 8;
        top.cfg_device_number = id >> 3 & 31;
        top.cfg_function_number = id & 7;
        top.cfg_command = 1 << 1 | (c.bus_master & 1) << 2;
        top.cfg_dcommand = (c.relaxed & 1) << 4 | (c.max_payload & 7) << 5 | (c.tags_8bit & 1) << 8 | (c.max_read & 7) << 12;
        top.cfg_dcommand2 = c.completion_timeout & 15;
        top.cfg_lcommand = (c.rcb_128 & 1) << 3;
        top.cfg_pmcsr_powerstate = c.active ? 0 : 3;
        top.cfg_interrupt_msixenable = c.msix_enable & 1;
        top.cfg_interrupt_msixfm = c.msix_mask & 1;
        top.cfg_to_turnoff = 0;
        top.cfg_err_cpl_rdy = 1;
    }
};
#endif
