// SPDX-License-Identifier: Apache-2.0
// Memories of the user core: the scratchpad in simulation, whose registers make it slow or faulty.
#include "check.h"

#include <pthread.h>

#define SIZE UINT64_C(0x100000)
#define BAD 200

static towpath_device *pad(towpath_memory **memory) {
    towpath_device *device = NULL;
    uint64_t bytes = 0;
    OK(towpath_open("sim:scratchpad", NULL, &device));
    OK(towpath_open_memory(device, "ram", NULL, memory, &bytes));
    EXPECT(bytes == SIZE);
    return device;
}

TEST(what_was_written_to_a_memory_is_read) {
    towpath_memory *memory = NULL;
    towpath_device *device = pad(&memory);
    static unsigned char data[10007], back[10007];
    uint64_t moved = 0;
    fill(data, sizeof data);
    for (uint64_t address = 0; address < 40; address += 13) {
        OK(towpath_write_memory(memory, address, data, sizeof data, TOWPATH_CHANNEL_TIMEOUT, &moved));
        EXPECT(moved == sizeof data);
        memset(back, 0, sizeof back);
        OK(towpath_read_memory(memory, address, back, sizeof back, 10 * SECOND, &moved));
        EXPECT(moved == sizeof back && memcmp(back, data, sizeof back) == 0);
    }
    OK(towpath_write_memory(memory, SIZE - 3, "end", 3, TOWPATH_FOREVER, NULL));
    OK(towpath_read_memory(memory, SIZE - 3, back, 3, TOWPATH_FOREVER, NULL));
    EXPECT(memcmp(back, "end", 3) == 0);
    OK(towpath_write_memory(memory, SIZE, NULL, 0, TOWPATH_FOREVER, NULL));
    OK(towpath_close_memory(memory));
    OK(towpath_close(device));
}

TEST(another_cards_memory_is_a_buffer) {
    towpath_device *card = NULL, *other = NULL;
    towpath_channel *in = NULL, *out = NULL;
    towpath_memory *memory = NULL;
    towpath_buffer *there = NULL, *none = NULL;
    towpath_received received = {.size = sizeof received};
    void *start = &received;
    uint64_t bytes = 0;
    unsigned char data[300], back[300];
    OK(towpath_open("sim:loopback?world=c", NULL, &card));
    OK(towpath_open("sim:scratchpad?world=c", NULL, &other));
    OK(towpath_open_channel(card, "in", TOWPATH_H2C, NULL, &in));
    OK(towpath_open_channel(card, "out", TOWPATH_C2H, NULL, &out));
    OK(towpath_open_memory(other, "ram", NULL, &memory, NULL));
    OK(towpath_wrap_memory(card, memory, 4093, sizeof data, &there));
    fill(data, sizeof data);
    OK(towpath_send(in, data, sizeof data, NULL, NULL));
    OK(towpath_recv_buffer(out, there, 0, sizeof data, TOWPATH_CHANNEL_TIMEOUT, &received));
    EXPECT(received.bytes == sizeof data);
    OK(towpath_flush_memory(memory));
    OK(towpath_read_memory(memory, 4093, back, sizeof back, TOWPATH_FOREVER, NULL));
    EXPECT(memcmp(back, data, sizeof back) == 0);
    OK(towpath_get_buffer(there, &start, &bytes));
    EXPECT(start == NULL && bytes == sizeof data);
    FAILS(towpath_wrap_memory(card, memory, SIZE - 8, 9, &none), TOWPATH_INVALID, "has 0x100000 bytes");
    FAILS(towpath_wrap_memory(card, memory, 8, 0, &none), TOWPATH_INVALID, "at least one byte");
    FAILS(towpath_wrap_memory(other, memory, 0, 8, &none), TOWPATH_UNAVAILABLE, "the card's own");
    FAILS(towpath_wrap_memory(card, NULL, 0, 8, &none), TOWPATH_INVALID, "memory is NULL");
    FAILS(towpath_wrap_memory(card, memory, 0, 8, NULL), TOWPATH_INVALID, "buffer is NULL");
    OK(towpath_close_memory(memory));
    OK(towpath_free_buffer(there));
    OK(towpath_close_channel(in));
    OK(towpath_close_channel(out));
    OK(towpath_close(card));
    OK(towpath_close(other));
}

TEST(a_memorys_window_loads_and_stores) {
    towpath_memory *memory = NULL;
    towpath_device *device = pad(&memory);
    static unsigned char data[1007], back[1007];
    fill(data, sizeof data);
    for (uint64_t address = 0; address < 40; address += 13) {
        OK(towpath_store_memory(memory, address, data, sizeof data));
        memset(back, 0, sizeof back);
        OK(towpath_load_memory(memory, address, back, sizeof back));
        EXPECT(memcmp(back, data, sizeof back) == 0);
    }
    OK(towpath_store_memory(memory, SIZE - 4, "end", 4));
    OK(towpath_flush_memory(memory));
    OK(towpath_read_memory(memory, SIZE - 4, back, 4, TOWPATH_FOREVER, NULL));
    EXPECT(memcmp(back, "end", 4) == 0);
    FAILS(towpath_store_memory(memory, SIZE - 4, data, 8), TOWPATH_INVALID, "has 0x100000 bytes");
    FAILS(towpath_load_memory(memory, SIZE, back, 1), TOWPATH_INVALID, "has 0x100000 bytes");
    FAILS(towpath_load_memory(memory, 0, NULL, 8), TOWPATH_INVALID, "data is NULL");
    OK(towpath_write_register_name(device, "slverr_page", BAD));
    FAILS(towpath_load_memory(memory, BAD * 4096, back, 8), TOWPATH_KIND, "loading bytes 0xc8000 to 0xc8007");
    OK(towpath_store_memory(memory, BAD * 4096, data, 8));
    FAILS(towpath_flush_memory(memory), TOWPATH_KIND, "SLVERR");
    OK(towpath_flush_memory(memory));
    OK(towpath_close_memory(memory));
    FAILS(towpath_flush_memory(memory), TOWPATH_INVALID, "this memory was closed before");
    OK(towpath_close(device));
}

