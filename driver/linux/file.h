/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A channel as a file: read() and write(), over the driver's own buffers (buffers.c) or the
 * program's memory in place.
 */
#ifndef TOWPATH_FILE_H
#define TOWPATH_FILE_H

#include <linux/fs.h>
#include <linux/uio.h>

#include "channel.h"

struct tp_buffer;
struct tp_transfer;

/*
 * There is one for each channel, for what the core has sent and no program has read stays for the
 * next program that opens the file. Under channel->io, but for what says otherwise.
 */
struct tp_file {
	struct tp_client client;
	struct tp_transfer *transfer; /* moves the program's memory in place, or NULL */
	struct tp_buffer *buffers; /* allocated when the file is opened */
	struct list_head idle; /* under lock */
	struct list_head ready; /* under lock; C2H: filled and not read yet, oldest first */
	/* H2C: written to since the last end of a message; C2H: read from since then. */
	bool message_open;
	bool owes_empty; /* H2C, by Xillybus' names: its last close sends an empty message */
	bool drain_timed_out; /* H2C: the last close() has not seen its end */
	int write_error; /* under lock; H2C: of what was written before, not reported yet */
	int read_error; /* C2H: came behind bytes that were reported */
	/* C2H: ends the wait of bytes in a buffer that the core leaves unfilled. */
	struct delayed_work flush;
	unsigned int flush_ms;
	/* Whose rules hold for the program that opened it; names.c has the others. */
	enum tp_names names;
	bool ended; /* C2H, Xillybus: the empty message that ends the file was there */
	bool failed; /* an error was reported: all calls report it */
};

static inline struct tp_file *tp_file_of(const struct tp_channel *channel)
{
	return container_of(channel->file, struct tp_file, client);
}

/* Make a channel's file, its first client; and free it when it cannot be opened any more. */
int tp_file_create(struct tp_channel *channel);
void tp_file_free(struct tp_channel *channel);
int tp_channel_release(struct inode *inode, struct file *file);
extern const struct file_operations tp_channel_operations;

/* buffers.c */
/* Under io: fresh ones for a program that opens the file. What was not read stays. */
int tp_buffers_allocate(struct tp_file *file);
void tp_buffers_free(struct tp_file *file);
/*
 * H2C, under io: copy what fits into one idle buffer and post it. Bytes, EAGAIN: no buffer or no
 * room, or another error.
 */
ssize_t tp_buffers_write(struct tp_file *file, struct iov_iter *from, bool end);
/* H2C: could tp_buffers_write() do something? */
bool tp_buffers_can_write(struct tp_file *file);
/* C2H, under io: copy what is ready, no further than the end of a message. */
ssize_t tp_buffers_read(struct tp_file *file, struct iov_iter *to, bool *ended);
/* C2H: is there something to see? For a call that has `started`, the mere end of a message is. */
bool tp_buffers_can_read(struct tp_file *file, bool started);
/* C2H, under io: post idle buffers ahead, as many as there is room for. 0, or an error. */
int tp_buffers_ahead(struct tp_file *file);
/* Under lock: a buffer's descriptor has ended. */
void tp_buffer_ended(struct tp_file *file, struct tp_work *work);
/* Under lock: forget what was not read. */
void tp_buffers_drop(struct tp_file *file);

#endif
