// SPDX-License-Identifier: Apache-2.0
// Which cards there are, and which are open. One process opens a card once, however often fpga_open() is called for it: RIFFA's programs
// may do so in each of their threads.
#define _GNU_SOURCE // strsep() and recursive mutexes
#include "card.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A handle is this number with the card's id: it fits into an int, which is what RIFFA's Python module keeps it in.
#define HANDLE 0x72690000u
#define NAME_BYTES 256

struct names {
    int count;
    char name[NUM_FPGAS][NAME_BYTES];
};

static struct card cards[NUM_FPGAS];
// Of opens, devices and channels. Held for each of these, never during a transfer.
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

struct card *card_of(fpga_t *fpga) {
    uintptr_t id = (uintptr_t)fpga - HANDLE;
    if (id >= NUM_FPGAS || atomic_load_explicit(&cards[id].opens, memory_order_acquire) == 0) return NULL;
    return &cards[id];
}

static void add(struct names *names, const char *name) {
    if (names->count == NUM_FPGAS || *name == '\0') return;
    snprintf(names->name[names->count++], NAME_BYTES, "%s", name);
}

static void add_card(void *context, const towpath_listing *device) {
    if (device->order != 0) add(context, device->name);
}

// The cards in the order of their ids.
static void find(struct names *names) {
    const char *listed = getenv("TOWPATH_DEVICE");
    names->count = 0;
    if (listed == NULL || *listed == '\0') {
        towpath_list(add_card, names);
        return;
    }
    char *copy = strdup(listed), *rest = copy;
    if (copy == NULL) return;
    for (char *name; (name = strsep(&rest, ",; ")) != NULL;) add(names, name);
    free(copy);
}

// Waits until no call has the stream.
static void stream_take(struct stream *stream) {
    while (atomic_flag_test_and_set_explicit(&stream->busy, memory_order_acquire)) usleep(1000);
}

// The streams of an open device, in the order of the channels.
static towpath_status count_streams(struct card *card) {
    towpath_info info = {.size = sizeof info};
    towpath_status status = towpath_get_info(card->device, &info);
    card->count[TO_CARD] = card->count[FROM_CARD] = 0;
    for (uint32_t position = 0; status == TOWPATH_OK && position < info.channels; position++) {
        towpath_channel_info channel = {.size = sizeof channel};
        status = towpath_get_channel(card->device, position, &channel);
        if (status != TOWPATH_OK || strcmp(channel.kind, "stream") != 0) continue;
        enum way way = channel.direction == TOWPATH_H2C ? TO_CARD : FROM_CARD;
        if (card->count[way] == TP_CHANNELS_MAX) continue;
        struct stream *stream = &card->streams[way][card->count[way]++];
        stream_take(stream);
        stream->channel = NULL;
        stream->number = channel.number;
        stream->open = false;
        stream->rest = 0;
        stream_end(stream);
    }
    return status;
}

// With `changing` held. 0, or an errno.
static int hold(struct card *card, const char *name) {
    if (atomic_load(&card->opens) == 0) {
        if (towpath_open(name, NULL, &card->device) != TOWPATH_OK) return towpath_last_errno();
        if (count_streams(card) != TOWPATH_OK) {
            int number = towpath_last_errno();
            towpath_close(card->device);
            return number;
        }
    }
    atomic_fetch_add_explicit(&card->opens, 1, memory_order_release);
    return 0;
}

static void let_go(struct card *card) {
    if (atomic_fetch_sub(&card->opens, 1) > 1) return;
    // A call in another thread ends with this, or finds out for itself that the card is closed. It has its stream until then.
    for (int way = 0; way < WAYS; way++) {
        for (uint32_t chnl = 0; chnl < card->count[way]; chnl++) towpath_close_channel(card->streams[way][chnl].channel);
    }
    for (int way = 0; way < WAYS; way++) {
        for (uint32_t chnl = 0; chnl < card->count[way]; chnl++) {
            stream_take(&card->streams[way][chnl]);
            card->streams[way][chnl].channel = NULL;
            stream_end(&card->streams[way][chnl]);
        }
    }
    towpath_close(card->device);
    card->device = NULL;
}

