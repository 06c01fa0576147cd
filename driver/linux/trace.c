// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The tracepoints of trace.h, made here once. */
#define CREATE_TRACE_POINTS
#include "trace.h"
