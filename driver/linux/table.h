/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The discovery table, read from the card and checked. What a card may say is the contract's to
 * know (contract/towpath.rdl): the checks are generated, for this driver and for the library's.
 *
 * Knows nothing of Linux but loads (platform.h), so that the contract's golden traces are replayed
 * against this very file in a program (driver/linux/tests).
 */
#ifndef TOWPATH_TABLE_H
#define TOWPATH_TABLE_H

#include "platform.h"

#include "contract/towpath.h"

enum tp_table_verdict {
	TP_TABLE_GOOD,
	TP_TABLE_NO_MAGIC,
	TP_TABLE_OTHER_VERSION,
	TP_TABLE_BAD,
};

struct tp_table {
	/* Without its magic or in another version: only magic and version. */
	struct tp_discovery header;
	struct tp_channel_entry entries[TP_CHANNELS_MAX];
	/* Of a bad one: what, and in which channel's entry; -1: in the header. */
	struct tp_table_fault fault;
	int channel;
};

/* `device_bytes`, `window_bytes` and `memory_bytes` are those of the BARs; `page` is all mapped. */
enum tp_table_verdict tp_table_load(struct tp_table *table, void __iomem *page, u64 device_bytes,
				    u64 window_bytes, u64 memory_bytes);

#endif
