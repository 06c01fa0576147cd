// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/eventfd.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "arguments.h"
#include "queue.h"

#define TP_LEVEL_FLAGS (TOWPATH_LEVEL_WAIT | TOWPATH_LEVEL_EVENT | TOWPATH_LEVEL_NEVER)

/* The program goes on after all that was reported to it. */
static void tp_go_on(struct tp_queue *queue)
{
	queue->resets = queue->client.channel->seen;
	queue->cancels = queue->client.channel->cancels;
}

/*
 * When transfers to the card were ended, and not by their program, the message that they belong
 * to was cut short, and no transfer may go on with it unawares: first they must be collected. What
 * a program with rings has seen only the program knows: there, a cancel or a reset must come first.
 */
int tp_queue_refuses(struct tp_queue *queue)
{
	const struct tp_channel *channel = queue->client.channel;

	lockdep_assert_held(&channel->lock);
	if (!queue->in_flight && !queue->cut_short && !queue->has_ring && !tp_was_reset(channel))
		tp_go_on(queue);
	if (!tp_is_h2c(channel))
		return 0;
	return queue->resets != channel->resets	  ? -ECONNRESET :
	       queue->cancels != channel->cancels ? -ECANCELED :
						    0;
}

/* What the channel calls. */

static struct tp_queue *tp_queue(struct tp_client *client)
{
	return container_of(client, struct tp_queue, client);
}

static bool tp_queue_started(struct tp_client *client, const struct tp_entry *entry)
{
	struct tp_queue *queue = tp_queue(client);

	if (!queue->announces || queue->start_count == ARRAY_SIZE(queue->starts))
		return false;
	queue->starts[queue->start_count++] = (struct towpath_message_start){
		.length = entry->bytes | (u64)entry->cookie << 32,
		.offset = entry->offset,
		.user = entry->user,
	};
	return true;
}

/* The first message that was announced has ended. False: there is none. */
static bool tp_pop_start(struct tp_queue *queue)
{
	if (!queue->announces)
		return true;
	if (!queue->start_count)
		return false;
	queue->start_count--;
	queue->start_reported = false;
	memmove(queue->starts, queue->starts + 1, queue->start_count * sizeof(*queue->starts));
	return true;
}

static bool tp_is_cut_short(const struct tp_transfer *transfer)
{
	return transfer->work.status == TP_STATUS_CANCELLED ||
	       transfer->work.status == TP_STATUS_RESET;
}

void tp_queue_ended(struct tp_queue *queue, struct tp_transfer *transfer)
{
	struct tp_channel *channel = queue->client.channel;

	if (TP_HAS_URING && transfer->command) {
		tp_uring_ended(queue, transfer);
	} else {
		list_add_tail(&transfer->link, &queue->done);
		queue->done_count++;
		queue->in_flight--;
		queue->cut_short += tp_is_cut_short(transfer);
	}
	/* The status reports the reset. */
	if (transfer->work.status == TP_STATUS_RESET)
		channel->seen = channel->resets;
}

static bool tp_queue_work_ended(struct tp_client *client, struct tp_work *work)
{
	const bool fits =
		work->status != TP_STATUS_END_OF_MESSAGE || tp_pop_start(tp_queue(client));

	tp_queue_ended(tp_queue(client), container_of(work, struct tp_transfer, work));
	return fits;
}

static void tp_queue_was_reset(struct tp_client *client, bool own)
{
	struct tp_queue *queue = tp_queue(client);

	queue->start_count = 0;
	queue->start_reported = false;
	list_del_init(&queue->level.link);
	if (own)
		tp_go_on(queue);
}

static void tp_queue_news(struct tp_client *client)
{
	struct tp_queue *queue = tp_queue(client);

	if (TP_HAS_URING)
		tp_uring_news(queue);
	if (queue->event)
		tp_eventfd_signal(queue->event);
}

static void tp_queue_flush(struct tp_client *client, u8 status)
{
	if (TP_HAS_URING)
		tp_uring_flush(tp_queue(client), status);
}

static bool tp_queue_names(struct tp_client *client, const struct tp_memory *memory)
{
	const struct tp_transfer *transfer;

	list_for_each_entry(transfer, &client->channel->posted, work.link)
		if (tp_transfer_names(transfer, memory))
			return true;
	list_for_each_entry(transfer, &tp_queue(client)->waiting, link)
		if (tp_transfer_names(transfer, memory))
			return true;
	return false;
}

