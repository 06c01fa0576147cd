// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Device files: /dev/towpathN/control, and for each channel that is a stream /dev/towpathN/NUMBER
 * and /dev/towpathN/NAME, one and the same. A memory is /dev/towpathN/NAME, and its two channels
 * have a NUMBER each. Other kinds of channels are listed in sysfs alone.
 *
 * Names are the card's, and so distrusted, clean as they are: what could lead out of the folder, or
 * hide another file, gets no file of that name.
 *
 * On demand there are more nodes, by the names of Xillybus or VerCoLib: see names.c.
 */
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "control.h"
#include "core.h"
#include "names.h"

#define TP_CARDS 32
/* Control, and two for each channel; behind them another one for each, and for control. */
#define TP_MINORS 256
#define TP_MINOR_NAMED 128
#define TP_MINOR_ENDPOINT (TP_MINOR_NAMED + TP_CHANNELS_MAX)

const char *const tp_names_words[] = {
	[TP_NAMES_OWN] = "towpath",
	[TP_NAMES_XILLYBUS] = "xillybus",
	[TP_NAMES_VERCOLIB] = "vercolib",
};

static_assert(ARRAY_SIZE(tp_names_words) == TP_NAMES_COUNT);

static char *names = "towpath";
module_param(names, charp, 0444);
MODULE_PARM_DESC(names, "other names of cards' files: xillybus, vercolib; towpath: none (default)");

/* Of card->names, card->has_files, and the nodes by these names. */
static DEFINE_MUTEX(tp_naming);
/* What the parameter says. */
static enum tp_names tp_names_first;

/* Files are root's alone (devtmpfs); a udev rule gives them to a group. */
static struct class tp_class = { .name = "towpath" };
static dev_t tp_numbers;
static DEFINE_IDA(tp_cards);

static dev_t tp_number(const struct tp_card *card, unsigned int minor)
{
	return tp_numbers + card->number * TP_MINORS + minor;
}

/* Of a channel's two numbers, the second is that of its name. */
static unsigned int tp_minor(u16 index, bool by_name)
{
	return 1 + 2 * index + by_name;
}

static bool tp_by_name(unsigned int minor)
{
	return minor % 2 == 0;
}

/*
 * Is the channel in the names that the card has? VerCoLib has no memories. Of two channels with one
 * name, one has it.
 */
static bool tp_is_named(const struct tp_channel *channel, enum tp_names among)
{
	switch (among) {
	case TP_NAMES_XILLYBUS:
		return channel->has_name;
	case TP_NAMES_VERCOLIB:
		return tp_is_stream(channel);
	default:
		return false;
	}
}

/* A node by a name of another driver's. */
static const struct file_operations *tp_find_named(struct tp_card *card, unsigned int minor,
						   struct file *file)
{
	const enum tp_names among = READ_ONCE(card->names);
	const unsigned int index = minor - TP_MINOR_NAMED;
	struct tp_channel *channel;

	if (minor == TP_MINOR_ENDPOINT)
		return among == TP_NAMES_VERCOLIB ? &tp_control_operations : NULL;
	if (index >= card->channel_count || !tp_is_named(&card->channels[index], among))
		return NULL;
	channel = &card->channels[index];
	file->private_data = channel;
	return channel->ram ? &tp_named_ram_operations : &tp_named_operations;
}

static int tp_open_any(struct inode *inode, struct file *file)
{
	struct tp_card *card = container_of(inode->i_cdev, struct tp_card, cdev);
	unsigned int minor = (iminor(inode) - MINOR(tp_numbers)) % TP_MINORS;
	const struct file_operations *operations = &tp_control_operations;

	file->private_data = card;
	if (minor >= TP_MINOR_NAMED) {
		operations = tp_find_named(card, minor, file);
		if (!operations)
			return -ENXIO;
	} else if (minor > 0) {
		unsigned int index = (minor - 1) / 2;

		if (index >= card->channel_count || !tp_has_file(&card->channels[index]))
			return -ENXIO;
		file->private_data = &card->channels[index];
		operations = tp_by_name(minor) && card->channels[index].ram ?
				     &tp_ram_operations :
				     &tp_channel_operations;
	}
	operations = fops_get(operations);
	if (!operations)
		return -ENODEV;
	replace_fops(file, operations);
	return file->f_op->open(inode, file);
}

