// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * An exporter of dma-bufs that takes its memory back when a test wants it: /dev/towpath-exporter. What a GPU's driver does when its card
 * goes. For a kernel in a test's virtual machine, and no other.
 *
 * ioctl(EXPORT, pages) gives a descriptor of so many pages, each in a place of its own. ioctl(TAKE_BACK, descriptor) takes its memory back,
 * and fills it with OVERWRITTEN: EBUSY when an importer has it still. ioctl(IMPORTERS, descriptor) says how often it is mapped.
 *
 * With a flag beside the pages it maps them wrongly.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>

#define EXPORT _IO('x', 0)
#define TAKE_BACK _IO('x', 1)
#define IMPORTERS _IO('x', 2)
/* EXPORT: for reading alone. */
#define READ_ONLY 0x10000
/* EXPORT: hands out physical addresses and maps nothing, as an exporter of a BAR was reported to. */
#define RAW 0x20000
/* EXPORT: the same, and the last address but 100 begins a page. */
#define BEYOND 0x40000
/* EXPORT: leaves the last page out. */
#define SHORT 0x80000
#define OVERWRITTEN 0xee

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0)
#define dma_buf_move_notify dma_buf_invalidate_mappings
#endif

/* All of it under the reservation. */
struct store {
    bool taken_back;
    int mapped, pinned;
    unsigned int count;
    unsigned long flags;
    struct page *pages[];
};

static int store_pin(struct dma_buf_attachment *attachment) {
    struct store *store = attachment->dmabuf->priv;

    if (store->taken_back) return -ENODEV;
    store->pinned++;
    return 0;
}

static void store_unpin(struct dma_buf_attachment *attachment) {
    struct store *store = attachment->dmabuf->priv;

    store->pinned--;
}

/* Says where the importer's device finds it. */
static int store_place(struct store *store, struct device *importer, struct sg_table *table, enum dma_data_direction way) {
    struct scatterlist *piece;
    unsigned int i;

    if (!(store->flags & (RAW | BEYOND))) return dma_map_sgtable(importer, table, way, 0);
    for_each_sgtable_sg(table, piece, i) {
        sg_dma_address(piece) = sg_phys(piece);
        sg_dma_len(piece) = piece->length;
    }
    if (store->flags & BEYOND) sg_dma_address(table->sgl) = ~(dma_addr_t)100;
    return 0;
}

static struct sg_table *store_map(struct dma_buf_attachment *attachment, enum dma_data_direction way) {
    struct store *store = attachment->dmabuf->priv;
    struct sg_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
    struct scatterlist *piece;
    unsigned int i;
    int error;

    if (!table) return ERR_PTR(-ENOMEM);
    error = store->taken_back ? -ENODEV : sg_alloc_table(table, store->count - !!(store->flags & SHORT), GFP_KERNEL);
    if (error) goto free;
    /* each page on its own, even beside the one before it */
    for_each_sgtable_sg(table, piece, i) sg_set_page(piece, store->pages[i], PAGE_SIZE, 0);
    error = store_place(store, attachment->dev, table, way);
    if (error) {
        sg_free_table(table);
        goto free;
    }
    store->mapped++;
    return table;
free:
    kfree(table);
    return ERR_PTR(error);
}

static void store_unmap(struct dma_buf_attachment *attachment, struct sg_table *table, enum dma_data_direction way) {
    struct store *store = attachment->dmabuf->priv;

    if (!(store->flags & (RAW | BEYOND))) dma_unmap_sgtable(attachment->dev, table, way, 0);
    sg_free_table(table);
    kfree(table);
    store->mapped--;
}

static void store_free(struct store *store) {
    unsigned int i;

    for (i = 0; i < store->count; i++)
        if (store->pages[i]) __free_page(store->pages[i]);
    kfree(store);
}

static void store_release(struct dma_buf *buffer) {
    struct store *store = buffer->priv;

    WARN_ON(store->mapped || store->pinned);
    store_free(store);
}

static int store_mmap(struct dma_buf *buffer, struct vm_area_struct *place) {
    struct store *store = buffer->priv;

    return vm_map_pages(place, store->pages, store->count);
}

static const struct dma_buf_ops operations = {
    .pin = store_pin,
    .unpin = store_unpin,
    .map_dma_buf = store_map,
    .unmap_dma_buf = store_unmap,
    .release = store_release,
    .mmap = store_mmap,
};

static long export(unsigned int count, unsigned long flags) {
    DEFINE_DMA_BUF_EXPORT_INFO(info);
    struct store *store = kzalloc(struct_size(store, pages, count), GFP_KERNEL);
    struct dma_buf *buffer;
    unsigned int i;
    int descriptor;

    if (!store) return -ENOMEM;
    store->count = count;
    store->flags = flags;
    for (i = 0; i < count; i++) {
        store->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
        if (!store->pages[i]) {
            store_free(store);
            return -ENOMEM;
        }
    }
    info.ops = &operations;
    info.size = count * PAGE_SIZE;
    info.flags = flags & READ_ONLY ? O_RDONLY : O_RDWR;
    info.priv = store;
    buffer = dma_buf_export(&info);
    if (IS_ERR(buffer)) {
        store_free(store);
        return PTR_ERR(buffer);
    }
    descriptor = dma_buf_fd(buffer, O_CLOEXEC);
    if (descriptor < 0) dma_buf_put(buffer);
    return descriptor;
}

static long take_back(struct store *store, struct dma_buf *buffer) {
    unsigned int i;

    store->taken_back = true;
    dma_buf_move_notify(buffer);
    if (store->mapped || store->pinned) return -EBUSY;
    for (i = 0; i < store->count; i++) memset(page_address(store->pages[i]), OVERWRITTEN, PAGE_SIZE);
    return 0;
}

static long exporter_ioctl(struct file *file, unsigned int command, unsigned long argument) {
    struct dma_buf *buffer;
    struct store *store;
    long answer = -ENOTTY;

    if (command == EXPORT) return export(argument & (READ_ONLY - 1), argument);
    buffer = dma_buf_get(argument);
    if (IS_ERR(buffer)) return PTR_ERR(buffer);
    store = buffer->priv;
    dma_resv_lock(buffer->resv, NULL);
    if (buffer->ops != &operations)
        answer = -EINVAL;
    else if (command == TAKE_BACK)
        answer = take_back(store, buffer);
    else if (command == IMPORTERS)
        answer = store->mapped;
    dma_resv_unlock(buffer->resv);
    dma_buf_put(buffer);
    return answer;
}

static const struct file_operations exporter_operations = {
    .owner = THIS_MODULE,
    .unlocked_ioctl = exporter_ioctl,
};

static struct miscdevice exporter = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "towpath-exporter",
    .fops = &exporter_operations,
};

module_misc_device(exporter);
MODULE_DESCRIPTION("Exports dma-bufs and takes them back, for tests of those who import them");
MODULE_LICENSE("Dual MIT/GPL");
