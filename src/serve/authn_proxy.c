/* SPDX-License-Identifier: Apache-2.0 */
/* Users in the request headers of a front proxy. */
#include "codec/json.h"
#include "net/url.h"
#include "serve/authn_internal.h"

static authn_names copy_names(authn_names names, struct arena *a)
{
    authn_names copy = {arena_array(a, struct str, names.n), names.n};
    for (size_t i = 0; i < names.n; i++)
        copy.v[i] = arena_dup(a, names.v[i]);
    return copy;
}

struct authn_proxy authn_proxy_copy(const struct authn_proxy *proxy, struct arena *a)
{
    return (struct authn_proxy){
        .allowed_names = copy_names(proxy->allowed_names, a),
        .username_headers = copy_names(proxy->username_headers, a),
        .uid_headers = copy_names(proxy->uid_headers, a),
        .group_headers = copy_names(proxy->group_headers, a),
        .extra_prefixes = copy_names(proxy->extra_prefixes, a),
    };
}

bool authn_proxy_allows(const struct authn_proxy *proxy, struct str common_name)
{
    for (size_t i = 0; i < proxy->allowed_names.n; i++)
        if (str_eq(proxy->allowed_names.v[i], common_name))
            return true;
    return proxy->allowed_names.n == 0;
}

/* The first non-empty value, in the order of names. */
static struct str first_value(const struct http_headers *headers, authn_names names)
{
    for (size_t i = 0; i < names.n; i++)
        for (size_t k = 0; k < headers->list.n; k++)
            if (str_eq_fold(headers->list.v[k].name, names.v[i])) {
                if (headers->list.v[k].value.n)
                    return headers->list.v[k].value;
                break;
            }
    return (struct str){0};
}

static void take_groups(const struct authn_proxy *proxy, const struct http_headers *headers,
                        struct arena *a, struct user_info *user)
{
    authn_names names = proxy->group_headers;
    user->groups.v = arena_array(a, struct str, headers->list.n * names.n);
    for (size_t i = 0; i < names.n; i++)
        for (size_t k = 0; k < headers->list.n; k++)
            if (str_eq_fold(headers->list.v[k].name, names.v[i]) && headers->list.v[k].value.n)
                user->groups.v[user->groups.n++] = arena_dup(a, headers->list.v[k].value);
}

struct extra {
    struct str key, value;
};

/* The key in lower case, percent-decoded if possible. */
static struct str extra_key(struct str name, struct arena *a)
{
    struct buf key = BUF_INIT, lower = BUF_INIT;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        buf_add_char(&lower, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
    }
    bool ok = url_decode(buf_str(&lower), false, &key) == 0;
    struct str copy = arena_dup(a, ok ? buf_str(&key) : buf_str(&lower));
    buf_release(&key);
    buf_release(&lower);
    return copy;
}

static size_t collect_extra(const struct authn_proxy *proxy, const struct http_headers *headers,
                            struct arena *a, struct extra *out)
{
    size_t n = 0;
    for (size_t i = 0; i < proxy->extra_prefixes.n; i++) {
        struct str prefix = proxy->extra_prefixes.v[i];
        for (size_t k = 0; k < headers->list.n; k++) {
            struct http_header h = headers->list.v[k];
            if (h.name.n >= prefix.n && str_eq_fold(str_slice(h.name, 0, prefix.n), prefix))
                out[n++] =
                    (struct extra){extra_key(str_slice(h.name, prefix.n, h.name.n), a), h.value};
        }
    }
    return n;
}

/* {"key":["value", …], …}, with each key once. */
static struct str write_extra(const struct extra *extra, size_t n, struct arena *a)
{
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = str_eq(extra[k].key, extra[i].key);
        if (seen)
            continue;
        buf_add_char(&out, out.n ? ',' : '{');
        json_write_str(&out, extra[i].key);
        for (size_t k = i; k < n; k++) {
            if (!str_eq(extra[k].key, extra[i].key))
                continue;
            buf_add_cstr(&out, k == i ? ":[" : ",");
            json_write_str(&out, extra[k].value);
        }
        buf_add_char(&out, ']');
    }
    if (out.n)
        buf_add_char(&out, '}');
    struct str text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return text;
}

bool authn_proxy_user(const struct authn_proxy *proxy, const struct http_headers *headers,
                      struct arena *a, struct user_info *ret_user)
{
    struct str name = first_value(headers, proxy->username_headers);
    if (str_empty(name))
        return false;
    struct user_info user = {.username = arena_dup(a, name),
                             .uid = arena_dup(a, first_value(headers, proxy->uid_headers))};
    take_groups(proxy, headers, a, &user);
    struct extra *extra = arena_array(a, struct extra, headers->list.n * proxy->extra_prefixes.n);
    user.extra = write_extra(extra, collect_extra(proxy, headers, a, extra), a);
    *ret_user = user;
    return true;
}
