// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A channel's file as a queue of transfers (TOWPATH_IOC_QUEUE).
 *
 * Programs submit transfers and collect how they ended, many by one call. Unlike a file's read()
 * and write() nothing waits while it holds channel->io, so that one thread may submit while
 * another waits. A transfer is in flight (channel->posted), then done (queue->done), and gone when
 * it is collected; its memory is given back then. Resets that a program asks for itself hold its
 * calls up and nothing else; one that comes from elsewhere is told once, if no transfer's status
 * tells of it. Transfers by io_uring (uring.c) share the channel with these, and are told of there.
 */
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "card.h"
#include "queue.h"

static_assert(sizeof(struct towpath_queue) == 16);
static_assert(sizeof(struct towpath_completion) == 24);
static_assert(sizeof(struct towpath_exchange) == 64);
static_assert(sizeof(struct towpath_message_start) == 32);
static_assert(sizeof(struct towpath_moderation) == 16);

/* Completions copied at a time. */
#define TP_BATCH 16

/* What the interrupt does. */

bool tp_queue_announces(const struct tp_channel *channel)
{
	return channel->queue && channel->queue->announce;
}

bool tp_queue_is_of(const struct tp_channel *channel, const struct tp_owner *owner)
{
	return owner && channel->queue && channel->queue->owner == owner;
}

void tp_queue_news(struct tp_channel *channel)
{
	lockdep_assert_held(&channel->lock);
	if (channel->queue && channel->queue->event)
		tp_eventfd_signal(channel->queue->event);
}

bool tp_queue_started(struct tp_channel *channel, const struct tp_entry *entry)
{
	struct tp_queue *queue = channel->queue;

	lockdep_assert_held(&channel->lock);
	if (!tp_queue_announces(channel) || queue->start_count == ARRAY_SIZE(queue->starts))
		return false;
	queue->starts[queue->start_count++] = (struct towpath_message_start){
		.length = entry->bytes | (u64)entry->cookie << 32,
		.offset = entry->offset,
		.user = entry->user,
	};
	return true;
}

bool tp_queue_message_ended(struct tp_channel *channel)
{
	struct tp_queue *queue = channel->queue;

	lockdep_assert_held(&channel->lock);
	if (!tp_queue_announces(channel))
		return true;
	if (!queue->start_count)
		return false;
	queue->start_count--;
	queue->start_told = false;
	memmove(queue->starts, queue->starts + 1, queue->start_count * sizeof(*queue->starts));
	return true;
}

void tp_queue_tear(struct tp_channel *channel, int error)
{
	struct tp_queue *queue = channel->queue;

	lockdep_assert_held(&channel->lock);
	/* A message that was open is not after a reset. */
	if (queue && tp_is_h2c(channel) && queue->torn != -ECONNRESET &&
	    (queue->has_ring || queue->in_flight || queue->torn))
		queue->torn = error;
}

void tp_queue_aware(struct tp_channel *channel)
{
	spin_lock_irq(&channel->lock);
	if (channel->queue)
		channel->queue->torn = 0;
	spin_unlock_irq(&channel->lock);
}

void tp_queue_restarted(struct tp_channel *channel)
{
	lockdep_assert_held(&channel->lock);
	if (!channel->queue)
		return;
	channel->queue->start_count = 0;
	channel->queue->start_told = false;
	if (channel->queue->moderation)
		writel(channel->queue->moderation,
		       channel->engine.privileged + TP_CHANNEL_MODERATION_OFFSET);
}

void tp_transfer_ended(struct tp_channel *channel, struct tp_work *work)
{
	struct tp_transfer *transfer = container_of(work, struct tp_transfer, work);
	struct tp_queue *queue = channel->queue;

	if (transfer->command) {
		tp_uring_ended(channel, transfer);
	} else {
		list_add_tail(&transfer->link, &queue->done);
		queue->done_count++;
		queue->in_flight--;
	}
	/* Its status tells. */
	if (work->status == TP_STATUS_RESET)
		channel->reset_untold = false;
}

/* Coming in. */

void tp_queue_give_up(struct tp_channel *channel, bool may_wait)
{
	struct rw_semaphore *gate = &channel->card->gate;

	/* Else by a later call, or when the file is closed. */
	if (may_wait ? down_write_killable(gate) : !down_write_trylock(gate))
		return;
	if (!channel->card->gone)
		tp_restart(channel, false);
	tp_queue_rest(channel);
	/* Nobody waits for this: all were told that the card has failed. */
	up_write(gate);
}

