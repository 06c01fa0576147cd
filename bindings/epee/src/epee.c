// SPDX-License-Identifier: Apache-2.0
// EPEE's calls over libtowpath. sPcie.h says what they promise.
#include <pthread.h>
#include <stdint.h>

#include <sPcie.h>
#include <towpath.h>

#define ZEROCOPY_BYTES (UINT64_C(4) << 20)
#define INTERRUPTS 8
#define WORD 4
// How long a call that sends does not look at what comes to the host, if that has to go on.
#define SLICE UINT64_C(100000)
// How long a call that only looks waits: simulated time goes on while somebody waits, and a program may look until it sees what it wants.
#define LOOK UINT64_C(1000)

// What the process uses, each opened by the first call that needs it and kept until the process ends.
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static towpath_device *device;
static towpath_channel *host2board, *board2host;

// What is sent without waiting.
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;
static towpath_buffer *copies;
static uint64_t copies_bytes, ticket;
static int in_flight;

static pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER;
static towpath_buffer *zerocopy;

// A transfer of that buffer in one direction. To the host it is posted again, for what is left, where a message ends.
struct transfer {
    pthread_mutex_t moving; // of a call that moves or asks; of dma_board2host() until all has come
    uint64_t ticket, first, left;
    int posted, failed;
};
static struct transfer to_board = {.moving = PTHREAD_MUTEX_INITIALIZER}, to_host = {.moving = PTHREAD_MUTEX_INITIALIZER};

// Each call takes one event of an interrupt; what came more often waits in `left`, which `taking` guards.
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static uint32_t left[INTERRUPTS];
static pthread_mutex_t waiting[INTERRUPTS];

// A child of fork() opens the card itself: nothing of its parent's is its own, whatever another thread there was at.
static void forget(void) {
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    device = NULL;
    host2board = board2host = NULL;
    copies = zerocopy = NULL;
    copies_bytes = 0;
    in_flight = 0;
    memset(left, 0, sizeof left);
    to_board = to_host = (struct transfer){.moving = fresh};
    opening = sending = sharing = taking = fresh;
    for (int vector = 0; vector < INTERRUPTS; vector++) waiting[vector] = fresh;
}

__attribute__((constructor)) static void begin(void) {
    forget();
    pthread_atfork(NULL, NULL, forget);
}

// EPEE moves whole words, and some at least.
static int is_length(unsigned int len) {
    if (len > 0 && len <= INT32_MAX && len % WORD == 0) return 1;
    errno = EINVAL;
    return 0;
}

static int done(towpath_status status) { return status == TOWPATH_OK ? 0 : -1; }

static int open_device(void) {
    if (device != NULL) return 0;
    return done(towpath_open(NULL, NULL, &device));
}

// The first stream of this direction.
static int open_stream(uint32_t direction, towpath_channel **channel) {
    towpath_info info = {.size = sizeof info};
    if (*channel != NULL) return 0;
    if (open_device() != 0 || towpath_get_info(device, &info) != TOWPATH_OK) return -1;
    for (uint32_t position = 0; position < info.channels; position++) {
        towpath_channel_info found = {.size = sizeof found};
        if (towpath_get_channel(device, position, &found) != TOWPATH_OK) return -1;
        if (found.direction != direction || strcmp(found.kind, "stream") != 0) continue;
        return done(towpath_open_channel_number(device, found.number, direction, NULL, channel));
    }
    errno = ENOENT;
    return -1;
}

static int card(void) {
    pthread_mutex_lock(&opening);
    int result = open_device();
    pthread_mutex_unlock(&opening);
    return result;
}

static int stream(uint32_t direction) {
    pthread_mutex_lock(&opening);
    int result = open_stream(direction, direction == TOWPATH_H2C ? &host2board : &board2host);
    pthread_mutex_unlock(&opening);
    return result;
}

// Arguments that mean nothing.
static int refused(void) {
    errno = EINVAL;
    return -1;
}

int read_usr_reg(unsigned int reg, unsigned int *p_data) {
    uint32_t value;
    if (reg > UINT32_MAX / WORD) return refused();
    if (card() != 0 || towpath_read_register(device, WORD * reg, &value) != TOWPATH_OK) return -1;
    *p_data = value;
    return 0;
}

int write_usr_reg(unsigned int reg, unsigned int *p_data) {
    if (reg > UINT32_MAX / WORD) return refused();
    if (card() != 0) return -1;
    return done(towpath_write_register(device, WORD * reg, *p_data));
}

