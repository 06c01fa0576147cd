// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Registered buffers: memory of a program that stays pinned and mapped for many transfers.
 *
 * They belong to an open control file, its owner here, and live until they are unregistered or
 * that file is closed, and until the last transfer that names them has been collected. The mapping
 * for the card ends with the card, if that is sooner.
 *
 * Whoever comes here has entered the card, or holds its gate.
 */
#include <linux/eventfd.h>
#include <linux/slab.h>

#include "card.h"
#include "uapi/towpath.h"

/* Where a part of the buffer is for the card: from `start` bytes in it to the next one's. */
struct tp_extent {
	u64 start;
	dma_addr_t address;
};

struct tp_memory {
	struct kref references; /* the owner's, and one for each transfer */
	struct tp_card *card;
	struct list_head link; /* in card->memories */
	struct tp_pin pin;
	u64 address; /* the program's */
	u64 bytes;
	u32 flags; /* TOWPATH_BUFFER_... */
	u32 count;
	struct tp_extent extents[];
};

struct tp_owner *tp_owner_create(struct tp_card *card)
{
	struct tp_owner *owner = kzalloc(sizeof(*owner), GFP_KERNEL);

	if (!owner)
		return NULL;
	kref_init(&owner->references);
	owner->card = card;
	mutex_init(&owner->lock);
	xa_init_flags(&owner->memories, XA_FLAGS_ALLOC1);
	spin_lock_irq(&card->owners_lock);
	list_add_tail(&owner->link, &card->owners);
	spin_unlock_irq(&card->owners_lock);
	return owner;
}

struct tp_owner *tp_owner_get(struct tp_owner *owner)
{
	kref_get(&owner->references);
	return owner;
}

static void tp_owner_free(struct kref *references)
{
	struct tp_owner *owner = container_of(references, struct tp_owner, references);

	xa_destroy(&owner->memories);
	kfree(owner);
}

void tp_owner_put(struct tp_owner *owner)
{
	kref_put(&owner->references, tp_owner_free);
}

void tp_owner_close(struct tp_owner *owner)
{
	struct tp_memory *memory;
	unsigned long handle;
	int index;

	spin_lock_irq(&owner->card->owners_lock);
	list_del(&owner->link);
	spin_unlock_irq(&owner->card->owners_lock);
	mutex_lock(&owner->lock);
	xa_for_each(&owner->memories, handle, memory)
	{
		xa_erase(&owner->memories, handle);
		tp_memory_put(memory);
	}
	mutex_unlock(&owner->lock);
	for (index = 0; index < TP_USER_INTERRUPTS; index++)
		if (owner->events[index])
			eventfd_ctx_put(owner->events[index]);
	tp_owner_put(owner);
}

/* Lay out where its pieces are. */
static struct tp_memory *tp_memory_create(const struct tp_pin *pin)
{
	struct tp_memory *memory =
		kvzalloc(struct_size(memory, extents, pin->mapped.nents), GFP_KERNEL);
	const struct sg_table *mapped = &pin->mapped;
	struct scatterlist *piece;
	unsigned int number;
	u64 start = 0;

	if (!memory)
		return NULL;
	memory->count = mapped->nents;
	for_each_sgtable_dma_sg(mapped, piece, number) {
		memory->extents[number].start = start;
		memory->extents[number].address = sg_dma_address(piece);
		start += sg_dma_len(piece);
	}
	kref_init(&memory->references);
	memory->bytes = start;
	memory->pin = *pin;
	return memory;
}