/*
 * Enter the card and take the channel. A reset under way is waited for, or EAGAIN. EIO: the card
 * has failed, and the memory of all transfers is given back.
 */
static int tp_queue_begin(struct tp_channel *channel, bool may_wait)
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
			tp_queue_end(channel, 0);
			if (error == -ENOLINK)
				return READ_ONCE(card->gone) ? -ENODEV : error;
		}
		error = may_wait ? tp_await_settled(channel) : -EAGAIN;
		if (error)
			return error == -ERESTARTSYS ? -EINTR : error;
	}
}

int tp_queue_end(struct tp_channel *channel, int error)
{
	if (error && READ_ONCE(channel->card->gone))
		error = -ENODEV;
	mutex_unlock(&channel->io);
	tp_leave(channel->card);
	return error;
}

/* Waiting. */

typedef bool (*tp_condition)(struct tp_channel *channel, u32 wanted);

static bool tp_has_done(struct tp_channel *channel, u32 wanted)
{
	/* Who waits for more than there is in flight would wait for ever. */
	return channel->queue->done_count >= wanted || !channel->queue->in_flight;
}

static bool tp_has_start(struct tp_channel *channel, u32 wanted)
{
	return channel->queue->start_count > 0;
}

static bool tp_is_there(struct tp_channel *channel, tp_condition condition, u32 wanted,
			u64 *completed)
{
	unsigned long flags;
	bool is;

	spin_lock_irqsave(&channel->lock, flags);
	tp_reap(channel);
	is = condition(channel, wanted);
	*completed = channel->statistics.completed;
	spin_unlock_irqrestore(&channel->lock, flags);
	return is;
}

/* Who comes again is told why; a channel that is lost is perhaps reset by that. */
static bool tp_must_leave(const struct tp_channel *channel)
{
	const struct tp_card *card = channel->card;

	return READ_ONCE(card->gone) || READ_ONCE(card->failed) || READ_ONCE(card->down) ||
	       READ_ONCE(channel->lost);
}

/*
 * Having entered the card, and without io: wait, no longer than `timeout` nanoseconds in which no
 * transfer ends. EAGAIN: leave the card, and come again.
 */
static int tp_queue_wait(struct tp_channel *channel, tp_condition condition, u32 wanted,
			 s64 timeout)
{
	const u64 limit = timeout < 0 ? U64_MAX : nsecs_to_jiffies64(timeout) + 1;
	struct tp_card *card = channel->card;
	u64 completed, seen;
	unsigned int looks = 0;
	u64 waited = 0;
	long left;

	if (tp_is_there(channel, condition, wanted, &seen))
		return 0;
	if (timeout == 0)
		return -ETIMEDOUT;
	for (;;) {
		const long slice = min_t(u64, TP_LOOK, limit - waited);

		left = wait_event_interruptible_timeout(channel->wait,
							tp_is_there(channel, condition, wanted,
								    &completed) ||
								tp_must_leave(channel),
							slice);
		if (left < 0)
			return -EINTR;
		if (tp_is_there(channel, condition, wanted, &completed))
			return 0;
		if (tp_must_leave(channel))
			return -EAGAIN;
		if (left == 0 && tp_is_out_of_reach(card, &looks))
			return -ENOLINK;
		waited = completed == seen ? waited + slice - left : 0;
		seen = completed;
		if (waited >= limit)
			return -ETIMEDOUT;
	}
}

/* Submitting. */

