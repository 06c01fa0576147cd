// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Transfers of a queue by io_uring: one for each command on the channel's file.
 *
 * A ring's transfer is posted when it is submitted or, if the card's queue has no room, waits for
 * some (queue->waiting): so all reach the card in their order. When it has ended it returns
 * (queue->returning) to the task that has submitted it, where its memory is released and the
 * command completed; or to a kernel thread, if that task is gone. So each command ends there, once,
 * and keeps the file open until then.
 *
 * Nothing that might take the ring's lock is done with the gate held.
 */
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "queue.h"

#if TP_HAS_URING

static_assert(sizeof(struct tp_transfer *) <= sizeof_field(struct io_uring_cmd, pdu));

/* A command's transfer, or NULL: not yet, or not any more; under channel->lock. */
static struct tp_transfer **tp_uring_transfer(struct io_uring_cmd *command)
{
	return (struct tp_transfer **)command->pdu;
}

/* The command's result: bytes or an error. */
static int tp_uring_result(struct tp_channel *channel, const struct tp_transfer *transfer)
{
	const struct tp_work *work = &transfer->work;
	struct towpath_completion completion;
	int error = tp_errno(work->status);

	tp_transfer_report(transfer, &completion);
	/* A kernel thread has no program's memory. */
	if (transfer->completion &&
	    (!current->mm || copy_to_user(transfer->completion, &completion, sizeof(completion))))
		return -EFAULT;
	if (error && tp_card_state(channel->card) == TP_CARD_GONE)
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

	/* Even if the card has gone, and the memory was released with it. */
	down_read(&card->gate);
	spin_lock_irq(&channel->lock);
	transfer = *tp_uring_transfer(command);
	*tp_uring_transfer(command) = NULL;
	list_del(&transfer->link);
	tp_queue_of(channel)->uncollected--;
	spin_unlock_irq(&channel->lock);
	tp_transfer_release(card, transfer);
	up_read(&card->gate);
	result = tp_uring_result(channel, transfer);
	kvfree(transfer);
	tp_uring_done(command, result, issue_flags);
}

TP_URING_TASK(tp_uring_task, tp_uring_return)

void tp_uring_ended(struct tp_queue *queue, struct tp_transfer *transfer)
{
	list_add_tail(&transfer->link, &queue->returning);
	io_uring_cmd_complete_in_task(transfer->command, tp_uring_task);
}

/* Those that wait. */

static void tp_uring_leave(struct tp_transfer *transfer)
{
	list_del(&transfer->link);
	transfer->waits = false;
}

void tp_uring_flush(struct tp_queue *queue, u8 status)
{
	struct tp_transfer *transfer, *next;

	list_for_each_entry_safe(transfer, next, &queue->waiting, link) {
		tp_uring_leave(transfer);
		transfer->work.status = status;
		tp_queue_ended(queue, transfer);
	}
}

void tp_uring_news(struct tp_queue *queue)
{
	struct tp_channel *channel = queue->client.channel;
	struct tp_transfer *transfer, *next;

	list_for_each_entry_safe(transfer, next, &queue->waiting, link) {
		if (tp_post(channel, &transfer->work, transfer->descriptors))
			break;
		tp_uring_leave(transfer);
	}
	/* No call may come that would end them. */
	if (queue->has_ring &&
	    (tp_needs_reset(channel) || tp_card_state(channel->card) == TP_CARD_FAILED) &&
	    !(list_empty(&channel->posted) && list_empty(&queue->waiting)))
		schedule_work(&queue->cancel);
}

/* Submitting. */

void tp_uring_submitted(struct tp_queue *queue, struct tp_transfer *transfer, bool posted)
{
	transfer->waits = !posted;
	if (!posted)
		list_add_tail(&transfer->link, &queue->waiting);
	*tp_uring_transfer(transfer->command) = transfer;
}

/* A reset is not waited for: the task may have other things to do. */
static int tp_uring_submit(struct tp_queue *queue, struct io_uring_cmd *command,
			   const struct towpath_transfer *wanted,
			   struct towpath_completion __user *completion)
{
	struct tp_channel *channel = queue->client.channel;
	int error = tp_try_enter(channel->card);

	if (error)
		return error == -EAGAIN ? -ECONNRESET : error;
	if (mutex_lock_killable(&channel->io)) {
		tp_leave(channel->card);
		return -EINTR;
	}
	error = tp_revive(channel);
	if (!error && tp_is_stopped(channel))
		error = tp_stopped_error(channel);
	spin_lock_irq(&channel->lock);
	/* First go on after what other calls have reported, before there was a ring. */
	tp_queue_refuses(queue);
	queue->has_ring = true;
	spin_unlock_irq(&channel->lock);
	if (!error)
		error = tp_take_reset(channel);
	if (!error)
		error = tp_queue_submit(queue, wanted, command, completion);
	return tp_unlock_leave(channel, error);
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
		struct tp_queue *queue = tp_queue_of(channel);

		/* What waits was to follow it. */
		channel->cancels++;
		tp_uring_flush(queue, TP_STATUS_CANCELLED);
		if (!list_empty(&channel->posted) && !queue->cancelling)
			queue->cancelling = schedule_work(&queue->cancel);
	}
	spin_unlock_irqrestore(&channel->lock, flags);
}

/* Under io: end what no call will end. */
static void tp_uring_end_all(struct tp_queue *queue)
{
	struct tp_channel *channel = queue->client.channel;

	/* The file may be closed meanwhile, which ends everything. */
	if (tp_queue_of(channel) != queue)
		return;
	if (tp_needs_reset(channel)) {
		tp_reset(channel, false);
	} else if (READ_ONCE(queue->cancelling) && !tp_is_stopped(channel)) {
		spin_lock_irq(&channel->lock);
		if (!list_empty(&channel->posted) || !list_empty(&queue->waiting))
			channel->cancels++;
		spin_unlock_irq(&channel->lock);
		tp_cancel(channel);
	}
}

static void tp_uring_work(struct work_struct *work)
{
	struct tp_queue *queue = container_of(work, struct tp_queue, cancel);
	struct tp_channel *channel = queue->client.channel;
	const int error = tp_enter(channel->card);

	/* With any other error, the removal or the reset of the card ends everything. */
	if (error == -EIO)
		tp_queue_give_up(channel, true);
	if (!error) {
		mutex_lock(&channel->io);
		tp_uring_end_all(queue);
		tp_unlock_leave(channel, 0);
	}
	tp_locked(channel, queue->cancelling = false);
}

void tp_uring_init(struct tp_queue *queue)
{
	INIT_WORK(&queue->cancel, tp_uring_work);
}

void tp_uring_exit(struct tp_queue *queue)
{
	cancel_work_sync(&queue->cancel);
}

int tp_uring_command(struct io_uring_cmd *command, unsigned int issue_flags)
{
	struct tp_queue *queue = tp_queue_of(command->file->private_data);
	const struct towpath_uring_transfer *argument;
	struct towpath_completion __user *completion;
	struct towpath_transfer wanted;
	int error;

	if (issue_flags & IO_URING_F_CANCEL) {
		tp_uring_cancel(command);
		return 0;
	}
	if (command->cmd_op != TOWPATH_URING_TRANSFER || !queue)
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
	error = tp_uring_submit(queue, command, &wanted, completion);
	if (error)
		tp_uring_done(command, error, issue_flags);
	return -EIOCBQUEUED;
}

#endif