int stream_open(struct card *card, struct stream *stream, enum way way) {
    uint32_t direction = way == TO_CARD ? TOWPATH_H2C : TOWPATH_C2H;
    int number = 0;
    // Who closes the card holds this, and waits for the stream that this call has.
    while (pthread_mutex_trylock(&changing) != 0) {
        if (atomic_load(&card->opens) == 0) return ECANCELED;
        usleep(1000);
    }
    if (atomic_load(&card->opens) == 0 || card->device == NULL) {
        number = EBADF;
    } else if (towpath_open_channel_number(card->device, stream->number, direction, NULL, &stream->channel) != TOWPATH_OK) {
        number = towpath_last_errno();
    }
    pthread_mutex_unlock(&changing);
    return number;
}

fpga_t *fpga_open(int id) {
    struct names names;
    pthread_mutex_lock(&changing);
    find(&names);
    int number = id < 0 || id >= names.count ? ENODEV : hold(&cards[id], names.name[id]);
    pthread_mutex_unlock(&changing);
    if (number == 0) return (fpga_t *)(uintptr_t)(HANDLE + (unsigned)id);
    errno = number;
    return NULL;
}

void fpga_close(fpga_t *fpga) {
    pthread_mutex_lock(&changing);
    struct card *card = card_of(fpga);
    if (card != NULL) let_go(card);
    pthread_mutex_unlock(&changing);
}

void fpga_reset(fpga_t *fpga) {
    struct card *card = card_of(fpga);
    if (card == NULL) return;
    towpath_reset(card->device);
    // No message is in progress any more. A call that still is will find out by itself.
    for (int way = 0; way < WAYS; way++) {
        for (uint32_t chnl = 0; chnl < card->count[way]; chnl++) {
            struct stream *stream = &card->streams[way][chnl];
            if (atomic_flag_test_and_set_explicit(&stream->busy, memory_order_acquire)) continue;
            stream->open = false;
            stream_end(stream);
        }
    }
}

// A number that the system knows of the card's function; what the contract says where it knows none, as of a simulated card.
static int identity(const char *name, const char *what, unsigned otherwise) {
    char path[2 * NAME_BYTES];
    if (strncmp(name, "vfio:", 5) == 0) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", name + 5, what);
    } else if (strncmp(name, "/dev/", 5) == 0) {
        snprintf(path, sizeof path, "/sys/class/towpath/%s!control/device/%s", name + 5, what);
    } else {
        return (int)otherwise;
    }
    unsigned number = otherwise;
    FILE *file = fopen(path, "r");
    if (file == NULL) return (int)otherwise;
    if (fscanf(file, "%x", &number) != 1) number = otherwise;
    fclose(file);
    return (int)number;
}

int fpga_list(fpga_info_list *list) {
    if (list == NULL) return -EINVAL;
    struct names names;
    pthread_mutex_lock(&changing);
    find(&names);
    *list = (fpga_info_list){.num_fpgas = names.count};
    for (int id = 0; id < NUM_FPGAS; id++) {
        list->id[id] = id < names.count ? id : -1;
        if (id >= names.count) continue;
        const char *name = names.name[id];
        struct card *card = &cards[id];
        if (hold(card, name) == 0) {
            uint32_t sends = card->count[TO_CARD], receives = card->count[FROM_CARD];
            list->num_chnls[id] = (int)(sends > receives ? sends : receives);
            let_go(card);
        }
        list->vendor_id[id] = identity(name, "vendor", TP_PCI_VENDOR);
        list->device_id[id] = identity(name, "device", TP_PCI_DEVICE);
        snprintf(list->name[id], sizeof list->name[id], "%.15s", strncmp(name, "vfio:", 5) == 0 ? name + 5 : name);
    }
    pthread_mutex_unlock(&changing);
    return 0;
}

// What fpga_lock() holds: a thread's, and more than once.
static pthread_mutex_t locks[NUM_FPGAS] = {
    PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
};

// A child of fork() has none of its parent's cards, whatever another thread there was at.
static void forget(void) {
    memset(cards, 0, sizeof cards);
    changing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (int id = 0; id < NUM_FPGAS; id++) locks[id] = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

__attribute__((constructor)) static void at_fork(void) { pthread_atfork(NULL, NULL, forget); }

int fpga_lock(fpga_t *fpga) {
    struct card *card = card_of(fpga);
    return card == NULL ? -EBADF : -pthread_mutex_lock(&locks[card - cards]);
}

int fpga_unlock(fpga_t *fpga) {
    struct card *card = card_of(fpga);
    return card == NULL ? -EBADF : -pthread_mutex_unlock(&locks[card - cards]);
}
