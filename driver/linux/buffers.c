// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The driver's own buffers: what programs write in small pieces goes through them, so that write()
 * may return at once; and they are posted ahead on a channel that is read, so that data flows
 * before a program asks.
 *
 * One copy, and no page of the program's is touched by the card. A buffer is idle, posted, or (C2H)
 * ready; it moves between these under channel->lock. Only one thread at a time (channel->io) takes
 * from idle and ready, so what it looks at there stays.
 *
 * What one program moved must not come to the next by a card that tells of bytes which it has not
 * written: whoever opens a channel has fresh buffers, but for those whose bytes nobody has read.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "card.h"

#define TP_BUFFERS 8

static unsigned int buffer_bytes = 65536;
module_param(buffer_bytes, uint, 0444);
MODULE_PARM_DESC(buffer_bytes,
		 "bytes in each of a channel's eight buffers, a page to 1 MiB (default 65536)");

struct tp_buffer {
	struct tp_work work;
	struct list_head link; /* in idle or ready */
	void *memory;
	dma_addr_t address;
	u32 taken; /* C2H: bytes that the program has */
	bool owned; /* C2H: the processor's, not the card's */
};

static struct tp_buffer *tp_buffer_of(struct tp_work *work)
{
	return container_of(work, struct tp_buffer, work);
}

static u32 tp_buffer_bytes(void)
{
	return PAGE_SIZE << get_order(clamp(buffer_bytes, 1u, 1u << 20));
}

static enum dma_data_direction tp_way(const struct tp_channel *channel)
{
	return tp_is_h2c(channel) ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

static void tp_buffer_ended(struct tp_channel *channel, struct tp_work *work)
{
	struct tp_buffer *buffer = tp_buffer_of(work);
	bool ended_early = work->status == TP_STATUS_CANCELLED || work->status == TP_STATUS_RESET;

	if (tp_is_h2c(channel)) {
		if (tp_errno(work->status) && !channel->faulted) {
			channel->faulted = true;
			channel->fault = work->status;
		}
		list_add_tail(&buffer->link, &channel->idle);
	} else {
		buffer->taken = 0;
		buffer->owned = false;
		list_add_tail(&buffer->link,
			      ended_early && !work->moved ? &channel->idle : &channel->ready);
	}
}

/* The first of a list, which only the holder of channel->io takes from. */
static struct tp_buffer *tp_first(struct tp_channel *channel, struct list_head *list)
{
	struct tp_buffer *buffer;

	lockdep_assert_held(&channel->io);
	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	buffer = list_first_entry_or_null(list, struct tp_buffer, link);
	spin_unlock_irq(&channel->lock);
	return buffer;
}

static int tp_buffer_allocate(struct tp_channel *channel, struct tp_buffer *buffer)
{
	const unsigned int order = get_order(tp_buffer_bytes());
	struct device *device = &channel->card->pci->dev;

	INIT_LIST_HEAD(&buffer->work.link);
	INIT_LIST_HEAD(&buffer->link);
	buffer->work.ended = tp_buffer_ended;
	buffer->memory = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN, order);
	if (!buffer->memory)
		return -ENOMEM;
	buffer->address =
		dma_map_single(device, buffer->memory, tp_buffer_bytes(), tp_way(channel));
	if (dma_mapping_error(device, buffer->address)) {
		free_pages((unsigned long)buffer->memory, order);
		buffer->memory = NULL;
		return -ENOMEM;
	}
	spin_lock_irq(&channel->lock);
	list_add_tail(&buffer->link, &channel->idle);
	spin_unlock_irq(&channel->lock);
	return 0;
}

static void tp_buffer_free(struct tp_channel *channel, struct tp_buffer *buffer)
{
	spin_lock_irq(&channel->lock);
	list_del(&buffer->link);
	spin_unlock_irq(&channel->lock);
	dma_unmap_single(&channel->card->pci->dev, buffer->address, tp_buffer_bytes(),
			 tp_way(channel));
	free_pages((unsigned long)buffer->memory, get_order(tp_buffer_bytes()));
	buffer->memory = NULL;
}

int tp_buffers_allocate(struct tp_channel *channel)
{
	struct tp_buffer *buffer;
	int number, error = 0;

	if (!channel->buffers)
		channel->buffers = kcalloc(TP_BUFFERS, sizeof(*channel->buffers), GFP_KERNEL);
	if (!channel->buffers)
		return -ENOMEM;
	while ((buffer = tp_first(channel, &channel->idle)))
		tp_buffer_free(channel, buffer);
	for (number = 0; number < TP_BUFFERS && !error; number++)
		if (!channel->buffers[number].memory)
			error = tp_buffer_allocate(channel, &channel->buffers[number]);
	return error;
}

void tp_buffers_free(struct tp_channel *channel)
{
	int number;

	if (!channel->buffers)
		return;
	for (number = 0; number < TP_BUFFERS; number++)
		if (channel->buffers[number].memory)
			tp_buffer_free(channel, &channel->buffers[number]);
	kfree(channel->buffers);
	channel->buffers = NULL;
}

