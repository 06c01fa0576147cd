// SPDX-License-Identifier: Apache-2.0
// Handles that were given back, are of another kind, or were never made; and handles that are given back while other threads use them.
#include "check.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#define REFUSES(call, word) FAILS(call, TOWPATH_INVALID, word)

static towpath_buffer *allocate(card card) {
    towpath_buffer *buffer = NULL;
    OK(towpath_allocate(card.device, 4096, &buffer));
    return buffer;
}

static uint64_t submitted(const towpath_channel *channel) {
    towpath_statistics statistics = {.size = sizeof statistics};
    OK(towpath_get_statistics(channel, &statistics));
    return statistics.submitted;
}

// Until the other thread's call has posted its first transfer.
static void wait_for_transfer(const towpath_channel *channel) {
    while (submitted(channel) == 0) usleep(100);
}

TEST(handles_are_not_mixed_up) {
    card card = card_open();
    towpath_buffer *buffer = allocate(card);
    char byte;
    REFUSES(towpath_reset((towpath_device *)(void *)card.in), "this is no device, but a channel");
    REFUSES(towpath_cancel((towpath_channel *)(void *)card.device), "this is no channel, but a device");
    REFUSES(towpath_send((towpath_channel *)(void *)buffer, &byte, 1, NULL, NULL), "this is no channel, but a buffer");
    REFUSES(towpath_close((towpath_device *)(void *)buffer), "this is no device, but a buffer");
    REFUSES(towpath_close_channel((towpath_channel *)(void *)card.device), "this is no channel, but a device");
    REFUSES(towpath_free_buffer((towpath_buffer *)(void *)card.in), "this is no buffer, but a channel");
    FAILS(towpath_send(card.out, &byte, 1, NULL, NULL), TOWPATH_WRONG_DIRECTION, "\"out\"");
    EXPECT(towpath_last_errno() == EBADF);
    FAILS(towpath_recv(card.in, &byte, 1, NULL), TOWPATH_WRONG_DIRECTION, "\"in\"");
    OK(towpath_free_buffer(buffer));
    card_close(card);
}

TEST(what_is_no_handle_is_refused) {
    card card = card_open();
    towpath_device *nothing[4] = {0};
    volatile uintptr_t freed = (uintptr_t)malloc(64);
    free((void *)freed);
    REFUSES(towpath_reset((towpath_device *)(void *)nothing), "this is no device");
    REFUSES(towpath_reset((towpath_device *)(void *)((char *)nothing + 1)), "this is no device");
    REFUSES(towpath_reset((towpath_device *)freed), "no function of the library made such a handle");
    REFUSES(towpath_reset((towpath_device *)UINTPTR_MAX), "this is no device");
    // One that may be made later, and a place far beyond the last.
    REFUSES(towpath_reset((towpath_device *)((uintptr_t)card.device + 1)), "no function of the library made such a handle");
    REFUSES(towpath_reset((towpath_device *)((uintptr_t)card.device | (uintptr_t)0x3fffff << 32)), "this is no device");
    card_close(card);
}

TEST(what_was_closed_is_refused_and_reads_no_freed_memory) {
    card card = card_open(), next = {0};
    towpath_buffer *buffer = allocate(card), *other = NULL;
    towpath_channel *channel = NULL;
    char byte = 0;
    uint32_t number;
    uint64_t ticket;
    OK(towpath_free_buffer(buffer));
    card_close(card);
    for (int again = 0; again < 2; again++) {
        REFUSES(towpath_reset(card.device), "this device was closed before");
        REFUSES(towpath_open_channel(card.device, "in", TOWPATH_H2C, NULL, &channel), "this device was closed before");
        REFUSES(towpath_allocate(card.device, 1, &other), "this device was closed before");
        REFUSES(towpath_wait_interrupt(card.device, 0, 0, NULL), "this device was closed before");
        REFUSES(towpath_close(card.device), "this device was closed before");
        REFUSES(towpath_send(card.in, &byte, 1, NULL, NULL), "this channel was closed before");
        REFUSES(towpath_recv(card.out, &byte, 1, NULL), "this channel was closed before");
        REFUSES(towpath_submit(card.in, buffer, 0, 1, NULL, 0, &ticket), "this channel was closed before");
        REFUSES(towpath_wait(card.in, 0, 0, NULL), "this channel was closed before");
        REFUSES(towpath_close_channel(card.in), "this channel was closed before");
        REFUSES(towpath_buffer_in_flight(buffer, &number), "this buffer was closed before");
        REFUSES(towpath_free_buffer(buffer), "this buffer was closed before");
        EXPECT(errno == EINVAL && towpath_last_errno() == EINVAL);
        // What takes its place is no other's.
        if (again == 0) {
            next = card_open();
            EXPECT(next.device != card.device && next.in != card.in && next.out != card.out);
        }
    }
    card_close(next);
}

typedef struct {
    towpath_channel *channel;
    towpath_buffer *buffer;
    towpath_status status;
    uint64_t bytes;
} call;

static void *receive(void *context) {
    call *call = context;
    char byte;
    const struct iovec iov = {&byte, 1};
    towpath_received received = {.size = sizeof received};
    call->status = call->buffer != NULL ? towpath_recv_buffer(call->channel, call->buffer, 0, 1, TOWPATH_FOREVER, &received)
                                        : towpath_recvv(call->channel, &iov, 1, TOWPATH_FOREVER, &received);
    call->bytes = received.bytes;
    return NULL;
}

