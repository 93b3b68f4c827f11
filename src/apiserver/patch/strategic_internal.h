/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategic_internal.h - what the files of strategic merge patches share.
 *
 * Purpose:   strategic.c merges objects, strategic_list.c lists; they call each other. Functions
 *            that may fail return a negative errno after they have filled m->err.
 * Ownership: as in strategic.h.
 * Threading: as in strategic.h.
 */
#ifndef BERTH_APISERVER_PATCH_STRATEGIC_INTERNAL_H
#define BERTH_APISERVER_PATCH_STRATEGIC_INTERNAL_H

#include "apiserver/patch/go_value.h"
#include "apiserver/patch/strategic.h"
#include "base/err.h"
#include "base/map.h"

struct strategic {
    const struct schema_type *types;
    struct arena *a;
    struct err *err;
};

/* The Go type that an object or an item has for upstream. */
struct strategic_level {
    const struct schema_type *type; /* NULL: it has no fields */
    const char *name;               /* of a struct without fields, "RawExtension"; NULL: none */
    const char *kind;               /* reflect.Kind of what is no struct: "map" */
};

/* How two lists are merged. */
struct strategic_list {
    struct strategic_level item;
    const char *key; /* "": none */
    bool merge;      /* the patch strategy; otherwise the list is replaced */
    bool removes;    /* the patch lists scalars to remove */
};

int strategic_merge_object(const struct strategic *m, const struct strategic_level *level,
                           const struct json_value *target, const struct json_value *patch,
                           struct json_value *ret_value) MUST_CHECK;
int strategic_merge_list(const struct strategic *m, const struct strategic_list *how,
                         const struct json_value *target, const struct json_value *patch,
                         struct json_value *ret_value) MUST_CHECK;
/* $setElementOrder: merges the lists, either of which may be NULL, and orders the result. */
int strategic_order_list(const struct strategic *m, const struct strategic_list *how,
                         const struct json_value *target, const struct json_value *patch,
                         const struct json_value *order, struct json_value *ret_value) MUST_CHECK;

/* What a patch adds: without objects that have a $patch; `nulls` go as well. False: all of it. */
bool strategic_plain(const struct json_value *v, bool without_nulls, struct arena *a,
                     struct json_value *ret_value) MUST_CHECK;

/* --- upstream's errors ------------------------------------------------------------------------ */

int strategic_no_merge_key(const struct strategic *m, const struct json_value *item,
                           const char *key);
int strategic_bad_directive(const struct strategic *m, const struct json_value *directive,
                            const struct json_value *object);
/* expected: "map[string]interface {}", "[]interface {}" */
int strategic_bad_type(const struct strategic *m, const char *expected,
                       const struct json_value *actual);
int strategic_bad_order(const struct strategic *m, const struct json_value *patch,
                        const struct json_value *order);
int strategic_mixed_items(const struct strategic *m, const struct json_value *target,
                          const struct json_value *patch);

#endif
