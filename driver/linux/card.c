// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "card.h"

void tp_card_init(struct tp_card *card)
{
	mutex_init(&card->resetting);
	init_rwsem(&card->gate);
	mutex_init(&card->window);
	mutex_init(&card->mapping);
	spin_lock_init(&card->lock);
	INIT_LIST_HEAD(&card->views);
	INIT_LIST_HEAD(&card->owners);
	INIT_LIST_HEAD(&card->memories);
	init_waitqueue_head(&card->interrupt_wait);
}

void tp_card_move(struct tp_card *card, enum tp_card_state to)
{
	static const u8 from[] = {
		[TP_CARD_READY] =
			BIT(TP_CARD_PROBING) | BIT(TP_CARD_RESETTING) | BIT(TP_CARD_ASLEEP),
		[TP_CARD_RESETTING] = BIT(TP_CARD_READY),
		[TP_CARD_ASLEEP] = BIT(TP_CARD_RESETTING),
		[TP_CARD_FAILED] = BIT(TP_CARD_PROBING) | BIT(TP_CARD_READY) |
				   BIT(TP_CARD_RESETTING) | BIT(TP_CARD_ASLEEP),
		[TP_CARD_GONE] = BIT(TP_CARD_PROBING) | BIT(TP_CARD_READY) |
				 BIT(TP_CARD_RESETTING) | BIT(TP_CARD_ASLEEP) | BIT(TP_CARD_FAILED),
	};
	enum tp_card_state state;
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&card->lock, flags);
	state = card->state;
	may = from[to] & BIT(state);
	if (may)
		WRITE_ONCE(card->state, to);
	spin_unlock_irqrestore(&card->lock, flags);
	WARN_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING) && !may && state < TP_CARD_FAILED,
		  "towpath%d: from state %d to %d\n", card->number, state, to);
}

int tp_card_error(const struct tp_card *card)
{
	switch (tp_card_state(card)) {
	case TP_CARD_GONE:
		return -ENODEV;
	case TP_CARD_FAILED:
		return -EIO;
	case TP_CARD_RESETTING:
	case TP_CARD_ASLEEP:
		return -ECONNRESET;
	default:
		return 0;
	}
}

/* With the gate held. */
static int tp_entered(struct tp_card *card)
{
	const int error = tp_card_error(card);

	if (error)
		up_read(&card->gate);
	return error;
}

int tp_enter(struct tp_card *card)
{
	return down_read_killable(&card->gate) ? -EINTR : tp_entered(card);
}

int tp_try_enter(struct tp_card *card)
{
	int error;

	if (down_read_trylock(&card->gate))
		return tp_entered(card);
	error = tp_card_error(card);
	return error ? error : -EAGAIN;
}

void tp_leave(struct tp_card *card)
{
	up_read(&card->gate);
}

bool tp_is_out_of_reach(struct tp_card *card, unsigned int *looks)
{
	*looks = tp_is_present(card) ? 0 : *looks + 1;
	return *looks > 1;
}

void tp_card_set_interrupts(struct tp_card *card)
{
	void __iomem *page = tp_card_page(card);
	u32 number;

	mutex_lock(&card->window);
	for (number = 0; number < card->table.user_interrupts; number++)
		writel(tp_interrupt_vector(card, number),
		       page + TP_CARD_USER_IRQ_VECTOR_OFFSET +
			       number * TP_CARD_USER_IRQ_VECTOR_STRIDE);
	writel(card->interrupts_enabled, page + TP_CARD_USER_IRQ_ENABLE_OFFSET);
	mutex_unlock(&card->window);
}
