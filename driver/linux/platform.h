/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the engine needs of the system: the kernel's, or that of the program which replays traces.
 */
#ifndef TOWPATH_PLATFORM_H
#define TOWPATH_PLATFORM_H

#ifdef __KERNEL__
#include <linux/io.h>
/* Where there is no 64-bit store: ascending halves, as the contract asks for. */
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
#else
#include "tests/platform.h"
#endif

#endif