// With `sending` held: whether the buffer of copies is free and has room.
static int copies_are_free(unsigned int len) {
    if (in_flight) {
        towpath_status status = towpath_wait(host2board, ticket, LOOK, NULL);
        if (status == TOWPATH_PENDING) errno = EAGAIN;
        if (status == TOWPATH_PENDING || status == TOWPATH_INTERRUPTED) return 0;
        in_flight = 0;
        if (status != TOWPATH_OK) return 0; // its fault: told by this call, once
    }
    if (len <= copies_bytes) return 1;
    if (copies != NULL && towpath_free_buffer(copies) != TOWPATH_OK) return 0;
    copies = NULL;
    copies_bytes = 0;
    if (towpath_allocate(device, len, &copies) != TOWPATH_OK) return 0;
    copies_bytes = len;
    return 1;
}

int dma_host2board_unblocking(unsigned int len, void *p_data) {
    void *memory;
    if (!is_length(len) || stream(TOWPATH_H2C) != 0) return -1;
    pthread_mutex_lock(&sending);
    int result = -1;
    if (copies_are_free(len) && towpath_get_buffer(copies, &memory, NULL) == TOWPATH_OK) {
        memcpy(memory, p_data, len);
        if (towpath_submit(host2board, copies, 0, len, NULL, 0, &ticket) == TOWPATH_OK) {
            in_flight = 1;
            result = (int)len;
        }
    }
    pthread_mutex_unlock(&sending);
    return result;
}

// With `moving` held: post what is left.
static void post(struct transfer *transfer, towpath_channel *channel) {
    transfer->posted = towpath_submit(channel, zerocopy, transfer->first, transfer->left, NULL, 0, &transfer->ticket) == TOWPATH_OK;
    transfer->failed = !transfer->posted;
}

// With `moving` held: whether the transfer is still under way after this time, or after a signal.
static int is_under_way(struct transfer *transfer, towpath_channel *channel, uint64_t nanoseconds) {
    while (transfer->posted) {
        towpath_completion completion = {.size = sizeof completion};
        towpath_status status = towpath_wait(channel, transfer->ticket, nanoseconds, &completion);
        if (status == TOWPATH_PENDING || status == TOWPATH_INTERRUPTED) return 1;
        transfer->posted = 0;
        transfer->failed = status != TOWPATH_OK;
        if (transfer->failed) break;
        transfer->first += completion.bytes;
        transfer->left -= completion.bytes;
        // A transfer to the board moves all, or fails.
        if (transfer == &to_host && transfer->left > 0) post(transfer, channel);
    }
    return 0;
}

// With `moving` held, of one that is not under way: 0, or -1 if it has failed, which is told once.
static int result_of(struct transfer *transfer) {
    int failed = transfer->failed;
    transfer->failed = 0;
    return failed ? -1 : 0;
}

// What comes to the host goes on, while this thread waits for what goes to the board: the card may be full until it does.
static int go_on(void) {
    if (pthread_mutex_trylock(&to_host.moving) != 0) return 0;
    int under_way = is_under_way(&to_host, board2host, LOOK);
    pthread_mutex_unlock(&to_host.moving);
    return under_way;
}

int dma_host2board(unsigned int len, void *p_data) {
    if (!is_length(len) || stream(TOWPATH_H2C) != 0) return -1;
    for (uint64_t gone = 0; gone < len;) {
        struct iovec piece = {.iov_base = (char *)p_data + gone, .iov_len = len - gone};
        uint64_t moved = 0;
        towpath_status status = towpath_sendv(host2board, &piece, 1, NULL, go_on() ? SLICE : TOWPATH_FOREVER, &moved);
        if (status != TOWPATH_OK && status != TOWPATH_TIMEOUT) return -1;
        gone += moved;
    }
    return (int)len;
}

static int receive(unsigned int len, char *data) {
    if (is_under_way(&to_host, board2host, TOWPATH_FOREVER)) {
        errno = EINTR;
        return -1;
    }
    for (uint64_t came = 0; came < len;) {
        struct iovec piece = {.iov_base = data + came, .iov_len = len - came};
        towpath_received received = {.size = sizeof received};
        if (towpath_recvv(board2host, &piece, 1, TOWPATH_FOREVER, &received) != TOWPATH_OK) return -1;
        came += received.bytes;
    }
    return (int)len;
}

int dma_board2host(unsigned int len, void *p_data) {
    if (!is_length(len) || stream(TOWPATH_C2H) != 0) return -1;
    pthread_mutex_lock(&to_host.moving);
    int result = receive(len, p_data);
    pthread_mutex_unlock(&to_host.moving);
    return result;
}

// Whether an event that came with others is left, which this call then takes.
static int one_is_left(int vector_num) {
    pthread_mutex_lock(&taking);
    int one = left[vector_num] > 0;
    left[vector_num] -= (uint32_t)one;
    pthread_mutex_unlock(&taking);
    return one;
}

