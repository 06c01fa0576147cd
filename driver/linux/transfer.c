// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "transfer.h"

#define TP_LENGTH_LIMIT BIT_ULL(48)

static unsigned int copy_limit = 16384;
module_param(copy_limit, uint, 0644);
MODULE_PARM_DESC(copy_limit, "bytes from which memory is moved in place (default 16384)");

/* A walk over a piece's parts, as they lie for the card. */
struct tp_walk {
	const struct tp_held *held;
	struct scatterlist *at; /* of what was pinned */
	u64 done;
};

/* The next part: its address and bytes; 0: there is none. */
static u32 tp_walk_next(struct tp_walk *walk, dma_addr_t *address)
{
	const struct tp_held *held = walk->held;
	u32 bytes;

	if (walk->done == held->bytes)
		return 0;
	if (held->memory) {
		bytes = tp_memory_next(held->memory, held->address + walk->done,
				       held->bytes - walk->done, address);
	} else {
		walk->at = walk->at ? sg_next(walk->at) : held->pin.mapped.sgl;
		*address = sg_dma_address(walk->at);
		bytes = sg_dma_len(walk->at);
	}
	walk->done += bytes;
	return bytes;
}

/* The number of all parts; and their table, if there is one to be filled. */
static u32 tp_list(const struct tp_transfer *transfer, struct tp_list_entry *table)
{
	u32 number = 0;
	u32 index;

	for (index = 0; index < transfer->held_count; index++) {
		struct tp_walk walk = { .held = &transfer->held[index] };
		dma_addr_t address;
		u32 bytes;

		for (; (bytes = tp_walk_next(&walk, &address)); number++) {
			if (!table)
				continue;
			table[number].address = cpu_to_le64(address);
			table[number].length = cpu_to_le32(bytes);
			table[number].control = 0;
		}
	}
	if (table && number)
		table[number - 1].control = cpu_to_le32(TP_LIST_ENTRY_CONTROL_LAST_MASK);
	return number;
}

/* One descriptor for all of it: as it is where it lies together, by a table where not. */
static int tp_describe(struct tp_card *card, struct tp_transfer *transfer)
{
	struct tp_descriptor *descriptor = &transfer->descriptors[transfer->work.places - 1];
	struct tp_walk walk = { .held = transfer->held };
	const u32 count = tp_list(transfer, NULL);
	u32 kind = TP_KIND_DIRECT;
	dma_addr_t address = 0;

	if (count == 1) {
		/* Pieces of no bytes are not held. */
		tp_walk_next(&walk, &address);
	} else if (count > 1) {
		/* A power of two, so that it is aligned: the card reads ahead by 64 bytes. */
		transfer->table_bytes = max_t(size_t, count * sizeof(*transfer->table), 64);
		transfer->table_bytes = roundup_pow_of_two(transfer->table_bytes);
		transfer->table = kzalloc(transfer->table_bytes, GFP_KERNEL_ACCOUNT);
		if (!transfer->table)
			return -ENOMEM;
		tp_list(transfer, transfer->table);
		address = dma_map_single(card->bus.device, transfer->table, transfer->table_bytes,
					 DMA_TO_DEVICE);
		if (dma_mapping_error(card->bus.device, address)) {
			kfree(transfer->table);
			transfer->table = NULL;
			return -ENOMEM;
		}
		transfer->table_address = address;
		kind = TP_KIND_LIST;
	}
	descriptor->address = cpu_to_le64(address);
	descriptor->length = cpu_to_le32(transfer->work.wanted);
	descriptor->control = cpu_to_le16(kind << TP_DESCRIPTOR_CONTROL_KIND_LSB | transfer->end);
	return 0;
}

void tp_describe_address(struct tp_descriptor *descriptor, u64 address)
{
	*descriptor = (struct tp_descriptor){
		.address = cpu_to_le64(address),
		.control = cpu_to_le16(TP_KIND_ATTRIBUTES << TP_DESCRIPTOR_CONTROL_KIND_LSB),
	};
}

/* The flags that a transfer on this channel may have. */
static u32 tp_known_flags(const struct tp_channel *channel)
{
	if (tp_is_h2c(channel))
		return TOWPATH_TRANSFER_END | TOWPATH_TRANSFER_ATTRIBUTES | TOWPATH_TRANSFER_LENGTH;
	return tp_is_stream(channel) ? 0 : TOWPATH_TRANSFER_ATTRIBUTES;
}

