// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/capability.h>
#include <linux/eventfd.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "arguments.h"
#include "channel.h"
#include "control.h"
#include "memory.h"
#include "power.h"
#include "ram.h"
#include "uapi/towpath.h"

#define TP_BUFFER_FLAGS (TOWPATH_BUFFER_TO_CARD | TOWPATH_BUFFER_FROM_CARD)
#define TP_QOS_FLAGS (TOWPATH_SET_WEIGHT | TOWPATH_SET_RATE | TOWPATH_SET_TRAFFIC_CLASS)
/* The highest traffic class of PCI Express. */
#define TP_CLASS_MAX 7

static struct tp_owner *tp_owner(const struct file *file)
{
	return file->private_data;
}

static int tp_card_info(struct file *file, void *argument)
{
	const struct tp_card *card = tp_owner(file)->card;
	struct towpath_card_info *info = argument;

	static_assert(TOWPATH_FEATURE_QOS == TP_DISCOVERY_FEATURES_QOS_MASK);
	static_assert(TOWPATH_FEATURE_FILL == TP_DISCOVERY_FEATURES_FILL_MASK);
	if (info->reserved)
		return -EINVAL;
	*info = (struct towpath_card_info){
		.argsz = info->argsz,
		.version_major = card->table.version_major,
		.version_minor = card->table.version_minor,
		.data_bytes = card->table.data_bytes,
		.serial = card->table.serial,
		.core_version = card->table.core_version,
		.core_clock_khz = card->table.core_clock_khz,
		.user_clock_khz = card->table.user_clock_khz,
		.window_bytes = card->table.window_bytes,
		.channels = card->channel_count,
		.vectors = card->table.vectors,
		.vectors_used = card->irq_count,
		.interrupts = card->table.user_interrupts,
		.tags = card->table.tags,
		.plugins = card->table.plugins,
		.features = card->table.features & (TOWPATH_FEATURE_QOS | TOWPATH_FEATURE_FILL),
	};
	memcpy(info->core_name, card->core_name, sizeof(info->core_name));
	return 0;
}

static int tp_channel_info(struct file *file, void *argument)
{
	const struct tp_card *card = tp_owner(file)->card;
	struct towpath_channel_info *info = argument;
	const struct tp_channel *channel;

	if (info->reserved)
		return -EINVAL;
	if (info->index >= card->channel_count)
		return -ENXIO;
	channel = &card->channels[info->index];
	info->direction = channel->direction;
	info->queue_depth = channel->engine.depth;
	info->inline_slots = channel->inline_slots;
	info->buffer_bytes = channel->buffer_bytes;
	memcpy(info->name, channel->name, sizeof(info->name));
	info->kind = channel->kind;
	info->kind_version = channel->kind_version;
	info->kind_parameter = channel->kind_parameter;
	memcpy(info->kind_name, channel->kind_name, sizeof(info->kind_name));
	return 0;
}

static int tp_plugin_info(struct file *file, void *argument)
{
	const struct tp_card *card = tp_owner(file)->card;
	struct towpath_plugin_info *info = argument;
	const struct tp_plugin_entry *plugin;

	if (info->index >= card->table.plugins)
		return -ENXIO;
	plugin = &card->plugins[info->index];
	info->version = plugin->version;
	info->offset = plugin->offset;
	info->bytes = plugin->pages * TP_PAGE_BYTES_MIN;
	memcpy(info->type_name, plugin->type_name, sizeof(info->type_name));
	return 0;
}

/* ENOLINK: the card cannot be reached, and reads as all ones. */
static int tp_count_interrupt(struct tp_card *card, struct towpath_interrupt *interrupt)
{
	interrupt->count = readl(tp_card_page(card) + TP_CARD_USER_IRQ_COUNT_OFFSET +
				 interrupt->index * TP_CARD_USER_IRQ_COUNT_STRIDE);
	return interrupt->count == U32_MAX && !tp_is_present(card) ? -ENOLINK : 0;
}

static void tp_enable_interrupt(struct tp_card *card, u32 index)
{
	mutex_lock(&card->window);
	card->interrupts_enabled |= BIT(index);
	/* Even if it is: the link may have been down the last time. */
	writel(card->interrupts_enabled, tp_card_page(card) + TP_CARD_USER_IRQ_ENABLE_OFFSET);
	mutex_unlock(&card->window);
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
		if (tp_card_error(card))
			return tp_card_error(card);
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
							atomic_read(&card->interrupt_news) !=
									news ||
								tp_card_error(card),
							left);
		if (left < 0)
			return left;
	}
}

