// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The register window, BAR 2: the user core's registers. By an ioctl, one access at a time, whose
 * error is reported; or mapped into programs, where it is not.
 *
 * A page is mapped when it is first touched, under card->mapping and in a state of the card that
 * allows it. So tp_window_revoke() finds all that was mapped before, and a page that is touched
 * afterwards raises SIGBUS.
 */
#include <linux/fs.h>
#include <linux/mm.h>

#include "card.h"
#include "uapi/towpath.h"

/* Where it is in the file as the kernel counts: behind the buffers, which programs map, too. */
#define TP_WINDOW_PLACE BIT(31)

void tp_window_init(struct tp_card *card)
{
	const phys_addr_t start = card->bus.window_start;

	/* No program is shown a page with registers of something else in it. */
	if (IS_ALIGNED(start | card->bus.window_bytes, PAGE_SIZE))
		card->window_page = PHYS_PFN(start);
}

/* What became of an access to the register window that may have failed. */
static int tp_window_error(struct tp_card *card)
{
	void __iomem *status = tp_card_page(card) + TP_CARD_WINDOW_STATUS_OFFSET;
	u32 found = readl(status);

	if (!found)
		return 0;
	writel(found, status);
	return found & TP_CARD_WINDOW_STATUS_TIMEOUT_MASK ? -ETIMEDOUT : -EREMOTEIO;
}

int tp_window_access(struct tp_card *card, struct towpath_register *access, bool may_write)
{
	int error;

	if (access->flags & TOWPATH_REGISTER_WRITE && !may_write)
		return -EACCES;
	if (!card->table.window_bytes)
		return -ENXIO;
	if (access->offset & 3 || access->offset >= card->table.window_bytes)
		return -EINVAL;
	mutex_lock(&card->window);
	/* What failed in a mapping before is not this access's error. */
	if (READ_ONCE(card->window_shared))
		tp_window_error(card);
	if (access->flags & TOWPATH_REGISTER_WRITE) {
		writel(access->value, card->bus.window + access->offset);
		error = tp_window_error(card);
	} else {
		access->value = readl(card->bus.window + access->offset);
		/* An access that fails reads as all ones: only then is the status read. */
		error = access->value == U32_MAX ? tp_window_error(card) : 0;
	}
	mutex_unlock(&card->window);
	return error;
}

/* A reset of the card leaves the window mapped. */
static bool tp_window_serves(const struct tp_card *card)
{
	const enum tp_card_state state = tp_card_state(card);

	return state == TP_CARD_READY || state == TP_CARD_RESETTING;
}

static vm_fault_t tp_window_fault(struct vm_fault *fault)
{
	struct tp_card *card = fault->vma->vm_private_data;
	vm_fault_t result = VM_FAULT_SIGBUS;

	mutex_lock(&card->mapping);
	if (tp_window_serves(card))
		result = vmf_insert_pfn(fault->vma, fault->address,
					card->window_page + (fault->pgoff - TP_WINDOW_PLACE));
	mutex_unlock(&card->mapping);
	return result;
}

static const struct vm_operations_struct tp_window_operations = {
	.fault = tp_window_fault,
};

int tp_window_mmap(struct tp_card *card, struct vm_area_struct *place)
{
	/* Under mmap_lock the card cannot be entered. */
	const int error = tp_card_error(card);

	if (error && error != -ECONNRESET)
		return error;
	if (!card->table.window_bytes)
		return -ENXIO;
	if (place->vm_flags & VM_EXEC)
		return -EACCES;
	/* Where the file is not open for writing, VM_SHARED is not set. */
	if (!(place->vm_flags & VM_MAYSHARE) ||
	    place->vm_end - place->vm_start > PAGE_ALIGN((u64)card->table.window_bytes))
		return -EINVAL;
	/* As soon as a page of it is touched. */
	might_lock(&card->mapping);
	if (!card->window_page)
		return -EOPNOTSUPP;
	WRITE_ONCE(card->window_shared, true);
	tp_place_change_flags(place, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	place->vm_page_prot = pgprot_decrypted(pgprot_device(place->vm_page_prot));
	place->vm_pgoff += TP_WINDOW_PLACE;
	place->vm_private_data = card;
	place->vm_ops = &tp_window_operations;
	return 0;
}

void tp_window_revoke(struct tp_card *card)
{
	struct tp_owner *owner;

	if (!card->table.window_bytes)
		return;
	mutex_lock(&card->mapping);
	list_for_each_entry(owner, &card->owners, link)
		unmap_mapping_range(owner->file->f_mapping, (loff_t)TP_WINDOW_PLACE << PAGE_SHIFT,
				    PAGE_ALIGN((u64)card->table.window_bytes), 1);
	mutex_unlock(&card->mapping);
}
