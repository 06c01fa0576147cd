// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * sysfs: /sys/class/towpath/towpathN!control says what the card is and what it has counted of
 * faults on its link; towpathN!NUMBER what a channel is and what has been moved.
 * A channel of a kind that this driver does not know is there, too, though it has no device file.
 */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "core.h"

#define TP_CARD_ATTRIBUTE(name, format, ...)                                                  \
	static ssize_t name##_show(struct device *device, struct device_attribute *attribute, \
				   char *buffer)                                              \
	{                                                                                     \
		struct tp_card *card = dev_get_drvdata(device);                               \
		return sysfs_emit(buffer, format "\n", __VA_ARGS__);                          \
	}                                                                                     \
	static DEVICE_ATTR_RO(name)

TP_CARD_ATTRIBUTE(contract, "%u.%u", card->table.version_major, card->table.version_minor);
TP_CARD_ATTRIBUTE(core, "%s", card->core_name);
TP_CARD_ATTRIBUTE(core_version, "%u", card->table.core_version);
TP_CARD_ATTRIBUTE(serial, "%#llx", card->table.serial);
TP_CARD_ATTRIBUTE(channels, "%u", card->channel_count);
TP_CARD_ATTRIBUTE(vectors, "%u", card->irq_count);
TP_CARD_ATTRIBUTE(interrupts, "%u", card->table.user_interrupts);
TP_CARD_ATTRIBUTE(window_bytes, "%u", card->table.window_bytes);

static ssize_t names_show(struct device *device, struct device_attribute *attribute, char *buffer)
{
	struct tp_card *card = dev_get_drvdata(device);

	return sysfs_emit(buffer, "%s\n", tp_names_words[READ_ONCE(card->names)]);
}

static ssize_t names_store(struct device *device, struct device_attribute *attribute,
			   const char *buffer, size_t count)
{
	const int names = __sysfs_match_string(tp_names_words, TP_NAMES_COUNT, buffer);
	const int error = names < 0 ? names : tp_nodes_name(dev_get_drvdata(device), names);

	return error ? error : count;
}
static DEVICE_ATTR_RW(names);

static struct attribute *tp_card_attributes[] = {
	&dev_attr_contract.attr,     &dev_attr_core.attr,
	&dev_attr_core_version.attr, &dev_attr_serial.attr,
	&dev_attr_channels.attr,     &dev_attr_vectors.attr,
	&dev_attr_interrupts.attr,   &dev_attr_window_bytes.attr,
	&dev_attr_names.attr,	     NULL,
};

static const struct attribute_group tp_card_group = {
	.attrs = tp_card_attributes,
};

/* A counter of the card page. */
struct tp_counter {
	struct device_attribute attribute;
	u32 offset;
};

static ssize_t tp_counter_show(struct device *device, struct device_attribute *attribute,
			       char *buffer)
{
	struct tp_counter *counter = container_of(attribute, struct tp_counter, attribute);
	struct tp_card *card = dev_get_drvdata(device);
	int error = tp_enter(card);
	u32 value;

	if (error)
		return error;
	value = readl(tp_card_page(card) + counter->offset);
	tp_leave(card);
	return value == U32_MAX ? -ENOLINK : sysfs_emit(buffer, "%u\n", value);
}

#define TP_COUNTER(name, NAME)                                          \
	static struct tp_counter tp_##name = {                          \
		.attribute = __ATTR(name, 0400, tp_counter_show, NULL), \
		.offset = TP_CARD_##NAME##_OFFSET,                      \
	}

TP_COUNTER(unsupported_requests, UNSUPPORTED_REQUESTS);
TP_COUNTER(completer_aborts, COMPLETER_ABORTS);
TP_COUNTER(poisoned, POISONED);
TP_COUNTER(timeouts, TIMEOUTS);
TP_COUNTER(bad_completions, BAD_COMPLETIONS);
TP_COUNTER(late_completions, LATE_COMPLETIONS);
TP_COUNTER(unexpected_completions, UNEXPECTED_COMPLETIONS);
TP_COUNTER(bus_mastering_losses, BUS_MASTERING_LOSSES);
TP_COUNTER(link_downs, LINK_DOWNS);
TP_COUNTER(function_resets, FUNCTION_RESETS);
TP_COUNTER(quarantined, QUARANTINED);

