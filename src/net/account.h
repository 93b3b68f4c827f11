/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - counts the bytes that a connection holds in memory.
 *
 * Purpose:   a server limits what its clients make it hold: received bytes that are not read, and
 *            queued bytes that the client does not take. The owner of such a buffer reports its
 *            size here; the account passes the difference to its parent, the account of all
 *            connections.
 * Ownership: the caller owns the account; it outlives those that report to it. An owner of bytes
 *            keeps the reported size in a variable of its own.
 * Threading: one thread.
 */
#ifndef BERTH_NET_ACCOUNT_H
#define BERTH_NET_ACCOUNT_H

#include <stddef.h>

struct account {
    size_t used;
    struct account *parent; /* NULL: none */
};

/* Changes *reported bytes to `now`. A NULL account counts nothing. */
static inline void account_report(struct account *account, size_t *reported, size_t now)
{
    if (!account || *reported == now)
        return;
    for (struct account *a = account; a; a = a->parent)
        a->used = a->used - *reported + now;
    *reported = now;
}

#endif
