/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A card: what it is, in what state, and when it may be touched.
 *
 * Locks of the driver, in the order in which they may be taken:
 *   0. (a ring's lock) held by io_uring around most of what it calls in uring.c
 *      card->resetting serializes resets, suspend and resume; the bus may hold device_lock
 *   1. card->gate      read: to touch the card; write: to reset it or take it away
 *   2. channel->io     one call at a time in a channel
 *   3. (mmap_lock)     when memory is copied or pinned: never the other way round
 *   4. owner->lock, then (the reservation of a dma-buf)
 *   5. card->mapping   the programs' mappings of the card; taken by page faults under mmap_lock,
 *                      and when a card fails, perhaps under a reservation
 *   6. card->window    one access of the register window and the look at its status
 *   7. channel->lock   engine, state, work in flight, clients; taken by the interrupt
 *   8. card->lock      state, owners, memories; taken by the interrupt
 */
#ifndef TOWPATH_CARD_H
#define TOWPATH_CARD_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "platform.h"

#include "contract/towpath.h"

/*
 * How often a waiter looks whether the card still answers, and the driver whether a descriptor has
 * ended without an interrupt.
 */
#define TP_LOOK HZ

struct file;
struct dentry;
struct eventfd_ctx;
struct tp_card;
struct tp_channel;
struct towpath_register;
struct towpath_window;
struct vm_area_struct;

/*
 * What a card is good for, and the error that its users get. Each change is made by one function.
 *
 *   state      error        from                                by
 *   PROBING    -            -                                   allocation
 *   READY      -            PROBING, RESETTING, ASLEEP          tp_card_serve()
 *                           RESETTING, without a reset          tp_take_back()
 *   RESETTING  ECONNRESET   READY                               tp_card_quiesce()
 *   ASLEEP     ECONNRESET   RESETTING                           tp_card_suspend()
 *   FAILED     EIO          PROBING, READY, RESETTING, ASLEEP   tp_card_fail()
 *   GONE       ENODEV       any other                           tp_card_gone()
 *
 * RESETTING begins when a reset is wanted: waiters leave, so that the gate can be taken. ASLEEP:
 * the system sleeps, or the bus resets the card. FAILED: the card does not stop when told to, did
 * not come back, or was given up by the bus; only unbinding ends this state.
 */
enum tp_card_state {
	TP_CARD_PROBING,
	TP_CARD_READY,
	TP_CARD_RESETTING,
	TP_CARD_ASLEEP,
	TP_CARD_FAILED,
	TP_CARD_GONE,
};

/* Whose names a card's files have besides their own. */
enum tp_names {
	TP_NAMES_OWN, /* none */
	TP_NAMES_XILLYBUS,
	TP_NAMES_VERCOLIB,
};

/* What the driver asks of the bus that a card is on. */
struct tp_bus_operations {
	/* Does the card answer? */
	bool (*is_present)(struct tp_card *card);
	/* May the card reach memory? */
	void (*set_master)(struct tp_card *card, bool may);
	/* The interrupt of a vector. */
	int (*irq)(struct tp_card *card, u32 number);
};

/* What a bus finds: its device, and where the card's two areas are mapped. */
struct tp_resources {
	struct device *device; /* for DMA and messages */
	const struct tp_bus_operations *operations;
	void __iomem *pages; /* BAR 0 */
	u64 page_bytes;
	void __iomem *window; /* BAR 2, or NULL */
	phys_addr_t window_start; /* 0: programs cannot map it */
	u64 window_bytes;
	phys_addr_t memory_start; /* BAR 4; 0: programs cannot map it */
	u64 memory_bytes;
};

struct tp_vector {
	struct tp_card *card;
	u32 number;
	u32 idle_fires; /* interrupts without news, one after the other */
	char name[48];
};

struct tp_card {
	struct device device; /* the control file's; its release frees the card */
	struct cdev cdev;
	int number;
	enum tp_names names; /* written under nodes.c's lock */
	bool has_files; /* under the same */
	struct tp_resources bus;
	unsigned long window_page; /* the window's first page frame; 0: it cannot be mapped */
	bool window_shared; /* some program has mapped the window */
	unsigned long memory_page; /* the same of the memories' windows */
	u32 memory_errors; /* under window; times that refused accesses there were found */

	/* The discovery table, checked. */
	struct tp_discovery table;
	struct tp_plugin_entry plugins[TP_PLUGINS_MAX];
	char core_name[TP_NAME_BYTES + 1];
	u16 channel_count;
	struct tp_channel *channels;

	struct mutex resetting; /* the head has the locks' order */
	struct rw_semaphore gate;
	struct mutex window; /* one access of the register window at a time */
	struct mutex mapping; /* what programs have mapped of the card */
	struct list_head views; /* under mapping */
	spinlock_t lock; /* of the state and the lists that follow */
	enum tp_card_state state; /* written under lock */
	atomic_t resets; /* of the card, and what counts as one: for the users of its memories */
	struct list_head owners; /* under lock */
	struct list_head memories; /* under lock; buffers of programs */

	struct tp_vector *irqs;
	u32 irq_count;
	wait_queue_head_t interrupt_wait;
	atomic_t interrupt_news; /* fires of vectors of user interrupts */
	u32 interrupts_enabled; /* under window */
	struct delayed_work look; /* runs while work is in flight: tp_look() */
	struct dentry *debug; /* its folder in debugfs */
};

/* An open file by which programs may map the card's windows. */
struct tp_view {
	struct list_head link; /* in card->views */
	struct file *file; /* not counted: the view leaves the list first */
};

/* An open control file. Buffers belong to it (memory.c). */
struct tp_owner {
	struct kref references;
	struct tp_card *card;
	struct list_head link; /* in card->owners, which it leaves before its file ends */
	struct tp_view view;
	struct mutex lock; /* of the memories, in the order that the head has */
	struct xarray memories; /* by handle */
	struct eventfd_ctx *events[TP_USER_INTERRUPTS]; /* under card->lock */
};

static inline void __iomem *tp_page(const struct tp_card *card, u32 page)
{
	return card->bus.pages + ((u64)page << card->table.page_shift);
}

static inline void __iomem *tp_card_page(const struct tp_card *card)
{
	return tp_page(card, TP_PAGE_CARD);
}

static inline bool tp_is_present(struct tp_card *card)
{
	return card->bus.operations->is_present(card);
}

/* The vector of a user interrupt: behind those of the channels, as far as there are some. */
static inline u32 tp_interrupt_vector(const struct tp_card *card, u32 index)
{
	return min_t(u32, card->channel_count + index, card->irq_count - 1);
}

static inline enum tp_card_state tp_card_state(const struct tp_card *card)
{
	return READ_ONCE(card->state);
}

void tp_card_init(struct tp_card *card);
/*
 * Change the state, unless the card has failed or gone: that is final. A change that the table
 * above does not have is a fault of this driver: kernels that prove locks warn of it.
 */
void tp_card_move(struct tp_card *card, enum tp_card_state to);
/* The error of the card's state, by the table above, or 0. */
int tp_card_error(const struct tp_card *card);
/*
 * Hold the card's state until tp_leave(): the gate, for reading. Any error of the state, EINTR: a
 * fatal signal came. tp_try_enter() does not wait: EAGAIN.
 */
int tp_enter(struct tp_card *card);
int tp_try_enter(struct tp_card *card);
void tp_leave(struct tp_card *card);
/* Tell the card which vectors its user interrupts have, and which of them are on. */
void tp_card_set_interrupts(struct tp_card *card);
/*
 * Does the card not answer, for the second time? A card that is pulled out does not answer for a
 * moment before the bus says that it has gone.
 */
bool tp_is_out_of_reach(struct tp_card *card, unsigned int *looks);

/* window.c */
/*
 * Where the windows are in any file as the kernel counts, in pages: the registers behind the
 * buffers, which programs map, too, and the memories behind the registers.
 */
#define TP_WINDOW_PLACE BIT(31)
#define TP_MEMORY_PLACE (BIT(31) | BIT(30))

/* With the areas known. */
void tp_window_init(struct tp_card *card);
/* TOWPATH_IOC_REGISTER */
int tp_window_access(struct tp_card *card, struct towpath_register *access, bool may_write);
/* TOWPATH_IOC_WINDOW: what became of accesses. ENOLINK: the card does not answer. */
int tp_window_state(struct tp_card *card, struct towpath_window *state);
/* A file is opened that maps windows, and closed. */
void tp_view_add(struct tp_card *card, struct tp_view *view, struct file *file);
void tp_view_remove(struct tp_card *card, struct tp_view *view);
/* Map the registers, from the first. */
int tp_window_mmap(struct tp_card *card, struct vm_area_struct *place);
/*
 * Map pages of a window, of which there are `pages` from `start` on, as the kernel counts; the
 * program's place begins at the first of them and its own offset. ENXIO: there are none;
 * EOPNOTSUPP: this machine cannot map them.
 */
int tp_window_map(struct tp_card *card, struct vm_area_struct *place, unsigned long start,
		  u64 pages);
/*
 * Unmap the windows from all programs: the card's state forbids it. Page faults map them again when
 * the state allows it.
 */
void tp_window_revoke(struct tp_card *card);

#endif
