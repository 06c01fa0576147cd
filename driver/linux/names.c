// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Files by the names of Xillybus and VerCoLib, for programs that were written for these. All of the
 * work is done by the files of channels (file.c) and memories (ram.c); here their errors and states
 * become those which such programs know:
 *
 * - One error is fatal to the open file, which returns EIO from then on: what was in flight is lost
 *   by resets and faults alike, and none of these programs goes on behind a gap.
 * - A signal ends a wait with EINTR, whatever the program has wished.
 * - With Xillybus' names an empty message is the end of the file, until the file is opened again. A
 *   core ends others whenever it has nothing to give, so that their bytes arrive: nobody sees that.
 * - With Xillybus' names each write is a message, and the last close sends an empty one: a core
 *   with its ports forgets a part of a word then.
 *
 * What differs within reads, writes and closes asks for file->names there.
 */
#include <linux/poll.h>

#include "file.h"
#include "names.h"
#include "ram.h"

/* What a program gets for a result. True: the error is fatal. */
static bool tp_name_result(ssize_t *result)
{
	switch (*result) {
	case -ERESTARTSYS:
		*result = -EINTR;
		return false;
	case -EAGAIN:
	case -EINTR:
	case -EFAULT:
	case -EINVAL:
	case -ENOMEM:
	case -ENOSPC:
		return false;
	}
	if (*result >= 0)
		return false;
	*result = -EIO;
	return true;
}

/* Which driver refuses an open how. */
static int tp_name_open_error(int error)
{
	return error == -EACCES ? -ENODEV : error == -ERESTARTSYS ? -EINTR : error;
}

static struct tp_file *tp_named(const struct file *file)
{
	return tp_file_of(file->private_data);
}

static ssize_t tp_named_end(struct file *file, ssize_t result)
{
	if (tp_name_result(&result))
		WRITE_ONCE(tp_named(file)->failed, true);
	return result;
}

static int tp_named_open(struct inode *inode, struct file *file)
{
	struct tp_channel *channel = file->private_data;
	const enum tp_names names = READ_ONCE(channel->card->names);
	int error;

	/* Its names went since this file was looked up. */
	if (names == TP_NAMES_OWN)
		return -ENXIO;
	error = tp_channel_operations.open(inode, file);
	if (error)
		return tp_name_open_error(error);
	/* Each write is one message with O_DIRECT; here it is refused, as by these drivers. */
	file->f_mode &= ~FMODE_CAN_ODIRECT;
	tp_named(file)->failed = false;
	tp_named(file)->owes_empty = false;
	tp_named(file)->ended = false;
	/* Nobody else has the channel open, and nobody calls yet. */
	tp_named(file)->names = names;
	return 0;
}

static ssize_t tp_named_read(struct kiocb *call, struct iov_iter *to)
{
	if (READ_ONCE(tp_named(call->ki_filp)->failed))
		return -EIO;
	return tp_named_end(call->ki_filp, tp_channel_operations.read_iter(call, to));
}

/* What is written is on its way when the call returns, so an empty write has nothing to flush. */
static ssize_t tp_named_write(struct kiocb *call, struct iov_iter *from)
{
	if (READ_ONCE(tp_named(call->ki_filp)->failed))
		return -EIO;
	return tp_named_end(call->ki_filp, tp_channel_operations.write_iter(call, from));
}

static int tp_named_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	if (READ_ONCE(tp_named(file)->failed))
		return -EIO;
	return tp_named_end(file, tp_channel_operations.fsync(file, start, end, datasync));
}

/* ETIMEDOUT: the core does not take it all in time, and what it has not taken is lost. */
static int tp_named_flush(struct file *file, fl_owner_t owner)
{
	int error;

	if (READ_ONCE(tp_named(file)->failed))
		return -EIO;
	error = tp_channel_operations.flush(file, owner);
	return error == -ETIMEDOUT ? error : tp_named_end(file, error);
}

static __poll_t tp_named_poll(struct file *file, poll_table *table)
{
	struct tp_channel *channel = file->private_data;

	/* First, so that a read in another thread that takes the end wakes this one. */
	poll_wait(file, &channel->wait, table);
	if (READ_ONCE(tp_named(file)->failed))
		return EPOLLERR;
	/* Only a fault is news to a program that has read the end. */
	if (READ_ONCE(tp_named(file)->ended))
		return EPOLLIN | EPOLLRDNORM |
		       (tp_card_state(channel->card) >= TP_CARD_FAILED ? EPOLLERR : 0);
	return tp_channel_operations.poll(file, NULL) & ~EPOLLHUP;
}

const struct file_operations tp_named_operations = {
	.owner = THIS_MODULE,
	.open = tp_named_open,
	.release = tp_channel_release,
	.flush = tp_named_flush,
	.read_iter = tp_named_read,
	.write_iter = tp_named_write,
	.fsync = tp_named_fsync,
	.poll = tp_named_poll,
};

/* Memories: of Xillybus the synchronous streams with addresses, which never wait. */

static int tp_named_ram_open(struct inode *inode, struct file *file)
{
	if (file->f_flags & O_NONBLOCK)
		return -ENODEV;
	return tp_name_open_error(tp_ram_operations.open(inode, file));
}

static ssize_t tp_named_ram_read(struct kiocb *call, struct iov_iter *to)
{
	ssize_t result = tp_ram_operations.read_iter(call, to);

	tp_name_result(&result);
	return result;
}

static ssize_t tp_named_ram_write(struct kiocb *call, struct iov_iter *from)
{
	ssize_t result = tp_ram_operations.write_iter(call, from);

	tp_name_result(&result);
	return result;
}

/* The end is the beginning: Xillybus knows no size. A place behind the memory is one, too. */
static loff_t tp_named_ram_seek(struct file *file, loff_t offset, int whence)
{
	if (whence == SEEK_END)
		whence = SEEK_SET;
	if (whence != SEEK_SET && whence != SEEK_CUR)
		return -EINVAL;
	return generic_file_llseek_size(file, offset, whence, MAX_LFS_FILESIZE, 0);
}

const struct file_operations tp_named_ram_operations = {
	.owner = THIS_MODULE,
	.open = tp_named_ram_open,
	.release = tp_ram_release,
	.llseek = tp_named_ram_seek,
	.read_iter = tp_named_ram_read,
	.write_iter = tp_named_ram_write,
	.fsync = tp_ram_fsync,
};
