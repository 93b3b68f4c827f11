/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offload.h - one piece of work that would hold the loop up, on a thread of its own.
 *
 * Purpose:   name lookups that block, pages of many megabytes.
 * Ownership: ctx belongs to the thread while it works; then it is handed to done, or to gone where
 *            the loop was freed meanwhile, which nobody waits for.
 * Threading: offload_start on the loop's thread; see below for who calls what.
 */
#ifndef BERTH_NET_OFFLOAD_H
#define BERTH_NET_OFFLOAD_H

#include "net/loop.h"

struct offload {
    void (*work)(void *ctx); /* on the thread */
    void (*done)(void *ctx); /* on the loop's, afterwards */
    void (*gone)(void *ctx); /* on the thread, in place of done: gives ctx back */
};

/* job is a static table. Negative errno where no thread is to be had: nothing is called then. */
int offload_start(struct loop *loop, const struct offload *job, void *ctx) MUST_CHECK;

#endif
