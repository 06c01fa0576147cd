// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A channel as a file.
 *
 * write() hands bytes to the user core, in order; fsync() and the last close() end the message and
 * wait until the card has all of it. On a file opened with O_DIRECT, each write() is a message of
 * its own, as it is a packet in a pipe so opened. read() returns when the buffer is full or the
 * message has ended: a short read is the end of a message, and the next one begins the next
 * message. With O_NONBLOCK it returns what is there. An empty message reads as no bytes, the end of
 * a file. What the core has sent and nobody has read stays for the next who opens the file. A
 * program that is killed in the middle of a message which it writes leaves none: the channel is
 * reset.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "card.h"
#include "uapi/towpath.h"

static_assert(sizeof(struct towpath_channel_statistics) == 72);

/*
 * How long bytes may lie in a buffer which the core leaves unfilled, in milliseconds: at first, and
 * at most, when none come.
 */
#define TP_FLUSH_FIRST 10
#define TP_FLUSH_LAST 1000

static unsigned int copy_limit = 16384;
module_param(copy_limit, uint, 0644);
MODULE_PARM_DESC(copy_limit, "bytes from which memory is moved in place (default 16384)");

static unsigned int drain_ms = 10000;
module_param(drain_ms, uint, 0644);
MODULE_PARM_DESC(drain_ms, "how long fsync() and close() wait for progress (default 10000 ms)");

static bool tp_may_wait(const struct kiocb *call)
{
	return !(call->ki_filp->f_flags & O_NONBLOCK) && !(call->ki_flags & IOCB_NOWAIT);
}

/* Is the next piece of the program's memory long enough to be moved in place? */
static bool tp_is_long(const struct iov_iter *iter)
{
	unsigned long start;
	size_t bytes;

	if (!user_backed_iter(iter))
		return false;
	tp_iter_segment(iter, &start, &bytes);
	return min(bytes, iov_iter_count(iter)) >= max_t(size_t, READ_ONCE(copy_limit), PAGE_SIZE);
}

/* What one is told who finds the channel stopped. */
static int tp_why_stopped(const struct tp_channel *channel)
{
	return READ_ONCE(channel->card->gone)	? -ENODEV :
	       READ_ONCE(channel->card->failed) ? -EIO :
						  -ECONNRESET;
}

int tp_lock(struct tp_channel *channel, bool may_wait)
{
	if (mutex_trylock(&channel->io))
		return 0;
	if (may_wait)
		return mutex_lock_interruptible(&channel->io) ? -ERESTARTSYS : 0;
	/* The flush is no reason to send one away; on a card that does not answer it takes long. */
	if (wait_var_event_interruptible(&channel->flushing, !READ_ONCE(channel->flushing)))
		return -ERESTARTSYS;
	/* Before the last try: whoever has io sees this when he leaves it, or has left it. */
	smp_store_mb(channel->sent_away, true);
	return mutex_trylock(&channel->io) ? 0 : -EAGAIN;
}

/* Leave io. Perhaps nothing else is going to happen that wakes whoever was sent away from it. */
static void tp_unlock(struct tp_channel *channel)
{
	mutex_unlock(&channel->io);
	/* As in tp_lock(), the other way round. */
	smp_mb();
	if (READ_ONCE(channel->sent_away)) {
		WRITE_ONCE(channel->sent_away, false);
		wake_up_all(&channel->wait);
	}
}

/* What a call came to; of a card that has gone or failed, nothing else is told. */
static ssize_t tp_finish(struct tp_channel *channel, ssize_t result)
{
	if (result < 0 && (READ_ONCE(channel->card->gone) || READ_ONCE(channel->card->failed)))
		result = tp_why_stopped(channel);
	if (result == -ECONNRESET) {
		spin_lock_irq(&channel->lock);
		channel->reset_untold = false;
		channel->reset_told = true;
		channel->cut_short = false;
		spin_unlock_irq(&channel->lock);
	} else if (result > 0 && atomic_read(&channel->resets)) {
		channel->cut_short = true;
	}
	tp_unlock(channel);
	tp_leave(channel->card);
	return result;
}

/* Is this a reset of the channel that was told, and is still to come? */
static bool tp_is_awaited(struct tp_channel *channel)
{
	bool is;

	spin_lock_irq(&channel->lock);
	is = atomic_read(&channel->resets) && !channel->queue && channel->reset_told &&
	     !channel->reset_untold && !channel->cut_short;
	spin_unlock_irq(&channel->lock);
	return is;
}