static int tp_submit_one(struct tp_channel *channel, const struct towpath_transfer __user *from)
{
	struct tp_queue *queue = channel->queue;
	struct towpath_transfer wanted;
	struct tp_transfer *transfer;
	int error = 0;

	/* Before memory is pinned for nothing. Whoever waits for room was first. */
	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	if (channel->engine.used >= channel->engine.depth || !list_empty(&queue->waiting))
		error = -EAGAIN;
	else if (queue->uncollected >= TP_UNCOLLECTED)
		error = -ENOBUFS;
	spin_unlock_irq(&channel->lock);
	if (error)
		return error;
	if (copy_from_user(&wanted, from, sizeof(wanted)))
		return -EFAULT;
	transfer = tp_transfer_create(channel, &wanted);
	if (IS_ERR(transfer))
		return PTR_ERR(transfer);
	transfer->work.ended = tp_transfer_ended;
	transfer->ticket = queue->next_ticket;
	spin_lock_irq(&channel->lock);
	/* Memory is forbidden first, and what is posted looked through then. */
	if (tp_transfer_names(transfer, NULL))
		error = -ESTALE;
	else if (queue->torn)
		error = queue->torn;
	else
		error = tp_post_all(channel, &transfer->work, transfer->descriptors);
	if (!error) {
		queue->next_ticket++;
		queue->in_flight++;
		queue->uncollected++;
	}
	spin_unlock_irq(&channel->lock);
	if (error) {
		tp_transfer_rest(channel->card, transfer);
		kvfree(transfer);
	}
	return error;
}

static int tp_submit(struct tp_channel *channel, struct towpath_exchange *exchange)
{
	const struct towpath_transfer __user *from = u64_to_user_ptr(exchange->transfer);
	int error = 0;

	exchange->ticket = channel->queue->next_ticket;
	while (exchange->submitted < exchange->transfers) {
		error = tp_submit_one(channel, from + exchange->submitted);
		if (error)
			break;
		exchange->submitted++;
		cond_resched();
	}
	return exchange->submitted ? 0 : error;
}

/* Collecting. */

/* Take some that are done off their queue. */
static u32 tp_take_done(struct tp_channel *channel, struct list_head *into, u32 room)
{
	struct tp_queue *queue = channel->queue;
	u32 count = 0;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	for (; count < room && !list_empty(&queue->done); count++)
		list_move_tail(queue->done.next, into);
	queue->done_count -= count;
	spin_unlock_irq(&channel->lock);
	return count;
}

static void tp_put_back(struct tp_channel *channel, struct list_head *from, u32 count)
{
	spin_lock_irq(&channel->lock);
	list_splice(from, &channel->queue->done);
	channel->queue->done_count += count;
	spin_unlock_irq(&channel->lock);
}

static void tp_free_all(struct tp_card *card, struct list_head *transfers)
{
	struct tp_transfer *transfer, *next;

	list_for_each_entry_safe(transfer, next, transfers, link) {
		tp_transfer_rest(card, transfer);
		kvfree(transfer);
	}
}

static int tp_collect(struct tp_channel *channel, struct towpath_exchange *exchange)
{
	struct tp_queue *queue = channel->queue;
	struct towpath_completion __user *to = u64_to_user_ptr(exchange->completion);

	while (exchange->collected < exchange->completions) {
		struct towpath_completion batch[TP_BATCH];
		struct tp_transfer *transfer;
		u32 room = min_t(u32, TP_BATCH, exchange->completions - exchange->collected);
		LIST_HEAD(taken);
		u32 count = tp_take_done(channel, &taken, room);
		u32 number = 0;

		if (!count)
			break;
		list_for_each_entry(transfer, &taken, link) {
			/* First the memory: what the card wrote may have to be copied there. */
			tp_transfer_rest(channel->card, transfer);
			batch[number++] = (struct towpath_completion){
				.ticket = transfer->ticket,
				.bytes = transfer->work.moved,
				.status = transfer->work.status,
				.offset = transfer->work.offset,
				.user = transfer->work.user,
			};
		}
		if (copy_to_user(to + exchange->collected, batch, count * sizeof(*batch))) {
			tp_put_back(channel, &taken, count);
			return -EFAULT;
		}
		tp_free_all(channel->card, &taken);
		spin_lock_irq(&channel->lock);
		queue->uncollected -= count;
		if (!queue->uncollected && !queue->has_ring)
			queue->torn = 0;
		spin_unlock_irq(&channel->lock);
		exchange->collected += count;
	}
	return 0;
}

/* Is none in flight that could be collected? */
static bool tp_is_all_done(struct tp_channel *channel)
{
	bool is;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	is = !channel->queue->in_flight;
	spin_unlock_irq(&channel->lock);
	return is;
}

/*
 * Collect until there are enough, or none is left that could be waited for. In io at the start and,
 * if `*inside`, at the end.
 */
