// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The card's control file: what the card is, the user core's registers and interrupts, a reset of
 * everything, the buffers that a program registers, and what it maps.
 */
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "card.h"
#include "uapi/towpath.h"

/* The layout is every program's, 32-bit ones included. */
static_assert(sizeof(struct towpath_card_info) == 88);
static_assert(sizeof(struct towpath_channel_info) == 64);
static_assert(sizeof(struct towpath_interrupt) == 32);
static_assert(sizeof(struct towpath_interrupt_event) == 16);
static_assert(sizeof(struct towpath_link_counters) == 56);
static_assert(sizeof(struct towpath_register_buffer) == 32);
static_assert(sizeof(struct towpath_allocate_buffer) == 32);
static_assert(sizeof(struct towpath_import_buffer) == 24);
static_assert(sizeof(struct towpath_unregister_buffer) == 16);
static_assert(TOWPATH_NAME_BYTES == TP_NAME_BYTES);

#define TP_BUFFER_FLAGS (TOWPATH_BUFFER_TO_CARD | TOWPATH_BUFFER_FROM_CARD)

static int tp_card_info(struct tp_card *card, void __user *argument)
{
	struct towpath_card_info info;
	int error = tp_take_argument(&info, sizeof(info), argument, 0);

	if (error)
		return error;
	if (memchr_inv(info.reserved, 0, sizeof(info.reserved)))
		return -EINVAL;
	info = (struct towpath_card_info){
		.argsz = info.argsz,
		.version_major = card->version_major,
		.version_minor = card->version_minor,
		.data_bytes = card->data_bytes,
		.serial = card->serial,
		.core_version = card->core_version,
		.core_clock_khz = card->core_clock_khz,
		.user_clock_khz = card->user_clock_khz,
		.window_bytes = card->window_bytes,
		.channels = card->channel_count,
		.vectors = card->vectors,
		.vectors_used = card->irq_count,
		.interrupts = card->interrupts,
		.tags = card->tags,
	};
	memcpy(info.core_name, card->core_name, sizeof(info.core_name));
	return tp_give_argument(argument, &info);
}

static int tp_channel_info(struct tp_card *card, void __user *argument)
{
	struct towpath_channel_info info;
	struct tp_channel *channel;
	int error = tp_take_argument(&info, sizeof(info), argument, 0);

	if (error)
		return error;
	if (info.reserved)
		return -EINVAL;
	if (info.index >= card->channel_count)
		return -ENXIO;
	channel = &card->channels[info.index];
	info.direction = channel->direction;
	info.queue_depth = channel->engine.depth;
	info.inline_slots = channel->inline_slots;
	info.buffer_bytes = channel->buffer_bytes;
	info.reserved = 0;
	memcpy(info.name, channel->name, sizeof(info.name));
	return tp_give_argument(argument, &info);
}

/* ENOLINK: the card cannot be reached, and reads as all ones. */
static int tp_count_interrupt(struct tp_card *card, struct towpath_interrupt *interrupt)
{
	interrupt->count = readl(tp_card_page(card) + TP_CARD_USER_IRQ_COUNT_OFFSET +
				 interrupt->index * TP_CARD_USER_IRQ_COUNT_STRIDE);
	return interrupt->count == U32_MAX && !pci_device_is_present(card->pci) ? -ENOLINK : 0;
}

static void tp_enable_interrupt(struct tp_card *card, u32 index)
{
	mutex_lock(&card->window);
	card->interrupts_enabled |= BIT(index);
	/* Even if it is: the link may have been down the last time. */
	writel(card->interrupts_enabled, tp_card_page(card) + TP_CARD_USER_IRQ_ENABLE_OFFSET);
	mutex_unlock(&card->window);
}

/* Has something fired since `news`, or is the card no more? */
static bool tp_has_fired(struct tp_card *card, int news)
{
	return atomic_read(&card->interrupt_news) != news || READ_ONCE(card->gone) ||
	       READ_ONCE(card->down) || READ_ONCE(card->failed);
}

static int tp_await_interrupt(struct tp_card *card, struct towpath_interrupt *interrupt)
{
	const ktime_t until =
		ktime_add_safe(ktime_get(), ns_to_ktime(max_t(s64, interrupt->timeout_ns, 0)));
	long left;
	int news, error;

	for (;;) {
		news = atomic_read(&card->interrupt_news);
		error = tp_count_interrupt(card, interrupt);
		/* First why it may not be a count. */
		if (READ_ONCE(card->gone))
			return -ENODEV;
		if (READ_ONCE(card->failed))
			return -EIO;
		if (READ_ONCE(card->down))
			return -ECONNRESET;
		if (error || interrupt->count != interrupt->seen)
			return error;
		/* One that is lost with the link is found by a look. */
		left = TP_LOOK;
		if (interrupt->timeout_ns >= 0) {
			s64 ns = ktime_to_ns(ktime_sub(until, ktime_get()));

			if (ns <= 0)
				return -ETIMEDOUT;
			left = min_t(u64, nsecs_to_jiffies64(ns) + 1, TP_LOOK);
		}
		left = wait_event_interruptible_timeout(card->interrupt_wait,
							tp_has_fired(card, news), left);
		if (left < 0)
			return left;
	}
}

