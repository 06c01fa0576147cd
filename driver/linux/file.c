// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A channel as a file.
 *
 * write() hands bytes to the user core, in order; fsync() and the last close() end the message and
 * wait until the card has all of it. On a file opened with O_DIRECT, each write() is a message of
 * its own, as it is a packet in a pipe so opened. read() returns when the buffer is full or the
 * message has ended: a short read is the end of a message, and the next one begins the next
 * message. With O_NONBLOCK it returns what is there. An empty message reads as no bytes, the end of
 * a file. A program that is killed in the middle of a message which it writes leaves none: the
 * channel is reset.
 *
 * A channel that is half of a memory has such a file too, which can only be made a queue.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "arguments.h"
#include "file.h"
#include "queue.h"

/*
 * How long bytes may lie in a buffer which the core leaves unfilled, in milliseconds: at first, and
 * at most, when none come.
 */
#define TP_FLUSH_FIRST 10
#define TP_FLUSH_LAST 1000

/*
 * By another driver's names: how long a read waits for more than it has, in milliseconds, and a
 * close for a core that takes nothing.
 */
#define TP_NAMED_READ 10
#define TP_NAMED_CLOSE HZ

static unsigned int drain_ms = 10000;
module_param(drain_ms, uint, 0644);
MODULE_PARM_DESC(drain_ms, "how long fsync() and close() wait for progress (default 10000 ms)");

static bool tp_may_wait(const struct kiocb *call)
{
	return !(call->ki_filp->f_flags & O_NONBLOCK) && !(call->ki_flags & IOCB_NOWAIT);
}

/* The error of what was written before, once. The card has then closed the message. */
static int tp_take_write_error(struct tp_file *file)
{
	struct tp_channel *channel = file->client.channel;
	int error;

	spin_lock_irq(&channel->lock);
	error = file->write_error;
	file->write_error = 0;
	if (error && list_empty(&channel->posted))
		file->message_open = false;
	spin_unlock_irq(&channel->lock);
	return error;
}

/*
 * End a call. Of a card that has failed or gone, nothing else is reported. ECONNRESET reports a
 * reset; a call that reports bytes leaves that to the next.
 */
static ssize_t tp_finish(struct tp_channel *channel, ssize_t result)
{
	if (result < 0 && tp_card_state(channel->card) >= TP_CARD_FAILED)
		result = tp_card_error(channel->card);
	spin_lock_irq(&channel->lock);
	if (result == -ECONNRESET)
		channel->seen = channel->resets;
	channel->in_call = false;
	spin_unlock_irq(&channel->lock);
	tp_unlock(channel);
	tp_leave(channel->card);
	return result;
}

/* Under lock, with io: a reset that was reported is waited for; any other must be. */
static bool tp_may_come_in(struct tp_channel *channel)
{
	channel->in_call = !channel->resetters || tp_was_reset(channel);
	return channel->in_call;
}

/*
 * Enter the card and take io. A reset is reported once, and waited for by the calls that come
 * meanwhile.
 */
static int tp_come_in(struct tp_channel *channel, bool may_wait)
{
	struct tp_card *card = channel->card;
	int error;

	for (;;) {
		error = may_wait ? tp_enter(card) : tp_try_enter(card);
		if (error && error != -ECONNRESET)
			return error;
		if (error && tp_queue_of(channel))
			return -EBUSY;
		if (error && tp_take_reset(channel))
			return error;
		if (!error) {
			error = tp_lock(channel, may_wait);
			if (!error && tp_locked(channel, tp_may_come_in(channel)))
				return 0;
			if (!error)
				tp_unlock(channel);
			tp_leave(card);
			if (error)
				return error;
		}
		error = tp_await_settled(channel, may_wait);
		if (error)
			return error;
	}
}

/* May a call go on? ENODEV, EIO, ECONNRESET */
static int tp_may_go_on(const struct tp_channel *channel)
{
	return tp_is_stopped(channel) || tp_was_reset(channel) ? tp_stopped_error(channel) : 0;
}

