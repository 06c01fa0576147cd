// SPDX-License-Identifier: Apache-2.0
// A program as it is written for RIFFA, against the core riffa_echo: one thread sends transactions of random lengths, offsets and last, in
// chains; this one receives chains into memory of random size, and compares what came with what was sent. Arguments: the seed, and the
// number of chains.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <riffa.h>

enum { WORDS = 3000, CHAIN = 3 };

typedef struct {
    unsigned long long state;
    fpga_t *fpga;
    int chains;
} stream;

static unsigned next(stream *from) {
    from->state = from->state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(from->state >> 33);
}

// A chain: what both threads make of the same numbers.
typedef struct {
    int count, words[CHAIN], offset[CHAIN];
    unsigned data[CHAIN][WORDS];
} chain;

static void make(stream *from, chain *made) {
    made->count = 1 + (int)(next(from) % CHAIN);
    for (int i = 0; i < made->count; i++) {
        made->words[i] = next(from) % 4 ? (int)(next(from) % 40) : (int)(next(from) % WORDS);
        made->offset[i] = (int)(next(from) % 8);
        for (int word = 0; word < made->words[i]; word++) made->data[i][word] = next(from);
    }
}

static void fail(const char *what, int number) {
    fprintf(stderr, "chain %d: %s\n", number, what);
    exit(1);
}

static void *sends(void *argument) {
    stream *own = argument;
    static chain made;
    for (int number = 0; number < own->chains; number++) {
        make(own, &made);
        for (int i = 0; i < made.count; i++) {
            int sent = fpga_send(own->fpga, 0, made.data[i], made.words[i], made.offset[i], i + 1 == made.count, 0);
            if (sent != made.words[i]) fail("fpga_send", number);
        }
    }
    return NULL;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    alarm(300);
    stream own = {.state = strtoull(words[1], NULL, 10), .fpga = fpga_open(0), .chains = atoi(words[2])}, other = own, rooms = own;
    if (!own.fpga) fail("fpga_open", 0);
    pthread_t sender;
    if (pthread_create(&sender, NULL, sends, &other) != 0) fail("pthread_create", 0);
    static chain made;
    static unsigned got[CHAIN * (WORDS + 8)], wanted[CHAIN * (WORDS + 8)];
    for (int number = 0; number < own.chains; number++) {
        make(&own, &made);
        // Some have less memory than the chain needs: the rest is thrown away.
        const int room = next(&rooms) % 5 ? CHAIN * (WORDS + 8) : (int)(next(&rooms) % 64);
        memset(got, 0x5a, sizeof got);
        memset(wanted, 0x5a, sizeof wanted);
        int at = 0;
        for (int i = 0; i < made.count; i++) {
            at += made.offset[i];
            for (int word = 0; word < made.words[i]; word++, at++)
                if (at < room) wanted[at] = made.data[i][word];
        }
        int received = fpga_recv(own.fpga, 0, got, room, 0);
        if (received != made.words[made.count - 1]) fail("fpga_recv", number);
        if (memcmp(got, wanted, sizeof got) != 0) fail("words", number);
    }
    pthread_join(sender, NULL);
    fpga_close(own.fpga);
    puts("all came back");
    return 0;
}
