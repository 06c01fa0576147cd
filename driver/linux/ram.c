// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A call moves its bytes piece by piece: long pieces of the program's memory in place, the rest
 * through a buffer of the driver's. A piece is a message to the card, or one that it is asked for,
 * with the address before it. In each direction one call is served at a time.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "queue.h"
#include "ram.h"
#include "transfer.h"

/* Of what is not moved in place, at once. */
#define TP_COPIED 65536
/* What `kind_parameter` of a memory counts. */
#define TP_RAM_PAGE 4096ull

/* An open file. */
struct tp_opened {
	struct tp_ram *ram;
	struct tp_view view;
	u32 seen; /* of card->resets, what the program was told of */
};

/* Beginning and end. */

static bool tp_are_halves(const struct tp_channel *writer, const struct tp_channel *reader)
{
	return tp_is_memory(writer) && tp_is_memory(reader) && tp_is_h2c(writer) &&
	       !tp_is_h2c(reader) && writer->kind_parameter == reader->kind_parameter &&
	       /* An address goes before each descriptor. */
	       min(writer->engine.depth, reader->engine.depth) > 1 &&
	       !strcmp(writer->name, reader->name);
}

/* A window that is not all in BAR 4 is none. */
static void tp_ram_find_window(struct tp_ram *ram)
{
	const struct tp_card *card = ram->writer->card;
	const u64 bar = card->table.memory_window_bytes;
	const u64 start = ram->writer->window ? (ram->writer->window - 1ull) * SZ_1M : bar;

	if (start >= bar || ram->bytes > bar - start || !IS_ALIGNED(start, PAGE_SIZE))
		return;
	ram->place = TP_MEMORY_PLACE + PHYS_PFN(start);
	ram->pages = PHYS_PFN(ram->bytes);
}

static int tp_ram_create(struct tp_channel *writer, struct tp_channel *reader)
{
	struct tp_ram *ram = kzalloc(sizeof(*ram), GFP_KERNEL);

	if (!ram)
		return -ENOMEM;
	ram->writer = writer;
	ram->reader = reader;
	ram->bytes = writer->kind_parameter * TP_RAM_PAGE;
	tp_ram_find_window(ram);
	mutex_init(&ram->opening);
	INIT_LIST_HEAD(&ram->closing.link);
	writer->ram = ram;
	reader->ram = ram;
	return 0;
}

int tp_rams_find(struct tp_card *card)
{
	u16 one, other;
	int error = 0;

	for (one = 0; one < card->channel_count; one++)
		for (other = 0; other < card->channel_count && !error; other++) {
			struct tp_channel *writer = &card->channels[one];
			struct tp_channel *reader = &card->channels[other];

			if (!writer->ram && !reader->ram && tp_are_halves(writer, reader))
				error = tp_ram_create(writer, reader);
		}
	return error;
}

void tp_ram_free(struct tp_channel *channel)
{
	struct tp_ram *ram = channel->ram;

	/* The channels are released in their order. */
	if (ram && channel->index == max(ram->writer->index, ram->reader->index))
		kfree(ram);
}

/* Who has posted the work looks for its end. */
static bool tp_ram_ended(struct tp_client *client, struct tp_work *work)
{
	return true;
}

static void tp_ram_was_reset(struct tp_client *client, bool own)
{
}

static const struct tp_client_operations tp_ram_client = {
	.ended = tp_ram_ended,
	.reset = tp_ram_was_reset,
};

static struct tp_channel *tp_ram_half(const struct tp_ram *ram, int half)
{
	return half ? ram->reader : ram->writer;
}

int tp_rams_init(struct tp_card *card)
{
	u16 index;
	int half;

	for (index = 0; index < card->channel_count; index++) {
		struct tp_ram *ram = card->channels[index].ram;

		if (!tp_names_ram(&card->channels[index]))
			continue;
		for (half = 0; half < 2; half++) {
			ram->clients[half].operations = &tp_ram_client;
			ram->clients[half].channel = tp_ram_half(ram, half);
			ram->copies[half] = dmam_alloc_coherent(card->bus.device, TP_COPIED,
								&ram->addresses[half], GFP_KERNEL);
			if (!ram->copies[half])
				return -ENOMEM;
		}
	}
	return 0;
}

/*
 * Under opening: give channels back to the files of their numbers. Nothing is in flight but the
 * closing of a write.
 */
