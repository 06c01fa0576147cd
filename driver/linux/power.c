// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A card that stays bound, and loses what it knew: sleep of the system, resets of its function by
 * somebody else, and errors of the bus that the system recovers from. Whoever has a channel open is
 * told once (ECONNRESET), and can go on.
 */
#include <linux/pci.h>

#include "card.h"

/* Send everybody away, and stop the card. */
static void tp_put_down(struct tp_card *card, bool reachable)
{
	u16 index;

	card->down = true;
	tp_stop_all(card);
	wake_up_all(&card->interrupt_wait);
	down_write(&card->gate);
	if (reachable)
		tp_quiet(card);
	pci_clear_master(card->pci);
	for (index = 0; index < card->channel_count; index++)
		tp_channel_abandon(&card->channels[index]);
	up_write(&card->gate);
}

/* As after a binding, but for the files, which stay. */
static int tp_take_up(struct tp_card *card)
{
	int error;
	u16 index;

	down_write(&card->gate);
	error = tp_quiet(card);
	if (!error) {
		pci_set_master(card->pci);
		tp_set_interrupts(card);
		for (index = 0; index < card->channel_count; index++)
			tp_channel_restart(&card->channels[index]);
		card->down = false;
	}
	up_write(&card->gate);
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
	tp_put_down(card, false);
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t tp_slot_reset(struct pci_dev *pci)
{
	pci_restore_state(pci);
	pci_save_state(pci);
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
	if (tp_take_up(pci_get_drvdata(pci)))
		dev_err(&pci->dev, "the card does not come back from its reset: bind it again\n");
}

const struct pci_error_handlers tp_error_handlers = {
	.error_detected = tp_error_detected,
	.slot_reset = tp_slot_reset,
	.reset_prepare = tp_reset_prepare,
	.reset_done = tp_reset_done,
};