/* Take the channel for one call. */
static int tp_begin(struct tp_channel *channel, bool may_wait)
{
	struct tp_file *file = tp_file_of(channel);
	int error = tp_come_in(channel, may_wait);

	if (error)
		return error;
	error = tp_queue_of(channel)   ? -EBUSY :
		!tp_is_stream(channel) ? -EOPNOTSUPP :
					 tp_revive(channel);
	if (error)
		return tp_finish(channel, error);
	error = tp_may_go_on(channel);
	if (!error)
		return 0;
	tp_take_write_error(file);
	file->read_error = 0;
	return tp_finish(channel, error);
}

/* To the card. */

/*
 * Can the program's memory be posted? What was written before must have landed, for a signal
 * cancels all that is in flight; what was posted ahead was read before.
 */
static bool tp_has_room(struct tp_channel *channel)
{
	return tp_reaped(channel, tp_is_h2c(channel) ?
					  list_empty(&channel->posted) :
					  channel->engine.used < channel->engine.depth);
}

/*
 * Post a transfer and wait for its end; a signal cancels it, and what was moved until then counts.
 */
static int tp_run_transfer(struct tp_file *file, struct tp_transfer *transfer)
{
	struct tp_channel *channel = file->client.channel;
	int error;

	file->transfer = transfer;
	do {
		error = tp_wait(channel, tp_has_room(channel));
		if (!error)
			error = tp_run(channel, &transfer->work, transfer->descriptors);
	} while (error == -EAGAIN);
	file->transfer = NULL;
	return error;
}

/*
 * Move the iterator's next piece of the program's memory in place. Bytes or an error (EFAULT: it
 * cannot be pinned or mapped); `ended`: the message did.
 */
static ssize_t tp_move_in_place(struct tp_file *file, struct iov_iter *iter, bool end, bool *ended)
{
	struct tp_channel *channel = file->client.channel;
	struct tp_transfer *transfer;
	unsigned long start;
	size_t bytes;
	int error;
	u8 status;

	*ended = false;
	tp_iter_segment(iter, &start, &bytes);
	bytes = min3(bytes, iov_iter_count(iter),
		     (size_t)TOWPATH_TRANSFER_BYTES - offset_in_page(start));
	transfer = tp_transfer_pin(channel, start, bytes, end && bytes == iov_iter_count(iter));
	/* The driver's own buffers serve all the same, unless the program is killed. */
	if (IS_ERR(transfer))
		return PTR_ERR(transfer) == -EINTR ? -ERESTARTSYS : -EFAULT;
	error = tp_run_transfer(file, transfer);
	bytes = transfer->work.moved;
	status = transfer->work.status;
	tp_transfer_free(channel->card, transfer);
	/* An end, or a fault, that came with the signal is reported. */
	if (error && !bytes && (error == -ENOLINK || status == TP_STATUS_CANCELLED))
		return error;
	*ended = status == TP_STATUS_END_OF_MESSAGE;
	iov_iter_advance(iter, bytes);
	error = tp_errno(status);
	if (!error || status == TP_STATUS_CANCELLED)
		return bytes;
	if (!bytes)
		return error;
	/* Now the bytes, the fault by the next call. */
	if (tp_is_h2c(channel))
		tp_locked(channel, file->write_error = error);
	else
		file->read_error = error;
	return bytes;
}