static int tp_collect_enough(struct tp_channel *channel, struct towpath_exchange *exchange,
			     bool may_wait, bool *inside)
{
	int waited = 0;

	for (;;) {
		const bool is_last = tp_is_all_done(channel);
		int error = tp_collect(channel, exchange);

		if (error || exchange->collected >= exchange->wanted || is_last)
			return error;
		if (waited && waited != -EAGAIN)
			return waited;
		mutex_unlock(&channel->io);
		waited = tp_queue_wait(channel, tp_has_done, exchange->wanted - exchange->collected,
				       exchange->timeout_ns);
		tp_leave(channel->card);
		error = tp_queue_begin(channel, may_wait);
		*inside = !error;
		if (error)
			return error;
	}
}

static int tp_exchange(struct tp_channel *channel, void __user *argument, bool may_wait)
{
	struct towpath_exchange exchange;
	bool inside, again;
	int error = tp_take_argument(&exchange, sizeof(exchange), argument, 0);
	int given;

	if (error)
		return error;
	if (exchange.reserved || exchange.wanted > exchange.completions)
		return -EINVAL;
	exchange.submitted = 0;
	exchange.collected = 0;
	do {
		error = tp_queue_begin(channel, may_wait);
		inside = !error;
		if (!error)
			error = tp_take_reset(channel);
		again = false;
		if (!error) {
			error = tp_submit(channel, &exchange);
			/* A reset of the program's own has begun meanwhile: once more after it. */
			again = error == -ECONNRESET && tp_is_stopped(channel);
		}
		if (again)
			tp_queue_end(channel, 0);
	} while (again);
	if (!error)
		error = tp_collect_enough(channel, &exchange, may_wait, &inside);
	else if (inside && (error == -ECONNRESET || error == -ECANCELED))
		/* Which of them it has met is told with it. */
		tp_collect(channel, &exchange);
	if (inside)
		error = tp_queue_end(channel, error);
	given = tp_give_argument(argument, &exchange);
	return given ? given : error;
}

static int tp_message_start(struct tp_channel *channel, void __user *argument, bool may_wait)
{
	struct towpath_message_start start;
	struct tp_queue *queue = channel->queue;
	int error = tp_take_argument(&start, sizeof(start), argument, 0);
	bool found;

	if (error)
		return error;
	if (!queue->announce)
		return -EINVAL;
	do {
		error = tp_queue_begin(channel, may_wait);
		if (error)
			return error;
		mutex_unlock(&channel->io);
		error = tp_queue_wait(channel, tp_has_start, 0, start.timeout_ns);
		tp_leave(channel->card);
		spin_lock_irq(&channel->lock);
		found = !error && queue->start_count;
		if (found) {
			start.length = queue->starts[0].length;
			start.offset = queue->starts[0].offset;
			start.user = queue->starts[0].user;
			queue->start_told = true;
		}
		spin_unlock_irq(&channel->lock);
	} while ((!error && !found) || error == -EAGAIN);
	return error ? error : tp_give_argument(argument, &start);
}

static int tp_moderate(struct tp_channel *channel, void __user *argument, bool may_wait)
{
	struct towpath_moderation moderation;
	int error = tp_take_argument(&moderation, sizeof(moderation), argument, 0);
	u32 word;

	if (error)
		return error;
	if (moderation.reserved)
		return -EINVAL;
	word = moderation.entries << TP_CHANNEL_MODERATION_ENTRIES_LSB |
	       moderation.time << TP_CHANNEL_MODERATION_TIME_LSB;
	error = tp_queue_begin(channel, may_wait);
	if (error)
		return error;
	spin_lock_irq(&channel->lock);
	channel->queue->moderation = word;
	writel(word, channel->engine.privileged + TP_CHANNEL_MODERATION_OFFSET);
	spin_unlock_irq(&channel->lock);
	return tp_queue_end(channel, 0);
}

static int tp_queue_cancel(struct tp_channel *channel, bool may_wait)
{
	int error = tp_queue_begin(channel, may_wait);

	if (error)
		return error;
	tp_cancel(channel);
	tp_queue_aware(channel);
	/* It became a reset, and that did not end either. */
	return tp_queue_end(channel, READ_ONCE(channel->card->failed) ? -EIO : 0);
}

