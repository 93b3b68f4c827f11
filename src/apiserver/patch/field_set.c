/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/patch/field_set.h"

/* --- path elements ---------------------------------------------------------------------------- */

static struct str with_json(const char *prefix, const struct json_value *v, struct arena *a)
{
    struct buf text = BUF_INIT;
    struct str s;

    buf_add_cstr(&text, prefix);
    json_write(v, &text);
    s = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return s;
}

struct path_element path_of_field(struct str name, struct arena *a)
{
    return (struct path_element){.kind = PATH_FIELD,
                                 .text = arena_printf(a, "f:%.*s", STR_ARG(name))};
}

struct path_element path_of_value(const struct json_value *v, struct arena *a)
{
    return (struct path_element){.kind = PATH_VALUE, .text = with_json("v:", v, a), .value = *v};
}

static int compare_members(const void *a, const void *b)
{
    const struct json_member *x = a, *y = b;

    return str_cmp(x->key, y->key);
}

struct path_element path_of_key(const struct json_value *key, struct arena *a)
{
    struct path_element e = {.kind = PATH_KEY, .value = *key};

    e.value.members = arena_array(a, struct json_member, key->n_members);
    if (key->n_members > 0)
        memcpy(e.value.members, key->members, key->n_members * sizeof(*key->members));
    qsort(e.value.members, e.value.n_members, sizeof(*key->members), compare_members);
    e.text = with_json("k:", &e.value, a);
    return e;
}

struct str path_name(const struct path_element *e)
{
    return str_slice(e->text, 2, e->text.n);
}

void path_write(const struct path_element *e, struct buf *out)
{
    switch (e->kind) {
    case PATH_FIELD:
        buf_add_printf(out, ".%.*s", STR_ARG(path_name(e)));
        break;
    case PATH_KEY:
        buf_add_char(out, '[');
        for (size_t i = 0; i < e->value.n_members; i++) {
            buf_add_printf(out, "%s%.*s=", i ? "," : "", STR_ARG(e->value.members[i].key));
            json_write(&e->value.members[i].value, out);
        }
        buf_add_char(out, ']');
        break;
    case PATH_VALUE:
        buf_add_printf(out, "[=%.*s]", STR_ARG(path_name(e)));
        break;
    case PATH_INDEX:
        buf_add_printf(out, "[%.*s]", STR_ARG(path_name(e)));
        break;
    }
}

/* --- order ------------------------------------------------------------------------------------ */

static double number_of(const struct json_value *v)
{
    char *copy = str_dup(v->text);
    double d = strtod(copy, NULL);

    free(copy);
    return d;
}

static int compare_numbers(const struct json_value *x, const struct json_value *y)
{
    int64_t m, n;

    if (str_to_i64(x->text, &m) && str_to_i64(y->text, &n))
        return (m > n) - (m < n);
    double c = number_of(x), d = number_of(y);

    return (c > d) - (c < d);
}

/* Numbers before strings before booleans, as upstream's value.Compare. */
static int rank_of(enum json_kind kind)
{
    static const int ranks[] = {[JSON_NUMBER] = 0, [JSON_STRING] = 1, [JSON_BOOL] = 2,
                                [JSON_ARRAY] = 3,  [JSON_OBJECT] = 4, [JSON_NULL] = 5};

    return ranks[kind];
}

static int compare_values(const struct json_value *x, const struct json_value *y)
{
    if (x->kind != y->kind)
        return rank_of(x->kind) - rank_of(y->kind);
    switch (x->kind) {
    case JSON_NUMBER:
        return compare_numbers(x, y);
    case JSON_STRING:
        return str_cmp(x->text, y->text);
    case JSON_BOOL:
        return x->boolean - y->boolean;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return 0;
}

static int compare_keys(const struct json_value *x, const struct json_value *y)
{
    for (size_t i = 0; i < x->n_members && i < y->n_members; i++) {
        int c = str_cmp(x->members[i].key, y->members[i].key);

        if (c == 0)
            c = compare_values(&x->members[i].value, &y->members[i].value);
        if (c)
            return c;
    }
    return (x->n_members > y->n_members) - (x->n_members < y->n_members);
}

static int compare_elements(const struct path_element *x, const struct path_element *y)
{
    int c = 0;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->kind == PATH_KEY)
        c = compare_keys(&x->value, &y->value);
    else if (x->kind == PATH_VALUE)
        c = compare_values(&x->value, &y->value);
    /* Values of other kinds, such as objects, have no order of their own. */
    return c ? c : str_cmp(x->text, y->text);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct field_node *x = a, *y = b;

    return compare_elements(&x->e, &y->e);
}

