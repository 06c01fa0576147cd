/* SPDX-License-Identifier: Apache-2.0 */
/* EPEE's programs include the zero-copy calls by this name; sPcie.h has them, with what they promise. */
#ifndef TOWPATH_SPCIEZEROCOPY_H
#define TOWPATH_SPCIEZEROCOPY_H

#include <sys/mman.h>

#include "sPcie.h"

#endif
