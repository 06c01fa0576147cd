// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The driver's own buffers: what programs write in small pieces is copied to them, so that write()
 * may return at once; and they are posted ahead on a channel that is read, so that data flows
 * before a program asks.
 *
 * One copy, and the card touches no page of the program's. A buffer is idle, posted, or (C2H)
 * ready; it moves between these under channel->lock. Only the holder of channel->io takes from idle
 * and ready.
 *
 * A card may report bytes that it has not written: so that these are no other program's, a program
 * that opens the file gets fresh buffers, but for those with unread bytes.
 */
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "file.h"

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
	u32 synced; /* C2H: bytes synchronized for the processor */
};

static struct tp_buffer *tp_buffer_of(struct tp_work *work)
{
	return container_of(work, struct tp_buffer, work);
}

static u32 tp_buffer_bytes(void)
{
	return PAGE_SIZE << get_order(clamp(buffer_bytes, 1u, 1u << 20));
}

void tp_buffer_ended(struct tp_file *file, struct tp_work *work)
{
	struct tp_buffer *buffer = tp_buffer_of(work);
	const bool ended_early =
		work->status == TP_STATUS_CANCELLED || work->status == TP_STATUS_RESET;

	if (tp_is_h2c(file->client.channel)) {
		if (!file->write_error)
			file->write_error = tp_errno(work->status);
		list_add_tail(&buffer->link, &file->idle);
	} else {
		buffer->taken = 0;
		buffer->synced = 0;
		list_add_tail(&buffer->link,
			      ended_early && !work->moved ? &file->idle : &file->ready);
	}
}

/* The first of a list, which only the holder of io takes from. */
static struct tp_buffer *tp_first(struct tp_file *file, struct list_head *list)
{
	lockdep_assert_held(&file->client.channel->io);
	return tp_reaped(file->client.channel,
			 list_first_entry_or_null(list, struct tp_buffer, link));
}

static int tp_buffer_allocate(struct tp_file *file, struct tp_buffer *buffer)
{
	const unsigned int order = get_order(tp_buffer_bytes());
	struct tp_channel *channel = file->client.channel;
	struct device *device = channel->card->bus.device;

	INIT_LIST_HEAD(&buffer->work.link);
	buffer->work.places = 1;
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
	list_add_tail(&buffer->link, &file->idle);
	spin_unlock_irq(&channel->lock);
	return 0;
}

static void tp_buffer_free(struct tp_file *file, struct tp_buffer *buffer)
{
	struct tp_channel *channel = file->client.channel;

	spin_lock_irq(&channel->lock);
	list_del(&buffer->link);
	spin_unlock_irq(&channel->lock);
	/* Nobody reads it any more. */
	dma_unmap_single_attrs(channel->card->bus.device, buffer->address, tp_buffer_bytes(),
			       tp_way(channel), DMA_ATTR_SKIP_CPU_SYNC);
	free_pages((unsigned long)buffer->memory, get_order(tp_buffer_bytes()));
	buffer->memory = NULL;
}

int tp_buffers_allocate(struct tp_file *file)
{
	struct tp_buffer *buffer;
	int number, error = 0;

	if (!file->buffers)
		file->buffers = kcalloc(TP_BUFFERS, sizeof(*file->buffers), GFP_KERNEL);
	if (!file->buffers)
		return -ENOMEM;
	while ((buffer = tp_first(file, &file->idle)))
		tp_buffer_free(file, buffer);
	for (number = 0; number < TP_BUFFERS && !error; number++)
		if (!file->buffers[number].memory)
			error = tp_buffer_allocate(file, &file->buffers[number]);
	return error;
}

void tp_buffers_free(struct tp_file *file)
{
	int number;

	if (!file->buffers)
		return;
	for (number = 0; number < TP_BUFFERS; number++)
		if (file->buffers[number].memory)
			tp_buffer_free(file, &file->buffers[number]);
	kfree(file->buffers);
	file->buffers = NULL;
}

