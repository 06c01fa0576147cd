// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "power.h"
#include "trace.h"

static void tp_begin_reset(void *context)
{
	writel(TP_CARD_CONTROL_RESET_MASK, (void __iomem *)context);
}

static bool tp_is_resetting(void *context, bool *unanswered)
{
	const u32 value = readl((void __iomem *)context);

	*unanswered |= value == U32_MAX;
	return value & TP_CARD_CONTROL_RESET_MASK;
}

int tp_card_quiet(struct tp_card *card)
{
	void __iomem *control = tp_card_page(card) + TP_CARD_CONTROL_OFFSET;

	trace_towpath_card_reset(card);
	return tp_await_reset(card, tp_begin_reset, tp_is_resetting, (__force void *)control);
}

void tp_card_serve(struct tp_card *card, const struct tp_owner *owner, bool is_reset)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		tp_empty(channel, owner && channel->client->owner == owner);
	}
	tp_card_move(card, TP_CARD_READY);
	tp_card_set_interrupts(card);
	tp_qos_restore(card);
	for (index = 0; index < card->channel_count; index++)
		tp_restart(&card->channels[index], is_reset);
}

/* Calls have reported a reset that was not made: the next user of each channel makes it. */
static void tp_take_back(struct tp_card *card)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++)
		tp_lose(&card->channels[index]);
	tp_card_move(card, TP_CARD_READY);
	tp_wake_all(card);
}

/* After down_write() of the gate: wake those that got EAGAIN for it. */
static void tp_open_gate(struct tp_card *card)
{
	up_write(&card->gate);
	tp_wake_all(card);
	mutex_unlock(&card->resetting);
}

int tp_card_reset(struct tp_card *card, const struct tp_owner *owner)
{
	int error;

	if (mutex_lock_killable(&card->resetting))
		return -EINTR;
	error = tp_card_error(card);
	if (error) {
		mutex_unlock(&card->resetting);
		return error;
	}
	tp_card_quiesce(card, owner);
	if (down_write_killable(&card->gate)) {
		tp_take_back(card);
		mutex_unlock(&card->resetting);
		return -EINTR;
	}
	if (tp_card_state(card) == TP_CARD_RESETTING) {
		error = tp_card_quiet(card);
		if (error == -ETIMEDOUT)
			error = tp_card_cut_off(card) ? -EIO : -ENOLINK;
		tp_card_serve(card, owner, !error);
	} else {
		error = tp_card_error(card);
	}
	tp_open_gate(card);
	return error;
}

void tp_card_suspend(struct tp_card *card, bool reachable)
{
	u16 index;

	mutex_lock(&card->resetting);
	if (tp_card_state(card) == TP_CARD_READY)
		tp_card_quiesce(card, NULL);
	down_write(&card->gate);
	if (tp_card_state(card) == TP_CARD_RESETTING)
		tp_card_move(card, TP_CARD_ASLEEP);
	tp_window_revoke(card);
	if (reachable)
		tp_card_quiet(card);
	card->bus.operations->set_master(card, false);
	for (index = 0; index < card->channel_count; index++)
		tp_close(&card->channels[index]);
	tp_open_gate(card);
}

int tp_card_resume(struct tp_card *card)
{
	int error;

	mutex_lock(&card->resetting);
	/* The slot was reset for the sake of another card. */
	if (tp_card_state(card) == TP_CARD_READY)
		tp_card_quiesce(card, NULL);
	down_write(&card->gate);
	/* A reset of the slot leaves it on. Not before the card is known to be quiet. */
	card->bus.operations->set_master(card, false);
	error = tp_card_quiet(card);
	if (error) {
		dev_err(card->bus.device, "the card does not come back: bind it again to use it\n");
		tp_card_fail(card);
	} else {
		if (tp_card_state(card) != TP_CARD_FAILED)
			card->bus.operations->set_master(card, true);
		tp_card_serve(card, NULL, true);
	}
	tp_open_gate(card);
	return error;
}
