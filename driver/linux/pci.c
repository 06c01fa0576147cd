// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The PCI bus: binds to the contract's PCI identification (more by the driver's new_id), and then
 * only to what has the discovery table's magic. All else is the core's, which knows no PCI.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "core.h"

static struct pci_dev *tp_pci(struct tp_card *card)
{
	return to_pci_dev(card->bus.device);
}

static bool tp_pci_is_present(struct tp_card *card)
{
	return pci_device_is_present(tp_pci(card));
}

static void tp_pci_set_master(struct tp_card *card, bool may)
{
	if (may)
		pci_set_master(tp_pci(card));
	else
		pci_clear_master(tp_pci(card));
}

static int tp_pci_irq(struct tp_card *card, u32 number)
{
	return pci_irq_vector(tp_pci(card), number);
}

static const struct tp_bus_operations tp_pci_operations = {
	.is_present = tp_pci_is_present,
	.set_master = tp_pci_set_master,
	.irq = tp_pci_irq,
};

/* Can these be a Towpath card's? The windows' may be missing. */
static int tp_check_bars(struct pci_dev *pci)
{
	static const u8 bars[] = { TP_BAR_DEVICE, TP_BAR_WINDOW, TP_BAR_MEMORY };
	unsigned int index;

	for (index = 0; index < ARRAY_SIZE(bars); index++)
		if (pci_resource_len(pci, bars[index]) &&
		    !(pci_resource_flags(pci, bars[index]) & IORESOURCE_MEM))
			return dev_err_probe(&pci->dev, -ENODEV,
					     "BAR %u is not memory: this is no Towpath card\n",
					     bars[index]);
	if (pci_resource_len(pci, TP_BAR_DEVICE) < (u64)TP_PAGE_CHANNELS * TP_PAGE_BYTES_MIN)
		return dev_err_probe(&pci->dev, -ENODEV, "BAR %u is too small for a Towpath card\n",
				     TP_BAR_DEVICE);
	return 0;
}

static int tp_map(struct pci_dev *pci, struct tp_resources *bus)
{
	int bars = BIT(TP_BAR_DEVICE);
	int error;

	*bus = (struct tp_resources){
		.device = &pci->dev,
		.operations = &tp_pci_operations,
		.page_bytes = pci_resource_len(pci, TP_BAR_DEVICE),
		.window_start = TP_CAN_MAP_BARS ? pci_resource_start(pci, TP_BAR_WINDOW) : 0,
		.window_bytes = pci_resource_len(pci, TP_BAR_WINDOW),
		.memory_start = TP_CAN_MAP_BARS ? pci_resource_start(pci, TP_BAR_MEMORY) : 0,
		.memory_bytes = pci_resource_len(pci, TP_BAR_MEMORY),
	};
	if (bus->window_bytes)
		bars |= BIT(TP_BAR_WINDOW);
	error = pcim_iomap_regions(pci, bars, "towpath");
	if (error)
		return error;
	bus->pages = pcim_iomap_table(pci)[TP_BAR_DEVICE];
	bus->window = pcim_iomap_table(pci)[TP_BAR_WINDOW];
	/* Where another user of the area has refused it, stores to memories do not combine. */
	if (bus->memory_start && bus->memory_bytes &&
	    devm_arch_io_reserve_memtype_wc(&pci->dev, bus->memory_start, bus->memory_bytes))
		dev_dbg(&pci->dev, "stores to BAR %u do not combine\n", TP_BAR_MEMORY);
	return 0;
}

static void tp_free_vectors(void *pci)
{
	pci_free_irq_vectors(pci);
}

