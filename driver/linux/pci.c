// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Finds cards and brings them up and down. Binds to the contract's PCI identification (more by the
 * driver's new_id), and then only to what has the discovery table's magic.
 */
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "card.h"
#include "trace.h"

/* Interrupts of one vector without news, one after the other, after which it is armed no more. */
#define TP_IDLE_FIRES 1000

/* Why the card may not be used, or 0. */
static int tp_state(const struct tp_card *card)
{
	return READ_ONCE(card->gone)   ? -ENODEV :
	       READ_ONCE(card->failed) ? -EIO :
	       READ_ONCE(card->down)   ? -ECONNRESET :
					 0;
}

/* Having taken the gate. */
static int tp_entered(struct tp_card *card)
{
	const int error = tp_state(card);

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
	error = tp_state(card);
	return error ? error : -EAGAIN;
}

void tp_leave(struct tp_card *card)
{
	up_read(&card->gate);
}

void tp_tell_all(struct tp_card *card)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		struct tp_channel *channel = &card->channels[index];

		wake_up_all(&channel->wait);
		spin_lock_irq(&channel->lock);
		tp_queue_news(channel);
		spin_unlock_irq(&channel->lock);
	}
}

void tp_open_gate(struct tp_card *card)
{
	up_write(&card->gate);
	tp_tell_all(card);
}

void tp_gone(struct tp_card *card)
{
	WRITE_ONCE(card->gone, true);
	wake_up_all(&card->interrupt_wait);
	tp_tell_all(card);
}

static bool tp_has_interrupt_vector(const struct tp_card *card, u32 vector)
{
	u32 first = min_t(u32, card->channel_count, card->irq_count - 1);

	return card->interrupts && vector >= first;
}

static u32 tp_interrupt_vector(const struct tp_card *card, u32 index)
{
	return min_t(u32, card->channel_count + index, card->irq_count - 1);
}

/* Count on the eventfds of those user interrupts that have this vector. */
static void tp_signal_interrupts(struct tp_card *card, u32 vector)
{
	struct tp_owner *owner;
	unsigned long flags;
	u32 index;

	spin_lock_irqsave(&card->owners_lock, flags);
	list_for_each_entry(owner, &card->owners, link)
		for (index = 0; index < card->interrupts; index++)
			if (owner->events[index] && tp_interrupt_vector(card, index) == vector)
				tp_eventfd_signal(owner->events[index]);
	spin_unlock_irqrestore(&card->owners_lock, flags);
}

static irqreturn_t tp_interrupt(int irq, void *data)
{
	struct tp_vector *vector = data;
	struct tp_card *card = vector->card;
	u16 index;

	bool news = tp_has_interrupt_vector(card, vector->number);

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
		dev_err(&card->pci->dev,
			"interrupts that tell of nothing: the card wants a reset\n");
	for (index = 0; index < card->channel_count; index++)
		if (card->channels[index].vector == vector->number)
			tp_channel_rearm(&card->channels[index],
					 vector->idle_fires < TP_IDLE_FIRES);
	return IRQ_HANDLED;
}

static void tp_free_vectors(struct tp_card *card)
{
	u32 number;

	for (number = 0; number < card->irq_count; number++)
		if (card->irqs[number].card)
			free_irq(pci_irq_vector(card->pci, number), &card->irqs[number]);
	pci_free_irq_vectors(card->pci);
	kfree(card->irqs);
}

void tp_set_interrupts(struct tp_card *card)
{
	void __iomem *page = tp_card_page(card);
	u32 number;

	mutex_lock(&card->window);
	for (number = 0; number < card->interrupts; number++)
		writel(tp_interrupt_vector(card, number),
		       page + TP_CARD_USER_IRQ_VECTOR_OFFSET +
			       number * TP_CARD_USER_IRQ_VECTOR_STRIDE);
	writel(card->interrupts_enabled, page + TP_CARD_USER_IRQ_ENABLE_OFFSET);
	mutex_unlock(&card->window);
}

/*
 * A vector for each channel and each user interrupt, or as many as there are: the last one is then
 * shared.
 */
