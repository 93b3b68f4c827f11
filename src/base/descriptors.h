/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors.h - the limit of open files and sockets.
 *
 * Purpose:   the soft limit is often 1024 for programs that use select(2). berth raises it to the
 *            hard limit, as Go programs do, and restores the original limit for child processes.
 * Ownership: the limit belongs to the process.
 * Threading: descriptors_raise once, before other threads start; the others on one thread.
 */
#ifndef BERTH_BASE_DESCRIPTORS_H
#define BERTH_BASE_DESCRIPTORS_H

#include "base/base.h"

/* Raises the soft limit to the hard limit. */
void descriptors_raise(void);
/* The current soft limit. */
size_t descriptors_limit(void);
/*
 * Call around the start of a child, which inherits the limit: restores the original limit, then
 * raises it again. In between other threads may fail to open files if more are open than the
 * original limit allows.
 */
void descriptors_before_child(void);
void descriptors_after_child(void);

#endif