/* Enter the card and take io. */
static int tp_come_in(struct tp_channel *channel, bool may_wait)
{
	int error = may_wait ? tp_enter(channel->card) : tp_try_enter(channel->card);

	/* A reset of the card is told once; for the rest of its time it is waited for. */
	if (error == -ECONNRESET && READ_ONCE(channel->queue))
		error = -EBUSY;
	else if (error == -ECONNRESET && !tp_take_reset(channel))
		error = tp_enter_settled(channel, may_wait);
	if (error)
		return error;
	error = tp_lock(channel, may_wait);
	if (error)
		tp_leave(channel->card);
	return error;
}

/* Take the channel for one call. */
static int tp_begin(struct tp_channel *channel, bool may_wait)
{
	int error;

	for (;;) {
		error = tp_come_in(channel, may_wait);
		if (error)
			return error;
		if (!tp_is_awaited(channel))
			break;
		tp_unlock(channel);
		tp_leave(channel->card);
		error = may_wait ? tp_await_settled(channel) : -EAGAIN;
		if (error)
			return error;
	}
	error = channel->queue ? -EBUSY : tp_revive(channel);
	if (!error && (tp_is_stopped(channel) || channel->reset_untold)) {
		error = tp_why_stopped(channel);
		tp_take_fault(channel);
		channel->read_error = 0;
	}
	return error ? tp_finish(channel, error) : 0;
}

/* To the card. */

/* Is there room, or no use in waiting for it? */
static bool tp_may_write(struct tp_channel *channel)
{
	return tp_buffers_can_write(channel) || tp_is_stopped(channel);
}

static int tp_wait_to_write(struct tp_channel *channel)
{
	int error = tp_wait(channel, tp_buffers_can_write);

	return error ? error : tp_is_stopped(channel) ? tp_why_stopped(channel) : 0;
}

/* All of it, or as much as there is room for. A whole call's end may be a message's. */
static ssize_t tp_write(struct tp_channel *channel, struct iov_iter *from, bool end, bool may_wait)
{
	ssize_t done = 0;
	ssize_t error = tp_take_fault(channel);
	ssize_t bytes;
	bool ended;

	while (!error) {
		const bool in_place = may_wait && tp_is_long(from);

		if (tp_is_stopped(channel) || channel->reset_untold) {
			error = tp_why_stopped(channel);
			break;
		}
		if (in_place)
			bytes = tp_pages_move(channel, from, end, &ended);
		/* Memory that cannot be pinned is copied from. */
		if (!in_place || bytes == -EFAULT)
			bytes = tp_buffers_write(channel, from, end);
		if (bytes == -EAGAIN && may_wait) {
			error = tp_wait_to_write(channel);
			continue;
		}
		if (bytes < 0) {
			error = bytes;
			break;
		}
		done += bytes;
		channel->message_open = !end || iov_iter_count(from);
		/* A fault is told of by the next call. */
		if (!iov_iter_count(from) || READ_ONCE(channel->faulted))
			break;
		error = signal_pending(current) ? -ERESTARTSYS : 0;
	}
	return done ? done : error;
}

static ssize_t tp_write_iter(struct kiocb *call, struct iov_iter *from)
{
	struct file *file = call->ki_filp;
	struct tp_channel *channel = file->private_data;
	const bool end = file->f_flags & O_DIRECT;
	ssize_t done;
	int error;

	/* No bytes are a message only where each write is one. */
	if (iov_iter_count(from) == 0 && !end)
		return 0;
	error = tp_begin(channel, tp_may_wait(call));
	if (error)
		return error;
	done = tp_write(channel, from, end, tp_may_wait(call));
	return tp_finish(channel, done);
}

static u64 tp_completed(struct tp_channel *channel)
{
	u64 completed;

	spin_lock_irq(&channel->lock);
	completed = channel->statistics.completed;
	spin_unlock_irq(&channel->lock);
	return completed;
}