static int tp_allocate_vectors(struct tp_card *card)
{
	u32 users = card->channel_count + card->interrupts;
	u32 number;
	int count;

	count = pci_alloc_irq_vectors(card->pci, 1, clamp_t(u32, users, 1, card->vectors),
				      PCI_IRQ_MSIX);
	if (count < 0)
		return dev_err_probe(&card->pci->dev, count, "no MSI-X vector\n");
	card->irqs = kcalloc(count, sizeof(*card->irqs), GFP_KERNEL);
	if (!card->irqs) {
		pci_free_irq_vectors(card->pci);
		return -ENOMEM;
	}
	card->irq_count = count;
	for (number = 0; number < card->channel_count; number++)
		card->channels[number].vector = min_t(u32, number, count - 1);
	tp_set_interrupts(card);
	for (number = 0; number < card->irq_count; number++) {
		struct tp_vector *vector = &card->irqs[number];
		int error;

		vector->number = number;
		vector->card = card;
		snprintf(vector->name, sizeof(vector->name), "towpath%d-%u", card->number, number);
		error = request_irq(pci_irq_vector(card->pci, number), tp_interrupt, 0,
				    vector->name, vector);
		if (error) {
			vector->card = NULL;
			tp_free_vectors(card);
			return dev_err_probe(&card->pci->dev, error, "vector %u cannot be used\n",
					     number);
		}
	}
	return 0;
}

static bool tp_is_resetting(void __iomem *control, bool *unanswered)
{
	const u32 value = readl(control);

	*unanswered |= value == U32_MAX;
	return value & TP_CARD_CONTROL_RESET_MASK;
}

int tp_quiet(struct tp_card *card)
{
	void __iomem *control = tp_card_page(card) + TP_CARD_CONTROL_OFFSET;
	unsigned int tries;

	trace_towpath_card_reset(card);
	for (tries = 0; tries < TP_TRIES; tries++) {
		bool unanswered = false;
		bool silent = false;
		bool goes_on;

		if (!pci_device_is_present(card->pci))
			return -ENOLINK;
		writel(TP_CARD_CONTROL_RESET_MASK, control);
		if (read_poll_timeout(tp_is_resetting, goes_on, !goes_on, TP_POLL_US, TP_GRACE_US,
				      false, control, &unanswered)) {
			tp_is_resetting(control, &silent);
			if (!unanswered || silent)
				break;
		} else if (!unanswered) {
			return 0;
		}
		/* It was out of reach meanwhile, and may not know of it. */
	}
	return pci_device_is_present(card->pci) ? -ETIMEDOUT : -ENOLINK;
}

static void tp_free_channels(struct tp_card *card)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++) {
		tp_buffers_free(&card->channels[index]);
		tp_pages_free(&card->channels[index]);
		tp_channel_free(&card->channels[index]);
	}
}

/* Programs that still have files open get their memory back now. */
static void tp_give_back(struct tp_card *card)
{
	u16 index;

	for (index = 0; index < card->channel_count; index++)
		tp_queue_rest(&card->channels[index]);
	tp_memories_unpin(card);
}

