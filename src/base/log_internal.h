/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_internal.h - what log.c asks of log_modules.c and log_streams.c.
 *
 * Purpose:   log.c makes lines; the others say which are wanted, and carry them away.
 * Ownership: nothing changes hands.
 * Threading: any thread.
 */
#ifndef BERTH_BASE_LOG_INTERNAL_H
#define BERTH_BASE_LOG_INTERNAL_H

#include "base/log.h"

/* A whole line, to one of the two streams. */
void log_send(struct str line, bool to_errors);

#endif
