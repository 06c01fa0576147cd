// SPDX-License-Identifier: Apache-2.0
// What plug-ins do: the core's clock and reset, another core in its place, and the log of packets.
#include "check.h"

typedef struct {
    unsigned calls;
    uint64_t bytes, total;
    towpath_channel *channels[2];
    int answer;
} load;

typedef struct {
    unsigned packets;
    uint64_t last, data;
} seen;

static void echo(towpath_device *device) {
    towpath_channel *in, *out;
    unsigned char data[1000], back[sizeof data];
    towpath_received received = {.size = sizeof received};
    fill(data, sizeof data);
    OK(towpath_open_channel(device, "in", TOWPATH_H2C, NULL, &in));
    OK(towpath_open_channel(device, "out", TOWPATH_C2H, NULL, &out));
    OK(towpath_send(in, data, sizeof data, NULL, NULL));
    OK(towpath_recv(out, back, sizeof back, &received));
    EXPECT(received.bytes == sizeof back && memcmp(back, data, sizeof back) == 0);
    OK(towpath_close_channel(in));
    OK(towpath_close_channel(out));
}

TEST(the_core_goes_from_one_clock_to_another) {
    towpath_device *device = NULL;
    OK(towpath_open("sim:tests/cores/loopback_clocks", NULL, &device));
    towpath_clock clock = {.size = sizeof clock};
    OK(towpath_get_clock(device, "clock", &clock));
    EXPECT(clock.inputs == 3 && clock.current == 0 && clock.running == 7 && !clock.is_held && !clock.is_astray && !clock.is_busy);
    EXPECT(clock.frequencies_khz[1] > 62000 && clock.frequencies_khz[1] < 63000 && clock.frequencies_khz[2] > 297000);
    echo(device);
    OK(towpath_select_clock(device, "clock", 1, 0));
    OK(towpath_get_clock(device, "clock:0", &clock));
    EXPECT(clock.current == 1 && !clock.is_held);
    echo(device);
    OK(towpath_select_clock(device, "clock", 2, 1));
    OK(towpath_get_clock(device, "clock", &clock));
    EXPECT(clock.current == 2 && clock.is_held);
    OK(towpath_release_clock(device, "clock"));
    echo(device);
    FAILS(towpath_select_clock(device, "clock", 3, 0), TOWPATH_INVALID, "has 3");
    FAILS(towpath_get_clock(device, "reset", &clock), TOWPATH_INVALID, "knows \"clock\"");
    FAILS(towpath_get_clock(device, NULL, &clock), TOWPATH_INVALID, "name is NULL");
    FAILS(towpath_release_clock(device, "clocks"), TOWPATH_INVALID, "no plug-in");
    OK(towpath_close(device));
}

TEST(the_core_is_reset_and_held) {
    towpath_device *device = NULL;
    OK(towpath_open("sim:tests/cores/loopback_clocks", NULL, &device));
    towpath_core_reset reset = {.size = sizeof reset}, change = {.size = sizeof change};
    OK(towpath_get_core_reset(device, "reset", &reset));
    EXPECT(reset.outputs == 1 && !reset.is_held && !reset.is_busy && reset.asserted == 0 && reset.on_fault == TOWPATH_ON_FAULT_COUNT);
    uint32_t before = reset.sequences;
    OK(towpath_pulse_core(device, "reset"));
    OK(towpath_get_core_reset(device, "reset", &reset));
    EXPECT(!reset.is_held && reset.sequences == before + 1);
    OK(towpath_hold_core(device, "reset"));
    OK(towpath_get_core_reset(device, "reset", &reset));
    EXPECT(reset.is_held && reset.asserted == 1);
    FAILS(towpath_pulse_core(device, "reset"), TOWPATH_INVALID, "release it");
    OK(towpath_release_core(device, "reset"));
    echo(device);

    change.change = TOWPATH_RESET_LENGTH | TOWPATH_RESET_DELAYS | TOWPATH_RESET_ON_FAULT;
    change.length = 77;
    change.delays[0] = 5;
    change.on_fault = TOWPATH_ON_FAULT_HOLD;
    OK(towpath_set_core_reset(device, "reset", &change));
    OK(towpath_get_core_reset(device, "reset", &reset));
    EXPECT(reset.length == 77 && reset.delays[0] == 5 && reset.on_fault == TOWPATH_ON_FAULT_HOLD && reset.change == 0);
    change.length = 0;
    FAILS(towpath_set_core_reset(device, "reset", &change), TOWPATH_INVALID, "1 or more");
    change.on_fault = 3;
    FAILS(towpath_set_core_reset(device, "reset", &change), TOWPATH_INVALID, "on_fault is 3");
    change.change = 8;
    FAILS(towpath_set_core_reset(device, "reset", &change), TOWPATH_INVALID, "change is 0x8");
    FAILS(towpath_set_core_reset(device, "reset", NULL), TOWPATH_INVALID, "NULL");
    FAILS(towpath_hold_core(device, "clock"), TOWPATH_INVALID, "knows \"reset\"");
    OK(towpath_close(device));
}

