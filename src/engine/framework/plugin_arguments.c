/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/plugin_arguments.h"

#include <errno.h>
#include <math.h>

#include "api/quantity.h"
#include "base/time.h"
#include "codec/json_value.h"

/* A value that is being read, and where it is: "resources[0].weight". */
struct reading {
    struct arena *arena;
    struct buf path;
    struct err *reterr;
};

static int fail(const struct reading *r, const char *what)
{
    struct str path = buf_str(&r->path);
    return path.n ? err_set(r->reterr, -EINVAL, "%.*s: %s", STR_ARG(path), what)
                  : err_set(r->reterr, -EINVAL, "%s", what);
}

static void *member(void *args, const struct berth_arg *arg)
{
    return (char *)args + arg->offset;
}

static int read_value(struct reading *r, const struct berth_arg *arg, enum berth_arg_kind kind,
                      const struct json_value *v, void *out);
static int read_fields(struct reading *r, const struct berth_arg *table,
                       const struct json_value *object, bool top, void *out);

/* --- scalars ---------------------------------------------------------------------------------- */

static int check_bounds(const struct reading *r, const struct berth_arg *arg, double value)
{
    if (!(arg->flags & BERTH_ARG_BOUNDED) ||
        (value >= (double)arg->min && value <= (double)arg->max))
        return 0;
    char text[96];
    snprintf(text, sizeof(text), "must be between %lld and %lld", (long long)arg->min,
             (long long)arg->max);
    return fail(r, text);
}

static int read_int(const struct reading *r, const struct berth_arg *arg,
                    const struct json_value *v, int64_t *out)
{
    if (v->kind != JSON_NUMBER || !str_to_i64(v->text, out))
        return fail(r, "must be an integer");
    return check_bounds(r, arg, (double)*out);
}

static int read_double(const struct reading *r, const struct berth_arg *arg,
                       const struct json_value *v, double *out)
{
    if (v->kind != JSON_NUMBER)
        return fail(r, "must be a number");
    *out = strtod(arena_dup(r->arena, v->text).p, NULL);
    if (!isfinite(*out))
        return fail(r, "is too large");
    return check_bounds(r, arg, *out);
}

static int read_duration(const struct reading *r, const struct berth_arg *arg,
                         const struct json_value *v, int64_t *out)
{
    if (v->kind != JSON_STRING || !duration_parse(v->text, out))
        return fail(r, "must be a duration such as \"1m30s\"");
    return check_bounds(r, arg, (double)*out);
}

static int read_quantity(const struct reading *r, const struct berth_arg *arg,
                         const struct json_value *v, int64_t *out)
{
    struct quantity q;
    if ((v->kind != JSON_STRING && v->kind != JSON_NUMBER) ||
        quantity_parse(v->text, r->arena, &q, NULL) < 0)
        return fail(r, "must be a quantity such as \"100m\"");
    *out = quantity_milli_value(&q);
    return check_bounds(r, arg, (double)*out);
}

/* Is the text one of "A|B|C"? */
static bool is_choice(struct str choices, struct str text)
{
    while (choices.n) {
        size_t n = str_find(choices, '|');
        if (str_eq(str_slice(choices, 0, n), text))
            return true;
        choices = str_slice(choices, n + 1, choices.n);
    }
    return false;
}

static int read_string(const struct reading *r, const struct berth_arg *arg,
                       const struct json_value *v, struct berth_str *out)
{
    if (v->kind != JSON_STRING)
        return fail(r, "must be a string");
    if ((arg->flags & BERTH_ARG_NOT_EMPTY) && !v->text.n)
        return fail(r, "must not be empty");
    if (arg->choices && !is_choice(str_of(arg->choices), v->text)) {
        char text[160];
        snprintf(text, sizeof(text), "must be one of %s", arg->choices);
        return fail(r, text);
    }
    *out = abi_str(arena_dup(r->arena, v->text));
    return 0;
}

/* --- lists, objects --------------------------------------------------------------------------- */

static int read_list(struct reading *r, const struct berth_arg *arg, const struct json_value *v,
                     struct berth_list *out)
{
    if (v->kind != JSON_ARRAY)
        return fail(r, "must be a list");
    if ((arg->flags & BERTH_ARG_NOT_EMPTY) && !v->n)
        return fail(r, "must not be empty");
    *out = (struct berth_list){0};
    if (!v->n)
        return 0;
    char *items = arena_alloc(r->arena, v->n * arg->size, _Alignof(max_align_t));
    *out = (struct berth_list){items, v->n};
    size_t n = r->path.n;
    for (size_t i = 0; i < v->n; i++) {
        buf_add_printf(&r->path, "[%zu]", i);
        int e = read_value(r, arg, arg->item, &v->items[i], items + i * arg->size);
        if (e < 0)
            return e;
        r->path.n = n;
    }
    return 0;
}

