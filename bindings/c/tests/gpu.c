// SPDX-License-Identifier: Apache-2.0
// A GPU's memory as a buffer, over the stand-in for a GPU's driver (tests/gpu/standin.c).
#include "check.h"

#include <dlfcn.h>

static uint64_t (*gpu_allocate)(int device, size_t size, size_t misalignment, int where);
static void (*gpu_poke)(uint64_t at, const void *host, size_t size);
static void (*gpu_peek)(uint64_t at, void *host, size_t size);

static void load(void) {
    void *library = dlopen(getenv("TOWPATH_CUDA_LIBRARY"), RTLD_NOW);
    EXPECT(library != NULL);
    *(void **)&gpu_allocate = dlsym(library, "standin_allocate");
    *(void **)&gpu_poke = dlsym(library, "standin_poke");
    *(void **)&gpu_peek = dlsym(library, "standin_peek");
    EXPECT(gpu_allocate != NULL && gpu_poke != NULL && gpu_peek != NULL);
}

TEST(a_gpus_memory_is_a_buffer) {
    enum { BYTES = 3001 };
    static unsigned char data[BYTES], back[BYTES];
    load();
    fill(data, BYTES);
    card card = card_open();
    for (uint32_t staged = 0; staged < 2; staged++) {
        uint64_t from = gpu_allocate(0, BYTES, 7, 1), to = gpu_allocate(0, BYTES, 0, 2);
        towpath_buffer *source, *target;
        gpu_poke(from, data, BYTES);
        OK(towpath_wrap_gpu(card.device, from, BYTES, TOWPATH_ACCESS_READ, staged, &source));
        OK(towpath_wrap_gpu(card.device, to, BYTES, TOWPATH_ACCESS_READ_WRITE, staged, &target));
        OK(towpath_send_buffer(card.in, source, 0, BYTES, NULL, TOWPATH_CHANNEL_TIMEOUT, NULL));
        towpath_received got = {.size = sizeof got};
        OK(towpath_recv_buffer(card.out, target, 0, BYTES, TOWPATH_CHANNEL_TIMEOUT, &got));
        gpu_peek(to, back, BYTES);
        EXPECT(got.bytes == BYTES && memcmp(data, back, BYTES) == 0);
        if (staged) FAILS(towpath_submit(card.in, source, 0, 1, NULL, 0, &from), TOWPATH_INVALID, "staged buffer");
        OK(towpath_free_buffer(source));
        OK(towpath_free_buffer(target));
    }
    card_close(card);
}

TEST(what_is_no_gpus_memory_says_so) {
    load();
    card card = card_open();
    towpath_buffer *none = NULL;
    uint64_t at = gpu_allocate(0, 100, 0, 1);
    FAILS(towpath_wrap_gpu(card.device, 4096, 8, 0, 0, &none), TOWPATH_INVALID, "no address of a GPU's memory");
    FAILS(towpath_wrap_gpu(card.device, at, 101, 0, 0, &none), TOWPATH_INVALID, "ends after 100");
    FAILS(towpath_wrap_gpu(card.device, at, 100, 3, 0, &none), TOWPATH_INVALID, "access is 3");
    FAILS(towpath_wrap_gpu(card.device, at, 100, 0, 2, &none), TOWPATH_INVALID, "staged is 2");
    FAILS(towpath_wrap_gpu(NULL, at, 100, 0, 0, &none), TOWPATH_INVALID, "device is NULL");
    FAILS(towpath_wrap_gpu(card.device, at, 100, 0, 0, NULL), TOWPATH_INVALID, "buffer is NULL");
    EXPECT(none == NULL);
    card_close(card);
}
