/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_fetch.h - a guest's module from an HTTP server.
 *
 * Purpose:   one GET that ends before the configuration is used. Servers have to answer within
 *            GUEST_FETCH_TIMEOUT, because a reload waits for them.
 * Ownership: the caller owns the buffer.
 * Threading: blocks the thread that calls it.
 */
#ifndef BERTH_LOADER_GUEST_FETCH_H
#define BERTH_LOADER_GUEST_FETCH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/time.h"

/* Less than the renewal of a lease may take. */
#define GUEST_FETCH_TIMEOUT (5 * NSEC_PER_SEC)

/* Appends at most max bytes from an http or https URL. */
int guest_fetch(struct str url, size_t max, struct buf *out, struct err *reterr) MUST_CHECK;

#endif