static int read_json(const struct reading *r, const struct json_value *v, struct berth_str *out)
{
    struct buf text = BUF_INIT;
    json_write(v, &text);
    *out = abi_str(arena_dup(r->arena, buf_str(&text)));
    buf_release(&text);
    return 0;
}

static int read_value(struct reading *r, const struct berth_arg *arg, enum berth_arg_kind kind,
                      const struct json_value *v, void *out)
{
    switch (kind) {
    case BERTH_ARG_BOOL:
        if (v->kind != JSON_BOOL)
            return fail(r, "must be true or false");
        *(bool *)out = v->boolean;
        return 0;
    case BERTH_ARG_INT:
        return read_int(r, arg, v, out);
    case BERTH_ARG_DOUBLE:
        return read_double(r, arg, v, out);
    case BERTH_ARG_STRING:
        return read_string(r, arg, v, out);
    case BERTH_ARG_DURATION:
        return read_duration(r, arg, v, out);
    case BERTH_ARG_QUANTITY:
        return read_quantity(r, arg, v, out);
    case BERTH_ARG_OBJECT:
        return v->kind == JSON_OBJECT ? read_fields(r, arg->fields, v, false, out)
                                      : fail(r, "must be an object");
    case BERTH_ARG_LIST:
        return read_list(r, arg, v, out);
    case BERTH_ARG_JSON:
        return read_json(r, v, out);
    }
    return fail(r, "the plugin's table has an unknown kind of argument here");
}

static void clear(const struct berth_arg *arg, void *out)
{
    switch (arg->kind) {
    case BERTH_ARG_BOOL:
        *(bool *)out = false;
        break;
    case BERTH_ARG_INT:
    case BERTH_ARG_DURATION:
    case BERTH_ARG_QUANTITY:
        *(int64_t *)out = 0;
        break;
    case BERTH_ARG_DOUBLE:
        *(double *)out = 0;
        break;
    case BERTH_ARG_STRING:
        *(struct berth_str *)out = BERTH_STR("");
        break;
    case BERTH_ARG_LIST:
        *(struct berth_list *)out = (struct berth_list){0};
        break;
    case BERTH_ARG_JSON:
        *(struct berth_str *)out = BERTH_STR("null");
        break;
    case BERTH_ARG_OBJECT:
        break;
    }
}

/* The default of an argument that is not given. */
static int read_default(struct reading *r, const struct berth_arg *arg, void *out)
{
    static const struct json_value nothing = {.kind = JSON_OBJECT};
    struct json_value v;
    if (arg->flags & BERTH_ARG_REQUIRED)
        return fail(r, "is required");
    if (arg->value) {
        int e = json_parse(str_of(arg->value), 0, r->arena, &v, r->reterr);
        return e < 0 ? fail(r, "the plugin's default is not JSON")
                     : read_value(r, arg, arg->kind, &v, out);
    }
    if (arg->kind == BERTH_ARG_OBJECT)
        return read_fields(r, arg->fields, &nothing, false, out);
    clear(arg, out);
    if (arg->flags & BERTH_ARG_NOT_EMPTY)
        return fail(r, "must not be empty");
    return 0;
}

static bool is_known(const struct berth_arg *table, struct str name, bool top)
{
    if (top && (str_is(name, "apiVersion") || str_is(name, "kind")))
        return true;
    for (const struct berth_arg *arg = table; arg->name; arg++)
        if (str_is(name, arg->name))
            return true;
    return false;
}

static void enter(struct reading *r, struct str name)
{
    buf_add_printf(&r->path, "%s%.*s", r->path.n ? "." : "", STR_ARG(name));
}

static int read_fields(struct reading *r, const struct berth_arg *table,
                       const struct json_value *object, bool top, void *out)
{
    size_t n = r->path.n;
    for (size_t i = 0; i < object->n_members; i++)
        if (!is_known(table, object->members[i].key, top)) {
            enter(r, object->members[i].key);
            return fail(r, "unknown field");
        }
    for (const struct berth_arg *arg = table; arg->name; arg++) {
        const struct json_value *v = json_get(object, str_of(arg->name));
        enter(r, str_of(arg->name));
        int e = v && v->kind != JSON_NULL ? read_value(r, arg, arg->kind, v, member(out, arg))
                                          : read_default(r, arg, member(out, arg));
        if (e < 0)
            return e;
        r->path.n = n;
    }
    return 0;
}

int plugin_arguments_read(struct str text, const struct berth_arg *table, struct arena *a,
                          void *ret_args, struct err *reterr)
{
    static const struct berth_arg none[] = {{0}};
    struct reading r = {.arena = a, .path = BUF_INIT, .reterr = reterr};
    struct json_value v;
    int e = json_parse(str_empty(text) ? STR("{}") : text, JSON_STRICT, a, &v, reterr);
    if (e == 0)
        e = v.kind == JSON_OBJECT ? read_fields(&r, table ? table : none, &v, true, ret_args)
                                  : fail(&r, "must be an object");
    buf_release(&r.path);
    return e;
}
