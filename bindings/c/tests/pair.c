// SPDX-License-Identifier: Apache-2.0
// A stream of one simulated card that sends to a stream of another.
#include "check.h"

typedef struct {
    towpath_device *device;
    towpath_channel *in, *out;
} end;

static end end_open(const char *name) {
    end end = {0};
    OK(towpath_open(name, NULL, &end.device));
    OK(towpath_open_channel(end.device, "in", TOWPATH_H2C, NULL, &end.in));
    OK(towpath_open_channel(end.device, "out", TOWPATH_C2H, NULL, &end.out));
    return end;
}

static void end_close(end end) {
    OK(towpath_close_channel(end.in));
    OK(towpath_close_channel(end.out));
    OK(towpath_close(end.device));
}

TEST(a_card_sends_to_another_card) {
    end one = end_open("sim:peer?world=c-pairs"), two = end_open("sim:peer?world=c-pairs");
    towpath_pair *pair = NULL;
    towpath_pair_options options = {.size = sizeof options, .slot_bytes = 256};
    towpath_pair_state state = {.size = sizeof state};
    towpath_parted parted = {.size = sizeof parted};
    static unsigned char data[3001], back[3001];
    fill(data, sizeof data);
    OK(towpath_connect(one.out, two.in, &options, &pair));
    for (uint64_t bytes = 0; bytes <= sizeof data; bytes += 1000) {
        towpath_received received = {.size = sizeof received};
        OK(towpath_send(one.in, data, bytes, NULL, NULL));
        OK(towpath_recv(two.out, back, sizeof back, &received));
        EXPECT(received.bytes == bytes && memcmp(data, back, bytes) == 0);
    }
    FAILS(towpath_send(two.in, data, 10, NULL, NULL), TOWPATH_CHANNEL_IN_USE, "disconnect the pair");
    FAILS(towpath_connect(one.out, two.in, NULL, &pair), TOWPATH_CHANNEL_IN_USE, "disconnect the pair");
    OK(towpath_get_pair(pair, &state));
    EXPECT(state.fault == TOWPATH_PAIR_WELL && state.slot_bytes == 256 && state.slots_arrived > 0);
    FAILS(towpath_disconnect(pair, TOWPATH_CHANNEL_TIMEOUT, NULL), TOWPATH_INVALID, "TOWPATH_CHANNEL_TIMEOUT");
    OK(towpath_disconnect(pair, SECOND, &parted));
    EXPECT(parted.arrived && parted.taken && !parted.cut && parted.fault == TOWPATH_PAIR_WELL);
    FAILS(towpath_disconnect(pair, SECOND, NULL), TOWPATH_INVALID, "this pair was closed before");
    FAILS(towpath_get_pair(pair, &state), TOWPATH_INVALID, "this pair was closed before");
    OK(towpath_disconnect(NULL, SECOND, NULL));
    OK(towpath_send(two.in, "host", 4, NULL, NULL));
    end_close(one);
    end_close(two);
}

TEST(what_cannot_be_paired) {
    end one = end_open("sim:peer"), two = end_open("sim:peer"), plain = end_open("sim:loopback");
    towpath_pair *pair = NULL;
    towpath_pair_options options = {.size = sizeof options, .slot_bytes = 100};
    FAILS(towpath_connect(one.out, two.in, NULL, &pair), TOWPATH_UNAVAILABLE, "send through the host");
    FAILS(towpath_connect(one.out, plain.in, NULL, &pair), TOWPATH_UNAVAILABLE, "peer = true");
    FAILS(towpath_connect(one.in, two.in, NULL, &pair), TOWPATH_WRONG_DIRECTION, "carries data to the card");
    FAILS(towpath_connect(one.out, two.out, NULL, &pair), TOWPATH_WRONG_DIRECTION, "carries data from the card");
    FAILS(towpath_connect(one.out, two.in, &options, &pair), TOWPATH_INVALID, "a power of two");
    FAILS(towpath_connect(NULL, two.in, NULL, &pair), TOWPATH_INVALID, "channel is NULL");
    EXPECT(pair == NULL);
    end_close(one);
    end_close(two);
    end_close(plain);
}