static const struct file_operations tp_any_operations = {
	.owner = THIS_MODULE,
	.open = tp_open_any,
};

static void tp_card_release(struct device *device)
{
	struct tp_card *card = container_of(device, struct tp_card, device);
	u16 index;

	ida_free(&tp_cards, card->number);
	for (index = 0; index < card->channel_count; index++) {
		tp_file_free(&card->channels[index]);
		tp_ram_free(&card->channels[index]);
	}
	kfree(card->channels);
	kfree(card);
}

struct tp_card *tp_card_allocate(const struct tp_resources *bus)
{
	struct tp_card *card = kzalloc(sizeof(*card), GFP_KERNEL);

	if (!card)
		return ERR_PTR(-ENOMEM);
	card->number = ida_alloc_max(&tp_cards, TP_CARDS - 1, GFP_KERNEL);
	if (card->number < 0) {
		int error = card->number;

		kfree(card);
		return ERR_PTR(error);
	}
	card->bus = *bus;
	tp_card_init(card);
	INIT_DELAYED_WORK(&card->look, tp_look);
	device_initialize(&card->device);
	card->device.class = &tp_class;
	card->device.parent = bus->device;
	card->device.release = tp_card_release;
	card->device.groups = tp_card_groups;
	card->device.devt = tp_number(card, 0);
	dev_set_drvdata(&card->device, card);
	cdev_init(&card->cdev, &tp_any_operations);
	card->cdev.owner = THIS_MODULE;
	cdev_set_parent(&card->cdev, &card->device.kobj);
	return card;
}

/* May there be a file of this channel's name? */
static bool tp_name_serves(const struct tp_card *card, const struct tp_channel *channel)
{
	const char *name = channel->name;
	const char *at;
	u16 other;

	if (!*name || !strcmp(name, "control") || *name == '.' || (*name >= '0' && *name <= '9'))
		return false;
	for (at = name; *at; at++)
		if (*at == '/' || *at == '!' || *at == ' ')
			return false;
	for (other = 0; other < channel->index; other++)
		if (tp_has_file(&card->channels[other]) &&
		    !strcmp(name, card->channels[other].name))
			return false;
	return true;
}

static int tp_node(struct tp_card *card, struct tp_channel *channel, bool by_name)
{
	const struct attribute_group **groups = by_name ? NULL : tp_channel_groups;
	const bool has_file = tp_has_file(channel);
	/* The kernel makes no file for number 0. */
	dev_t at = has_file ? tp_number(card, tp_minor(channel->index, by_name)) : MKDEV(0, 0);
	struct device *node;
	char number[8];

	snprintf(number, sizeof(number), "%u", channel->index);
	/* '!' is how the kernel writes '/' in the name of a device. */
	node = device_create_with_groups(&tp_class, &card->device, at, channel, groups,
					 "towpath%d!%s", card->number,
					 by_name ? channel->name : number);
	if (!has_file && !IS_ERR(node))
		channel->listed = node;
	return PTR_ERR_OR_ZERO(node);
}

static void tp_named_remove(struct tp_card *card)
{
	unsigned int minor;

	for (minor = TP_MINOR_NAMED; minor <= TP_MINOR_ENDPOINT; minor++)
		device_destroy(&tp_class, tp_number(card, minor));
	WRITE_ONCE(card->names, TP_NAMES_OWN);
}

/* Cards but the first have a unit's number. As the FPGA sees it, what is written is received. */
static struct device *tp_named_node(struct tp_card *card, struct tp_channel *channel,
				    enum tp_names among, unsigned int counted)
{
	const dev_t at = tp_number(card, TP_MINOR_NAMED + channel->index);
	struct device *parent = &card->device;

	if (among == TP_NAMES_VERCOLIB)
		return device_create(&tp_class, parent, at, channel, "vcl_%d_%s_%u", card->number,
				     tp_is_h2c(channel) ? "rx" : "tx", counted);
	if (!card->number)
		return device_create(&tp_class, parent, at, channel, "xillybus_%s", channel->name);
	return device_create(&tp_class, parent, at, channel, "xillybus_%02d_%s", card->number,
			     channel->name);
}

