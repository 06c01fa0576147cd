// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A card that stays bound, and loses what it knew: sleep of the system, resets of its function by
 * somebody else, and errors of the bus that the system recovers from. Whoever has a channel open is
 * told once (ECONNRESET), and can go on. A card that does not come back, or that the system gives
 * up, has failed (EIO). Of a recovery that fails some kernels tell nobody: the card stays away, and
 * a reset of its function or a new binding brings it back.
 */
#include <linux/pci.h>

#include "card.h"

/* Whoever waits leaves, and is told why. */
static void tp_send_away(struct tp_card *card, const struct tp_owner *owner)
{
	WRITE_ONCE(card->down_by, owner);
	WRITE_ONCE(card->down, true);
	tp_stop_all(card, owner);
	atomic_inc(&card->interrupt_news);
	wake_up_all(&card->interrupt_wait);
}

/* Under the gate: start a card that was reset, as `owner` wanted, or leave it to its channels. */
static void tp_start_all(struct tp_card *card, const struct tp_owner *owner, bool is_reset)
{
	u16 index;

	WRITE_ONCE(card->down, false);
	tp_set_interrupts(card);
	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		tp_restart(channel, is_reset);
		if (tp_queue_is_of(channel, owner))
			tp_queue_aware(channel);
	}
}

/* Its users were told of a reset that there was not: each channel has one before it is used. */
static void tp_call_back(struct tp_card *card)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		spin_lock_irq(&channel->lock);
		WRITE_ONCE(channel->lost, true);
		spin_unlock_irq(&channel->lock);
	}
	WRITE_ONCE(card->down, false);
	tp_tell_all(card);
	for (index = 0; index < card->channel_count; index++)
		tp_uring_cut_off(&card->channels[index]);
}

int tp_card_reset(struct tp_card *card, const struct tp_owner *owner)
{
	int error;

	if (mutex_lock_killable(&card->resetting))
		return -EINTR;
	/* Who has put it down starts it again. */
	if (!card->away)
		tp_send_away(card, owner);
	if (down_write_killable(&card->gate)) {
		if (!card->away)
			tp_call_back(card);
		mutex_unlock(&card->resetting);
		return -EINTR;
	}
	if (card->gone || card->failed || card->away) {
		error = card->gone ? -ENODEV : card->failed ? -EIO : -ECONNRESET;
	} else {
		error = tp_quiet(card);
		if (error == -ETIMEDOUT)
			error = tp_cut_off(card) ? -EIO : -ENOLINK;
		tp_start_all(card, owner, !error);
	}
	tp_open_gate(card);
	mutex_unlock(&card->resetting);
	return error;
}

/* Send everybody away, and stop the card: it is down until tp_take_up(). */
static void tp_put_down(struct tp_card *card, bool reachable)
{
	u16 index;

	mutex_lock(&card->resetting);
	tp_send_away(card, NULL);
	down_write(&card->gate);
	WRITE_ONCE(card->away, true);
	tp_window_revoke(card);
	if (reachable)
		tp_quiet(card);
	pci_clear_master(card->pci);
	for (index = 0; index < card->channel_count; index++)
		tp_channel_abandon(&card->channels[index]);
	tp_open_gate(card);
	mutex_unlock(&card->resetting);
}

/* As after a binding, but for the files, which stay. */
static int tp_take_up(struct tp_card *card)
{
	int error;

	mutex_lock(&card->resetting);
	/* Its slot was reset for the sake of another card, or after somebody else was here. */
	if (!card->away)
		tp_send_away(card, NULL);
	down_write(&card->gate);
	/* A reset of the slot leaves it on. Not before the card is known to be quiet. */
	pci_clear_master(card->pci);
	error = tp_quiet(card);
	if (!error) {
		WRITE_ONCE(card->away, false);
		if (!card->failed)
			pci_set_master(card->pci);
		tp_start_all(card, NULL, true);
	} else {
		dev_err(&card->pci->dev, "the card does not come back: bind it again to use it\n");
		tp_fail(card);
	}
	tp_open_gate(card);
	mutex_unlock(&card->resetting);
	return error;
}

static int tp_suspend(struct device *device)
{
	tp_put_down(dev_get_drvdata(device), true);
	return 0;
}

static int tp_resume(struct device *device)
{
	return tp_take_up(dev_get_drvdata(device));
}

DEFINE_SIMPLE_DEV_PM_OPS(tp_power_operations, tp_suspend, tp_resume);

static pci_ers_result_t tp_error_detected(struct pci_dev *pci, pci_channel_state_t state)
{
	struct tp_card *card = pci_get_drvdata(pci);

	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	/* Nobody is told of a reset that is not going to be over. */
	if (state == pci_channel_io_perm_failure) {
		pci_clear_master(pci);
		tp_fail(card);
	}
	tp_put_down(card, false);
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t tp_slot_reset(struct pci_dev *pci)
{
	pci_restore_state(pci);
	pci_save_state(pci);
	/* It was on before. */
	pci_clear_master(pci);
	return tp_take_up(pci_get_drvdata(pci)) ? PCI_ERS_RESULT_DISCONNECT :
						  PCI_ERS_RESULT_RECOVERED;
}

/* Somebody resets the function: /sys/bus/pci/devices/.../reset, or a hypervisor. */
static void tp_reset_prepare(struct pci_dev *pci)
{
	tp_put_down(pci_get_drvdata(pci), true);
}

static void tp_reset_done(struct pci_dev *pci)
{
	tp_take_up(pci_get_drvdata(pci));
}

const struct pci_error_handlers tp_error_handlers = {
	.error_detected = tp_error_detected,
	.slot_reset = tp_slot_reset,
	.reset_prepare = tp_reset_prepare,
	.reset_done = tp_reset_done,
};