static void progress(void *context, uint64_t bytes, uint64_t total) {
    load *now = context;
    now->calls++;
    EXPECT(bytes > now->bytes && bytes <= total);
    now->bytes = bytes;
    now->total = total;
}

static int cut(void *context) {
    load *now = context;
    for (int i = 0; i < 2; i++) OK(towpath_reset_channel(now->channels[i]));
    return now->answer;
}

static void holds(towpath_device *device, const char *core, uint32_t outcome, uint32_t loads) {
    towpath_region region = {.size = sizeof region};
    OK(towpath_get_region(device, "partial", &region));
    EXPECT(strcmp(region.core_name, core) == 0 && region.is_whole == (core[0] != 0) && !region.is_loading);
    EXPECT(region.outcome == outcome && region.loads == loads);
}

TEST(another_core_is_loaded) {
    towpath_device *device = NULL;
    load now = {.answer = 0};
    towpath_load_options options = {.size = sizeof options, .progress = progress, .context = &now};
    static unsigned char image[1000];
    uint64_t bytes = 0;
    OK(towpath_simulated_image("sobel", 100, NULL, &bytes));
    EXPECT(bytes > 400 && bytes <= sizeof image);
    uint64_t room = bytes - 1;
    FAILS(towpath_simulated_image("sobel", 100, image, &room), TOWPATH_INVALID, "are needed");
    EXPECT(room == bytes && image[0] == 0);
    OK(towpath_simulated_image("sobel", 100, image, &room));
    // The size is returned without an image; sizes beyond the limit are refused.
    uint64_t large = 0;
    OK(towpath_simulated_image("sobel", 1 << 24, NULL, &large));
    EXPECT(large == bytes + 4 * ((UINT64_C(1) << 24) - 100));
    room = sizeof image;
    FAILS(towpath_simulated_image("sobel", 1 << 24, image, &room), TOWPATH_INVALID, "are needed");
    FAILS(towpath_simulated_image("sobel", UINT32_MAX, NULL, &large), TOWPATH_INVALID, "at most");
    FAILS(towpath_simulated_image("", 1, NULL, &large), TOWPATH_INVALID, "1 to 31");
    EXPECT(large == bytes + 4 * ((UINT64_C(1) << 24) - 100));

    OK(towpath_open("sim:examples/partial", NULL, &device));
    holds(device, "loopback", TOWPATH_LOAD_NONE, 0);
    OK(towpath_load_core_image(device, "partial", "any", image, bytes, &options));
    EXPECT(now.calls != 0 && now.bytes == bytes && now.total == bytes);
    holds(device, "sobel", TOWPATH_LOAD_DONE, 1);

    // From a file; and back, with channels that are within a message.
    char file[] = "/tmp/towpath-core-XXXXXX";
    OK(towpath_simulated_image("loopback", 100, image, &(uint64_t){sizeof image}));
    int made = mkstemp(file);
    FILE *stream = made < 0 ? NULL : fdopen(made, "w");
    EXPECT(stream != NULL && fwrite(image, 1, bytes, stream) == bytes && fclose(stream) == 0);
    OK(towpath_load_core(device, "partial", file, NULL));
    holds(device, "loopback", TOWPATH_LOAD_DONE, 2);
    EXPECT(remove(file) == 0);
    FAILS(towpath_load_core(device, "partial", file, NULL), TOWPATH_INVALID, "towpath-core");

    // What the old core has sent of its answer stands in "out", so that is reset, too.
    OK(towpath_open_channel(device, "in", TOWPATH_H2C, NULL, &now.channels[0]));
    OK(towpath_open_channel(device, "out", TOWPATH_C2H, NULL, &now.channels[1]));
    towpath_message open = {.size = sizeof open, .flags = TOWPATH_MORE};
    OK(towpath_send(now.channels[0], image, 100, &open, NULL));
    FAILS(towpath_load_core_image(device, "partial", "any", image, bytes, NULL), TOWPATH_INVALID, "within a message");
    holds(device, "loopback", TOWPATH_LOAD_REFUSED, 2);
    options.progress = NULL;
    options.cut = cut;
    now.answer = 7;
    FAILS(towpath_load_core_image(device, "partial", "any", image, bytes, &options), TOWPATH_INVALID, "has returned 7");
    holds(device, "", TOWPATH_LOAD_ABORTED, 2);
    now.answer = 0;
    OK(towpath_load_core_image(device, "partial", "any", image, bytes, &options));
    holds(device, "loopback", TOWPATH_LOAD_DONE, 3);
    OK(towpath_close_channel(now.channels[0]));
    OK(towpath_close_channel(now.channels[1]));
    echo(device);
    image[200] ^= 1;
    FAILS(towpath_load_core_image(device, "partial", "any", image, bytes, NULL), TOWPATH_REGISTER, "refuses the file");
    FAILS(towpath_load_core_image(device, "partial", "any", image, 7, NULL), TOWPATH_INVALID, "no number of dwords");
    OK(towpath_close(device));
}

