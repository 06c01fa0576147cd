// SPDX-License-Identifier: Apache-2.0
// What the simulator and a compiled model agree on. One shared object holds one configuration of the gateware with one user core.
//
// The simulator owns time. tp_model_core_clock() is one rising edge of the core's clock: the inputs are applied, the edge happens, and the
// outputs are what the core shows after it. A beat on an outbound stream moves at an edge when `valid` was shown after the edge before
// it and `ready` is given at it. With `hold` no inbound beat may come at the next edge; a packet's beats follow each other otherwise. With
// `posted_hold` no inbound write may begin at the next edge.
// tp_model_user_clock() is one rising edge of one of the user's clocks, called only when the model was built with
// such of its own: one, or several that the card switches between. Times are in picoseconds and never go back.
#ifndef TP_MODEL_H
#define TP_MODEL_H
#include <stdint.h>

#define TP_MODEL_ABI 5
#define TP_MODEL_LANES 16  // dwords in the widest beat
#define TP_MODEL_USER_CLOCKS 3

struct tp_model_write {  // outbound posted
    uint64_t addr;
    uint16_t dwords;
    uint8_t first_be, last_be, relaxed, last, valid, tc;
    uint32_t data[TP_MODEL_LANES];
};
struct tp_model_read {  // outbound read request
    uint64_t addr;
    uint16_t dwords, tag;
    uint8_t first_be, last_be, relaxed, valid, tc, reserved[7];
};
struct tp_model_answer {  // outbound completion
    uint16_t requester, tag, byte_count, dwords;
    uint8_t tc, attr, lower_addr, status, last, valid, reserved[2];
    uint32_t data[TP_MODEL_LANES];
};
struct tp_model_completion {  // inbound completion
    uint16_t tag, dwords, byte_count;
    uint8_t status, poisoned, lower_addr, last, valid, reserved[7];
    uint32_t data[TP_MODEL_LANES];
};
struct tp_model_request {  // inbound posted and non-posted
    uint32_t offset;
    uint16_t dwords, requester, tag;
    uint8_t bar, first_be, last_be, tc, attr, last, valid, reserved[7];
    uint32_t data[TP_MODEL_LANES];  // posted only
};
struct tp_model_config {  // tp_config_t
    uint16_t requester;
    uint8_t max_payload, max_read, rcb_128, bus_master, relaxed, tags_8bit, tags_10bit, completion_timeout, msix_enable, msix_mask, link_up,
        active, function_reset, transmit_room;
};
struct tp_model_in {
    struct tp_model_config config;
    uint8_t reset, posted_ready, read_ready, answer_ready, reserved[4];
    struct tp_model_completion completion;
    struct tp_model_request posted, nonposted;
};
struct tp_model_out {
    uint8_t nonposted_credit, function_reset_done, hold, posted_hold,
        reserved[4];  // nonposted_credit: reads that there is room for, besides those told before
    struct tp_model_write posted;
    struct tp_model_read read;
    struct tp_model_answer answer;
};
struct tp_model_info {
    uint32_t abi, data_width;
    uint32_t core_clock_khz;
    uint32_t user_clocks_khz[TP_MODEL_USER_CLOCKS];  // 0: there is no such clock; without any the user core runs on the core's
};
struct tp_model_beats { // the streams at the user core, as they stand before its next edge; a channel's bit is its number in its direction
    uint64_t h2c_channels, h2c_valid, h2c_ready, c2h_valid, c2h_ready;
};
// Text that the core printed ($display and kin), whole or in pieces. kind 0: print, 1: $finish, 2: $stop or $fatal or a failed assertion.
typedef void (*tp_model_print)(void *context, int kind, const char *text, uint64_t length);

#ifdef __cplusplus
extern "C" {
#endif
void tp_model_info(struct tp_model_info *info);
// trace: path of an FST file or null. Returns null and prints the reason when it cannot be opened.
void *tp_model_new(const char *trace, tp_model_print print, void *context);
void tp_model_free(void *model);
void tp_model_core_clock(void *model, uint64_t picoseconds, const struct tp_model_in *in, struct tp_model_out *out);
void tp_model_user_clock(void *model, uint32_t index, uint64_t picoseconds);
// Waveforms hold what happens from one time to another; all of it, until this is called.
void tp_model_trace(void *model, uint64_t from, uint64_t to);
// All zeros from a top that does not show them.
void tp_model_beats(void *model, struct tp_model_beats *beats);
#ifdef __cplusplus
}
#endif
#endif
