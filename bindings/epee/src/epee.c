// SPDX-License-Identifier: Apache-2.0
// EPEE's calls over libtowpath. sPcie.h says what they promise.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <sPcie.h>
#include <towpath.h>

#define ZEROCOPY_BYTES (UINT64_C(4) << 20)
#define INTERRUPTS 8
#define WORD 4
// How long a call that waits does not look at what comes to the host, if that has to go on; and if nothing does, but may by another thread.
#define SLICE UINT64_C(100000)
#define IDLE UINT64_C(10000000)
// How long a call that only looks waits: simulated time goes on while somebody waits, and a program may look until it sees what it wants.
#define LOOK UINT64_C(1000)

// What the process uses, each opened by the first call that needs it and kept until the process ends.
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static towpath_device *device;
static towpath_channel *host2board, *board2host;

// What is sent without waiting.
static pthread_mutex_t copying = PTHREAD_MUTEX_INITIALIZER;
static towpath_buffer *copies;
static uint64_t copies_bytes, ticket;
static int in_flight;

static pthread_mutex_t sharing = PTHREAD_MUTEX_INITIALIZER;
static towpath_buffer *zerocopy;

// One direction, and the transfer of that buffer in it. To the host it is posted again, for what is left, where a message ends.
struct transfer {
    pthread_mutex_t order;  // of the one call that moves or submits: nothing comes between the parts of what it moves
    pthread_mutex_t moving; // of a call that looks at the transfer, whose numbers it guards
    uint64_t ticket, first, left;
    int failed;         // errno of its failure that nobody has been told
    unsigned begun;     // `resets` when it was started
    atomic_int posted;  // until all of it is moved: the buffer is its
    atomic_uint resets; // of the direction
};
static struct transfer to_board, to_host;

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
    to_board = to_host = (struct transfer){.order = fresh, .moving = fresh};
    opening = copying = sharing = taking = fresh;
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

// Another call has not ended yet.
static int busy(int number) {
    errno = number;
    return -1;
}

// Arguments out of range.
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

// With `copying` held: whether the buffer of copies is free and has room.
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
    if (pthread_mutex_trylock(&to_board.order) != 0) return busy(EAGAIN);
    pthread_mutex_lock(&copying);
    int result = -1;
    if (copies_are_free(len) && towpath_get_buffer(copies, &memory, NULL) == TOWPATH_OK) {
        memcpy(memory, p_data, len);
        if (towpath_submit(host2board, copies, 0, len, NULL, 0, &ticket) == TOWPATH_OK) {
            in_flight = 1;
            result = (int)len;
        }
    }
    pthread_mutex_unlock(&copying);
    pthread_mutex_unlock(&to_board.order);
    return result;
}

// With `moving` held: post what is left.
static void post(struct transfer *transfer, towpath_channel *channel) {
    towpath_status status = towpath_submit(channel, zerocopy, transfer->first, transfer->left, NULL, 0, &transfer->ticket);
    transfer->failed = status == TOWPATH_OK ? 0 : errno;
    transfer->posted = status == TOWPATH_OK;
}

// With `moving` held: whether the transfer is still under way after this time, or after a signal.
static int is_under_way(struct transfer *transfer, towpath_channel *channel, uint64_t nanoseconds) {
    while (transfer->posted) {
        towpath_completion completion = {.size = sizeof completion};
        towpath_status status = towpath_wait(channel, transfer->ticket, nanoseconds, &completion);
        if (status == TOWPATH_PENDING || status == TOWPATH_INTERRUPTED) return 1;
        // A transfer that a reset has ended has not failed, and is not posted again.
        int is_reset = transfer->begun != transfer->resets;
        transfer->failed = status == TOWPATH_OK || is_reset ? 0 : errno;
        if (status == TOWPATH_OK) {
            transfer->first += completion.bytes;
            transfer->left -= completion.bytes;
        }
        // A transfer to the board moves all, or fails.
        if (status == TOWPATH_OK && !is_reset && transfer == &to_host && transfer->left > 0)
            post(transfer, channel);
        else
            transfer->posted = 0;
    }
    return 0;
}