static void each(void *context, const towpath_tlp *packet) {
    seen *all = context;
    EXPECT(packet->size == sizeof *packet && (all->packets == 0 || packet->number == all->last + 1));
    all->packets++;
    all->last = packet->number;
    EXPECT((packet->stream == TOWPATH_RECEIVED_WRITE || packet->stream == TOWPATH_RECEIVED_READ) == (packet->bar != TOWPATH_TLP_NONE));
    EXPECT((packet->stream == TOWPATH_SENT_READ || packet->stream == TOWPATH_RECEIVED_READ) == !packet->has_data || packet->dwords == 0);
    if (packet->stream == TOWPATH_RECEIVED_COMPLETION) all->data += packet->bytes;
}

TEST(the_log_has_what_went_over_the_link) {
    towpath_device *device = NULL;
    towpath_channel *in;
    OK(towpath_open("sim:examples/plugins", NULL, &device));
    towpath_tlp_log log = {.size = sizeof log};
    OK(towpath_stop_tlp_log(device, "tlplog"));
    OK(towpath_clear_tlp_log(device, "tlplog"));
    OK(towpath_get_tlp_log(device, "tlplog", &log));
    EXPECT(log.depth == 512 && log.logged == 0 && !log.is_running && log.streams == 0x77 && log.bars == 0x3f);
    EXPECT(log.first_address == 0 && log.last_address == UINT64_MAX && log.dropped == 0 && log.overwritten == 0);
    OK(towpath_start_tlp_log(device, "tlplog"));
    static unsigned char data[4096];
    OK(towpath_open_channel_number(device, 0, TOWPATH_H2C, NULL, &in));
    OK(towpath_send(in, data, sizeof data, NULL, NULL));
    OK(towpath_close_channel(in));
    OK(towpath_stop_tlp_log(device, "tlplog"));
    OK(towpath_get_tlp_log(device, "tlplog", &log));
    EXPECT(log.logged > 32 && log.logged <= log.depth);

    // Read in two parts: all of it, each packet once, and among them the message.
    seen all = {.packets = 0};
    uint64_t next = 0, overwritten = 9;
    OK(towpath_read_tlp_log(device, "tlplog", &next, 3, each, &all, &overwritten));
    EXPECT(all.packets == 3 && next == 3 && overwritten == 0);
    OK(towpath_read_tlp_log(device, "tlplog", &next, UINT64_MAX, each, &all, NULL));
    EXPECT(all.packets == log.logged && next == log.logged && all.data >= sizeof data);

    // A cleared log: the place goes back at once, also while there is none to read, and no packet of the new log is missing.
    OK(towpath_clear_tlp_log(device, "tlplog"));
    all = (seen){.packets = 0};
    OK(towpath_read_tlp_log(device, "tlplog", &next, UINT64_MAX, each, &all, &overwritten));
    EXPECT(all.packets == 0 && next == 0 && overwritten == 0);
    // One that goes round: what is passed over is counted once, and with what is read it is all there was.
    OK(towpath_start_tlp_log(device, "tlplog"));
    uint32_t register_0;
    OK(towpath_read_register(device, 0, &register_0));
    OK(towpath_read_tlp_log(device, "tlplog", &next, 1, each, &all, &overwritten));
    EXPECT(all.packets == 1 && all.last == 0 && next == 1 && overwritten == 0);
    do {
        for (int n = 0; n < 100; n++) OK(towpath_read_register(device, 0, &register_0));
        OK(towpath_get_tlp_log(device, "tlplog", &log));
    } while (log.logged <= 2 * log.depth);
    OK(towpath_stop_tlp_log(device, "tlplog"));
    OK(towpath_get_tlp_log(device, "tlplog", &log));
    all = (seen){.packets = 0};
    OK(towpath_read_tlp_log(device, "tlplog", &next, UINT64_MAX, each, &all, &overwritten));
    EXPECT(all.packets == log.depth && next == log.logged && overwritten == log.logged - log.depth - 1);
    OK(towpath_read_tlp_log(device, "tlplog", &next, UINT64_MAX, each, &all, &overwritten));
    EXPECT(all.packets == log.depth && next == log.logged && overwritten == 0);

    log.streams = 1u << TOWPATH_SENT_READ;
    log.bars = 1;
    log.first_address = 0x1000;
    OK(towpath_set_tlp_filter(device, "tlplog", &log));
    towpath_tlp_log set = {.size = sizeof set};
    OK(towpath_get_tlp_log(device, "tlplog", &set));
    EXPECT(set.streams == 2 && set.bars == 1 && set.first_address == 0x1000 && set.last_address == UINT64_MAX);
    log.streams = 8;
    FAILS(towpath_set_tlp_filter(device, "tlplog", &log), TOWPATH_INVALID, "no stream 3");
    log.streams = 1;
    log.bars = 0x40;
    FAILS(towpath_set_tlp_filter(device, "tlplog", &log), TOWPATH_INVALID, "no BAR 6");
    FAILS(towpath_read_tlp_log(device, "tlplog", &next, 1, NULL, NULL, NULL), TOWPATH_INVALID, "each is NULL");
    OK(towpath_close(device));
}
