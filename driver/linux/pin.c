// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory of a program, pinned and mapped for the card.
 *
 * Pages stay where they are, and the program's, from tp_pin() to tp_unpin(); the caller sees that
 * the card is done with them before. What outlasts a call counts against the program's limit of
 * locked memory.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "card.h"

/*
 * Pages are handed over by calls of their own: a program may pin a page as often as it likes, which
 * the kernel takes for a fault of a driver that maps and hands over in one.
 */
#define TP_MAPPING DMA_ATTR_SKIP_CPU_SYNC

/* What the system maps in one piece, where it copies to memory that the card can reach. */
static unsigned int tp_longest_piece(struct device *device)
{
	return min_t(size_t, dma_max_mapping_size(device), U32_MAX) & PAGE_MASK;
}

static int tp_account(struct tp_pin *pin, unsigned long pages)
{
	struct mm_struct *mm = current->mm;
	const unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(pages, &mm->pinned_vm) > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(pages, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	pin->mm = mm;
	pin->accounted = pages;
	return 0;
}

static void tp_unaccount(struct tp_pin *pin)
{
	if (!pin->mm)
		return;
	atomic64_sub(pin->accounted, &pin->mm->pinned_vm);
	mmdrop(pin->mm);
	pin->mm = NULL;
}

static void tp_unpin_pages(struct tp_pin *pin)
{
	if (pin->way == DMA_TO_DEVICE)
		unpin_user_pages(pin->pages, pin->count);
	else
		unpin_user_pages_dirty_lock(pin->pages, pin->count, true);
	pin->count = 0;
}

static long tp_pin_some(struct tp_pin *pin, unsigned long start, unsigned long pages, bool lasts)
{
	const unsigned int flags = lasts ? FOLL_LONGTERM : 0;
	const int count = min(pages - pin->count, (unsigned long)INT_MAX);
	struct page **into = pin->pages + pin->count;
	long found;

	start += pin->count * PAGE_SIZE;
	if (pin->way != DMA_TO_DEVICE)
		return pin_user_pages_fast(start, count, flags | FOLL_WRITE, into);
	/* Memory that is a file's for good, and may not be written, needs no force. */
	found = pin_user_pages_fast(start, count, flags | (lasts ? TP_FOLL_READ_LASTS : 0), into);
	if (found == -EFAULT && lasts && TP_FOLL_READ_LASTS)
		found = pin_user_pages_fast(start, count, flags, into);
	return found;
}

/* So many pages from `start` on, or those that there are. */
static int tp_pin_pages(struct tp_pin *pin, unsigned long start, unsigned long pages, bool lasts)
{
	long found;

	do {
		found = tp_pin_some(pin, start, pages, lasts);
		if (found > 0)
			pin->count += found;
	} while (found > 0 && pin->count < pages);
	if (pin->count == pages || (pin->count && !lasts))
		return 0;
	tp_unpin_pages(pin);
	return found < 0 ? found : -EFAULT;
}

static int tp_map_pages(struct device *device, struct tp_pin *pin, size_t offset, size_t bytes)
{
	int error = sg_alloc_table_from_pages_segment(&pin->mapped, pin->pages, pin->count, offset,
						      bytes, tp_longest_piece(device), GFP_KERNEL);

	if (error)
		return error;
	error = dma_map_sgtable(device, &pin->mapped, pin->way, TP_MAPPING);
	if (error)
		sg_free_table(&pin->mapped);
	else
		dma_sync_sgtable_for_device(device, &pin->mapped, pin->way);
	return error;
}

ssize_t tp_pin(struct tp_card *card, struct tp_pin *pin, u64 start, u64 bytes,
	       enum dma_data_direction way, bool lasts)
{
	const size_t offset = offset_in_page(start);
	unsigned long pages;
	int error;

	if (bytes == 0 || bytes > LONG_MAX - PAGE_SIZE || start > ULONG_MAX - bytes)
		return -EFAULT;
	pages = DIV_ROUND_UP(offset + bytes, PAGE_SIZE);
	if (pages > UINT_MAX)
		return -ENOMEM;
	*pin = (struct tp_pin){ .way = way };
	error = lasts ? tp_account(pin, pages) : 0;
	if (error)
		return error;
	pin->pages = kvmalloc_array(pages, sizeof(*pin->pages), GFP_KERNEL | __GFP_NOWARN);
	error = pin->pages ? tp_pin_pages(pin, start - offset, pages, lasts) : -ENOMEM;
	if (error)
		goto unaccount;
	/* Perhaps not all of it is there. */
	bytes = min_t(u64, bytes, (u64)pin->count * PAGE_SIZE - offset);
	error = tp_map_pages(&card->pci->dev, pin, offset, bytes);
	if (!error)
		return bytes;
	tp_unpin_pages(pin);
unaccount:
	kvfree(pin->pages);
	tp_unaccount(pin);
	return error;
}

void tp_unpin(struct tp_card *card, struct tp_pin *pin)
{
	if (!pin->count)
		return;
	dma_sync_sgtable_for_cpu(&card->pci->dev, &pin->mapped, pin->way);
	dma_unmap_sgtable(&card->pci->dev, &pin->mapped, pin->way, TP_MAPPING);
	sg_free_table(&pin->mapped);
	tp_unpin_pages(pin);
	kvfree(pin->pages);
	tp_unaccount(pin);
}
