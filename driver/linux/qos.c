// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A channel's part of the link: weight, rate and traffic class. A reset of the function takes them
 * off the card, so the driver keeps a copy.
 */
#include "channel.h"

static bool tp_has_qos(const struct tp_card *card)
{
	return card->table.features & TP_DISCOVERY_FEATURES_QOS_MASK;
}

void tp_qos_load(struct tp_channel *channel)
{
	void __iomem *page = channel->engine.privileged;

	if (!tp_has_qos(channel->card))
		return;
	spin_lock_irq(&channel->lock);
	channel->weight = readl(page + TP_CHANNEL_WEIGHT_OFFSET);
	channel->rate = readl(page + TP_CHANNEL_RATE_OFFSET);
	channel->traffic_class = readl(page + TP_CHANNEL_TRAFFIC_CLASS_OFFSET);
	spin_unlock_irq(&channel->lock);
}

static void tp_qos_store(struct tp_channel *channel)
{
	void __iomem *page = channel->engine.privileged;

	lockdep_assert_held(&channel->lock);
	writel(channel->weight, page + TP_CHANNEL_WEIGHT_OFFSET);
	writel(channel->rate, page + TP_CHANNEL_RATE_OFFSET);
	writel(channel->traffic_class, page + TP_CHANNEL_TRAFFIC_CLASS_OFFSET);
}

void tp_qos_restore(struct tp_card *card)
{
	u16 index;

	if (!tp_has_qos(card))
		return;
	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		spin_lock_irq(&channel->lock);
		tp_qos_store(channel);
		spin_unlock_irq(&channel->lock);
	}
}

int tp_qos_set(struct tp_channel *channel, struct towpath_channel_qos *wanted)
{
	void __iomem *page = channel->engine.privileged;
	int error = 0;

	if (!tp_has_qos(channel->card))
		return -EOPNOTSUPP;
	spin_lock_irq(&channel->lock);
	tp_reap(channel);
	/* An entry could overtake data that has the class of before. */
	if (wanted->flags & TOWPATH_SET_TRAFFIC_CLASS &&
	    wanted->traffic_class != channel->traffic_class && !list_empty(&channel->posted))
		error = -EBUSY;
	if (!error && wanted->flags & TOWPATH_SET_WEIGHT)
		channel->weight = wanted->weight;
	if (!error && wanted->flags & TOWPATH_SET_RATE)
		channel->rate = wanted->rate;
	if (!error && wanted->flags & TOWPATH_SET_TRAFFIC_CLASS)
		channel->traffic_class = wanted->traffic_class;
	if (!error && wanted->flags)
		tp_qos_store(channel);
	/* 0 counts as 1. */
	wanted->weight = readl(page + TP_CHANNEL_WEIGHT_OFFSET) ?: 1;
	wanted->rate = readl(page + TP_CHANNEL_RATE_OFFSET);
	wanted->traffic_class = readl(page + TP_CHANNEL_TRAFFIC_CLASS_OFFSET);
	spin_unlock_irq(&channel->lock);
	return error ? error : wanted->weight == U32_MAX ? -ENOLINK : 0;
}
