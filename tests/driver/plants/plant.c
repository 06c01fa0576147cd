// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Faults on purpose: loading this module with fault=NAME commits one of those that the debug kernel is there to find. The tests beside it
 * see that it finds them. Others do something to a card that no program can do; the driver's tests use them. For a kernel in a test's
 * virtual machine, and no other.
 */
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iommu.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdesc.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "contract/towpath.h"

static char *fault = "none";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "the fault to commit");

static char *card = "";
module_param(card, charp, 0);
MODULE_PARM_DESC(card, "the card's place on the PCI bus, for what is done to one");

static unsigned long at;
module_param(at, ulong, 0);
MODULE_PARM_DESC(at, "where in BAR 0: for store what is written, for tell a channel's privileged page; for storm a vector");

static unsigned long long words[16];
static int word_count;
module_param_array(words, ullong, &word_count, 0);
MODULE_PARM_DESC(words, "what to write, for store and tell");

static char *text = "";
module_param(text, charp, 0);
MODULE_PARM_DESC(text, "for seek");

static uint bar;
module_param(bar, uint, 0);
MODULE_PARM_DESC(bar, "for ports and wide");

static int warning(void) {
    WARN(1, "a planted warning\n");
    return 0;
}

static int use_after_free(void) {
    char *memory = kmalloc(100, GFP_KERNEL);

    if (!memory) return -ENOMEM;
    kfree(memory);
    WRITE_ONCE(memory[10], 1);
    return 0;
}

static int leak(void) {
    /* several: the address of one may happen to stand in a register or on a stack */
    int i;

    for (i = 0; i < 10; i++)
        if (!kmalloc(1000, GFP_KERNEL)) return -ENOMEM;
    return 0;
}

static int wrong_unmap(void) {
    struct platform_device *device;
    dma_addr_t address;
    void *memory;

    device = platform_device_register_simple("towpath-plant", PLATFORM_DEVID_NONE, NULL, 0);
    if (IS_ERR(device)) return PTR_ERR(device);
    memory = kzalloc(PAGE_SIZE, GFP_KERNEL);
    if (memory && !dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64))) {
        address = dma_map_single(&device->dev, memory, PAGE_SIZE, DMA_TO_DEVICE);
        if (!dma_mapping_error(&device->dev, address)) dma_unmap_single(&device->dev, address, PAGE_SIZE / 2, DMA_TO_DEVICE);
    }
    kfree(memory);
    platform_device_unregister(device);
    return 0;
}

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static int lock_order(void) {
    mutex_lock(&first);
    mutex_lock(&second);
    mutex_unlock(&second);
    mutex_unlock(&first);
    mutex_lock(&second);
    mutex_lock(&first);
    mutex_unlock(&first);
    mutex_unlock(&second);
    return 0;
}

/* What the driver has mapped for a card is taken away while both count on it. */
static int early_unmap(void) {
    struct device *device = bus_find_device_by_name(&pci_bus_type, NULL, card);
    struct iommu_domain *domain;
    u64 address;

    if (!device) return -ENODEV;
    domain = iommu_get_domain_for_dev(device);
    /* the kernel gives out addresses from 4 GiB downwards */
    for (address = SZ_4G - SZ_64M; domain && address < SZ_4G; address += PAGE_SIZE)
        if (iommu_iova_to_phys(domain, address)) iommu_unmap(domain, address, PAGE_SIZE);
    put_device(device);
    return domain ? 0 : -ENXIO;
}

/* Somebody else than its driver writes to a card. */
static int store(void) {
    struct device *device = bus_find_device_by_name(&pci_bus_type, NULL, card);
    void __iomem *bar;
    int i;

    if (!device) return -ENODEV;
    bar = pci_iomap(to_pci_dev(device), 0, 0);
    for (i = 0; bar && i < word_count; i++) writeq(words[i], bar + at + 8 * i);
    if (bar) pci_iounmap(to_pci_dev(device), bar);
    put_device(device);
    return bar ? 0 : -ENOMEM;
}

static void *reached(struct iommu_domain *domain, u64 address) {
    phys_addr_t memory = domain ? iommu_iova_to_phys(domain, address) : address;

    return memory ? phys_to_virt(memory) : NULL;
}

/* A card tells its driver what it never would: the next entries of a completion ring, two words for each. In the ring's first lap alone. */
static int tell(void) {
    struct device *device = bus_find_device_by_name(&pci_bus_type, NULL, card);
    int i, error = -ENOMEM;
    void __iomem *bar;

    if (!device) return -ENODEV;
    bar = pci_iomap(to_pci_dev(device), 0, 0);
    if (bar) {
        struct iommu_domain *domain = iommu_get_domain_for_dev(device);
        u64 next = readq(bar + at + TP_CHANNEL_RING_BASE_OFFSET);
        u64 end = next + (TP_COMPLETION_BYTES << readl(bar + at + TP_CHANNEL_RING_LOG2_OFFSET));
        struct tp_completion *entry = NULL;

        for (; next < end; next += sizeof(*entry)) {
            entry = reached(domain, next);
            if (!entry || !(entry->flags & TP_COMPLETION_FLAGS_PHASE_MASK)) break;
        }
        for (i = 0; i + 1 < word_count && next < end && entry; i += 2, next += sizeof(*entry)) {
            entry = reached(domain, next);
            if (!entry) break;
            /* the second word has the phase */
            WRITE_ONCE(((u64 *)entry)[0], words[i]);
            dma_wmb();
            WRITE_ONCE(((u64 *)entry)[1], words[i + 1]);
        }
        error = i == word_count ? 0 : -ENOSPC;
        pci_iounmap(to_pci_dev(device), bar);
    }
    put_device(device);
    return error;
}