static const struct tp_client_operations tp_queue_operations = {
	.ended = tp_queue_work_ended,
	.started = tp_queue_started,
	.reset = tp_queue_was_reset,
	.news = tp_queue_news,
	.flush = tp_queue_flush,
	.names = tp_queue_names,
};

struct tp_queue *tp_queue_of(const struct tp_channel *channel)
{
	struct tp_client *client = READ_ONCE(channel->client);

	return client->operations == &tp_queue_operations ? tp_queue(client) : NULL;
}

/* Coming in. */

void tp_queue_give_up(struct tp_channel *channel, bool may_wait)
{
	struct rw_semaphore *gate = &channel->card->gate;

	/* Else by a later call, or when the file is closed. */
	if (may_wait ? down_write_killable(gate) : !down_write_trylock(gate))
		return;
	if (tp_card_state(channel->card) != TP_CARD_GONE)
		tp_empty(channel, false);
	tp_queue_release(channel);
	up_write(gate);
}

int tp_queue_begin(struct tp_channel *channel, bool may_wait)
{
	struct tp_card *card = channel->card;
	int error;

	for (;;) {
		error = may_wait ? tp_enter(card) : tp_try_enter(card);
		if (error == -EIO)
			tp_queue_give_up(channel, may_wait);
		if (error && error != -ECONNRESET)
			return error;
		if (!error) {
			/* Other threads submit while one waits: that is no reason for EAGAIN. */
			if (mutex_lock_interruptible(&channel->io)) {
				tp_leave(card);
				return -EINTR;
			}
			error = tp_revive(channel);
			if (!error && !tp_is_stopped(channel))
				return 0;
			error = tp_unlock_leave(channel, error);
			if (error == -ENOLINK || error == -ENODEV)
				return error;
		}
		error = tp_await_settled(channel, may_wait);
		if (error)
			return error == -ERESTARTSYS ? -EINTR : error;
	}
}

/* Waiting. */

/*
 * Are `wanted` transfers done, or 0: has a message begun? More than are in flight would never be.
 */
static bool tp_is_there(struct tp_queue *queue, u32 wanted)
{
	if (!wanted)
		return queue->start_count;
	return queue->done_count >= wanted || !queue->in_flight;
}

bool tp_must_leave(const struct tp_channel *channel)
{
	return tp_card_error(channel->card) || tp_needs_reset(channel);
}

/*
 * Within the card, and without io: wait, no longer than `timeout` nanoseconds in which no transfer
 * ends. EAGAIN: leave the card, and begin again.
 */
static int tp_queue_wait(struct tp_queue *queue, u32 wanted, s64 timeout)
{
	const u64 limit = timeout < 0 ? U64_MAX : nsecs_to_jiffies64(timeout) + 1;
	struct tp_channel *channel = queue->client.channel;
	u64 completed, seen = tp_locked(channel, channel->statistics.completed);
	unsigned int looks = 0;
	u64 waited = 0;

	if (tp_reaped(channel, tp_is_there(queue, wanted)))
		return 0;
	if (timeout == 0)
		return -ETIMEDOUT;
	while (waited < limit) {
		const long slice = min_t(u64, TP_LOOK, limit - waited);
		const long left =
			wait_event_interruptible_timeout(channel->wait,
							 tp_reaped(channel,
								   tp_is_there(queue, wanted)) ||
								 tp_must_leave(channel),
							 slice);

		if (left < 0)
			return -EINTR;
		if (tp_reaped(channel, tp_is_there(queue, wanted)))
			return 0;
		if (tp_must_leave(channel))
			return -EAGAIN;
		if (left == 0 && tp_is_out_of_reach(channel->card, &looks))
			return -ENOLINK;
		completed = tp_locked(channel, channel->statistics.completed);
		waited = completed == seen ? waited + slice - left : 0;
		seen = completed;
	}
	return -ETIMEDOUT;
}

/* Submitting. */

int tp_queue_submit(struct tp_queue *queue, const struct towpath_transfer *wanted,
		    struct io_uring_cmd *command, struct towpath_completion __user *completion)
{
	struct tp_channel *channel = queue->client.channel;
	struct tp_transfer *transfer;
	int error;