/* Wait until the card has all that was written. ETIMEDOUT: it has not gone on for so long. */
static int tp_drain(struct tp_channel *channel)
{
	u64 before;
	long left;

	do {
		before = tp_completed(channel);
		left = wait_event_killable_timeout(channel->wait,
						   tp_is_idle(channel) || tp_is_stopped(channel),
						   msecs_to_jiffies(READ_ONCE(drain_ms)));
		if (left < 0)
			return left;
	} while (left == 0 && tp_completed(channel) != before);
	if (left > 0 && (tp_is_stopped(channel) || channel->reset_untold))
		return tp_why_stopped(channel);
	return left > 0 ? tp_take_fault(channel) : -ETIMEDOUT;
}

/* Under io: end the message and wait for its end. */
static int tp_write_out(struct tp_channel *channel)
{
	struct iov_iter nothing;
	struct kvec none = { .iov_base = "", .iov_len = 0 };
	int error = 0;
	long left;

	if (!tp_is_h2c(channel))
		return 0;
	iov_iter_kvec(&nothing, ITER_SOURCE, &none, 1, 0);
	while (channel->message_open && !error) {
		error = tp_buffers_write(channel, &nothing, true);
		if (!error)
			channel->message_open = false;
		if (error != -EAGAIN)
			continue;
		left = wait_event_killable_timeout(channel->wait, tp_may_write(channel),
						   msecs_to_jiffies(READ_ONCE(drain_ms)));
		error = left < 0 ? left : left == 0 ? -ETIMEDOUT : 0;
		if (!error && tp_is_stopped(channel))
			error = tp_why_stopped(channel);
	}
	return error ? error : tp_drain(channel);
}

static int tp_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct tp_channel *channel = file->private_data;
	int error = tp_begin(channel, true);

	if (error)
		return error;
	error = tp_write_out(channel);
	return tp_finish(channel, error);
}

/* From the card. */

/* Bring out what lies in buffers that the core has not filled. True: there was something. */
static bool tp_bring_out(struct tp_channel *channel, bool started)
{
	bool found;

	tp_cancel(channel);
	found = tp_buffers_can_read(channel, started);
	channel->flush_ms =
		found ? TP_FLUSH_FIRST : min(2 * channel->flush_ms, (unsigned int)TP_FLUSH_LAST);
	return found;
}

/* Is there news, or no use in waiting for it? */
static bool tp_may_read(struct tp_channel *channel, bool started)
{
	return tp_buffers_can_read(channel, started) || tp_is_stopped(channel) ||
	       channel->reset_untold;
}

/* Nothing is ready: wait until something is. A call that has `started` has got bytes. */
static int tp_wait_to_read(struct tp_channel *channel, bool started)
{
	long left;
	int error;

	channel->flush_ms = TP_FLUSH_FIRST;
	do {
		error = tp_buffers_ahead(channel);
		if (error)
			return error;
		left = wait_event_interruptible_timeout(channel->wait,
							tp_may_read(channel, started),
							msecs_to_jiffies(channel->flush_ms));
		if (left < 0)
			return left;
	} while (left == 0 && !tp_bring_out(channel, started) && !tp_may_read(channel, started));
	return 0;
}

/* One piece, from what is ready or straight from the card. */
static ssize_t tp_read_piece(struct tp_channel *channel, struct iov_iter *to, bool may_wait,
			     bool *ended)
{
	ssize_t bytes = tp_buffers_read(channel, to, ended);

	if (bytes != -EAGAIN || !may_wait || !tp_is_long(to))
		return bytes;
	/*
	 * What was posted ahead comes first, whenever it came: only when nothing of it is left can
	 * the program's memory be posted.
	 */
	if (!tp_is_idle(channel))
		tp_bring_out(channel, false);
	bytes = tp_buffers_read(channel, to, ended);
	if (bytes != -EAGAIN || tp_is_stopped(channel) || channel->reset_untold)
		return bytes;
	bytes = tp_pages_move(channel, to, false, ended);
	/* Memory that cannot be pinned is copied to. */
	return bytes == -EFAULT ? -EAGAIN : bytes;
}