/* All of it, or as much as there is room for. The end of the call may be a message's. */
static ssize_t tp_write(struct tp_file *file, struct iov_iter *from, bool end, bool may_wait)
{
	struct tp_channel *channel = file->client.channel;
	ssize_t done = 0;
	ssize_t error = tp_take_write_error(file);
	ssize_t bytes;
	bool ended;

	while (!error) {
		const bool in_place = may_wait && !file->names && tp_transfer_suits(from);

		error = tp_may_go_on(channel);
		if (error)
			break;
		if (in_place)
			bytes = tp_move_in_place(file, from, end, &ended);
		/* Memory that cannot be pinned is copied from. */
		if (!in_place || bytes == -EFAULT)
			bytes = tp_buffers_write(file, from, end);
		/* These programs know that a write takes as much as there is room for. */
		if (bytes == -EAGAIN && may_wait && !(file->names && done)) {
			error = tp_wait(channel, tp_buffers_can_write(file));
			continue;
		}
		if (bytes < 0) {
			error = bytes;
			break;
		}
		done += bytes;
		file->message_open = !end || iov_iter_count(from);
		file->owes_empty = file->names == TP_NAMES_XILLYBUS;
		/* The next call reports a fault. */
		if (!iov_iter_count(from) || READ_ONCE(file->write_error))
			break;
		error = signal_pending(current) ? -ERESTARTSYS : 0;
	}
	return done ? done : error;
}

static ssize_t tp_write_iter(struct kiocb *call, struct iov_iter *from)
{
	struct file *file = call->ki_filp;
	struct tp_channel *channel = file->private_data;
	const bool each = file->f_flags & O_DIRECT;
	/* Xillybus' cores see no ends, and the last bytes of an open message stay on the card. */
	const bool end = each || tp_file_of(channel)->names == TP_NAMES_XILLYBUS;
	ssize_t done;
	int error;

	/* No bytes are a message only where each write is one. */
	if (iov_iter_count(from) == 0 && !each)
		return 0;
	error = tp_begin(channel, tp_may_wait(call));
	if (error)
		return error;
	done = tp_write(tp_file_of(channel), from, end, tp_may_wait(call));
	return tp_finish(channel, done);
}

/* Wait until `condition`, or the channel is stopped; ETIMEDOUT: not within `limit`. */
#define tp_wait_to_drain(channel, condition, limit)                                                \
	({                                                                                         \
		long __left =                                                                      \
			wait_event_killable_timeout((channel)->wait,                               \
						    (condition) || tp_is_stopped(channel), limit); \
		(int)(__left > 0 ? 0 : __left ? __left : -ETIMEDOUT);                              \
	})

/* How long to wait for progress; where there is an `end`, until then. */
static long tp_drain_limit(unsigned long end)
{
	return end ? max(0L, (long)(end - jiffies)) : msecs_to_jiffies(READ_ONCE(drain_ms));
}

/*
 * Under io: end the message, send the empty one that is owed at a close, and wait until the card
 * has all. ETIMEDOUT: there is no progress, or it is not done by the time for a close.
 */
static int tp_write_out(struct tp_file *file, bool closing)
{
	struct tp_channel *channel = file->client.channel;
	struct iov_iter nothing;
	struct kvec none = { .iov_base = "", .iov_len = 0 };
	/* Never 0. */
	const unsigned long end = closing && file->names ? (jiffies + TP_NAMED_CLOSE) | 1 : 0;
	int error = 0;
	u64 before;

	iov_iter_kvec(&nothing, ITER_SOURCE, &none, 1, 0);
	while ((file->message_open || (closing && file->owes_empty)) && !error) {
		error = tp_buffers_write(file, &nothing, true);
		/* The open message's end comes first. */
		if (!error && file->message_open)
			file->message_open = false;
		else if (!error)
			file->owes_empty = false;
		if (error == -EAGAIN)
			error = tp_wait_to_drain(channel, tp_buffers_can_write(file),
						 tp_drain_limit(end));
		if (!error)
			error = tp_may_go_on(channel);
	}
	if (error)
		return error;
	do {
		before = tp_locked(channel, channel->statistics.completed);
		error = tp_wait_to_drain(channel, tp_is_idle(channel), tp_drain_limit(end));
	} while (error == -ETIMEDOUT && !end &&
		 tp_locked(channel, channel->statistics.completed) != before);
	if (!error)
		error = tp_may_go_on(channel);
	return error ? error : tp_take_write_error(file);
}

