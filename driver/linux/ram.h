/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A memory of the user core as a file: bytes at places, which any number of programs read and write
 * at once. Behind it are two channels of kind memory and of one name, one for each direction.
 *
 * While the file is open it is the client of both; else each of them can be made a queue, by the
 * file of its number. Its window is mapped by its file, and by the control file for who has made
 * its channels queues.
 */
#ifndef TOWPATH_RAM_H
#define TOWPATH_RAM_H

#include <linux/fs.h>

#include "channel.h"

/* Made once, with the table; released with the channels. */
struct tp_ram {
	struct tp_channel *writer; /* H2C */
	struct tp_channel *reader; /* C2H */
	u64 bytes;
	unsigned long place; /* of its window in files, as the kernel counts; see TP_MEMORY_PLACE */
	u64 pages; /* that are all in the memory; 0: it has no window */
	struct mutex opening; /* of the next */
	u32 openers;
	struct tp_client clients[2]; /* of writer and reader, while there are openers */
	void *copies[2]; /* of writer and reader, under its io: for what is not moved in place */
	dma_addr_t addresses[2]; /* the same for the card */
	struct tp_work
		closing; /* under the writer's io: ends a message that a cancel has left open */
};

/* Pair the channels of a card: each of a pair points to its memory. */
int tp_rams_find(struct tp_card *card);
/* Allocate what calls need; it is released with the card's device. */
int tp_rams_init(struct tp_card *card);
void tp_ram_free(struct tp_channel *channel);
/* mmap() of the control file, with the offset that TOWPATH_IOC_WINDOW gives. */
int tp_rams_mmap(struct tp_card *card, struct vm_area_struct *place);
/* Is the file of the channel's name that of a memory, and of this channel's number? */
static inline bool tp_names_ram(const struct tp_channel *channel)
{
	return channel->ram &&
	       channel->index == min(channel->ram->writer->index, channel->ram->reader->index);
}

int tp_ram_release(struct inode *inode, struct file *file);
int tp_ram_fsync(struct file *file, loff_t start, loff_t end, int datasync);
extern const struct file_operations tp_ram_operations;

#endif
