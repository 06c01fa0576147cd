// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The program's own memory, moved in place: pinned, mapped for the card, moved by one descriptor,
 * and given back, whatever happens.
 *
 * Worth it for what is longer than a few pages; less is copied (buffers.c). The caller waits:
 * memory is never pinned after a call has returned.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "card.h"

/* Pages that one descriptor moves, at most: 4 MiB of ordinary ones. */
#define TP_PAGES 1024

struct tp_pages {
	struct tp_work work;
	bool done; /* under channel->lock */
	struct tp_list_entry *table;
	dma_addr_t table_address;
};

static void tp_pages_ended(struct tp_channel *channel, struct tp_work *work)
{
	/* Bytes and status before it: tp_is_done() looks without the lock. */
	smp_store_release(&container_of(work, struct tp_pages, work)->done, true);
}

int tp_pages_allocate(struct tp_channel *channel)
{
	struct tp_pages *pages;

	if (channel->pages)
		return 0;
	pages = kzalloc(sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	channel->pages = pages;
	INIT_LIST_HEAD(&pages->work.link);
	pages->work.ended = tp_pages_ended;
	pages->table =
		dma_alloc_coherent(&channel->card->pci->dev, TP_PAGES * sizeof(*pages->table),
				   &pages->table_address, GFP_KERNEL);
	if (pages->table)
		return 0;
	tp_pages_free(channel);
	return -ENOMEM;
}

void tp_pages_free(struct tp_channel *channel)
{
	struct tp_pages *pages = channel->pages;

	if (!pages)
		return;
	if (pages->table)
		dma_free_coherent(&channel->card->pci->dev, TP_PAGES * sizeof(*pages->table),
				  pages->table, pages->table_address);
	kfree(pages);
	channel->pages = NULL;
}

/* Post what is mapped: one piece as it is, several by the table. */
static int tp_pages_post(struct tp_channel *channel, struct sg_table *mapped, bool end)
{
	struct tp_pages *pages = channel->pages;
	u32 control = end ? TP_DESCRIPTOR_CONTROL_END_MASK : 0;
	u64 address = sg_dma_address(mapped->sgl);
	struct scatterlist *piece;
	unsigned int number;
	int error;

	if (mapped->nents > 1) {
		for_each_sgtable_dma_sg(mapped, piece, number) {
			const bool last = number + 1 == mapped->nents;
			struct tp_list_entry *entry = &pages->table[number];

			entry->address = cpu_to_le64(sg_dma_address(piece));
			entry->length = cpu_to_le32(sg_dma_len(piece));
			entry->control = cpu_to_le32(last ? TP_LIST_ENTRY_CONTROL_LAST_MASK : 0);
		}
		address = pages->table_address;
		control |= TP_KIND_LIST << TP_DESCRIPTOR_CONTROL_KIND_LSB;
	} else {
		control |= TP_KIND_DIRECT << TP_DESCRIPTOR_CONTROL_KIND_LSB;
	}
	spin_lock_irq(&channel->lock);
	pages->done = false;
	error = tp_post(channel, &pages->work, address, control);
	spin_unlock_irq(&channel->lock);
	return error;
}

static bool tp_has_room(struct tp_channel *channel)
{
	bool has;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	has = channel->engine.used < channel->engine.depth;
	/*
	 * What was written before must have landed: a signal cancels all that is in flight, and
	 * those bytes were promised.
	 */
	if (tp_is_h2c(channel))
		has = list_empty(&channel->posted);
	spin_unlock_irq(&channel->lock);
	return has;
}

static bool tp_is_done(struct tp_channel *channel)
{
	/* With it come the bytes and the status. */
	return smp_load_acquire(&channel->pages->done);
}

/*
 * Move what is mapped. On return the card is done with it: a signal cancels, and what was moved
 * until then counts.
 */
static int tp_pages_run(struct tp_channel *channel, struct sg_table *mapped, bool end)
{
	int error;

	do {
		error = tp_wait(channel, tp_has_room);
		if (!error)
			error = tp_pages_post(channel, mapped, end);
	} while (error == -EAGAIN);
	if (error)
		return error;
	error = tp_wait(channel, tp_is_done);
	if (!tp_is_done(channel))
		tp_cancel(channel);
	return error;
}

ssize_t tp_pages_move(struct tp_channel *channel, struct iov_iter *iter, bool end, bool *ended)
{
	const bool h2c = tp_is_h2c(channel);
	struct tp_pages *pages = channel->pages;
	struct tp_pin pin;
	unsigned long start;
	size_t bytes;
	ssize_t pinned;
	int error;
	u8 status;

	*ended = false;
	pages->work.moved = 0;
	pages->work.status = TP_STATUS_CANCELLED;
	tp_iter_segment(iter, &start, &bytes);
	bytes = min3(bytes, iov_iter_count(iter), TP_PAGES * PAGE_SIZE - offset_in_page(start));
	/* Perhaps not all of it is there: the rest is the next call's. */
	pinned = tp_pin(channel->card, &pin, start, bytes, h2c ? DMA_TO_DEVICE : DMA_FROM_DEVICE,
			false);
	/* The driver's own buffers serve all the same, unless the program is killed. */
	if (pinned < 0)
		return pinned == -EINTR ? -ERESTARTSYS : -EFAULT;
	pages->work.wanted = pinned;
	error = tp_pages_run(channel, &pin.mapped, end && pinned == iov_iter_count(iter));
	tp_pin_take_over(channel->card, &pin);
	tp_unpin(channel->card, &pin);
	bytes = pages->work.moved;
	status = pages->work.status;
	/* An end, or a fault, that came with the signal is not lost. */
	if (error && !bytes && (error == -ENOLINK || status == TP_STATUS_CANCELLED))
		return error;
	*ended = status == TP_STATUS_END_OF_MESSAGE;
	iov_iter_advance(iter, bytes);
	error = tp_errno(status);
	if (!error || status == TP_STATUS_CANCELLED)
		return bytes;
	if (!bytes)
		return error;
	/* What was moved is told of now, the fault next time. */
	if (h2c) {
		spin_lock_irq(&channel->lock);
		channel->faulted = true;
		channel->fault = status;
		spin_unlock_irq(&channel->lock);
	} else {
		channel->read_error = error;
	}
	return bytes;
}