static int tp_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct tp_channel *channel = file->private_data;
	int error = tp_begin(channel, true);

	if (error)
		return error;
	if (tp_is_h2c(channel))
		error = tp_write_out(tp_file_of(channel), false);
	return tp_finish(channel, error);
}

/* From the card. */

/* Bring out what lies in buffers that the core has not filled. True: there was something. */
static bool tp_bring_out(struct tp_file *file, bool started)
{
	bool found;

	tp_cancel(file->client.channel);
	found = tp_buffers_can_read(file, started);
	file->flush_ms = found || file->names ?
				 TP_FLUSH_FIRST :
				 min(2 * file->flush_ms, (unsigned int)TP_FLUSH_LAST);
	return found;
}

/* Is there news, or no use in waiting for it? */
static bool tp_may_read(struct tp_file *file, bool started)
{
	return tp_buffers_can_read(file, started) || tp_may_go_on(file->client.channel);
}

/* Nothing is ready: wait until something is. A call that has `started` has got bytes. */
static int tp_wait_to_read(struct tp_file *file, bool started)
{
	long left;
	int error;

	file->flush_ms = TP_FLUSH_FIRST;
	do {
		error = tp_buffers_ahead(file);
		if (error)
			return error;
		left = wait_event_interruptible_timeout(file->client.channel->wait,
							tp_may_read(file, started),
							msecs_to_jiffies(file->flush_ms));
		if (left < 0)
			return left;
	} while (left == 0 && !tp_bring_out(file, started) && !tp_may_read(file, started));
	return 0;
}

/*
 * By another driver's names, a call has got bytes: wait until `end` for more. EAGAIN: there is
 * none.
 */
static int tp_wait_for_rest(struct tp_file *file, unsigned long end)
{
	const long left = (long)(end - jiffies);
	int error = left > 0 ? tp_buffers_ahead(file) : -EAGAIN;

	if (!error)
		error = min(0L, wait_event_interruptible_timeout(file->client.channel->wait,
								 tp_may_read(file, true), left));
	if (error || tp_may_read(file, true))
		return error;
	return tp_bring_out(file, true) ? 0 : -EAGAIN;
}

/* One piece, from what is ready or straight from the card. */
static ssize_t tp_read_piece(struct tp_file *file, struct iov_iter *to, bool may_wait, bool *ended)
{
	struct tp_channel *channel = file->client.channel;
	ssize_t bytes = tp_buffers_read(file, to, ended);

	if (bytes != -EAGAIN || !may_wait || file->names || !tp_transfer_suits(to))
		return bytes;
	/*
	 * What was posted ahead comes first, whenever it came: only when nothing of it is left can
	 * the program's memory be posted.
	 */
	if (!tp_is_idle(channel))
		tp_bring_out(file, false);
	bytes = tp_buffers_read(file, to, ended);
	if (bytes != -EAGAIN || tp_may_go_on(channel))
		return bytes;
	bytes = tp_move_in_place(file, to, false, ended);
	/* Memory that cannot be pinned is copied to. */
	return bytes == -EFAULT ? -EAGAIN : bytes;
}