static int tp_user_interrupt(struct file *file, void *argument)
{
	struct tp_card *card = tp_owner(file)->card;
	struct towpath_interrupt *interrupt = argument;

	if (interrupt->reserved)
		return -EINVAL;
	if (interrupt->index >= card->table.user_interrupts)
		return -ENXIO;
	if (!(interrupt->flags & TOWPATH_INTERRUPT_WAIT))
		return tp_count_interrupt(card, interrupt);
	tp_enable_interrupt(card, interrupt->index);
	return tp_await_interrupt(card, interrupt);
}

static int tp_interrupt_event(struct file *file, void *argument)
{
	const struct towpath_interrupt_event *wanted = argument;
	struct tp_owner *owner = tp_owner(file);
	struct tp_card *card = owner->card;
	struct eventfd_ctx *event = NULL;

	if (wanted->index >= card->table.user_interrupts)
		return -ENXIO;
	if (wanted->eventfd != -1)
		event = eventfd_ctx_fdget(wanted->eventfd);
	if (IS_ERR(event))
		return PTR_ERR(event);
	spin_lock_irq(&card->lock);
	swap(owner->events[wanted->index], event);
	spin_unlock_irq(&card->lock);
	if (event)
		eventfd_ctx_put(event);
	if (wanted->eventfd != -1)
		tp_enable_interrupt(card, wanted->index);
	return 0;
}

static int tp_link_counters(struct file *file, void *argument)
{
	void __iomem *page = tp_card_page(tp_owner(file)->card);
	struct towpath_link_counters *counters = argument;

	if (counters->reserved)
		return -EINVAL;
	counters->unsupported_requests = readl(page + TP_CARD_UNSUPPORTED_REQUESTS_OFFSET);
	counters->completer_aborts = readl(page + TP_CARD_COMPLETER_ABORTS_OFFSET);
	counters->poisoned = readl(page + TP_CARD_POISONED_OFFSET);
	counters->timeouts = readl(page + TP_CARD_TIMEOUTS_OFFSET);
	counters->bad_completions = readl(page + TP_CARD_BAD_COMPLETIONS_OFFSET);
	counters->late_completions = readl(page + TP_CARD_LATE_COMPLETIONS_OFFSET);
	counters->unexpected_completions = readl(page + TP_CARD_UNEXPECTED_COMPLETIONS_OFFSET);
	counters->bus_mastering_losses = readl(page + TP_CARD_BUS_MASTERING_LOSSES_OFFSET);
	counters->link_downs = readl(page + TP_CARD_LINK_DOWNS_OFFSET);
	counters->function_resets = readl(page + TP_CARD_FUNCTION_RESETS_OFFSET);
	counters->quarantined = readl(page + TP_CARD_QUARANTINED_OFFSET);
	return counters->quarantined == U32_MAX ? -ENOLINK : 0;
}

static int tp_window(struct file *file, void *argument)
{
	struct tp_card *card = tp_owner(file)->card;
	struct towpath_window *window = argument;
	const struct tp_ram *ram;

	if (window->reserved)
		return -EINVAL;
	if (window->index >= card->channel_count)
		return -ENXIO;
	ram = card->channels[window->index].ram;
	if (!ram || !ram->pages)
		return -ENXIO;
	if (!card->memory_page)
		return -EOPNOTSUPP;
	window->offset = (u64)ram->place << PAGE_SHIFT;
	window->bytes = ram->pages << PAGE_SHIFT;
	return tp_window_state(card, window);
}

