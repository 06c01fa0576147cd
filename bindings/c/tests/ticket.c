// SPDX-License-Identifier: Apache-2.0
// Transfers that stay in flight, and the buffers that they use.
#include "check.h"

#include <poll.h>
#include <unistd.h>

enum { BYTES = 4096 };

static towpath_buffer *allocate(card card, unsigned char **data) {
    towpath_buffer *buffer = NULL;
    uint64_t bytes = 0;
    void *start = NULL;
    OK(towpath_allocate(card.device, BYTES, &buffer));
    OK(towpath_get_buffer(buffer, &start, &bytes));
    EXPECT(bytes == BYTES && (uintptr_t)start % 4096 == 0);
    OK(towpath_get_buffer(buffer, NULL, NULL));
    *data = start;
    return buffer;
}

static uint32_t in_flight(const towpath_buffer *buffer) {
    uint32_t in_flight = 9;
    OK(towpath_buffer_in_flight(buffer, &in_flight));
    return in_flight;
}

TEST(transfers_in_flight_are_waited_for) {
    card card = card_open();
    unsigned char *from, *to;
    towpath_buffer *source = allocate(card, &from), *target = allocate(card, &to);
    fill(from, BYTES);
    uint64_t receive, first, second;
    OK(towpath_submit(card.out, target, 0, BYTES, NULL, TOWPATH_CHANNEL_TIMEOUT, &receive));
    FAILS(towpath_wait(card.out, receive, 0, NULL), TOWPATH_PENDING, "\"out\"");
    FAILS(towpath_wait(card.out, receive, SHORT, NULL), TOWPATH_PENDING, "in flight");
    EXPECT(in_flight(target) == 1);
    FAILS(towpath_free_buffer(target), TOWPATH_BUFFER_IN_USE, "in flight");

    towpath_message more = {.size = sizeof more, .flags = TOWPATH_MORE, .user = 3};
    OK(towpath_submit(card.in, source, 0, 1000, &more, TOWPATH_CHANNEL_TIMEOUT, &first));
    OK(towpath_submit(card.in, source, 1000, 2000, NULL, TOWPATH_CHANNEL_TIMEOUT, &second));
    towpath_completion completion = {.size = sizeof completion};
    OK(towpath_wait(card.in, second, SECOND, &completion));
    EXPECT(completion.ticket == second && completion.bytes == 2000 && completion.outcome == TOWPATH_OUTCOME_DONE);
    OK(towpath_wait(card.in, first, 0, &completion));
    EXPECT(completion.ticket == first && completion.bytes == 1000);
    OK(towpath_wait(card.out, receive, TOWPATH_FOREVER, &completion));
    EXPECT(completion.bytes == 3000 && completion.outcome == TOWPATH_OUTCOME_END_OF_MESSAGE && completion.user == 3);
    EXPECT(in_flight(target) == 0 && memcmp(from, to, 3000) == 0 && to[3000] == 0);

    FAILS(towpath_wait(card.out, receive, 0, &completion), TOWPATH_UNKNOWN_TICKET, "no such ticket");
    FAILS(towpath_wait(card.out, UINT64_MAX, 0, &completion), TOWPATH_UNKNOWN_TICKET, "no such ticket");
    FAILS(towpath_wait(card.out, UINT64_MAX, SHORT, &completion), TOWPATH_UNKNOWN_TICKET, "no such ticket");
    OK(towpath_free_buffer(source));
    OK(towpath_free_buffer(target));
    OK(towpath_free_buffer(NULL));
    card_close(card);
}

typedef struct {
    int count;
    uint64_t bytes;
    uint32_t outcome;
    uint64_t next;
} collected;

static void collect(void *context, const towpath_completion *completion) {
    collected *collected = context;
    EXPECT(completion->size == sizeof *completion && completion->ticket == collected->next);
    collected->next++;
    collected->count++;
    collected->bytes += completion->bytes;
    collected->outcome = completion->outcome;
}

TEST(completions_are_collected_by_an_event_loop) {
    card card = card_open();
    unsigned char *from, *to;
    towpath_buffer *source = allocate(card, &from), *target = allocate(card, &to);
    fill(from, BYTES);
    collected collected = {0};
    uint64_t ticket;
    int fd = -1;
    OK(towpath_event_fd(card.out, &fd));
    for (int i = 0; i < 4; i++) {
        OK(towpath_submit(card.out, target, (uint64_t)i * 1024, 1024, NULL, 0, &ticket));
        if (i == 0) collected.next = ticket;
    }
    OK(towpath_poll_completions(card.out, collect, &collected));
    EXPECT(collected.count == 0);
    for (int i = 0; i < 4; i++) OK(towpath_send(card.in, from + i * 1024, 1024, NULL, NULL));
    while (collected.count < 4) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        EXPECT(poll(&poller, 1, 10000) == 1);
        uint64_t told;
        EXPECT(read(fd, &told, sizeof told) == sizeof told);
        OK(towpath_poll_completions(card.out, collect, &collected));
    }
    EXPECT(collected.count == 4 && collected.bytes == BYTES && collected.outcome == TOWPATH_OUTCOME_END_OF_MESSAGE);
    EXPECT(memcmp(from, to, BYTES) == 0);
    OK(towpath_free_buffer(source));
    OK(towpath_free_buffer(target));
    card_close(card);
}

