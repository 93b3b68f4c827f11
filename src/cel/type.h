/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type.h - the types of CEL.
 *
 * Purpose:   what the checker knows about an expression, what an overload declares for its
 *            arguments, and what type(x) returns. Builtin types are constants; libraries declare
 *            theirs with the macros below:
 *
 *                const struct cel_type cel_quantity_type = CEL_OBJECT_TYPE("kubernetes.Quantity");
 *                static const struct cel_type list_of_int = CEL_LIST_OF(&cel_int_type);
 *
 * Ownership: a type borrows its name and parameters; those made while checking are in the arena of
 *            the program.
 * Threading: immutable; any thread.
 */
#ifndef BERTH_CEL_TYPE_H
#define BERTH_CEL_TYPE_H

#include "base/arena.h"
#include "base/buf.h"

enum cel_type_kind {
    CEL_T_NULL,
    CEL_T_BOOL,
    CEL_T_INT,
    CEL_T_UINT,
    CEL_T_DOUBLE,
    CEL_T_STRING,
    CEL_T_BYTES,
    CEL_T_DURATION,
    CEL_T_TIMESTAMP,
    CEL_T_LIST,   /* one parameter */
    CEL_T_MAP,    /* two parameters */
    CEL_T_TYPE,   /* one parameter, or none: the type of types */
    CEL_T_OPAQUE, /* compared by name and parameters: optional_type(A), net.IP */
    CEL_T_OBJECT, /* compared by name: kubernetes.Quantity */
    CEL_T_DYN,
    CEL_T_ANY,   /* google.protobuf.Any: like dyn, but not for iteration */
    CEL_T_PARAM, /* a type variable, by name: A */
    CEL_T_ERROR, /* of an expression that does not check */
};

struct cel_type {
    enum cel_type_kind kind;
    struct str name; /* as type(x) and messages show it */
    size_t n_params;
    const struct cel_type *params[2];
    uint32_t var; /* of CEL_T_PARAM: the number of a variable of the checker; 0: only a name */
};

#define CEL_LIST_OF(elem)                                                                \
    {                                                                                    \
        .kind = CEL_T_LIST, .name = STR_INIT("list"), .n_params = 1, .params = {(elem) } \
    }
#define CEL_MAP_OF(key, elem)                                                                 \
    {                                                                                         \
        .kind = CEL_T_MAP, .name = STR_INIT("map"), .n_params = 2, .params = {(key), (elem) } \
    }
#define CEL_OPTIONAL_OF(elem)                                                               \
    {                                                                                       \
        .kind = CEL_T_OPAQUE, .name = STR_INIT("optional_type"), .n_params = 1, .params = { \
            (elem)                                                                          \
        }                                                                                   \
    }
#define CEL_OPAQUE_TYPE(type_name) {.kind = CEL_T_OPAQUE, .name = STR_INIT(type_name)}
#define CEL_OBJECT_TYPE(type_name) {.kind = CEL_T_OBJECT, .name = STR_INIT(type_name)}

extern const struct cel_type cel_null_type, cel_bool_type, cel_int_type, cel_uint_type,
    cel_double_type, cel_string_type, cel_bytes_type, cel_duration_type, cel_timestamp_type,
    cel_type_type, cel_dyn_type, cel_any_type, cel_error_type;
extern const struct cel_type cel_param_a, cel_param_b;         /* A, B */
extern const struct cel_type cel_list_a_type, cel_map_ab_type; /* list(A), map(A, B) */
extern const struct cel_type cel_list_dyn_type;                /* list(dyn) */
extern const struct cel_type cel_list_string_type;
extern const struct cel_type cel_optional_a_type; /* optional_type(A) */

const struct cel_type *cel_new_list_type(struct arena *a, const struct cel_type *elem);
const struct cel_type *cel_new_map_type(struct arena *a, const struct cel_type *key,
                                        const struct cel_type *elem);
const struct cel_type *cel_new_optional_type(struct arena *a, const struct cel_type *elem);

const struct cel_type *cel_new_type_type(struct arena *a, const struct cel_type *of);

bool cel_type_is_optional(const struct cel_type *t);
/* As messages of the checker show it: list(int), map(string, dyn), optional_type(A). */
void cel_type_write(const struct cel_type *t, struct buf *out);
/* As the message about the type of a whole expression shows it: google.protobuf.Duration, <A>. */
void cel_type_write_declared(const struct cel_type *t, struct buf *out);

#endif
