// SPDX-License-Identifier: Apache-2.0
// Opening a device, what it says of itself, its registers and interrupts, errors and the log.
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

TEST(names_are_told) {
    EXPECT(strcmp(towpath_version(), TOWPATH_TEST_VERSION) == 0);
    EXPECT(strcmp(towpath_status_name(TOWPATH_NO_SUCH_CHANNEL), "no such channel") == 0);
    EXPECT(strcmp(towpath_status_name(TOWPATH_OTHER), "other error") == 0);
    EXPECT(strcmp(towpath_status_name(1000), "unknown status") == 0);
    EXPECT(strcmp(towpath_outcome_name(TOWPATH_OUTCOME_LINK_DOWN), "the link went down") == 0);
    EXPECT(strcmp(towpath_outcome_name(1000), "unknown") == 0);
}

typedef struct {
    const char *served;
    int simulated;
    uint32_t order;
} listed;

static void find_loopback(void *context, const char *name, const char *description) {
    if (strcmp(name, "sim:loopback") == 0 && strstr(description, "simulation") != NULL) *(int *)context = 1;
}

TEST(devices_are_listed) {
    int found = 0;
    OK(towpath_list_devices(find_loopback, &found));
    EXPECT(found == 1);
    FAILS(towpath_list_devices(NULL, NULL), TOWPATH_INVALID, "each is NULL");
}

static void note_card(void *context, const towpath_listing *device) {
    listed *seen = context;
    EXPECT(device->size == sizeof *device && device->reserved == 0 && device->has_serial <= 1);
    EXPECT(device->has_serial == 1 || device->serial == 0);
    if (strcmp(device->name, "sim:loopback") == 0) {
        EXPECT(device->order == 0 && device->has_serial == 0 && strstr(device->description, "simulation") != NULL);
        seen->simulated++;
    }
    if (strcmp(device->name, seen->served) == 0) {
        EXPECT(device->has_serial == 1 && device->serial == 0x5eed && strstr(device->description, "loopback") != NULL);
        seen->order = device->order;
    }
}

// TOWPATH_TEST_SERVED names a card that another process serves, with serial number 0x5eed.
TEST(cards_are_listed_with_order_and_serial_number) {
    const char *served = getenv("TOWPATH_TEST_SERVED");
    listed seen = {.served = served != NULL ? served : ""};
    OK(towpath_list(note_card, &seen));
    EXPECT(seen.simulated == 1);
    FAILS(towpath_list(NULL, NULL), TOWPATH_INVALID, "each is NULL");
    if (served == NULL) return;
    char name[32];
    snprintf(name, sizeof name, "#%u", (unsigned)seen.order);
    towpath_device *device = NULL;
    OK(towpath_open(name, NULL, &device));
    towpath_info info = {.size = sizeof info};
    OK(towpath_get_info(device, &info));
    EXPECT(strcmp(info.name, served) == 0 && info.serial == 0x5eed);
    OK(towpath_close(device));
}

