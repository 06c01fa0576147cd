/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Buffers: memory that stays mapped for the card, for many transfers. It is a program's, pinned; or
 * new, and the program maps it; or another driver's (dmabuf.c).
 *
 * Buffers belong to an open control file, their owner, and live until they are unregistered or that
 * file is closed, and until the last transfer that names them was collected. The mapping for the
 * card ends with the card, if that is sooner. Each transfer synchronizes the parts that it names,
 * and nothing else: the program uses the rest meanwhile.
 *
 * Callers have entered the card, or hold its gate.
 */
#ifndef TOWPATH_MEMORY_H
#define TOWPATH_MEMORY_H

#include "pin.h"

struct file;
struct tp_import;

/* Where a part of the buffer is for the card: from `start` bytes in it to the next one's. */
struct tp_extent {
	u64 start;
	dma_addr_t address;
};

struct tp_memory {
	struct kref references; /* the owner's, and one for each transfer */
	struct tp_card *card;
	struct list_head link; /* in card->memories */
	struct tp_pin pin; /* the program's, or new */
	struct tp_import *import; /* or NULL: nothing is pinned then */
	bool forbidden; /* its exporter has taken it back: no transfer may name it any more */
	atomic_t users; /* places where programs have mapped it */
	u64 address; /* the program's; what is not pinned begins at 0 */
	u64 bytes;
	u32 flags; /* TOWPATH_BUFFER_... */
	u32 count;
	struct tp_extent extents[];
};

struct tp_owner *tp_owner_create(struct tp_card *card, struct file *file);
void tp_owner_put(struct tp_owner *owner);
/* Its control file is closed. */
void tp_owner_close(struct tp_owner *owner);
/* The owner behind a descriptor of this card's control file, with a reference; EBADF, EINVAL. */
struct tp_owner *tp_owner_of(struct tp_card *card, int descriptor);

/* `flags`: TOWPATH_BUFFER_..., one at least. */
int tp_memory_register(struct tp_owner *owner, u64 address, u64 bytes, u32 flags, u32 *handle);
int tp_memory_allocate(struct tp_owner *owner, u64 bytes, u32 flags, u32 *handle);
int tp_memory_import(struct tp_owner *owner, int descriptor, u32 flags, u32 *handle, u64 *bytes);
/* Map new memory into a program: its handle is the offset, in pages. */
int tp_memory_mmap(struct tp_owner *owner, struct vm_area_struct *place);
int tp_memory_unregister(struct tp_owner *owner, u32 handle);
/* The buffer of a handle, if it holds all of this and may be used in the way of `flag`. */
struct tp_memory *tp_memory_get(struct tp_owner *owner, u32 handle, u64 address, u64 bytes,
				u32 flag);
void tp_memory_put(struct tp_memory *memory);
/* With the gate held for writing: the card goes. */
void tp_memories_unpin(struct tp_card *card);
/* Where the card finds what lies at `address`; how much of `bytes` lies together there. */
u32 tp_memory_next(const struct tp_memory *memory, u64 address, u64 bytes, dma_addr_t *found);
/* What is mapped, where it is for the card; no owner has it yet. */
struct tp_memory *tp_memory_create(struct tp_card *card, const struct sg_table *mapped);
/* Synchronize a part of it, for the card or for the processor. */
void tp_memory_sync(struct tp_memory *memory, u64 address, u64 bytes, bool for_card);

/* dmabuf.c; not linked without CONFIG_DMA_SHARED_BUFFER */
/* The memory behind a descriptor of a dma-buf, pinned and mapped. EBADF, EINVAL: it is none. */
struct tp_memory *tp_import(struct tp_card *card, int descriptor, enum dma_data_direction way);
/* Unmap it, if that was not done before; and release it. */
void tp_import_unmap(struct tp_import *import);
void tp_import_free(struct tp_import *import);

#endif
