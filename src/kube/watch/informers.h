/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informers.h - all the reflectors of a program, by one table.
 *
 * Purpose:   starts a reflector per row, tells one sink of all events, and knows when the first
 *            state of every kind has arrived. A reflector that reaches the server again wakes those
 *            that wait for it.
 * Ownership: owns its reflectors; the table is the caller's and constant.
 * Threading: the loop's thread. The sink may do anything but free the informers.
 */
#ifndef BERTH_KUBE_WATCH_INFORMERS_H
#define BERTH_KUBE_WATCH_INFORMERS_H

#include "kube/watch/reflector.h"

struct informer_row {
    enum kind_id kind;
    const char *field_selector; /* NULL: none */
    bool optional;              /* see reflector_options */
    unsigned object_flags;      /* enum object_flags */
};

struct informers_sink {
    /* As reflector_sink's; the object's kind is object_kind(object). */
    void (*on_event)(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object);
    /* Once per kind. May be NULL. */
    void (*on_kind_synced)(void *ctx, const struct kind *kind);
    /* Once, after the last kind. May be NULL. */
    void (*on_synced)(void *ctx);
    /* After reflector_refetch of some, when all of these are done. May be NULL. */
    void (*on_refetched)(void *ctx);
};

struct informers;

/* defaults: times and backoffs for all reflectors, or NULL. Nothing happens before _start. */
struct informers *informers_new(struct rest_client *client, const struct informer_row *rows,
                                size_t n, const struct reflector_options *defaults,
                                const struct informers_sink *sink, void *ctx);
void informers_start(struct informers *informers);
struct informers *informers_free(struct informers *informers); /* NULL is fine; returns NULL */

bool informers_have_synced(const struct informers *informers);
/* Is any reflector fetching once more what it knows? */
bool informers_are_refetching(const struct informers *informers);
/* The reflector of a kind; NULL where the table has none. */
struct reflector *informers_get(const struct informers *informers, enum kind_id kind);

#endif