/* Is there a text in memory that a card can reach? Needs an IOMMU, which knows what it can. */
static int seek(void) {
    struct device *device = bus_find_device_by_name(&pci_bus_type, NULL, card);
    const size_t bytes = strlen(text);
    struct iommu_domain *domain;
    u64 address;
    int found = 0;

    if (!device) return -ENODEV;
    domain = iommu_get_domain_for_dev(device);
    for (address = SZ_4G - SZ_64M; domain && bytes && address < SZ_4G; address += PAGE_SIZE) {
        phys_addr_t page = iommu_iova_to_phys(domain, address);
        const char *memory = page ? phys_to_virt(page) : NULL;
        size_t at;

        for (at = 0; memory && at <= PAGE_SIZE - bytes; at++) found += !memcmp(memory + at, text, bytes);
    }
    put_device(device);
    if (found) pr_info("plant: %s: %d times\n", text, found);
    return !domain ? -ENXIO : found ? -ENOTUNIQ : 0;
}

/* The system gives a card up, after an error of the bus. */
static int give_up(void) {
    struct device *device = bus_find_device_by_name(&pci_bus_type, NULL, card);
    struct pci_dev *pci = device ? to_pci_dev(device) : NULL;
    int error = -ENODEV;

    if (!device) return error;
    device_lock(device);
    if (pci->driver && pci->driver->err_handler) {
        pci_ers_result_t result = pci->driver->err_handler->error_detected(pci, pci_channel_io_perm_failure);

        error = result == PCI_ERS_RESULT_DISCONNECT ? 0 : -EPROTO;
    }
    device_unlock(device);
    put_device(device);
    return error;
}

static int stormy;

static void fire(struct irq_work *work) {
    int i;

    for (i = 0; i < 1100; i++) generic_handle_irq(stormy);
}

/* A card fires a vector, again and again, and has nothing to tell. */
static int storm(void) {
    struct device *device = bus_find_device_by_name(&pci_bus_type, NULL, card);
    static struct irq_work work = IRQ_WORK_INIT_HARD(fire);

    if (!device) return -ENODEV;
    stormy = pci_irq_vector(to_pci_dev(device), at);
    put_device(device);
    if (stormy < 0) return stormy;
    irq_work_queue(&work);
    irq_work_sync(&work);
    return 0;
}

static struct pci_dev *changed;
static struct resource before;

/* A BAR of a card that nobody uses is told to be something else, for as long as this module is loaded. */
static struct resource *change(void) {
    struct device *device = bus_find_device_by_name(&pci_bus_type, NULL, card);

    if (!device) return NULL;
    changed = to_pci_dev(device);
    before = changed->resource[bar];
    return &changed->resource[bar];
}

static void change_back(void) {
    changed->resource[bar].flags = before.flags;
    changed->resource[bar].end = before.end;
    pci_dev_put(changed);
}

/* Ports instead of memory. */
static int ports(void) {
    struct resource *told = change();

    if (told) told->flags = (told->flags & ~IORESOURCE_MEM) | IORESOURCE_IO;
    return told ? 0 : -ENODEV;
}

/* A page, of what is less, at a page's start and with nothing behind it. */
static int wide(void) {
    struct resource *told = change();

    if (told) told->end = told->start + PAGE_SIZE - 1;
    return told ? 0 : -ENODEV;
}

static const struct {
    const char *name;
    int (*commit)(void);
} faults[] = {
    {"warning", warning},
    {"use-after-free", use_after_free},
    {"leak", leak},
    {"wrong-unmap", wrong_unmap},
    {"lock-order", lock_order},
    {"early-unmap", early_unmap},
    {"store", store},
    {"tell", tell},
    {"seek", seek},
    {"give-up", give_up},
    {"storm", storm},
    {"ports", ports},
    {"wide", wide},
};

static int __init plant_init(void) {
    size_t i;

    for (i = 0; i < ARRAY_SIZE(faults); i++)
        if (!strcmp(fault, faults[i].name)) return faults[i].commit();
    return -EINVAL;
}

static void __exit plant_exit(void) {
    if (changed) change_back();
}

module_init(plant_init);
module_exit(plant_exit);
MODULE_DESCRIPTION("Faults on purpose, for tests of the kernel that finds them");
MODULE_LICENSE("Dual MIT/GPL");