TEST(what_a_memory_refuses_is_told) {
    towpath_memory *memory = NULL, *second = NULL;
    towpath_device *device = pad(&memory);
    towpath_channel *channel = NULL;
    char data[8] = {0};
    uint64_t moved = 1;
    FAILS(towpath_open_memory(device, "rom", NULL, &second, NULL), TOWPATH_NO_SUCH_CHANNEL, "\"ram\" (0x100000 bytes)");
    FAILS(towpath_open_memory(device, "1", NULL, &second, NULL), TOWPATH_CHANNEL_IN_USE, "ram");
    FAILS(towpath_open_memory(device, NULL, NULL, &second, NULL), TOWPATH_INVALID, "name is NULL");
    FAILS(towpath_open_memory(device, "ram", NULL, NULL, NULL), TOWPATH_INVALID, "memory is NULL");
    FAILS(towpath_open_channel(device, "ram", TOWPATH_H2C, NULL, &channel), TOWPATH_WRONG_KIND, "towpath_open_memory()");
    FAILS(towpath_write_memory(memory, SIZE - 4, data, 8, SECOND, &moved), TOWPATH_INVALID, "has 0x100000 bytes");
    EXPECT(moved == 0);
    FAILS(towpath_read_memory(memory, UINT64_MAX, data, 8, SECOND, NULL), TOWPATH_INVALID, "0xffffffffffffffff");
    FAILS(towpath_read_memory(memory, 0, NULL, 8, SECOND, NULL), TOWPATH_INVALID, "data is NULL");
    FAILS(towpath_read_memory((towpath_memory *)device, 0, data, 8, SECOND, NULL), TOWPATH_INVALID, "no memory, but a device");
    FAILS(towpath_close_channel((towpath_channel *)memory), TOWPATH_INVALID, "no channel, but a memory");
    OK(towpath_write_register_name(device, "slverr_page", BAD));
    FAILS(towpath_write_memory(memory, BAD * 4096, data, 8, SECOND, &moved), TOWPATH_KIND, "writing bytes 0xc8000 to 0xc8007");
    EXPECT(moved == 0 && strstr(towpath_last_error(), "SLVERR") != NULL);
    FAILS(towpath_read_memory(memory, BAD * 4096, data, 8, SECOND, &moved), TOWPATH_KIND, "reading bytes 0xc8000 to 0xc8007");
    OK(towpath_write_register_name(device, "latency", 65535));
    FAILS(towpath_read_memory(memory, 0, data, 8, SHORT / 10, &moved), TOWPATH_TIMEOUT, "ram");
    OK(towpath_write_register_name(device, "latency", 0));
    OK(towpath_read_memory(memory, 0, data, 8, SECOND, &moved));
    OK(towpath_close_memory(memory));
    FAILS(towpath_read_memory(memory, 0, data, 8, SECOND, NULL), TOWPATH_INVALID, "this memory was closed before");
    FAILS(towpath_close_memory(memory), TOWPATH_INVALID, "this memory was closed before");
    OK(towpath_close_memory(NULL));
    OK(towpath_close(device));
}

TEST(a_memorys_channels_are_listed) {
    towpath_memory *memory = NULL;
    towpath_device *device = pad(&memory);
    for (uint32_t position = 0; position < 2; position++) {
        towpath_channel_info info = {.size = sizeof info};
        OK(towpath_get_channel(device, position, &info));
        EXPECT(strcmp(info.kind, "memory") == 0 && info.kind_version == 1 && info.kind_parameter == SIZE / 4096);
        EXPECT(strcmp(info.name, "ram") == 0 && info.direction == position);
    }
    OK(towpath_close_memory(memory));
    OK(towpath_close(device));
}

static void *read_on(void *memory) {
    char data[4096];
    towpath_status status = TOWPATH_OK;
    while (status == TOWPATH_OK) status = towpath_read_memory(memory, 0, data, sizeof data, TOWPATH_FOREVER, NULL);
    return (void *)(uintptr_t)status;
}

TEST(closing_a_memory_ends_the_calls_on_it) {
    towpath_memory *memory = NULL;
    towpath_device *device = pad(&memory);
    pthread_t thread;
    void *status = NULL;
    char byte;
    EXPECT(pthread_create(&thread, NULL, read_on, memory) == 0);
    for (int round = 0; round < 20; round++) OK(towpath_read_memory(memory, 0, &byte, 1, TOWPATH_FOREVER, NULL));
    OK(towpath_close_memory(memory));
    EXPECT(pthread_join(thread, &status) == 0);
    EXPECT((uintptr_t)status == TOWPATH_CANCELLED || (uintptr_t)status == TOWPATH_INVALID);
    OK(towpath_close(device));
}