static int tp_user_interrupt(struct tp_card *card, void __user *argument)
{
	struct towpath_interrupt interrupt;
	int error =
		tp_take_argument(&interrupt, sizeof(interrupt), argument, TOWPATH_INTERRUPT_WAIT);
	int given;

	if (error)
		return error;
	if (interrupt.reserved)
		return -EINVAL;
	if (interrupt.index >= card->interrupts)
		return -ENXIO;
	if (interrupt.flags & TOWPATH_INTERRUPT_WAIT) {
		tp_enable_interrupt(card, interrupt.index);
		error = tp_await_interrupt(card, &interrupt);
	} else {
		error = tp_count_interrupt(card, &interrupt);
	}
	if (error && error != -ETIMEDOUT)
		return error;
	given = tp_give_argument(argument, &interrupt);
	return given ? given : error;
}

static int tp_interrupt_event(struct tp_owner *owner, void __user *argument)
{
	struct tp_card *card = owner->card;
	struct towpath_interrupt_event wanted;
	struct eventfd_ctx *event = NULL;
	int error = tp_take_argument(&wanted, sizeof(wanted), argument, 0);

	if (error)
		return error;
	if (wanted.index >= card->interrupts)
		return -ENXIO;
	if (wanted.eventfd != -1)
		event = eventfd_ctx_fdget(wanted.eventfd);
	if (IS_ERR(event))
		return PTR_ERR(event);
	spin_lock_irq(&card->owners_lock);
	swap(owner->events[wanted.index], event);
	spin_unlock_irq(&card->owners_lock);
	if (event)
		eventfd_ctx_put(event);
	if (wanted.eventfd != -1)
		tp_enable_interrupt(card, wanted.index);
	return 0;
}

static int tp_link_counters(struct tp_card *card, void __user *argument)
{
	void __iomem *page = tp_card_page(card);
	struct towpath_link_counters counters;
	int error = tp_take_argument(&counters, sizeof(counters), argument, 0);

	if (error)
		return error;
	if (counters.reserved)
		return -EINVAL;
	counters = (struct towpath_link_counters){
		.argsz = counters.argsz,
		.unsupported_requests = readl(page + TP_CARD_UNSUPPORTED_REQUESTS_OFFSET),
		.completer_aborts = readl(page + TP_CARD_COMPLETER_ABORTS_OFFSET),
		.poisoned = readl(page + TP_CARD_POISONED_OFFSET),
		.timeouts = readl(page + TP_CARD_TIMEOUTS_OFFSET),
		.bad_completions = readl(page + TP_CARD_BAD_COMPLETIONS_OFFSET),
		.late_completions = readl(page + TP_CARD_LATE_COMPLETIONS_OFFSET),
		.unexpected_completions = readl(page + TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET),
		.bus_mastering_losses = readl(page + TP_CARD_BUS_MASTERING_LOSSES_OFFSET),
		.link_downs = readl(page + TP_CARD_LINK_DOWNS_OFFSET),
		.function_resets = readl(page + TP_CARD_FUNCTION_RESETS_OFFSET),
		.quarantined = readl(page + TP_CARD_QUARANTINED_OFFSET),
	};
	if (counters.quarantined == U32_MAX)
		return -ENOLINK;
	return tp_give_argument(argument, &counters);
}

/* Tell of a new buffer; if that fails, nobody knows of it, and it goes. */
static int tp_give_buffer(struct tp_owner *owner, void __user *to, const void *from, u32 handle)
{
	int error = tp_give_argument(to, from);

	if (error)
		tp_memory_unregister(owner, handle);
	return error;
}

static int tp_register_buffer(struct tp_owner *owner, void __user *argument)
{
	struct towpath_register_buffer wanted;
	int error = tp_take_argument(&wanted, sizeof(wanted), argument, TP_BUFFER_FLAGS);

	if (error)
		return error;
	if (!wanted.flags || wanted.reserved || !wanted.bytes)
		return -EINVAL;
	error = tp_memory_register(owner, wanted.address, wanted.bytes, wanted.flags,
				   &wanted.buffer);
	if (error)
		return error;
	return tp_give_buffer(owner, argument, &wanted, wanted.buffer);
}

static int tp_allocate_buffer(struct tp_owner *owner, void __user *argument)
{
	struct towpath_allocate_buffer wanted;
	int error = tp_take_argument(&wanted, sizeof(wanted), argument, TP_BUFFER_FLAGS);

	if (error)
		return error;
	if (!wanted.flags || wanted.reserved || !wanted.bytes)
		return -EINVAL;
	error = tp_memory_allocate(owner, wanted.bytes, wanted.flags, &wanted.buffer);
	if (error)
		return error;
	wanted.bytes = PAGE_ALIGN(wanted.bytes);
	wanted.offset = (u64)wanted.buffer << PAGE_SHIFT;
	return tp_give_buffer(owner, argument, &wanted, wanted.buffer);
}

