/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' URL library. */
#include "base/vec.h"
#include "cel/lib.h"
#include "cel/url.h"

#define QUERY_PARAMETERS_MAX 10000 /* as Go */

const struct cel_type cel_url_type = CEL_OBJECT_TYPE("kubernetes.URL");

struct url_object {
    struct cel_object base;
    struct go_url url;
    struct str text; /* what equality compares */
};

static const struct url_object *object_in(struct cel_value v)
{
    return (const struct url_object *)(const void *)v.object;
}

static enum cel_equality urls_equal(const struct cel_object *a, struct cel_value b)
{
    if (b.kind != CEL_OBJECT || b.object->class != a->class)
        return CEL_NOT_COMPARABLE;
    return str_eq(((const struct url_object *)(const void *)a)->text, object_in(b)->text)
               ? CEL_EQUAL
               : CEL_UNEQUAL;
}

static const struct cel_object_class url_class = {&cel_url_type, urls_equal, NULL};

static struct cel_value new_url(struct arena *a, const struct go_url *url)
{
    struct url_object *o = arena_new(a, struct url_object);
    struct buf b = BUF_INIT;
    o->base.class = &url_class;
    o->url = *url;
    go_url_write(url, a, &b);
    o->text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return cel_object(&o->base);
}

static struct cel_value to_url(const struct cel_call *call)
{
    struct arena *a = call->eval->arena;
    struct buf error = BUF_INIT;
    struct go_url url;
    struct cel_value v;
    buf_add_cstr(&error, "URL parse error during conversion from string: ");
    if (go_url_parse(call->args[0].s, true, a, &url, &error) &&
        go_url_parse(call->args[0].s, false, a, &url, &error))
        v = new_url(a, &url);
    else
        v = cel_error_text(a, &error);
    buf_release(&error);
    return v;
}

bool cel_is_request_uri(struct str text, struct buf *error)
{
    struct arena a;
    struct go_url url;
    arena_init(&a, 0);
    bool valid = go_url_parse(text, true, &a, &url, error);
    arena_release(&a);
    return valid;
}

static struct cel_value is_url(const struct cel_call *call)
{
    struct buf error = BUF_INIT;
    bool valid = cel_is_request_uri(call->args[0].s, &error);
    buf_release(&error);
    return cel_bool(valid);
}

static struct cel_value get_scheme(const struct cel_call *call)
{
    return cel_string(object_in(call->args[0])->url.scheme);
}

static struct cel_value get_host(const struct cel_call *call)
{
    return cel_string(object_in(call->args[0])->url.host);
}

static struct cel_value get_hostname(const struct cel_call *call)
{
    struct str name, port;
    go_url_split_host(&object_in(call->args[0])->url, &name, &port);
    return cel_string(name);
}

static struct cel_value get_port(const struct cel_call *call)
{
    struct str name, port;
    go_url_split_host(&object_in(call->args[0])->url, &name, &port);
    return cel_string(port);
}

static struct cel_value get_escaped_path(const struct cel_call *call)
{
    return cel_string(go_url_escaped_path(&object_in(call->args[0])->url, call->eval->arena));
}

/* --- query ------------------------------------------------------------------------------------ */

struct pair {
    struct str key, value;
    size_t at; /* position in the query */
};

/* Parameters that are not valid, or contain a semicolon, are left out. */
static struct pair *parse_query(struct str query, struct arena *a, size_t *ret_n)
{
    struct str one;
    size_t max = 1, n = 0;
    for (size_t i = 0; i < query.n; i++)
        max += query.p[i] == '&';
    *ret_n = 0;
    if (max > QUERY_PARAMETERS_MAX)
        return NULL;
    struct pair *pairs = arena_array(a, struct pair, max);
    while (n < max && str_split(&query, '&', &one)) {
        size_t equals = str_find(one, '=');
        struct pair pair = {.at = n};
        if (one.n > 0 && str_find(one, ';') == one.n &&
            go_url_query_unescape(str_slice(one, 0, equals), a, &pair.key) &&
            go_url_query_unescape(str_slice(one, equals + 1, one.n), a, &pair.value))
            pairs[n++] = pair;
    }
    *ret_n = n;
    return pairs;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int order = str_cmp(x->key, y->key);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static struct cel_value get_query(const struct cel_call *call)
{
    struct arena *a = call->eval->arena;
    size_t n;
    struct pair *pairs = parse_query(object_in(call->args[0])->url.raw_query, a, &n);
    if (n > 1)
        qsort(pairs, n, sizeof(*pairs), compare_pairs);
    struct cel_map *map = cel_map_new(a, n);
    struct cel_value *values = arena_array(a, struct cel_value, n);
    for (size_t i = 0, from = 0; i < n; i++) {
        values[i] = cel_string(pairs[i].value);
        if (i + 1 < n && str_eq(pairs[i].key, pairs[i + 1].key))
            continue;
        (void)cel_map_put(a, map, cel_string(pairs[from].key),
                          cel_list_of(a, values + from, i + 1 - from));
        from = i + 1;
    }
    return cel_map_value(map);
}

/* --- table ------------------------------------------------------------------------------------ */

static bool estimate_url(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    ret->cost = cel_range_scale(call->args[0].size, CEL_TRAVERSAL);
    ret->sized = true;
    ret->size = call->args[0].size;
    return true;
}

static const struct cel_type query_type = CEL_MAP_OF(&cel_string_type, &cel_list_string_type);

#define ROW(name, row_id, type, function_) \
    {.function = name,                     \
     .id = row_id,                         \
     .flags = CEL_MEMBER,                  \
     .n_args = 1,                          \
     .args = {&cel_url_type},              \
     .result = &(type),                    \
     .fn = (function_)}

static const struct cel_overload overloads[] = {
    {.function = "url",
     .id = "string_to_url",
     .flags = CEL_COST_BY_NAME,
     .n_args = 1,
     .args = {&cel_string_type},
     .result = &cel_url_type,
     .fn = to_url,
     .cost = cel_cost_read,
     .estimate = estimate_url},
    ROW("getScheme", "url_get_scheme", cel_string_type, get_scheme),
    ROW("getHost", "url_get_host", cel_string_type, get_host),
    ROW("getHostname", "url_get_hostname", cel_string_type, get_hostname),
    ROW("getPort", "url_get_port", cel_string_type, get_port),
    ROW("getEscapedPath", "url_get_escaped_path", cel_string_type, get_escaped_path),
    ROW("getQuery", "url_get_query", query_type, get_query),
    {.function = "isURL",
     .id = "is_url_string",
     .n_args = 1,
     .args = {&cel_string_type},
     .result = &cel_bool_type,
     .fn = is_url},
};
const struct cel_library cel_lib_url = {overloads, ARRAY_LEN(overloads), NULL, 0};