TEST(a_device_says_what_it_is) {
    card card = card_open();
    towpath_info info = {.size = sizeof info};
    OK(towpath_get_info(card.device, &info));
    EXPECT(strcmp(info.name, "sim:loopback") == 0 && strcmp(info.core, "loopback") == 0);
    EXPECT(info.data_bits == 128 && info.core_clock_khz == 250000 && info.contract_major == 2);
    EXPECT(info.channels == 2 && info.interrupts == 1 && info.register_bytes == 4096 && info.registers == 6);

    int directions = 0;
    for (uint32_t i = 0; i < info.channels; i++) {
        towpath_channel_info channel = {.size = sizeof channel};
        OK(towpath_get_channel(card.device, i, &channel));
        EXPECT(strcmp(channel.name, channel.direction == TOWPATH_H2C ? "in" : "out") == 0);
        EXPECT(channel.queue_depth > 0 && channel.buffer_bytes > 0);
        directions |= 1 << channel.direction;
    }
    EXPECT(directions == 3);
    towpath_channel_info none = {.size = sizeof none};
    FAILS(towpath_get_channel(card.device, 2, &none), TOWPATH_INVALID, "there are 2");

    int scratch = 0;
    for (uint32_t i = 0; i < info.registers; i++) {
        const char *name;
        uint32_t offset;
        OK(towpath_get_register(card.device, i, &name, &offset));
        scratch += strcmp(name, "scratch") == 0 && offset == 4;
    }
    EXPECT(scratch == 1);
    OK(towpath_get_register(card.device, 0, NULL, NULL));
    FAILS(towpath_get_register(card.device, 6, NULL, NULL), TOWPATH_INVALID, "6 have names");

    unsigned char bytes[1000] = {0};
    uint64_t before, after;
    OK(towpath_now(card.device, &before));
    OK(towpath_send(card.in, bytes, sizeof bytes, NULL, NULL));
    OK(towpath_recv(card.out, bytes, sizeof bytes, NULL));
    OK(towpath_now(card.device, &after));
    EXPECT(after > before);
    towpath_wire wire = {.size = sizeof wire};
    OK(towpath_get_wire(card.device, &wire));
    EXPECT(wire.card_read_payload >= 1000 && wire.to_card > wire.card_read_payload && wire.to_host > wire.card_write_payload);
    towpath_link_counters counters = {.size = sizeof counters, .timeouts = 9};
    OK(towpath_get_link_counters(card.device, &counters));
    EXPECT(counters.timeouts == 0 && counters.size == sizeof counters);
    towpath_statistics statistics = {.size = sizeof statistics};
    OK(towpath_get_statistics(card.in, &statistics));
    EXPECT(statistics.submitted == 1 && statistics.completed == 1 && statistics.bytes == 1000 && statistics.unexpected == 0);
    card_close(card);
}

static void count_lines(void *context, const char *text) { *(int *)context += text[0] != '\0'; }

TEST(a_device_is_opened_with_options) {
    int lines = 0;
    towpath_device *device = NULL;
    towpath_open_options options = {
        .size = sizeof options, .print = count_lines, .print_context = &lines, .progress = count_lines, .progress_context = &lines};
    OK(towpath_open("sim:loopback?mps=256", &options, &device));
    towpath_wire wire = {.size = sizeof wire};
    OK(towpath_get_wire(device, &wire));
    EXPECT(wire.max_payload == 256);
    // What was made from a device outlives its handle.
    towpath_channel *in;
    OK(towpath_open_channel_number(device, 0, TOWPATH_H2C, NULL, &in));
    OK(towpath_close(device));
    OK(towpath_send(in, "x", 1, NULL, NULL));
    OK(towpath_close_channel(in));
}

TEST(what_cannot_be_opened_says_why) {
    towpath_device *device = NULL;
    FAILS(towpath_open("teapot:1", NULL, &device), TOWPATH_UNKNOWN_SCHEME, "sim:CORE");
    FAILS(towpath_open("sim:no-such-core", NULL, &device), TOWPATH_NO_SUCH_DEVICE, "sim:loopback");
    FAILS(towpath_open("vfio-user:/no/such/socket", NULL, &device), TOWPATH_NO_SUCH_DEVICE, "towpath sim");
    FAILS(towpath_open("sim:loopback?mps=1", NULL, &device), TOWPATH_INVALID, "mps");
    FAILS(towpath_open("sim:\xff", NULL, &device), TOWPATH_INVALID, "UTF-8");
    EXPECT(device == NULL);
    unsetenv("TOWPATH_DEVICE");
    FAILS(towpath_open(NULL, NULL, &device), TOWPATH_NO_SUCH_DEVICE, "TOWPATH_DEVICE");
    setenv("TOWPATH_DEVICE", "sim:loopback", 1);
    OK(towpath_open(NULL, NULL, &device));
    OK(towpath_close(device));
    OK(towpath_close(NULL));
}

