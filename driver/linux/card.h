/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the parts of the driver know of each other.
 *
 *   pci.c         finds cards, brings them up and down
 *   discovery.c   takes over the discovery table, or says why not; name.h: names in it
 *   table.c       reads and checks it
 *   nodes.c       device files and their numbers
 *   engine.c      a channel as the contract knows it
 *   channel.c     work in flight: post, reap, cancel, reset
 *   buffers.c     the driver's own buffers: written behind, read ahead
 *   pages.c       the program's memory, moved in place
 *   pin.c         memory of a program, pinned and mapped
 *   memory.c      buffers that stay mapped, and to whom they belong
 *   dmabuf.c      buffers that other drivers export
 *   transfer.c    one transfer of a queue
 *   queue.c       a channel's file as a queue of transfers
 *   uring.c       transfers of a queue by io_uring
 *   file.c        a channel as a file
 *   control.c     the card's control file
 *   window.c      the user core's registers, by call or mapped into programs
 *   arguments.c   what programs hand over by ioctl
 *   attributes.c  sysfs
 *   latency.c     histograms in debugfs
 *   trace.h       tracepoints
 *   power.c       sleep, and errors of the bus
 *
 * Locks, in the order in which they may be taken:
 *   0. (a ring's lock) held by io_uring around most of what it calls in uring.c
 *      card->resetting one reset of the card at a time; the system's come with (device_lock) held
 *   1. card->gate      read: around all that touches the card; write: to take it away
 *      card->opening   of channels
 *   2. channel->io     one program's thread in a channel at a time
 *   3. (mmap_lock)     when memory is copied or pinned: never the other way round
 *   4. owner->lock, then (the reservation of a dma-buf), then card->registering: buffers
 *   5. card->mapping   what programs have mapped of it; taken by a page fault, so under mmap_lock,
 *                      and when a card is cut off, perhaps under a reservation
 *   6. card->window    from an access of the register window to the look at its status
 *   7. channel->lock   engine, work in flight, lists of buffers; taken by the interrupt
 *      card->owners_lock  open control files; taken by the interrupt
 */
#ifndef TOWPATH_CARD_H
#define TOWPATH_CARD_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/poll.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "compat.h"
#include "engine.h"

/*
 * How long a cancel, and then a reset, may take. Reads under way end much sooner, unless they are
 * never answered.
 */
#define TP_GRACE (2 * HZ)
#define TP_GRACE_US (2 * USEC_PER_SEC)
/* How often one looks meanwhile. */
#define TP_POLL_US 50
/* How often a reset is begun anew of a card that was out of reach during it. */
#define TP_TRIES 4

/*
 * How often one who waits looks whether the card can still be reached, and the driver whether
 * something has ended without an interrupt.
 */
#define TP_LOOK HZ

/* Powers of two in 64 bits of nanoseconds. */
#define TP_LATENCIES 64

struct address_space;
struct dentry;
struct eventfd_ctx;
struct io_uring_cmd;
struct iov_iter;
struct mm_struct;
struct sg_table;
struct tp_buffer;
struct tp_channel;
struct tp_import;
struct tp_memory;
struct tp_pages;
struct tp_queue;
struct tp_transfer;
struct vm_area_struct;

/* A descriptor, from its post to its end. */
struct tp_work {
	struct list_head link; /* in channel->posted; empty before and after */
	/*
	 * Called once, under channel->lock, when the card is done with it; perhaps by an interrupt.
	 */
	void (*ended)(struct tp_channel *channel, struct tp_work *work);
	u32 wanted; /* bytes */
	u32 moved;
	u32 offset; /* C2H: of the message */
	u32 user;
	u16 cookie;
	u16 places; /* in the card's queue, with its prefixes */
	u8 status; /* enum tp_status; TP_STATUS_NONE: the card said what cannot be */
	u64 posted_ns; /* ktime_get_ns() */
};

struct tp_channel_statistics {
	u64 submitted;
	u64 completed;
	u64 bytes;
	u64 copied; /* bytes of them that the processor moved */
	u64 interrupts_taken;
	/* Anything but zero is a fault of the card or of this driver. */
	u64 wrong_cookies;
	u64 wrong_lengths;
	u64 wrong_statuses;
	u64 unexpected;
};

struct tp_channel {
	struct tp_card *card;
	u16 index;
	u8 direction; /* enum tp_direction */
	u32 inline_slots;
	u32 buffer_bytes;
	char name[TP_NAME_BYTES + 1];
	u32 vector;

	bool is_open; /* under card->opening */
	struct mutex io;
	wait_queue_head_t wait; /* work has ended, or the card has gone */

	spinlock_t lock; /* of what follows, and of the engine */
	struct tp_engine engine;
	dma_addr_t ring_address;
	struct list_head posted; /* in the order of their posts, which is that of their ends */
	u16 next_cookie;
	bool armed;
	u32 told; /* entries reaped when its vector last fired */
	atomic_t resets; /* that wait for who is in the channel to leave */
	bool running; /* work may be posted */
	bool resetting; /* alone, not with the card */
	bool lost; /* wants a reset before it is used again: see tp_revive() */
	struct tp_channel_statistics statistics;
	u64 latencies[TP_LATENCIES]; /* of descriptors, by the power of two below */

	/* Buffers of the driver's own (buffers.c), made when the channel is opened. */
	struct tp_buffer *buffers;
	struct list_head idle;
	struct list_head ready; /* C2H: filled and not read yet, oldest first */
	struct tp_pages *pages;

	/* The file is a queue of transfers, or NULL; changes under io and lock. */
	struct tp_queue *queue;

	/* Under io. */
	bool message_open; /* H2C: written to since its last end; C2H: read from since its last end
			    */
	bool reset_untold; /* a reset of the card, while it was open */
	bool reset_told; /* ECONNRESET, since somebody wanted to reset the channel */
	bool cut_short; /* of a reset of it, a call has told only how far it came */
	bool gave_up; /* H2C: the last close() waited in vain */
	int read_error; /* C2H: came behind bytes that were told of */
	bool faulted; /* the first fault that nobody has been told of, under lock */
	u8 fault; /* its enum tp_status */

	/* C2H: brings out what lies in a buffer that the core has not filled. */
	struct delayed_work flush;
	unsigned int flush_ms;
	bool flushing; /* it has io, or tries to */
	bool sent_away; /* somebody from io, who must not wait for it */
};

struct tp_vector {
	struct tp_card *card;
	u32 number;
	u32 idle_fires; /* interrupts without news, one after the other */
	char name[48];
};

struct tp_card {
	struct device device; /* the control file's; holds all of this */
	struct cdev cdev;
	int number;
	struct pci_dev *pci;
	void __iomem *pages; /* BAR 0 */
	void __iomem *window_bar; /* BAR 2, or NULL */
	unsigned long window_page; /* its first page frame; 0: no program can map it */
	bool window_shared; /* some program has mapped it */

	/* The discovery table, checked. */
	u32 page_shift;
	u16 version_major;
	u16 version_minor;
	u32 data_bytes;
	u64 serial;
	u32 core_version;
	u32 core_clock_khz;
	u32 user_clock_khz;
	u32 window_bytes;
	u16 vectors;
	u16 interrupts;
	u16 tags;
	char core_name[TP_NAME_BYTES + 1];
	u16 channel_count;
	struct tp_channel *channels;

	struct mutex resetting; /* by one at a time: `down` is his */
	struct rw_semaphore gate;
	bool gone; /* no more of it: everything ends with ENODEV */
	bool down; /* being reset: ECONNRESET until that is over */
	const struct tp_owner *down_by; /* of a queue that resets its own card; only compared */
	bool away; /* asleep, or being reset by somebody else */
	bool failed; /* was given up, and serves nobody: bind it again */
	struct mutex opening; /* of channels */
	struct mutex window; /* one access of the register window at a time */

	struct tp_vector *irqs;
	u32 irq_count;
	wait_queue_head_t interrupt_wait;
	atomic_t interrupt_news; /* fires of vectors of user interrupts */
	struct delayed_work look; /* while work is in flight: tp_look() */
	u32 interrupts_enabled; /* under window */

	struct mutex mapping; /* pages of programs that show the card's */
	spinlock_t owners_lock; /* of the next one, and of their events */
	struct list_head owners; /* the open control files; changes under mapping, too */
	struct mutex registering; /* of memories */
	struct list_head memories;

	struct dentry *debug; /* its folder in debugfs */
};

/* What counts against a program's limit of locked memory. */
struct tp_account {
	struct mm_struct *mm; /* or NULL: nothing */
	unsigned long pages;
};

/* Memory of a program, or for one, pinned and mapped. */
struct tp_pin {
	struct sg_table mapped;
	struct page **pages;
	unsigned int count; /* 0: nothing is pinned */
	bool is_new; /* the pages are the driver's own */
	enum dma_data_direction way;
	struct tp_account account;
};

/* An open control file. */
struct tp_owner {
	struct kref references;
	struct tp_card *card;
	struct list_head link; /* in card->owners */
	struct address_space *mapped; /* what programs have mapped of its file */
	struct mutex lock;
	struct xarray memories; /* by handle */
	struct eventfd_ctx *events[TP_USER_INTERRUPTS]; /* under card->owners_lock */
};

static inline void __iomem *tp_page(const struct tp_card *card, u32 page)
{
	return card->pages + ((u64)page << card->page_shift);
}

static inline void __iomem *tp_card_page(const struct tp_card *card)
{
	return tp_page(card, TP_PAGE_CARD);
}

/* Is there nothing to wait for in a channel, and no use in posting? */
static inline bool tp_is_stopped(const struct tp_channel *channel)
{
	const struct tp_card *card = channel->card;

	return !READ_ONCE(channel->running) || READ_ONCE(card->gone) || READ_ONCE(card->failed) ||
	       atomic_read(&channel->resets);
}

static inline bool tp_is_h2c(const struct tp_channel *channel)
{
	return channel->direction == TP_DIRECTION_H2C;
}

/*
 * Keep the card where it is until tp_leave(). ENODEV: it has gone; EIO: it has failed; ECONNRESET:
 * it is being reset; EINTR: the program was killed while it waited.
 */
int tp_enter(struct tp_card *card);
/* The same for those who must not wait: EAGAIN while somebody has it for himself, or wants to. */
int tp_try_enter(struct tp_card *card);
void tp_leave(struct tp_card *card);
/* After down_write() of the gate: let others in again, and who did not wait for that look again. */
void tp_open_gate(struct tp_card *card);
/* Have everybody who waits for a channel, in whatever way, look again. */
void tp_tell_all(struct tp_card *card);
/* Tell everybody who waits that the card has gone. */
void tp_gone(struct tp_card *card);

/*
 * Reset all channels and the user core: afterwards nothing is in flight. ENOLINK: the card cannot
 * be reached, and may not know of it; ETIMEDOUT: it does not stop.
 */
int tp_quiet(struct tp_card *card);
/* Tell the card which vectors its user interrupts have, and which of them are on. */
void tp_set_interrupts(struct tp_card *card);

/* power.c */
/* Reset the whole card, as `owner` wants; the caller has not entered it. */
int tp_card_reset(struct tp_card *card, const struct tp_owner *owner);
extern const struct dev_pm_ops tp_power_operations;
extern const struct pci_error_handlers tp_error_handlers;

/* discovery.c */
int tp_discover(struct tp_card *card);

/* nodes.c */
int tp_nodes_init(void);
void tp_nodes_exit(void);
struct tp_card *tp_card_create(struct pci_dev *pci);
int tp_nodes_add(struct tp_card *card);
void tp_nodes_remove(struct tp_card *card);

/* channel.c */
int tp_channel_init(struct tp_card *card, struct tp_channel *channel);
void tp_channel_free(struct tp_channel *channel);
/* End what is in flight on a card that can no longer reach it. */
void tp_channel_abandon(struct tp_channel *channel);
/* End what is in flight, and `start` anew if the card, or the channel on it, was reset. */
void tp_restart(struct tp_channel *channel, bool start);
/*
 * Under lock: post `work`. EAGAIN: the card's queue has no room; ECONNRESET: the channel is being
 * reset.
 */
int tp_post(struct tp_channel *channel, struct tp_work *work, u64 address, u32 control);
/* The same for a descriptor and its prefixes before it, `work->places` together. */
int tp_post_all(struct tp_channel *channel, struct tp_work *work,
		struct tp_descriptor *descriptors);
/* Under lock: take what the card has told. */
void tp_reap(struct tp_channel *channel);
/* Is nothing in flight? Takes the lock, and reaps. */
bool tp_is_idle(struct tp_channel *channel);
/*
 * Was it not there at this look either? One that is pulled out is not there for a moment before the
 * system says that it has gone.
 */
bool tp_is_out_of_reach(struct tp_card *card, unsigned int *looks);
/* Wait until it is over, or the channel is stopped. ENOLINK: the card cannot be reached. */
int tp_wait(struct tp_channel *channel, bool (*is_over)(struct tp_channel *channel));
/* When the vector fires: take what the card has told. False: nothing since the last time. */
bool tp_channel_interrupt(struct tp_channel *channel);
/*
 * Take what an interrupt should have told of that was lost with the link, and so wake who only
 * waits.
 */
void tp_look(struct work_struct *work);
/* Arm again, if work is in flight; or not, and leave that to the next post. */
void tp_channel_rearm(struct tp_channel *channel, bool may);
/*
 * Under io: end all that is in flight, as far as it came. Afterwards the card touches none of its
 * memory, whatever it did before.
 */
void tp_cancel(struct tp_channel *channel);
/* The card serves nobody any more: everything ends with EIO. */
void tp_fail(struct tp_card *card);
/*
 * The last resort: a card that does not stop reaches no memory any more, and serves nobody. False:
 * it cannot be reached, and is as it was.
 */
bool tp_cut_off(struct tp_card *card);
/* Stop a channel that may be busy, and have it reset by whoever uses it next. */
void tp_lose(struct tp_channel *channel);
/* Let nothing be posted until a reset, and send away who waits (ECONNRESET). */
void tp_stop(struct tp_channel *channel);
/* There was no reset after all: take tp_stop() back, unless somebody else wants one. */
void tp_unstop(struct tp_channel *channel);
/*
 * The same for all channels of a card, whose users are told once, but for queues of the `owner`
 * that asked for it.
 */
void tp_stop_all(struct tp_card *card, const struct tp_owner *owner);
/* Under io: as tp_cancel(), and empty the channel here and on the card. */
int tp_reset(struct tp_channel *channel);
/*
 * Under io: reset a channel that is lost: one whose reset did not reach the card, or was given up.
 * ENOLINK: the card cannot be reached.
 */
int tp_revive(struct tp_channel *channel);
/* What a program is told of how a descriptor ended: 0 or a negative errno. */
int tp_errno(u8 status);
/* Take the fault that nobody has been told of: 0 or a negative errno. */
int tp_take_fault(struct tp_channel *channel);
/* The same for a reset that came from elsewhere, which is told once: 0 or ECONNRESET. */
int tp_take_reset(struct tp_channel *channel);
/*
 * Under io: after a reset of one's own it makes no difference, but for one of the card that is
 * still to come.
 */
void tp_forget_reset(struct tp_channel *channel);
/*
 * Take io, waiting for no more than a flush if one may not wait. EAGAIN: whoever has it wakes those
 * who wait in the channel when he leaves; ERESTARTSYS: a signal.
 */
int tp_lock(struct tp_channel *channel, bool may_wait);
/* Wait while the card is being reset. ERESTARTSYS: a signal; ECONNRESET: it takes too long. */
int tp_await_settled(struct tp_channel *channel);
/* Enter the card, and wait so if need be. EAGAIN: one who may not wait would have to. */
int tp_enter_settled(struct tp_channel *channel, bool may_wait);

/* buffers.c */
/* Under io: fresh ones for who opens the channel. What was not read stays. */
int tp_buffers_allocate(struct tp_channel *channel);
void tp_buffers_free(struct tp_channel *channel);
/*
 * H2C, under io: copy what fits into one idle buffer and post it. Bytes, EAGAIN: no buffer or no
 * room, or another error.
 */
ssize_t tp_buffers_write(struct tp_channel *channel, struct iov_iter *from, bool end);
/* H2C: could tp_buffers_write() do something? */
bool tp_buffers_can_write(struct tp_channel *channel);
/* C2H, under io: copy what is ready, no further than the end of a message. */
ssize_t tp_buffers_read(struct tp_channel *channel, struct iov_iter *to, bool *ended);
/* C2H: is there something to see? The mere end of a message is, for a call that has `started`. */
bool tp_buffers_can_read(struct tp_channel *channel, bool started);
/* C2H, under io: post idle buffers ahead, as many as may be. 0, or an error. */
int tp_buffers_ahead(struct tp_channel *channel);
/* C2H: forget what was not read. */
void tp_buffers_drop(struct tp_channel *channel);

/* pages.c */
int tp_pages_allocate(struct tp_channel *channel);
void tp_pages_free(struct tp_channel *channel);
/*
 * Under io: move the iterator's next piece of the program's memory in place, and wait for it. Bytes
 * or an error (EFAULT: it cannot be pinned or mapped); `ended`: the message did.
 */
ssize_t tp_pages_move(struct tp_channel *channel, struct iov_iter *iter, bool end, bool *ended);

/* pin.c */
/*
 * Pin and map memory of the current program for so long as the caller waits, or, with `lasts`, for
 * longer. Bytes, perhaps fewer than there are if it does not last, or an error.
 */
ssize_t tp_pin(struct tp_card *card, struct tp_pin *pin, u64 start, u64 bytes,
	       enum dma_data_direction way, bool lasts);
/* Make new memory, of `bytes` rounded up to pages, and map it. */
int tp_pin_new(struct tp_card *card, struct tp_pin *pin, u64 bytes, enum dma_data_direction way);
/* Take what the card wrote over into all of it, where that takes a copy. */
void tp_pin_take_over(struct tp_card *card, struct tp_pin *pin);
/* Undo it, if it was not undone before. */
void tp_unpin(struct tp_card *card, struct tp_pin *pin);
/* ENOMEM: more than the program may lock. */
int tp_account(struct tp_account *account, unsigned long pages);
void tp_unaccount(struct tp_account *account);

/* memory.c */
struct tp_owner *tp_owner_create(struct tp_card *card, struct address_space *mapped);
struct tp_owner *tp_owner_get(struct tp_owner *owner);
void tp_owner_put(struct tp_owner *owner);
/* Its control file is closed. */
void tp_owner_close(struct tp_owner *owner);
/* `flags`: TOWPATH_BUFFER_..., one at least. */
int tp_memory_register(struct tp_owner *owner, u64 address, u64 bytes, u32 flags, u32 *handle);
int tp_memory_allocate(struct tp_owner *owner, u64 bytes, u32 flags, u32 *handle);
int tp_memory_import(struct tp_owner *owner, int descriptor, u32 flags, u32 *handle, u64 *bytes);
/* Map new memory into a program: its handle is the offset, in pages. */
int tp_memory_mmap(struct tp_owner *owner, struct vm_area_struct *place);
int tp_memory_unregister(struct tp_owner *owner, u32 handle);
/* The buffer of a handle, if it holds all of this and may be used in the way of `flag`. */
struct tp_memory *tp_memory_get(struct tp_owner *owner, u32 handle, u64 address, u64 bytes,
				u32 flag);
void tp_memory_put(struct tp_memory *memory);
/* With the gate held for writing: the card goes. */
void tp_memories_unpin(struct tp_card *card);
/* Where the card finds what lies at `address`; how much of `bytes` lies together there. */
u32 tp_memory_next(const struct tp_memory *memory, u64 address, u64 bytes, dma_addr_t *found);
/* What is mapped, where it is for the card; it is nobody's yet. */
struct tp_memory *tp_memory_create(struct tp_card *card, const struct sg_table *mapped);
void tp_memory_set_import(struct tp_memory *memory, struct tp_import *import);
/* Whose it is takes it back: no transfer may name it any more. */
void tp_memory_forbid(struct tp_memory *memory);
bool tp_memory_is_forbidden(const struct tp_memory *memory);
/* Hand a part of it to the card, or take it back. */
void tp_memory_sync(struct tp_memory *memory, u64 address, u64 bytes, bool for_card);

/* dmabuf.c */
#ifdef CONFIG_DMA_SHARED_BUFFER
/* The memory behind a descriptor of a dma-buf, pinned and mapped. EBADF, EINVAL: it is none. */
struct tp_memory *tp_import(struct tp_card *card, int descriptor, enum dma_data_direction way);
/* Leave its exporter, if that was not done before; and forget it. */
void tp_import_unmap(struct tp_import *import);
void tp_import_free(struct tp_import *import);
#else
static inline struct tp_memory *tp_import(struct tp_card *card, int descriptor,
					  enum dma_data_direction way)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void tp_import_unmap(struct tp_import *import)
{
}

static inline void tp_import_free(struct tp_import *import)
{
}
#endif

/* queue.c */
/* Make a queue of a channel's file. */
int tp_queue_open(struct tp_channel *channel, void __user *argument);
/* Its file is closed: end and forget everything. */
void tp_queue_close(struct tp_channel *channel);
/* With the gate held for writing: the card goes, and the memory of what is done is given back. */
void tp_queue_rest(struct tp_channel *channel);
/*
 * End the transfers that name a memory which is taken back; without any lock. Others of that queue
 * end with them.
 */
void tp_queue_evict(struct tp_channel *channel, const struct tp_memory *memory);
/* On a file that is a queue. */
long tp_queue_ioctl(struct file *file, unsigned int command, void __user *argument);
__poll_t tp_queue_poll(struct tp_channel *channel);
/* Does the card announce messages? */
bool tp_queue_announces(const struct tp_channel *channel);
/* Under lock: is it a queue that uses this owner's buffers? */
bool tp_queue_is_of(const struct tp_channel *channel, const struct tp_owner *owner);
/* Under lock: something has happened; a message began (false: nobody wanted to know) or ended. */
void tp_queue_news(struct tp_channel *channel);
bool tp_queue_started(struct tp_channel *channel, const struct tp_entry *entry);
bool tp_queue_message_ended(struct tp_channel *channel);
/*
 * Under lock: somebody else than the program ends what is in flight. What it submits unawares must
 * not go on with the message that is cut short, and is refused: `error`.
 */
void tp_queue_tear(struct tp_channel *channel, int error);
/* Under io or the gate: now the program is aware. */
void tp_queue_aware(struct tp_channel *channel);
/* Under lock: the channel runs again. */
void tp_queue_restarted(struct tp_channel *channel);

/* latency.c */
void tp_latency_init(void);
void tp_latency_exit(void);
void tp_latency_add(struct tp_card *card);
void tp_latency_remove(struct tp_card *card);
/* Under lock: a descriptor has ended. */
void tp_latency_count(struct tp_channel *channel, u64 nanoseconds);

/* window.c */
/* Can it be mapped into programs? With the BARs mapped. */
void tp_window_init(struct tp_card *card);
/* TOWPATH_IOC_REGISTER */
int tp_window_access(struct tp_card *card, void __user *argument, bool may_write);
int tp_window_mmap(struct tp_card *card, struct vm_area_struct *place);
/*
 * Take it away from all programs: the card is gone, away or failed, by its flags. They have it back
 * when that is over.
 */
void tp_window_revoke(struct tp_card *card);

/* uring.c */
#if TP_HAS_URING
/* A command on a channel's file, or the wish that one ends. */
int tp_uring_command(struct io_uring_cmd *command, unsigned int issue_flags);
void tp_uring_init(struct tp_queue *queue);
/* Nobody knows of the queue any more, and no transfer of a ring is left. */
void tp_uring_exit(struct tp_queue *queue);
/* Under lock: post what waits, as far as there is room. */
void tp_uring_post(struct tp_channel *channel);
/* Under lock: end what waits. */
void tp_uring_end(struct tp_channel *channel, u8 status);
/* Under lock: a ring's transfer has. */
void tp_uring_ended(struct tp_channel *channel, struct tp_transfer *transfer);
/* The card was cut off: see that everything ends. */
void tp_uring_cut_off(struct tp_channel *channel);
#else
#define tp_uring_command NULL

static inline void tp_uring_init(struct tp_queue *queue)
{
}

static inline void tp_uring_exit(struct tp_queue *queue)
{
}

static inline void tp_uring_post(struct tp_channel *channel)
{
}

static inline void tp_uring_end(struct tp_channel *channel, u8 status)
{
}

static inline void tp_uring_ended(struct tp_channel *channel, struct tp_transfer *transfer)
{
}

static inline void tp_uring_cut_off(struct tp_channel *channel)
{
}
#endif

/* arguments.c */
/*
 * Take a program's structure, of `bytes` bytes here; `argsz` becomes what there is of both. Refuses
 * flags other than `flags`.
 */
int tp_take_argument(void *into, size_t bytes, const void __user *from, u32 flags);
/* Give it back, no more than `argsz` bytes. */
int tp_give_argument(void __user *to, const void *from);

/* file.c, control.c, attributes.c */
/* Take a channel in order to reset it: whoever waits in it leaves. */
int tp_reset_begin(struct tp_channel *channel);
/* The owner behind a descriptor of this card's control file, with a reference. */
struct tp_owner *tp_owner_of(const struct tp_card *card, int descriptor);
extern const struct file_operations tp_channel_operations;
extern const struct file_operations tp_control_operations;
extern const struct attribute_group *tp_card_groups[];
extern const struct attribute_group *tp_channel_groups[];
void tp_channel_flush(struct work_struct *work);

#endif