static ssize_t tp_read(struct tp_file *file, struct iov_iter *to, bool may_wait)
{
	ssize_t done = 0;
	const unsigned long end = jiffies + 1 + msecs_to_jiffies(TP_NAMED_READ);
	ssize_t error = file->read_error;
	bool ended = false;

	file->read_error = 0;
	while (error >= 0 && iov_iter_count(to) && !(file->names && file->ended)) {
		const bool was_open = file->message_open;

		error = tp_may_go_on(file->client.channel);
		if (error)
			break;
		error = tp_read_piece(file, to, may_wait, &ended);
		if (error == -EAGAIN && may_wait) {
			error = file->names && done ? tp_wait_for_rest(file, end) :
						      tp_wait_to_read(file, done > 0);
			continue;
		}
		if (error < 0)
			break;
		done += error;
		/* The next call reports a fault behind these bytes. */
		if (file->read_error)
			break;
		file->message_open = !ended && (was_open || error > 0);
		/* Of Xillybus only an empty message is an end; a read goes on behind others. */
		if (file->names == TP_NAMES_XILLYBUS) {
			ended = ended && !error && !was_open;
			WRITE_ONCE(file->ended, ended);
			if (ended)
				wake_up_all(&file->client.channel->wait);
		}
		/* No program sees the end of a message whose bytes were all read before. */
		if (ended && (done || !was_open))
			break;
		if (signal_pending(current) && iov_iter_count(to)) {
			error = -ERESTARTSYS;
			break;
		}
	}
	if (done && error < 0 && error != -EAGAIN && error != -ERESTARTSYS && error != -EFAULT)
		file->read_error = error;
	return done ? done : error < 0 ? error : 0;
}

static void tp_flush_later(struct tp_file *file)
{
	if (tp_card_state(file->client.channel->card) != TP_CARD_GONE)
		schedule_delayed_work(&file->flush, msecs_to_jiffies(file->flush_ms));
}

static ssize_t tp_read_iter(struct kiocb *call, struct iov_iter *to)
{
	struct tp_channel *channel = call->ki_filp->private_data;
	struct tp_file *file = tp_file_of(channel);
	const bool may_wait = tp_may_wait(call);
	ssize_t done;
	int error;

	if (iov_iter_count(to) == 0)
		return 0;
	error = tp_begin(channel, may_wait);
	if (error)
		return error;
	done = tp_read(file, to, may_wait);
	if (!tp_is_stopped(channel))
		tp_buffers_ahead(file);
	/* A program that does not wait, and has got all there is, polls for more. */
	if (!may_wait && !tp_buffers_can_read(file, false)) {
		file->flush_ms = TP_FLUSH_FIRST;
		tp_flush_later(file);
	}
	return tp_finish(channel, done);
}

/* For programs that poll. */
static void tp_flush_work(struct work_struct *work)
{
	struct tp_file *file = container_of(to_delayed_work(work), struct tp_file, flush);
	struct tp_channel *channel = file->client.channel;
	bool found;

	if (tp_try_enter(channel->card))
		return;
	/* Before io is taken: see tp_lock(). */
	smp_store_mb(channel->flushing, true);
	if (mutex_trylock(&channel->io)) {
		/* Nobody reads from a queue. */
		found = tp_queue_of(channel) || tp_buffers_can_read(file, false) ||
			tp_is_stopped(channel);
		if (!found) {
			found = tp_bring_out(file, false);
			tp_buffers_ahead(file);
		}
		if (!found)
			tp_flush_later(file);
		tp_unlock(channel);
	} else {
		tp_flush_later(file);
	}
	/* Before the waiters are looked up. */
	smp_store_mb(channel->flushing, false);
	wake_up_var(&channel->flushing);
	tp_leave(channel->card);
}

/* Both. */

static __poll_t tp_file_poll(struct tp_file *file)
{
	struct tp_channel *channel = file->client.channel;
	const bool was_reset = tp_was_reset(channel);
	__poll_t news = 0;

	if (tp_is_h2c(channel)) {
		if (tp_buffers_can_write(file))
			news |= EPOLLOUT | EPOLLWRNORM;
		if (READ_ONCE(file->write_error) || was_reset)
			news |= EPOLLERR;
	} else if (tp_buffers_can_read(file, false) || READ_ONCE(file->read_error) || was_reset) {
		news |= EPOLLIN | EPOLLRDNORM;
	} else {
		/* A program polls: bytes need not wait long. */
		if (READ_ONCE(file->flush_ms) > TP_FLUSH_FIRST)
			cancel_delayed_work(&file->flush);
		WRITE_ONCE(file->flush_ms, TP_FLUSH_FIRST);
		tp_flush_later(file);
	}
	return news;
}