void field_set_sort(struct field_set *s)
{
    for (size_t i = 1; i < s->n; i++) {
        if (compare_nodes(&s->v[i - 1], &s->v[i]) > 0) {
            qsort(s->v, s->n, sizeof(*s->v), compare_nodes);
            return;
        }
    }
}

const struct field_node *field_set_find(const struct field_set *s, const struct path_element *e)
{
    size_t from = 0, to = s->n;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = compare_elements(&s->v[mid].e, e);

        if (c == 0)
            return &s->v[mid];
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

/* --- operations ------------------------------------------------------------------------------- */

/* Depth is that of the paths, which come from parsed JSON: at most JSON_MAX_DEPTH. */
struct field_set field_set_union(struct field_set x, struct field_set y, struct arena *a)
{
    struct field_set out = {0};
    size_t i = 0, j = 0;

    if (x.n == 0 || y.n == 0)
        return x.n ? x : y;
    out.v = arena_array(a, struct field_node, x.n + y.n);
    while (i < x.n || j < y.n) {
        int c = i == x.n ? 1 : j == y.n ? -1 : compare_elements(&x.v[i].e, &y.v[j].e);
        struct field_node *to = &out.v[out.n++];

        if (c < 0) {
            *to = x.v[i++];
        } else if (c > 0) {
            *to = y.v[j++];
        } else {
            *to = x.v[i];
            to->member |= y.v[j].member;
            to->below = field_set_union(x.v[i++].below, y.v[j++].below, a);
        }
    }
    return out;
}

struct field_set field_set_intersection(struct field_set x, struct field_set y, struct arena *a)
{
    struct field_set out = {0};
    size_t i = 0, j = 0;

    if (x.n == 0 || y.n == 0)
        return out;
    out.v = arena_array(a, struct field_node, MIN(x.n, y.n));
    while (i < x.n && j < y.n) {
        int c = compare_elements(&x.v[i].e, &y.v[j].e);

        if (c < 0) {
            i++;
        } else if (c > 0) {
            j++;
        } else {
            struct field_node *to = &out.v[out.n];

            *to = x.v[i];
            to->member = x.v[i].member && y.v[j].member;
            to->below = field_set_intersection(x.v[i++].below, y.v[j++].below, a);
            if (to->member || to->below.n > 0)
                out.n++;
        }
    }
    return out;
}

static struct field_set subtract(struct field_set x, struct field_set y, bool recursive,
                                 struct arena *a)
{
    struct field_set out = {0};
    size_t j = 0;

    if (x.n == 0 || y.n == 0)
        return x;
    out.v = arena_array(a, struct field_node, x.n);
    for (size_t i = 0; i < x.n; i++) {
        struct field_node *to = &out.v[out.n];

        while (j < y.n && compare_elements(&y.v[j].e, &x.v[i].e) < 0)
            j++;
        *to = x.v[i];
        if (j < y.n && compare_elements(&y.v[j].e, &x.v[i].e) == 0) {
            to->member = x.v[i].member && !y.v[j].member;
            to->below = recursive && y.v[j].member
                            ? (struct field_set){0}
                            : subtract(x.v[i].below, y.v[j].below, recursive, a);
        }
        if (to->member || to->below.n > 0)
            out.n++;
    }
    return out;
}

struct field_set field_set_difference(struct field_set x, struct field_set y, struct arena *a)
{
    return subtract(x, y, false, a);
}

struct field_set field_set_exclude(struct field_set x, struct field_set y, struct arena *a)
{
    return subtract(x, y, true, a);
}

static void each(const struct field_set *s, struct buf *path, field_path_fn *fn, void *ctx)
{
    size_t n = path->n;

    for (size_t i = 0; i < s->n; i++) {
        if (!s->v[i].member)
            continue;
        path_write(&s->v[i].e, path);
        fn(ctx, buf_str(path));
        path->n = n;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].below.n == 0)
            continue;
        path_write(&s->v[i].e, path);
        each(&s->v[i].below, path, fn, ctx);
        path->n = n;
    }
}

void field_set_each(const struct field_set *s, field_path_fn *fn, void *ctx)
{
    struct buf path = BUF_INIT;

    each(s, &path, fn, ctx);
    buf_release(&path);
}
