// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/slab.h>

#include "core.h"
#include "name.h"
#include "table.h"

/* Say why the card is refused. */
static int tp_refuse_table(struct device *device, const struct tp_table *table,
			   enum tp_table_verdict verdict)
{
	const struct tp_discovery *header = &table->header;
	const struct tp_table_fault *fault = &table->fault;
	char where[sizeof("channel -2147483648: ")] = "";

	/* clang-format off */
	switch (verdict) {
	case TP_TABLE_NO_MAGIC:
		return dev_err_probe(device, -ENODEV,
				     "not a Towpath card: its first word is %#llx\n",
				     header->magic);
	case TP_TABLE_OTHER_VERSION:
		return dev_err_probe(device, -EPROTONOSUPPORT,
				     "the card speaks version %u.%u of the contract, this driver %u.%u: use a bitstream or a driver of the other's major version\n",
				     header->version_major, header->version_minor, TP_VERSION_MAJOR,
				     TP_VERSION_MINOR);
	default:
		if (table->plugin >= 0)
			snprintf(where, sizeof(where), "plug-in %d: ", table->plugin);
		if (table->channel >= 0)
			snprintf(where, sizeof(where), "channel %d: ", table->channel);
		return dev_err_probe(device, -EINVAL,
				     "bad discovery table: %s%s is %llu; allowed: %llu to %llu%s; rebuild the bitstream\n",
				     where, fault->what, fault->value, fault->least, fault->most,
				     fault->besides);
	}
	/* clang-format on */
}

/* `name` has room for one byte more. */
static void tp_copy_name(char *name, const u8 *from, u32 bytes)
{
	memcpy(name, from, bytes);
	name[bytes] = 0;
	tp_name_clean(name, bytes);
}

static int tp_keep_channel(struct tp_card *card, struct tp_channel *channel,
			   const struct tp_channel_entry *entry)
{
	channel->card = card;
	channel->direction = entry->direction;
	channel->inline_slots = entry->inline_slots;
	channel->buffer_bytes = entry->buffer_bytes;
	tp_copy_name(channel->name, entry->name, TP_NAME_BYTES);
	channel->kind = entry->kind;
	channel->kind_version = entry->kind_version;
	channel->kind_parameter = entry->kind_parameter;
	channel->window = entry->window;
	tp_copy_name(channel->kind_name, entry->kind_name, TP_CHANNEL_ENTRY_KIND_NAME_COUNT);
	channel->engine.depth = entry->queue_depth;
	channel->engine.privileged = tp_page(card, entry->first_page + TP_PAGE_CHANNEL_PRIVILEGED);
	channel->engine.doorbell = tp_page(card, entry->first_page + TP_PAGE_CHANNEL_DOORBELL);
	mutex_init(&channel->io);
	spin_lock_init(&channel->lock);
	init_waitqueue_head(&channel->wait);
	INIT_LIST_HEAD(&channel->posted);
	INIT_LIST_HEAD(&channel->levels);
	return tp_file_create(channel);
}

static int tp_keep_table(struct tp_card *card, const struct tp_table *table)
{
	const struct tp_discovery *header = &table->header;
	u16 index;
	int error = 0;

	card->channels = kcalloc(header->channels, sizeof(*card->channels), GFP_KERNEL);
	if (!card->channels)
		return -ENOMEM;
	card->channel_count = header->channels;
	card->table = *header;
	memcpy(card->plugins, table->plugins, header->plugins * sizeof(*card->plugins));
	tp_copy_name(card->core_name, header->core_name, TP_NAME_BYTES);
	tp_window_init(card);
	for (index = 0; index < card->channel_count && !error; index++) {
		card->channels[index].index = index;
		error = tp_keep_channel(card, &card->channels[index], &table->entries[index]);
	}
	return error ? error : tp_rams_find(card);
}

int tp_discover(struct tp_card *card)
{
	struct tp_table *table = kmalloc(sizeof(*table), GFP_KERNEL);
	enum tp_table_verdict verdict;
	int error;

	if (!table)
		return -ENOMEM;
	verdict = tp_table_load(table, tp_page(card, TP_PAGE_DISCOVERY), card->bus.page_bytes,
				card->bus.window_bytes, card->bus.memory_bytes);
	if (verdict == TP_TABLE_GOOD)
		error = tp_keep_table(card, table);
	else
		error = tp_refuse_table(card->bus.device, table, verdict);
	kfree(table);
	return error;
}
