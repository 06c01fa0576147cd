/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes by the names that EPEE's programs have for them. */
#ifndef TOWPATH_SPCICOMMON_H
#define TOWPATH_SPCICOMMON_H

/* The zero-copy buffer, in bytes. */
#define BUF_SIZE (4 * 1024 * 1024)
/* The registers, in bytes, unless the core's manifest gives it more. */
#define REG_SIZE (512 * 1024)

#endif
