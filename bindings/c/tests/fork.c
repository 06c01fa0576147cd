// SPDX-License-Identifier: Apache-2.0
// A child of fork() has its parent's handles, and changes nothing for its parent, whatever it does with them.
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

// As a program ends. The leak sanitizer, which would look for leaks then, takes the parent's threads for the child's.
_Noreturn static void quit(void) {
#ifdef __SANITIZE_ADDRESS__
    _exit(0);
#else
    exit(0);
#endif
}

static void join(pid_t child) {
    int status = -1;
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// What was in flight when the child was made completes, and new transfers go through.
static void works(card card, towpath_buffer *buffer, uint64_t ticket) {
    void *data = NULL;
    char got[8];
    towpath_received received = {.size = sizeof received};
    OK(towpath_send(card.in, "first", 5, NULL, NULL));
    OK(towpath_wait(card.out, ticket, SECOND, NULL));
    OK(towpath_get_buffer(buffer, &data, NULL));
    EXPECT(memcmp(data, "first", 5) == 0);
    OK(towpath_send(card.in, "second", 6, NULL, NULL));
    OK(towpath_recv(card.out, got, sizeof got, &received));
    EXPECT(received.bytes == 6 && memcmp(got, "second", 6) == 0);
    OK(towpath_free_buffer(buffer));
    card_close(card);
}

static towpath_buffer *in_flight(card card, uint64_t *ticket) {
    towpath_buffer *buffer = NULL;
    OK(towpath_allocate(card.device, 4096, &buffer));
    OK(towpath_submit(card.out, buffer, 0, 64, NULL, 0, ticket));
    return buffer;
}

TEST(a_child_that_only_exits_leaves_its_parents_transfers) {
    card card = card_open();
    uint64_t ticket;
    towpath_buffer *buffer = in_flight(card, &ticket);
    pid_t child = fork();
    if (child == 0) quit();
    join(child);
    works(card, buffer, ticket);
}

TEST(a_child_that_closes_everything_leaves_its_parents_transfers) {
    card card = card_open();
    uint64_t ticket;
    towpath_buffer *buffer = in_flight(card, &ticket);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        char byte = 0;
        FAILS(towpath_send(card.in, &byte, 1, NULL, NULL), TOWPATH_FORKED, "parent");
        EXPECT(errno == EPERM && towpath_last_errno() == EPERM);
        FAILS(towpath_recv(card.out, &byte, 1, NULL), TOWPATH_FORKED, "parent");
        FAILS(towpath_wait(card.out, ticket, TOWPATH_FOREVER, NULL), TOWPATH_FORKED, "parent");
        FAILS(towpath_reset(card.device), TOWPATH_FORKED, "parent");
        OK(towpath_free_buffer(buffer));
        card_close(card);
        FAILS(towpath_free_buffer(buffer), TOWPATH_INVALID, "closed before");
        FAILS(towpath_close_channel(card.out), TOWPATH_INVALID, "closed before");
        FAILS(towpath_close(card.device), TOWPATH_INVALID, "closed before");
        // What it opens itself is its own.
        card = card_open();
        OK(towpath_send(card.in, "mine", 4, NULL, NULL));
        OK(towpath_recv(card.out, &byte, 1, NULL));
        EXPECT(byte == 'm');
        card_close(card);
        _exit(0);
    }
    join(child);
    works(card, buffer, ticket);
}

typedef struct {
    towpath_channel *channel;
    char got[8];
    towpath_status status;
} call;

static void *receive_for_ever(void *context) {
    call *call = context;
    const struct iovec iov = {call->got, sizeof call->got};
    call->status = towpath_recvv(call->channel, &iov, 1, TOWPATH_FOREVER, NULL);
    return NULL;
}

TEST(a_child_closes_what_its_parents_thread_waits_on) {
    card card = card_open();
    call waiting = {.channel = card.out};
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, receive_for_ever, &waiting) == 0);
    towpath_statistics statistics = {.size = sizeof statistics};
    while (statistics.submitted == 0) {
        usleep(100);
        OK(towpath_get_statistics(card.out, &statistics));
    }
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        card_close(card);
        _exit(0);
    }
    join(child);
    OK(towpath_send(card.in, "parent", 6, NULL, NULL));
    EXPECT(pthread_join(thread, NULL) == 0 && waiting.status == TOWPATH_OK && memcmp(waiting.got, "parent", 6) == 0);
    card_close(card);
}
