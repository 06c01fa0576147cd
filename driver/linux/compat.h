/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What differs between the kernels that this driver is built for, 6.1 and newer: nowhere else is a
 * version asked for, or an architecture.
 */
#ifndef TOWPATH_COMPAT_H
#define TOWPATH_COMPAT_H

#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/uio.h>
#include <linux/version.h>

/*
 * 6.2: what is pinned to be read stays what the program sees. Before, a page that is private and
 * was not written yet had to be made the program's own.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define TP_FOLL_READ_LASTS 0
#else
#define TP_FOLL_READ_LASTS (FOLL_WRITE | FOLL_FORCE)
#endif

/* 6.13: names of symbols' namespaces are strings. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define TP_IMPORT_DMA_BUF MODULE_IMPORT_NS("DMA_BUF")
#else
#define TP_IMPORT_DMA_BUF MODULE_IMPORT_NS(DMA_BUF)
#endif

/* 7.1: what an exporter calls when it takes memory back. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define TP_MOVE_NOTIFY invalidate_mappings
#else
#define TP_MOVE_NOTIFY move_notify
#endif

/* 6.5: another name. */
static inline bool tp_is_bus_address(struct scatterlist *piece)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return sg_dma_is_bus_address(piece);
#else
	return sg_is_dma_bus_address(piece);
#endif
}

/*
 * Can BARs be mapped into programs? User-Mode Linux says so of itself, but its BARs have no
 * addresses.
 */
#if defined(ARCH_GENERIC_PCI_MMAP_RESOURCE) || defined(HAVE_PCI_MMAP)
#define TP_CAN_MAP_BARS !IS_ENABLED(CONFIG_UML)
#else
#define TP_CAN_MAP_BARS false
#endif

/* 6.3: flags of a place in memory change by calls alone. */
static inline void tp_place_change_flags(struct vm_area_struct *place, unsigned long set,
					 unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(place, set, clear);
#else
	place->vm_flags = (place->vm_flags | set) & ~clear;
#endif
}

/* 6.8: no count. */
static inline void tp_eventfd_signal(struct eventfd_ctx *event)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	eventfd_signal(event);
#else
	eventfd_signal(event, 1);
#endif
}

/* 6.10: a tracepoint's string is known from its declaration. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define tp_assign_str(name, from) __assign_str(name)
#else
#define tp_assign_str(name, from) __assign_str(name, from)
#endif

/* 6.4: the current segment of an iterator without a copy of it. */
static inline void tp_iter_segment(const struct iov_iter *iter, unsigned long *start, size_t *bytes)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*start = (unsigned long)iter_iov_addr(iter);
	*bytes = iter_iov_len(iter);
#else
	if (iter_is_ubuf(iter)) {
		*start = (unsigned long)iter->ubuf + iter->iov_offset;
		*bytes = iter->count;
	} else {
		struct iovec segment = iov_iter_iovec(iter);

		*start = (unsigned long)segment.iov_base;
		*bytes = segment.iov_len;
	}
#endif
}

/*
 * 6.7: io_uring asks for the end of a command when its program goes. Before, a program whose core
 * is silent would never go, so channels take no commands there. Kbuild: CONFIG_TOWPATH_URING.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0) && IS_ENABLED(CONFIG_TOWPATH_URING)
#define TP_HAS_URING 1

/* 6.8: a header of its own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring/cmd.h>
#else
#include <linux/io_uring.h>
#include <linux/io_uring_types.h>
#endif

/* 6.18: no second result. */
static inline void tp_uring_done(struct io_uring_cmd *command, int result, unsigned int issue_flags)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
	io_uring_cmd_done(command, result, issue_flags);
#else
	io_uring_cmd_done(command, result, 0, issue_flags);
#endif
}

/*
 * 6.19 (6.18.7, 6.12.67): a ring whose tasks' work waits to be asked for
 * (IORING_SETUP_DEFER_TASKRUN) can be closed with commands in flight. Before, a kernel thread may
 * look for their end for ever, so channels take no commands of such rings there.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 7) ||       \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 67) && \
	 LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))
#define TP_URING_MAY_DEFER 1
#else
#define TP_URING_MAY_DEFER 0
#endif

static inline bool tp_uring_serves(struct io_uring_cmd *command)
{
	return TP_URING_MAY_DEFER ||
	       !(cmd_to_io_kiocb(command)->ctx->flags & IORING_SETUP_DEFER_TASKRUN);
}

/*
 * Makes `name`, which a command's task can be told to call, of a function of the command and its
 * flags. 6.19: it is given the request.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define TP_URING_TASK(name, function)                                                        \
	static void name(struct io_tw_req request, io_tw_token_t token)                      \
	{                                                                                    \
		function(io_uring_cmd_from_tw(request), IO_URING_CMD_TASK_WORK_ISSUE_FLAGS); \
	}
#else
#define TP_URING_TASK(name, function)                                            \
	static void name(struct io_uring_cmd *command, unsigned int issue_flags) \
	{                                                                        \
		function(command, issue_flags);                                  \
	}
#endif

#else
#define TP_HAS_URING 0
#endif

#endif
