/* SPDX-License-Identifier: Apache-2.0 */
/* Paths: variables, fields and indexes, with upstream's rules for what is absent. */
#include "cel/run.h"

/* The value of a step: error, or absent (of an optional path), or the value. */
struct step {
    struct cel_value value;
    bool absent;
};

static struct step failed(struct cel_run *r, const char *what, struct cel_value key)
{
    struct buf text;
    buf_init(&text, 1024);
    cel_value_write(key, &text);
    struct step s = {.value = cel_error(r->eval.arena, "%s%.*s", what, STR_ARG(buf_str(&text)))};
    buf_release(&text);
    return s;
}

static struct step absent_or(struct cel_run *r, bool if_present, const char *what,
                             struct cel_value key)
{
    return if_present ? (struct step){.absent = true} : failed(r, what, key);
}

/* The index of a list as a number; false if the value is none (*ret_error says why). */
static bool list_index(struct cel_run *r, struct cel_value key, int64_t *ret,
                       struct cel_value *ret_error)
{
    bool whole = true;
    switch (key.kind) {
    case CEL_INT:
        *ret = key.i;
        return true;
    case CEL_UINT:
        whole = key.u <= INT64_MAX;
        *ret = (int64_t)key.u;
        break;
    case CEL_DOUBLE:
        whole = key.d > -0x1p63 && key.d < 0x1p63 && key.d == (double)(int64_t)key.d;
        *ret = whole ? (int64_t)key.d : 0;
        break;
    default:
        *ret_error = cel_error(r->eval.arena, "unsupported index type '%.*s' in list",
                               STR_ARG(cel_type_of(key)->name));
        return false;
    }
    if (whole)
        return true;
    struct buf text = BUF_INIT;
    cel_value_write(key, &text);
    *ret_error =
        cel_error(r->eval.arena, "unsupported index value %.*s in list", STR_ARG(buf_str(&text)));
    buf_release(&text);
    return false;
}

static struct step index_list(struct cel_run *r, const struct cel_list *list, struct cel_value key,
                              bool if_present)
{
    int64_t i;
    struct step s = {.absent = false};
    if (!list_index(r, key, &i, &s.value))
        return s;
    if (i >= 0 && (uint64_t)i < list->n)
        return (struct step){.value = cel_list_at(list, (uint64_t)i)};
    return absent_or(r, if_present, "index out of bounds: ", key);
}

static struct step apply(struct cel_run *r, struct cel_value object, struct cel_value key,
                         bool if_present)
{
    if (object.kind == CEL_LIST)
        return index_list(r, object.list, key, if_present);
    const struct cel_value *found = object.kind == CEL_MAP ? cel_map_find(object.map, key) : NULL;
    return found ? (struct step){.value = *found} : absent_or(r, if_present, "no such key: ", key);
}

/* The key of a step that is computed. An error if it fails or cannot be a key. */
static struct cel_value key_of(struct cel_run *r, const struct cel_qualifier *q)
{
    if (q->kind == CEL_QUAL_CONST)
        return q->value;
    struct cel_value key =
        q->kind == CEL_QUAL_ATTR ? cel_attr_resolve(r, q->attr) : cel_eval_node(r, q->node);
    switch (key.kind) {
    case CEL_STRING:
    case CEL_BOOL:
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
    case CEL_ERROR:
        return key;
    default:
        return cel_error(r->eval.arena, "invalid qualifier type: %.*s", STR_ARG(cel_go_type(key)));
    }
}

/* One step, charged. An absent value and an error of an optional path are not, unless the step only
 * tests for it. */
static struct step take_step(struct cel_run *r, const struct cel_qualifier *q,
                             struct cel_value object, bool if_present)
{
    struct cel_value key = key_of(r, q);
    struct step s = {.value = key};
    if (!cel_is_error(key))
        s = apply(r, object, key, if_present || q->test_only);
    if ((s.absent && (if_present || !q->test_only)) || (cel_is_error(s.value) && if_present))
        return s;
    if (q->test_only && !cel_is_error(s.value))
        s = (struct step){.value = cel_bool(!s.absent)};
    if (q->kind == CEL_QUAL_NODE)
        cel_stack_drop(r, q->id, NULL);
    cel_charge(r, 1);
    cel_stack_push(r, q->id, s.value);
    return s;
}

/* A value inside an optional loses the default of device.attributes, as upstream unwraps it. */
static struct cel_value without_fallback(struct cel_run *r, struct cel_value v)
{
    if (v.kind != CEL_MAP || !v.map->fallback)
        return v;
    struct cel_map *map = arena_new(r->eval.arena, struct cel_map);
    *map = *v.map;
    map->fallback = NULL;
    return cel_map_value(map);
}

static struct cel_value follow(struct cel_run *r, const struct cel_attr *attr,
                               struct cel_value object)
{
    bool optional = object.kind == CEL_OPTIONAL;
    if (optional) {
        if (!object.optional)
            return object;
        if (attr->n == 0)
            return object;
        object = without_fallback(r, *object.optional);
    }
    for (size_t i = 0; i < attr->n; i++) {
        optional = optional || attr->qualifiers[i]->optional;
        struct step s = take_step(r, attr->qualifiers[i], object, optional);
        if (s.absent)
            return cel_none();
        if (cel_is_error(s.value) || r->eval.exceeded)
            return s.value;
        object = s.value;
    }
    return optional ? cel_optional_of(r->eval.arena, object) : object;
}

/* The accumulator is computed when it is first read; an empty list or map then grows in place. */
static struct cel_value read_accu(struct cel_run *r, struct cel_frame *f)
{
    if (f->initialized)
        return f->accu;
    f->initialized = true;
    f->accu = cel_eval_node(r, f->init);
    if (f->accu.kind == CEL_LIST && f->accu.list->n == 0) {
        struct cel_list *list = arena_new(r->eval.arena, struct cel_list);
        list->grows = true;
        f->accu.list = list;
    } else if (f->accu.kind == CEL_MAP && f->accu.map->n == 0) {
        struct cel_map *map = cel_map_new(r->eval.arena, 0);
        map->grows = true;
        f->accu.map = map;
    }
    return f->accu;
}

static struct cel_value read_variable(struct cel_run *r, const struct cel_attr *attr)
{
    switch (attr->var) {
    case CEL_VAR_ACCU:
        return read_accu(r, &r->frames[attr->frame]);
    case CEL_VAR_ITER:
        return r->frames[attr->frame].iter;
    case CEL_VAR_ITER2:
        return r->frames[attr->frame].iter2;
    case CEL_VAR_DEVICE:
        break;
    }
    return r->device;
}

struct cel_value cel_attr_resolve(struct cel_run *r, const struct cel_attr *attr)
{
    struct cel_value v;
    switch (attr->kind) {
    case CEL_ATTR_VAR:
        v = read_variable(r, attr);
        break;
    case CEL_ATTR_NODE:
        v = cel_eval_node(r, attr->node);
        break;
    case CEL_ATTR_CONDITIONAL:
    default:
        v = cel_eval_node(r, attr->node);
        if (v.kind != CEL_BOOL)
            return cel_is_error(v) ? v : cel_no_such_overload();
        return cel_attr_resolve(r, v.b ? attr->yes : attr->no);
    }
    return cel_is_error(v) || r->eval.exceeded ? v : follow(r, attr, v);
}
