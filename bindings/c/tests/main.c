// SPDX-License-Identifier: Apache-2.0
// Runs the tests that are named, or all.
#include "check.h"

static struct {
    const char *name;
    void (*test)(void);
} tests[128];
static int count;

void check_add(const char *name, void (*test)(void)) {
    if (count == 128) abort();
    tests[count].name = name;
    tests[count++].test = test;
}

card card_open(void) {
    card card = {0};
    OK(towpath_open("sim:loopback", NULL, &card.device));
    OK(towpath_open_channel(card.device, "in", TOWPATH_H2C, NULL, &card.in));
    OK(towpath_open_channel(card.device, "out", TOWPATH_C2H, NULL, &card.out));
    return card;
}

void card_close(card card) {
    OK(towpath_close_channel(card.in));
    OK(towpath_close_channel(card.out));
    OK(towpath_close(card.device));
}

void fill(unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)(i * 7 + i / 256);
}

int main(int argc, char **argv) {
    int ran = 0;
    for (int i = 0; i < count; i++) {
        int wanted = argc == 1;
        for (int a = 1; a < argc; a++) wanted |= strcmp(argv[a], tests[i].name) == 0;
        if (!wanted) continue;
        tests[i].test();
        printf("ok %s\n", tests[i].name);
        ran++;
    }
    if (ran == 0) fprintf(stderr, "no test of that name\n");
    return ran == 0;
}