/* `synced`: bytes that the processor has written or read. The rest is the card's already. */
static int tp_buffer_post(struct tp_file *file, struct tp_buffer *buffer, u32 bytes, u32 synced,
			  bool end)
{
	struct tp_channel *channel = file->client.channel;
	const u32 control = TP_KIND_DIRECT << TP_DESCRIPTOR_CONTROL_KIND_LSB |
			    (end ? TP_DESCRIPTOR_CONTROL_END_MASK : 0);
	struct tp_descriptor descriptor = { .address = cpu_to_le64(buffer->address),
					    .length = cpu_to_le32(bytes),
					    .control = cpu_to_le16(control) };
	int error;

	if (synced)
		dma_sync_single_for_device(channel->card->bus.device, buffer->address, synced,
					   tp_way(channel));
	spin_lock_irq(&channel->lock);
	list_del_init(&buffer->link);
	buffer->work.wanted = bytes;
	buffer->synced = 0;
	error = tp_post(channel, &buffer->work, &descriptor);
	if (error)
		list_add(&buffer->link, &file->idle);
	spin_unlock_irq(&channel->lock);
	return error;
}

ssize_t tp_buffers_write(struct tp_file *file, struct iov_iter *from, bool end)
{
	struct tp_channel *channel = file->client.channel;
	struct tp_buffer *buffer = tp_first(file, &file->idle);
	size_t wanted = min_t(size_t, iov_iter_count(from), tp_buffer_bytes());
	size_t bytes;
	int error;

	if (!buffer)
		return -EAGAIN;
	if (wanted)
		dma_sync_single_for_cpu(channel->card->bus.device, buffer->address, wanted,
					DMA_TO_DEVICE);
	bytes = copy_from_iter(buffer->memory, wanted, from);
	if (bytes == 0 && wanted > 0)
		return -EFAULT;
	error = tp_buffer_post(file, buffer, bytes, bytes, end && iov_iter_count(from) == 0);
	if (error) {
		iov_iter_revert(from, bytes);
		return error;
	}
	tp_locked(channel, channel->copied += bytes);
	return bytes;
}

bool tp_buffers_can_write(struct tp_file *file)
{
	struct tp_channel *channel = file->client.channel;

	return tp_reaped(channel,
			 !list_empty(&file->idle) && channel->engine.used < channel->engine.depth);
}

bool tp_buffers_can_read(struct tp_file *file, bool started)
{
	struct tp_channel *channel = file->client.channel;
	struct tp_buffer *buffer;
	bool open, can = false;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	open = file->message_open && !started;
	list_for_each_entry(buffer, &file->ready, link) {
		/* No program sees the end of a message whose bytes were all read before. */
		can = buffer->work.moved || buffer->work.status != TP_STATUS_END_OF_MESSAGE ||
		      !open;
		if (can)
			break;
		open = false;
	}
	spin_unlock_irq(&channel->lock);
	return can;
}

int tp_buffers_ahead(struct tp_file *file)
{
	struct tp_buffer *buffer;
	int error = 0;

	while (!error && (buffer = tp_first(file, &file->idle)))
		error = tp_buffer_post(file, buffer, tp_buffer_bytes(), buffer->synced, false);
	/* The rest has no room now. */
	return error == -EAGAIN ? 0 : error;
}

ssize_t tp_buffers_read(struct tp_file *file, struct iov_iter *to, bool *ended)
{
	struct tp_channel *channel = file->client.channel;
	struct tp_buffer *buffer = tp_first(file, &file->ready);
	struct tp_work *work;
	size_t wanted, bytes;
	int error;

	*ended = false;
	if (!buffer)
		return -EAGAIN;
	work = &buffer->work;
	if (buffer->synced != work->moved)
		dma_sync_single_for_cpu(channel->card->bus.device, buffer->address, work->moved,
					DMA_FROM_DEVICE);
	buffer->synced = work->moved;
	wanted = min_t(size_t, work->moved - buffer->taken, iov_iter_count(to));
	bytes = copy_to_iter(buffer->memory + buffer->taken, wanted, to);
	if (bytes == 0 && wanted > 0)
		return -EFAULT;
	buffer->taken += bytes;
	tp_locked(channel, channel->copied += bytes);
	if (buffer->taken < work->moved)
		return bytes;
	/* A cancel was the driver's own. */
	error = work->status == TP_STATUS_CANCELLED ? 0 : tp_errno(work->status);
	if (error && bytes > 0)
		return bytes; /* the next call reports it */
	*ended = work->status == TP_STATUS_END_OF_MESSAGE;
	spin_lock_irq(&channel->lock);
	list_move_tail(&buffer->link, &file->idle);
	spin_unlock_irq(&channel->lock);
	return error ? error : bytes;
}

void tp_buffers_drop(struct tp_file *file)
{
	list_splice_tail_init(&file->ready, &file->idle);
}