static void tp_ram_release_channels(struct tp_ram *ram, int halves)
{
	int half;

	for (half = 0; half < halves; half++) {
		struct tp_channel *channel = tp_ram_half(ram, half);

		mutex_lock(&channel->io);
		/* When the card has gone, so have the ring and all that was in flight. */
		if (tp_card_state(channel->card) != TP_CARD_GONE) {
			wait_event_timeout(channel->wait,
					   tp_is_idle(channel) || tp_is_stopped(channel), TP_GRACE);
			if (!tp_is_idle(channel))
				tp_reset(channel, true);
		}
		tp_locked(channel, channel->client = channel->file);
		tp_locked(channel, channel->is_open = false);
		mutex_unlock(&channel->io);
	}
}

/* Within the card, under opening: become the client of both channels. EBUSY: one is open. */
static int tp_ram_take_channels(struct tp_ram *ram)
{
	int half;

	for (half = 0; half < 2; half++) {
		struct tp_channel *channel = tp_ram_half(ram, half);
		bool was_open;

		spin_lock_irq(&channel->lock);
		was_open = channel->is_open;
		channel->is_open = true;
		spin_unlock_irq(&channel->lock);
		if (was_open) {
			tp_ram_release_channels(ram, half);
			return -EBUSY;
		}
		mutex_lock(&channel->io);
		tp_locked(channel, channel->client = &ram->clients[half]);
		mutex_unlock(&channel->io);
	}
	return 0;
}

static int tp_ram_open(struct inode *inode, struct file *file)
{
	struct tp_channel *channel = file->private_data;
	struct tp_ram *ram = channel->ram;
	struct tp_opened *opened = kzalloc(sizeof(*opened), GFP_KERNEL_ACCOUNT);
	int error;

	if (!opened)
		return -ENOMEM;
	error = tp_enter_settled(channel, !(file->f_flags & O_NONBLOCK));
	if (error) {
		kfree(opened);
		return error;
	}
	mutex_lock(&ram->opening);
	if (!ram->openers)
		error = tp_ram_take_channels(ram);
	ram->openers += !error;
	mutex_unlock(&ram->opening);
	opened->ram = ram;
	opened->seen = atomic_read(&channel->card->resets);
	file->private_data = opened;
	file->f_mode |= FMODE_CAN_ODIRECT;
	if (error)
		kfree(opened);
	else
		tp_view_add(channel->card, &opened->view, file);
	tp_leave(channel->card);
	return error;
}

int tp_ram_release(struct inode *inode, struct file *file)
{
	struct tp_opened *opened = file->private_data;
	struct tp_ram *ram = opened->ram;
	struct tp_card *card = ram->writer->card;

	/* Even while the card is about to be reset. */
	down_read(&card->gate);
	mutex_lock(&ram->opening);
	if (!--ram->openers)
		tp_ram_release_channels(ram, 2);
	mutex_unlock(&ram->opening);
	up_read(&card->gate);
	tp_view_remove(card, &opened->view);
	kfree(opened);
	return 0;
}

/* Calls. */

/*
 * Within the card, under io. ECONNRESET: the card was reset, which each open file reports once. A
 * reset of a channel concerns the call alone that made it.
 */
static int tp_ram_news(struct tp_opened *opened)
{
	const u32 resets = atomic_read(&opened->ram->writer->card->resets);

	return xchg(&opened->seen, resets) != resets ? -ECONNRESET : 0;
}

static ssize_t tp_ram_end(struct tp_opened *opened, struct tp_channel *channel, ssize_t result)
{
	if (result < 0 && tp_card_state(channel->card) >= TP_CARD_FAILED)
		result = tp_card_error(channel->card);
	if (result == -ECONNRESET)
		tp_ram_news(opened);
	tp_unlock(channel);
	tp_leave(channel->card);
	return result;
}

/* Enter the card and take io, after a reset under way. */
static int tp_ram_begin(struct tp_opened *opened, struct tp_channel *channel)
{
	int error;

	for (;;) {
		error = tp_enter_settled(channel, true);
		if (error)
			return error;
		error = tp_lock(channel, true);
		if (error) {
			tp_leave(channel->card);
			return error;
		}
		error = tp_ram_news(opened);
		if (!error)
			error = tp_revive(channel);
		if (error)
			return tp_ram_end(opened, channel, error);
		if (!tp_is_stopped(channel))
			return 0;
		tp_unlock(channel);
		tp_leave(channel->card);
	}
}

