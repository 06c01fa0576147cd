/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A card that stays bound and loses its state: resets, sleep, and errors of the bus that the system
 * recovers from. Each user of a channel gets ECONNRESET once, and can go on. A card that does not
 * come back has failed (EIO). Of a recovery that fails some kernels tell no driver: the card stays
 * asleep, and a reset of its function or a new binding wakes it.
 */
#ifndef TOWPATH_POWER_H
#define TOWPATH_POWER_H

#include "channel.h"

/*
 * Reset all channels and the user core: afterwards nothing is in flight. ENOLINK: the card cannot
 * be reached, and may not know of it; ETIMEDOUT: it does not stop.
 */
int tp_card_quiet(struct tp_card *card);
/*
 * With the gate held for writing: empty all channels, and serve again. `owner`: whose clients asked
 * for the reset, or NULL. If the card was not reset (`is_reset`), each channel needs a reset.
 */
void tp_card_serve(struct tp_card *card, const struct tp_owner *owner, bool is_reset);
/* Reset the whole card, for `owner`; the caller has not entered it. */
int tp_card_reset(struct tp_card *card, const struct tp_owner *owner);
/* The card sleeps until tp_card_resume(), with nothing in flight. It is stopped if `reachable`. */
void tp_card_suspend(struct tp_card *card, bool reachable);
int tp_card_resume(struct tp_card *card);

#endif
