/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Names come from the card, and go into the kernel's log, into sysfs and to terminals.
 */
#ifndef TOWPATH_NAME_H
#define TOWPATH_NAME_H

#include "platform.h"

/*
 * A name as everybody may see it: printable ASCII, with '?' in the place of any other byte, and
 * zeroes from its end on. The library does the same.
 */
static inline void tp_name_clean(char *name, u32 bytes)
{
	u32 index;

	for (index = 0; index < bytes && name[index]; index++)
		if (name[index] < ' ' || name[index] > '~')
			name[index] = '?';
	memset(name + index, 0, bytes - index);
}

#endif
