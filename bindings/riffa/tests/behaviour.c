// SPDX-License-Identifier: Apache-2.0
// Each rule of RIFFA's calls, over tests/cores/transactions. Only RIFFA's own header is included. With a seed as its argument, the random
// test repeats what it did.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "riffa.h"

#define EXPECT(condition)                                                                                                                  \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                                        \
            exit(1);                                                                                                                       \
        }                                                                                                                                  \
    } while (0)

// What a call returned, printed if it is another number.
#define RETURNS(call, expected)                                                                                                            \
    do {                                                                                                                                   \
        int returned_ = (call), expected_ = (expected);                                                                                    \
        if (returned_ != expected_) {                                                                                                      \
            fprintf(stderr, "%s:%d: %s: %d instead of %d\n", __FILE__, __LINE__, #call, returned_, expected_);                             \
            exit(1);                                                                                                                       \
        }                                                                                                                                  \
    } while (0)

#define UNTOUCHED 0xA5A5A5A5u
enum { WORDS = 4096, BIG = 1 << 14, SHORT = 1 };

static fpga_t *card;
static uint32_t sent[BIG], got[BIG];

static void prepare(uint32_t first) {
    for (uint32_t n = 0; n < BIG; n++) sent[n] = first + n;
    for (uint32_t n = 0; n < BIG; n++) got[n] = UNTOUCHED;
}

static int untouched(uint32_t from, uint32_t to) {
    for (uint32_t n = from; n < to; n++) {
        if (got[n] != UNTOUCHED) return 0;
    }
    return 1;
}

static void a_list_names_the_cards(void) {
    fpga_info_list list;
    memset(&list, 0x55, sizeof list);
    RETURNS(fpga_list(&list), 0);
    RETURNS(list.num_fpgas, 1);
    RETURNS(list.id[0], 0);
    RETURNS(list.num_chnls[0], 3);
    EXPECT(list.name[0][15] == 0 && list.name[0][0] != 0);
    EXPECT(list.vendor_id[0] != 0 && list.device_id[0] != 0);
    for (int n = 1; n < 5; n++) {
        RETURNS(list.id[n], -1);
        EXPECT(list.num_chnls[n] == 0 && list.vendor_id[n] == 0 && list.device_id[n] == 0 && list.name[n][0] == 0);
    }
}

static void only_cards_that_are_there_open(void) {
    EXPECT(fpga_open(1) == NULL && errno == ENODEV);
    EXPECT(fpga_open(-1) == NULL && fpga_open(5) == NULL && fpga_open(1000000) == NULL);
}

static void another_handle_is_the_same_card(void) {
    fpga_t *other = fpga_open(0);
    EXPECT(other != NULL && (uintptr_t)other <= INT32_MAX);
    RETURNS(fpga_send(other, 0, sent, 8, 0, 1, 0), 8);
    RETURNS(fpga_recv(card, 0, got, 8, 0), 8);
    fpga_close(other);
    RETURNS(fpga_send(card, 0, sent, 8, 0, 1, 0), 8);
    RETURNS(fpga_recv(card, 0, got, 8, 0), 8);
}

static void no_such_channel_is_nothing_sent(void) {
    const int wrong[] = {-1, 3, 12, INT32_MIN, INT32_MAX};
    for (size_t n = 0; n < sizeof wrong / sizeof wrong[0]; n++) {
        RETURNS(fpga_send(card, wrong[n], sent, 4, 0, 1, 1), 0);
        RETURNS(fpga_recv(card, wrong[n], got, 4, 1), 0);
        // The channel is looked at first.
        RETURNS(fpga_send(card, wrong[n], (char *)sent + 1, 4, 0, 1, 1), 0);
    }
    RETURNS(fpga_send(NULL, 0, sent, 4, 0, 1, 1), 0);
    RETURNS(fpga_recv(NULL, 0, got, 4, 1), 0);
}

static void memory_is_aligned_to_words(void) {
    for (int by = 1; by < 4; by++) {
        errno = 0;
        RETURNS(fpga_send(card, 0, (char *)sent + by, 4, 0, 1, SHORT), -EINVAL);
        RETURNS(fpga_recv(card, 0, (char *)got + by, 4, SHORT), -EINVAL);
        EXPECT(errno == 0);
    }
    RETURNS(fpga_send(card, 0, sent, -1, 0, 1, SHORT), -EINVAL);
    RETURNS(fpga_send(card, 0, (void *)(UINTPTR_MAX - 7), 4, 0, 1, SHORT), -EINVAL);
    RETURNS(fpga_recv(card, 0, got, 4, SHORT), 0);
}

static void a_length_of_nothing_is_a_transaction(void) {
    prepare(1);
    RETURNS(fpga_send(card, 0, NULL, 0, 3, 1, 0), 0);
    RETURNS(fpga_send(card, 0, sent, 0, 0, 1, 0), 0);
    RETURNS(fpga_send(card, 0, sent, 5, 0, 1, 0), 5);
    RETURNS(fpga_recv(card, 0, got, WORDS, 0), 0);
    RETURNS(fpga_recv(card, 0, got, WORDS, 0), 0);
    EXPECT(untouched(0, WORDS));
    RETURNS(fpga_recv(card, 0, got, WORDS, 0), 5);
    EXPECT(memcmp(sent, got, 20) == 0 && untouched(5, WORDS));
}

static void an_offset_is_where_the_words_go(void) {
    prepare(7);
    RETURNS(fpga_send(card, 0, sent, 100, 50, 1, 0), 100);
    RETURNS(fpga_recv(card, 0, got, WORDS, 0), 100);
    EXPECT(untouched(0, 50) && memcmp(sent, got + 50, 400) == 0 && untouched(150, WORDS));
}

static void transactions_go_on_until_last(void) {
    prepare(9);
    // Each offset counts from where the transaction before has ended; the result is the last one's alone.
    RETURNS(fpga_send(card, 0, sent, 10, 2, 0, 0), 10);
    RETURNS(fpga_send(card, 0, sent + 10, 20, 5, 0, 0), 20);
    RETURNS(fpga_send(card, 0, sent + 30, 3, 0, 1, 0), 3);
    RETURNS(fpga_recv(card, 0, got, WORDS, 0), 3);
    EXPECT(untouched(0, 2) && memcmp(sent, got + 2, 40) == 0);
    EXPECT(untouched(12, 17) && memcmp(sent + 10, got + 17, 92) == 0 && untouched(40, WORDS));
    // After a chain without an end, time ends the call: with the words of the transaction before.
    prepare(9);
    RETURNS(fpga_send(card, 0, sent, 10, 0, 0, 0), 10);
    RETURNS(fpga_send(card, 0, sent, 4, 0, 0, 0), 4);
    RETURNS(fpga_recv(card, 0, got, WORDS, SHORT), 4);
    EXPECT(memcmp(sent, got, 40) == 0 && memcmp(sent, got + 10, 16) == 0 && untouched(14, WORDS));
}

static void *send_all(void *result) {
    *(int *)result = fpga_send(card, 0, sent, BIG, 0, 1, 0);
    return NULL;
}

static void what_is_more_than_asked_for_is_thrown_away(void) {
    prepare(1000);
    pthread_t thread;
    int all = 0;
    EXPECT(pthread_create(&thread, NULL, send_all, &all) == 0);
    RETURNS(fpga_recv(card, 0, got, 100, 0), BIG);
    EXPECT(memcmp(sent, got, 400) == 0 && untouched(100, WORDS));
    EXPECT(pthread_join(thread, NULL) == 0);
    RETURNS(all, BIG);
    prepare(1000);
    RETURNS(fpga_send(card, 0, sent, 30, 90, 1, 0), 30);
    RETURNS(fpga_send(card, 0, sent, 30, 200, 1, 0), 30);
    RETURNS(fpga_send(card, 0, sent, 30, 0, 1, 0), 30);
    RETURNS(fpga_recv(card, 0, got, 100, 0), 30);
    EXPECT(untouched(0, 90) && memcmp(sent, got + 90, 40) == 0 && untouched(100, WORDS));
    prepare(1000);
    RETURNS(fpga_recv(card, 0, got, 100, 0), 30);
    EXPECT(untouched(0, WORDS));
    RETURNS(fpga_recv(card, 0, NULL, 0, 0), 30);
    // In a chain, too: the second transaction begins beyond the end.
    RETURNS(fpga_send(card, 0, sent, 100, 0, 0, 0), 100);
    RETURNS(fpga_send(card, 0, sent, 10, 0, 1, 0), 10);
    RETURNS(fpga_recv(card, 0, got, 50, 0), 10);
    EXPECT(memcmp(sent, got, 200) == 0 && untouched(50, WORDS));
}

static void nothing_comes_in_time(void) {
    prepare(1);
    RETURNS(fpga_recv(card, 0, got, WORDS, SHORT), 0);
    RETURNS(fpga_recv_noTimeoutMsg(card, 0, got, WORDS, SHORT), 0);
    EXPECT(untouched(0, WORDS));
}

// The core has begun, with an offset, and no word of it has come: the words go to where they would have gone.
static void time_ends_a_receive_before_the_first_word(void) {
    prepare(41);
    RETURNS(fpga_send(card, 1, sent, 777, 5, 1, 0), 777);
    RETURNS(fpga_recv(card, 1, got, WORDS, SHORT), 0);
    EXPECT(untouched(0, WORDS));
    RETURNS(fpga_recv(card, 1, got, WORDS, 0), 777);
    EXPECT(untouched(0, 5) && memcmp(sent, got + 5, 4 * 777) == 0 && untouched(782, WORDS));
}

// Nobody fetches, so the core stops taking words: a send ends with a part.
static int send_a_part(void) {
    int part = fpga_send(card, 0, sent, BIG, 0, 1, SHORT);
    EXPECT(part > 0 && part < BIG);
    return part;
}

// Most of the words that the core has taken come; the card may hold some back until there are more, or the end.
static int receive_a_part(int first, int part) {
    int came = fpga_recv(card, 0, got + first, BIG - first, SHORT);
    EXPECT(came <= part && came > part - 64 && memcmp(sent, got, 4 * (size_t)(first + came)) == 0);
    EXPECT(untouched((uint32_t)(first + came), BIG));
    return came;
}

// The rest of a send completes its transaction, and the rest of a receive goes to the beginning of the next call's memory.
static void time_ends_a_send_in_the_middle(void) {
    prepare(77);
    int part = send_a_part(), came = receive_a_part(0, part);
    int more = fpga_send(card, 0, sent + part, BIG - part, 0, 1, SHORT);
    EXPECT(more > 0 && part + more < BIG);
    came += receive_a_part(came, part + more - came);
    fpga_reset(card);
    RETURNS(fpga_recv(card, 0, got, WORDS, SHORT), 0);
    RETURNS(fpga_send(card, 0, sent, 6, 0, 1, 0), 6);
    RETURNS(fpga_recv(card, 0, got, WORDS, 0), 6);
}

// Another length than the rest's is a transaction of its own: the open one ends early, and the core announces more than it sends.
static void another_send_ends_what_was_in_progress(void) {
    prepare(5);
    int part = send_a_part(), came = receive_a_part(0, part);
    RETURNS(fpga_send(card, 0, sent, 9, 1, 1, 0), 9);
    RETURNS(fpga_recv(card, 0, got + came, BIG - came, 0), part - came);
    EXPECT(memcmp(sent, got, 4 * (size_t)part) == 0 && untouched((uint32_t)part, BIG));
    prepare(5);
    RETURNS(fpga_recv(card, 0, got, WORDS, 0), 9);
    EXPECT(untouched(0, 1) && memcmp(sent, got + 1, 36) == 0 && untouched(10, WORDS));
}

static void the_core_ends_a_transaction_early(void) {
    prepare(31);
    RETURNS(fpga_send(card, 2, sent, 100, 0, 1, 0), 100);
    RETURNS(fpga_recv(card, 2, got, WORDS, 0), 16);
    EXPECT(memcmp(sent, got, 64) == 0 && untouched(16, WORDS));
    // The next one of a chain goes to where the announced length would have ended.
    RETURNS(fpga_send(card, 2, sent, 100, 0, 0, 0), 100);
    RETURNS(fpga_send(card, 2, sent, 8, 3, 1, 0), 8);
    RETURNS(fpga_recv(card, 2, got, WORDS, 0), 8);
    EXPECT(memcmp(sent, got, 64) == 0 && untouched(16, 103) && memcmp(sent, got + 103, 32) == 0 && untouched(111, WORDS));
}

// The main thread looks whether this one is in its call by calling as well, and may be first.
static void *receive(void *result) {
    while ((*(int *)result = fpga_recv(card, 1, got, WORDS, 0)) == -EBUSY) usleep(1000);
    return NULL;
}

static void one_thread_at_a_time(void) {
    prepare(3);
    pthread_t thread;
    int received = -1;
    EXPECT(pthread_create(&thread, NULL, receive, &received) == 0);
    // The thread is in its call sooner or later. Before, this finds nothing.
    uint32_t other[4];
    int result;
    while ((result = fpga_recv(card, 1, other, 4, SHORT)) == 0) usleep(1000);
    RETURNS(result, -EBUSY);
    // The other direction and the other channels are not busy.
    RETURNS(fpga_recv(card, 0, other, 4, SHORT), 0);
    RETURNS(fpga_send(card, 1, sent, 12, 0, 1, 0), 12);
    EXPECT(pthread_join(thread, NULL) == 0);
    RETURNS(received, 12);
    RETURNS(fpga_recv(card, 1, other, 4, SHORT), 0);
}

static void on_signal(int number) { (void)number; }

static void a_signal_ends_a_wait(void) {
    struct sigaction action = {.sa_handler = on_signal};
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t thread;
    int received = -1;
    EXPECT(pthread_create(&thread, NULL, receive, &received) == 0);
    uint32_t other[4];
    while (fpga_recv(card, 1, other, 4, SHORT) == 0) usleep(1000);
    while (pthread_kill(thread, SIGUSR1) == 0 && fpga_recv(card, 1, other, 4, SHORT) == -EBUSY) usleep(1000);
    EXPECT(pthread_join(thread, NULL) == 0);
    RETURNS(received, -512);
}

static void *try_lock(void *result) {
    *(int *)result = fpga_unlock(card);
    return NULL;
}

static void *receives_for_ever(void *result) {
    static uint32_t words[8];
    *(int *)result = fpga_recv(card, 0, words, 8, 0);
    return NULL;
}

static void a_close_ends_what_other_threads_wait_for(void) {
    for (int round = 0; round < 3; round++) {
        int result = 1;
        pthread_t thread;
        EXPECT(pthread_create(&thread, NULL, receives_for_ever, &result) == 0);
        usleep(round == 0 ? 0 : 50000);
        fpga_close(card);
        pthread_join(thread, NULL);
        EXPECT(result <= 0);
        card = fpga_open(0);
        EXPECT(card != NULL);
        prepare(1);
        RETURNS(fpga_send(card, 0, sent, 8, 0, 1, 0), 8);
        RETURNS(fpga_recv(card, 0, got, 8, 0), 8);
        EXPECT(memcmp(sent, got, 32) == 0);
    }
}

static void a_child_opens_the_card_itself(void) {
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        prepare(5);
        RETURNS(fpga_send(card, 0, sent, 8, 0, 1, 0), 0);
        fpga_t *own = fpga_open(0);
        EXPECT(own != NULL);
        RETURNS(fpga_send(own, 0, sent, 8, 0, 1, 0), 8);
        RETURNS(fpga_recv(own, 0, got, 8, 0), 8);
        EXPECT(memcmp(sent, got, 32) == 0);
        _exit(0);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    RETURNS(fpga_send(card, 0, sent, 8, 0, 1, 0), 8);
    RETURNS(fpga_recv(card, 0, got, 8, 0), 8);
}

static void a_lock_belongs_to_a_thread(void) {
    RETURNS(fpga_lock(card), 0);
    RETURNS(fpga_lock(card), 0);
    pthread_t thread;
    int result = 0;
    EXPECT(pthread_create(&thread, NULL, try_lock, &result) == 0 && pthread_join(thread, NULL) == 0);
    RETURNS(result, -EPERM);
    RETURNS(fpga_unlock(card), 0);
    RETURNS(fpga_unlock(card), 0);
    RETURNS(fpga_unlock(card), -EPERM);
    RETURNS(fpga_lock(NULL), -EBADF);
}

// A chain of random transactions on one channel, compared with a model of RIFFA's rules, word by word.
struct worker {
    int chnl;
    uint64_t state;
    pthread_t thread;
};

static uint32_t pick(struct worker *worker, uint32_t below) {
    worker->state = worker->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(worker->state >> 33) % below;
}

static void *work(void *of) {
    enum { MOST = 2000, ROUNDS = 60 };
    struct worker *worker = of;
    uint32_t data[MOST], expected[3 * MOST], memory[3 * MOST];
    for (int round = 0; round < ROUNDS; round++) {
        memset(expected, 0xA5, sizeof expected);
        memset(memory, 0xA5, sizeof memory);
        uint32_t capacity = pick(worker, 3 * MOST + 1), place = 0, length = 0;
        // Few words, for the card holds them until they are fetched.
        int parts = 1 + (int)pick(worker, 3);
        for (int part = 0; part < parts; part++) {
            length = pick(worker, 300);
            uint32_t offset = pick(worker, 4) ? 0 : pick(worker, MOST);
            for (uint32_t n = 0; n < length; n++) data[n] = pick(worker, UINT32_MAX);
            uint32_t words = worker->chnl == 2 && length > 16 ? 16 : length;
            place += offset;
            for (uint32_t n = 0; n < words && place + n < capacity; n++) expected[place + n] = data[n];
            place += length;
            RETURNS(fpga_send(card, worker->chnl, data, (int)length, (int)offset, part == parts - 1, 0), (int)length);
            length = words;
        }
        RETURNS(fpga_recv(card, worker->chnl, memory, (int)capacity, 0), (int)length);
        EXPECT(memcmp(memory, expected, sizeof memory) == 0);
    }
    return NULL;
}

static uint64_t seed;

static void random_transactions_on_all_channels(void) {
    struct worker workers[3];
    for (int n = 0; n < 3; n++) {
        workers[n] = (struct worker){.chnl = n, .state = seed + (uint64_t)n};
        EXPECT(pthread_create(&workers[n].thread, NULL, work, &workers[n]) == 0);
    }
    for (int n = 0; n < 3; n++) EXPECT(pthread_join(workers[n].thread, NULL) == 0);
}

#define RUN(test)                                                                                                                          \
    do {                                                                                                                                   \
        test();                                                                                                                            \
        printf("%s\n", #test);                                                                                                             \
        fflush(stdout);                                                                                                                    \
    } while (0)

int main(int count, char **arguments) {
    seed = count > 1 ? strtoull(arguments[1], NULL, 0) : (uint64_t)getpid();
    fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    alarm(60); // A call that never returns ends the program.
    card = fpga_open(0);
    EXPECT(card != NULL);
    RUN(a_list_names_the_cards);
    RUN(only_cards_that_are_there_open);
    RUN(another_handle_is_the_same_card);
    RUN(no_such_channel_is_nothing_sent);
    RUN(memory_is_aligned_to_words);
    RUN(a_length_of_nothing_is_a_transaction);
    RUN(an_offset_is_where_the_words_go);
    RUN(transactions_go_on_until_last);
    RUN(what_is_more_than_asked_for_is_thrown_away);
    RUN(nothing_comes_in_time);
    RUN(time_ends_a_receive_before_the_first_word);
    RUN(time_ends_a_send_in_the_middle);
    RUN(another_send_ends_what_was_in_progress);
    RUN(the_core_ends_a_transaction_early);
    RUN(one_thread_at_a_time);
    RUN(a_signal_ends_a_wait);
    RUN(a_close_ends_what_other_threads_wait_for);
    RUN(a_child_opens_the_card_itself);
    RUN(a_lock_belongs_to_a_thread);
    RUN(random_transactions_on_all_channels);
    fpga_close(card);
    RETURNS(fpga_send(card, 0, sent, 4, 0, 1, 0), 0);
    fpga_close(card);
    return 0;
}
