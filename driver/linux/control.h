/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The card's control file: what the card is, the user core's registers and interrupts, a reset of
 * everything, the buffers that a program registers, and what it maps.
 */
#ifndef TOWPATH_CONTROL_H
#define TOWPATH_CONTROL_H

#include <linux/fs.h>

extern const struct file_operations tp_control_operations;

#endif
