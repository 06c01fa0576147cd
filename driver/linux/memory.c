// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "memory.h"
#include "uapi/towpath.h"

struct tp_owner *tp_owner_create(struct tp_card *card, struct file *file)
{
	struct tp_owner *owner = kzalloc(sizeof(*owner), GFP_KERNEL);

	if (!owner)
		return NULL;
	kref_init(&owner->references);
	owner->card = card;
	mutex_init(&owner->lock);
	xa_init_flags(&owner->memories, XA_FLAGS_ALLOC1);
	tp_view_add(card, &owner->view, file);
	spin_lock_irq(&card->lock);
	list_add_tail(&owner->link, &card->owners);
	spin_unlock_irq(&card->lock);
	return owner;
}

struct tp_owner *tp_owner_of(struct tp_card *card, int descriptor)
{
	struct file *file = fget(descriptor);
	struct tp_owner *found = ERR_PTR(-EINVAL);
	struct tp_owner *owner;

	if (!file)
		return ERR_PTR(-EBADF);
	spin_lock_irq(&card->lock);
	list_for_each_entry(owner, &card->owners, link) {
		if (owner->view.file == file) {
			kref_get(&owner->references);
			found = owner;
		}
	}
	spin_unlock_irq(&card->lock);
	fput(file);
	return found;
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
	struct tp_card *card = owner->card;
	struct tp_memory *memory;
	unsigned long handle;
	int index;

	tp_view_remove(card, &owner->view);
	spin_lock_irq(&card->lock);
	list_del(&owner->link);
	spin_unlock_irq(&card->lock);
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

static const enum dma_data_direction tp_ways[] = {
	[TOWPATH_BUFFER_TO_CARD] = DMA_TO_DEVICE,
	[TOWPATH_BUFFER_FROM_CARD] = DMA_FROM_DEVICE,
	[TOWPATH_BUFFER_TO_CARD | TOWPATH_BUFFER_FROM_CARD] = DMA_BIDIRECTIONAL,
};

struct tp_memory *tp_memory_create(struct tp_card *card, const struct sg_table *mapped)
{
	struct tp_memory *memory =
		kvzalloc(struct_size(memory, extents, mapped->nents), GFP_KERNEL_ACCOUNT);
	struct scatterlist *piece;
	unsigned int number;
	u64 start = 0;