TEST(a_full_queue_says_so_and_a_cancel_empties_it) {
    card card = card_open();
    unsigned char *to;
    towpath_buffer *target = allocate(card, &to);
    collected collected = {0};
    uint64_t ticket, first = UINT64_MAX;
    int posted = 0;
    towpath_status status;
    while ((status = towpath_submit(card.out, target, 0, 64, NULL, 0, &ticket)) == TOWPATH_OK) {
        if (posted++ == 0) first = ticket;
        EXPECT(posted < 100000);
    }
    EXPECT(status == TOWPATH_QUEUE_FULL && strstr(towpath_last_error(), "\"out\"") != NULL && posted > 1);
    OK(towpath_cancel(card.out));
    towpath_completion completion = {.size = sizeof completion};
    FAILS(towpath_wait(card.out, first, SECOND, &completion), TOWPATH_CANCELLED, "cancelled");
    EXPECT(completion.ticket == first && completion.outcome == TOWPATH_OUTCOME_CANCELLED && completion.bytes == 0);
    collected.next = first + 1;
    OK(towpath_poll_completions(card.out, collect, &collected));
    EXPECT(collected.count == posted - 1 && collected.outcome == TOWPATH_OUTCOME_CANCELLED && in_flight(target) == 0);
    OK(towpath_submit(card.out, target, 0, 64, NULL, TOWPATH_CHANNEL_TIMEOUT, &ticket));
    OK(towpath_reset_channel(card.out));
    FAILS(towpath_wait(card.out, ticket, 0, &completion), TOWPATH_RESET, "reset");
    EXPECT(completion.outcome == TOWPATH_OUTCOME_RESET);
    OK(towpath_free_buffer(target));
    card_close(card);
}

TEST(memory_of_ones_own_is_used_where_it_is) {
    card card = card_open();
    unsigned char *from = malloc(3000), *to = calloc(1, 3000);
    fill(from, 3000);
    towpath_buffer *source = NULL, *target = NULL;
    OK(towpath_wrap(card.device, from, 3000, TOWPATH_ACCESS_READ, &source));
    OK(towpath_wrap(card.device, to, 3000, TOWPATH_ACCESS_WRITE, &target));
    uint64_t receive, send;
    FAILS(towpath_submit(card.out, source, 0, 1, NULL, TOWPATH_CHANNEL_TIMEOUT, &receive), TOWPATH_INVALID, "receiving into");
    FAILS(towpath_submit(card.in, target, 0, 1, NULL, TOWPATH_CHANNEL_TIMEOUT, &send), TOWPATH_INVALID, "sending from");
    OK(towpath_submit(card.out, target, 0, 3000, NULL, TOWPATH_CHANNEL_TIMEOUT, &receive));
    OK(towpath_submit(card.in, source, 1, 2999, NULL, TOWPATH_CHANNEL_TIMEOUT, &send));
    OK(towpath_wait(card.in, send, SECOND, NULL));
    OK(towpath_wait(card.out, receive, SECOND, NULL));
    EXPECT(memcmp(from + 1, to, 2999) == 0 && to[2999] == 0);
    // A channel that is closed ends what is in flight, and then the buffer is free.
    OK(towpath_submit(card.out, target, 0, 3000, NULL, TOWPATH_CHANNEL_TIMEOUT, &receive));
    OK(towpath_close_channel(card.out));
    card.out = NULL;
    OK(towpath_free_buffer(source));
    OK(towpath_free_buffer(target));
    free(from);
    free(to);
    card_close(card);
}