TEST(registers_are_read_and_written) {
    card card = card_open();
    uint32_t value = 0;
    OK(towpath_write_register(card.device, 4, 0x12345678));
    OK(towpath_read_register(card.device, 4, &value));
    EXPECT(value == 0x12345678);
    OK(towpath_write_register_name(card.device, "scratch", 9));
    OK(towpath_read_register_name(card.device, "scratch", &value));
    EXPECT(value == 9);
    FAILS(towpath_read_register(card.device, 2, &value), TOWPATH_REGISTER, "multiple of 4");
    FAILS(towpath_write_register(card.device, 4096, 0), TOWPATH_REGISTER, "0x1000");
    FAILS(towpath_read_register_name(card.device, "skratch", &value), TOWPATH_INVALID, "scratch");
    FAILS(towpath_write_register_name(card.device, "skratch", 0), TOWPATH_INVALID, "scratch");
    EXPECT(value == 9);
    card_close(card);
}

TEST(plugins_are_listed_and_their_registers_read_and_written) {
    towpath_device *device = NULL;
    OK(towpath_open("sim:examples/plugins", NULL, &device));
    towpath_info info = {.size = sizeof info};
    OK(towpath_get_info(device, &info));
    EXPECT(info.plugins == 4 && info.register_bytes == 0x10000);
    static const struct {
        const char *type_name;
        uint32_t offset, bytes;
    } expected[] = {{"reset", 0x1000, 0x1000}, {"wishbone", 0x2000, 0x1000}, {"avalon", 0x4000, 0x2000}, {"tlplog", 0x8000, 0x8000}};
    for (uint32_t i = 0; i < info.plugins; i++) {
        towpath_plugin_info plugin = {.size = sizeof plugin};
        OK(towpath_get_plugin(device, i, &plugin));
        EXPECT(strcmp(plugin.type_name, expected[i].type_name) == 0 && plugin.version == 1 && plugin.size == sizeof plugin);
        EXPECT(plugin.offset == expected[i].offset && plugin.bytes == expected[i].bytes);
    }
    towpath_plugin_info none = {.size = sizeof none};
    FAILS(towpath_get_plugin(device, 4, &none), TOWPATH_INVALID, "there are 4");
    EXPECT(none.type_name == NULL);

    // The length of the sequence of "reset", by its place in the plug-in and in the window.
    uint32_t value = 0, window = 0;
    OK(towpath_write_plugin(device, "reset", 12, 99));
    OK(towpath_read_plugin(device, "reset:0", 12, &value));
    OK(towpath_read_register(device, 0x1000 + 12, &window));
    EXPECT(value == 99 && window == 99);
    FAILS(towpath_read_plugin(device, "rest", 12, &value), TOWPATH_INVALID, "reset, wishbone, avalon");
    FAILS(towpath_write_plugin(device, "reset:1", 12, 0), TOWPATH_INVALID, "reset:1");
    FAILS(towpath_read_plugin(device, "reset", 0x1000, &value), TOWPATH_REGISTER, "end at 0x1000");
    FAILS(towpath_write_plugin(device, "reset", 2, 0), TOWPATH_REGISTER, "multiple of 4");
    EXPECT(value == 99);
    OK(towpath_close(device));

    card card = card_open();
    OK(towpath_get_info(card.device, &info));
    EXPECT(info.plugins == 0);
    FAILS(towpath_get_plugin(card.device, 0, &none), TOWPATH_INVALID, "there are 0");
    FAILS(towpath_read_plugin(card.device, "reset", 0, &value), TOWPATH_INVALID, "none");
    card_close(card);
}

