// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Reads the discovery table and believes nothing of it: what the rest of the driver relies on is
 * checked here.
 */
#include <linux/pci.h>
#include <linux/slab.h>

#include "card.h"
#include "name.h"

static void tp_read_name(void __iomem *from, char *name)
{
	u32 words[TP_NAME_BYTES / 4];
	unsigned int word;

	for (word = 0; word < ARRAY_SIZE(words); word++)
		words[word] = (__force u32)cpu_to_le32(readl(from + 4 * word));
	memcpy(name, words, TP_NAME_BYTES);
	name[TP_NAME_BYTES] = 0;
	tp_name_clean(name, TP_NAME_BYTES);
}

static u16 tp_read16(void __iomem *from, u32 offset)
{
	return readl(from + (offset & ~3u)) >> 8 * (offset & 3);
}

static u8 tp_read8(void __iomem *from, u32 offset)
{
	return readl(from + (offset & ~3u)) >> 8 * (offset & 3);
}

static int tp_discover_channel(struct tp_card *card, struct tp_channel *channel,
			       void __iomem *entry)
{
	struct device *device = &card->pci->dev;
	const u32 first_page = readl(entry + TP_CHANNEL_ENTRY_FIRST_PAGE_OFFSET);
	const u64 pages = pci_resource_len(card->pci, TP_BAR_DEVICE) >> card->page_shift;

	channel->direction = tp_read8(entry, TP_CHANNEL_ENTRY_DIRECTION_OFFSET);
	channel->engine.depth = tp_read16(entry, TP_CHANNEL_ENTRY_QUEUE_DEPTH_OFFSET);
	channel->inline_slots = tp_read16(entry, TP_CHANNEL_ENTRY_INLINE_SLOTS_OFFSET);
	channel->buffer_bytes = readl(entry + TP_CHANNEL_ENTRY_BUFFER_BYTES_OFFSET);
	tp_read_name(entry + TP_CHANNEL_ENTRY_NAME_OFFSET, channel->name);
	if (channel->direction > TP_DIRECTION_C2H ||
	    tp_read8(entry, TP_CHANNEL_ENTRY_KIND_OFFSET) != TP_CHANNEL_KIND_STREAM)
		return dev_err_probe(device, -EINVAL, "channel %u is of an unknown kind\n",
				     channel->index);
	if (channel->engine.depth == 0 || tp_engine_ring_log2(channel->engine.depth) > 16 ||
	    first_page < TP_PAGE_CHANNELS || (u64)first_page + TP_PAGES_PER_CHANNEL > pages)
		return dev_err_probe(device, -EINVAL, "channel %u: depth %u, page %u of %llu\n",
				     channel->index, channel->engine.depth, first_page, pages);
	channel->engine.privileged = tp_page(card, first_page + TP_PAGE_CHANNEL_PRIVILEGED);
	channel->engine.doorbell = tp_page(card, first_page + TP_PAGE_CHANNEL_DOORBELL);
	return 0;
}

int tp_discover(struct tp_card *card)
{
	void __iomem *table = tp_page(card, TP_PAGE_DISCOVERY);
	struct device *device = &card->pci->dev;
	u32 entry_offset, entry_bytes;
	u64 magic;
	u16 index;
	int error;

	magic = readl(table + TP_DISCOVERY_MAGIC_OFFSET);
	magic |= (u64)readl(table + TP_DISCOVERY_MAGIC_OFFSET + 4) << 32;
	if (magic != TP_DISCOVERY_MAGIC_VALUE)
		return dev_err_probe(device, -ENODEV,
				     "not a Towpath card: its first word is %#llx\n", magic);
	card->version_major = tp_read16(table, TP_DISCOVERY_VERSION_MAJOR_OFFSET);
	card->version_minor = tp_read16(table, TP_DISCOVERY_VERSION_MINOR_OFFSET);
	/* clang-format off */
	if (card->version_major != TP_VERSION_MAJOR)
		return dev_err_probe(device, -EPROTONOSUPPORT,
				     "the card speaks version %u.%u of the contract, this driver %u.%u: use a bitstream or a driver of the other's major version\n",
				     card->version_major, card->version_minor, TP_VERSION_MAJOR,
				     TP_VERSION_MINOR);
	/* clang-format on */
	card->page_shift = tp_read8(table, TP_DISCOVERY_PAGE_SHIFT_OFFSET);
	card->data_bytes = tp_read8(table, TP_DISCOVERY_DATA_BYTES_OFFSET);
	card->channel_count = tp_read16(table, TP_DISCOVERY_CHANNELS_OFFSET);
	card->vectors = tp_read16(table, TP_DISCOVERY_VECTORS_OFFSET);
	card->interrupts = tp_read16(table, TP_DISCOVERY_USER_INTERRUPTS_OFFSET);
	card->tags = tp_read16(table, TP_DISCOVERY_TAGS_OFFSET);
	card->window_bytes = readl(table + TP_DISCOVERY_WINDOW_BYTES_OFFSET);
	card->serial = readl(table + TP_DISCOVERY_SERIAL_OFFSET);
	card->serial |= (u64)readl(table + TP_DISCOVERY_SERIAL_OFFSET + 4) << 32;
	card->core_clock_khz = readl(table + TP_DISCOVERY_CORE_CLOCK_KHZ_OFFSET);
	card->user_clock_khz = readl(table + TP_DISCOVERY_USER_CLOCK_KHZ_OFFSET);
	card->core_version = readl(table + TP_DISCOVERY_CORE_VERSION_OFFSET);
	tp_read_name(table + TP_DISCOVERY_CORE_NAME_OFFSET, card->core_name);
	entry_offset = tp_read16(table, TP_DISCOVERY_ENTRY_OFFSET_OFFSET);
	entry_bytes = tp_read16(table, TP_DISCOVERY_ENTRY_BYTES_OFFSET);
	/*
	 * Entries may have grown, but must hold what this driver reads, and lie in the table's
	 * page.
	 */
	if (card->page_shift < 12 || card->page_shift > 16 ||
	    card->channel_count > TP_CHANNELS_MAX || card->vectors == 0 ||
	    card->vectors > TP_MSIX_VECTORS_MAX || card->interrupts > TP_USER_INTERRUPTS ||
	    entry_bytes < TP_CHANNEL_ENTRY_BYTES || (entry_offset | entry_bytes) & 3 ||
	    entry_offset + card->channel_count * entry_bytes > 1u << card->page_shift ||
	    (u64)TP_PAGE_CHANNELS << card->page_shift > pci_resource_len(card->pci, TP_BAR_DEVICE))
		return dev_err_probe(device, -EINVAL, "its discovery table makes no sense\n");
	if (card->window_bytes > pci_resource_len(card->pci, TP_BAR_WINDOW))
		return dev_err_probe(device, -EINVAL,
				     "its register window of %u bytes does not fit into BAR %u\n",
				     card->window_bytes, TP_BAR_WINDOW);
	card->channels = kcalloc(card->channel_count, sizeof(*card->channels), GFP_KERNEL);
	if (card->channel_count && !card->channels)
		return -ENOMEM;
	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		channel->card = card;
		channel->index = index;
		mutex_init(&channel->io);
		spin_lock_init(&channel->lock);
		init_waitqueue_head(&channel->wait);
		INIT_LIST_HEAD(&channel->posted);
		INIT_LIST_HEAD(&channel->idle);
		INIT_LIST_HEAD(&channel->ready);
		INIT_DELAYED_WORK(&channel->flush, tp_channel_flush);
		error = tp_discover_channel(card, channel,
					    table + entry_offset + index * entry_bytes);
		if (error)
			return error;
	}
	return 0;
}
