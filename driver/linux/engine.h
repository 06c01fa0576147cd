/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One channel as the contract knows it: start, post, reap, arm, cancel, reset
 * (contract/protocol.md).
 *
 * Knows nothing of Linux but loads, stores and barriers (platform.h), so that the contract's golden
 * traces are replayed against this very file in a program (driver/linux/tests). Holds no lock: the
 * caller makes calls for one engine one after the other. Judges nothing that the card says: that is
 * the caller's.
 */
#ifndef TOWPATH_ENGINE_H
#define TOWPATH_ENGINE_H

#include "platform.h"

#include "contract/towpath.h"

struct tp_engine {
	void __iomem *privileged;
	void __iomem *doorbell;
	struct tp_completion *ring; /* aligned to its size, in memory that the card writes */
	u64 ring_address; /* the same for the card */
	u32 ring_log2;
	u32 consumer; /* entries reaped since the start, modulo 2^32 */
	u16 depth; /* of the card's queue */
	u16 used; /* places taken in it: whoever ends a descriptor gives them back */
};

/* An entry of the ring, in the machine's own order of bytes. */
struct tp_entry {
	u32 bytes;
	u32 offset;
	u32 user;
	u16 cookie;
	u8 status;
	bool start;
};

/* The ring for a queue so deep: no index is ever told to the card, so it must not overflow. */
u32 tp_engine_ring_log2(u16 depth);
/* Start a channel that is not running, with an empty ring. */
void tp_engine_start(struct tp_engine *engine, u32 vector, bool announce);
/* Have message starts told from now on, on a channel that is running. */
void tp_engine_announce(struct tp_engine *engine);
/* False: there is no room, and nothing was posted. */
bool tp_engine_post(struct tp_engine *engine, const struct tp_descriptor *descriptor);
/* Take the oldest entry that is new. False: there is none. */
bool tp_engine_next(struct tp_engine *engine, struct tp_entry *entry);
/* Fire the vector with the next entry that is not reaped, at once if there is one already. */
void tp_engine_arm(struct tp_engine *engine);
/* Fire the vector once, by a word of the doorbell `fill`. */
void tp_engine_fill(struct tp_engine *engine, u32 word);
void tp_engine_cancel(struct tp_engine *engine);
void tp_engine_reset(struct tp_engine *engine);
/*
 * Does the reset still go on? All ones, from a card that cannot be reached, count as that, and are
 * noted.
 */
bool tp_engine_is_resetting(struct tp_engine *engine, bool *unanswered);

#endif
