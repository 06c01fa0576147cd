/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Files by another driver's names, with its rules: a translation of the files of channels and
 * memories.
 */
#ifndef TOWPATH_NAMES_H
#define TOWPATH_NAMES_H

#include <linux/fs.h>

#include "channel.h"

/* The streams, and the memories that have such files. */
extern const struct file_operations tp_named_operations;
extern const struct file_operations tp_named_ram_operations;

#endif