	/* Before memory is pinned for nothing. */
	if (READ_ONCE(queue->uncollected) >= TP_UNCOLLECTED)
		return -ENOBUFS;
	transfer = tp_transfer_create(channel, queue->client.owner, wanted);
	if (IS_ERR(transfer))
		return PTR_ERR(transfer);
	transfer->command = command;
	transfer->completion = completion;
	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	/* An exporter forbids its memory first, and then ends what is posted or waits. */
	error = tp_transfer_names(transfer, NULL) ? -ESTALE : tp_queue_refuses(queue);
	/* Those that wait are first. */
	if (!error)
		error = list_empty(&queue->waiting) ?
				tp_post(channel, &transfer->work, transfer->descriptors) :
				-EAGAIN;
	if (TP_HAS_URING && command && (!error || error == -EAGAIN)) {
		tp_uring_submitted(queue, transfer, !error);
		error = 0;
	} else if (!error) {
		transfer->ticket = queue->next_ticket++;
		queue->in_flight++;
	}
	if (!error)
		queue->uncollected++;
	spin_unlock_irq(&channel->lock);
	if (error)
		tp_transfer_free(channel->card, transfer);
	return error;
}

/* Before memory is pinned for nothing. */
static bool tp_has_room(struct tp_queue *queue)
{
	struct tp_channel *channel = queue->client.channel;

	return tp_reaped(channel, channel->engine.used < channel->engine.depth &&
					  list_empty(&queue->waiting));
}

static int tp_submit(struct tp_queue *queue, struct towpath_exchange *exchange)
{
	const struct towpath_transfer __user *from = u64_to_user_ptr(exchange->transfer);
	struct towpath_transfer wanted;
	int error = 0;

	exchange->ticket = queue->next_ticket;
	while (exchange->submitted < exchange->transfers && !error) {
		if (!tp_has_room(queue))
			error = -EAGAIN;
		else if (copy_from_user(&wanted, from + exchange->submitted, sizeof(wanted)))
			error = -EFAULT;
		else
			error = tp_queue_submit(queue, &wanted, NULL, NULL);
		if (!error)
			exchange->submitted++;
		cond_resched();
	}
	return exchange->submitted ? 0 : error;
}

/* Collecting. */

static struct tp_transfer *tp_take_done(struct tp_queue *queue)
{
	struct tp_channel *channel = queue->client.channel;
	struct tp_transfer *transfer;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	transfer = list_first_entry_or_null(&queue->done, struct tp_transfer, link);
	if (transfer) {
		list_del(&transfer->link);
		queue->done_count--;
	}
	spin_unlock_irq(&channel->lock);
	return transfer;
}

static int tp_collect(struct tp_queue *queue, struct towpath_exchange *exchange)
{
	struct tp_channel *channel = queue->client.channel;
	struct towpath_completion __user *to = u64_to_user_ptr(exchange->completion);
	struct towpath_completion completion;
	struct tp_transfer *transfer;

	while (exchange->collected < exchange->completions) {
		transfer = tp_take_done(queue);
		if (!transfer)
			break;
		/* First the memory: what the card wrote may have to be copied there. */
		tp_transfer_release(channel->card, transfer);
		tp_transfer_report(transfer, &completion);
		if (copy_to_user(to + exchange->collected, &completion, sizeof(completion))) {
			spin_lock_irq(&channel->lock);
			list_add(&transfer->link, &queue->done);
			queue->done_count++;
			spin_unlock_irq(&channel->lock);
			return -EFAULT;
		}
		spin_lock_irq(&channel->lock);
		queue->uncollected--;
		queue->cut_short -= tp_is_cut_short(transfer);
		spin_unlock_irq(&channel->lock);
		tp_transfer_free(channel->card, transfer);
		exchange->collected++;
	}
	return 0;
}

/*
 * Collect until there are enough, or none is left to wait for. The caller holds io at the start
 * and, if `*inside`, at the end.
 */
static int tp_collect_enough(struct tp_queue *queue, struct towpath_exchange *exchange,
			     bool may_wait, bool *inside)
{
	struct tp_channel *channel = queue->client.channel;
	int waited = 0;

	for (;;) {
		const bool is_last = tp_reaped(channel, !queue->in_flight);
		int error = tp_collect(queue, exchange);

		if (error || exchange->collected >= exchange->wanted || is_last)
			return error;
		if (waited && waited != -EAGAIN)
			return waited;
		mutex_unlock(&channel->io);
		waited = tp_queue_wait(queue, exchange->wanted - exchange->collected,
				       exchange->timeout_ns);
		tp_leave(channel->card);
		error = tp_queue_begin(channel, may_wait);
		*inside = !error;
		if (error)
			return error;
	}
}