static void tp_count_copied(struct tp_channel *channel, size_t bytes)
{
	spin_lock_irq(&channel->lock);
	channel->statistics.copied += bytes;
	spin_unlock_irq(&channel->lock);
}

static int tp_buffer_post(struct tp_channel *channel, struct tp_buffer *buffer, u32 bytes, bool end)
{
	u32 control = TP_KIND_DIRECT << TP_DESCRIPTOR_CONTROL_KIND_LSB;
	int error;

	dma_sync_single_for_device(&channel->card->pci->dev, buffer->address, tp_buffer_bytes(),
				   tp_way(channel));
	spin_lock_irq(&channel->lock);
	list_del_init(&buffer->link);
	buffer->work.wanted = bytes;
	error = tp_post(channel, &buffer->work, buffer->address,
			end ? control | TP_DESCRIPTOR_CONTROL_END_MASK : control);
	if (error)
		list_add(&buffer->link, &channel->idle);
	spin_unlock_irq(&channel->lock);
	return error;
}

ssize_t tp_buffers_write(struct tp_channel *channel, struct iov_iter *from, bool end)
{
	struct tp_buffer *buffer = tp_first(channel, &channel->idle);
	size_t wanted = min_t(size_t, iov_iter_count(from), tp_buffer_bytes());
	size_t bytes;
	int error;

	if (!buffer)
		return -EAGAIN;
	dma_sync_single_for_cpu(&channel->card->pci->dev, buffer->address, tp_buffer_bytes(),
				DMA_TO_DEVICE);
	bytes = copy_from_iter(buffer->memory, wanted, from);
	if (bytes == 0 && wanted > 0)
		return -EFAULT;
	error = tp_buffer_post(channel, buffer, bytes, end && iov_iter_count(from) == 0);
	if (error) {
		iov_iter_revert(from, bytes);
		return error;
	}
	tp_count_copied(channel, bytes);
	return bytes;
}

bool tp_buffers_can_write(struct tp_channel *channel)
{
	bool can;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	can = !list_empty(&channel->idle) && channel->engine.used < channel->engine.depth;
	spin_unlock_irq(&channel->lock);
	return can;
}

bool tp_buffers_can_read(struct tp_channel *channel, bool started)
{
	struct tp_buffer *buffer;
	bool open, can = false;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	open = channel->message_open && !started;
	list_for_each_entry(buffer, &channel->ready, link) {
		/*
		 * The end of a message whose bytes were all read before is nothing that a program
		 * could see.
		 */
		can = buffer->work.moved || buffer->work.status != TP_STATUS_END_OF_MESSAGE ||
		      !open;
		if (can)
			break;
		open = false;
	}
	spin_unlock_irq(&channel->lock);
	return can;
}

int tp_buffers_ahead(struct tp_channel *channel)
{
	struct tp_buffer *buffer;
	int error = 0;

	while (!error && (buffer = tp_first(channel, &channel->idle)))
		error = tp_buffer_post(channel, buffer, tp_buffer_bytes(), false);
	/* No more room is all that there can be. */
	return error == -EAGAIN ? 0 : error;
}

/* The program has all of a buffer. */
static void tp_buffer_rests(struct tp_channel *channel, struct tp_buffer *buffer)
{
	spin_lock_irq(&channel->lock);
	list_move_tail(&buffer->link, &channel->idle);
	spin_unlock_irq(&channel->lock);
}

ssize_t tp_buffers_read(struct tp_channel *channel, struct iov_iter *to, bool *ended)
{
	struct tp_buffer *buffer = tp_first(channel, &channel->ready);
	struct tp_work *work;
	size_t wanted, bytes;
	int error;

	*ended = false;
	if (!buffer)
		return -EAGAIN;
	work = &buffer->work;
	if (!buffer->owned)
		dma_sync_single_for_cpu(&channel->card->pci->dev, buffer->address,
					tp_buffer_bytes(), DMA_FROM_DEVICE);
	buffer->owned = true;
	wanted = min_t(size_t, work->moved - buffer->taken, iov_iter_count(to));
	bytes = copy_to_iter(buffer->memory + buffer->taken, wanted, to);
	if (bytes == 0 && wanted > 0)
		return -EFAULT;
	buffer->taken += bytes;
	tp_count_copied(channel, bytes);
	if (buffer->taken < work->moved)
		return bytes;
	/* A cancel that was the driver's own is no news. */
	error = work->status == TP_STATUS_CANCELLED ? 0 : tp_errno(work->status);
	if (error && bytes > 0)
		return bytes; /* it stays, and is told of next time */
	*ended = work->status == TP_STATUS_END_OF_MESSAGE;
	tp_buffer_rests(channel, buffer);
	return error ? error : bytes;
}

void tp_buffers_drop(struct tp_channel *channel)
{
	struct tp_buffer *buffer, *next;

	spin_lock_irq(&channel->lock);
	list_for_each_entry_safe(buffer, next, &channel->ready, link)
		list_move_tail(&buffer->link, &channel->idle);
	/* What was in flight ended by the reset, which is told by itself. */
	channel->faulted = false;
	spin_unlock_irq(&channel->lock);
	channel->message_open = false;
	channel->read_error = 0;
}
