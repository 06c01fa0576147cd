// SPDX-License-Identifier: Apache-2.0
// Arguments that cannot be right become an error, and nothing worse.
#include "check.h"

#define REFUSES(call, word) FAILS(call, TOWPATH_INVALID, word)

TEST(null_is_refused_everywhere) {
    card card = card_open();
    towpath_buffer *buffer = NULL;
    OK(towpath_allocate(card.device, 16, &buffer));
    towpath_channel *channel = NULL;
    uint32_t number;
    uint64_t wide;
    int fd;
    char byte;

    REFUSES(towpath_open("sim:loopback", NULL, NULL), "device is NULL");
    towpath_info info = {.size = sizeof info};
    REFUSES(towpath_get_info(NULL, &info), "device is NULL");
    REFUSES(towpath_get_info(card.device, NULL), "info is NULL");
    towpath_channel_info channel_info = {.size = sizeof channel_info};
    REFUSES(towpath_get_channel(NULL, 0, &channel_info), "device is NULL");
    REFUSES(towpath_get_channel(card.device, 0, NULL), "info is NULL");
    REFUSES(towpath_get_register(NULL, 0, NULL, NULL), "device is NULL");
    towpath_plugin_info plugin_info = {.size = sizeof plugin_info};
    REFUSES(towpath_get_plugin(NULL, 0, &plugin_info), "device is NULL");
    REFUSES(towpath_get_plugin(card.device, 0, NULL), "info is NULL");
    towpath_qos qos = {.size = sizeof qos};
    REFUSES(towpath_get_qos(NULL, "in", &qos), "device is NULL");
    REFUSES(towpath_get_qos(card.device, "in", NULL), "qos is NULL");
    REFUSES(towpath_set_qos(NULL, "in", &qos), "device is NULL");
    REFUSES(towpath_set_qos(card.device, NULL, &qos), "channel is NULL");
    REFUSES(towpath_set_qos(card.device, "in", NULL), "qos is NULL");
    REFUSES(towpath_wait_held(NULL, 1, 0, NULL), "channel is NULL");
    REFUSES(towpath_wait_drained(NULL, 1, 0, NULL), "channel is NULL");
    REFUSES(towpath_reset(NULL), "device is NULL");
    towpath_link_counters counters = {.size = sizeof counters};
    REFUSES(towpath_get_link_counters(NULL, &counters), "device is NULL");
    REFUSES(towpath_get_link_counters(card.device, NULL), "counters is NULL");
    towpath_wire wire = {.size = sizeof wire};
    REFUSES(towpath_get_wire(NULL, &wire), "device is NULL");
    REFUSES(towpath_get_wire(card.device, NULL), "wire is NULL");
    REFUSES(towpath_now(NULL, &wide), "device is NULL");
    REFUSES(towpath_now(card.device, NULL), "nanoseconds is NULL");

    REFUSES(towpath_open_channel(NULL, "in", TOWPATH_H2C, NULL, &channel), "device is NULL");
    REFUSES(towpath_open_channel(card.device, NULL, TOWPATH_H2C, NULL, &channel), "name is NULL");
    REFUSES(towpath_open_channel(card.device, "in", TOWPATH_H2C, NULL, NULL), "channel is NULL");
    REFUSES(towpath_open_channel_number(NULL, 0, TOWPATH_H2C, NULL, &channel), "device is NULL");
    REFUSES(towpath_open_channel_number(card.device, 0, TOWPATH_H2C, NULL, NULL), "channel is NULL");
    REFUSES(towpath_set_timeout(NULL, 0), "channel is NULL");
    REFUSES(towpath_get_timeout(NULL, &wide), "channel is NULL");
    REFUSES(towpath_get_timeout(card.in, NULL), "nanoseconds is NULL");
    REFUSES(towpath_set_moderation(NULL, 0, 0), "channel is NULL");
    towpath_statistics statistics = {.size = sizeof statistics};
    REFUSES(towpath_get_statistics(NULL, &statistics), "channel is NULL");
    REFUSES(towpath_get_statistics(card.in, NULL), "statistics is NULL");
    REFUSES(towpath_cancel(NULL), "channel is NULL");
    REFUSES(towpath_reset_channel(NULL), "channel is NULL");
    REFUSES(towpath_event_fd(NULL, &fd), "channel is NULL");
    REFUSES(towpath_event_fd(card.in, NULL), "fd is NULL");

    const struct iovec nowhere = {NULL, 1};
    REFUSES(towpath_send(NULL, &byte, 1, NULL, NULL), "channel is NULL");
    REFUSES(towpath_send(card.in, NULL, 1, NULL, NULL), "data is NULL");
    REFUSES(towpath_sendv(NULL, NULL, 0, NULL, 0, NULL), "channel is NULL");
    REFUSES(towpath_sendv(card.in, NULL, 1, NULL, 0, NULL), "iov is NULL");
    REFUSES(towpath_sendv(card.in, &nowhere, 1, NULL, 0, NULL), "data is NULL");
    REFUSES(towpath_send_buffer(NULL, buffer, 0, 1, NULL, 0, NULL), "channel is NULL");
    REFUSES(towpath_send_buffer(card.in, NULL, 0, 1, NULL, 0, NULL), "buffer is NULL");
    REFUSES(towpath_recv(NULL, &byte, 1, NULL), "channel is NULL");
    REFUSES(towpath_recv(card.out, NULL, 1, NULL), "data is NULL");
    REFUSES(towpath_recvv(NULL, NULL, 0, 0, NULL), "channel is NULL");
    REFUSES(towpath_recvv(card.out, NULL, 1, 0, NULL), "iov is NULL");
    REFUSES(towpath_recvv(card.out, &nowhere, 1, 0, NULL), "data is NULL");
    REFUSES(towpath_recv_buffer(NULL, buffer, 0, 1, 0, NULL), "channel is NULL");
    REFUSES(towpath_recv_buffer(card.out, NULL, 0, 1, 0, NULL), "buffer is NULL");
    towpath_received_message *message = NULL;
    REFUSES(towpath_recv_message(NULL, 0, &message), "channel is NULL");
    REFUSES(towpath_recv_message(card.out, 0, NULL), "message is NULL");
    REFUSES(towpath_unread_message(card.out, NULL), "message is NULL");
    REFUSES(towpath_unread_message(NULL, NULL), "channel is NULL");
    towpath_message_start start = {.size = sizeof start};
    REFUSES(towpath_wait_message_start(NULL, 0, &start), "channel is NULL");
    REFUSES(towpath_wait_message_start(card.out, 0, NULL), "start is NULL");

    REFUSES(towpath_allocate(NULL, 1, &buffer), "device is NULL");
    REFUSES(towpath_allocate(card.device, 1, NULL), "buffer is NULL");
    REFUSES(towpath_wrap(NULL, &byte, 1, TOWPATH_ACCESS_READ, &buffer), "device is NULL");
    REFUSES(towpath_wrap(card.device, &byte, 1, TOWPATH_ACCESS_READ, NULL), "buffer is NULL");
    REFUSES(towpath_get_buffer(NULL, NULL, NULL), "buffer is NULL");
    REFUSES(towpath_buffer_in_flight(NULL, &number), "buffer is NULL");
    REFUSES(towpath_buffer_in_flight(buffer, NULL), "in_flight is NULL");
    REFUSES(towpath_submit(NULL, buffer, 0, 1, NULL, 0, &wide), "channel is NULL");
    REFUSES(towpath_submit(card.in, NULL, 0, 1, NULL, 0, &wide), "buffer is NULL");
    REFUSES(towpath_submit(card.in, buffer, 0, 1, NULL, 0, NULL), "ticket is NULL");
    REFUSES(towpath_wait(NULL, 0, 0, NULL), "channel is NULL");
    REFUSES(towpath_cancel_transfer(NULL, 0), "channel is NULL");
    REFUSES(towpath_abandon(NULL, 0), "channel is NULL");
    REFUSES(towpath_poll_completions(NULL, NULL, NULL), "channel is NULL");
    REFUSES(towpath_poll_completions(card.in, NULL, NULL), "each is NULL");

    REFUSES(towpath_read_register(NULL, 0, &number), "device is NULL");
    REFUSES(towpath_read_register(card.device, 0, NULL), "value is NULL");
    REFUSES(towpath_write_register(NULL, 0, 0), "device is NULL");
    REFUSES(towpath_read_register_name(NULL, "id", &number), "device is NULL");
    REFUSES(towpath_read_register_name(card.device, NULL, &number), "name is NULL");
    REFUSES(towpath_read_register_name(card.device, "id", NULL), "value is NULL");
    REFUSES(towpath_write_register_name(NULL, "id", 0), "device is NULL");
    REFUSES(towpath_write_register_name(card.device, NULL, 0), "name is NULL");
    REFUSES(towpath_read_plugin(NULL, "reset", 0, &number), "device is NULL");
    REFUSES(towpath_read_plugin(card.device, NULL, 0, &number), "name is NULL");
    REFUSES(towpath_read_plugin(card.device, "reset", 0, NULL), "value is NULL");
    REFUSES(towpath_write_plugin(NULL, "reset", 0, 0), "device is NULL");
    REFUSES(towpath_write_plugin(card.device, NULL, 0, 0), "name is NULL");
    REFUSES(towpath_wait_interrupt(NULL, 0, 0, NULL), "device is NULL");
    REFUSES(towpath_count_interrupt(NULL, 0, &number), "device is NULL");
    REFUSES(towpath_count_interrupt(card.device, 0, NULL), "count is NULL");
    REFUSES(towpath_interrupt_event_fd(NULL, 0, &fd), "device is NULL");
    REFUSES(towpath_interrupt_event_fd(card.device, 0, NULL), "fd is NULL");

    EXPECT(channel == NULL && message == NULL);
    OK(towpath_free_buffer(buffer));
    card_close(card);
}

