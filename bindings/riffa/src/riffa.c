// SPDX-License-Identifier: Apache-2.0
// RIFFA's sends and receives over libtowpath: one message is one transaction. riffa.h says what the calls promise.
#include "card.h"

#include <errno.h>
#include <stdint.h>

#include <riffa.h>
#include <towpath.h>

#define WORD 4u
// User word, bit 0.
#define LAST 1u
// What RIFFA's driver returns after a signal: Linux's number for a call that may be restarted.
#define INTERRUPTED (-512)
// How long a wait for a transaction does not look whether its card is closed.
#define SLICE UINT64_C(10000000)
// Where discarded words go, a piece at a time.
#define SPILL_WORDS 1024u

static uint64_t limit_of(long long milliseconds) {
    const uint64_t most = TOWPATH_CHANNEL_TIMEOUT / 1000000 - 1;
    if (milliseconds <= 0 || (uint64_t)milliseconds > most) return TOWPATH_FOREVER;
    return (uint64_t)milliseconds * 1000000;
}

// 0, or what a call with these arguments returns without having done anything.
static int refused(const void *data, int len) {
    uintptr_t first = (uintptr_t)data;
    if (first % WORD != 0 || len < 0 || first + WORD * (uintptr_t)len < first) return -EINVAL;
    return 0;
}

// What a call returns that has failed for more than time.
static int failed(towpath_status status) {
    if (status == TOWPATH_INTERRUPTED) return INTERRUPTED;
    int number = towpath_last_errno();
    return number > 0 ? -number : -EIO;
}

// A message that such a call has begun is open.
static bool is_cut(towpath_status status) { return status == TOWPATH_TIMEOUT || status == TOWPATH_INTERRUPTED; }

// What a call returns that has moved so many bytes. A signal ends it as the time does: the words that were moved would be lost with another
// number.
static int result_of(towpath_status status, uint64_t bytes) {
    bool counts = status == TOWPATH_OK || status == TOWPATH_TIMEOUT || (status == TOWPATH_INTERRUPTED && bytes >= WORD);
    return counts ? (int)(bytes / WORD) : failed(status);
}

// The stream that `chnl` names, which is then this call's alone. NULL: `*result` is what the call returns.
static inline struct stream *begin(struct card *card, enum way way, int chnl, const void *data, int len, int *result) {
    *result = 0;
    if (card == NULL || chnl < 0 || (uint32_t)chnl >= card->count[way]) return NULL;
    *result = refused(data, len);
    if (*result != 0) return NULL;
    struct stream *stream = &card->streams[way][chnl];
    if (atomic_flag_test_and_set_explicit(&stream->busy, memory_order_acquire)) {
        *result = -EBUSY;
        return NULL;
    }
    if (stream->channel == NULL) {
        *result = -stream_open(card, stream, way);
        if (*result != 0) {
            stream_end(stream);
            return NULL;
        }
    }
    return stream;
}

int fpga_send(fpga_t *fpga, int chnl, void *data, int len, int destoff, int last, long long timeout) {
    int result;
    struct stream *stream = begin(card_of(fpga), TO_CARD, chnl, data, len, &result);
    if (stream == NULL) return result;
    struct iovec piece = {.iov_base = data, .iov_len = WORD * (size_t)len};
    towpath_message message = {
        .size = sizeof message,
        .flags = TOWPATH_LENGTH,
        .length = piece.iov_len,
        .offset = (uint32_t)destoff & INT32_MAX,
        .user = last ? LAST : 0,
    };
    const uint64_t limit = limit_of(timeout);
    towpath_status status = TOWPATH_OK;
    uint64_t moved = 0;
    bool ends_early = false;
    // An earlier send has left its transaction open. Only what is just as long as its rest can be meant for it.
    if (stream->open && stream->rest != piece.iov_len) {
        status = towpath_sendv(stream->channel, NULL, 0, NULL, limit, NULL);
        stream->open = is_cut(status);
        ends_early = stream->open;
    }
    if (!ends_early && status == TOWPATH_OK) {
        status = towpath_sendv(stream->channel, &piece, 1, &message, limit, &moved);
        // Nothing is open that the core has no word of.
        stream->open = is_cut(status) && (stream->open || moved > 0);
        stream->rest = piece.iov_len - moved;
    }
    result = result_of(status, moved);
    stream_end(stream);
    return result;
}

