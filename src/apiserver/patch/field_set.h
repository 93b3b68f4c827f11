/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_set.h - sets of field paths: what a manager owns (upstream: structured-merge-diff's
 * fieldpath).
 *
 * Purpose:   a tree of path elements. An element may be in the set itself (member), have elements
 *            below it, or both. Its text is that of FieldsV1: "f:spec", "k:{"name":"x"}", "v:"a"",
 *            "i:0".
 * Ownership: everything is in an arena; sets are never changed once made and share their parts.
 * Threading: any thread, one call at a time per arena.
 *
 * All operations are linear in the sets; recursion is as deep as the paths, which come from parsed
 * JSON.
 */
#ifndef BERTH_APISERVER_PATCH_FIELD_SET_H
#define BERTH_APISERVER_PATCH_FIELD_SET_H

#include "codec/json_value.h"

enum path_kind { PATH_FIELD, PATH_KEY, PATH_VALUE, PATH_INDEX };

struct path_element {
    enum path_kind kind;
    struct str text;         /* as in FieldsV1 */
    struct json_value value; /* PATH_KEY: its members, sorted; PATH_VALUE: the item */
};

struct field_node;
struct field_set {
    struct field_node *v; /* sorted */
    size_t n;
};
struct field_node {
    struct path_element e;
    bool member;
    struct field_set below;
};

struct path_element path_of_field(struct str name, struct arena *a);
struct path_element path_of_value(const struct json_value *v, struct arena *a);
/* key: an object with the keys of a list's item. */
struct path_element path_of_key(const struct json_value *key, struct arena *a);
/* The name of a PATH_FIELD. */
struct str path_name(const struct path_element *e);
/* ".spec", "[name=\"x\"]", "[=\"a\"]", "[0]" */
void path_write(const struct path_element *e, struct buf *out);

static inline bool field_set_empty(const struct field_set *s)
{
    return s->n == 0;
}
/* NULL: none */
const struct field_node *field_set_find(const struct field_set *s, const struct path_element *e);
/* Sorts the nodes of a set that is being made. */
void field_set_sort(struct field_set *s);

struct field_set field_set_union(struct field_set x, struct field_set y, struct arena *a);
struct field_set field_set_intersection(struct field_set x, struct field_set y, struct arena *a);
/* What x has and y has not. */
struct field_set field_set_difference(struct field_set x, struct field_set y, struct arena *a);
/* The same without anything below the members of y. */
struct field_set field_set_exclude(struct field_set x, struct field_set y, struct arena *a);

/* Calls fn with the text of each member's path, those of a level before those below it. */
typedef void field_path_fn(void *ctx, struct str path);
void field_set_each(const struct field_set *s, field_path_fn *fn, void *ctx);

/* --- FieldsV1 (fields_v1.c) ------------------------------------------------------------------- */

/* -EINVAL: an element is malformed. Elements of unknown kinds are left out. */
int fields_v1_read(const struct json_value *v, struct arena *a, struct field_set *ret_set,
                   struct err *reterr) MUST_CHECK;
struct json_value fields_v1_write(const struct field_set *s, struct arena *a);

#endif