static ssize_t tp_read(struct tp_channel *channel, struct iov_iter *to, bool may_wait)
{
	ssize_t done = 0;
	ssize_t error = channel->read_error;
	bool ended = false;

	channel->read_error = 0;
	while (error >= 0 && iov_iter_count(to)) {
		const bool was_open = channel->message_open;

		if (tp_is_stopped(channel) || channel->reset_untold) {
			error = tp_why_stopped(channel);
			break;
		}
		error = tp_read_piece(channel, to, may_wait, &ended);
		if (error == -EAGAIN && may_wait) {
			error = tp_wait_to_read(channel, done > 0);
			continue;
		}
		if (error < 0)
			break;
		done += error;
		/* A fault behind these bytes is told of by the next call. */
		if (channel->read_error)
			break;
		channel->message_open = !ended && (was_open || error > 0);
		/*
		 * The end of a message whose bytes were all read before is nothing that a program
		 * could see.
		 */
		if (ended && (done || !was_open))
			break;
		if (signal_pending(current) && iov_iter_count(to)) {
			error = -ERESTARTSYS;
			break;
		}
	}
	if (done && error < 0 && error != -EAGAIN && error != -ERESTARTSYS && error != -EFAULT)
		channel->read_error = error;
	return done ? done : error < 0 ? error : 0;
}

static void tp_flush_later(struct tp_channel *channel)
{
	if (!READ_ONCE(channel->card->gone))
		schedule_delayed_work(&channel->flush, msecs_to_jiffies(channel->flush_ms));
}

static ssize_t tp_read_iter(struct kiocb *call, struct iov_iter *to)
{
	struct tp_channel *channel = call->ki_filp->private_data;
	const bool may_wait = tp_may_wait(call);
	ssize_t done;
	int error;

	if (iov_iter_count(to) == 0)
		return 0;
	error = tp_begin(channel, may_wait);
	if (error)
		return error;
	done = tp_read(channel, to, may_wait);
	if (!tp_is_stopped(channel))
		tp_buffers_ahead(channel);
	/* One who does not wait, and has got all there is, will be told when there is more. */
	if (!may_wait && !tp_buffers_can_read(channel, false)) {
		channel->flush_ms = TP_FLUSH_FIRST;
		tp_flush_later(channel);
	}
	return tp_finish(channel, done);
}

/* For one who polls. */
void tp_channel_flush(struct work_struct *work)
{
	struct tp_channel *channel = container_of(to_delayed_work(work), struct tp_channel, flush);
	bool found;

	if (tp_try_enter(channel->card))
		return;
	/* Before io is taken: see tp_lock(). */
	smp_store_mb(channel->flushing, true);
	if (mutex_trylock(&channel->io)) {
		/* Nobody reads from a queue. */
		found = channel->queue || tp_buffers_can_read(channel, false) ||
			tp_is_stopped(channel);
		if (!found) {
			found = tp_bring_out(channel, false);
			tp_buffers_ahead(channel);
		}
		if (!found)
			tp_flush_later(channel);
		mutex_unlock(&channel->io);
		/* Not before: who must not wait would find it taken, and not come again. */
		if (found)
			wake_up_all(&channel->wait);
	} else {
		tp_flush_later(channel);
	}
	/* Before it is looked who waits. */
	smp_store_mb(channel->flushing, false);
	wake_up_var(&channel->flushing);
	tp_leave(channel->card);
}

/* Both. */

static __poll_t tp_poll(struct file *file, poll_table *table)
{
	struct tp_channel *channel = file->private_data;
	__poll_t news = 0;
	int error;

	poll_wait(file, &channel->wait, table);
	error = tp_try_enter(channel->card);
	/* A reset is a while without news, once it was told; to a queue, when it is over. */
	if (error == -ECONNRESET || error == -EAGAIN)
		return !READ_ONCE(channel->queue) && READ_ONCE(channel->reset_untold) ? EPOLLERR :
											0;
	if (error)
		return EPOLLERR | EPOLLHUP;
	if (tp_is_awaited(channel)) {
		/* Nor is there news before it is made. */
		tp_leave(channel->card);
		return 0;
	}
	if (READ_ONCE(channel->queue)) {
		news = tp_queue_poll(channel);
	} else if (tp_is_h2c(channel)) {
		if (tp_buffers_can_write(channel))
			news |= EPOLLOUT | EPOLLWRNORM;
		if (READ_ONCE(channel->faulted) || READ_ONCE(channel->reset_untold))
			news |= EPOLLERR;
	} else if (tp_buffers_can_read(channel, false) || READ_ONCE(channel->read_error) ||
		   READ_ONCE(channel->reset_untold)) {
		news |= EPOLLIN | EPOLLRDNORM;
	} else {
		/* Somebody looks again: no need to be slow. */
		if (READ_ONCE(channel->flush_ms) > TP_FLUSH_FIRST)
			cancel_delayed_work(&channel->flush);
		WRITE_ONCE(channel->flush_ms, TP_FLUSH_FIRST);
		tp_flush_later(channel);
	}
	/* The next call is told of it, or resets it. */
	if (READ_ONCE(channel->lost))
		news |= EPOLLERR;
	tp_leave(channel->card);
	return news;
}