static int tp_exchange(struct file *file, void *argument)
{
	struct tp_channel *channel = file->private_data;
	struct tp_queue *queue = tp_queue_of(channel);
	struct towpath_exchange *exchange = argument;
	const bool may_wait = !(file->f_flags & O_NONBLOCK);
	bool inside, again;
	int error;

	if (exchange->reserved || exchange->wanted > exchange->completions)
		return -EINVAL;
	exchange->submitted = 0;
	exchange->collected = 0;
	do {
		error = tp_queue_begin(channel, may_wait);
		inside = !error;
		if (!error)
			error = tp_take_reset(channel);
		again = false;
		if (!error) {
			error = tp_submit(queue, exchange);
			/* A reset that the program asked for has begun: once more after it. */
			again = error == -ECONNRESET && tp_is_stopped(channel);
		}
		if (again)
			tp_unlock_leave(channel, 0);
	} while (again);
	if (!error)
		error = tp_collect_enough(queue, exchange, may_wait, &inside);
	else if (inside && (error == -ECONNRESET || error == -ECANCELED))
		/* Which of them were reset, their statuses report. */
		tp_collect(queue, exchange);
	return inside ? tp_unlock_leave(channel, error) : error;
}

static int tp_message_start(struct file *file, void *argument)
{
	struct tp_channel *channel = file->private_data;
	struct tp_queue *queue = tp_queue_of(channel);
	struct towpath_message_start *start = argument;
	bool found;
	int error;

	if (!queue->announces)
		return -EINVAL;
	do {
		error = tp_queue_begin(channel, !(file->f_flags & O_NONBLOCK));
		if (error)
			return error;
		mutex_unlock(&channel->io);
		error = tp_queue_wait(queue, 0, start->timeout_ns);
		tp_leave(channel->card);
		spin_lock_irq(&channel->lock);
		found = !error && queue->start_count;
		if (found) {
			start->length = queue->starts[0].length;
			start->offset = queue->starts[0].offset;
			start->user = queue->starts[0].user;
			queue->start_reported = true;
		}
		spin_unlock_irq(&channel->lock);
	} while ((!error && !found) || error == -EAGAIN);
	return error;
}

static int tp_moderate(struct file *file, void *argument)
{
	struct tp_channel *channel = file->private_data;
	const struct towpath_moderation *wanted = argument;
	int error;

	if (wanted->reserved)
		return -EINVAL;
	error = tp_queue_begin(channel, !(file->f_flags & O_NONBLOCK));
	if (error)
		return error;
	spin_lock_irq(&channel->lock);
	channel->moderation = wanted->entries << TP_CHANNEL_MODERATION_ENTRIES_LSB |
			      wanted->time << TP_CHANNEL_MODERATION_TIME_LSB;
	writel(channel->moderation, channel->engine.privileged + TP_CHANNEL_MODERATION_OFFSET);
	spin_unlock_irq(&channel->lock);
	return tp_unlock_leave(channel, 0);
}

static int tp_queue_cancel(struct file *file, void *argument)
{
	struct tp_channel *channel = file->private_data;
	int error = tp_queue_begin(channel, !(file->f_flags & O_NONBLOCK));

	if (error)
		return error;
	tp_cancel(channel);
	spin_lock_irq(&channel->lock);
	tp_go_on(tp_queue_of(channel));
	spin_unlock_irq(&channel->lock);
	/* Perhaps it became a reset, and that did not end either. */
	error = tp_card_error(channel->card);
	return tp_unlock_leave(channel, error == -EIO ? error : 0);
}

/* Command, known flags, within the card, given back, function. */
static const struct tp_call tp_queue_calls[] = {
	{ TOWPATH_IOC_EXCHANGE, 0, false, true, tp_exchange },
	{ TOWPATH_IOC_MESSAGE_START, 0, false, true, tp_message_start },
	{ TOWPATH_IOC_CANCEL, 0, false, false, tp_queue_cancel },
	{ TOWPATH_IOC_MODERATION, 0, false, false, tp_moderate },
	{ TOWPATH_IOC_FILL_LEVEL, TP_LEVEL_FLAGS, false, true, tp_fill_level },
};

long tp_queue_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct tp_channel *channel = file->private_data;

	return tp_make_call(tp_queue_calls, ARRAY_SIZE(tp_queue_calls), channel->card, file,
			    command, argument);
}

