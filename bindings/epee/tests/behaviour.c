// SPDX-License-Identifier: Apache-2.0
// Each of EPEE's calls, over the core loopback, which interrupts for each message, and over the core epee_demo, which has EPEE's own ports
// and interrupts when a register is written. What is sent comes back. Only EPEE's own header is included.
#include <pthread.h>

#include "sPcie.h"
#include "sPcieZerocopy.h"

#define EXPECT(condition)                                                                                                                  \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                                        \
            exit(1);                                                                                                                       \
        }                                                                                                                                  \
    } while (0)

enum { LENGTH = 4096, MANY = 1 << 20 };

// The registers of both cores by their number, and those of epee_demo.
enum { ID = 0, SCRATCH = 1, ADD = 2, INTERRUPT = 3, WORDS = 4 };
enum { LOOPBACK = 0x504F4F4C, DEMO = 0x45455045 };

static unsigned int core;

static unsigned char sent[LENGTH], got[LENGTH], many[MANY];

static void fill(unsigned char first) {
    for (int n = 0; n < LENGTH; n++) sent[n] = (unsigned char)(first + 7 * n);
    memset(got, 0, sizeof got);
}

static void registers(void) {
    unsigned int value = 0;
    EXPECT(read_usr_reg(ID, &core) == 0 && (core == LOOPBACK || core == DEMO));
    value = 0x12345678;
    EXPECT(write_usr_reg(SCRATCH, &value) == 0);
    value = 0;
    EXPECT(read_usr_reg(SCRATCH, &value) == 0 && value == 0x12345678);
    value = 9;
    EXPECT(read_usr_reg(1 << 20, &value) == -1 && value == 9);
    EXPECT(read_usr_reg(0xFFFFFFFF, &value) == -1 && write_usr_reg(0x40000001, &value) == -1);
}

static void there_and_back(void) {
    for (int length = 8; length <= LENGTH; length = 3 * length - length % 4) {
        fill((unsigned char)length);
        EXPECT(dma_host2board((unsigned)length, sent) == length);
        EXPECT(dma_board2host((unsigned)length, got) == length);
        EXPECT(memcmp(sent, got, (size_t)length) == 0);
    }
    // Two in a row come back as one, or in other parts.
    fill(3);
    EXPECT(dma_host2board(104, sent) == 104 && dma_host2board(296, sent + 104) == 296);
    EXPECT(dma_board2host(40, got) == 40 && dma_board2host(360, got + 40) == 360);
    EXPECT(memcmp(sent, got, 400) == 0);
}

static void lengths_are_whole_words(void) {
    for (unsigned int length = 0; length < 4; length++) {
        EXPECT(dma_host2board(length, sent) == -1 && dma_host2board_unblocking(length, sent) == -1 && errno == EINVAL);
        EXPECT(dma_board2host(length, got) == -1 && zerocopy_host2board(0, (int)length) == -1);
    }
    EXPECT(dma_host2board(0x80000000, sent) == -1);
}

static void without_waiting(void) {
    fill(9);
    // The memory may change as soon as the call has returned.
    EXPECT(dma_host2board_unblocking(LENGTH, sent) == LENGTH);
    memset(sent, 0, sizeof sent);
    EXPECT(dma_board2host(LENGTH, got) == LENGTH);
    fill(9);
    unsigned char expected[LENGTH];
    memcpy(expected, sent, sizeof sent);
    EXPECT(dma_host2board_unblocking(8, sent) == 8 && dma_board2host(8, got) == 8 && memcmp(expected, got, 8) == 0);
    // More than the card holds stays on its way until it is fetched, and nothing else may be.
    for (int n = 0; n < MANY; n++) many[n] = (unsigned char)(n * 7 + n / 251);
    EXPECT(dma_host2board_unblocking(MANY, many) == MANY);
    errno = 0;
    EXPECT(dma_host2board_unblocking(8, sent) == -1 && errno == EAGAIN);
    for (int n = 0; n < MANY; n += LENGTH) EXPECT(dma_board2host(LENGTH, got) == LENGTH && memcmp(many + n, got, LENGTH) == 0);
    while (dma_host2board_unblocking(8, sent) < 0) EXPECT(errno == EAGAIN);
    EXPECT(dma_board2host(8, got) == 8 && memcmp(expected, got, 8) == 0);
}

static void interrupts(void) {
    EXPECT(block_until_interrupt(-1) == -1 && block_until_interrupt(8) == -1);
    // A core that has fewer than EPEE's 8.
    if (core == LOOPBACK) EXPECT(block_until_interrupt(7) == -1);
    EXPECT(sys_reset() == 0);
    for (unsigned int n = 0; n < 16; n++) {
        // Of epee_demo each number twice, in an order of its own; none is taken before all have come.
        unsigned int vector = core == DEMO ? 5 * n % 8 : 0;
        if (core == DEMO)
            EXPECT(write_usr_reg(INTERRUPT, &vector) == 0);
        else
            EXPECT(dma_host2board(16, sent) == 16 && dma_board2host(16, got) == 16);
    }
    for (int n = 0; n < 16; n++) EXPECT(block_until_interrupt(core == DEMO ? n / 2 : 0) == 0);
}

