// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Brings a card up and takes it away. */
#include "core.h"

static void tp_put(void *card)
{
	put_device(&((struct tp_card *)card)->device);
}

struct tp_card *tp_card_create(const struct tp_resources *bus)
{
	struct tp_card *card = tp_card_allocate(bus);
	int error;

	if (IS_ERR(card))
		return card;
	error = devm_add_action_or_reset(bus->device, tp_put, card);
	if (error)
		return ERR_PTR(error);
	error = tp_discover(card);
	if (error)
		return ERR_PTR(error);
	error = tp_card_quiet(card);
	if (!error)
		return card;
	dev_err_probe(bus->device, error, "the card does not end its reset\n");
	return ERR_PTR(error);
}

/* The card goes: calls leave, nothing is in flight, and programs' memory is released. */
static void tp_card_gone(void *data)
{
	struct tp_card *card = data;
	const bool has_failed = tp_card_state(card) == TP_CARD_FAILED;
	u16 index;

	tp_card_move(card, TP_CARD_GONE);
	tp_wake_all(card);
	down_write(&card->gate);
	tp_window_revoke(card);
	for (index = 0; index < card->channel_count; index++)
		cancel_delayed_work_sync(&tp_file_of(&card->channels[index])->flush);
	if (!has_failed && tp_card_quiet(card) == -ETIMEDOUT)
		dev_err(card->bus.device, "the card does not stop: it is cut off from memory\n");
	card->bus.operations->set_master(card, false);
	for (index = 0; index < card->channel_count; index++)
		tp_close(&card->channels[index]);
	cancel_delayed_work_sync(&card->look);
	/* Files that are still open keep the rest. */
	for (index = 0; index < card->channel_count; index++) {
		tp_queue_release(&card->channels[index]);
		tp_buffers_free(tp_file_of(&card->channels[index]));
	}
	tp_memories_unpin(card);
	up_write(&card->gate);
	tp_wake_all(card);
}

static void tp_remove_files(void *card)
{
	if (IS_ENABLED(CONFIG_TOWPATH_LATENCY))
		tp_latency_remove(card);
	tp_nodes_remove(card);
}

int tp_card_start(struct tp_card *card, u32 vectors)
{
	struct device *device = card->bus.device;
	u16 index;
	int error = 0;

	for (index = 0; index < card->channel_count && !error; index++)
		error = tp_channel_init(&card->channels[index]);
	if (!error)
		error = tp_rams_init(card);
	if (!error)
		error = tp_interrupts_request(card, vectors);
	if (!error)
		error = devm_add_action_or_reset(device, tp_card_gone, card);
	if (error)
		return error;
	card->bus.operations->set_master(card, true);
	tp_card_serve(card, NULL, true);
	error = tp_nodes_add(card);
	if (error)
		return error;
	if (IS_ENABLED(CONFIG_TOWPATH_LATENCY))
		tp_latency_add(card);
	error = devm_add_action_or_reset(device, tp_remove_files, card);
	if (error)
		return error;
	dev_info(device,
		 "towpath%d: core %s, version %u, serial number %#llx, %u channels, %u vectors\n",
		 card->number, card->core_name, card->table.core_version, card->table.serial,
		 card->channel_count, card->irq_count);
	return 0;
}

int tp_core_init(void)
{
	const int error = tp_nodes_init();

	if (!error && IS_ENABLED(CONFIG_TOWPATH_LATENCY))
		tp_latency_init();
	return error;
}

void tp_core_exit(void)
{
	if (IS_ENABLED(CONFIG_TOWPATH_LATENCY))
		tp_latency_exit();
	tp_nodes_exit();
}