TEST(a_channel_that_is_closed_ends_other_threads_calls) {
    card card = card_open();
    for (int round = 0; round < 10; round++) {
        // Three calls, of which two wait for their turn.
        call calls[3];
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) {
            calls[i] = (call){.channel = card.out};
            EXPECT(pthread_create(&threads[i], NULL, receive, &calls[i]) == 0);
        }
        // Some of them may not have begun yet; these find a channel that was closed.
        if (round % 2 == 0) wait_for_transfer(card.out);
        OK(towpath_close_channel(card.out));
        OK(towpath_open_channel(card.device, "out", TOWPATH_C2H, NULL, &card.out));
        for (int i = 0; i < 3; i++) {
            EXPECT(pthread_join(threads[i], NULL) == 0);
            EXPECT((calls[i].status == TOWPATH_CANCELLED || calls[i].status == TOWPATH_INVALID) && calls[i].bytes == 0);
        }
    }
    card_close(card);
}

static void *wait_for_start(void *context) {
    call *call = context;
    towpath_message_start start = {.size = sizeof start};
    call->status = towpath_wait_message_start(call->channel, SECOND / 5, &start);
    return NULL;
}

TEST(a_channel_closes_when_the_last_call_has_returned) {
    card card = card_open();
    call call = {.channel = card.out};
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, wait_for_start, &call) == 0);
    usleep(20000);
    OK(towpath_close_channel(card.out));
    REFUSES(towpath_cancel(card.out), "closed before");
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(call.status == TOWPATH_PENDING || call.status == TOWPATH_INVALID);
    OK(towpath_open_channel(card.device, "out", TOWPATH_C2H, NULL, &card.out));
    card_close(card);
}

TEST(a_buffer_that_a_call_uses_is_not_freed) {
    card card = card_open();
    call call = {.channel = card.out, .buffer = allocate(card)};
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, receive, &call) == 0);
    wait_for_transfer(card.out);
    FAILS(towpath_free_buffer(call.buffer), TOWPATH_BUFFER_IN_USE, "in flight");
    EXPECT(towpath_last_errno() == EBUSY);
    OK(towpath_send(card.in, "x", 1, NULL, NULL));
    EXPECT(pthread_join(thread, NULL) == 0 && call.status == TOWPATH_OK && call.bytes == 1);
    OK(towpath_free_buffer(call.buffer));
    card_close(card);
}

static void *use_until_closed(void *context) {
    towpath_channel *channel = context;
    towpath_statistics statistics = {.size = sizeof statistics};
    uint64_t timeout;
    while (towpath_get_statistics(channel, &statistics) == TOWPATH_OK && towpath_get_timeout(channel, &timeout) == TOWPATH_OK) {
    }
    EXPECT(strstr(towpath_last_error(), "this channel was closed before") != NULL);
    return NULL;
}

TEST(a_channel_is_closed_while_threads_use_it) {
    card card = card_open();
    for (int round = 0; round < 20; round++) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) EXPECT(pthread_create(&threads[i], NULL, use_until_closed, card.in) == 0);
        usleep(200);
        OK(towpath_close_channel(card.in));
        for (int i = 0; i < 3; i++) EXPECT(pthread_join(threads[i], NULL) == 0);
        OK(towpath_open_channel(card.device, "in", TOWPATH_H2C, NULL, &card.in));
    }
    card_close(card);
}

typedef struct {
    towpath_channel *channel;
    int count;
} closing;

static void close_it(void *context, const towpath_completion *completion) {
    closing *closing = context;
    EXPECT(completion->bytes == 3);
    OK(towpath_close_channel(closing->channel));
    closing->count++;
}

TEST(a_callback_may_close_its_channel) {
    card card = card_open();
    towpath_buffer *buffer = allocate(card);
    closing closing = {.channel = card.out};
    uint64_t ticket;
    int fd = -1;
    OK(towpath_event_fd(card.out, &fd));
    OK(towpath_submit(card.out, buffer, 0, 3, NULL, 0, &ticket));
    OK(towpath_send(card.in, "abc", 3, NULL, NULL));
    OK(towpath_poll_completions(card.out, close_it, &closing));
    while (closing.count == 0) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        EXPECT(poll(&poller, 1, 10000) == 1);
        uint64_t told;
        EXPECT(read(fd, &told, sizeof told) == sizeof told);
        OK(towpath_poll_completions(card.out, close_it, &closing));
    }
    REFUSES(towpath_poll_completions(card.out, close_it, &closing), "closed before");
    OK(towpath_free_buffer(buffer));
    card.out = NULL;
    card_close(card);
}

enum { MANY = 200 };

TEST(many_handles_are_kept_apart) {
    card card = card_open();
    towpath_buffer *buffers[MANY];
    for (int i = 0; i < MANY; i++) OK(towpath_allocate(card.device, (uint64_t)i + 1, &buffers[i]));
    for (int i = 0; i < MANY; i++) {
        uint64_t bytes;
        OK(towpath_get_buffer(buffers[i], NULL, &bytes));
        EXPECT(bytes == (uint64_t)i + 1);
        OK(towpath_free_buffer(buffers[i]));
        REFUSES(towpath_get_buffer(buffers[i], NULL, &bytes), "this buffer was closed before");
    }
    card_close(card);
}
