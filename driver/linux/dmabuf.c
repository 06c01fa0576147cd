// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory that another driver exports as a dma-buf: that of a GPU, of another card, of a heap.
 *
 * It is pinned where it is for as long as the program keeps it, for the card uses it whenever the
 * user core likes. An exporter may revoke it all the same (dma_buf_move_notify()): transfers that
 * name it are ended, it is unmapped, and from then on the buffer cannot be used. Fences are not
 * waited for, but those of the exporter's own moves: the program must know when another device is
 * done with the memory. So must it for the processor (DMA_BUF_IOCTL_SYNC); some exporters do not
 * synchronize their importers' devices even then, and cannot be used where memory is copied for the
 * card. Before Linux 6.16 the kernel maps memory of an exporter that cannot move it for both ways,
 * whatever is asked for.
 *
 * Locks: the exporter's (the buffer's reservation) comes after those of programs and before
 * channel->lock. tp_import_revoked() is called with it held. It has not entered the card and waits
 * for no call that has: the buffer, and with it the card, stays as long as that lock is held, for
 * tp_import_unmap() takes it, too.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/file.h>
#include <linux/iommu.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "channel.h"
#include "memory.h"

TP_IMPORT_DMA_BUF;

struct tp_import {
	struct tp_card *card;
	struct dma_buf *buffer;
	struct dma_buf_attachment *attachment;
	enum dma_data_direction way;
	/* Under the buffer's reservation; NULL: not mapped yet, or taken back. */
	struct sg_table *mapped;
	struct tp_memory *memory; /* that this is the import of */
	struct tp_account pinned;
};

/* With the reservation. */
static void tp_import_end(struct tp_import *import)
{
	if (!import->mapped)
		return;
	dma_buf_unmap_attachment(import->attachment, import->mapped, import->way);
	dma_buf_unpin(import->attachment);
	WRITE_ONCE(import->mapped, NULL);
}

/* The exporter revokes it, with the reservation. */
static void tp_import_revoked(struct dma_buf_attachment *attachment)
{
	struct tp_import *import = attachment->importer_priv;
	struct tp_card *card = import->card;
	struct sg_table *mapped = import->mapped;
	u16 index;

	if (!mapped)
		return;
	/* Nothing that names it is posted any more; then what was is ended. */
	WRITE_ONCE(import->memory->forbidden, true);
	for (index = 0; index < card->channel_count; index++)
		tp_evict(&card->channels[index], import->memory);
	tp_import_end(import);
}

static const struct dma_buf_attach_ops tp_import_operations = {
	.allow_peer2peer = true,
	.TP_MOVE_NOTIFY = tp_import_revoked,
};

/*
 * Where an IOMMU translates, an exporter that hands out raw addresses, of a BAR or of memory, has
 * mapped nothing: the card would be stopped there, or reach what else is mapped there by chance
 * (which those of BARs are not: the kernel keeps the windows of the card's host bridge free). Below
 * a switch the bus may take them to their device all the same, but only the kernel's mark says so.
 * In a domain without paging they are right.
 */
static bool tp_is_translated(struct iommu_domain *domain, struct scatterlist *piece)
{
	const dma_addr_t start = sg_dma_address(piece);
	const u32 last = sg_dma_len(piece) - 1;
	u64 at;

	if (!domain || !(domain->type & __IOMMU_DOMAIN_PAGING) || tp_is_bus_address(piece))
		return true;
	/* Exporters map a piece as a whole: this often is enough. */
	for (at = 0; at < last; at += SZ_2M)
		if (!iommu_iova_to_phys(domain, start + at))
			return false;
	return iommu_iova_to_phys(domain, start + last);
}

/* What is wrong with what the exporter has mapped, or NULL. */
static const char *tp_import_flaw(const struct tp_import *import)
{
	struct device *device = import->attachment->dev;
	struct iommu_domain *domain = iommu_get_domain_for_dev(device);
	const u64 limit = min_not_zero(dma_get_mask(device), device->bus_dma_limit);
	const u64 size = import->buffer->size;
	struct scatterlist *piece;
	unsigned int number;
	u64 bytes = 0;

	for_each_sgtable_dma_sg(import->mapped, piece, number) {
		const u32 part = sg_dma_len(piece);

		if (!part || part - 1 > limit || sg_dma_address(piece) > limit - (part - 1))
			return "has addresses that this card cannot reach";
		if (!tp_is_translated(domain, piece))
			return "has mapped nothing: update it, or boot with iommu.passthrough=1";
		bytes += part;
	}
	return bytes < size || bytes > PAGE_ALIGN(size) ? "has mapped more or less of it" : NULL;
}

