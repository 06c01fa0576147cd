// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Transfers of a queue by io_uring: one for each command on the channel's file.
 *
 * A ring's transfer goes to the card when it is submitted or, if the card's queue has no room,
 * waits for some (queue->waiting): so all reach the card in their order. When it has ended it is on
 * its way (queue->returning) to the task that has submitted it, where its memory is given back, the
 * program told and the command done; or to a kernel thread, if that task is gone. So each command
 * ends there, once, and keeps the file open until then.
 *
 * Nothing is done with the gate held that might take the ring's lock.
 */
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "card.h"
#include "queue.h"

#if TP_HAS_URING

static_assert(sizeof(struct towpath_uring_transfer) == 16);
static_assert(sizeof(struct tp_transfer *) <= sizeof_field(struct io_uring_cmd, pdu));

/* A command's transfer, or NULL: not yet, or not any more; under channel->lock. */
static struct tp_transfer **tp_uring_transfer(struct io_uring_cmd *command)
{
	return (struct tp_transfer **)command->pdu;
}

/* How it came out: bytes or an error. */
static int tp_uring_tell(struct tp_channel *channel, const struct tp_transfer *transfer)
{
	const struct tp_work *work = &transfer->work;
	const struct towpath_completion completion = {
		.bytes = work->moved,
		.status = work->status,
		.offset = work->offset,
		.user = work->user,
	};
	int error = tp_errno(work->status);

	/* A kernel thread has no program's memory. */
	if (transfer->completion &&
	    (!current->mm || copy_to_user(transfer->completion, &completion, sizeof(completion))))
		return -EFAULT;
	if (error && READ_ONCE(channel->card->gone))
		return -ENODEV;
	return error ? error : work->moved;
}

/* In the command's task, or a kernel thread in its place. */
static void tp_uring_return(struct io_uring_cmd *command, unsigned int issue_flags)
{
	struct tp_channel *channel = command->file->private_data;
	struct tp_card *card = channel->card;
	struct tp_transfer *transfer;
	int result;

	/* Even if the card has gone, and the memory was given back with it. */
	down_read(&card->gate);
	spin_lock_irq(&channel->lock);
	transfer = *tp_uring_transfer(command);
	*tp_uring_transfer(command) = NULL;
	list_del(&transfer->link);
	channel->queue->uncollected--;
	spin_unlock_irq(&channel->lock);
	tp_transfer_rest(card, transfer);
	up_read(&card->gate);
	result = tp_uring_tell(channel, transfer);
	kvfree(transfer);
	tp_uring_done(command, result, issue_flags);
}

TP_URING_TASK(tp_uring_task, tp_uring_return)

void tp_uring_ended(struct tp_channel *channel, struct tp_transfer *transfer)
{
	list_add_tail(&transfer->link, &channel->queue->returning);
	io_uring_cmd_complete_in_task(transfer->command, tp_uring_task);
}

/* Those that wait. */

static void tp_uring_leave(struct tp_transfer *transfer)
{
	list_del(&transfer->link);
	transfer->waits = false;
}

void tp_uring_end(struct tp_channel *channel, u8 status)
{
	struct tp_transfer *transfer, *next;

	lockdep_assert_held(&channel->lock);
	if (!channel->queue)
		return;
	list_for_each_entry_safe(transfer, next, &channel->queue->waiting, link) {
		tp_uring_leave(transfer);
		transfer->work.status = status;
		tp_transfer_ended(channel, &transfer->work);
	}
}

void tp_uring_post(struct tp_channel *channel)
{
	struct tp_transfer *transfer, *next;

	lockdep_assert_held(&channel->lock);
	if (!channel->queue)
		return;
	list_for_each_entry_safe(transfer, next, &channel->queue->waiting, link) {
		if (tp_post_all(channel, &transfer->work, transfer->descriptors))
			return;
		tp_uring_leave(transfer);
	}
}

/* Submitting. */

/* Under io. */
static int tp_uring_begin(struct tp_channel *channel, struct io_uring_cmd *command,
			  const struct towpath_transfer *wanted,
			  struct towpath_completion __user *completion)
{
	struct tp_queue *queue = channel->queue;
	struct tp_transfer *transfer;
	int error;

	/* Before memory is pinned for nothing. */
	if (READ_ONCE(queue->uncollected) >= TP_UNCOLLECTED)
		return -ENOBUFS;
	transfer = tp_transfer_create(channel, wanted);
	if (IS_ERR(transfer))
		return PTR_ERR(transfer);
	transfer->work.ended = tp_transfer_ended;
	transfer->command = command;
	transfer->completion = completion;
	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	/* Memory is forbidden first, and what is posted or waits looked through then. */
	if (tp_transfer_names(transfer, NULL))
		error = -ESTALE;
	else if (queue->torn)
		error = queue->torn;
	else if (!list_empty(&queue->waiting))
		error = -EAGAIN;
	else
		error = tp_post_all(channel, &transfer->work, transfer->descriptors);
	if (error == -EAGAIN) {
		transfer->waits = true;
		list_add_tail(&transfer->link, &queue->waiting);
		error = 0;
	}
	if (!error) {
		*tp_uring_transfer(command) = transfer;
		queue->uncollected++;
	}
	spin_unlock_irq(&channel->lock);
	if (error) {
		tp_transfer_rest(channel->card, transfer);
		kvfree(transfer);
	}
	return error;
}