int tp_memory_register(struct tp_owner *owner, u64 address, u64 bytes, u32 flags, u32 *handle)
{
	static const enum dma_data_direction ways[] = {
		[TOWPATH_BUFFER_TO_CARD] = DMA_TO_DEVICE,
		[TOWPATH_BUFFER_FROM_CARD] = DMA_FROM_DEVICE,
		[TOWPATH_BUFFER_TO_CARD | TOWPATH_BUFFER_FROM_CARD] = DMA_BIDIRECTIONAL,
	};
	struct tp_card *card = owner->card;
	struct tp_memory *memory;
	struct tp_pin pin;
	ssize_t pinned = tp_pin(card, &pin, address, bytes, ways[flags], true);
	int error;

	if (pinned < 0)
		return pinned;
	memory = tp_memory_create(&pin);
	if (!memory) {
		tp_unpin(card, &pin);
		return -ENOMEM;
	}
	memory->card = card;
	memory->address = address;
	memory->flags = flags;
	mutex_lock(&card->registering);
	list_add_tail(&memory->link, &card->memories);
	mutex_unlock(&card->registering);
	error = xa_alloc(&owner->memories, handle, memory, xa_limit_31b, GFP_KERNEL);
	if (error)
		tp_memory_put(memory);
	return error;
}

int tp_memory_unregister(struct tp_owner *owner, u32 handle)
{
	struct tp_memory *memory;
	int error = 0;

	mutex_lock(&owner->lock);
	memory = xa_load(&owner->memories, handle);
	if (!memory)
		error = -ENOENT;
	else if (kref_read(&memory->references) > 1)
		error = -EBUSY;
	else
		xa_erase(&owner->memories, handle);
	mutex_unlock(&owner->lock);
	if (!error)
		tp_memory_put(memory);
	return error;
}

struct tp_memory *tp_memory_get(struct tp_owner *owner, u32 handle, u64 address, u64 bytes,
				u32 flag)
{
	struct tp_memory *memory;

	mutex_lock(&owner->lock);
	memory = xa_load(&owner->memories, handle);
	if (!memory)
		memory = ERR_PTR(-ENOENT);
	else if (!(memory->flags & flag))
		memory = ERR_PTR(-EACCES);
	else if (address < memory->address || bytes > memory->bytes ||
		 address - memory->address > memory->bytes - bytes)
		memory = ERR_PTR(-EFAULT);
	else
		kref_get(&memory->references);
	mutex_unlock(&owner->lock);
	return memory;
}

static void tp_memory_free(struct kref *references)
{
	struct tp_memory *memory = container_of(references, struct tp_memory, references);
	struct tp_card *card = memory->card;

	mutex_lock(&card->registering);
	list_del(&memory->link);
	mutex_unlock(&card->registering);
	tp_unpin(card, &memory->pin);
	kvfree(memory);
}

void tp_memory_put(struct tp_memory *memory)
{
	kref_put(&memory->references, tp_memory_free);
}

void tp_memories_unpin(struct tp_card *card)
{
	struct tp_memory *memory;

	list_for_each_entry(memory, &card->memories, link)
		tp_unpin(card, &memory->pin);
}

u32 tp_memory_next(const struct tp_memory *memory, u64 address, u64 bytes, dma_addr_t *found)
{
	const u64 offset = address - memory->address;
	const struct tp_extent *extents = memory->extents;
	u32 low = 0, high = memory->count;
	u64 end;

	/* The last one that does not start behind it. */
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (extents[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	end = low + 1 < memory->count ? extents[low + 1].start : memory->bytes;
	*found = extents[low].address + (offset - extents[low].start);
	return min(bytes, end - offset);
}

void tp_memory_sync(struct tp_memory *memory, u64 address, u64 bytes, bool for_card)
{
	struct device *device = &memory->card->pci->dev;

	/* With the card went the mapping. */
	while (bytes && memory->pin.count) {
		dma_addr_t at;
		u32 part = tp_memory_next(memory, address, bytes, &at);

		/* What lies together for the card need not do so in memory. */
		part = min_t(u32, part, PAGE_SIZE - offset_in_page(at));
		if (for_card)
			dma_sync_single_for_device(device, at, part, memory->pin.way);
		else
			dma_sync_single_for_cpu(device, at, part, memory->pin.way);
		address += part;
		bytes -= part;
	}
}