	if (!memory)
		return ERR_PTR(-ENOMEM);
	memory->count = mapped->nents;
	for_each_sgtable_dma_sg(mapped, piece, number) {
		memory->extents[number].start = start;
		memory->extents[number].address = sg_dma_address(piece);
		start += sg_dma_len(piece);
	}
	kref_init(&memory->references);
	memory->card = card;
	memory->bytes = start;
	return memory;
}

/* From now on it is the owner's, under a handle. */
static int tp_memory_add(struct tp_owner *owner, struct tp_memory *memory, u32 flags, u32 *handle)
{
	struct tp_card *card = owner->card;
	int error;

	memory->flags = flags;
	spin_lock_irq(&card->lock);
	list_add_tail(&memory->link, &card->memories);
	spin_unlock_irq(&card->lock);
	error = xa_alloc(&owner->memories, handle, memory, xa_limit_31b, GFP_KERNEL);
	if (error)
		tp_memory_put(memory);
	return error;
}

/* What was pinned, from the program's `address` on. */
static int tp_memory_add_pin(struct tp_owner *owner, struct tp_pin *pin, u64 address, u32 flags,
			     u32 *handle)
{
	struct tp_memory *memory = tp_memory_create(owner->card, &pin->mapped);

	if (IS_ERR(memory)) {
		tp_unpin(owner->card, pin);
		return PTR_ERR(memory);
	}
	memory->pin = *pin;
	memory->address = address;
	return tp_memory_add(owner, memory, flags, handle);
}

int tp_memory_register(struct tp_owner *owner, u64 address, u64 bytes, u32 flags, u32 *handle)
{
	struct tp_pin pin;
	ssize_t pinned = tp_pin(owner->card, &pin, address, bytes, tp_ways[flags], true);

	return pinned < 0 ? pinned : tp_memory_add_pin(owner, &pin, address, flags, handle);
}

int tp_memory_allocate(struct tp_owner *owner, u64 bytes, u32 flags, u32 *handle)
{
	struct tp_pin pin;
	int error = tp_pin_new(owner->card, &pin, bytes, tp_ways[flags]);

	return error ? error : tp_memory_add_pin(owner, &pin, 0, flags, handle);
}

int tp_memory_import(struct tp_owner *owner, int descriptor, u32 flags, u32 *handle, u64 *bytes)
{
	struct tp_memory *memory = ERR_PTR(-EOPNOTSUPP);

	if (IS_ENABLED(CONFIG_DMA_SHARED_BUFFER))
		memory = tp_import(owner->card, descriptor, tp_ways[flags]);
	if (IS_ERR(memory))
		return PTR_ERR(memory);
	*bytes = memory->bytes;
	return tp_memory_add(owner, memory, flags, handle);
}

int tp_memory_unregister(struct tp_owner *owner, u32 handle)
{
	struct tp_memory *memory;
	int error = 0;

	mutex_lock(&owner->lock);
	memory = xa_load(&owner->memories, handle);
	if (!memory)
		error = -ENOENT;
	else if (kref_read(&memory->references) > 1 || atomic_read(&memory->users))
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
	else if (READ_ONCE(memory->forbidden))
		memory = ERR_PTR(-ESTALE);
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

	spin_lock_irq(&card->lock);
	list_del(&memory->link);
	spin_unlock_irq(&card->lock);
	tp_unpin(card, &memory->pin);
	if (IS_ENABLED(CONFIG_DMA_SHARED_BUFFER) && memory->import)
		tp_import_free(memory->import);
	kvfree(memory);
}

void tp_memory_put(struct tp_memory *memory)
{
	kref_put(&memory->references, tp_memory_free);
}

void tp_memories_unpin(struct tp_card *card)
{
	struct tp_memory *memory;

	list_for_each_entry(memory, &card->memories, link) {
		tp_unpin(card, &memory->pin);
		if (IS_ENABLED(CONFIG_DMA_SHARED_BUFFER) && memory->import)
			tp_import_unmap(memory->import);
	}
}

/*
 * Where programs have mapped it. Such a place keeps the control file open, and so the buffer, which
 * cannot be unregistered meanwhile.
 */

static void tp_place_opened(struct vm_area_struct *place)
{
	struct tp_memory *memory = place->vm_private_data;

	atomic_inc(&memory->users);
}

static void tp_place_closed(struct vm_area_struct *place)
{
	struct tp_memory *memory = place->vm_private_data;

	atomic_dec(&memory->users);
}

static const struct vm_operations_struct tp_place_operations = {
	.open = tp_place_opened,
	.close = tp_place_closed,
};

int tp_memory_mmap(struct tp_owner *owner, struct vm_area_struct *place)
{
	struct tp_memory *memory;
	int error = -EINVAL;

	/* A place for reading alone, of a shared mapping, is not VM_SHARED. */
	if (!(place->vm_flags & VM_MAYSHARE))
		return error;
	mutex_lock(&owner->lock);
	memory = xa_load(&owner->memories, place->vm_pgoff);
	if (memory && memory->pin.is_new)
		error = vm_map_pages_zero(place, memory->pin.pages, memory->pin.count);
	if (!error) {
		place->vm_private_data = memory;
		place->vm_ops = &tp_place_operations;
		tp_place_opened(place);
	}
	mutex_unlock(&owner->lock);
	return error;
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
	struct device *device = memory->card->bus.device;

	/* The mapping ends with the card. What is imported the program synchronizes itself. */
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