static __poll_t tp_poll(struct file *file, poll_table *table)
{
	struct tp_channel *channel = file->private_data;
	const bool is_queue = tp_queue_of(channel);
	__poll_t news = 0;
	int error;

	poll_wait(file, &channel->wait, table);
	error = tp_try_enter(channel->card);
	/* A reset is a while without news, once it was reported; for a queue, until it is over. */
	if (error == -ECONNRESET || error == -EAGAIN)
		return !is_queue && tp_was_reset(channel) ? EPOLLERR : 0;
	if (error)
		return EPOLLERR | EPOLLHUP;
	if (is_queue)
		news = tp_queue_poll(channel);
	else if (!READ_ONCE(channel->resetters) || tp_was_reset(channel))
		news = tp_file_poll(tp_file_of(channel));
	/* The next call reports it, or resets the channel. */
	if (tp_needs_reset(channel) && !READ_ONCE(channel->resetters))
		news |= EPOLLERR;
	tp_leave(channel->card);
	return news;
}

static int tp_reset_file(struct file *file, void *argument)
{
	struct tp_channel *channel = file->private_data;
	bool alone;
	int error = tp_claim(channel, &alone);

	if (error)
		return error;
	error = tp_reset(channel, alone);
	if (!error && !tp_is_h2c(channel) && !tp_queue_of(channel))
		error = tp_buffers_ahead(tp_file_of(channel));
	/* One of the card that is to come is another reset: the next call reports it. */
	if (!tp_queue_of(channel) && tp_card_state(channel->card) == TP_CARD_RESETTING)
		tp_locked(channel, channel->resets++);
	/* Another reset has begun, of the channel or of the card. This one was made. */
	if (error == -ECONNRESET)
		error = 0;
	return tp_finish(channel, error);
}

/*
 * Under io: attach a queue to a channel that was not used since it was opened. What the core has
 * sent is all on the card then, and what was sent to it all on its way: neither is lost.
 */
static bool tp_take_over(struct tp_channel *channel, struct tp_queue *queue)
{
	const struct tp_file *file = tp_file_of(channel);
	bool may;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	may = !tp_is_stopped(channel) && !tp_queue_of(channel) && !file->message_open &&
	      !file->write_error && list_empty(&channel->posted) && list_empty(&file->ready);
	if (may)
		tp_queue_attach(channel, queue);
	spin_unlock_irq(&channel->lock);
	return may;
}

/* Reset the channel, for calls that are in it, and attach a queue. */
static int tp_force_over(struct tp_channel *channel, struct tp_queue *queue)
{
	bool alone;
	int error = tp_claim(channel, &alone);

	if (error)
		return error;
	/* Another thread was quicker. What waits for room was held up. */
	if (tp_queue_of(channel)) {
		tp_wake(channel);
		return tp_unlock_leave(channel, -EBUSY);
	}
	/* Of calls that were in the channel, the program that makes a queue knows. */
	tp_reset(channel, true);
	/*
	 * Even if the reset failed: the first call reports that the card cannot be reached, or
	 * resets the channel.
	 */
	spin_lock_irq(&channel->lock);
	tp_queue_attach(channel, queue);
	spin_unlock_irq(&channel->lock);
	return tp_unlock_leave(channel, 0);
}

static int tp_make_queue(struct file *file, void *argument)
{
	struct tp_channel *channel = file->private_data;
	struct tp_queue *queue = tp_queue_create(channel, argument);
	int error;

	if (IS_ERR(queue))
		return PTR_ERR(queue);
	error = tp_enter_settled(channel, true);
	if (!error) {
		bool is_taken = false;

		error = tp_lock(channel, false);
		if (!error) {
			is_taken = tp_take_over(channel, queue);
			tp_unlock(channel);
		}
		tp_leave(channel->card);
		if (is_taken)
			return 0;
		if (error != -ERESTARTSYS)
			error = tp_force_over(channel, queue);
	}
	if (error)
		tp_queue_free(queue);
	return error;
}

