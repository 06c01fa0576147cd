// SPDX-License-Identifier: Apache-2.0
// Blocking transfers, whole and in part.
#include "check.h"

#include <pthread.h>

TEST(a_message_goes_through_and_comes_back) {
    card card = card_open();
    unsigned char sent[5000], got[6000];
    fill(sent, sizeof sent);
    uint64_t moved = 0;
    OK(towpath_send(card.in, sent, sizeof sent, NULL, &moved));
    EXPECT(moved == sizeof sent);
    towpath_received received = {.size = sizeof received};
    // It does not fit into the first piece of memory, and ends in the second.
    OK(towpath_recv(card.out, got, 3000, &received));
    EXPECT(received.bytes == 3000 && received.end_of_message == 0);
    OK(towpath_recv(card.out, got + 3000, 3000, &received));
    EXPECT(received.bytes == 2000 && received.end_of_message == 1);
    EXPECT(memcmp(sent, got, sizeof sent) == 0);
    // An empty message is a message.
    OK(towpath_send(card.in, NULL, 0, NULL, &moved));
    EXPECT(moved == 0);
    OK(towpath_recv(card.out, got, 1, &received));
    EXPECT(received.bytes == 0 && received.end_of_message == 1);
    card_close(card);
}

TEST(a_whole_message_of_unknown_length) {
    card card = card_open();
    unsigned char sent[6000];
    fill(sent, sizeof sent);
    towpath_message attributes = {.size = sizeof attributes, .offset = 64, .user = 5};
    OK(towpath_send(card.in, sent, sizeof sent, &attributes, NULL));
    towpath_received_message *message = NULL;
    OK(towpath_recv_message(card.out, TOWPATH_CHANNEL_TIMEOUT, &message));
    EXPECT(message->bytes == sizeof sent && message->offset == 64 && message->user == 5);
    EXPECT(memcmp(message->data, sent, sizeof sent) == 0);
    // Whoever has no place for it puts it back, and gets it again, with its end, in any pieces.
    OK(towpath_unread_message(card.out, message));
    unsigned char first[1000];
    towpath_received received = {.size = sizeof received};
    OK(towpath_recv(card.out, first, sizeof first, &received));
    EXPECT(received.bytes == sizeof first && received.end_of_message == 0 && memcmp(first, sent, sizeof first) == 0);
    OK(towpath_recv_message(card.out, TOWPATH_CHANNEL_TIMEOUT, &message));
    EXPECT(message->bytes == sizeof sent - sizeof first && message->offset == 64 && message->user == 5);
    EXPECT(memcmp(message->data, sent + sizeof first, message->bytes) == 0);
    OK(towpath_free_message(message));
    OK(towpath_free_message(NULL));
    card_close(card);
}

TEST(many_pieces_in_one_go) {
    card card = card_open();
    unsigned char sent[1000], got[1000];
    fill(sent, sizeof sent);
    const struct iovec from[] = {{sent, 1}, {NULL, 0}, {sent + 1, 699}, {sent + 700, 300}};
    const struct iovec to[] = {{got, 512}, {got + 512, 488}};
    uint64_t moved = 0;
    towpath_received received = {.size = sizeof received};
    OK(towpath_sendv(card.in, from, 4, NULL, TOWPATH_CHANNEL_TIMEOUT, &moved));
    EXPECT(moved == 1000);
    OK(towpath_recvv(card.out, to, 2, SECOND, &received));
    EXPECT(received.bytes == 1000 && memcmp(sent, got, sizeof sent) == 0);
    OK(towpath_sendv(card.in, NULL, 0, NULL, SECOND, &moved));
    OK(towpath_recvv(card.out, NULL, 0, TOWPATH_FOREVER, &received));
    EXPECT(received.bytes == 0);
    card_close(card);
}