// What the core does with its FIFOs, and ends that are not those of the path's beats.
static void words_of_the_demo(void) {
    unsigned int value = 0x01020304, before = 0, after = 0;
    EXPECT(write_usr_reg(ADD, &value) == 0 && read_usr_reg(WORDS, &before) == 0);
    for (int length = 8; length <= 64; length += 8) {
        unsigned int words[16], back[16];
        for (int n = 0; n < 16; n++) words[n] = 0x89ABCDEFu * (unsigned)(n + length);
        EXPECT(dma_host2board((unsigned)length, words) == length && dma_board2host((unsigned)length, back) == length);
        for (int n = 0; n < length / 4; n++) EXPECT(back[n] == words[n] + value);
    }
    // Of 16 bytes each.
    EXPECT(read_usr_reg(WORDS, &after) == 0 && after - before == 20);
    value = 0;
    EXPECT(write_usr_reg(ADD, &value) == 0);
}

// Whether the transfer ends, and well.
static int ends(int (*status)(void)) {
    int now;
    while ((now = status()) == 1) {
    }
    return now == 0;
}

static void zero_copy(void) {
    EXPECT(zerocopy_host2board(0, 16) == -1 && get_host2board_status() == 0 && get_board2host_status() == 0);
    char *buffer = get_zerocopy_buffer();
    EXPECT(buffer != NULL && get_zerocopy_buffer() == buffer);
    fill(77);
    memcpy(buffer + 512, sent, LENGTH);
    EXPECT(zerocopy_host2board(512, LENGTH) == LENGTH && ends(get_host2board_status));
    EXPECT(zerocopy_board2host(1 << 20, 100) == 100 && ends(get_board2host_status));
    EXPECT(zerocopy_board2host((1 << 20) + 100, LENGTH - 100) == LENGTH - 100 && ends(get_board2host_status));
    EXPECT(memcmp(buffer + (1 << 20), sent, LENGTH) == 0);
    // More than the card holds: both calls return at once. A second one in a direction has to wait for its turn, and so has
    // dma_board2host().
    for (int n = 0; n < MANY; n++) buffer[n] = (char)(n * 7 + n / 251);
    EXPECT(zerocopy_host2board(0, MANY) == MANY);
    EXPECT(zerocopy_board2host(2 << 20, MANY) == MANY);
    errno = 0;
    EXPECT(zerocopy_host2board(0, 8) == -1 && errno == EAGAIN && get_host2board_status() == 1);
    EXPECT(zerocopy_board2host(0, 8) == -1 && errno == EAGAIN && get_board2host_status() == 1);
    EXPECT(release_zerocopy_buffer(buffer) == -1 && errno == EBUSY);
    EXPECT(dma_host2board(8, sent) == 8 && dma_board2host(8, got) == 8 && memcmp(sent, got, 8) == 0);
    EXPECT(get_host2board_status() == 0 && get_board2host_status() == 0 && memcmp(buffer, buffer + (2 << 20), MANY) == 0);
    // Two messages, and a part of the second: a transfer to the host goes on behind the end of one.
    EXPECT(dma_host2board(64, sent) == 64 && dma_host2board(64, sent + 64) == 64);
    EXPECT(zerocopy_board2host(0, 96) == 96 && ends(get_board2host_status) && memcmp(buffer, sent, 96) == 0);
    EXPECT(dma_board2host(32, got) == 32 && memcmp(got, sent + 96, 32) == 0);
    // A reset ends what is on its way, and is no failure of it.
    EXPECT(zerocopy_board2host(0, 8) == 8 && get_board2host_status() == 1 && usr_reset() == 0 && get_board2host_status() == 0);
    EXPECT(zerocopy_host2board(-1, 8) == -1 && zerocopy_host2board(2, 8) == -1 && zerocopy_host2board(BUF_SIZE, 8) == -1);
    EXPECT(zerocopy_board2host(BUF_SIZE - 4, 8) == -1 && errno == EINVAL);
    EXPECT(release_zerocopy_buffer(sent) == -1);
    EXPECT(release_zerocopy_buffer(buffer) == 0 && release_zerocopy_buffer(buffer) == -1);
}

static void *send_many(void *unused) {
    (void)unused;
    EXPECT(dma_host2board(MANY, many) == MANY);
    return NULL;
}

static void *send_some(void *unused) {
    (void)unused;
    EXPECT(dma_host2board(LENGTH, sent) == LENGTH);
    return NULL;
}

// Until another thread sends, which is this call's EAGAIN; without the buffer it never starts.
static void until_one_sends(void) {
    do EXPECT(zerocopy_host2board(0, 8) == -1);
    while (errno != EAGAIN);
}

