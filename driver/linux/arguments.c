// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What programs hand over by ioctl: structures that begin with their size and flags, and may be
 * older or newer than this driver (uapi/towpath.h says the rules).
 */
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "card.h"

/* What every structure begins with. */
struct tp_head {
	__u32 argsz;
	__u32 flags;
};

int tp_take_argument(void *into, size_t bytes, const void __user *from, u32 flags)
{
	struct tp_head *head = into;
	u32 argsz;
	int error;

	if (get_user(argsz, (const u32 __user *)from))
		return -EFAULT;
	if (argsz < sizeof(*head))
		return -EINVAL;
	if (argsz > PAGE_SIZE)
		return -E2BIG;
	error = copy_struct_from_user(into, bytes, from, argsz);
	if (error)
		return error;
	head->argsz = min_t(size_t, argsz, bytes);
	return head->flags & ~flags ? -EINVAL : 0;
}

int tp_give_argument(void __user *to, const void *from)
{
	const struct tp_head *head = from;

	return copy_to_user(to, from, head->argsz) ? -EFAULT : 0;
}
