/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * ioctl: structures of programs that begin with their size and flags, and may be older or newer
 * than this driver (uapi/towpath.h has the rules).
 */
#ifndef TOWPATH_ARGUMENTS_H
#define TOWPATH_ARGUMENTS_H

#include "card.h"

struct file;

/* One ioctl. */
struct tp_call {
	unsigned int command;
	u32 flags; /* of its structure, that are known */
	bool enters; /* made within the card */
	bool gives; /* the structure is given back, even with an error */
	/* `argument`: a copy of the structure. */
	int (*make)(struct file *file, void *argument);
};

/* Make the one of `count` calls that `command` names; ENOTTY: there is none. */
long tp_make_call(const struct tp_call *calls, unsigned int count, struct tp_card *card,
		  struct file *file, unsigned int command, unsigned long argument);

#endif
