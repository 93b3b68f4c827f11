/* SPDX-License-Identifier: Apache-2.0 */
/*
 * managers.h - metadata.managedFields: who owns which fields.
 *
 * Purpose:   reads and writes the entries (upstream: managedfields/internal/managedfields.go,
 *            capmanagers.go). An entry is identified by manager, operation and subresource, and
 *            unless it applies by its apiVersion.
 * Ownership: everything is in the arena.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_PATCH_MANAGERS_H
#define BERTH_APISERVER_PATCH_MANAGERS_H

#include "apiserver/patch/field_set.h"

struct manager {
    struct str name;
    bool applies; /* operation: Apply; otherwise Update */
    struct str api_version, subresource;
    struct str time; /* "": none */
    struct field_set set;
};

/* There is always room for one more. */
struct managers {
    struct manager *v;
    size_t n;
};

/* The entries of an object. -EINVAL: one of them is malformed. */
int managers_read(const struct json_value *object, struct arena *a, struct managers *ret_managers,
                  struct err *reterr) MUST_CHECK;
/* Sets metadata.managedFields, sorted; removes it if there are no managers. */
void managers_write(struct managers *ms, struct json_value *object, struct arena *a);

struct managers managers_copy(const struct managers *ms, struct arena *a);
/* NULL: none */
struct manager *managers_find(struct managers *ms, const struct manager *like);
/* Removes managers that own nothing. */
void managers_drop_empty(struct managers *ms);
/* Merges the oldest updaters into "ancient-changes" so that at most ten are left. */
void managers_cap(struct managers *ms, struct arena *a);
/* Order of upstream's identifiers, which are JSON. */
int manager_compare(const struct manager *x, const struct manager *y);

#endif