TEST(a_message_in_parts_with_attributes) {
    card card = card_open();
    unsigned char sent[300], got[300];
    fill(sent, sizeof sent);
    towpath_message first = {
        .size = sizeof first, .flags = TOWPATH_MORE | TOWPATH_LENGTH, .length = sizeof sent, .offset = 0x4000, .user = 42};
    towpath_message_start start = {.size = sizeof start};
    FAILS(towpath_wait_message_start(card.out, 0, &start), TOWPATH_PENDING, "no message has begun");
    FAILS(towpath_wait_message_start(card.out, SHORT, &start), TOWPATH_PENDING, "\"out\"");
    OK(towpath_send(card.in, sent, 100, &first, NULL));
    OK(towpath_send(card.in, sent + 100, 200, NULL, NULL));
    for (int i = 0; i < 2; i++) {
        OK(towpath_wait_message_start(card.out, i == 0 ? SECOND : 0, &start));
        EXPECT(start.has_length == 1 && start.length == sizeof sent && start.offset == 0x4000 && start.user == 42);
    }
    towpath_received received = {.size = sizeof received};
    OK(towpath_recv(card.out, got, sizeof got, &received));
    EXPECT(received.bytes == sizeof sent && received.end_of_message == 1 && received.offset == 0x4000 && received.user == 42);
    EXPECT(memcmp(sent, got, sizeof sent) == 0);
    card_close(card);
}

TEST(a_timeout_tells_how_far_it_came) {
    card card = card_open();
    uint64_t timeout = 0;
    OK(towpath_get_timeout(card.in, &timeout));
    EXPECT(timeout == 10 * SECOND);
    OK(towpath_set_timeout(card.in, SHORT));
    OK(towpath_set_timeout(card.out, SHORT));
    OK(towpath_get_timeout(card.in, &timeout));
    EXPECT(timeout == SHORT);

    // Nobody receives: the core stalls, and the card takes as much as it can hold.
    size_t count = 1 << 20;
    unsigned char *sent = malloc(count), *got = malloc(count);
    fill(sent, count);
    uint64_t moved = 0;
    FAILS(towpath_send(card.in, sent, count, NULL, &moved), TOWPATH_TIMEOUT, "no progress");
    EXPECT(moved > 0 && moved < count);
    towpath_received received = {.size = sizeof received};
    FAILS(towpath_recv(card.out, got, count, &received), TOWPATH_TIMEOUT, "no progress");
    EXPECT(received.bytes == moved && received.end_of_message == 0 && memcmp(sent, got, moved) == 0);
    // The message goes on where it stopped.
    OK(towpath_send(card.in, sent + moved, 100, NULL, NULL));
    OK(towpath_recv(card.out, got, count, &received));
    EXPECT(received.bytes == 100 && received.end_of_message == 1 && memcmp(sent + moved, got, 100) == 0);

    OK(towpath_set_timeout(card.in, TOWPATH_FOREVER));
    OK(towpath_get_timeout(card.in, &timeout));
    EXPECT(timeout == TOWPATH_FOREVER);
    free(sent);
    free(got);
    card_close(card);
}

TEST(a_channel_is_reset) {
    card card = card_open();
    towpath_message more = {.size = sizeof more, .flags = TOWPATH_MORE};
    OK(towpath_send(card.in, "lost", 4, &more, NULL));
    OK(towpath_reset_channel(card.in));
    OK(towpath_reset_channel(card.out));
    OK(towpath_send(card.in, "new", 3, NULL, NULL));
    char got[8];
    towpath_received received = {.size = sizeof received};
    OK(towpath_recv(card.out, got, sizeof got, &received));
    EXPECT(received.bytes == 3 && memcmp(got, "new", 3) == 0);
    card_close(card);
}