/*
 * Post work, and wait for its end. A write that a cancel has stopped may have left its message
 * open, which the next write would go on with: an empty descriptor ends it, or is an empty message.
 * Nobody waits for its end, for the caller may be killed; the next work is posted behind it.
 */
static int tp_ram_run(struct tp_channel *channel, struct tp_work *work,
		      struct tp_descriptor *descriptors)
{
	struct tp_work *closing = &channel->ram->closing;
	struct tp_descriptor end = {
		.control = cpu_to_le16(TP_KIND_DIRECT << TP_DESCRIPTOR_CONTROL_KIND_LSB |
				       TP_DESCRIPTOR_CONTROL_END_MASK),
	};
	int error;

	do {
		error = tp_wait(channel, tp_reaped(channel, channel->engine.used == 0));
		if (!error)
			error = tp_run(channel, work, descriptors);
	} while (error == -EAGAIN);
	if (!tp_is_h2c(channel) || !error || work->status == TP_STATUS_DONE)
		return error;
	/* What was in flight has ended, the closing of before, too. */
	spin_lock_irq(&channel->lock);
	if (list_empty(&closing->link)) {
		closing->places = 1;
		tp_post(channel, closing, &end);
	}
	spin_unlock_irq(&channel->lock);
	return error;
}

/*
 * Bytes, or what a piece of so many ended with; `error` is that of the wait. A read that ends early
 * without an error is the card's fault.
 */
static ssize_t tp_ram_result(const struct tp_channel *channel, const struct tp_work *work,
			     int error)
{
	const int ended = tp_errno(work->status);

	if (!ended)
		return work->moved == work->wanted ? work->moved : -EPROTO;
	if (work->status != TP_STATUS_CANCELLED)
		return ended;
	/* Without an error a reset has ended the wait. */
	return error ? error : tp_stopped_error(channel);
}

/* Move the iterator's next piece of the program's memory in place. EFAULT: it cannot be. */
static ssize_t tp_ram_in_place(struct tp_channel *channel, struct iov_iter *iter, u64 at)
{
	struct tp_transfer *transfer;
	unsigned long start;
	ssize_t result;
	size_t bytes;
	int error;

	tp_iter_segment(iter, &start, &bytes);
	bytes = min3(bytes, iov_iter_count(iter),
		     (size_t)TOWPATH_TRANSFER_BYTES - offset_in_page(start));
	transfer = tp_transfer_pin(channel, start, bytes, false);
	if (IS_ERR(transfer))
		return PTR_ERR(transfer) == -EINTR ? -ERESTARTSYS : -EFAULT;
	tp_transfer_address(transfer, at);
	error = tp_ram_run(channel, &transfer->work, transfer->descriptors);
	result = tp_ram_result(channel, &transfer->work, error);
	tp_transfer_free(channel->card, transfer);
	if (result > 0)
		iov_iter_advance(iter, result);
	return result;
}

/* Move what is next through the driver's buffer. */
static ssize_t tp_ram_copied(struct tp_channel *channel, struct iov_iter *iter, u64 at)
{
	const bool to_card = tp_is_h2c(channel);
	void *copy = channel->ram->copies[!to_card];
	size_t bytes = min_t(size_t, iov_iter_count(iter), TP_COPIED);
	struct tp_descriptor descriptors[2];
	struct tp_work work = { .places = 2, .status = TP_STATUS_CANCELLED };
	ssize_t result;
	int error;

	if (to_card)
		bytes = copy_from_iter(copy, bytes, iter);
	else
		/* A card may report bytes that it has not written: not those of another program. */
		memset(copy, 0, bytes);
	if (!bytes)
		return -EFAULT;
	INIT_LIST_HEAD(&work.link);
	work.wanted = bytes;
	tp_describe_address(&descriptors[0], at);
	descriptors[1] = (struct tp_descriptor){
		.address = cpu_to_le64(channel->ram->addresses[!to_card]),
		.length = cpu_to_le32(bytes),
		.control = cpu_to_le16(TP_KIND_DIRECT << TP_DESCRIPTOR_CONTROL_KIND_LSB |
				       (to_card ? TP_DESCRIPTOR_CONTROL_END_MASK : 0)),
	};
	error = tp_ram_run(channel, &work, descriptors);
	result = tp_ram_result(channel, &work, error);
	if (to_card && result < 0)
		iov_iter_revert(iter, bytes);
	if (!to_card && result > 0) {
		result = copy_to_iter(copy, bytes, iter);
		if (!result)
			return -EFAULT;
	}
	if (result > 0)
		tp_locked(channel, channel->copied += result);
	return result;
}

