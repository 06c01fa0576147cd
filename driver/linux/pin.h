/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Memory of a program, pinned and mapped for the card, or allocated for both.
 *
 * Pages stay where they are, from tp_pin() or tp_pin_new() to tp_unpin(); the caller sees that the
 * card is done with them before. What outlasts a call counts against the program's limit of locked
 * memory.
 */
#ifndef TOWPATH_PIN_H
#define TOWPATH_PIN_H

#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>

#include "card.h"

struct mm_struct;

/* What counts against a program's limit of locked memory. */
struct tp_account {
	struct mm_struct *mm; /* or NULL: nothing */
	unsigned long pages;
};

struct tp_pin {
	struct sg_table mapped;
	struct page **pages;
	unsigned int count; /* 0: nothing is pinned */
	bool is_new; /* the pages are the driver's own */
	enum dma_data_direction way;
	struct tp_account account;
};

/*
 * Pin and map memory of the current program for so long as the caller waits, or, with `lasts`, for
 * longer. Bytes, perhaps fewer than there are if it does not last, or an error.
 */
ssize_t tp_pin(struct tp_card *card, struct tp_pin *pin, u64 start, u64 bytes,
	       enum dma_data_direction way, bool lasts);
/* Allocate memory, of `bytes` rounded up to pages, and map it. */
int tp_pin_new(struct tp_card *card, struct tp_pin *pin, u64 bytes, enum dma_data_direction way);
/* Synchronize all of it for the processor. */
void tp_pin_sync_for_cpu(struct tp_card *card, struct tp_pin *pin);
/* Unmap and unpin it, if that was not done before. */
void tp_unpin(struct tp_card *card, struct tp_pin *pin);
/* ENOMEM: more than the program may lock. */
int tp_account(struct tp_account *account, unsigned long pages);
void tp_unaccount(struct tp_account *account);

#endif