int block_until_interrupt(int vector_num) {
    uint32_t events;
    if (vector_num < 0 || vector_num >= INTERRUPTS) return refused();
    if (card() != 0) return -1;
    // One waits at the card; the others wait for it, and look first at what it has left.
    pthread_mutex_lock(&waiting[vector_num]);
    int result = one_is_left(vector_num) ? 0 : -1;
    if (result != 0 && towpath_wait_interrupt(device, (uint32_t)vector_num, TOWPATH_FOREVER, &events) == TOWPATH_OK) {
        pthread_mutex_lock(&taking);
        left[vector_num] += events - 1;
        pthread_mutex_unlock(&taking);
        result = 0;
    }
    pthread_mutex_unlock(&waiting[vector_num]);
    return result;
}

void *get_zerocopy_buffer(void) {
    void *memory = NULL;
    if (card() != 0) return NULL;
    pthread_mutex_lock(&sharing);
    if (zerocopy != NULL || towpath_allocate(device, ZEROCOPY_BYTES, &zerocopy) == TOWPATH_OK) towpath_get_buffer(zerocopy, &memory, NULL);
    pthread_mutex_unlock(&sharing);
    return memory;
}

int release_zerocopy_buffer(void *buf) {
    void *memory = NULL;
    int result = -1;
    pthread_mutex_lock(&sharing);
    if (zerocopy != NULL && towpath_get_buffer(zerocopy, &memory, NULL) == TOWPATH_OK && memory == buf) {
        result = done(towpath_free_buffer(zerocopy));
        if (result == 0) zerocopy = NULL;
    }
    pthread_mutex_unlock(&sharing);
    return result;
}

// Starts a transfer of a part of the buffer; another one under way is EAGAIN, as is a call that moves.
static int start(struct transfer *transfer, towpath_channel *const *channel, int offset, int len) {
    if (offset < 0 || offset % WORD != 0 || !is_length((unsigned)len) || (uint64_t)offset + (uint64_t)len > ZEROCOPY_BYTES)
        return refused();
    if (stream(transfer == &to_board ? TOWPATH_H2C : TOWPATH_C2H) != 0) return -1;
    if (pthread_mutex_trylock(&transfer->moving) != 0) {
        errno = EAGAIN;
        return -1;
    }
    int result = -1;
    if (is_under_way(transfer, *channel, LOOK)) {
        errno = EAGAIN;
    } else if (result_of(transfer) == 0) {
        transfer->first = (uint64_t)offset;
        transfer->left = (uint64_t)len;
        post(transfer, *channel);
        result = result_of(transfer);
    }
    pthread_mutex_unlock(&transfer->moving);
    return result == 0 ? len : -1;
}

int zerocopy_host2board(int offset, int len) { return start(&to_board, &host2board, offset, len); }
int zerocopy_board2host(int offset, int len) { return start(&to_host, &board2host, offset, len); }

static int status_of(struct transfer *transfer, towpath_channel *const *channel) {
    if (pthread_mutex_trylock(&transfer->moving) != 0) return 1;
    int result = is_under_way(transfer, *channel, LOOK) ? 1 : result_of(transfer);
    pthread_mutex_unlock(&transfer->moving);
    if (transfer == &to_board) go_on();
    return result;
}

int get_host2board_status(void) { return status_of(&to_board, &host2board); }
int get_board2host_status(void) { return status_of(&to_host, &board2host); }

// After a reset: what it has ended is nobody's fault.
static void collect(int result) {
    if (result != 0) return;
    status_of(&to_board, &host2board);
    status_of(&to_host, &board2host);
}

int sys_reset(void) {
    if (card() != 0) return -1;
    int result = done(towpath_reset(device));
    // Interrupts from before it count no more.
    pthread_mutex_lock(&taking);
    memset(left, 0, sizeof left);
    pthread_mutex_unlock(&taking);
    collect(result);
    return result;
}
int usr_reset(void) { return sys_reset(); }

static int reset_stream(uint32_t direction) {
    if (stream(direction) != 0) return -1;
    int result = done(towpath_reset_channel(direction == TOWPATH_H2C ? host2board : board2host));
    collect(result);
    return result;
}

int host2board_reset(void) { return reset_stream(TOWPATH_H2C); }
int board2host_reset(void) { return reset_stream(TOWPATH_C2H); }

static int count(uint32_t direction) {
    towpath_statistics statistics = {.size = sizeof statistics};
    if (stream(direction) != 0) return -1;
    if (towpath_get_statistics(direction == TOWPATH_H2C ? host2board : board2host, &statistics) != TOWPATH_OK) return -1;
    return (int)(statistics.bytes & INT32_MAX);
}

int get_host2board_count(void) { return count(TOWPATH_H2C); }
int get_board2host_count(void) { return count(TOWPATH_C2H); }

char get_pcie_cfg_mode(void) { return -1; }
char get_pcie_cur_mode(void) { return -1; }
