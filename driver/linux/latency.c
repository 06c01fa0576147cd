// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * debugfs: towpath/towpathN/NUMBER/latency counts how long a channel's descriptors took, from their
 * post to their end. A write clears it.
 */
#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "core.h"

static struct dentry *tp_folder;

static int tp_latency_show(struct seq_file *file, void *unused)
{
	struct tp_channel *channel = file->private;
	u64 counts[TP_LATENCIES];
	unsigned int used, index;

	spin_lock_irq(&channel->lock);
	memcpy(counts, channel->latencies, sizeof(counts));
	spin_unlock_irq(&channel->lock);
	for (used = TP_LATENCIES; used && !counts[used - 1]; used--)
		;
	/* From, to, and how many took so many nanoseconds. */
	for (index = 0; index < used; index++)
		seq_printf(file, "%llu %llu %llu\n", index ? 1ULL << index : 0, (2ULL << index) - 1,
			   counts[index]);
	return 0;
}

static int tp_latency_open(struct inode *inode, struct file *file)
{
	return single_open(file, tp_latency_show, inode->i_private);
}

static ssize_t tp_latency_write(struct file *file, const char __user *from, size_t bytes,
				loff_t *at)
{
	struct tp_channel *channel = file_inode(file)->i_private;

	spin_lock_irq(&channel->lock);
	memset(channel->latencies, 0, sizeof(channel->latencies));
	spin_unlock_irq(&channel->lock);
	return bytes;
}

static const struct file_operations tp_latency_operations = {
	.owner = THIS_MODULE,
	.open = tp_latency_open,
	.read = seq_read,
	.write = tp_latency_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* What debugfs refuses is not there, and nothing else depends on it. */
void tp_latency_add(struct tp_card *card)
{
	char name[16];
	u16 index;

	snprintf(name, sizeof(name), "towpath%d", card->number);
	card->debug = debugfs_create_dir(name, tp_folder);
	for (index = 0; index < card->channel_count; index++) {
		struct dentry *folder;

		snprintf(name, sizeof(name), "%u", index);
		folder = debugfs_create_dir(name, card->debug);
		debugfs_create_file("latency", 0600, folder, &card->channels[index],
				    &tp_latency_operations);
	}
}

void tp_latency_remove(struct tp_card *card)
{
	/* Waits for calls in the files; later calls on files that are open fail. */
	debugfs_remove(card->debug);
}

void tp_latency_init(void)
{
	tp_folder = debugfs_create_dir("towpath", NULL);
}

void tp_latency_exit(void)
{
	debugfs_remove(tp_folder);
}
