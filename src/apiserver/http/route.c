/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/http/route.h"

#include "net/url.h"

/* --- escapes ---------------------------------------------------------------------------------- */

bool route_decode(struct str text, bool plus, struct arena *a, struct str *ret_text)
{
    struct buf out = BUF_INIT;
    bool ok;

    if (str_find(text, '%') == text.n && (!plus || str_find(text, '+') == text.n)) {
        *ret_text = text;
        return true;
    }
    ok = url_decode(text, plus, &out) == 0;
    if (ok)
        *ret_text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return ok;
}

/* --- query parameters ------------------------------------------------------------------------- */

enum param_kind { PARAM_TEXT, PARAM_BOOL, PARAM_NUMBER };

struct param {
    const char *name;
    enum param_kind kind;
    size_t value; /* offset in struct api_query */
    size_t has;   /* offset of a bool that tells whether it was given; 0: none */
};

#define TEXT(name, member) {name, PARAM_TEXT, offsetof(struct api_query, member), 0}
#define TEXT_HAS(name, member, h) \
    {name, PARAM_TEXT, offsetof(struct api_query, member), offsetof(struct api_query, h)}
#define BOOL(name, member) {name, PARAM_BOOL, offsetof(struct api_query, member), 0}
#define BOOL_HAS(name, member, h) \
    {name, PARAM_BOOL, offsetof(struct api_query, member), offsetof(struct api_query, h)}
#define NUMBER(name, member) {name, PARAM_NUMBER, offsetof(struct api_query, member), 0}

static const struct param params[] = {
    TEXT("labelSelector", label_selector),
    TEXT("fieldSelector", field_selector),
    TEXT("resourceVersion", resource_version),
    TEXT("resourceVersionMatch", resource_version_match),
    TEXT("continue", continue_token),
    TEXT("fieldManager", field_manager),
    TEXT("fieldValidation", field_validation),
    TEXT_HAS("dryRun", dry_run, has_dry_run),
    TEXT("gracePeriodSeconds", grace_period),
    TEXT("propagationPolicy", propagation_policy),
    TEXT("orphanDependents", orphan_dependents),
    TEXT("includeObject", include_object),
    NUMBER("limit", limit),
    NUMBER("timeoutSeconds", timeout),
    BOOL("watch", watch),
    BOOL("allowWatchBookmarks", bookmarks),
    BOOL_HAS("force", force, has_force),
    BOOL_HAS("pretty", pretty, has_pretty),
    BOOL_HAS("sendInitialEvents", initial_events, has_initial_events),
    BOOL("verbose", verbose),
};

/*
 * Upstream's conversion of query values to bools: everything is true but "false" and "0", in any
 * case. An empty value is true, too.
 */
static bool param_true(struct str value)
{
    return !str_eq_fold(value, STR("false")) && !str_is(value, "0");
}

static void set_param(struct api_query *q, const struct param *p, struct str value)
{
    char *at = (char *)q + p->value;
    int64_t number;

    if (p->has)
        *((bool *)(void *)((char *)q + p->has)) = true;
    switch (p->kind) {
    case PARAM_TEXT:
        *(struct str *)(void *)at = value;
        break;
    case PARAM_BOOL:
        *(bool *)(void *)at = param_true(value);
        break;
    case PARAM_NUMBER:
        if (str_to_i64(value, &number)) {
            *(int64_t *)(void *)at = number;
        } else if (!q->bad) {
            q->bad = p->name;
            q->bad_value = value;
        }
        break;
    }
}

void api_query_parse(struct str query, struct arena *a, struct api_query *ret_query)
{
    struct str rest = query, key, value;
    unsigned seen = 0;

    *ret_query = (struct api_query){.timeout = -1};
    while (url_query_next(&rest, &key, &value)) {
        if (!route_decode(key, true, a, &key) || !route_decode(value, true, a, &value))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(params); i++) {
            if (!str_is(key, params[i].name) || (seen & 1U << i))
                continue;
            seen |= 1U << i;
            set_param(ret_query, &params[i], value);
        }
    }
}

/* --- paths ------------------------------------------------------------------------------------ */

#define MAX_PARTS 10 /* /apis/G/V/watch/namespaces/NS/RESOURCE/NAME/SUBRESOURCE/REST… */

struct parts {
    struct str v[MAX_PARTS];
    size_t n;
    struct str rest; /* behind the last of v */
};