/* What goes before the descriptor, and how many places they take together. */
static int tp_prefixes(struct tp_transfer *transfer, const struct towpath_transfer *wanted,
		       const struct tp_channel *channel)
{
	struct tp_descriptor *descriptor = transfer->descriptors;

	if (wanted->flags & ~tp_known_flags(channel) || wanted->reserved)
		return -EINVAL;
	if (wanted->flags & TOWPATH_TRANSFER_ATTRIBUTES) {
		tp_describe_address(descriptor, wanted->offset);
		descriptor->length = cpu_to_le32(wanted->user);
		descriptor++;
	} else if (wanted->offset || wanted->user) {
		return -EINVAL;
	}
	if (wanted->flags & TOWPATH_TRANSFER_LENGTH) {
		if (wanted->length >= TP_LENGTH_LIMIT)
			return -EINVAL;
		descriptor->address = cpu_to_le64(wanted->length);
		descriptor->control =
			cpu_to_le16(TP_KIND_MESSAGE_LENGTH << TP_DESCRIPTOR_CONTROL_KIND_LSB);
		descriptor++;
	} else if (wanted->length) {
		return -EINVAL;
	}
	if (wanted->flags & TOWPATH_TRANSFER_END)
		transfer->end = TP_DESCRIPTOR_CONTROL_END_MASK;
	transfer->work.places = descriptor - transfer->descriptors + 1;
	return 0;
}

/* Keep a piece of memory where it is. */
static int tp_hold(struct tp_channel *channel, struct tp_owner *owner, struct tp_held *held,
		   const struct towpath_piece *piece)
{
	const u32 flag = tp_is_h2c(channel) ? TOWPATH_BUFFER_TO_CARD : TOWPATH_BUFFER_FROM_CARD;
	ssize_t pinned;

	held->address = piece->address;
	held->bytes = piece->bytes;
	if (!piece->buffer) {
		pinned = tp_pin(channel->card, &held->pin, piece->address, piece->bytes,
				tp_way(channel), true);
		return min_t(ssize_t, pinned, 0);
	}
	if (!owner)
		return -ENOENT;
	held->memory = tp_memory_get(owner, piece->buffer, piece->address, piece->bytes, flag);
	if (IS_ERR(held->memory))
		return PTR_ERR(held->memory);
	tp_memory_sync(held->memory, held->address, held->bytes, true);
	return 0;
}

static int tp_hold_all(struct tp_channel *channel, struct tp_owner *owner,
		       struct tp_transfer *transfer, const struct towpath_piece *pieces, u32 count)
{
	u32 index;
	int error;

	for (index = 0; index < count; index++) {
		const struct towpath_piece *piece = &pieces[index];

		if (piece->reserved)
			return -EINVAL;
		if (piece->bytes > TOWPATH_TRANSFER_BYTES - transfer->work.wanted)
			return -EMSGSIZE;
		if (!piece->bytes)
			continue;
		error = tp_hold(channel, owner, &transfer->held[transfer->held_count], piece);
		if (error)
			return error;
		transfer->held_count++;
		transfer->work.wanted += piece->bytes;
	}
	return 0;
}

static struct towpath_piece *tp_take_pieces(const struct towpath_transfer *wanted)
{
	if (wanted->count > TOWPATH_TRANSFER_PIECES)
		return ERR_PTR(-EMSGSIZE);
	if (!wanted->count)
		return NULL;
	return memdup_user(u64_to_user_ptr(wanted->pieces),
			   wanted->count * sizeof(struct towpath_piece));
}

static struct tp_transfer *tp_allocate(const struct tp_channel *channel, u32 count)
{
	struct tp_transfer *transfer =
		kvzalloc(struct_size(transfer, held, count), GFP_KERNEL_ACCOUNT);

	if (transfer) {
		INIT_LIST_HEAD(&transfer->work.link);
		transfer->reads = tp_is_h2c(channel);
		transfer->work.places = 1;
		transfer->work.status = TP_STATUS_CANCELLED;
	}
	return transfer;
}

/* What is held becomes a descriptor, unless there was an error. */
static struct tp_transfer *tp_finish(struct tp_channel *channel, struct tp_transfer *transfer,
				     int error)
{
	if (!error)
		error = tp_describe(channel->card, transfer);
	if (!error)
		return transfer;
	tp_transfer_free(channel->card, transfer);
	return ERR_PTR(error);
}

