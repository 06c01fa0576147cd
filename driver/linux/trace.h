/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Tracepoints: what is asked of a card, and what it answers. Programs read them: names and fields
 * stay as they are, and towpath(4) says what they mean.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM towpath

#if !defined(TOWPATH_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TOWPATH_TRACE_H

#include <linux/tracepoint.h>

#include "channel.h"

/* Which channel: the beginning of each event but the card's own. */
#define TP_TRACE_CHANNEL __field(u32, card) __field(u32, channel) __string(name, channel->name)

#define TP_TRACE_ASSIGN_CHANNEL                        \
	do {                                           \
		__entry->card = channel->card->number; \
		__entry->channel = channel->index;     \
		tp_assign_str(name, channel->name);    \
	} while (0)

#define TP_TRACE_WHERE "towpath%u/%u %s"
#define TP_TRACE_SHOW_CHANNEL __entry->card, __entry->channel, __get_str(name)

/* clang-format off */

TRACE_EVENT(towpath_post,
	TP_PROTO(const struct tp_channel *channel, const struct tp_work *work),
	TP_ARGS(channel, work),
	TP_STRUCT__entry(
		TP_TRACE_CHANNEL
		__field(u16, cookie)
		__field(u16, places)
		__field(u32, bytes)
	),
	TP_fast_assign(
		TP_TRACE_ASSIGN_CHANNEL;
		__entry->cookie = work->cookie;
		__entry->places = work->places;
		__entry->bytes = work->wanted;
	),
	TP_printk(TP_TRACE_WHERE " cookie=%u bytes=%u places=%u", TP_TRACE_SHOW_CHANNEL,
		  __entry->cookie, __entry->bytes, __entry->places)
);

TRACE_EVENT(towpath_end,
	TP_PROTO(const struct tp_channel *channel, const struct tp_work *work, u64 nanoseconds),
	TP_ARGS(channel, work, nanoseconds),
	TP_STRUCT__entry(
		TP_TRACE_CHANNEL
		__field(u16, cookie)
		__field(u8, status)
		__field(u32, bytes)
		__field(u64, nanoseconds)
	),
	TP_fast_assign(
		TP_TRACE_ASSIGN_CHANNEL;
		__entry->cookie = work->cookie;
		__entry->status = work->status;
		__entry->bytes = work->moved;
		__entry->nanoseconds = nanoseconds;
	),
	TP_printk(TP_TRACE_WHERE " cookie=%u bytes=%u status=%u nanoseconds=%llu",
		  TP_TRACE_SHOW_CHANNEL, __entry->cookie, __entry->bytes, __entry->status,
		  __entry->nanoseconds)
);

TRACE_EVENT(towpath_interrupt,
	TP_PROTO(const struct tp_channel *channel, bool news),
	TP_ARGS(channel, news),
	TP_STRUCT__entry(
		TP_TRACE_CHANNEL
		__field(bool, news)
	),
	TP_fast_assign(
		TP_TRACE_ASSIGN_CHANNEL;
		__entry->news = news;
	),
	TP_printk(TP_TRACE_WHERE " news=%u", TP_TRACE_SHOW_CHANNEL, __entry->news)
);

TRACE_EVENT(towpath_refused,
	TP_PROTO(const struct tp_channel *channel, const struct tp_entry *told,
		 const char *counter),
	TP_ARGS(channel, told, counter),
	TP_STRUCT__entry(
		TP_TRACE_CHANNEL
		__field(u16, cookie)
		__field(u8, status)
		__field(u32, bytes)
		__string(counter, counter)
	),
	TP_fast_assign(
		TP_TRACE_ASSIGN_CHANNEL;
		__entry->cookie = told->cookie;
		__entry->status = told->status;
		__entry->bytes = told->bytes;
		tp_assign_str(counter, counter);
	),
	TP_printk(TP_TRACE_WHERE " cookie=%u bytes=%u status=%u counter=%s",
		  TP_TRACE_SHOW_CHANNEL, __entry->cookie, __entry->bytes, __entry->status,
		  __get_str(counter))
);

DECLARE_EVENT_CLASS(towpath_order,
	TP_PROTO(const struct tp_channel *channel),
	TP_ARGS(channel),
	TP_STRUCT__entry(
		TP_TRACE_CHANNEL
	),
	TP_fast_assign(
		TP_TRACE_ASSIGN_CHANNEL;
	),
	TP_printk(TP_TRACE_WHERE, TP_TRACE_SHOW_CHANNEL)
);

DEFINE_EVENT(towpath_order, towpath_cancel,
	TP_PROTO(const struct tp_channel *channel),
	TP_ARGS(channel)
);

DEFINE_EVENT(towpath_order, towpath_channel_reset,
	TP_PROTO(const struct tp_channel *channel),
	TP_ARGS(channel)
);

TRACE_EVENT(towpath_card_reset,
	TP_PROTO(const struct tp_card *card),
	TP_ARGS(card),
	TP_STRUCT__entry(
		__field(u32, card)
	),
	TP_fast_assign(
		__entry->card = card->number;
	),
	TP_printk("towpath%u", __entry->card)
);

/* clang-format on */

#endif

/* Where the kernel finds this file again: Kbuild names the folder. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
