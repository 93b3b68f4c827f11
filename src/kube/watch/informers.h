/* SPDX-License-Identifier: Apache-2.0 */
/*
 * informers.h - all reflectors of a program, from one table.
 *
 * Purpose:   starts one reflector per row, forwards all events to one sink, and reports when every
 *            kind has synced. A reflector that reaches the server again wakes the others that wait
 *            for it.
 * Ownership: owns its reflectors; the table belongs to the caller and is constant.
 * Threading: the loop's thread. The sink may do anything except free the informers.
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
    /* As in reflector_sink; the object's kind is object_kind(object). */
    void (*on_event)(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object);
    /* Called once per kind. May be NULL. */
    void (*on_kind_synced)(void *ctx, const struct kind *kind);
    /* Called once, after the last kind. May be NULL. */
    void (*on_synced)(void *ctx);
    /* Called when all pending reflector_refetch calls are done. May be NULL. */
    void (*on_refetched)(void *ctx);
};

struct informers;

/*
 * defaults: times and backoffs for all reflectors, or NULL. Nothing is sent before informers_start.
 */
struct informers *informers_new(struct rest_client *client, const struct informer_row *rows,
                                size_t n, const struct reflector_options *defaults,
                                const struct informers_sink *sink, void *ctx);
void informers_start(struct informers *informers);
struct informers *informers_free(struct informers *informers); /* NULL is allowed; returns NULL */

/* Adds a reflector, and starts it if the others have been started. Not if there is one already. */
void informers_add(struct informers *informers, const struct informer_row *row);

bool informers_have_synced(const struct informers *informers);
/* Whether a reflector is listing its objects again. */
bool informers_are_refetching(const struct informers *informers);
/* The reflector of a kind; NULL if the table has none. */
struct reflector *informers_get(const struct informers *informers, enum kind_id kind);

#endif