static int tp_channel_qos(struct file *file, void *argument)
{
	struct tp_card *card = tp_owner(file)->card;
	struct towpath_channel_qos *wanted = argument;

	if (wanted->flags && !(file->f_mode & FMODE_WRITE))
		return -EACCES;
	/* It is about what others have of the link. */
	if (wanted->flags && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (wanted->index >= card->channel_count)
		return -ENXIO;
	if (wanted->flags & TOWPATH_SET_WEIGHT && (!wanted->weight || wanted->weight > U8_MAX))
		return -EINVAL;
	if (wanted->flags & TOWPATH_SET_TRAFFIC_CLASS && wanted->traffic_class > TP_CLASS_MAX)
		return -EINVAL;
	return tp_qos_set(&card->channels[wanted->index], wanted);
}

static int tp_register_buffer(struct file *file, void *argument)
{
	struct towpath_register_buffer *wanted = argument;

	if (!wanted->flags || wanted->reserved || !wanted->bytes)
		return -EINVAL;
	return tp_memory_register(tp_owner(file), wanted->address, wanted->bytes, wanted->flags,
				  &wanted->buffer);
}

static int tp_allocate_buffer(struct file *file, void *argument)
{
	struct towpath_allocate_buffer *wanted = argument;
	int error;

	if (!wanted->flags || wanted->reserved || !wanted->bytes)
		return -EINVAL;
	error = tp_memory_allocate(tp_owner(file), wanted->bytes, wanted->flags, &wanted->buffer);
	if (error)
		return error;
	wanted->bytes = PAGE_ALIGN(wanted->bytes);
	wanted->offset = (u64)wanted->buffer << PAGE_SHIFT;
	return 0;
}

static int tp_import_buffer(struct file *file, void *argument)
{
	struct towpath_import_buffer *wanted = argument;

	if (!wanted->flags)
		return -EINVAL;
	return tp_memory_import(tp_owner(file), wanted->dmabuf, wanted->flags, &wanted->buffer,
				&wanted->bytes);
}

static int tp_unregister_buffer(struct file *file, void *argument)
{
	const struct towpath_unregister_buffer *wanted = argument;
	struct tp_owner *owner = tp_owner(file);
	int error;

	if (wanted->reserved)
		return -EINVAL;
	/* Even of a card that has gone, or failed. */
	if (down_read_killable(&owner->card->gate))
		return -EINTR;
	error = tp_memory_unregister(owner, wanted->buffer);
	up_read(&owner->card->gate);
	return error;
}

static int tp_access_register(struct file *file, void *argument)
{
	return tp_window_access(tp_owner(file)->card, argument, file->f_mode & FMODE_WRITE);
}

static int tp_reset_card(struct file *file, void *argument)
{
	struct tp_owner *owner = tp_owner(file);

	return file->f_mode & FMODE_WRITE ? tp_card_reset(owner->card, owner) : -EACCES;
}

/* Command, known flags, within the card, given back, function. */
static const struct tp_call tp_calls[] = {
	{ TOWPATH_IOC_CARD_INFO, 0, true, true, tp_card_info },
	{ TOWPATH_IOC_CHANNEL_INFO, 0, true, true, tp_channel_info },
	{ TOWPATH_IOC_PLUGIN_INFO, 0, true, true, tp_plugin_info },
	{ TOWPATH_IOC_WINDOW, 0, true, true, tp_window },
	{ TOWPATH_IOC_CHANNEL_QOS, TP_QOS_FLAGS, true, true, tp_channel_qos },
	{ TOWPATH_IOC_REGISTER, TOWPATH_REGISTER_WRITE, true, true, tp_access_register },
	{ TOWPATH_IOC_INTERRUPT, TOWPATH_INTERRUPT_WAIT, true, true, tp_user_interrupt },
	{ TOWPATH_IOC_INTERRUPT_EVENT, 0, true, false, tp_interrupt_event },
	{ TOWPATH_IOC_LINK_COUNTERS, 0, true, true, tp_link_counters },
	{ TOWPATH_IOC_REGISTER_BUFFER, TP_BUFFER_FLAGS, true, true, tp_register_buffer },
	{ TOWPATH_IOC_ALLOCATE_BUFFER, TP_BUFFER_FLAGS, true, true, tp_allocate_buffer },
	{ TOWPATH_IOC_IMPORT_BUFFER, TP_BUFFER_FLAGS, true, true, tp_import_buffer },
	{ TOWPATH_IOC_UNREGISTER_BUFFER, 0, false, false, tp_unregister_buffer },
	{ TOWPATH_IOC_CARD_RESET, 0, false, false, tp_reset_card },
};

static long tp_control_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	return tp_make_call(tp_calls, ARRAY_SIZE(tp_calls), tp_owner(file)->card, file, command,
			    argument);
}

static int tp_control_mmap(struct file *file, struct vm_area_struct *place)
{
	struct tp_owner *owner = file->private_data;
	int error;

	if (place->vm_pgoff == 0)
		return tp_window_mmap(owner->card, place);
	if (place->vm_pgoff >= TP_MEMORY_PLACE)
		return tp_rams_mmap(owner->card, place);
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
	struct tp_owner *owner = tp_owner_create(file->private_data, file);

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