/* Beginning and end of a queue. */

void tp_queue_free(struct tp_queue *queue)
{
	if (queue->event)
		eventfd_ctx_put(queue->event);
	if (queue->client.owner)
		tp_owner_put(queue->client.owner);
	kfree(queue);
}

static int tp_queue_fill(struct tp_queue *queue, const struct towpath_queue *wanted)
{
	struct tp_owner *owner = NULL;
	struct eventfd_ctx *event = NULL;

	if (wanted->control != -1)
		owner = tp_owner_of(queue->client.channel->card, wanted->control);
	if (IS_ERR(owner))
		return PTR_ERR(owner);
	queue->client.owner = owner;
	if (wanted->eventfd != -1)
		event = eventfd_ctx_fdget(wanted->eventfd);
	if (IS_ERR(event))
		return PTR_ERR(event);
	queue->event = event;
	return 0;
}

struct tp_queue *tp_queue_create(struct tp_channel *channel, const struct towpath_queue *wanted)
{
	struct tp_queue *queue;
	int error;

	if (wanted->flags && tp_is_h2c(channel))
		return ERR_PTR(-EINVAL);
	if (tp_queue_of(channel))
		return ERR_PTR(-EBUSY);
	queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	if (!queue)
		return ERR_PTR(-ENOMEM);
	queue->client.operations = &tp_queue_operations;
	queue->client.channel = channel;
	queue->announces = wanted->flags & TOWPATH_QUEUE_ANNOUNCE;
	queue->client.announce = queue->announces;
	INIT_LIST_HEAD(&queue->done);
	INIT_LIST_HEAD(&queue->waiting);
	INIT_LIST_HEAD(&queue->returning);
	INIT_LIST_HEAD(&queue->level.link);
	if (TP_HAS_URING)
		tp_uring_init(queue);
	error = tp_queue_fill(queue, wanted);
	if (!error)
		return queue;
	tp_queue_free(queue);
	return ERR_PTR(error);
}

void tp_queue_attach(struct tp_channel *channel, struct tp_queue *queue)
{
	lockdep_assert_held(&channel->lock);
	WRITE_ONCE(channel->client, &queue->client);
	tp_go_on(queue);
	if (queue->announces && tp_is_running(channel)) {
		tp_engine_announce(&channel->engine);
		tp_arm(channel);
	}
}

void tp_queue_close(struct tp_channel *channel)
{
	struct tp_queue *queue = tp_queue_of(channel);
	struct tp_card *card = channel->card;
	struct tp_transfer *transfer, *next;

	/* Even if the card has failed: the program's memory must be released. */
	down_read(&card->gate);
	mutex_lock(&channel->io);
	spin_lock_irq(&channel->lock);
	queue->client.announce = false;
	list_del_init(&queue->level.link);
	channel->moderation = 0;
	spin_unlock_irq(&channel->lock);
	if (channel->state != TP_CHANNEL_CLOSED)
		tp_reset(channel, true);
	list_for_each_entry_safe(transfer, next, &queue->done, link)
		tp_transfer_free(card, transfer);
	tp_locked(channel, channel->client = channel->file);
	mutex_unlock(&channel->io);
	up_read(&card->gate);
	if (TP_HAS_URING)
		tp_uring_exit(queue);
	tp_queue_free(queue);
}

void tp_queue_release(struct tp_channel *channel)
{
	struct tp_queue *queue = tp_queue_of(channel);
	struct tp_transfer *transfer;

	if (!queue)
		return;
	list_for_each_entry(transfer, &queue->done, link)
		tp_transfer_release(channel->card, transfer);
	list_for_each_entry(transfer, &queue->returning, link)
		tp_transfer_release(channel->card, transfer);
}

__poll_t tp_queue_poll(struct tp_channel *channel)
{
	const u16 depth = channel->engine.depth;
	const u16 wanted = min_t(u16, depth, TP_PREFIXES + 1);
	struct tp_queue *queue = tp_queue_of(channel);
	__poll_t news = 0;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	if (queue->done_count || queue->start_count > queue->start_reported ||
	    tp_was_reset(channel))
		news |= EPOLLIN | EPOLLRDNORM;
	if (channel->engine.used + wanted <= depth && list_empty(&queue->waiting))
		news |= EPOLLOUT | EPOLLWRNORM;
	spin_unlock_irq(&channel->lock);
	return news;
}