/* A reset is not waited for: whoever submits may have other things to do. */
static int tp_uring_submit(struct tp_channel *channel, struct io_uring_cmd *command,
			   const struct towpath_transfer *wanted,
			   struct towpath_completion __user *completion)
{
	int error = tp_try_enter(channel->card);

	if (error)
		return error == -EAGAIN ? -ECONNRESET : error;
	if (mutex_lock_killable(&channel->io)) {
		tp_leave(channel->card);
		return -EINTR;
	}
	error = tp_revive(channel);
	if (!error && tp_is_stopped(channel))
		error = READ_ONCE(channel->card->failed) ? -EIO : -ECONNRESET;
	spin_lock_irq(&channel->lock);
	channel->queue->has_ring = true;
	if (!error && channel->reset_untold) {
		error = -ECONNRESET;
		tp_queue_tear(channel, error);
		channel->reset_untold = false;
	}
	spin_unlock_irq(&channel->lock);
	if (!error)
		error = tp_uring_begin(channel, command, wanted, completion);
	return tp_queue_end(channel, error);
}

/* Ending. */

/*
 * The program or the ring of a command goes: io_uring wants it to end, and asks until it has. That
 * must not wait.
 */
static void tp_uring_cancel(struct io_uring_cmd *command)
{
	struct tp_channel *channel = command->file->private_data;
	struct tp_transfer *transfer;
	unsigned long flags;

	spin_lock_irqsave(&channel->lock, flags);
	transfer = *tp_uring_transfer(command);
	if (transfer && (transfer->waits || !list_empty(&transfer->work.link))) {
		struct tp_queue *queue = channel->queue;

		/* What waits was to follow it. */
		tp_queue_tear(channel, -ECANCELED);
		tp_uring_end(channel, TP_STATUS_CANCELLED);
		if (!list_empty(&channel->posted) && !queue->cancelling)
			queue->cancelling = schedule_work(&queue->cancel);
	}
	spin_unlock_irqrestore(&channel->lock, flags);
}

/* Of one that may no longer be its channel's: who closes the file waits for the work at last. */
static bool tp_uring_is_cancelling(struct tp_queue *queue)
{
	bool is;

	spin_lock_irq(&queue->channel->lock);
	is = queue->cancelling;
	spin_unlock_irq(&queue->channel->lock);
	return is;
}

static void tp_uring_cancel_all(struct work_struct *work)
{
	struct tp_queue *queue = container_of(work, struct tp_queue, cancel);
	struct tp_channel *channel = queue->channel;
	const int error = tp_enter(channel->card);

	/* With any other error, whoever takes the card away or resets it ends everything. */
	if (error == -EIO)
		tp_queue_give_up(channel, true);
	if (!error) {
		mutex_lock(&channel->io);
		if (channel->lost) {
			tp_reset(channel);
		} else if (tp_uring_is_cancelling(queue) && !tp_is_stopped(channel)) {
			spin_lock_irq(&channel->lock);
			if (!list_empty(&channel->posted) || !list_empty(&queue->waiting))
				tp_queue_tear(channel, -ECANCELED);
			spin_unlock_irq(&channel->lock);
			tp_cancel(channel);
		}
		tp_queue_end(channel, 0);
	}
	spin_lock_irq(&channel->lock);
	queue->cancelling = false;
	spin_unlock_irq(&channel->lock);
}

void tp_uring_cut_off(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	if (channel->queue)
		schedule_work(&channel->queue->cancel);
	spin_unlock_irq(&channel->lock);
}

void tp_uring_init(struct tp_queue *queue)
{
	INIT_WORK(&queue->cancel, tp_uring_cancel_all);
}

void tp_uring_exit(struct tp_queue *queue)
{
	cancel_work_sync(&queue->cancel);
}

int tp_uring_command(struct io_uring_cmd *command, unsigned int issue_flags)
{
	struct tp_channel *channel = command->file->private_data;
	const struct towpath_uring_transfer *argument;
	struct towpath_completion __user *completion;
	struct towpath_transfer wanted;
	int error;

	if (issue_flags & IO_URING_F_CANCEL) {
		tp_uring_cancel(command);
		return 0;
	}
	if (command->cmd_op != TOWPATH_URING_TRANSFER || !READ_ONCE(channel->queue))
		return -ENOTTY;
	/* Of a ring that goes, some kernels before 6.13 begin commands in a thread of their own. */
	if (!current->mm)
		return -ECANCELED;
	if (!tp_uring_serves(command))
		return -EOPNOTSUPP;
	if (command->flags & IORING_URING_CMD_MASK)
		return -EINVAL;
	argument = (const void *)command->sqe->cmd;
	completion = u64_to_user_ptr(READ_ONCE(argument->completion));
	if (copy_from_user(&wanted, u64_to_user_ptr(READ_ONCE(argument->transfer)), sizeof(wanted)))
		return -EFAULT;
	*tp_uring_transfer(command) = NULL;
	/* From here on it ends by being done, for a result alone would leave the mark. */
	io_uring_cmd_mark_cancelable(command, issue_flags);
	error = tp_uring_submit(channel, command, &wanted, completion);
	if (error)
		tp_uring_done(command, error, issue_flags);
	return -EIOCBQUEUED;
}

#endif
