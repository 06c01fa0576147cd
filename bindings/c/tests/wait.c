// SPDX-License-Identifier: Apache-2.0
// What ends a call that waits: its own limit, a signal, a cancel of its transfer alone; and the errno of each.
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 300, FIRST = 128, LONG = 1 << 20 };

static volatile sig_atomic_t signals = 0;

static void count_signal(int number) {
    (void)number;
    signals++;
}

// SIGALRM again and again, so that one surely comes while the call waits.
static void alarms(long microseconds) {
    struct sigaction action = {.sa_handler = count_signal}; // without SA_RESTART
    EXPECT(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval timer = {.it_interval = {.tv_usec = microseconds}, .it_value = {.tv_usec = microseconds}};
    EXPECT(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

TEST(a_signal_interrupts_a_receive_and_no_byte_is_lost) {
    card card = card_open();
    unsigned char sent[BYTES], got[BYTES];
    fill(sent, BYTES);
    towpath_message more = {.size = sizeof more, .flags = TOWPATH_MORE};
    OK(towpath_set_timeout(card.out, TOWPATH_FOREVER));
    OK(towpath_send(card.in, sent, FIRST, &more, NULL));
    alarms(50000);
    uint64_t count = 0;
    towpath_received received = {.size = sizeof received};
    do {
        FAILS(towpath_recv(card.out, got + count, BYTES - count, &received), TOWPATH_INTERRUPTED, "\"out\"");
        EXPECT(errno == EINTR && towpath_last_errno() == EINTR && signals > 0 && received.end_of_message == 0);
        count += received.bytes;
    } while (count == 0); // what is in the core's pipeline comes with the rest
    alarms(0);
    OK(towpath_send(card.in, sent + FIRST, BYTES - FIRST, NULL, NULL));
    OK(towpath_recv(card.out, got + count, BYTES - count, &received));
    EXPECT(received.bytes == BYTES - count && received.end_of_message == 1 && memcmp(sent, got, BYTES) == 0);
    card_close(card);
}

TEST(a_signal_interrupts_every_call_that_waits) {
    card card = card_open();
    unsigned char *sent = malloc(LONG), *got = malloc(LONG);
    fill(sent, LONG);
    uint64_t moved = 0, ticket;
    towpath_buffer *buffer = NULL;
    towpath_received_message *message = NULL;
    towpath_message_start start = {.size = sizeof start};
    OK(towpath_allocate(card.device, 64, &buffer));
    OK(towpath_submit(card.out, buffer, 0, 1, NULL, 0, &ticket));
    alarms(20000);
    FAILS(towpath_wait(card.out, ticket, TOWPATH_FOREVER, NULL), TOWPATH_INTERRUPTED, "\"out\"");
    OK(towpath_cancel(card.out));
    FAILS(towpath_wait(card.out, ticket, 0, NULL), TOWPATH_CANCELLED, "cancelled");
    FAILS(towpath_wait_message_start(card.out, TOWPATH_FOREVER, &start), TOWPATH_INTERRUPTED, "\"out\"");
    FAILS(towpath_recv_message(card.out, TOWPATH_FOREVER, &message), TOWPATH_INTERRUPTED, "\"out\"");
    FAILS(towpath_recv_buffer(card.out, buffer, 0, 64, TOWPATH_FOREVER, NULL), TOWPATH_INTERRUPTED, "\"out\"");
    FAILS(towpath_wait_interrupt(card.device, 0, TOWPATH_FOREVER, NULL), TOWPATH_INTERRUPTED, "interrupted");
    // More than the card holds.
    const struct iovec iov = {sent, LONG};
    FAILS(towpath_sendv(card.in, &iov, 1, NULL, TOWPATH_FOREVER, &moved), TOWPATH_INTERRUPTED, "\"in\"");
    EXPECT(moved < LONG && message == NULL);
    alarms(0);
    const struct iovec part = {got, moved}, rest = {sent + moved, 100}, last = {got + moved, 100};
    if (moved > 0) OK(towpath_recvv(card.out, &part, 1, SECOND, NULL));
    OK(towpath_sendv(card.in, &rest, 1, NULL, SECOND, NULL));
    OK(towpath_recvv(card.out, &last, 1, SECOND, NULL));
    EXPECT(memcmp(sent, got, moved + 100) == 0);
    OK(towpath_free_buffer(buffer));
    free(sent);
    free(got);
    card_close(card);
}

TEST(each_call_has_its_own_limit) {
    card card = card_open();
    char got[8] = {0};
    const struct iovec iov = {got, sizeof got};
    towpath_received received = {.size = sizeof received};
    towpath_received_message *message = NULL;
    towpath_buffer *buffer = NULL;
    OK(towpath_allocate(card.device, 64, &buffer));
    OK(towpath_set_timeout(card.out, TOWPATH_FOREVER));
    FAILS(towpath_recvv(card.out, &iov, 1, SHORT, &received), TOWPATH_TIMEOUT, "no progress for 100");
    EXPECT(errno == ETIMEDOUT && received.bytes == 0);
    FAILS(towpath_recv_message(card.out, SHORT, &message), TOWPATH_TIMEOUT, "no progress for 100");
    FAILS(towpath_recv_buffer(card.out, buffer, 0, 64, SHORT, &received), TOWPATH_TIMEOUT, "no progress for 100");
    FAILS(towpath_recvv(card.out, &iov, 1, 0, &received), TOWPATH_TIMEOUT, "no progress for 0");
    OK(towpath_set_timeout(card.out, 2 * SHORT));
    FAILS(towpath_recvv(card.out, &iov, 1, TOWPATH_CHANNEL_TIMEOUT, &received), TOWPATH_TIMEOUT, "no progress for 200");
    FAILS(towpath_recv(card.out, got, 1, &received), TOWPATH_TIMEOUT, "no progress for 200");
    uint64_t timeout = 0;
    OK(towpath_get_timeout(card.out, &timeout));
    EXPECT(timeout == 2 * SHORT);
    OK(towpath_send(card.in, "on", 2, NULL, NULL));
    OK(towpath_recv_message(card.out, SECOND, &message));
    EXPECT(message->bytes == 2 && memcmp(message->data, "on", 2) == 0);
    OK(towpath_free_message(message));
    OK(towpath_free_buffer(buffer));
    card_close(card);
}

typedef struct {
    towpath_channel *channel;
    towpath_status status;
    char got[8];
    towpath_received received;
} call;

static void *receive_for_ever(void *context) {
    call *call = context;
    const struct iovec iov = {call->got, sizeof call->got};
    call->received.size = sizeof call->received;
    call->status = towpath_recvv(call->channel, &iov, 1, TOWPATH_FOREVER, &call->received);
    return NULL;
}

TEST(a_short_limit_ends_behind_an_endless_receive) {
    card card = card_open();
    call endless = {.channel = card.out};
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, receive_for_ever, &endless) == 0);
    towpath_statistics statistics = {.size = sizeof statistics};
    while (statistics.submitted == 0) {
        usleep(100);
        OK(towpath_get_statistics(card.out, &statistics));
    }
    char got = 0;
    const struct iovec iov = {&got, 1};
    towpath_received received = {.size = sizeof received};
    towpath_received_message *message = NULL;
    time_t began = time(NULL);
    FAILS(towpath_recvv(card.out, &iov, 1, SHORT, &received), TOWPATH_TIMEOUT, "\"out\"");
    FAILS(towpath_recv_message(card.out, SHORT, &message), TOWPATH_TIMEOUT, "\"out\"");
    EXPECT(received.bytes == 0 && message == NULL && time(NULL) - began < 30);
    // The endless one has not been disturbed.
    OK(towpath_send(card.in, "late", 4, NULL, NULL));
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(endless.status == TOWPATH_OK && endless.received.bytes == 4 && memcmp(endless.got, "late", 4) == 0);
    card_close(card);
}

TEST(one_of_several_transfers_is_cancelled) {
    card card = card_open();
    towpath_buffer *buffer = NULL;
    void *data = NULL;
    OK(towpath_allocate(card.device, 4096, &buffer));
    OK(towpath_get_buffer(buffer, &data, NULL));
    uint64_t tickets[4];
    for (uint64_t i = 0; i < 4; i++) OK(towpath_submit(card.out, buffer, i * 1024, 1024, NULL, SECOND, &tickets[i]));
    OK(towpath_cancel_transfer(card.out, tickets[1]));
    towpath_completion completion = {.size = sizeof completion};
    FAILS(towpath_wait(card.out, tickets[1], SECOND, &completion), TOWPATH_CANCELLED, "\"out\"");
    EXPECT(completion.ticket == tickets[1] && completion.outcome == TOWPATH_OUTCOME_CANCELLED && completion.bytes == 0);
    EXPECT(errno == ECANCELED);
    // The last goes on; its result is given up.
    OK(towpath_abandon(card.out, tickets[3]));
    const char *messages[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) OK(towpath_send(card.in, messages[i], strlen(messages[i]), NULL, NULL));
    const int which[] = {0, 2};
    for (int i = 0; i < 2; i++) {
        OK(towpath_wait(card.out, tickets[which[i]], SECOND, &completion));
        EXPECT(completion.bytes == 3 && memcmp((char *)data + which[i] * 1024, messages[i], 3) == 0);
        // It has ended: a cancel does nothing, and a second wait finds nothing.
        OK(towpath_cancel_transfer(card.out, tickets[which[i]]));
        FAILS(towpath_wait(card.out, tickets[which[i]], 0, NULL), TOWPATH_UNKNOWN_TICKET, "no such ticket");
    }
    FAILS(towpath_wait(card.out, tickets[3], 0, NULL), TOWPATH_UNKNOWN_TICKET, "no such ticket");
    for (uint32_t busy = 1; busy == 1;) {
        // Any call that waits looks after the channel, on which nothing else comes.
        FAILS(towpath_recv_buffer(card.out, buffer, 0, 1, SHORT, NULL), TOWPATH_TIMEOUT, "\"out\"");
        OK(towpath_buffer_in_flight(buffer, &busy));
    }
    EXPECT(memcmp((char *)data + 3 * 1024, "three", 5) == 0);
    OK(towpath_free_buffer(buffer));
    card_close(card);
}

TEST(blocking_transfers_use_registered_buffers) {
    card card = card_open(), other = card_open();
    towpath_buffer *source = NULL, *target = NULL, *read_only = NULL;
    void *from = NULL, *to = NULL;
    char memory[16] = "";
    uint64_t moved = 9;
    uint32_t busy = 1;
    OK(towpath_allocate(card.device, LONG, &source));
    OK(towpath_allocate(card.device, LONG, &target));
    OK(towpath_wrap(card.device, memory, sizeof memory, TOWPATH_ACCESS_READ, &read_only));
    OK(towpath_get_buffer(source, &from, NULL));
    OK(towpath_get_buffer(target, &to, NULL));
    fill(from, LONG);
    towpath_message message = {.size = sizeof message, .user = 8};
    towpath_received received = {.size = sizeof received};
    OK(towpath_send_buffer(card.in, source, 100, 3000, &message, SECOND, &moved));
    EXPECT(moved == 3000);
    OK(towpath_recv_buffer(card.out, target, 1, 4000, SECOND, &received));
    EXPECT(received.bytes == 3000 && received.end_of_message == 1 && received.user == 8);
    EXPECT(memcmp((char *)from + 100, (char *)to + 1, 3000) == 0 && *(char *)to == 0);
    // More than the card holds: the limit ends it, and tells how far it came.
    FAILS(towpath_send_buffer(card.in, source, 0, LONG, NULL, SHORT, &moved), TOWPATH_TIMEOUT, "\"in\"");
    EXPECT(moved > 0 && moved < LONG);
    OK(towpath_recv_buffer(card.out, target, 0, moved, SECOND, &received));
    EXPECT(received.bytes == moved && memcmp(from, to, moved) == 0);
    OK(towpath_buffer_in_flight(source, &busy));
    EXPECT(busy == 0);
    FAILS(towpath_send_buffer(card.in, source, LONG, 1, NULL, SECOND, &moved), TOWPATH_INVALID, "not in a buffer");
    EXPECT(moved == 0);
    FAILS(towpath_recv_buffer(card.out, target, UINT64_MAX, 2, SECOND, NULL), TOWPATH_INVALID, "in no buffer");
    FAILS(towpath_recv_buffer(card.out, read_only, 0, 1, SECOND, NULL), TOWPATH_INVALID, "receiving into");
    FAILS(towpath_send_buffer(other.in, source, 0, 1, NULL, SECOND, NULL), TOWPATH_INVALID, "another device");
    FAILS(towpath_send_buffer(card.out, source, 0, 1, NULL, SECOND, NULL), TOWPATH_WRONG_DIRECTION, "\"out\"");
    FAILS(towpath_recv_buffer(card.in, source, 0, 1, SECOND, NULL), TOWPATH_WRONG_DIRECTION, "\"in\"");
    OK(towpath_free_buffer(source));
    OK(towpath_free_buffer(target));
    OK(towpath_free_buffer(read_only));
    card_close(card);
    card_close(other);
}

TEST(the_same_memory_is_in_flight_twice) {
    card card = card_open();
    const uint64_t more = LONG / 2;
    unsigned char *memory = malloc(LONG + more), *got = malloc(LONG);
    fill(memory, LONG + more);
    towpath_buffer *first = NULL, *second = NULL;
    uint64_t tickets[2];
    towpath_received received = {.size = sizeof received};
    OK(towpath_wrap(card.device, memory, LONG, TOWPATH_ACCESS_READ, &first));
    OK(towpath_wrap(card.device, memory + more, LONG, TOWPATH_ACCESS_READ, &second));
    OK(towpath_submit(card.in, first, 0, LONG, NULL, SECOND, &tickets[0]));
    OK(towpath_submit(card.in, second, 0, LONG, NULL, SECOND, &tickets[1]));
    OK(towpath_recv(card.out, got, LONG, &received));
    EXPECT(received.bytes == LONG && memcmp(memory, got, LONG) == 0);
    OK(towpath_wait(card.in, tickets[0], SECOND, NULL));
    OK(towpath_free_buffer(first));
    FAILS(towpath_wait(card.in, tickets[1], 0, NULL), TOWPATH_PENDING, "in flight");
    OK(towpath_recv(card.out, got, LONG, &received));
    EXPECT(received.bytes == LONG && memcmp(memory + more, got, LONG) == 0);
    OK(towpath_wait(card.in, tickets[1], SECOND, NULL));
    OK(towpath_free_buffer(second));
    free(memory);
    free(got);
    card_close(card);
}
