// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Interrupts: a vector for each channel and each user interrupt, or the last one shared. */
#include <linux/interrupt.h>

#include "core.h"

/* Interrupts of one vector without news, one after the other, after which it is not armed again. */
#define TP_IDLE_FIRES 1000

static bool tp_has_interrupt_vector(const struct tp_card *card, u32 vector)
{
	return card->table.user_interrupts && vector >= tp_interrupt_vector(card, 0);
}

/* Count on the eventfds of those user interrupts that have this vector. */
static void tp_signal_interrupts(struct tp_card *card, u32 vector)
{
	struct tp_owner *owner;
	unsigned long flags;
	u32 index;

	spin_lock_irqsave(&card->lock, flags);
	list_for_each_entry(owner, &card->owners, link)
		for (index = 0; index < card->table.user_interrupts; index++)
			if (owner->events[index] && tp_interrupt_vector(card, index) == vector)
				tp_eventfd_signal(owner->events[index]);
	spin_unlock_irqrestore(&card->lock, flags);
}

static irqreturn_t tp_interrupt(int irq, void *data)
{
	struct tp_vector *vector = data;
	struct tp_card *card = vector->card;
	bool news = tp_has_interrupt_vector(card, vector->number);
	u16 index;

	if (news) {
		atomic_inc(&card->interrupt_news);
		wake_up_all(&card->interrupt_wait);
		tp_signal_interrupts(card, vector->number);
	}
	for (index = 0; index < card->channel_count; index++)
		if (card->channels[index].vector == vector->number)
			news |= tp_channel_interrupt(&card->channels[index]);
	/* A card that fires at each arm without news would take the processor. */
	vector->idle_fires = news ? 0 : vector->idle_fires + 1;
	if (vector->idle_fires == TP_IDLE_FIRES)
		dev_err(card->bus.device,
			"interrupts without completions: the card needs a reset\n");
	for (index = 0; index < card->channel_count; index++)
		if (card->channels[index].vector == vector->number)
			tp_channel_rearm(&card->channels[index],
					 vector->idle_fires < TP_IDLE_FIRES);
	return IRQ_HANDLED;
}

u32 tp_card_vectors(const struct tp_card *card)
{
	return clamp_t(u32, card->channel_count + card->table.user_interrupts, 1,
		       card->table.vectors);
}

int tp_interrupts_request(struct tp_card *card, u32 count)
{
	struct device *device = card->bus.device;
	u32 number;

	card->irqs = devm_kcalloc(device, count, sizeof(*card->irqs), GFP_KERNEL);
	if (!card->irqs)
		return -ENOMEM;
	card->irq_count = count;
	for (number = 0; number < card->channel_count; number++)
		card->channels[number].vector = min_t(u32, number, count - 1);
	for (number = 0; number < count; number++) {
		struct tp_vector *vector = &card->irqs[number];
		int error;

		vector->number = number;
		vector->card = card;
		snprintf(vector->name, sizeof(vector->name), "towpath%d-%u", card->number, number);
		error = devm_request_irq(device, card->bus.operations->irq(card, number),
					 tp_interrupt, 0, vector->name, vector);
		if (error)
			return dev_err_probe(device, error, "vector %u cannot be used\n", number);
	}
	return 0;
}
