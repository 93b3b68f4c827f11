/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offload.h - runs blocking work on a thread of its own.
 *
 * Purpose:   name lookups that block, pages of many megabytes.
 * Ownership: ctx belongs to the thread while it works; then it is passed to done, or to gone if the
 *            loop was freed meanwhile. Nothing waits for the thread.
 * Threading: offload_start on the loop's thread; the table below names the others.
 */
#ifndef BERTH_NET_OFFLOAD_H
#define BERTH_NET_OFFLOAD_H

#include "net/loop.h"

struct offload {
    void (*work)(void *ctx); /* on the new thread */
    void (*done)(void *ctx); /* on the loop's thread, afterwards */
    void (*gone)(void *ctx); /* on the new thread, instead of done: frees ctx */
};

/* job is a static table. Negative errno if no thread can be created: nothing is called then. */
int offload_start(struct loop *loop, const struct offload *job, void *ctx) MUST_CHECK;

#endif
