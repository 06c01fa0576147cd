/* SPDX-License-Identifier: Apache-2.0 */
/* EPEE's calls over Towpath, under the name by which EPEE's programs include them: compile against this, and link with -lepee.
 *
 * The card is the one that TOWPATH_DEVICE names, or the first one of this machine; the first call opens it. Register N is the core's
 * register at the byte offset 4 * N. host2board is the card's first stream to the card, board2host its first one from it, and both are
 * bytes in a row: ends of messages mean nothing. Calls return -1 if they fail, with errno, and wait without a limit. After a fault of the
 * card towpath_last_error() has the text, unless an earlier call or another thread has found the fault.
 *
 * What one call sends or receives stays together: another thread's call in the same direction waits for it, and one that only starts a
 * transfer is -1, errno EAGAIN. A reset ends a call that moves data with ECONNRESET.
 */
#ifndef TOWPATH_SPCIE_H
#define TOWPATH_SPCIE_H

/* EPEE's header includes these, and its programs rely on it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "sPciCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Read or write a register of the user core: 0. */
int read_usr_reg(unsigned int reg, unsigned int *p_data);
int write_usr_reg(unsigned int reg, unsigned int *p_data);

/* Sends len bytes, and returns len when the card has them. */
int dma_host2board(unsigned int len, void *p_data);

/* Copies len bytes, returns len, and sends them meanwhile. -1, errno EAGAIN: the ones before are still on their way; another errno may be
 * theirs: a transfer that failed is reported once. */
int dma_host2board_unblocking(unsigned int len, void *p_data);

/* Receives exactly len bytes, and returns len. */
int dma_board2host(unsigned int len, void *p_data);

/* Waits for the user interrupt of this number, 0 to 7: 0. One that came before counts, once for each time that it came. */
int block_until_interrupt(int vector_num);

/* The process's buffer of BUF_SIZE bytes, which the card reads and writes itself; NULL on failure. Until it is released, each call returns
 * the same. A release is -1, errno EBUSY, until a call has seen the end of each transfer of it. */
void *get_zerocopy_buffer(void);
int release_zerocopy_buffer(void *buf);
/* Start to move len bytes of that buffer, from offset on, and return len at once: the bytes are moved when the status is 0. -1, errno
 * EAGAIN: the ones before are still on their way. A transfer to the host that is more than one message goes on
 * behind the end of each while a call moves data, asks for a status or waits for an interrupt. */
int zerocopy_host2board(int offset, int len);
int zerocopy_board2host(int offset, int len);
/* Of such a transfer: 1, it is on its way; 0, there is none, or it has ended; -1, it has failed, with that failure's errno.
 * A failure is reported once: by this call, or else by the call that starts the next transfer. */
int get_host2board_status(void);
int get_board2host_status(void);

/* Reset the card and the core (sys_reset() and usr_reset() do the same), or one direction: 0. What was on its way there has
 * ended, which is no failure of it. */
int sys_reset(void);
int usr_reset(void);
int host2board_reset(void);
int board2host_reset(void);

/* Bytes that this process has moved, modulo 2^31. */
int get_host2board_count(void);
int get_board2host_count(void);

/* -1: Towpath does not tell what the link is; `towpath doctor` does. */
char get_pcie_cfg_mode(void);
char get_pcie_cur_mode(void);

#ifdef __cplusplus
}
#endif

#endif
