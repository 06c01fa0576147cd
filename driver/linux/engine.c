// SPDX-License-Identifier: GPL-2.0 OR MIT
#include "engine.h"

u32 tp_engine_ring_log2(u16 depth)
{
	u32 log2 = 2;

	while ((1u << log2) < 2u * depth + 2)
		log2++;
	return log2;
}

void tp_engine_start(struct tp_engine *engine, u32 vector, bool announce)
{
	u32 control = TP_CHANNEL_CONTROL_ENABLE_MASK;

	if (announce)
		control |= TP_CHANNEL_CONTROL_ANNOUNCE_MASK;
	memset(engine->ring, 0, sizeof(*engine->ring) << engine->ring_log2);
	engine->consumer = 0;
	engine->used = 0;
	writeq(engine->ring_address, engine->privileged + TP_CHANNEL_RING_BASE_OFFSET);
	writel(engine->ring_log2, engine->privileged + TP_CHANNEL_RING_LOG2_OFFSET);
	writel(vector, engine->privileged + TP_CHANNEL_VECTOR_OFFSET);
	writel(control, engine->privileged + TP_CHANNEL_CONTROL_OFFSET);
}

void tp_engine_announce(struct tp_engine *engine)
{
	writel(TP_CHANNEL_CONTROL_ENABLE_MASK | TP_CHANNEL_CONTROL_ANNOUNCE_MASK,
	       engine->privileged + TP_CHANNEL_CONTROL_OFFSET);
}

bool tp_engine_post(struct tp_engine *engine, const struct tp_descriptor *descriptor)
{
	void __iomem *stage = engine->doorbell + TP_DOORBELL_DESCRIPTOR_OFFSET;
	__le64 words[sizeof(*descriptor) / sizeof(__le64)];

	if (engine->used >= engine->depth)
		return false;
	engine->used++;
	/*
	 * The second word commits; what the card is going to read was written before: writeq orders
	 * that.
	 */
	memcpy(words, descriptor, sizeof(words));
	writeq(le64_to_cpu(words[0]), stage);
	writeq(le64_to_cpu(words[1]), stage + sizeof(words[0]));
	return true;
}

bool tp_engine_next(struct tp_engine *engine, struct tp_entry *entry)
{
	const u32 mask = (1u << engine->ring_log2) - 1;
	const struct tp_completion *at = &engine->ring[engine->consumer & mask];
	const u8 lap = !(engine->consumer >> engine->ring_log2 & 1);
	const u8 flags = READ_ONCE(at->flags);

	if ((flags & TP_COMPLETION_FLAGS_PHASE_MASK) != lap)
		return false;
	/*
	 * The card writes an entry whole, and after the data: nothing of either is read before its
	 * phase.
	 */
	dma_rmb();
	entry->bytes = le32_to_cpu(at->bytes);
	entry->offset = le32_to_cpu(at->offset);
	entry->user = le32_to_cpu(at->user);
	entry->cookie = le16_to_cpu(at->cookie);
	entry->status = at->status;
	entry->start = flags & TP_COMPLETION_FLAGS_START_MASK;
	engine->consumer++;
	return true;
}

void tp_engine_arm(struct tp_engine *engine)
{
	writel(engine->consumer, engine->doorbell + TP_DOORBELL_ARM_OFFSET);
}

void tp_engine_fill(struct tp_engine *engine, u32 word)
{
	writel(word, engine->doorbell + TP_DOORBELL_FILL_OFFSET);
}

void tp_engine_cancel(struct tp_engine *engine)
{
	writel(1, engine->doorbell + TP_DOORBELL_CANCEL_OFFSET);
}

void tp_engine_reset(struct tp_engine *engine)
{
	writel(TP_CHANNEL_RESET_RESET_MASK, engine->privileged + TP_CHANNEL_RESET_OFFSET);
}

bool tp_engine_is_resetting(struct tp_engine *engine, bool *unanswered)
{
	const u32 value = readl(engine->privileged + TP_CHANNEL_RESET_OFFSET);

	*unanswered |= value == U32_MAX;
	return value & TP_CHANNEL_RESET_RESET_MASK;
}
