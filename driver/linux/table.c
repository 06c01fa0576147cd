// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "table.h"

static void tp_load_bytes(u8 *image, void __iomem *from, u32 bytes)
{
	u32 word = 0;
	u32 at;

	for (at = 0; at < bytes; at++) {
		if (at % sizeof(word) == 0)
			word = readl(from + at);
		image[at] = word >> 8 * (at % sizeof(word));
	}
}

enum tp_table_verdict tp_table_load(struct tp_table *table, void __iomem *page, u64 device_bytes,
				    u64 window_bytes, u64 memory_bytes)
{
	struct tp_discovery *header = &table->header;
	struct tp_discovery_image image = {};
	struct tp_channel_entry_image entry;

	table->channel = -1;
	/* Magic and version first: without them it may be anything. */
	tp_load_bytes(image.bytes, page, TP_DISCOVERY_CHANNELS_OFFSET);
	tp_discovery_read(header, &image);
	if (header->magic != TP_DISCOVERY_MAGIC_VALUE)
		return TP_TABLE_NO_MAGIC;
	if (header->version_major != TP_VERSION_MAJOR)
		return TP_TABLE_OTHER_VERSION;
	tp_load_bytes(image.bytes, page, sizeof(image.bytes));
	tp_discovery_read(header, &image);
	if (tp_discovery_check(header, device_bytes, window_bytes, memory_bytes, &table->fault))
		return TP_TABLE_BAD;
	for (table->channel = 0; table->channel < header->channels; table->channel++) {
		struct tp_channel_entry *at = &table->entries[table->channel];

		tp_load_bytes(entry.bytes,
			      page + header->entry_offset + table->channel * header->entry_bytes,
			      sizeof(entry.bytes));
		tp_channel_entry_read(at, &entry);
		if (tp_channel_entry_check(at, table->entries, table->channel, header, device_bytes,
					   &table->fault))
			return TP_TABLE_BAD;
	}
	return TP_TABLE_GOOD;
}