static int tp_import_check(const struct tp_import *import)
{
	const struct dma_buf *buffer = import->buffer;
	const char *flaw = tp_import_flaw(import);

	if (!flaw)
		return 0;
	dev_err_ratelimited(import->attachment->dev,
			    "a dma-buf is refused: its exporter %s (module %s) %s\n",
			    buffer->exp_name, module_name(buffer->owner), flaw);
	return -EADDRNOTAVAIL;
}

/* With the reservation: keep it where it is, and have it mapped. */
static int tp_import_begin(struct tp_import *import)
{
	struct sg_table *mapped;
	long left;
	int error = dma_buf_pin(import->attachment);

	if (error)
		return error;
	mapped = dma_buf_map_attachment(import->attachment, import->way);
	if (IS_ERR(mapped)) {
		dma_buf_unpin(import->attachment);
		return PTR_ERR(mapped);
	}
	import->mapped = mapped;
	/* The exporter may still be moving it to where it is mapped. */
	left = dma_resv_wait_timeout(import->buffer->resv, DMA_RESV_USAGE_KERNEL, true,
				     MAX_SCHEDULE_TIMEOUT);
	error = left < 0 ? left : tp_import_check(import);
	if (error)
		tp_import_end(import);
	return error;
}

/* Who may not read it, or write it, must not have the card do so. */
static bool tp_is_lent_for(const struct dma_buf *buffer, enum dma_data_direction way)
{
	const fmode_t mode = buffer->file->f_mode;

	return (way == DMA_FROM_DEVICE || mode & FMODE_READ) &&
	       (way == DMA_TO_DEVICE || mode & FMODE_WRITE);
}

struct tp_memory *tp_import(struct tp_card *card, int descriptor, enum dma_data_direction way)
{
	struct tp_memory *memory = ERR_PTR(-ENOMEM);
	struct tp_import *import = kzalloc(sizeof(*import), GFP_KERNEL_ACCOUNT);
	int error;

	if (!import)
		return memory;
	import->card = card;
	import->way = way;
	import->buffer = dma_buf_get(descriptor);
	if (IS_ERR(import->buffer)) {
		memory = ERR_CAST(import->buffer);
		goto free;
	}
	memory = ERR_PTR(-EACCES);
	if (!tp_is_lent_for(import->buffer, way))
		goto put;
	error = tp_account(&import->pinned, PAGE_ALIGN(import->buffer->size) >> PAGE_SHIFT);
	if (error) {
		memory = ERR_PTR(error);
		goto put;
	}
	import->attachment = dma_buf_dynamic_attach(import->buffer, card->bus.device,
						    &tp_import_operations, import);
	if (IS_ERR(import->attachment)) {
		memory = ERR_CAST(import->attachment);
		goto unaccount;
	}
	error = dma_resv_lock_interruptible(import->buffer->resv, NULL);
	if (error) {
		memory = ERR_PTR(error);
		goto detach;
	}
	error = tp_import_begin(import);
	memory = error ? ERR_PTR(error) : tp_memory_create(card, import->mapped);
	if (IS_ERR(memory)) {
		tp_import_end(import);
	} else {
		memory->import = import;
		import->memory = memory;
	}
	dma_resv_unlock(import->buffer->resv);
	if (!IS_ERR(memory))
		return memory;
detach:
	dma_buf_detach(import->buffer, import->attachment);
unaccount:
	tp_unaccount(&import->pinned);
put:
	dma_buf_put(import->buffer);
free:
	kfree(import);
	return memory;
}

void tp_import_unmap(struct tp_import *import)
{
	if (!import->attachment)
		return;
	dma_resv_lock(import->buffer->resv, NULL);
	tp_import_end(import);
	dma_resv_unlock(import->buffer->resv);
	/* Kernels and exporters keep mappings for as long as there is an attachment. */
	dma_buf_detach(import->buffer, import->attachment);
	import->attachment = NULL;
	tp_unaccount(&import->pinned);
}

void tp_import_free(struct tp_import *import)
{
	tp_import_unmap(import);
	dma_buf_put(import->buffer);
	kfree(import);
}