/* Is a transfer in flight that names this memory? Under lock. */
static bool tp_is_named(struct tp_channel *channel, const struct tp_memory *memory)
{
	const struct tp_transfer *transfer;
	struct tp_work *work;

	/* What was posted before the file became a queue is in flight until its reset. */
	list_for_each_entry(work, &channel->posted, link)
		if (work->ended == tp_transfer_ended &&
		    tp_transfer_names(container_of(work, struct tp_transfer, work), memory))
			return true;
	list_for_each_entry(transfer, &channel->queue->waiting, link)
		if (tp_transfer_names(transfer, memory))
			return true;
	return false;
}

/* Is none, or can none reach memory any more? */
static bool tp_is_rid_of(struct tp_channel *channel, const struct tp_memory *memory)
{
	bool is;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	is = READ_ONCE(channel->card->failed) || !channel->queue || !tp_is_named(channel, memory);
	spin_unlock_irq(&channel->lock);
	return is;
}

void tp_queue_evict(struct tp_channel *channel, const struct tp_memory *memory)
{
	struct tp_card *card = channel->card;
	bool is_named;

	spin_lock_irq(&channel->lock);
	if (channel->queue)
		tp_reap(channel);
	is_named = channel->queue && tp_is_named(channel, memory);
	if (is_named) {
		tp_queue_tear(channel, -ECANCELED);
		tp_uring_end(channel, TP_STATUS_CANCELLED);
		tp_engine_cancel(&channel->engine);
		tp_engine_arm(&channel->engine);
		channel->armed = true;
	}
	spin_unlock_irq(&channel->lock);
	if (!is_named)
		return;
	if (pci_device_is_present(card->pci) &&
	    wait_event_timeout(channel->wait, tp_is_rid_of(channel, memory), TP_GRACE))
		return;
	/* A reset would be next; but that is for who has entered the card. */
	dev_warn(&card->pci->dev, "%s: memory is taken back, and a cancel does not end\n",
		 channel->name);
	if (!tp_cut_off(card))
		tp_lose(channel);
}

/* Beginning and end of a queue. */

static void tp_queue_free(struct tp_queue *queue)
{
	if (queue->event)
		eventfd_ctx_put(queue->event);
	if (queue->owner)
		tp_owner_put(queue->owner);
	kfree(queue);
}

static struct tp_queue *tp_queue_create(struct tp_channel *channel,
					const struct towpath_queue *wanted)
{
	struct tp_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	int error = 0;

	if (!queue)
		return ERR_PTR(-ENOMEM);
	queue->channel = channel;
	INIT_LIST_HEAD(&queue->done);
	INIT_LIST_HEAD(&queue->waiting);
	INIT_LIST_HEAD(&queue->returning);
	tp_uring_init(queue);
	queue->announce = wanted->flags & TOWPATH_QUEUE_ANNOUNCE;
	if (wanted->control != -1) {
		queue->owner = tp_owner_of(channel->card, wanted->control);
		if (IS_ERR(queue->owner)) {
			error = PTR_ERR(queue->owner);
			queue->owner = NULL;
		}
	}
	if (!error && wanted->eventfd != -1) {
		queue->event = eventfd_ctx_fdget(wanted->eventfd);
		if (IS_ERR(queue->event)) {
			error = PTR_ERR(queue->event);
			queue->event = NULL;
		}
	}
	if (!error)
		return queue;
	tp_queue_free(queue);
	return ERR_PTR(error);
}

static void tp_queue_set(struct tp_channel *channel, struct tp_queue *queue)
{
	spin_lock_irq(&channel->lock);
	channel->queue = queue;
	spin_unlock_irq(&channel->lock);
}

/*
 * Under io: make a queue of a channel of which nobody has asked anything. What the core has sent is
 * all on the card then, and what was sent to it all on its way: neither is lost.
 */
static bool tp_queue_take_over(struct tp_channel *channel, struct tp_queue *queue)
{
	bool may;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	may = !tp_is_stopped(channel) && !channel->queue && !channel->message_open &&
	      !channel->faulted && list_empty(&channel->posted) &&
	      (tp_is_h2c(channel) || list_empty(&channel->ready));
	if (may) {
		channel->queue = queue;
		if (queue->announce)
			tp_engine_announce(&channel->engine);
	}
	spin_unlock_irq(&channel->lock);
	if (may)
		tp_channel_rearm(channel, true);
	return may;
}

