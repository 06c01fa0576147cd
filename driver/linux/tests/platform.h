/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Stands in for the kernel where the engine is replayed by a program: loads and stores go to
 * whoever replays. x86-64's order of bytes.
 */
#ifndef TOWPATH_TESTS_PLATFORM_H
#define TOWPATH_TESTS_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define __iomem
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef uint64_t __le64;
#define U32_MAX UINT32_MAX

void (*tp_store)(void *at, u32 bits, u64 value);
u32 (*tp_load)(void *at);

#define writel(value, at) tp_store(at, 32, value)
#define writeq(value, at) tp_store(at, 64, value)
#define readl(at) tp_load(at)
#define dma_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define le16_to_cpu(x) (x)
#define le32_to_cpu(x) (x)
#define le64_to_cpu(x) (x)

#endif
