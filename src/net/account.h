/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account.h - counts the bytes that a connection holds in memory.
 *
 * Purpose:   a server limits what its clients make it hold: what they sent and nobody has read,
 *            what they have not taken yet. Whoever owns such a buffer reports its size here; the
 *            account passes the difference on to its parent, the account of all connections.
 * Ownership: the account belongs to its maker and outlives those that report to it. An owner of
 *            bytes keeps what it has reported in a variable of its own.
 * Threading: one thread.
 */
#ifndef BERTH_NET_ACCOUNT_H
#define BERTH_NET_ACCOUNT_H

#include <stddef.h>

struct account {
    size_t used;
    struct account *parent; /* NULL: none */
};

/* *reported bytes have become `now`. A NULL account counts nothing. */
static inline void account_report(struct account *account, size_t *reported, size_t now)
{
    if (!account || *reported == now)
        return;
    for (struct account *a = account; a; a = a->parent)
        a->used = a->used - *reported + now;
    *reported = now;
}

#endif
