// SPDX-License-Identifier: Apache-2.0
// The neutral streams as ports of tp_sim_top, a field each: what the simulator tells goes to them as it is.
#ifndef TP_BOUNDARY_H
#define TP_BOUNDARY_H
#include "Vtp_model.h"
#include "tp_lanes.h"
#include "tp_model.h"

class Boundary {
public:
    // Before a rising edge of the core's clock: what the top samples at it.
    void apply(Vtp_model &top, const tp_model_in &in) const {
        const tp_model_config &c = in.config;
        top.rst = in.reset != 0;
        top.cfg_requester = c.requester;
        top.cfg_max_payload = c.max_payload & 7;
        top.cfg_max_read = c.max_read & 7;
        top.cfg_rcb_128 = c.rcb_128 != 0;
        top.cfg_bus_master = c.bus_master != 0;
        top.cfg_relaxed = c.relaxed != 0;
        top.cfg_tags_8bit = c.tags_8bit != 0;
        top.cfg_tags_10bit = c.tags_10bit != 0;
        top.cfg_completion_timeout = c.completion_timeout & 15;
        top.cfg_msix_enable = c.msix_enable != 0;
        top.cfg_msix_mask = c.msix_mask != 0;
        top.cfg_link_up = c.link_up != 0;
        top.cfg_active = c.active != 0;
        top.cfg_function_reset = c.function_reset != 0;
        top.cfg_transmit_room = c.transmit_room;
        top.tx_posted_ready = in.posted_ready != 0;
        top.tx_read_ready = in.read_ready != 0;
        top.tx_answer_ready = in.answer_ready != 0;

        top.rx_completion_valid = in.completion.valid != 0;
        if (in.completion.valid) {
            const tp_model_completion &p = in.completion;
            top.rx_completion_tag = p.tag & 0x3ff;
            top.rx_completion_status = p.status & 7;
            top.rx_completion_poisoned = p.poisoned != 0;
            top.rx_completion_dwords = p.dwords & 0x7ff;
            top.rx_completion_byte_count = p.byte_count & 0x1fff;
            top.rx_completion_lower_addr = p.lower_addr & 0x7f;
            top.rx_completion_last = p.last != 0;
            take(top.rx_completion_data, p.data);
        }
        top.rx_posted_valid = in.posted.valid != 0;
        if (in.posted.valid) {
            const tp_model_request &p = in.posted;
            top.rx_posted_bar = p.bar & 7;
            top.rx_posted_offset = p.offset;
            top.rx_posted_dwords = p.dwords & 0x7ff;
            top.rx_posted_first_be = p.first_be & 15;
            top.rx_posted_last_be = p.last_be & 15;
            top.rx_posted_last = p.last != 0;
            take(top.rx_posted_data, p.data);
        }
        top.rx_nonposted_valid = in.nonposted.valid != 0;
        if (in.nonposted.valid) {
            const tp_model_request &p = in.nonposted;
            top.rx_nonposted_bar = p.bar & 7;
            top.rx_nonposted_offset = p.offset;
            top.rx_nonposted_dwords = p.dwords & 0x7ff;
            top.rx_nonposted_first_be = p.first_be & 15;
            top.rx_nonposted_last_be = p.last_be & 15;
            top.rx_nonposted_requester = p.requester;
            top.rx_nonposted_tag = p.tag & 0x3ff;
            top.rx_nonposted_tc = p.tc & 7;
            top.rx_nonposted_attr = p.attr & 7;
        }
    }

    // After it: what the top shows. Fields of a stream that is not valid keep what they held: the simulator does not look at them.
    void show(tp_model_out &out, const Vtp_model &top) const {
        out.nonposted_credit = top.nonposted_credit;
        out.function_reset_done = top.function_reset_done;
        out.hold = 0;
        out.posted_hold = top.rx_posted_hold;
        out.posted.valid = top.tx_posted_valid;
        if (top.tx_posted_valid) {
            tp_model_write &p = out.posted;
            p.addr = top.tx_posted_addr;
            p.dwords = top.tx_posted_dwords;
            p.first_be = top.tx_posted_first_be;
            p.last_be = top.tx_posted_last_be;
            p.relaxed = top.tx_posted_relaxed;
            p.tc = top.tx_posted_tc;
            p.last = top.tx_posted_last;
            give(p.data, top.tx_posted_data);
        }
        out.read.valid = top.tx_read_valid;
        if (top.tx_read_valid) {
            tp_model_read &p = out.read;
            p.addr = top.tx_read_addr;
            p.dwords = top.tx_read_dwords;
            p.tag = top.tx_read_tag;
            p.first_be = top.tx_read_first_be;
            p.last_be = top.tx_read_last_be;
            p.relaxed = top.tx_read_relaxed;
            p.tc = top.tx_read_tc;
        }
        out.answer.valid = top.tx_answer_valid;
        if (top.tx_answer_valid) {
            tp_model_answer &p = out.answer;
            p.requester = top.tx_answer_requester;
            p.tag = top.tx_answer_tag;
            p.byte_count = top.tx_answer_byte_count;
            p.dwords = top.tx_answer_dwords;
            p.tc = top.tx_answer_tc;
            p.attr = top.tx_answer_attr;
            p.lower_addr = top.tx_answer_lower_addr;
            p.status = top.tx_answer_status;
            p.last = top.tx_answer_last;
            give(p.data, top.tx_answer_data);
        }
    }
};
#endif