/*
 * Who wanted to reset a channel is killed. Perhaps somebody was told of it: so there is one, when
 * the channel is used next, of which whoever uses it is told if nobody was. But not if another was
 * quicker, or is going to make one. Who uses a queue was only held up.
 */
static void tp_reset_give_up(struct tp_channel *channel)
{
	bool is_queue;

	spin_lock_irq(&channel->lock);
	is_queue = channel->queue;
	if (atomic_dec_and_test(&channel->resets) && !is_queue && !channel->running &&
	    !channel->resetting && !channel->lost && !channel->card->down) {
		channel->reset_untold |= !channel->reset_told || channel->cut_short;
		WRITE_ONCE(channel->lost, true);
	}
	spin_unlock_irq(&channel->lock);
	if (is_queue)
		tp_unstop(channel);
	else
		wake_up_all(&channel->wait);
}

int tp_reset_begin(struct tp_channel *channel)
{
	int error = tp_enter_settled(channel, true);

	if (error)
		return error;
	/* Whoever waits in the channel leaves it. */
	spin_lock_irq(&channel->lock);
	if (!atomic_read(&channel->resets))
		channel->reset_told = false;
	atomic_inc(&channel->resets);
	spin_unlock_irq(&channel->lock);
	tp_stop(channel);
	if (mutex_lock_killable(&channel->io)) {
		tp_reset_give_up(channel);
		tp_leave(channel->card);
		return -EINTR;
	}
	atomic_dec(&channel->resets);
	return 0;
}

static int tp_reset_file(struct tp_channel *channel)
{
	int error = tp_reset_begin(channel);

	if (error)
		return error;
	error = tp_reset(channel);
	tp_forget_reset(channel);
	/* But for a call that has told only how far it came. */
	if (channel->cut_short && !channel->queue)
		channel->reset_untold = true;
	tp_queue_aware(channel);
	tp_take_fault(channel);
	if (!error && !tp_is_h2c(channel) && !channel->queue)
		error = tp_buffers_ahead(channel);
	/* Another has begun, by another thread or of the card. This one was made. */
	if (error == -ECONNRESET)
		error = 0;
	return tp_finish(channel, error);
}

static int tp_channel_statistics(struct tp_channel *channel, void __user *argument)
{
	const struct tp_channel_statistics *counted = &channel->statistics;
	struct towpath_channel_statistics told;
	int error = tp_take_argument(&told, sizeof(told), argument, 0);

	if (error)
		return error;
	spin_lock_irq(&channel->lock);
	told = (struct towpath_channel_statistics){
		.argsz = told.argsz,
		.submitted = counted->submitted,
		.completed = counted->completed,
		.bytes = counted->bytes,
		.interrupts = counted->interrupts_taken,
		.wrong_cookies = counted->wrong_cookies,
		.wrong_lengths = counted->wrong_lengths,
		.wrong_statuses = counted->wrong_statuses,
		.unexpected = counted->unexpected,
	};
	spin_unlock_irq(&channel->lock);
	return tp_give_argument(argument, &told);
}

static long tp_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct tp_channel *channel = file->private_data;
	void __user *at = (void __user *)argument;

	switch (command) {
	case TOWPATH_IOC_CHANNEL_RESET:
		return tp_reset_file(channel);
	case TOWPATH_IOC_CHANNEL_STATISTICS:
		return tp_channel_statistics(channel, at);
	case TOWPATH_IOC_QUEUE:
		return tp_queue_open(channel, at);
	default:
		/* Whoever makes a queue of it has no queue yet. */
		return READ_ONCE(channel->queue) ? tp_queue_ioctl(file, command, at) : -ENOTTY;
	}
}