TEST(a_channels_part_of_the_link_is_set) {
    towpath_device *device = NULL;
    OK(towpath_open("sim:tests/cores/loop3x2_qos", NULL, &device));
    towpath_info info = {.size = sizeof info};
    OK(towpath_get_info(device, &info));
    EXPECT(info.features == (TOWPATH_QOS | TOWPATH_FILL_LEVELS));
    towpath_qos qos = {.size = sizeof qos, .change = 9, .weight = 9, .traffic_class = 9, .rate = 9};
    OK(towpath_get_qos(device, "b", &qos));
    EXPECT(qos.size == sizeof qos && qos.change == 0 && qos.weight == 1 && qos.traffic_class == 0 && qos.rate == 0);
    towpath_qos change = {.size = sizeof change, .change = TOWPATH_QOS_WEIGHT | TOWPATH_QOS_RATE, .weight = 255, .traffic_class = 5};
    change.rate = 100000000;
    OK(towpath_set_qos(device, "b", &change));
    change.change = TOWPATH_QOS_TRAFFIC_CLASS;
    change.traffic_class = 7;
    OK(towpath_set_qos(device, "y", &change));
    OK(towpath_get_qos(device, "b", &qos));
    EXPECT(qos.weight == 255 && qos.traffic_class == 0 && qos.rate > 99999000 && qos.rate < 100001000);
    OK(towpath_get_qos(device, "y", &qos));
    EXPECT(qos.weight == 1 && qos.traffic_class == 7 && qos.rate == 0);
    // What is out of its range sets nothing.
    change.change = TOWPATH_QOS_WEIGHT | TOWPATH_QOS_TRAFFIC_CLASS;
    change.traffic_class = 8;
    FAILS(towpath_set_qos(device, "y", &change), TOWPATH_INVALID, "traffic_class is 8");
    change.traffic_class = 3;
    change.weight = 256;
    FAILS(towpath_set_qos(device, "y", &change), TOWPATH_INVALID, "weight is 256");
    change.weight = 0;
    FAILS(towpath_set_qos(device, "y", &change), TOWPATH_INVALID, "weight");
    change.change = 8;
    FAILS(towpath_set_qos(device, "y", &change), TOWPATH_INVALID, "0x8");
    FAILS(towpath_get_qos(device, "none", &qos), TOWPATH_NO_SUCH_CHANNEL, "none");
    OK(towpath_get_qos(device, "y", &qos));
    EXPECT(qos.weight == 1 && qos.traffic_class == 7);
    OK(towpath_close(device));

    card card = card_open();
    FAILS(towpath_get_qos(card.device, "in", &qos), TOWPATH_UNAVAILABLE, "qos = true");
    card_close(card);
}

TEST(what_the_card_holds_is_waited_for) {
    towpath_device *device = NULL;
    towpath_channel *in = NULL, *out = NULL;
    OK(towpath_open("sim:tests/cores/loopback_fill", NULL, &device));
    OK(towpath_open_channel(device, "in", TOWPATH_H2C, NULL, &in));
    OK(towpath_open_channel(device, "out", TOWPATH_C2H, NULL, &out));
    towpath_info info = {.size = sizeof info};
    OK(towpath_get_info(device, &info));
    EXPECT(info.features == TOWPATH_FILL_LEVELS);
    towpath_held held = {.size = sizeof held, .full = 9, .bytes = 9};
    FAILS(towpath_wait_held(out, 1, 0, &held), TOWPATH_PENDING, "holds less");
    FAILS(towpath_wait_held(out, 1, 1000, &held), TOWPATH_PENDING, "");
    EXPECT(held.full == 9 && held.bytes == 9);
    char data[300] = "held", back[300] = "";
    OK(towpath_send(in, data, sizeof data, NULL, NULL));
    OK(towpath_wait_held(out, 300, TOWPATH_CHANNEL_TIMEOUT, &held));
    EXPECT(held.bytes == 300 && held.full == 0 && held.size == sizeof held);
    OK(towpath_wait_held(out, 1, 0, NULL));
    OK(towpath_wait_drained(in, 0, TOWPATH_FOREVER, &held));
    EXPECT(held.bytes == 0);
    OK(towpath_wait_drained(in, 0, 0, NULL));
    towpath_received received = {.size = sizeof received};
    OK(towpath_recv(out, back, sizeof back, &received));
    EXPECT(received.bytes == 300 && memcmp(data, back, 300) == 0);
    FAILS(towpath_wait_held(in, 1, 0, NULL), TOWPATH_WRONG_DIRECTION, "towpath_wait_held");
    FAILS(towpath_wait_drained(out, 1, 0, NULL), TOWPATH_WRONG_DIRECTION, "towpath_wait_drained");
    OK(towpath_close_channel(in));
    OK(towpath_close_channel(out));
    OK(towpath_close(device));

    card card = card_open();
    FAILS(towpath_wait_held(card.out, 1, 0, NULL), TOWPATH_UNAVAILABLE, "fill_levels");
    card_close(card);
}