TEST(many_are_submitted_by_one_call) {
    enum { MANY = 40, PART = 64 };
    card card = card_open();
    unsigned char *from, *to;
    towpath_buffer *source = allocate(card, &from), *target = allocate(card, &to);
    fill(from, BYTES);
    towpath_message users[MANY];
    towpath_submission sends[MANY], receives[MANY];
    for (int i = 0; i < MANY; i++) {
        users[i] = (towpath_message){.size = sizeof *users, .user = (uint32_t)i};
        sends[i] = (towpath_submission){.buffer = source, .first = (uint64_t)i * PART, .bytes = PART, .message = i % 5 ? NULL : &users[i]};
        receives[i] = (towpath_submission){.buffer = target, .first = (uint64_t)i * PART, .bytes = PART};
    }
    uint64_t sent[MANY], received[MANY], done = 0;
    while (done < MANY) {
        uint64_t out = 0, in = 0;
        OK(towpath_submit_many(card.out, receives + done, MANY - done, TOWPATH_CHANNEL_TIMEOUT, received + done, &out));
        OK(towpath_submit_many(card.in, sends + done, out, 0, sent + done, &in));
        EXPECT(out > 1 && in > 1 && in <= out);
        OK(towpath_submit_many(card.in, NULL, 0, 0, NULL, &out));
        EXPECT(out == 0);
        for (uint64_t i = done; i < done + in; i++) {
            towpath_completion completion = {.size = sizeof completion};
            OK(towpath_wait(card.in, sent[i], SECOND, NULL));
            OK(towpath_wait(card.out, received[i], SECOND, &completion));
            EXPECT(completion.bytes == PART && completion.outcome == TOWPATH_OUTCOME_END_OF_MESSAGE && completion.user == (i % 5 ? 0 : i));
        }
        done += in;
        OK(towpath_cancel(card.out)); // where there was room for more buffers than messages
    }
    EXPECT(memcmp(from, to, MANY * PART) == 0);

    uint64_t count = 9, before = sent[0];
    receives[3].message = &users[3];
    FAILS(towpath_submit_many(card.out, receives, 5, 0, sent, &count), TOWPATH_INVALID, "message is not NULL");
    sends[2].bytes = BYTES + 1;
    FAILS(towpath_submit_many(card.in, sends, 5, 0, sent, &count), TOWPATH_INVALID, "transfer 2 ");
    sends[2].buffer = NULL;
    FAILS(towpath_submit_many(card.in, sends, 5, 0, sent, &count), TOWPATH_INVALID, "buffer is NULL");
    FAILS(towpath_submit_many(card.in, NULL, 5, 0, sent, &count), TOWPATH_INVALID, "transfers is NULL");
    FAILS(towpath_submit_many(card.in, sends, 2, 0, NULL, &count), TOWPATH_INVALID, "tickets is NULL");
    FAILS(towpath_submit_many(card.in, sends, 2, 0, sent, NULL), TOWPATH_INVALID, "submitted is NULL");
    EXPECT(count == 9 && sent[0] == before && in_flight(source) == 0);
    uint64_t posted = 0;
    do OK(towpath_submit_many(card.out, receives, 3, 0, received, &count));
    while ((posted += count) < 100000 && count == 3);
    FAILS(towpath_submit_many(card.out, receives, 3, SHORT, received, &count), TOWPATH_QUEUE_FULL, "\"out\"");
    OK(towpath_cancel(card.out));
    OK(towpath_free_buffer(source));
    OK(towpath_free_buffer(target));
    card_close(card);
}

TEST(what_cannot_be_submitted_says_why) {
    card card = card_open(), other = card_open();
    unsigned char *data;
    towpath_buffer *buffer = allocate(card, &data), *none = NULL;
    uint64_t ticket = 9;
    towpath_message message = {.size = sizeof message};
    FAILS(towpath_submit(card.in, buffer, 0, BYTES + 1, NULL, TOWPATH_CHANNEL_TIMEOUT, &ticket), TOWPATH_INVALID, "4096 bytes");
    FAILS(towpath_submit(card.in, buffer, UINT64_MAX, 2, NULL, TOWPATH_CHANNEL_TIMEOUT, &ticket), TOWPATH_INVALID, "in no buffer");
    FAILS(towpath_submit(card.out, buffer, 0, 1, &message, TOWPATH_CHANNEL_TIMEOUT, &ticket), TOWPATH_INVALID, "message is not NULL");
    FAILS(towpath_submit(other.in, buffer, 0, 1, NULL, 0, &ticket), TOWPATH_INVALID, "another device");
    FAILS(towpath_wrap(card.device, data, 8, 3, &none), TOWPATH_INVALID, "access is 3");
    FAILS(towpath_wrap(card.device, NULL, 8, 0, &none), TOWPATH_INVALID, "NULL");
    FAILS(towpath_allocate(card.device, UINT64_MAX, &none), TOWPATH_MEMORY, "no memory");
    EXPECT(ticket == 9 && none == NULL && in_flight(buffer) == 0);
    OK(towpath_free_buffer(buffer));
    card_close(card);
    card_close(other);
}
