// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The windows. BAR 2 is the user core's registers: by an ioctl, one access at a time, whose error
 * is reported; or mapped into programs, where it is not. BAR 4 is its memories, mapped into
 * programs alone (ram.c).
 *
 * A page is mapped when it is first touched, under card->mapping and in a state of the card that
 * allows it. So tp_window_revoke() finds all that was mapped before, and a page that is touched
 * afterwards raises SIGBUS.
 */
#include <linux/fs.h>
#include <linux/mm.h>

#include "card.h"
#include "uapi/towpath.h"

/* No program is shown a page with something else in it. */
static unsigned long tp_first_page(phys_addr_t start, u64 bytes)
{
	return IS_ALIGNED(start | bytes, PAGE_SIZE) ? PHYS_PFN(start) : 0;
}

void tp_window_init(struct tp_card *card)
{
	card->window_page = tp_first_page(card->bus.window_start, card->bus.window_bytes);
	card->memory_page = tp_first_page(card->bus.memory_start, card->bus.memory_bytes);
}

/* What became of an access to the register window that may have failed. */
static int tp_window_error(struct tp_card *card)
{
	void __iomem *status = tp_card_page(card) + TP_CARD_WINDOW_STATUS_OFFSET;
	u32 found = readl(status) &
		    (TP_CARD_WINDOW_STATUS_TIMEOUT_MASK | TP_CARD_WINDOW_STATUS_ERROR_MASK);

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

int tp_window_state(struct tp_card *card, struct towpath_window *state)
{
	void __iomem *page = tp_card_page(card);
	u32 found;

	mutex_lock(&card->window);
	found = readl(page + TP_CARD_WINDOW_STATUS_OFFSET);
	if (found & TP_CARD_WINDOW_STATUS_MEMORY_ERROR_MASK) {
		writel(TP_CARD_WINDOW_STATUS_MEMORY_ERROR_MASK,
		       page + TP_CARD_WINDOW_STATUS_OFFSET);
		card->memory_errors++;
	}
	state->errors = card->memory_errors;
	mutex_unlock(&card->window);
	state->off = !!(found & TP_CARD_WINDOW_STATUS_MEMORY_TIMEOUT_MASK);
	state->stores_refused = readl(page + TP_CARD_MEMORY_WINDOW_ERRORS_OFFSET);
	state->stores_dropped = readl(page + TP_CARD_MEMORY_WINDOW_OVERRUNS_OFFSET);
	return found == U32_MAX ? -ENOLINK : 0;
}

/* A reset of the card leaves the windows mapped. */
static bool tp_window_serves(const struct tp_card *card)
{
	const enum tp_card_state state = tp_card_state(card);

	return state == TP_CARD_READY || state == TP_CARD_RESETTING;
}

/* The page frame behind a place of a file. */
static unsigned long tp_window_frame(const struct tp_card *card, unsigned long place)
{
	return place < TP_MEMORY_PLACE ? card->window_page + (place - TP_WINDOW_PLACE) :
					 card->memory_page + (place - TP_MEMORY_PLACE);
}

static vm_fault_t tp_window_fault(struct vm_fault *fault)
{
	struct tp_card *card = fault->vma->vm_private_data;
	vm_fault_t result = VM_FAULT_SIGBUS;

	mutex_lock(&card->mapping);
	if (tp_window_serves(card))
		result = vmf_insert_pfn(fault->vma, fault->address,
					tp_window_frame(card, fault->pgoff));
	mutex_unlock(&card->mapping);
	return result;
}

static const struct vm_operations_struct tp_window_operations = {
	.fault = tp_window_fault,
};

int tp_window_map(struct tp_card *card, struct vm_area_struct *place, unsigned long start,
		  u64 pages)
{
	const bool is_memory = start >= TP_MEMORY_PLACE;
	/* Under mmap_lock the card cannot be entered. */
	const int error = tp_card_error(card);

	if (error && error != -ECONNRESET)
		return error;
	if (!pages)
		return -ENXIO;
	if (place->vm_flags & VM_EXEC)
		return -EACCES;
	/* Where the file is not open for writing, VM_SHARED is not set. */
	if (!(place->vm_flags & VM_MAYSHARE) || place->vm_pgoff >= pages ||
	    vma_pages(place) > pages - place->vm_pgoff)
		return -EINVAL;
	/* As soon as a page of it is touched. */
	might_lock(&card->mapping);
	if (is_memory ? !card->memory_page : !card->window_page)
		return -EOPNOTSUPP;
	tp_place_change_flags(place, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	place->vm_page_prot = is_memory ? pgprot_writecombine(place->vm_page_prot) :
					  pgprot_device(place->vm_page_prot);
	place->vm_page_prot = pgprot_decrypted(place->vm_page_prot);
	place->vm_pgoff += start;
	place->vm_private_data = card;
	place->vm_ops = &tp_window_operations;
	return 0;
}

int tp_window_mmap(struct tp_card *card, struct vm_area_struct *place)
{
	const int error =
		tp_window_map(card, place, TP_WINDOW_PLACE, PFN_UP((u64)card->table.window_bytes));

	if (!error)
		WRITE_ONCE(card->window_shared, true);
	return error;
}

void tp_view_add(struct tp_card *card, struct tp_view *view, struct file *file)
{
	view->file = file;
	mutex_lock(&card->mapping);
	list_add_tail(&view->link, &card->views);
	mutex_unlock(&card->mapping);
}

void tp_view_remove(struct tp_card *card, struct tp_view *view)
{
	mutex_lock(&card->mapping);
	list_del(&view->link);
	mutex_unlock(&card->mapping);
}

void tp_window_revoke(struct tp_card *card)
{
	const loff_t start = (loff_t)TP_WINDOW_PLACE << PAGE_SHIFT;
	struct tp_view *view;

	mutex_lock(&card->mapping);
	/* All from there on, which is as much again. */
	list_for_each_entry(view, &card->views, link)
		unmap_mapping_range(view->file->f_mapping, start, start, 1);
	mutex_unlock(&card->mapping);
}
