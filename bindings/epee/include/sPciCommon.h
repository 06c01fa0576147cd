/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes by the names that EPEE's programs have for them. */
#ifndef TOWPATH_SPCICOMMON_H
#define TOWPATH_SPCICOMMON_H

/* The zero-copy buffer, in bytes. */
#define BUF_SIZE (4 * 1024 * 1024)
/* The registers that have a number, in bytes. */
#define REG_SIZE (1024 * 1024)

#endif
