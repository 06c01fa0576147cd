// SPDX-License-Identifier: Apache-2.0
// The cards that this process has opened by RIFFA's calls, and their streams.
#ifndef CARD_H
#define CARD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <riffa.h>
#include <towpath.h>

#include "../../../contract/generated/towpath.h"

enum way { TO_CARD, FROM_CARD, WAYS };

// One direction of one of RIFFA's channels. What follows `busy` is the call's that has set it.
struct stream {
    atomic_flag busy;
    towpath_channel *channel; // NULL: not open yet
    uint32_t number;          // of the card's channel
    bool open;                // a message is in progress: a call has ended in the middle of it
    uint64_t rest;            // its bytes that are missing, as far as they are known
};

struct card {
    atomic_uint opens; // 0: closed, and nothing of what follows counts
    towpath_device *device;
    uint32_t count[WAYS];
    struct stream streams[WAYS][TP_CHANNELS_MAX];
};

// The open card behind a handle; NULL if it is none.
struct card *card_of(fpga_t *fpga);

// Opens the stream's channel, unless its card was closed meanwhile. 0, or an errno.
int stream_open(struct card *card, struct stream *stream, enum way way);

static inline void stream_end(struct stream *stream) { atomic_flag_clear_explicit(&stream->busy, memory_order_release); }

#endif