struct tp_transfer *tp_transfer_create(struct tp_channel *channel, struct tp_owner *owner,
				       const struct towpath_transfer *wanted)
{
	struct towpath_piece *pieces = tp_take_pieces(wanted);
	struct tp_transfer *transfer;
	int error;

	if (IS_ERR(pieces))
		return ERR_CAST(pieces);
	transfer = tp_allocate(channel, wanted->count);
	if (!transfer) {
		kfree(pieces);
		return ERR_PTR(-ENOMEM);
	}
	error = tp_prefixes(transfer, wanted, channel);
	if (!error && transfer->work.places > channel->engine.depth)
		error = -EINVAL;
	if (!error)
		error = tp_hold_all(channel, owner, transfer, pieces, wanted->count);
	kfree(pieces);
	return tp_finish(channel, transfer, error);
}

struct tp_transfer *tp_transfer_pin(struct tp_channel *channel, u64 address, u64 bytes, bool end)
{
	struct tp_transfer *transfer = tp_allocate(channel, 1);
	ssize_t pinned;

	if (!transfer)
		return ERR_PTR(-ENOMEM);
	pinned =
		tp_pin(channel->card, &transfer->held->pin, address, bytes, tp_way(channel), false);
	if (pinned > 0) {
		transfer->held_count = 1;
		transfer->held->bytes = pinned;
		transfer->work.wanted = pinned;
		if (end && pinned == bytes)
			transfer->end = TP_DESCRIPTOR_CONTROL_END_MASK;
	}
	return tp_finish(channel, transfer, min_t(ssize_t, pinned, 0));
}

bool tp_transfer_suits(const struct iov_iter *iter)
{
	unsigned long start;
	size_t bytes;

	if (!user_backed_iter(iter))
		return false;
	tp_iter_segment(iter, &start, &bytes);
	return min(bytes, iov_iter_count(iter)) >= max_t(size_t, READ_ONCE(copy_limit), PAGE_SIZE);
}

void tp_transfer_address(struct tp_transfer *transfer, u64 address)
{
	struct tp_descriptor *descriptors = transfer->descriptors;

	descriptors[1] = descriptors[0];
	if (transfer->reads)
		descriptors[1].control |= cpu_to_le16(TP_DESCRIPTOR_CONTROL_END_MASK);
	tp_describe_address(&descriptors[0], address);
	transfer->work.places = 2;
}

bool tp_transfer_names(const struct tp_transfer *transfer, const struct tp_memory *memory)
{
	u32 index;

	for (index = 0; index < transfer->held_count; index++) {
		const struct tp_memory *held = transfer->held[index].memory;

		if (held && (memory ? held == memory : READ_ONCE(held->forbidden)))
			return true;
	}
	return false;
}

void tp_transfer_release(struct tp_card *card, struct tp_transfer *transfer)
{
	/* What the card has read, or has not written, needs no synchronization. */
	u64 left = transfer->reads ? 0 : transfer->work.moved;
	u32 index;

	if (transfer->table) {
		dma_unmap_single(card->bus.device, transfer->table_address, transfer->table_bytes,
				 DMA_TO_DEVICE);
		kfree(transfer->table);
		transfer->table = NULL;
	}
	for (index = 0; index < transfer->held_count; index++) {
		struct tp_held *held = &transfer->held[index];

		if (held->memory) {
			tp_memory_sync(held->memory, held->address, min(held->bytes, left), false);
			tp_memory_put(held->memory);
		} else {
			tp_pin_sync_for_cpu(card, &held->pin);
			tp_unpin(card, &held->pin);
		}
		left -= min(held->bytes, left);
	}
	transfer->held_count = 0;
}

void tp_transfer_report(const struct tp_transfer *transfer, struct towpath_completion *into)
{
	*into = (struct towpath_completion){
		.ticket = transfer->ticket,
		.bytes = transfer->work.moved,
		.status = transfer->work.status,
		.offset = transfer->work.offset,
		.user = transfer->work.user,
	};
}

void tp_transfer_free(struct tp_card *card, struct tp_transfer *transfer)
{
	tp_transfer_release(card, transfer);
	kvfree(transfer);
}
