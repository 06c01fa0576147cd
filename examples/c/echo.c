// SPDX-License-Identifier: Apache-2.0
// Send a message to the core "loopback" and receive what comes back.
//
//     cc echo.c $(pkg-config --cflags --libs towpath) -o echo && ./echo
//
// Give another device's name as the argument: "sim:FOLDER", "vfio-user:SOCKET".
#include <stdio.h>
#include <stdlib.h>

#include <towpath.h>

// Every call tells how it went; the text says what happened and what to do.
static void check(towpath_status status) {
    if (status == TOWPATH_OK) return;
    fprintf(stderr, "%s: %s\n", towpath_status_name(status), towpath_last_error());
    exit(1);
}

int main(int argc, char **argv) {
    towpath_device *device;
    towpath_channel *in, *out;
    check(towpath_open(argc > 1 ? argv[1] : "sim:loopback", NULL, &device));
    check(towpath_open_channel(device, "in", TOWPATH_H2C, NULL, &in));
    check(towpath_open_channel(device, "out", TOWPATH_C2H, NULL, &out));

    const char sent[] = "hello, card";
    check(towpath_send(in, sent, sizeof sent, NULL, NULL));

    char got[64];
    towpath_received received = {.size = sizeof received};
    check(towpath_recv(out, got, sizeof got, &received));
    printf("%s (%llu bytes)\n", got, (unsigned long long)received.bytes);

    towpath_close_channel(in);
    towpath_close_channel(out);
    towpath_close(device);
}