static int tp_named_add(struct tp_card *card, enum tp_names among)
{
	unsigned int counted[2] = {};
	struct device *node = NULL;
	u16 index;

	/* Who sees a node may open it. */
	WRITE_ONCE(card->names, among);
	if (among == TP_NAMES_VERCOLIB)
		node = device_create(&tp_class, &card->device, tp_number(card, TP_MINOR_ENDPOINT),
				     card, "vcl_%d", card->number);
	for (index = 0; index < card->channel_count && !IS_ERR(node); index++) {
		struct tp_channel *channel = &card->channels[index];

		if (tp_is_named(channel, among))
			node = tp_named_node(card, channel, among, counted[tp_is_h2c(channel)]++);
	}
	if (IS_ERR(node))
		tp_named_remove(card);
	return PTR_ERR_OR_ZERO(node);
}

int tp_nodes_name(struct tp_card *card, enum tp_names among)
{
	int error = 0;

	mutex_lock(&tp_naming);
	if (!card->has_files) {
		error = -ENODEV;
	} else if (among != card->names) {
		tp_named_remove(card);
		error = tp_named_add(card, among);
	}
	mutex_unlock(&tp_naming);
	return error;
}

int tp_nodes_add(struct tp_card *card)
{
	u16 index;
	int error;

	error = dev_set_name(&card->device, "towpath%d!control", card->number);
	if (error)
		return error;
	error = cdev_add(&card->cdev, tp_number(card, 0), TP_MINORS);
	if (error)
		return error;
	error = device_add(&card->device);
	if (error) {
		cdev_del(&card->cdev);
		return error;
	}
	for (index = 0; index < card->channel_count && !error; index++) {
		struct tp_channel *channel = &card->channels[index];

		error = tp_node(card, channel, false);
		if (!tp_is_stream(channel) && !tp_names_ram(channel))
			continue;
		channel->has_name = tp_name_serves(card, channel);
		if (!error && channel->has_name)
			error = tp_node(card, channel, true);
		else if (!error && channel->ram)
			dev_warn(card->bus.device,
				 "the memory of channel %u has no file: its name cannot be one\n",
				 index);
		else if (!error)
			dev_warn(card->bus.device,
				 "channel %u cannot have a file of its name: it is %u\n", index,
				 index);
	}
	if (!error) {
		mutex_lock(&tp_naming);
		card->has_files = true;
		/* A card's names may be in the way of another's: it serves by its own. */
		if (tp_named_add(card, tp_names_first))
			dev_warn(card->bus.device, "no files by the names of %s\n", names);
		mutex_unlock(&tp_naming);
	}
	if (error)
		tp_nodes_remove(card);
	return error;
}

void tp_nodes_remove(struct tp_card *card)
{
	unsigned int minor;
	u16 index;

	mutex_lock(&tp_naming);
	card->has_files = false;
	tp_named_remove(card);
	mutex_unlock(&tp_naming);
	for (index = 0; index < card->channel_count; index++) {
		if (card->channels[index].listed)
			device_unregister(card->channels[index].listed);
		card->channels[index].listed = NULL;
	}
	/* Numbers without a device are passed over. */
	for (minor = 1; minor <= 2 * card->channel_count; minor++)
		device_destroy(&tp_class, tp_number(card, minor));
	cdev_del(&card->cdev);
	device_del(&card->device);
}

int tp_nodes_init(void)
{
	const int first = match_string(tp_names_words, TP_NAMES_COUNT, names);
	int error;

	if (first < 0) {
		pr_err("towpath: names=%s is none of towpath, xillybus and vercolib\n", names);
		return -EINVAL;
	}
	tp_names_first = first;
	error = alloc_chrdev_region(&tp_numbers, 0, TP_CARDS * TP_MINORS, "towpath");
	if (error)
		return error;
	error = class_register(&tp_class);
	if (error)
		unregister_chrdev_region(tp_numbers, TP_CARDS * TP_MINORS);
	return error;
}

void tp_nodes_exit(void)
{
	class_unregister(&tp_class);
	unregister_chrdev_region(tp_numbers, TP_CARDS * TP_MINORS);
	ida_destroy(&tp_cards);
}
