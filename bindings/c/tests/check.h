// SPDX-License-Identifier: Apache-2.0
// What the tests of the C library are written with: TEST(name) { ... } is a test by itself, which ends at the first expectation that fails.
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <towpath.h>

void check_add(const char *name, void (*test)(void));

#define TEST(name)                                                                                                                         \
    static void name(void);                                                                                                                \
    __attribute__((constructor)) static void add_##name(void) { check_add(#name, name); }                                                  \
    static void name(void)

#define EXPECT(condition)                                                                                                                  \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                                        \
            exit(1);                                                                                                                       \
        }                                                                                                                                  \
    } while (0)

#define OK(call)                                                                                                                           \
    do {                                                                                                                                   \
        towpath_status status_ = (call);                                                                                                   \
        if (status_ != TOWPATH_OK) {                                                                                                       \
            fprintf(stderr, "%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, towpath_status_name(status_), towpath_last_error());         \
            exit(1);                                                                                                                       \
        }                                                                                                                                  \
    } while (0)

// The call fails with this status, and says so in words among which is this one.
#define FAILS(call, expected, word)                                                                                                        \
    do {                                                                                                                                   \
        towpath_status status_ = (call);                                                                                                   \
        if (status_ != (expected) || strstr(towpath_last_error(), word) == NULL) {                                                         \
            fprintf(stderr, "%s:%d: %s: not %s with \"%s\", but %s: %s\n", __FILE__, __LINE__, #call, #expected, word,                     \
                    towpath_status_name(status_), towpath_last_error());                                                                   \
            exit(1);                                                                                                                       \
        }                                                                                                                                  \
    } while (0)

#define SECOND UINT64_C(1000000000)
#define SHORT UINT64_C(100000)

// The loopback core in simulation, with both its channels.
typedef struct {
    towpath_device *device;
    towpath_channel *in;
    towpath_channel *out;
} card;

card card_open(void);
void card_close(card card);
// The same bytes each time, no two neighbouring ones alike.
void fill(unsigned char *bytes, size_t count);

#endif