static int tp_channel_statistics(struct file *file, void *argument)
{
	struct tp_channel *channel = file->private_data;
	struct towpath_channel_statistics *into = argument;
	const u32 argsz = into->argsz;

	spin_lock_irq(&channel->lock);
	*into = channel->statistics;
	spin_unlock_irq(&channel->lock);
	into->argsz = argsz;
	return 0;
}

/* Command, known flags, within the card, given back, function. */
static const struct tp_call tp_calls[] = {
	{ TOWPATH_IOC_CHANNEL_RESET, 0, false, false, tp_reset_file },
	{ TOWPATH_IOC_CHANNEL_STATISTICS, 0, false, true, tp_channel_statistics },
	{ TOWPATH_IOC_QUEUE, TOWPATH_QUEUE_ANNOUNCE, false, false, tp_make_queue },
};

static long tp_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct tp_channel *channel = file->private_data;
	const long result = tp_make_call(tp_calls, ARRAY_SIZE(tp_calls), channel->card, file,
					 command, argument);

	return result == -ENOTTY && tp_queue_of(channel) ? tp_queue_ioctl(file, command, argument) :
							   result;
}

/* Under io: what a program finds that opens the file. */
static int tp_prepare(struct tp_file *file, bool ahead)
{
	struct tp_channel *channel = file->client.channel;
	int error = tp_is_stopped(channel) ? tp_reset(channel, true) : 0;

	if (!error && tp_is_stream(channel))
		error = tp_buffers_allocate(file);
	tp_take_write_error(file);
	file->read_error = 0;
	file->drain_timed_out = false;
	file->flush_ms = TP_FLUSH_FIRST;
	if (!error && ahead)
		error = tp_buffers_ahead(file);
	/* A reset has begun meanwhile: the next read posts them. */
	return error == -ECONNRESET ? 0 : error;
}

static int tp_open(struct inode *inode, struct file *file)
{
	struct tp_channel *channel = file->private_data;
	bool ahead;
	int error;

	if (file->f_mode & (tp_is_h2c(channel) ? FMODE_READ : FMODE_WRITE))
		return -EACCES;
	file->f_mode |= FMODE_CAN_ODIRECT;
	error = tp_enter_settled(channel, !(file->f_flags & O_NONBLOCK));
	if (error)
		return error;
	spin_lock_irq(&channel->lock);
	if (channel->is_open)
		error = -EBUSY;
	else
		channel->seen = channel->resets;
	channel->is_open = true;
	spin_unlock_irq(&channel->lock);
	if (!error) {
		mutex_lock(&channel->io);
		/* With O_DIRECT, reads and polls post: so a queue finds all on the card. */
		ahead = !tp_is_h2c(channel) && tp_is_stream(channel) && !(file->f_flags & O_DIRECT);
		error = tp_prepare(tp_file_of(channel), ahead);
		mutex_unlock(&channel->io);
		if (error)
			WRITE_ONCE(channel->is_open, false);
		else
			stream_open(inode, file);
	}
	tp_leave(channel->card);
	return error;
}

/* At every close(): the last one ends the message, and reports what went wrong. */
static int tp_flush(struct file *file, fl_owner_t owner)
{
	struct tp_channel *channel = file->private_data;
	int error;

	if (!tp_is_h2c(channel) || !tp_is_stream(channel) || tp_queue_of(channel) ||
	    file_count(file) > 1 || fatal_signal_pending(current) || current->flags & PF_EXITING)
		return 0;
	error = tp_begin(channel, true);
	if (error)
		return error;
	error = tp_write_out(tp_file_of(channel), true);
	tp_file_of(channel)->drain_timed_out = error == -ETIMEDOUT;
	return tp_finish(channel, error);
}

