/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_internal.h - shared by log.c, log_modules.c and log_streams.c.
 *
 * Purpose:   log.c formats lines, log_modules.c decides which are written, log_streams.c writes
 *            them.
 * Ownership: nothing is transferred.
 * Threading: any thread.
 */
#ifndef BERTH_BASE_LOG_INTERNAL_H
#define BERTH_BASE_LOG_INTERNAL_H

#include "base/log.h"

/* Writes a whole line to one of the two streams. */
void log_send(struct str line, bool to_errors);

#endif