static int tp_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct tp_resources bus;
	struct tp_card *card;
	int count;
	int error = tp_check_bars(pci);

	/* A group, which remove() releases while the bus still has the device in use. */
	if (!error && !devres_open_group(&pci->dev, tp_probe, GFP_KERNEL))
		error = -ENOMEM;
	if (!error)
		error = pcim_enable_device(pci);
	if (!error)
		error = tp_map(pci, &bus);
	if (!error && dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(64)))
		error = dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(32));
	if (error)
		return error;
	dma_set_max_seg_size(&pci->dev, U32_MAX);
	card = tp_card_create(&bus);
	if (IS_ERR(card))
		return PTR_ERR(card);
	pci_set_drvdata(pci, card);
	count = pci_alloc_irq_vectors(pci, 1, tp_card_vectors(card), PCI_IRQ_MSIX);
	if (count < 0)
		return dev_err_probe(&pci->dev, count, "no MSI-X vector\n");
	error = devm_add_action_or_reset(&pci->dev, tp_free_vectors, pci);
	if (!error)
		error = tp_card_start(card, count);
	if (error)
		return error;
	/* For a bus that resets the card after an error. */
	pci_save_state(pci);
	devres_close_group(&pci->dev, tp_probe);
	return 0;
}

static void tp_remove(struct pci_dev *pci)
{
	devres_release_group(&pci->dev, tp_probe);
}

static int tp_suspend(struct device *device)
{
	tp_card_suspend(dev_get_drvdata(device), true);
	return 0;
}

static int tp_resume(struct device *device)
{
	return tp_card_resume(dev_get_drvdata(device));
}

static DEFINE_SIMPLE_DEV_PM_OPS(tp_power_operations, tp_suspend, tp_resume);

static pci_ers_result_t tp_error_detected(struct pci_dev *pci, pci_channel_state_t state)
{
	struct tp_card *card = pci_get_drvdata(pci);

	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	/* Users get EIO, and no word of a reset: it would not end. */
	if (state == pci_channel_io_perm_failure) {
		pci_clear_master(pci);
		tp_card_fail(card);
	}
	tp_card_suspend(card, false);
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t tp_slot_reset(struct pci_dev *pci)
{
	pci_restore_state(pci);
	pci_save_state(pci);
	/* It was on before. */
	pci_clear_master(pci);
	return tp_card_resume(pci_get_drvdata(pci)) ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_RECOVERED;
}

/* A reset of the function: /sys/bus/pci/devices/.../reset, or a hypervisor's. */
static void tp_reset_prepare(struct pci_dev *pci)
{
	tp_card_suspend(pci_get_drvdata(pci), true);
}

static void tp_reset_done(struct pci_dev *pci)
{
	tp_card_resume(pci_get_drvdata(pci));
}

static const struct pci_error_handlers tp_error_handlers = {
	.error_detected = tp_error_detected,
	.slot_reset = tp_slot_reset,
	.reset_prepare = tp_reset_prepare,
	.reset_done = tp_reset_done,
};

static const struct pci_device_id tp_ids[] = {
	{ PCI_DEVICE_SUB(TP_PCI_VENDOR, TP_PCI_DEVICE, TP_PCI_SUBSYSTEM_VENDOR, TP_PCI_SUBSYSTEM) },
	{}
};
MODULE_DEVICE_TABLE(pci, tp_ids);

static struct pci_driver tp_driver = {
	.name = "towpath",
	.id_table = tp_ids,
	.probe = tp_probe,
	.remove = tp_remove,
	.driver.pm = pm_sleep_ptr(&tp_power_operations),
	.err_handler = &tp_error_handlers,
};

static int __init tp_init(void)
{
	int error = tp_core_init();

	if (error)
		return error;
	error = pci_register_driver(&tp_driver);
	if (error)
		tp_core_exit();
	return error;
}

static void __exit tp_exit(void)
{
	pci_unregister_driver(&tp_driver);
	tp_core_exit();
}

module_init(tp_init);
module_exit(tp_exit);

MODULE_DESCRIPTION("Towpath: data between programs and user cores on FPGAs");
MODULE_AUTHOR("The Towpath authors");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("0.1.0");