// With `moving` held, of one that is not under way: 0, or -1 with errno if it has failed. A failure is reported once.
static int result_of(struct transfer *transfer) {
    if (transfer->failed == 0) return 0;
    errno = transfer->failed;
    transfer->failed = 0;
    return -1;
}

// What comes to the host goes on, while this thread waits for something else: the card may be full until it does. Whether there is such a
// transfer, and no other thread that looks after it.
static int go_on(void) {
    if (pthread_mutex_trylock(&to_host.moving) != 0) return 0;
    int under_way = is_under_way(&to_host, board2host, LOOK);
    pthread_mutex_unlock(&to_host.moving);
    return under_way;
}

// A reset between two of its waits ends a call, too.
static int was_reset(const struct transfer *transfer, unsigned resets) {
    if (transfer->resets == resets) return 0;
    errno = ECONNRESET;
    return 1;
}

static int send(unsigned int len, char *data) {
    unsigned resets = to_board.resets;
    for (uint64_t gone = 0; gone < len;) {
        struct iovec piece = {.iov_base = data + gone, .iov_len = len - gone};
        uint64_t moved = 0;
        // Always in slices: another thread may start a transfer to the host meanwhile.
        go_on();
        if (was_reset(&to_board, resets)) return -1;
        towpath_status status = towpath_sendv(host2board, &piece, 1, NULL, SLICE, &moved);
        if (status != TOWPATH_OK && status != TOWPATH_TIMEOUT) return -1;
        gone += moved;
    }
    return (int)len;
}

int dma_host2board(unsigned int len, void *p_data) {
    if (!is_length(len) || stream(TOWPATH_H2C) != 0) return -1;
    pthread_mutex_lock(&to_board.order);
    int result = send(len, p_data);
    pthread_mutex_unlock(&to_board.order);
    return result;
}