static struct attribute *tp_link_attributes[] = {
	&tp_unsupported_requests.attribute.attr,
	&tp_completer_aborts.attribute.attr,
	&tp_poisoned.attribute.attr,
	&tp_timeouts.attribute.attr,
	&tp_bad_completions.attribute.attr,
	&tp_late_completions.attribute.attr,
	&tp_unexpected_completions.attribute.attr,
	&tp_bus_mastering_losses.attribute.attr,
	&tp_link_downs.attribute.attr,
	&tp_function_resets.attribute.attr,
	&tp_quarantined.attribute.attr,
	NULL,
};

static const struct attribute_group tp_link_group = {
	.name = "link",
	.attrs = tp_link_attributes,
};

const struct attribute_group *tp_card_groups[] = { &tp_card_group, &tp_link_group, NULL };

#define TP_CHANNEL_ATTRIBUTE(name, format, ...)                                               \
	static ssize_t name##_show(struct device *device, struct device_attribute *attribute, \
				   char *buffer)                                              \
	{                                                                                     \
		struct tp_channel *channel = dev_get_drvdata(device);                         \
		return sysfs_emit(buffer, format "\n", __VA_ARGS__);                          \
	}                                                                                     \
	static DEVICE_ATTR_RO(name)

TP_CHANNEL_ATTRIBUTE(name, "%s", channel->name);
TP_CHANNEL_ATTRIBUTE(direction, "%s", tp_is_h2c(channel) ? "h2c" : "c2h");
TP_CHANNEL_ATTRIBUTE(queue_depth, "%u", channel->engine.depth);
TP_CHANNEL_ATTRIBUTE(kind, "%s", channel->kind_name);
TP_CHANNEL_ATTRIBUTE(kind_version, "%u", channel->kind_version);
TP_CHANNEL_ATTRIBUTE(kind_parameter, "%u", channel->kind_parameter);

static struct attribute *tp_channel_attributes[] = {
	&dev_attr_name.attr,
	&dev_attr_direction.attr,
	&dev_attr_queue_depth.attr,
	&dev_attr_kind.attr,
	&dev_attr_kind_version.attr,
	&dev_attr_kind_parameter.attr,
	NULL,
};

static const struct attribute_group tp_channel_group = {
	.attrs = tp_channel_attributes,
};

#define TP_STATISTIC(name, value)                                                             \
	static ssize_t name##_show(struct device *device, struct device_attribute *attribute, \
				   char *buffer)                                              \
	{                                                                                     \
		struct tp_channel *channel = dev_get_drvdata(device);                         \
		return sysfs_emit(buffer, "%llu\n", tp_locked(channel, (value)));             \
	}                                                                                     \
	static DEVICE_ATTR_RO(name)

TP_STATISTIC(submitted, channel->statistics.submitted);
TP_STATISTIC(completed, channel->statistics.completed);
TP_STATISTIC(bytes, channel->statistics.bytes);
TP_STATISTIC(copied, channel->copied);
TP_STATISTIC(interrupts_taken, channel->statistics.interrupts);
TP_STATISTIC(wrong_cookies, channel->statistics.wrong_cookies);
TP_STATISTIC(wrong_lengths, channel->statistics.wrong_lengths);
TP_STATISTIC(wrong_statuses, channel->statistics.wrong_statuses);
TP_STATISTIC(unexpected, channel->statistics.unexpected);

static struct attribute *tp_statistics_attributes[] = {
	&dev_attr_submitted.attr,
	&dev_attr_completed.attr,
	&dev_attr_bytes.attr,
	&dev_attr_copied.attr,
	&dev_attr_interrupts_taken.attr,
	&dev_attr_wrong_cookies.attr,
	&dev_attr_wrong_lengths.attr,
	&dev_attr_wrong_statuses.attr,
	&dev_attr_unexpected.attr,
	NULL,
};

static const struct attribute_group tp_statistics_group = {
	.name = "statistics",
	.attrs = tp_statistics_attributes,
};

const struct attribute_group *tp_channel_groups[] = { &tp_channel_group, &tp_statistics_group,
						      NULL };
