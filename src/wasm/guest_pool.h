/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_pool.h - the guests of one plugin instance, and the seats that they take.
 *
 * Purpose:   a pod has the same guest from PreFilter to the end of its binding, so that what a
 *            guest remembers of a pod stays. Guests are used again for other pods, as upstream
 *            does. A guest that has failed is replaced by a new one, because its memory may be in
 *            any state; only the pod whose call failed notices.
 * Ownership: the pool owns the guests that are free; a seat owns the one that it holds and returns
 *            it.
 * Threading: any thread; a seat's guest is used by one thread at a time.
 */
#ifndef BERTH_WASM_GUEST_POOL_H
#define BERTH_WASM_GUEST_POOL_H

#include <pthread.h>

#include "base/vec.h"
#include "wasm/guest.h"

/* The most guests at a time: pods that are being bound, or that Permit holds, have one each. */
#define GUEST_POOL_MAX  1024
/* Free guests beyond this number are freed. */
#define GUEST_POOL_FREE 16

struct guest_pool {
    const struct guest_settings *settings;
    pthread_mutex_t lock;
    VEC(struct guest *) free;
    size_t alive;
};

/* Makes one guest, so that errors are found early. Appends the reason to *error on failure. */
int guest_pool_init(struct guest_pool *pool, const struct guest_settings *settings,
                    struct buf *error) MUST_CHECK;
/* All seats must have been released. */
void guest_pool_release(struct guest_pool *pool);

struct guest_seat {
    struct guest_pool *pool;
    pthread_mutex_t lock;
    struct guest *guest; /* NULL: none yet */
};

void guest_seat_init(struct guest_seat *seat, struct guest_pool *pool);
void guest_seat_release(struct guest_seat *seat);
/* Locks the seat and returns its guest. NULL and *error: there is none, and nothing is locked. */
struct guest *guest_seat_enter(struct guest_seat *seat, struct buf *error);
void guest_seat_leave(struct guest_seat *seat);

#endif