static int tp_open(struct inode *inode, struct file *file)
{
	struct tp_channel *channel = file->private_data;
	struct tp_card *card = channel->card;
	int error;

	if (file->f_mode & (tp_is_h2c(channel) ? FMODE_READ : FMODE_WRITE))
		return -EACCES;
	file->f_mode |= FMODE_CAN_ODIRECT;
	error = tp_enter_settled(channel, !(file->f_flags & O_NONBLOCK));
	if (error)
		return error;
	mutex_lock(&card->opening);
	error = channel->is_open ? -EBUSY : 0;
	channel->is_open = true;
	mutex_unlock(&card->opening);
	if (error)
		goto leave;
	mutex_lock(&channel->io);
	if (tp_is_stopped(channel))
		error = tp_reset(channel);
	if (!error)
		error = tp_buffers_allocate(channel);
	if (!error)
		error = tp_pages_allocate(channel);
	tp_take_fault(channel);
	channel->gave_up = false;
	channel->cut_short = false;
	tp_forget_reset(channel);
	channel->read_error = 0;
	channel->flush_ms = TP_FLUSH_FIRST;
	/* With O_DIRECT nothing is posted before somebody asks: a queue finds all there is. */
	if (!error && !tp_is_h2c(channel) && !(file->f_flags & O_DIRECT))
		error = tp_buffers_ahead(channel);
	/* A reset has begun meanwhile: they are posted when somebody reads. */
	if (error == -ECONNRESET)
		error = 0;
	mutex_unlock(&channel->io);
	if (error) {
		mutex_lock(&card->opening);
		channel->is_open = false;
		mutex_unlock(&card->opening);
	} else {
		stream_open(inode, file);
	}
leave:
	tp_leave(card);
	return error;
}

/* At every close(): the last one ends the message, and tells of what went wrong. */
static int tp_flush(struct file *file, fl_owner_t owner)
{
	struct tp_channel *channel = file->private_data;
	int error;

	if (!tp_is_h2c(channel) || READ_ONCE(channel->queue) || file_count(file) > 1 ||
	    fatal_signal_pending(current) || current->flags & PF_EXITING)
		return 0;
	error = tp_begin(channel, true);
	if (error)
		return error;
	error = tp_write_out(channel);
	channel->gave_up = error == -ETIMEDOUT;
	return tp_finish(channel, error);
}

/* Was the program killed that closes the file? */
static bool tp_is_killed(void)
{
	return fatal_signal_pending(current) ||
	       (current->flags & PF_EXITING && current->signal->group_exit_code & 0x7f);
}

/* Leave nothing in flight, and no message half written by a program that was killed. */
static void tp_close_h2c(struct tp_channel *channel)
{
	struct device *device = &channel->card->pci->dev;
	const bool killed = tp_is_killed();

	if (channel->lost) {
		tp_revive(channel);
		return;
	}
	/* Even if it is stopped: the reset of the card that is to come may yet be given up. */
	if (!killed && !channel->gave_up)
		tp_write_out(channel);
	else if (killed && !channel->message_open)
		wait_event_timeout(channel->wait, tp_is_idle(channel) || tp_is_stopped(channel),
				   TP_GRACE);
	if (!channel->message_open && tp_is_idle(channel))
		return;
	dev_info(device, "%s: closed in the middle of a message: resetting it\n", channel->name);
	tp_reset(channel);
}

static int tp_release(struct inode *inode, struct file *file)
{
	struct tp_channel *channel = file->private_data;
	struct tp_card *card = channel->card;

	cancel_delayed_work_sync(&channel->flush);
	if (channel->queue) {
		tp_queue_close(channel);
	} else {
		/* Even killed, and even while the card is about to be reset. */
		down_read(&card->gate);
		mutex_lock(&channel->io);
		if (!card->gone && !card->failed && !card->away) {
			if (tp_is_h2c(channel))
				tp_close_h2c(channel);
			else if (!card->down)
				tp_cancel(channel);
		}
		mutex_unlock(&channel->io);
		up_read(&card->gate);
	}
	mutex_lock(&card->opening);
	channel->is_open = false;
	mutex_unlock(&card->opening);
	return 0;
}

const struct file_operations tp_channel_operations = {
	.owner = THIS_MODULE,
	.open = tp_open,
	.release = tp_release,
	.flush = tp_flush,
	.read_iter = tp_read_iter,
	.write_iter = tp_write_iter,
	.fsync = tp_fsync,
	.poll = tp_poll,
	.unlocked_ioctl = tp_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.uring_cmd = tp_uring_command,
};
