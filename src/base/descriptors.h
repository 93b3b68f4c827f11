/* SPDX-License-Identifier: Apache-2.0 */
/*
 * descriptors.h - how many files and sockets the process may open.
 *
 * Purpose:   the soft limit is often 1024 for the sake of old programs that use select(2). berth
 *            raises it to the hard limit, as Go programs do, and gives child processes back what
 *            berth itself was started with.
 * Ownership: the limit belongs to the process.
 * Threading: descriptors_raise once, before there are threads; the others from one thread.
 */
#ifndef BERTH_BASE_DESCRIPTORS_H
#define BERTH_BASE_DESCRIPTORS_H

#include "base/base.h"

/* Raises the soft limit to the hard limit. */
void descriptors_raise(void);
/* The soft limit as it is now. */
size_t descriptors_limit(void);
/*
 * Around the start of a child, which inherits the limit: the one that berth was started with, and
 * back. Meanwhile other threads may fail to open files if more are open than the old limit allows.
 */
void descriptors_before_child(void);
void descriptors_after_child(void);

#endif