int tp_queue_open(struct tp_channel *channel, void __user *argument)
{
	struct towpath_queue wanted;
	struct tp_queue *queue;
	int error = tp_take_argument(&wanted, sizeof(wanted), argument, TOWPATH_QUEUE_ANNOUNCE);

	if (error)
		return error;
	if (wanted.flags && tp_is_h2c(channel))
		return -EINVAL;
	if (READ_ONCE(channel->queue))
		return -EBUSY;
	queue = tp_queue_create(channel, &wanted);
	if (IS_ERR(queue))
		return PTR_ERR(queue);
	/* Who is in the channel is sent away by the reset. */
	error = tp_enter_settled(channel, true);
	if (!error) {
		bool is_taken = false;

		error = tp_lock(channel, false);
		if (!error) {
			is_taken = tp_queue_take_over(channel, queue);
			mutex_unlock(&channel->io);
		}
		tp_leave(channel->card);
		if (is_taken)
			return 0;
		if (error != -ERESTARTSYS)
			error = tp_reset_begin(channel);
	}
	if (error) {
		tp_queue_free(queue);
		return error;
	}
	/* Another thread was quicker. */
	if (channel->queue) {
		tp_unstop(channel);
		tp_queue_end(channel, 0);
		tp_queue_free(queue);
		return -EBUSY;
	}
	tp_queue_set(channel, queue);
	error = tp_reset(channel);
	tp_take_fault(channel);
	tp_forget_reset(channel);
	/*
	 * If the reset failed it is a queue still, on a card that serves nobody; or its first call
	 * is told that the card cannot be reached, or resets it.
	 */
	return tp_queue_end(channel, error == -ENOLINK ? 0 : error);
}

void tp_queue_close(struct tp_channel *channel)
{
	struct tp_queue *queue = channel->queue;
	struct tp_card *card = channel->card;

	/* Even of a card that has failed: the program's memory must be given back. */
	down_read(&card->gate);
	mutex_lock(&channel->io);
	if (card->pages && !card->away) {
		writel(0, channel->engine.privileged + TP_CHANNEL_MODERATION_OFFSET);
		tp_stop(channel);
		spin_lock_irq(&channel->lock);
		queue->announce = false;
		queue->moderation = 0;
		spin_unlock_irq(&channel->lock);
		tp_reset(channel);
	}
	tp_free_all(card, &queue->done);
	tp_queue_set(channel, NULL);
	mutex_unlock(&channel->io);
	up_read(&card->gate);
	tp_uring_exit(queue);
	tp_queue_free(queue);
}

void tp_queue_rest(struct tp_channel *channel)
{
	struct tp_queue *queue = channel->queue;
	struct tp_transfer *transfer;

	if (!queue)
		return;
	list_for_each_entry(transfer, &queue->done, link)
		tp_transfer_rest(channel->card, transfer);
	list_for_each_entry(transfer, &queue->returning, link)
		tp_transfer_rest(channel->card, transfer);
}

__poll_t tp_queue_poll(struct tp_channel *channel)
{
	const u16 depth = channel->engine.depth;
	const u16 wanted = min_t(u16, depth, TP_PREFIXES + 1);
	struct tp_queue *queue = channel->queue;
	__poll_t news = 0;

	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	if (queue->done_count || queue->start_count > queue->start_told || channel->reset_untold)
		news |= EPOLLIN | EPOLLRDNORM;
	if (channel->engine.used + wanted <= depth && list_empty(&queue->waiting))
		news |= EPOLLOUT | EPOLLWRNORM;
	spin_unlock_irq(&channel->lock);
	return news;
}

long tp_queue_ioctl(struct file *file, unsigned int command, void __user *argument)
{
	struct tp_channel *channel = file->private_data;
	const bool may_wait = !(file->f_flags & O_NONBLOCK);

	switch (command) {
	case TOWPATH_IOC_EXCHANGE:
		return tp_exchange(channel, argument, may_wait);
	case TOWPATH_IOC_MESSAGE_START:
		return tp_message_start(channel, argument, may_wait);
	case TOWPATH_IOC_CANCEL:
		return tp_queue_cancel(channel, may_wait);
	case TOWPATH_IOC_MODERATION:
		return tp_moderate(channel, argument, may_wait);
	default:
		return -ENOTTY;
	}
}
