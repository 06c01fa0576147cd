// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "pin.h"

/*
 * Pages are synchronized by calls of their own: a program may pin a page several times, which the
 * kernel takes for a fault of a driver that maps and synchronizes in one.
 */
#define TP_MAPPING DMA_ATTR_SKIP_CPU_SYNC

/* How much of new memory is asked for in one piece. */
#define TP_LONGEST_RUN SZ_2M

/* What the system maps in one piece, where it copies to memory that the card can reach. */
static unsigned int tp_longest_piece(struct device *device)
{
	return min_t(size_t, dma_max_mapping_size(device), U32_MAX) & PAGE_MASK;
}

int tp_account(struct tp_account *account, unsigned long pages)
{
	struct mm_struct *mm = current->mm;
	const unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(pages, &mm->pinned_vm) > limit && !capable(CAP_IPC_LOCK)) {
		atomic64_sub(pages, &mm->pinned_vm);
		return -ENOMEM;
	}
	mmgrab(mm);
	account->mm = mm;
	account->pages = pages;
	return 0;
}

void tp_unaccount(struct tp_account *account)
{
	if (!account->mm)
		return;
	atomic64_sub(account->pages, &account->mm->pinned_vm);
	mmdrop(account->mm);
	account->mm = NULL;
}

static void tp_unpin_pages(struct tp_pin *pin)
{
	if (pin->is_new)
		release_pages(pin->pages, pin->count);
	else if (pin->way == DMA_TO_DEVICE)
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

/* The more of them lie together, the fewer entries the card's list has. */
static struct page *tp_new_pages(struct tp_card *card, unsigned int *order)
{
	const gfp_t wanted = GFP_KERNEL_ACCOUNT | __GFP_ZERO;
	const int node = dev_to_node(card->bus.device);
	struct page *page;

	for (; *order; (*order)--) {
		page = alloc_pages_node(node, wanted | __GFP_NORETRY | __GFP_NOWARN, *order);
		if (page) {
			split_page(page, *order);
			return page;
		}
	}
	/* No program is to be killed for it. */
	return alloc_pages_node(node, wanted | __GFP_RETRY_MAYFAIL | __GFP_NOWARN, 0);
}

/* So many pages, or none. */
static int tp_fill_pages(struct tp_card *card, struct tp_pin *pin, unsigned long pages)
{
	unsigned int order = get_order(TP_LONGEST_RUN);

	while (pin->count < pages) {
		struct page *page = NULL;
		unsigned long number;

		order = min_t(unsigned int, order, ilog2(pages - pin->count));
		if (!fatal_signal_pending(current))
			page = tp_new_pages(card, &order);
		if (!page) {
			tp_unpin_pages(pin);
			return fatal_signal_pending(current) ? -EINTR : -ENOMEM;
		}
		for (number = 0; number < 1ul << order; number++)
			pin->pages[pin->count++] = page + number;
		cond_resched();
	}
	return 0;
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

static int tp_begin_pin(struct tp_pin *pin, unsigned long pages, bool lasts)
{
	const int error = lasts ? tp_account(&pin->account, pages) : 0;

	if (error)
		return error;
	pin->pages = kvmalloc_array(pages, sizeof(*pin->pages), GFP_KERNEL | __GFP_NOWARN);
	return pin->pages ? 0 : -ENOMEM;
}

/* Map the pages that are there; if that fails, or `error` came before, undo it all. Bytes. */
static ssize_t tp_end_pin(struct tp_card *card, struct tp_pin *pin, size_t offset, u64 bytes,
			  int error)
{
	if (!error)
		error = tp_map_pages(card->bus.device, pin, offset, bytes);
	if (!error)
		return bytes;
	if (pin->count)
		tp_unpin_pages(pin);
	kvfree(pin->pages);
	tp_unaccount(&pin->account);
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
	error = tp_begin_pin(pin, pages, lasts);
	if (!error)
		error = tp_pin_pages(pin, start - offset, pages, lasts);
	/* Perhaps not all of it is there. */
	bytes = min_t(u64, bytes, (u64)pin->count * PAGE_SIZE - offset);
	return tp_end_pin(card, pin, offset, bytes, error);
}

int tp_pin_new(struct tp_card *card, struct tp_pin *pin, u64 bytes, enum dma_data_direction way)
{
	const u64 pages = PAGE_ALIGN(bytes) >> PAGE_SHIFT;
	int error;

	if (pages == 0 || pages > min_t(u64, totalram_pages(), INT_MAX))
		return -ENOMEM;
	*pin = (struct tp_pin){ .way = way, .is_new = true };
	error = tp_begin_pin(pin, pages, true);
	if (!error)
		error = tp_fill_pages(card, pin, pages);
	return min_t(ssize_t, tp_end_pin(card, pin, 0, pages << PAGE_SHIFT, error), 0);
}

void tp_pin_sync_for_cpu(struct tp_card *card, struct tp_pin *pin)
{
	if (pin->count)
		dma_sync_sgtable_for_cpu(card->bus.device, &pin->mapped, pin->way);
}

void tp_unpin(struct tp_card *card, struct tp_pin *pin)
{
	if (!pin->count)
		return;
	dma_unmap_sgtable(card->bus.device, &pin->mapped, pin->way, TP_MAPPING);
	sg_free_table(&pin->mapped);
	tp_unpin_pages(pin);
	kvfree(pin->pages);
	tp_unaccount(&pin->account);
}