static void split_path(struct str path, struct parts *p)
{
    struct str rest = path, part;

    while (rest.n > 0 && rest.p[0] == '/')
        rest = str_slice(rest, 1, rest.n);
    while (rest.n > 0 && rest.p[rest.n - 1] == '/')
        rest.n--;
    *p = (struct parts){0};
    while (rest.n > 0 && p->n < MAX_PARTS && str_split(&rest, '/', &part))
        p->v[p->n++] = part;
    p->rest = rest;
}

static struct str verb_of(struct str method)
{
    static const struct {
        const char *method, *verb;
    } verbs[] = {{"POST", "create"}, {"GET", "get"},     {"HEAD", "get"},
                 {"PUT", "update"},  {"PATCH", "patch"}, {"DELETE", "delete"}};

    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (str_is(method, verbs[i].method))
            return str_of(verbs[i].verb);
    return STR("");
}

static struct str lower(struct str text, struct arena *a)
{
    char *out = arena_alloc(a, text.n + 1, 1);

    for (size_t i = 0; i < text.n; i++)
        out[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] + 32 : text.p[i]);
    return (struct str){out, text.n};
}

/* The name that "metadata.name=x" selects, as upstream's RequestInfo takes it. */
static struct str selected_name(struct str fields)
{
    struct str rest = fields, term, name = {0};

    while (rest.n > 0 && str_split(&rest, ',', &term)) {
        struct str key = STR("metadata.name=");

        term = str_trim(term);
        if (!str_starts(term, key))
            continue;
        name = str_slice(term, key.n, term.n);
        if (name.n > 0 && name.p[0] == '=')
            name = str_slice(name, 1, name.n);
        if (str_find(name, '/') < name.n || str_find(name, '%') < name.n || str_is(name, ".") ||
            str_is(name, ".."))
            return (struct str){0};
    }
    return name;
}

/* v[at] is the resource or "namespaces". */
static void read_resource(struct api_route *r, const struct parts *p, size_t at)
{
    if (str_is(p->v[at], "namespaces") && p->n > at + 1) {
        r->namespace = p->v[at + 1];
        if (p->n > at + 2 && !str_is(p->v[at + 2], "status") && !str_is(p->v[at + 2], "finalize"))
            at += 2;
    }
    r->plural = p->v[at];
    if (p->n > at + 1)
        r->name = p->v[at + 1];
    if (p->n > at + 2)
        r->subresource = p->v[at + 2];
    if (p->n > at + 3) {
        r->rest.p = p->v[at + 3].p;
        r->rest.n = (size_t)(p->rest.n > 0 ? p->rest.p + p->rest.n - r->rest.p
                                           : p->v[p->n - 1].p + p->v[p->n - 1].n - r->rest.p);
    }
}

static void finish_verb(struct api_route *r, const struct api_query *query)
{
    if (str_empty(r->name) && str_is(r->verb, "get")) {
        r->verb = query->watch ? STR("watch") : STR("list");
        r->is_watch = query->watch;
        r->name = selected_name(query->field_selector);
    } else if (str_empty(r->name) && str_is(r->verb, "delete")) {
        r->verb = STR("deletecollection");
    }
}

void api_route_parse(struct str method, struct str path, const struct api_query *query,
                     struct arena *a, struct api_route *ret_route)
{
    struct api_route *r = ret_route;
    struct parts p;
    size_t at;

    *r = (struct api_route){.path = path, .verb = lower(method, a)};
    if (!route_decode(path, false, a, &r->path)) {
        r->bad_path = true;
        return;
    }
    split_path(r->path, &p);
    if (p.n < 3 || !(str_is(p.v[0], "api") || str_is(p.v[0], "apis")))
        return;
    at = str_is(p.v[0], "api") ? 1 : 2;
    if (p.n < at + 2)
        return;
    r->is_resource = true;
    r->group = at == 2 ? p.v[1] : STR("");
    r->version = p.v[at++];
    r->verb = verb_of(method);
    if (str_is(p.v[at], "watch") || str_is(p.v[at], "proxy")) {
        r->verb = p.v[at++];
        r->is_watch = str_is(r->verb, "watch");
        r->bad_path = at >= p.n;
        if (r->bad_path)
            return;
    }
    read_resource(r, &p, at);
    finish_verb(r, query);
}
