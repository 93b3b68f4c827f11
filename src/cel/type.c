/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/type.h"

#define PLAIN(kind_, text) {.kind = (kind_), .name = STR_INIT(text)}

const struct cel_type cel_null_type = PLAIN(CEL_T_NULL, "null_type");
const struct cel_type cel_bool_type = PLAIN(CEL_T_BOOL, "bool");
const struct cel_type cel_int_type = PLAIN(CEL_T_INT, "int");
const struct cel_type cel_uint_type = PLAIN(CEL_T_UINT, "uint");
const struct cel_type cel_double_type = PLAIN(CEL_T_DOUBLE, "double");
const struct cel_type cel_string_type = PLAIN(CEL_T_STRING, "string");
const struct cel_type cel_bytes_type = PLAIN(CEL_T_BYTES, "bytes");
const struct cel_type cel_duration_type = PLAIN(CEL_T_DURATION, "google.protobuf.Duration");
const struct cel_type cel_timestamp_type = PLAIN(CEL_T_TIMESTAMP, "google.protobuf.Timestamp");
const struct cel_type cel_type_type = PLAIN(CEL_T_TYPE, "type");
const struct cel_type cel_dyn_type = PLAIN(CEL_T_DYN, "dyn");
const struct cel_type cel_any_type = PLAIN(CEL_T_ANY, "google.protobuf.Any");
const struct cel_type cel_error_type = PLAIN(CEL_T_ERROR, "error");
const struct cel_type cel_param_a = PLAIN(CEL_T_PARAM, "A");
const struct cel_type cel_param_b = PLAIN(CEL_T_PARAM, "B");
const struct cel_type cel_list_a_type = CEL_LIST_OF(&cel_param_a);
const struct cel_type cel_map_ab_type = CEL_MAP_OF(&cel_param_a, &cel_param_b);
const struct cel_type cel_list_dyn_type = CEL_LIST_OF(&cel_dyn_type);
const struct cel_type cel_list_string_type = CEL_LIST_OF(&cel_string_type);
const struct cel_type cel_optional_a_type = CEL_OPTIONAL_OF(&cel_param_a);

static const struct cel_type *new_type(struct arena *a, enum cel_type_kind kind, struct str name,
                                       const struct cel_type *first, const struct cel_type *second)
{
    struct cel_type *t = arena_new(a, struct cel_type);
    *t = (struct cel_type){.kind = kind,
                           .name = name,
                           .n_params = (size_t)(first != NULL) + (size_t)(second != NULL),
                           .params = {first, second}};
    return t;
}

const struct cel_type *cel_new_list_type(struct arena *a, const struct cel_type *elem)
{
    return new_type(a, CEL_T_LIST, cel_list_a_type.name, elem, NULL);
}

const struct cel_type *cel_new_map_type(struct arena *a, const struct cel_type *key,
                                        const struct cel_type *elem)
{
    return new_type(a, CEL_T_MAP, cel_map_ab_type.name, key, elem);
}

const struct cel_type *cel_new_optional_type(struct arena *a, const struct cel_type *elem)
{
    return new_type(a, CEL_T_OPAQUE, cel_optional_a_type.name, elem, NULL);
}

const struct cel_type *cel_new_type_type(struct arena *a, const struct cel_type *of)
{
    return new_type(a, CEL_T_TYPE, cel_type_type.name, of, NULL);
}

bool cel_type_is_optional(const struct cel_type *t)
{
    return t->kind == CEL_T_OPAQUE && str_eq(t->name, cel_optional_a_type.name);
}

/* The names that the checker's messages have for kinds whose type name is another. */
static const char *message_name(enum cel_type_kind kind)
{
    switch (kind) {
    case CEL_T_ANY:
        return "any";
    case CEL_T_DURATION:
        return "duration";
    case CEL_T_TIMESTAMP:
        return "timestamp";
    case CEL_T_NULL:
        return "null";
    case CEL_T_ERROR:
        return "!error!";
    default:
        return NULL;
    }
}

static void write_params(const struct cel_type *t, struct buf *out,
                         void (*write)(const struct cel_type *, struct buf *))
{
    buf_add_str(out, t->name);
    for (size_t i = 0; i < t->n_params && !out->overflow; i++) {
        buf_add_cstr(out, i == 0 ? "(" : ", ");
        write(t->params[i], out);
    }
    if (t->n_params > 0)
        buf_add_char(out, ')');
}

void cel_type_write(const struct cel_type *t, struct buf *out)
{
    const char *name = message_name(t->kind);
    if (name)
        buf_add_cstr(out, name);
    else
        write_params(t, out, cel_type_write);
}

void cel_type_write_declared(const struct cel_type *t, struct buf *out)
{
    if (t->kind == CEL_T_PARAM)
        buf_add_printf(out, "<%.*s>", STR_ARG(t->name));
    else
        write_params(t, out, cel_type_write_declared);
}
