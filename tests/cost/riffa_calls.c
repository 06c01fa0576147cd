// SPDX-License-Identifier: Apache-2.0
// The same transfers by RIFFA's calls and by the library's own: riffa_calls.py counts what they cost.
//     riffa_calls (riffa|own|both) (small|send|recv) ROUNDS
// both: the library's own calls, and before a receive the one that tells the core's offset, as a program of its own needs it that places
// words.
// small: 64 and 400 words there and back on channels 0 and 1 of tests/cores/transactions; both have begun to come before they are asked
// for. send, recv: 16,384 words each, on channel 0 of tests/cost/riffa.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <riffa.h>
#include <towpath.h>

enum { SMALL = 64, MIDDLE = 400, LARGE = 16384 };

static uint32_t out[LARGE], in[LARGE];

static fpga_t *card;
static towpath_device *device;
static towpath_channel *streams[2][2];

static void expect(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s: %s\n", what, towpath_last_error());
    exit(1);
}

// RIFFA's channels, in order.
static void open_streams(void) {
    const uint32_t directions[] = {TOWPATH_H2C, TOWPATH_C2H};
    towpath_info info = {.size = sizeof info};
    expect(towpath_get_info(device, &info) == TOWPATH_OK, "info");
    for (int way = 0; way < 2; way++) {
        int channel = 0;
        for (uint32_t position = 0; position < info.channels && channel < 2; position++) {
            towpath_channel_info found = {.size = sizeof found};
            expect(towpath_get_channel(device, position, &found) == TOWPATH_OK, "channel");
            if (found.direction != directions[way]) continue;
            towpath_channel **place = &streams[channel++][way];
            expect(towpath_open_channel_number(device, found.number, found.direction, NULL, place) == TOWPATH_OK, "open");
        }
    }
}

// What is counted is in functions of their own, which callgrind finds by their names.
__attribute__((noinline)) static int riffa_send(int channel, int words) { return fpga_send(card, channel, out, words, 0, 1, 0); }
__attribute__((noinline)) static int riffa_recv(int channel, int words) { return fpga_recv(card, channel, in, words, 0); }

__attribute__((noinline)) static int own_send(int channel, int words) {
    struct iovec piece = {.iov_base = out, .iov_len = 4 * (size_t)words};
    towpath_message message = {.size = sizeof message, .flags = TOWPATH_LENGTH, .length = piece.iov_len, .user = 1};
    return towpath_sendv(streams[channel][0], &piece, 1, &message, TOWPATH_FOREVER, NULL) == TOWPATH_OK ? words : -1;
}

__attribute__((noinline)) static int own_recv(int channel, int words) {
    struct iovec piece = {.iov_base = in, .iov_len = 4 * (size_t)words};
    towpath_received received = {.size = sizeof received};
    towpath_status status = towpath_recvv(streams[channel][1], &piece, 1, TOWPATH_FOREVER, &received);
    return status == TOWPATH_OK ? (int)(received.bytes / 4) : -1;
}

__attribute__((noinline)) static int both_recv(int channel, int words) {
    towpath_message_start start = {.size = sizeof start};
    if (towpath_wait_message_start(streams[channel][1], TOWPATH_FOREVER, &start) != TOWPATH_OK || start.offset != 0) return -1;
    struct iovec piece = {.iov_base = in, .iov_len = 4 * (size_t)words};
    towpath_received received = {.size = sizeof received};
    towpath_status status = towpath_recvv(streams[channel][1], &piece, 1, TOWPATH_FOREVER, &received);
    return status == TOWPATH_OK ? (int)(received.bytes / 4) : -1;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    const int riffa = strcmp(words[1], "riffa") == 0, rounds = atoi(words[3]);
    int (*send)(int, int) = riffa ? riffa_send : own_send;
    int (*recv)(int, int) = riffa ? riffa_recv : strcmp(words[1], "both") == 0 ? both_recv : own_recv;
    for (int n = 0; n < LARGE; n++) out[n] = (uint32_t)n;
    if (riffa) {
        expect((card = fpga_open(0)) != NULL, "fpga_open");
    } else {
        expect(towpath_open(NULL, NULL, &device) == TOWPATH_OK, "open");
        open_streams();
    }
    for (int round = 0; round < rounds; round++) {
        if (strcmp(words[2], "small") == 0) {
            expect(send(0, SMALL) == SMALL && send(1, MIDDLE) == MIDDLE, "send");
            expect(recv(0, SMALL) == SMALL && memcmp(in, out, 4 * SMALL) == 0, "recv");
            expect(recv(1, MIDDLE) == MIDDLE && memcmp(in, out, 4 * MIDDLE) == 0, "recv");
        } else if (strcmp(words[2], "send") == 0) {
            expect(send(0, LARGE) == LARGE, "send");
        } else {
            expect(recv(0, LARGE) == LARGE && memcmp(in, out, sizeof in) == 0, "recv");
        }
    }
    if (riffa)
        fpga_close(card);
    else
        towpath_close(device);
    return 0;
}