// Nothing comes between the parts of what a call sends, however long the card has no room.
static void two_that_send(void) {
    static unsigned char all[MANY + LENGTH];
    pthread_t threads[2];
    fill(200);
    for (int n = 0; n < MANY; n++) many[n] = (unsigned char)(n * 7 + n / 251);
    EXPECT(pthread_create(&threads[0], NULL, send_many, NULL) == 0 && pthread_create(&threads[1], NULL, send_some, NULL) == 0);
    for (int n = 0; n < 1000; n++) until_one_sends();
    usleep(20000);
    EXPECT(dma_host2board_unblocking(8, sent) == -1 && errno == EAGAIN);
    EXPECT(dma_board2host(sizeof all, all) == sizeof all);
    int second = memcmp(all, many, MANY) != 0; // which of the two has begun first
    EXPECT(memcmp(all + (second ? LENGTH : 0), many, MANY) == 0 && memcmp(all + (second ? 0 : MANY), sent, LENGTH) == 0);
    for (int n = 0; n < 2; n++) EXPECT(pthread_join(threads[n], NULL) == 0);
}

// A transfer to the host that nobody asks for goes on behind the end of a message, while a thread sends, or waits for an interrupt.
static void nobody_asks(void) {
    pthread_t thread;
    fill(31);
    EXPECT(dma_host2board(64, sent) == 64 && pthread_create(&thread, NULL, send_many, NULL) == 0);
    until_one_sends();
    usleep(20000);
    char *buffer = get_zerocopy_buffer();
    EXPECT(zerocopy_board2host(0, MANY + 64) == MANY + 64 && pthread_join(thread, NULL) == 0 && ends(get_board2host_status));
    EXPECT(memcmp(buffer, sent, 64) == 0 && memcmp(buffer + 64, many, MANY) == 0);
    if (core == LOOPBACK) {
        EXPECT(sys_reset() == 0 && dma_host2board(64, sent) == 64 && zerocopy_host2board(0, MANY) == MANY);
        EXPECT(zerocopy_board2host(2 << 20, MANY + 64) == MANY + 64);
        EXPECT(block_until_interrupt(0) == 0 && block_until_interrupt(0) == 0);
        EXPECT(ends(get_host2board_status) && ends(get_board2host_status) && memcmp(buffer, buffer + (2 << 20) + 64, MANY) == 0);
    }
    EXPECT(release_zerocopy_buffer(buffer) == 0);
}

// What a reset ends is over, and of its own direction alone.
static void resets_in_flight(void) {
    unsigned int value = 0;
    char *buffer = get_zerocopy_buffer();
    fill(57);
    for (int which = 0; which < 2; which++) {
        // The first of two messages has come, and nobody has looked.
        EXPECT(dma_host2board(64, sent) == 64 && zerocopy_board2host(0, 128) == 128);
        for (int n = 0; n < 100; n++) EXPECT(read_usr_reg(SCRATCH, &value) == 0);
        EXPECT((which ? board2host_reset : usr_reset)() == 0 && get_board2host_status() == 0);
        EXPECT(dma_host2board(64, sent) == 64 && dma_board2host(64, got) == 64 && memcmp(sent, got, 64) == 0);
        EXPECT(dma_host2board_unblocking(MANY, many) == MANY && (which ? host2board_reset : sys_reset)() == 0);
        EXPECT(dma_host2board_unblocking(8, sent) == 8 && usr_reset() == 0);
    }
    EXPECT(zerocopy_board2host(0, 8) == 8 && host2board_reset() == 0 && get_board2host_status() == 1);
    EXPECT(dma_host2board(8, sent) == 8 && ends(get_board2host_status) && memcmp(buffer, sent, 8) == 0);
    EXPECT(release_zerocopy_buffer(buffer) == 0);
}

static void counts_and_resets(void) {
    int out = get_host2board_count(), in = get_board2host_count();
    EXPECT(dma_host2board(64, sent) == 64 && dma_board2host(64, got) == 64);
    EXPECT(get_host2board_count() - out == 64 && get_board2host_count() - in == 64);
    // What the card holds is gone after a reset.
    EXPECT(dma_host2board(64, sent) == 64);
    EXPECT(usr_reset() == 0 && host2board_reset() == 0 && board2host_reset() == 0);
    fill(1);
    EXPECT(dma_host2board(64, sent) == 64 && dma_board2host(64, got) == 64 && memcmp(sent, got, 64) == 0);
    EXPECT(get_pcie_cfg_mode() == (char)-1 && get_pcie_cur_mode() == (char)-1);
}

int main(void) {
    alarm(60); // A call that never returns ends the program.
    registers();
    there_and_back();
    lengths_are_whole_words();
    without_waiting();
    interrupts();
    if (core == DEMO) words_of_the_demo();
    zero_copy();
    two_that_send();
    nobody_asks();
    resets_in_flight();
    counts_and_resets();
    puts("done");
    return 0;
}