TEST(channels_are_opened_in_many_ways) {
    towpath_device *device = NULL;
    OK(towpath_open("sim:loopback", NULL, &device));
    towpath_channel *in = NULL, *again = NULL;
    FAILS(towpath_open_channel(device, "inn", TOWPATH_H2C, NULL, &in), TOWPATH_NO_SUCH_CHANNEL, "\"in\"");
    FAILS(towpath_open_channel(device, "in", TOWPATH_C2H, NULL, &in), TOWPATH_WRONG_DIRECTION, "to the card");
    FAILS(towpath_open_channel(device, "in", 2, NULL, &in), TOWPATH_INVALID, "direction is 2");
    FAILS(towpath_open_channel_number(device, 7, TOWPATH_H2C, NULL, &in), TOWPATH_NO_SUCH_CHANNEL, "\"7\"");
    EXPECT(in == NULL);
    for (uint32_t notify = TOWPATH_NOTIFY_ADAPTIVE; notify <= TOWPATH_NOTIFY_INTERRUPT; notify++) {
        towpath_channel_options options = {.size = sizeof options, .notify = notify, .poll_ns = 1000, .no_announce = 1};
        OK(towpath_open_channel(device, "in", TOWPATH_H2C, &options, &in));
        FAILS(towpath_open_channel(device, "0", TOWPATH_H2C, NULL, &again), TOWPATH_CHANNEL_IN_USE, "already open");
        OK(towpath_set_moderation(in, 4, 1000));
        OK(towpath_send(in, "x", 1, NULL, NULL));
        OK(towpath_set_moderation(in, 0, 0));
        FAILS(towpath_set_moderation(in, 1, SECOND), TOWPATH_INVALID, "longest");
        FAILS(towpath_set_moderation(in, 65536, 0), TOWPATH_INVALID, "65535");
        OK(towpath_close_channel(in));
    }
    towpath_channel_options options = {.size = sizeof options, .notify = 4};
    FAILS(towpath_open_channel(device, "in", TOWPATH_H2C, &options, &in), TOWPATH_INVALID, "notify is 4");
    OK(towpath_close_channel(NULL));
    OK(towpath_close(device));
}

// Four threads send 50 messages each on one channel; each comes back whole, in whatever order.
enum { THREADS = 4, MESSAGES = 50, WORDS = 97 };

static void *send_many(void *context) {
    static int next;
    uint32_t words[WORDS];
    for (int m = 0; m < MESSAGES; m++) {
        uint32_t mark = (uint32_t)__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < WORDS; i++) words[i] = mark;
        OK(towpath_send(context, words, sizeof words, NULL, NULL));
    }
    return NULL;
}

TEST(threads_share_a_channel) {
    card card = card_open();
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) EXPECT(pthread_create(&threads[t], NULL, send_many, card.in) == 0);
    char seen[THREADS * MESSAGES] = {0};
    for (int m = 0; m < THREADS * MESSAGES; m++) {
        uint32_t words[WORDS + 1];
        towpath_received received = {.size = sizeof received};
        OK(towpath_recv(card.out, words, sizeof words, &received));
        EXPECT(received.bytes == WORDS * sizeof words[0] && received.end_of_message == 1);
        for (int i = 1; i < WORDS; i++) EXPECT(words[i] == words[0]);
        EXPECT(words[0] < THREADS * MESSAGES && seen[words[0]]++ == 0);
    }
    for (int t = 0; t < THREADS; t++) EXPECT(pthread_join(threads[t], NULL) == 0);
    card_close(card);
}

static void *cancel_until_done(void *context) {
    card *card = context;
    while (!__atomic_load_n(&card->device, __ATOMIC_ACQUIRE)) OK(towpath_cancel(card->out));
    return NULL;
}

TEST(a_cancel_ends_another_threads_call) {
    card card = card_open();
    struct {
        towpath_device *done;
        towpath_channel *in, *out;
    } shared = {NULL, card.in, card.out};
    OK(towpath_set_timeout(card.out, TOWPATH_FOREVER));
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, cancel_until_done, &shared) == 0);
    char got;
    towpath_received received = {.size = sizeof received};
    FAILS(towpath_recv(card.out, &got, 1, &received), TOWPATH_CANCELLED, "\"out\"");
    EXPECT(received.bytes == 0);
    __atomic_store_n(&shared.done, card.device, __ATOMIC_RELEASE);
    EXPECT(pthread_join(thread, NULL) == 0);
    card_close(card);
}