static int tp_import_buffer(struct tp_owner *owner, void __user *argument)
{
	struct towpath_import_buffer wanted;
	int error = tp_take_argument(&wanted, sizeof(wanted), argument, TP_BUFFER_FLAGS);

	if (error)
		return error;
	if (!wanted.flags)
		return -EINVAL;
	error = tp_memory_import(owner, wanted.dmabuf, wanted.flags, &wanted.buffer, &wanted.bytes);
	if (error)
		return error;
	return tp_give_buffer(owner, argument, &wanted, wanted.buffer);
}

static int tp_unregister_buffer(struct tp_owner *owner, void __user *argument)
{
	struct towpath_unregister_buffer wanted;
	int error = tp_take_argument(&wanted, sizeof(wanted), argument, 0);

	if (error)
		return error;
	return wanted.reserved ? -EINVAL : tp_memory_unregister(owner, wanted.buffer);
}

static long tp_control_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct tp_owner *owner = file->private_data;
	struct tp_card *card = owner->card;
	void __user *at = (void __user *)argument;
	const bool may_write = file->f_mode & FMODE_WRITE;
	int error;

	if (command == TOWPATH_IOC_CARD_RESET)
		return may_write ? tp_card_reset(card, owner) : -EACCES;
	if (command == TOWPATH_IOC_UNREGISTER_BUFFER) {
		/* Even of a card that has gone, or failed. */
		if (down_read_killable(&card->gate))
			return -EINTR;
		error = tp_unregister_buffer(owner, at);
		up_read(&card->gate);
		return error;
	}
	error = tp_enter(card);
	if (error)
		return error;
	switch (command) {
	case TOWPATH_IOC_CARD_INFO:
		error = tp_card_info(card, at);
		break;
	case TOWPATH_IOC_CHANNEL_INFO:
		error = tp_channel_info(card, at);
		break;
	case TOWPATH_IOC_REGISTER:
		error = tp_window_access(card, at, may_write);
		break;
	case TOWPATH_IOC_INTERRUPT:
		error = tp_user_interrupt(card, at);
		break;
	case TOWPATH_IOC_INTERRUPT_EVENT:
		error = tp_interrupt_event(owner, at);
		break;
	case TOWPATH_IOC_LINK_COUNTERS:
		error = tp_link_counters(card, at);
		break;
	case TOWPATH_IOC_REGISTER_BUFFER:
		error = tp_register_buffer(owner, at);
		break;
	case TOWPATH_IOC_ALLOCATE_BUFFER:
		error = tp_allocate_buffer(owner, at);
		break;
	case TOWPATH_IOC_IMPORT_BUFFER:
		error = tp_import_buffer(owner, at);
		break;
	default:
		error = -ENOTTY;
	}
	tp_leave(card);
	return error;
}

static int tp_control_mmap(struct file *file, struct vm_area_struct *place)
{
	struct tp_owner *owner = file->private_data;
	int error;

	if (place->vm_pgoff == 0)
		return tp_window_mmap(owner->card, place);
	/* The program's memory is locked: nothing may be waited for. */
	error = tp_try_enter(owner->card);
	if (error)
		return error == -ECONNRESET ? -EAGAIN : error;
	error = tp_memory_mmap(owner, place);
	tp_leave(owner->card);
	return error;
}

static int tp_control_open(struct inode *inode, struct file *file)
{
	struct tp_owner *owner = tp_owner_create(file->private_data, file->f_mapping);

	if (!owner)
		return -ENOMEM;
	file->private_data = owner;
	return nonseekable_open(inode, file);
}

static int tp_control_release(struct inode *inode, struct file *file)
{
	struct tp_owner *owner = file->private_data;
	struct tp_card *card = owner->card;

	/* Even of a card that has failed: the program's memory must be given back. */
	down_read(&card->gate);
	tp_owner_close(owner);
	up_read(&card->gate);
	return 0;
}

const struct file_operations tp_control_operations = {
	.owner = THIS_MODULE,
	.open = tp_control_open,
	.release = tp_control_release,
	.unlocked_ioctl = tp_control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = tp_control_mmap,
};

struct tp_owner *tp_owner_of(const struct tp_card *card, int descriptor)
{
	struct tp_owner *owner = ERR_PTR(-EINVAL);
	struct file *file = fget(descriptor);

	if (!file)
		return ERR_PTR(-EBADF);
	if (file->f_op == &tp_control_operations) {
		struct tp_owner *found = file->private_data;

		if (found->card == card)
			owner = tp_owner_get(found);
	}
	fput(file);
	return owner;
}