/* The bytes at `at`, as many as the iterator has, which are all in the memory. */
static ssize_t tp_ram_move(struct tp_opened *opened, struct tp_channel *channel,
			   struct iov_iter *iter, u64 at)
{
	ssize_t done = 0;
	ssize_t result = tp_ram_begin(opened, channel);

	if (result)
		return result;
	while (iov_iter_count(iter)) {
		result = -EFAULT;
		if (tp_transfer_suits(iter))
			result = tp_ram_in_place(channel, iter, at + done);
		/* Memory that cannot be pinned is copied. */
		if (result == -EFAULT)
			result = tp_ram_copied(channel, iter, at + done);
		if (result < 0)
			break;
		done += result;
		result = 0;
		if (!iov_iter_count(iter))
			break;
		if (signal_pending(current))
			result = -ERESTARTSYS;
		else if (tp_is_stopped(channel))
			result = tp_stopped_error(channel);
		if (result)
			break;
	}
	/* Of a call that has moved bytes the rest is the next one's. */
	if (done)
		result = done;
	return tp_ram_end(opened, channel, result);
}

/* Reads and writes end with the memory. */
static ssize_t tp_ram_call(struct kiocb *call, struct iov_iter *iter, struct tp_channel *channel)
{
	struct tp_opened *opened = call->ki_filp->private_data;
	const size_t wanted = iov_iter_count(iter);
	const u64 left = opened->ram->bytes - call->ki_pos;
	ssize_t result;

	iov_iter_truncate(iter, left);
	result = tp_ram_move(opened, channel, iter, call->ki_pos);
	iov_iter_reexpand(iter, wanted - max_t(ssize_t, result, 0));
	if (result > 0)
		call->ki_pos += result;
	return result;
}

static ssize_t tp_ram_read(struct kiocb *call, struct iov_iter *to)
{
	struct tp_opened *opened = call->ki_filp->private_data;

	if (!iov_iter_count(to) || call->ki_pos >= opened->ram->bytes)
		return 0;
	return tp_ram_call(call, to, opened->ram->reader);
}

static ssize_t tp_ram_write(struct kiocb *call, struct iov_iter *from)
{
	struct tp_opened *opened = call->ki_filp->private_data;

	if (!iov_iter_count(from))
		return 0;
	if (call->ki_flags & IOCB_APPEND || call->ki_pos >= opened->ram->bytes)
		return -ENOSPC;
	return tp_ram_call(call, from, opened->ram->writer);
}

static loff_t tp_ram_seek(struct file *file, loff_t offset, int whence)
{
	struct tp_opened *opened = file->private_data;

	return fixed_size_llseek(file, offset, whence, opened->ram->bytes);
}

/* What was written is in the memory. */
int tp_ram_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	return 0;
}

static int tp_ram_mmap(struct file *file, struct vm_area_struct *place)
{
	const struct tp_opened *opened = file->private_data;
	const struct tp_ram *ram = opened->ram;

	return tp_window_map(ram->writer->card, place, ram->place, ram->pages);
}

int tp_rams_mmap(struct tp_card *card, struct vm_area_struct *place)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		const struct tp_ram *ram = card->channels[index].ram;

		if (!ram || place->vm_pgoff < ram->place ||
		    place->vm_pgoff - ram->place >= ram->pages)
			continue;
		place->vm_pgoff -= ram->place;
		return tp_window_map(card, place, ram->place, ram->pages);
	}
	return -EINVAL;
}

const struct file_operations tp_ram_operations = {
	.owner = THIS_MODULE,
	.open = tp_ram_open,
	.release = tp_ram_release,
	.llseek = tp_ram_seek,
	.read_iter = tp_ram_read,
	.write_iter = tp_ram_write,
	.fsync = tp_ram_fsync,
	.mmap = tp_ram_mmap,
};