TEST(lengths_that_cannot_be_are_refused) {
    card card = card_open();
    char byte;
    uint64_t moved = 7;
    REFUSES(towpath_send(card.in, &byte, UINT64_MAX, NULL, &moved), "more than a program can have");
    EXPECT(moved == 0);
    REFUSES(towpath_recv(card.out, &byte, UINT64_MAX / 2 + 1, NULL), "more than a program can have");
    const struct iovec piece = {&byte, SIZE_MAX};
    REFUSES(towpath_sendv(card.in, &piece, 1, NULL, 0, NULL), "more than a program can have");
    REFUSES(towpath_sendv(card.in, &piece, UINT64_MAX, NULL, 0, NULL), "elements");
    REFUSES(towpath_recvv(card.out, &piece, 1, 0, NULL), "more than a program can have");
    REFUSES(towpath_set_timeout(card.in, TOWPATH_CHANNEL_TIMEOUT), "TOWPATH_CHANNEL_TIMEOUT");
    REFUSES(towpath_wait_interrupt(card.device, 0, TOWPATH_CHANNEL_TIMEOUT, NULL), "TOWPATH_CHANNEL_TIMEOUT");
    towpath_message message = {.size = sizeof message, .flags = 4};
    REFUSES(towpath_send(card.in, &byte, 1, &message, NULL), "flags is 0x4");
    card_close(card);
}

TEST(structs_of_other_versions_are_understood) {
    card card = card_open();
    // Its size was never set.
    towpath_info info = {0};
    REFUSES(towpath_get_info(card.device, &info), "its member size is 0");
    memset(&info, 0xff, sizeof info);
    REFUSES(towpath_get_info(card.device, &info), "its member size is");
    towpath_open_options none = {0};
    towpath_device *device = NULL;
    REFUSES(towpath_open("sim:loopback", &none, &device), "options: its member size is 0");

    // A program that was built with a later header, in which the struct is longer.
    struct {
        towpath_message message;
        uint64_t later;
    } input = {.message = {.size = sizeof input}};
    OK(towpath_send(card.in, "a", 1, &input.message, NULL));
    input.later = 1;
    REFUSES(towpath_send(card.in, "b", 1, &input.message, NULL), "install a newer one");
    struct {
        towpath_received received;
        uint64_t later;
    } output = {.received = {.size = sizeof output}, .later = 5};
    char byte = 0;
    OK(towpath_recv(card.out, &byte, 1, &output.received));
    EXPECT(byte == 'a' && output.received.bytes == 1 && output.received.size == sizeof output && output.later == 0);
    card_close(card);
}