static int receive(unsigned int len, char *data) {
    unsigned resets = to_host.resets;
    pthread_mutex_lock(&to_host.moving);
    int under_way = is_under_way(&to_host, board2host, TOWPATH_FOREVER);
    pthread_mutex_unlock(&to_host.moving);
    if (under_way) return busy(EINTR);
    if (was_reset(&to_host, resets)) return -1;
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
    pthread_mutex_lock(&to_host.order);
    int result = receive(len, p_data);
    pthread_mutex_unlock(&to_host.order);
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

// Waits for one at the card; it may come only after what comes to the host has gone on.
static towpath_status next_events(int vector_num, uint32_t *events) {
    for (;;) {
        towpath_status status = towpath_wait_interrupt(device, (uint32_t)vector_num, go_on() ? SLICE : IDLE, events);
        if (status != TOWPATH_INTERRUPT_TIMEOUT) return status;
    }
}

int block_until_interrupt(int vector_num) {
    uint32_t events;
    if (vector_num < 0 || vector_num >= INTERRUPTS) return refused();
    if (card() != 0) return -1;
    // One waits at the card; the others wait for it, and look first at what it has left.
    pthread_mutex_lock(&waiting[vector_num]);
    int result = one_is_left(vector_num) ? 0 : -1;
    if (result != 0 && next_events(vector_num, &events) == TOWPATH_OK) {
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
    if (zerocopy == NULL || towpath_get_buffer(zerocopy, &memory, NULL) != TOWPATH_OK || memory != buf) {
        errno = EINVAL;
    } else if (to_board.posted || to_host.posted) {
        errno = EBUSY; // between two messages, too, when none of it is in flight
    } else if (towpath_free_buffer(zerocopy) == TOWPATH_OK) {
        zerocopy = NULL;
        result = 0;
    }
    pthread_mutex_unlock(&sharing);
    return result;
}

// With `order` held: starts a transfer of a part of the buffer. Another one under way is EAGAIN; its failure, if not reported yet, is
// returned here.
static int start_next(struct transfer *transfer, towpath_channel *channel, int offset, int len) {
    if (pthread_mutex_trylock(&transfer->moving) != 0) return busy(EAGAIN);
    int result = -1;
    if (is_under_way(transfer, channel, LOOK)) {
        errno = EAGAIN;
    } else if (result_of(transfer) == 0) {
        transfer->first = (uint64_t)offset;
        transfer->left = (uint64_t)len;
        transfer->begun = transfer->resets;
        // Once it is posted, the buffer is not released.
        pthread_mutex_lock(&sharing);
        post(transfer, channel);
        pthread_mutex_unlock(&sharing);
        result = result_of(transfer);
    }
    pthread_mutex_unlock(&transfer->moving);
    return result;
}

// A call that moves, in another thread, is EAGAIN, too.
static int start(struct transfer *transfer, towpath_channel *const *channel, int offset, int len) {
    if (offset < 0 || offset % WORD != 0 || !is_length((unsigned)len) || (uint64_t)offset + (uint64_t)len > ZEROCOPY_BYTES)
        return refused();
    if (stream(transfer == &to_board ? TOWPATH_H2C : TOWPATH_C2H) != 0) return -1;
    if (pthread_mutex_trylock(&transfer->order) != 0) return busy(EAGAIN);
    int result = start_next(transfer, *channel, offset, len);
    pthread_mutex_unlock(&transfer->order);
    return result == 0 ? len : -1;
}

int zerocopy_host2board(int offset, int len) { return start(&to_board, &host2board, offset, len); }
int zerocopy_board2host(int offset, int len) { return start(&to_host, &board2host, offset, len); }

static int status_of(struct transfer *transfer, towpath_channel *const *channel) {
    // First, so that errno is that of the transfer that is asked for.
    if (transfer == &to_board) go_on();
    if (pthread_mutex_trylock(&transfer->moving) != 0) return 1;
    int result = is_under_way(transfer, *channel, LOOK) ? 1 : result_of(transfer);
    pthread_mutex_unlock(&transfer->moving);
    return result;
}

int get_host2board_status(void) { return status_of(&to_board, &host2board); }
int get_board2host_status(void) { return status_of(&to_host, &board2host); }

// After a reset of this direction: nothing of it is under way, and no failure from before counts. Who holds `moving` sees by `resets` that
// it was one.
static void collect(struct transfer *transfer, towpath_channel *const *channel) {
    if (pthread_mutex_trylock(&transfer->moving) == 0) {
        if (!is_under_way(transfer, *channel, LOOK)) transfer->failed = 0;
        pthread_mutex_unlock(&transfer->moving);
    }
    if (transfer != &to_board) return;
    pthread_mutex_lock(&copying);
    if (in_flight && towpath_wait(host2board, ticket, LOOK, NULL) != TOWPATH_PENDING) in_flight = 0;
    pthread_mutex_unlock(&copying);
}

int sys_reset(void) {
    if (card() != 0) return -1;
    to_board.resets++;
    to_host.resets++;
    if (towpath_reset(device) != TOWPATH_OK) return -1;
    // Interrupts from before it count no more.
    pthread_mutex_lock(&taking);
    memset(left, 0, sizeof left);
    pthread_mutex_unlock(&taking);
    collect(&to_board, &host2board);
    collect(&to_host, &board2host);
    return 0;
}
int usr_reset(void) { return sys_reset(); }

static int reset_stream(uint32_t direction, struct transfer *transfer, towpath_channel *const *channel) {
    if (stream(direction) != 0) return -1;
    transfer->resets++;
    if (towpath_reset_channel(*channel) != TOWPATH_OK) return -1;
    collect(transfer, channel);
    return 0;
}

int host2board_reset(void) { return reset_stream(TOWPATH_H2C, &to_board, &host2board); }
int board2host_reset(void) { return reset_stream(TOWPATH_C2H, &to_host, &board2host); }

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
