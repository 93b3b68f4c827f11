/* SPDX-License-Identifier: Apache-2.0 */
/*
 * typed.h - JSON with the types of server-side apply (upstream: structured-merge-diff's typed).
 *
 * Purpose:   what the schema says of a value: a scalar, a map or struct, a list; whether it is
 *            atomic, a set, or has keys. A value without a schema has the type that upstream
 *            deduces: maps member by member, lists as a whole.
 * Ownership: results are in the arena and share parts of the values.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_PATCH_TYPED_H
#define BERTH_APISERVER_PATCH_TYPED_H

#include "apiserver/patch/field_set.h"
#include "codec/schema.h"

enum type_ref_kind {
    TYPE_NONE,    /* not declared */
    TYPE_STRUCT,  /* ref.type */
    TYPE_FIELD,   /* ref.field */
    TYPE_ITEM,    /* an item of ref.field */
    TYPE_DEDUCED, /* no schema */
    TYPE_OPAQUE   /* no schema, as a whole */
};
struct type_ref {
    enum type_ref_kind kind;
    const struct schema_type *type;
    const struct schema_field *field;
};

enum atom_kind { ATOM_SCALAR, ATOM_MAP, ATOM_LIST };
struct atom {
    enum atom_kind kind;
    bool atomic;
    const struct schema_type *fields; /* ATOM_MAP of a struct */
    struct type_ref item;             /* of a list or map */
    const char *keys;                 /* ATOM_LIST: "name", "containerPort,protocol"; NULL: a set */
    uint8_t scalar;                   /* ATOM_SCALAR: enum schema_value; SCHEMA_ANY: any */
};

struct typed {
    const struct schema_type *types;
    struct arena *a;
};

/* v decides where there is no schema; NULL: it is not known. */
struct atom typed_atom(const struct typed *t, struct type_ref ref, const struct json_value *v);
/* The type of a member. *ret_named: the struct declares it. */
struct type_ref typed_member(const struct atom *atom, struct str name, bool *ret_named);

/* The items or members of v, if it is a list or map with any. */
bool typed_has_items(const struct json_value *v);

/* The path element of a list's item. False: *ret_problem is upstream's reason. */
bool typed_item_path(const struct typed *t, const struct atom *list, const struct json_value *item,
                     struct path_element *ret_e, const char **ret_problem) MUST_CHECK;

/*
 * Appends "PATH: REASON" to *problems for what does not match, each in a line of its own with two
 * spaces before it but for the first. Returns how many.
 */
size_t typed_check(const struct typed *t, struct type_ref ref, const struct json_value *v,
                   bool allow_duplicates, struct buf *problems);

/* All fields of a value. */
struct field_set typed_fields(const struct typed *t, struct type_ref ref,
                              const struct json_value *v);
/* The set with the struct fields on the way to its members (EnsureNamedFieldsAreMembers). */
struct field_set typed_named(const struct typed *t, struct type_ref ref, struct field_set s);
/* Members below a value that is atomic now become one (ReconcileFieldSetWithSchema). */
struct field_set typed_reconcile(const struct typed *t, struct type_ref ref, struct field_set s);
/* The value without the items of the set. */
struct json_value typed_remove(const struct typed *t, struct type_ref ref,
                               const struct json_value *v, const struct field_set *s);

/* lhs changed to what rhs says. Either may be NULL. False: nothing is left. */
bool typed_merge(const struct typed *t, struct type_ref ref, const struct json_value *lhs,
                 const struct json_value *rhs, struct json_value *ret_value);

struct typed_comparison {
    struct field_set removed, modified, added;
};
struct typed_comparison typed_compare(const struct typed *t, struct type_ref ref,
                                      const struct json_value *lhs, const struct json_value *rhs);

#endif