/* Can these be a Towpath card's? The window's may be missing. */
static int tp_check_bars(struct pci_dev *pci)
{
	static const u8 bars[] = { TP_BAR_DEVICE, TP_BAR_WINDOW };
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

static int tp_map(struct tp_card *card)
{
	struct pci_dev *pci = card->pci;

	card->pages = pci_iomap(pci, TP_BAR_DEVICE, 0);
	if (!card->pages)
		return -ENOMEM;
	if (!pci_resource_len(pci, TP_BAR_WINDOW))
		return 0;
	card->window_bar = pci_iomap(pci, TP_BAR_WINDOW, 0);
	if (!card->window_bar)
		return -ENOMEM;
	tp_window_init(card);
	return 0;
}

static void tp_unmap(struct tp_card *card)
{
	if (card->window_bar)
		pci_iounmap(card->pci, card->window_bar);
	if (card->pages)
		pci_iounmap(card->pci, card->pages);
	card->window_bar = NULL;
	card->pages = NULL;
}

static int tp_probe(struct pci_dev *pci, const struct pci_device_id *id)
{
	struct tp_card *card;
	u16 index;
	int error = tp_check_bars(pci);

	if (error)
		return error;
	card = tp_card_create(pci);
	if (IS_ERR(card))
		return PTR_ERR(card);
	error = pci_enable_device(pci);
	if (error)
		goto put;
	error = pci_request_regions(pci, "towpath");
	if (error)
		goto disable;
	error = dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(64));
	if (error)
		error = dma_set_mask_and_coherent(&pci->dev, DMA_BIT_MASK(32));
	if (error)
		goto release;
	dma_set_max_seg_size(&pci->dev, U32_MAX);
	error = tp_map(card);
	if (!error)
		error = tp_discover(card);
	if (error)
		goto unmap;
	/* Stop whatever a driver before this one left running, before the card may reach memory. */
	error = tp_quiet(card);
	if (error) {
		dev_err(&pci->dev, "the card does not end its reset\n");
		goto unmap;
	}
	pci_set_master(pci);
	error = tp_allocate_vectors(card);
	if (error)
		goto unmap;
	for (index = 0; index < card->channel_count && !error; index++)
		error = tp_channel_init(card, &card->channels[index]);
	if (error)
		goto channels;
	pci_set_drvdata(pci, card);
	error = tp_nodes_add(card);
	if (error)
		goto channels;
	tp_latency_add(card);
	/* For a bus that resets the card after an error. */
	pci_save_state(pci);
	dev_info(&pci->dev,
		 "towpath%d: core %s, version %u, serial number %#llx, %u channels, %u vectors\n",
		 card->number, card->core_name, card->core_version, card->serial,
		 card->channel_count, card->irq_count);
	return 0;

channels:
	/* Somebody may have opened one of the files that were there for a moment. */
	tp_gone(card);
	down_write(&card->gate);
	tp_window_revoke(card);
	for (index = 0; index < card->channel_count; index++)
		cancel_delayed_work_sync(&card->channels[index].flush);
	tp_quiet(card);
	pci_clear_master(pci);
	tp_free_vectors(card);
	for (index = 0; index < card->channel_count; index++)
		tp_channel_abandon(&card->channels[index]);
	cancel_delayed_work_sync(&card->look);
	tp_give_back(card);
	tp_free_channels(card);
	tp_unmap(card);
	tp_open_gate(card);
unmap:
	tp_unmap(card);
	pci_clear_master(pci);
release:
	pci_release_regions(pci);
disable:
	pci_disable_device(pci);
put:
	put_device(&card->device);
	return error;
}

static void tp_remove(struct pci_dev *pci)
{
	struct tp_card *card = pci_get_drvdata(pci);
	u16 index;

	tp_latency_remove(card);
	tp_nodes_remove(card);
	tp_gone(card);
	/* Everybody leaves; who comes later is sent away. */
	down_write(&card->gate);
	tp_window_revoke(card);
	for (index = 0; index < card->channel_count; index++)
		cancel_delayed_work_sync(&card->channels[index].flush);
	if (!card->failed && tp_quiet(card) == -ETIMEDOUT)
		dev_err(&pci->dev, "the card does not stop: it is cut off from memory\n");
	pci_clear_master(pci);
	tp_free_vectors(card);
	for (index = 0; index < card->channel_count; index++)
		tp_channel_abandon(&card->channels[index]);
	cancel_delayed_work_sync(&card->look);
	tp_give_back(card);
	tp_free_channels(card);
	tp_unmap(card);
	tp_open_gate(card);
	pci_release_regions(pci);
	pci_disable_device(pci);
	put_device(&card->device);
}

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
	int error = tp_nodes_init();

	if (error)
		return error;
	tp_latency_init();
	error = pci_register_driver(&tp_driver);
	if (error) {
		tp_latency_exit();
		tp_nodes_exit();
	}
	return error;
}

static void __exit tp_exit(void)
{
	pci_unregister_driver(&tp_driver);
	tp_latency_exit();
	tp_nodes_exit();
}

module_init(tp_init);
module_exit(tp_exit);

MODULE_DESCRIPTION("Towpath: data between programs and user cores on FPGAs");
MODULE_AUTHOR("The Towpath authors");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_VERSION("0.1.0");
