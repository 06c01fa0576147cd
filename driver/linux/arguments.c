// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/uaccess.h>

#include "arguments.h"

/* What every structure begins with. */
struct tp_head {
	__u32 argsz;
	__u32 flags;
};

static int tp_take_argument(struct tp_head *into, size_t bytes, const void __user *from, u32 flags)
{
	u32 argsz;
	int error;

	if (get_user(argsz, (const u32 __user *)from))
		return -EFAULT;
	if (argsz < sizeof(*into))
		return -EINVAL;
	if (argsz > PAGE_SIZE)
		return -E2BIG;
	error = copy_struct_from_user(into, bytes, from, argsz);
	if (error)
		return error;
	into->argsz = min_t(size_t, argsz, bytes);
	return into->flags & ~flags ? -EINVAL : 0;
}

long tp_make_call(const struct tp_call *calls, unsigned int count, struct tp_card *card,
		  struct file *file, unsigned int command, unsigned long argument)
{
	const struct tp_call *call = calls;
	void __user *at = (void __user *)argument;
	u64 copy[16];
	struct tp_head *head = (struct tp_head *)copy;
	int error = 0;

	while (call->command != command)
		if (++call == calls + count)
			return -ENOTTY;
	if (WARN_ON_ONCE(_IOC_SIZE(command) > sizeof(copy)))
		return -ENOTTY;
	if (_IOC_SIZE(command))
		error = tp_take_argument(head, _IOC_SIZE(command), at, call->flags);
	/* Where it cannot be given back, nothing is done. */
	if (!error && call->gives && copy_to_user(at, copy, head->argsz))
		error = -EFAULT;
	if (!error && call->enters)
		error = tp_enter(card);
	if (error)
		return error;
	error = call->make(file, copy);
	if (call->gives && copy_to_user(at, copy, head->argsz) && !error)
		error = -EFAULT;
	if (call->enters)
		tp_leave(card);
	return error;
}
