/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the objects of a cluster, their versions and their history.
 *
 * Purpose:   a state machine without I/O, as etcd is to kube-apiserver: every change has the next
 *            version of the whole store, the last changes are kept for watches, snapshots are
 *            cheap. It knows nothing of what objects mean: the registry (registry/registry.h) makes
 *            the texts and checks conditions.
 * Ownership: a revision is immutable and reference counted; the store, its history, snapshots and
 *            readers hold references. A snapshot shares everything with its store.
 * Threading: one thread. Several stores on several threads must not share revisions.
 *
 * Keys order by resource (group, plural), then by the bytes of NAMESPACE/NAME: upstream's order of
 * a list, in which the namespace "a-b" is before "a". Resources are the same if their group and
 * plural names are; their structs must live as long as the store and its revisions. Snapshots share
 * the nodes of a B-tree; a node is copied when it is changed and shared.
 */
#ifndef BERTH_APISERVER_STORE_STORE_H
#define BERTH_APISERVER_STORE_STORE_H

#include "apiserver/types/resource.h"

/* A label, or a field that selectors may name ("spec.nodeName"). */
struct store_pair {
    struct str key, value;
};

/* One version of one object. */
struct revision {
    unsigned refs;
    const struct resource *resource; /* as stored */
    struct str namespace;            /* "": cluster-scoped */
    struct str name;
    uint64_t version;
    struct str text; /* the whole object as compact JSON, with its resourceVersion */
    struct store_pair *labels, *fields;
    size_t n_labels, n_fields;
    size_t size; /* of the allocation */
};

/* What a new revision is made of; all of it is copied into one allocation. */
struct revision_source {
    const struct resource *resource;
    struct str namespace, name;
    uint64_t version; /* store_next_version, unless it is loaded */
    struct str text;
    const struct store_pair *labels, *fields;
    size_t n_labels, n_fields;
};

struct revision *revision_new(const struct revision_source *source)
    __attribute__((returns_nonnull));
struct revision *revision_ref(struct revision *rev);
/* NULL is allowed. Returns NULL. */
struct revision *revision_unref(struct revision *rev);
/* The value; empty if there is none. */
struct str revision_label(const struct revision *rev, struct str key);
struct str revision_field(const struct revision *rev, struct str key);

/* --- the store -------------------------------------------------------------------------------- */

struct store;

enum store_change { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };

struct store_event {
    enum store_change change;
    struct revision *before; /* NULL: added */
    struct revision *after;  /* of a deletion: the last state with the version of the deletion */
};

struct store_options {
    size_t history_bytes; /* memory of revisions kept for watches alone; 0: 64 MiB */
    size_t history_count; /* changes kept at most; 0: 100,000 */
    /* After every change, on the same stack; it must not change the store. May be NULL. */
    void (*changed)(void *ctx, const struct store_event *event);
    void *ctx;
};

struct store *store_new(const struct store_options *options) __attribute__((returns_nonnull));
struct store *store_free(struct store *store);

/* The version of the last change: resourceVersion of lists. 1 in an empty store. */
uint64_t store_version(const struct store *store);
/* The version that the next change must have. */
uint64_t store_next_version(const struct store *store);

/* Borrowed until the next change. NULL if there is none. */
struct revision *store_get(const struct store *store, const struct resource *resource,
                           struct str namespace, struct str name);
size_t store_count(const struct store *store, const struct resource *resource);

/* Adds or replaces the object. Takes over the reference. */
void store_put(struct store *store, struct revision *rev);
/* Deletes the object that rev names; rev is its last state. Takes over the reference. */
void store_delete(struct store *store, struct revision *rev);
/* For loading: puts a revision of an older version without history. Takes over the reference. */
void store_load(struct store *store, struct revision *rev);
/* For loading: the version to continue with; at least that of every loaded revision. */
void store_set_version(struct store *store, uint64_t version);

/* --- snapshots -------------------------------------------------------------------------------- */

struct snapshot;

/* O(1). */
struct snapshot *store_snapshot(struct store *store) __attribute__((returns_nonnull));
struct snapshot *snapshot_ref(struct snapshot *s);
struct snapshot *snapshot_unref(struct snapshot *s);
uint64_t snapshot_version(const struct snapshot *s);
struct revision *snapshot_get(const struct snapshot *s, const struct resource *resource,
                              struct str namespace, struct str name);
size_t snapshot_count(const struct snapshot *s, const struct resource *resource);
/* O(1): a store with the same objects and version, and no history. */
struct store *store_fork(struct snapshot *s, const struct store_options *options)
    __attribute__((returns_nonnull));

/*
 * The objects of a resource in order, in one namespace or in all (""), from `from` on: the first
 * has a key after (namespace, name). NULL: no bound.
 *
 *     struct store_range range;
 *     store_range_init(&range, snapshot, resource, STR(""), NULL);
 *     while ((rev = store_range_next(&range))) …
 */
struct store_key {
    struct str namespace, name;
};
struct tree_node;
struct store_step {
    const struct tree_node *node;
    unsigned at;
};
#define STORE_MAX_STEPS 16 /* of 16^15 objects */

/* Private. The snapshot must live as long; the namespace and `after` are borrowed, too. */
struct store_range {
    const struct snapshot *snapshot;
    const struct resource *resource;
    struct str namespace;
    struct store_key after; /* of the last revision, or the caller's */
    bool has_after;
    struct store_step steps[STORE_MAX_STEPS]; /* the way from the root */
    unsigned n_steps;
};
void store_range_init(struct store_range *range, const struct snapshot *s,
                      const struct resource *resource, struct str namespace,
                      const struct store_key *after);
/* Borrowed from the snapshot. NULL after the last. Amortised O(1). */
struct revision *store_range_next(struct store_range *range);
/* How many are left, without stepping. O(log n). */
size_t store_range_left(const struct store_range *range);

/* --- watches ---------------------------------------------------------------------------------- */

struct store_stream;

/*
 * A position in the history of one resource. It holds no memory of the store: a reader that falls
 * behind costs nothing and is told that its position has expired.
 *
 *     store_watch_init(&watch, store, resource, version);
 *     while ((r = store_watch_next(&watch, &event)) > 0) …
 */
struct store_watch {
    struct store *store;
    const struct resource *resource;
    uint64_t version; /* of the last change that was returned, or skipped as not of the resource */
    uint64_t at;      /* private: number of the next change in the stream */
    const struct store_stream *stream; /* private: the changes of the resource */
};

/* -ESTALE: changes of the resource after `version` are no longer kept. -ERANGE: it is in the
 * future. */
int store_watch_init(struct store_watch *watch, struct store *store,
                     const struct resource *resource, uint64_t version) MUST_CHECK;
/* 1: *ret_event, borrowed until the next change. 0: none now. -ESTALE: some were lost. */
int store_watch_next(struct store_watch *watch, const struct store_event **ret_event) MUST_CHECK;

#endif