// Receives until the message ends, up to `left` bytes to `words`; the rest is discarded. Adds to `*bytes` what has come.
static towpath_status recv_message(struct stream *stream, uint32_t *words, uint64_t left, uint64_t limit, uint64_t *bytes) {
    uint32_t spill[SPILL_WORDS];
    towpath_received received = {.size = sizeof received};
    for (;;) {
        struct iovec piece = {.iov_base = words, .iov_len = left};
        if (left == 0) piece = (struct iovec){.iov_base = spill, .iov_len = sizeof spill};
        received.bytes = 0;
        towpath_status status = towpath_recvv(stream->channel, &piece, 1, limit, &received);
        *bytes += received.bytes;
        if (status != TOWPATH_OK) return status;
        if (received.end_of_message) return TOWPATH_OK;
        if (left > 0) {
            words += received.bytes / WORD;
            left -= received.bytes;
        }
    }
}

// Waits for the transaction that the next word belongs to. In slices: what closes the card does not end this wait.
static towpath_status wait_start(struct card *card, struct stream *stream, uint64_t limit, towpath_message_start *start) {
    for (uint64_t waited = 0;;) {
        uint64_t slice = limit - waited < SLICE ? limit - waited : SLICE;
        towpath_status status = towpath_wait_message_start(stream->channel, slice, start);
        if (status != TOWPATH_PENDING || atomic_load(&card->opens) == 0) return status;
        if (limit != TOWPATH_FOREVER && (waited += slice) >= limit) return status;
    }
}

static int recv_until_last(struct card *card, struct stream *stream, uint32_t *data, uint64_t len, uint64_t limit) {
    uint64_t place = 0; // of the next transaction, in words
    uint64_t bytes = 0; // of the one in progress, or of the one before
    for (;;) {
        towpath_message_start start = {.size = sizeof start};
        // Where its words go is known only now: the core gives the offset with the message.
        towpath_status status = wait_start(card, stream, limit, &start);
        if (status == TOWPATH_PENDING && atomic_load(&card->opens) == 0) return -ECANCELED;
        if (status == TOWPATH_PENDING) return (int)(bytes / WORD);
        if (status != TOWPATH_OK) return failed(status);
        const bool began = stream->open;
        // Of a transaction in progress, the call that began it has counted the offset.
        if (!began) place += start.offset;
        uint64_t announced = stream->open ? stream->rest : start.has_length ? start.length : 0;
        uint64_t room = place < len ? WORD * (len - place) : 0;
        // No more memory is mapped than the core has announced to fill.
        uint64_t direct = announced != 0 && announced < room ? announced : room;
        bytes = 0;
        status = recv_message(stream, direct != 0 ? data + place : NULL, direct, limit, &bytes);
        // Of one that no word has come of, the next call counts the offset.
        stream->open = is_cut(status) && (began || bytes > 0);
        stream->rest = announced > bytes ? announced - bytes : 0;
        if (status != TOWPATH_OK) return result_of(status, bytes);
        if (start.user & LAST) return (int)(bytes / WORD);
        place += (announced != 0 ? announced : bytes) / WORD;
    }
}

int fpga_recv(fpga_t *fpga, int chnl, void *data, int len, long long timeout) {
    int result;
    struct card *card = card_of(fpga);
    struct stream *stream = begin(card, FROM_CARD, chnl, data, len, &result);
    if (stream == NULL) return result;
    result = recv_until_last(card, stream, data, (uint64_t)len, limit_of(timeout));
    stream_end(stream);
    return result;
}

int fpga_recv_noTimeoutMsg(fpga_t *fpga, int chnl, void *data, int len, long long timeout) {
    return fpga_recv(fpga, chnl, data, len, timeout);
}