TEST(interrupts_are_waited_for) {
    card card = card_open();
    unsigned char byte = 0;
    uint32_t events = 0, count = 0;
    FAILS(towpath_wait_interrupt(card.device, 0, SHORT, &events), TOWPATH_INTERRUPT_TIMEOUT, "user interrupt 0");
    for (int i = 0; i < 2; i++) {
        OK(towpath_send(card.in, &byte, 1, NULL, NULL));
        OK(towpath_recv(card.out, &byte, 1, NULL));
        OK(towpath_wait_interrupt(card.device, 0, SECOND, &events));
        EXPECT(events == 1);
    }
    OK(towpath_count_interrupt(card.device, 0, &count));
    EXPECT(count == 2);

    int fd = -1;
    OK(towpath_interrupt_event_fd(card.device, 0, &fd));
    OK(towpath_send(card.in, &byte, 1, NULL, NULL));
    struct pollfd poller = {.fd = fd, .events = POLLIN};
    EXPECT(poll(&poller, 1, 10000) == 1);
    uint64_t told;
    EXPECT(read(fd, &told, sizeof told) == sizeof told);
    OK(towpath_wait_interrupt(card.device, 0, 0, NULL));

    FAILS(towpath_wait_interrupt(card.device, 1, 0, &events), TOWPATH_INVALID, "no user interrupt 1");
    FAILS(towpath_count_interrupt(card.device, 65536, &count), TOWPATH_INVALID, "no user interrupt");
    FAILS(towpath_interrupt_event_fd(card.device, 1, &fd), TOWPATH_INVALID, "no user interrupt 1");
    card_close(card);
}

TEST(a_reset_empties_the_card) {
    card card = card_open();
    unsigned char byte = 1;
    OK(towpath_send(card.in, &byte, 1, NULL, NULL));
    OK(towpath_write_register(card.device, 4, 77));
    OK(towpath_reset(card.device));
    uint32_t value = 1;
    OK(towpath_read_register(card.device, 4, &value));
    EXPECT(value == 0);
    OK(towpath_set_timeout(card.out, SHORT));
    towpath_received received = {.size = sizeof received, .bytes = 9};
    FAILS(towpath_recv(card.out, &byte, 1, &received), TOWPATH_TIMEOUT, "\"out\"");
    EXPECT(received.bytes == 0);
    card_close(card);
}

static void *fail_elsewhere(void *context) {
    towpath_device *device = NULL;
    EXPECT(towpath_last_error()[0] == '\0');
    FAILS(towpath_open("kettle:1", NULL, &device), TOWPATH_UNKNOWN_SCHEME, "kettle");
    return context;
}

TEST(the_last_error_is_the_threads_own) {
    towpath_device *device = NULL;
    FAILS(towpath_open("teapot:1", NULL, &device), TOWPATH_UNKNOWN_SCHEME, "teapot");
    const char *mine = towpath_last_error();
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(towpath_last_error() == mine && strstr(mine, "teapot") != NULL);
    // A call that succeeds leaves it.
    OK(towpath_close(NULL));
    EXPECT(towpath_last_error() == mine);
}

typedef struct {
    int lines;
    int nested;
} told;

static void take_log(void *context, uint32_t level, const char *source, const char *text) {
    told *told = context;
    EXPECT(level >= TOWPATH_LOG_ERROR && level <= TOWPATH_LOG_TRACE && strncmp(source, "towpath", 7) == 0 && text[0] != '\0');
    told->lines++;
    told->nested += towpath_set_log(NULL, NULL, TOWPATH_LOG_OFF) == TOWPATH_INVALID;
}

TEST(the_log_goes_where_it_is_told) {
    told told = {0};
    card_close(card_open());
    EXPECT(told.lines == 0);
    OK(towpath_set_log(take_log, &told, TOWPATH_LOG_TRACE));
    card_close(card_open());
    int lines = told.lines;
    EXPECT(lines > 0 && told.nested == lines);
    OK(towpath_set_log(take_log, &told, TOWPATH_LOG_OFF));
    card_close(card_open());
    OK(towpath_set_log(NULL, NULL, TOWPATH_LOG_TRACE));
    card_close(card_open());
    EXPECT(told.lines == lines);
    FAILS(towpath_set_log(take_log, &told, 6), TOWPATH_INVALID, "level 6");
}