/* Was the program killed that closes the file? */
static bool tp_is_killed(void)
{
	return fatal_signal_pending(current) ||
	       (current->flags & PF_EXITING && current->signal->group_exit_code & 0x7f);
}

/* Leave nothing in flight, and no message half written by a program that was killed. */
static void tp_close_h2c(struct tp_file *file)
{
	struct tp_channel *channel = file->client.channel;
	const bool killed = tp_is_killed();

	if (tp_needs_reset(channel)) {
		tp_revive(channel);
		return;
	}
	/*
	 * Even if it is stopped: the reset of the card that is to come may yet be given up. By
	 * another driver's names, what a program has written before it was killed counts.
	 */
	if ((!killed || file->names) && !file->drain_timed_out)
		tp_write_out(file, true);
	else if (killed && !file->message_open)
		wait_event_timeout(channel->wait, tp_is_idle(channel) || tp_is_stopped(channel),
				   TP_GRACE);
	if (!file->message_open && !file->owes_empty && tp_is_idle(channel))
		return;
	dev_info(channel->card->bus.device, "%s: closed in the middle of a message: resetting it\n",
		 channel->name);
	tp_reset(channel, true);
}

int tp_channel_release(struct inode *inode, struct file *file)
{
	struct tp_channel *channel = file->private_data;
	struct tp_card *card = channel->card;

	cancel_delayed_work_sync(&tp_file_of(channel)->flush);
	if (tp_queue_of(channel)) {
		tp_queue_close(channel);
	} else {
		/* Even killed, and even while the card is about to be reset. */
		down_read(&card->gate);
		mutex_lock(&channel->io);
		if (!tp_is_h2c(channel) && tp_card_state(card) == TP_CARD_READY)
			tp_cancel(channel);
		else if (tp_is_h2c(channel) && tp_card_state(card) <= TP_CARD_RESETTING)
			tp_close_h2c(tp_file_of(channel));
		mutex_unlock(&channel->io);
		up_read(&card->gate);
	}
	tp_file_of(channel)->names = TP_NAMES_OWN;
	/* From here on it is another program's. */
	smp_store_release(&channel->is_open, false);
	return 0;
}

static bool tp_file_ended(struct tp_client *client, struct tp_work *work)
{
	struct tp_file *file = container_of(client, struct tp_file, client);

	/* tp_run() looks for the end of its transfer. */
	if (!file->transfer || work != &file->transfer->work)
		tp_buffer_ended(file, work);
	return true;
}

static void tp_file_was_reset(struct tp_client *client, bool own)
{
	struct tp_file *file = container_of(client, struct tp_file, client);

	tp_buffers_drop(file);
	/* What was in flight has ended by the reset, which is reported by itself. */
	file->write_error = 0;
	file->read_error = 0;
	file->message_open = false;
	file->owes_empty = false;
}

static const struct tp_client_operations tp_file_client = {
	.ended = tp_file_ended,
	.reset = tp_file_was_reset,
};

int tp_file_create(struct tp_channel *channel)
{
	struct tp_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	file->client.operations = &tp_file_client;
	file->client.channel = channel;
	INIT_LIST_HEAD(&file->idle);
	INIT_LIST_HEAD(&file->ready);
	INIT_DELAYED_WORK(&file->flush, tp_flush_work);
	channel->file = &file->client;
	channel->client = channel->file;
	return 0;
}

void tp_file_free(struct tp_channel *channel)
{
	if (channel->file)
		kfree(tp_file_of(channel));
}

const struct file_operations tp_channel_operations = {
	.owner = THIS_MODULE,
	.open = tp_open,
	.release = tp_channel_release,
	.flush = tp_flush,
	.read_iter = tp_read_iter,
	.write_iter = tp_write_iter,
	.fsync = tp_fsync,
	.poll = tp_poll,
	.unlocked_ioctl = tp_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = TP_HAS_URING ? tp_uring_command : NULL,
};
