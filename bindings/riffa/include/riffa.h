/* SPDX-License-Identifier: Apache-2.0 */
/* RIFFA's calls over Towpath: a program that was written for RIFFA 2.2 is compiled against this header and linked with -lriffa, unchanged.
 *
 * Which cards there are: those that the environment variable TOWPATH_DEVICE lists, separated by commas or semicolons ("sim:loopback",
 * "vfio:0000:65:00.0"); without it, the cards of this machine in the order of `towpath list`. The first one has id 0.
 *
 * RIFFA's channel N is the card's Nth stream to the card and its Nth stream from it, from 0 on. A send is one message: its length, its
 * offset (destoff, in words) and its user word (bit 0: last) are attributes. A message from the card is one transaction in the same way.
 *
 * Lengths and offsets are in words of 32 bits. A timeout is in milliseconds without progress; 0 is none. In simulation, time is simulated
 * time. Any number of threads may use a card, one at a time on a channel and direction.
 */
#ifndef TOWPATH_RIFFA_H
#define TOWPATH_RIFFA_H

#include "riffa_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open card. It has the shape of a pointer, points to nothing, and fits into 31 bits: some programs keep it in an int. */
struct fpga_t;
typedef struct fpga_t fpga_t;

/* Lists the cards: 0, or a negative errno. A card that cannot be opened now is listed with 0 channels. */
int fpga_list(fpga_info_list *list);

/* Opens the card of this id; NULL if there is none, or if it cannot be opened (errno; towpath_last_error() has the text). All that a
 * process opens by one id is the same card. */
fpga_t *fpga_open(int id);

/* Closes it. When the last one has closed a card, it is given back, and what it holds for its channels is discarded. */
void fpga_close(fpga_t *fpga);

/* Sends len words as one transaction; the user core sees len, destoff (31 bits) and last. Returns how many words the card took: fewer after
 * a timeout. If the next send on this channel is just as long as the rest, it completes the transaction; any other one first ends it.
 *
 * Returns 0 if there is no such channel, -EINVAL if data is not aligned to a word or len is negative, -EBUSY if another thread or process
 * sends on this channel, -512 after a signal that came before any word, and another negative errno after a fault. errno is not the place to
 * look. */
int fpga_send(fpga_t *fpga, int chnl, void *data, int len, int destoff, int last, long long timeout);

/* Receives transactions until one with last has ended. The words of each go to where the one before would have ended by its announced
 * length, plus its own offset. What would lie beyond len words is discarded, and counts.
 *
 * Returns the words of the last transaction alone; after a timeout, those that have come of the one in progress, or those of the one
 * before. The rest of a transaction in progress goes to the beginning of the next call's data. Otherwise as fpga_send(). */
int fpga_recv(fpga_t *fpga, int chnl, void *data, int len, long long timeout);

/* Resets the user core and all channels: what is in flight is discarded. */
void fpga_reset(fpga_t *fpga);

/* What versions of RIFFA by others have besides. */

/* As fpga_recv(), which never prints anything either. */
int fpga_recv_noTimeoutMsg(fpga_t *fpga, int chnl, void *data, int len, long long timeout);

/* Waits until no other thread of this process holds the card, then holds it, and returns 0. A thread that holds it already holds it twice.
 * Calls of threads that do not ask are not held up. -EBADF: it is not open. */
int fpga_lock(fpga_t *fpga);

/* Lets go of the card: 0, or -EPERM if this thread does not hold it. */
int fpga_unlock(fpga_t *fpga);

#ifdef __cplusplus
}
#endif

#endif
