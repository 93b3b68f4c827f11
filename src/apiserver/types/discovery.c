/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/types/discovery.h"

#include "base/vec.h"
#include "codec/base64.h"
#include "codec/json.h"
#include "codec/sha256.h"

#define EACH_RESOURCE(r, rs) \
    for (const struct resource *r = resources_next(rs, NULL); r; r = resources_next(rs, r))

/* --- groups and versions ---------------------------------------------------------------------- */

typedef VEC(struct discovery_group) group_vec;

static void add_version(struct discovery_group *g, struct str version, struct arena *a)
{
    size_t at = 0;
    for (size_t i = 0; i < g->n_versions; i++) {
        int order = resource_version_compare(g->versions[i], version);
        if (order == 0 && str_eq(g->versions[i], version))
            return;
        if (order >= 0)
            at = i + 1;
    }
    struct str *grown = arena_array(a, struct str, g->n_versions + 1);
    for (size_t i = 0; i < g->n_versions; i++)
        grown[i < at ? i : i + 1] = g->versions[i];
    grown[at] = version;
    g->versions = grown;
    g->n_versions++;
}

struct discovery_group *discovery_group_list(const struct resources *rs, struct arena *a,
                                             size_t *ret_n)
{
    group_vec groups = {0};
    struct map by_name = MAP_INIT; /* name -> position + 1 */
    EACH_RESOURCE(r, rs)
    {
        size_t at = (size_t)(uintptr_t)map_get(&by_name, r->group);
        if (at == 0) {
            vec_push(&groups, (struct discovery_group){.name = r->group});
            at = groups.n;
            map_put(&by_name, r->group, (void *)(uintptr_t)at);
        }
        add_version(&groups.v[at - 1], r->version, a);
    }
    struct discovery_group *list = arena_array(a, struct discovery_group, groups.n + 1);
    for (size_t i = 0; i < groups.n; i++)
        list[i] = groups.v[i];
    *ret_n = groups.n;
    map_release(&by_name);
    vec_release(&groups);
    return list;
}

/* --- parts of JSON ---------------------------------------------------------------------------- */

static void member(struct buf *out, const char *name, struct str value)
{
    buf_add_printf(out, "\"%s\":", name);
    json_write_str(out, value);
}

static void names(struct buf *out, const char *name, const char *const *list)
{
    if (!list || !list[0])
        return;
    buf_add_printf(out, ",\"%s\":[", name);
    for (size_t i = 0; list[i]; i++) {
        buf_add_cstr(out, i ? "," : "");
        json_write_str(out, str_of(list[i]));
    }
    buf_add_char(out, ']');
}

/* In the order of enum resource_verb, which is the alphabet's. */
static void verbs(struct buf *out, unsigned set)
{
    static const char *const texts[] = {"create", "delete", "deletecollection", "get",
                                        "list",   "patch",  "update",           "watch"};
    bool first = true;
    buf_add_cstr(out, ",\"verbs\":[");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (set >> i & 1) {
            buf_add_printf(out, "%s\"%s\"", first ? "" : ",", texts[i]);
            first = false;
        }
    buf_add_char(out, ']');
}

static void group_version(struct buf *out, struct str group, struct str version)
{
    buf_add_cstr(out, "{\"groupVersion\":\"");
    if (group.n)
        buf_add_printf(out, "%.*s/", STR_ARG(group));
    buf_add_printf(out, "%.*s\",", STR_ARG(version));
    member(out, "version", version);
    buf_add_char(out, '}');
}

/* "autoscaling/v1" of a subresource into its parts; both empty: as the resource. */
static void split_api_version(const char *api_version, struct str *ret_group,
                              struct str *ret_version)
{
    struct str text = str_of(api_version);
    size_t slash = str_find(text, '/');
    *ret_group = slash < text.n ? str_slice(text, 0, slash) : STR("");
    *ret_version = slash < text.n ? str_slice(text, slash + 1, text.n) : text;
}

/* --- /api, /apis and below -------------------------------------------------------------------- */

void discovery_versions(struct str server, struct buf *out)
{
    buf_add_cstr(out, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
                      "\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\",");
    member(out, "serverAddress", server);
    buf_add_cstr(out, "}]}");
}

/* The members of an APIGroup without braces. */
static void write_group(const struct discovery_group *g, struct buf *out)
{
    member(out, "name", g->name);
    buf_add_cstr(out, ",\"versions\":[");
    for (size_t i = 0; i < g->n_versions; i++) {
        buf_add_cstr(out, i ? "," : "");
        group_version(out, g->name, g->versions[i]);
    }
    buf_add_cstr(out, "],\"preferredVersion\":");
    group_version(out, g->name, g->versions[0]);
}

void discovery_groups(const struct resources *rs, struct buf *out)
{
    struct arena a;
    size_t n;
    bool first = true;
    arena_init(&a, 0);
    const struct discovery_group *groups = discovery_group_list(rs, &a, &n);
    buf_add_cstr(out, "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (size_t i = 0; i < n; i++) {
        if (groups[i].name.n == 0)
            continue;
        buf_add_cstr(out, first ? "{" : ",{");
        write_group(&groups[i], out);
        buf_add_char(out, '}');
        first = false;
    }
    buf_add_cstr(out, "]}");
    arena_release(&a);
}

bool discovery_group(const struct resources *rs, struct str group, struct buf *out)
{
    struct arena a;
    size_t n;
    bool found = false;
    arena_init(&a, 0);
    const struct discovery_group *groups = discovery_group_list(rs, &a, &n);
    for (size_t i = 0; i < n && !found; i++) {
        if (group.n == 0 || !str_eq(groups[i].name, group))
            continue;
        buf_add_cstr(out, "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",");
        write_group(&groups[i], out);
        buf_add_char(out, '}');
        found = true;
    }
    arena_release(&a);
    return found;
}

/* Upstream's storageVersionHash: 8 bytes of the SHA-256 of "group/version/kind" as stored. */
static void storage_version_hash(const struct resource *r, struct buf *out)
{
    const struct resource *stored = resource_stored(r);
    char digest[SHA256_BYTES];
    struct buf name = BUF_INIT;

    if (!(r->verbs & VERB_WATCH)) /* reviews and the like are not stored */
        return;
    buf_add_printf(
        &name, "%.*s/%.*s/%.*s", STR_ARG(stored->group),
        STR_ARG(stored->storage_version ? str_of(stored->storage_version) : stored->version),
        STR_ARG(stored->kind));
    sha256(buf_str(&name), digest);
    buf_release(&name);
    buf_add_cstr(out, ",\"storageVersionHash\":\"");
    base64_encode((struct str){digest, 8}, out);
    buf_add_char(out, '"');
}

static void write_resource(const struct resource *r, struct buf *out)
{
    buf_add_char(out, '{');
    member(out, "name", r->plural);
    buf_add_char(out, ',');
    member(out, "singularName", r->singular);
    buf_add_printf(out, ",\"namespaced\":%s,", r->namespaced ? "true" : "false");
    member(out, "kind", r->kind);
    verbs(out, r->verbs);
    names(out, "shortNames", r->short_names);
    names(out, "categories", r->categories);
    storage_version_hash(r, out);
    buf_add_char(out, '}');
}

static void write_subresource(const struct resource *r, const struct subresource *s,
                              struct buf *out)
{
    struct str group, version;
    buf_add_printf(out, "{\"name\":\"%.*s/%s\",\"singularName\":\"\",\"namespaced\":%s,",
                   STR_ARG(r->plural), s->name, r->namespaced ? "true" : "false");
    split_api_version(s->api_version, &group, &version);
    if (group.n) {
        member(out, "group", group);
        buf_add_char(out, ',');
    }
    if (version.n) {
        member(out, "version", version);
        buf_add_char(out, ',');
    }
    member(out, "kind", str_of(s->kind));
    verbs(out, s->verbs);
    buf_add_char(out, '}');
}

bool discovery_resources(const struct resources *rs, struct str group, struct str version,
                         struct buf *out)
{
    bool first = true;
    if (version.n == 0 || !resources_has_group(rs, group, version))
        return false;
    buf_add_cstr(out, "{\"kind\":\"APIResourceList\",");
    if (group.n) /* upstream's document of the core group has none */
        buf_add_printf(out, "\"apiVersion\":\"v1\",\"groupVersion\":\"%.*s/%.*s\"", STR_ARG(group),
                       STR_ARG(version));
    else
        member(out, "groupVersion", version);
    buf_add_cstr(out, ",\"resources\":[");
    EACH_RESOURCE(r, rs)
    {
        if (!str_eq(r->group, group) || !str_eq(r->version, version))
            continue;
        buf_add_cstr(out, first ? "" : ",");
        first = false;
        write_resource(r, out);
        for (const struct subresource *s = r->subresources; s && s->name; s++) {
            buf_add_char(out, ',');
            write_subresource(r, s, out);
        }
    }
    buf_add_cstr(out, "]}");
    return true;
}

/* --- aggregated ------------------------------------------------------------------------------- */

/* Group and version are empty where they are those of the document. */
static void response_kind(struct buf *out, struct str group, struct str version, struct str kind)
{
    buf_add_cstr(out, "\"responseKind\":{");
    member(out, "group", group);
    buf_add_char(out, ',');
    member(out, "version", version);
    buf_add_char(out, ',');
    member(out, "kind", kind);
    buf_add_char(out, '}');
}

static void aggregated_subresources(const struct resource *r, struct buf *out)
{
    if (!r->subresources || !r->subresources->name)
        return;
    buf_add_cstr(out, ",\"subresources\":[");
    for (const struct subresource *s = r->subresources; s->name; s++) {
        struct str group, version;
        buf_add_cstr(out, s == r->subresources ? "{" : ",{");
        member(out, "subresource", str_of(s->name));
        buf_add_char(out, ',');
        split_api_version(s->api_version, &group, &version);
        response_kind(out, group, version, str_of(s->kind));
        verbs(out, s->verbs);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void aggregated_resource(const struct resource *r, struct buf *out)
{
    buf_add_char(out, '{');
    member(out, "resource", r->plural);
    buf_add_char(out, ',');
    response_kind(out, STR(""), STR(""), r->kind);
    buf_add_char(out, ',');
    member(out, "scope", r->namespaced ? STR("Namespaced") : STR("Cluster"));
    buf_add_char(out, ',');
    member(out, "singularResource", r->singular);
    verbs(out, r->verbs);
    names(out, "shortNames", r->short_names);
    names(out, "categories", r->categories);
    aggregated_subresources(r, out);
    buf_add_char(out, '}');
}

static void aggregated_group(const struct resources *rs, const struct discovery_group *g,
                             struct buf *out)
{
    buf_add_cstr(out, "{\"metadata\":{");
    if (g->name.n)
        member(out, "name", g->name);
    buf_add_cstr(out, "},\"versions\":[");
    for (size_t i = 0; i < g->n_versions; i++) {
        bool first = true;
        buf_add_cstr(out, i ? ",{" : "{");
        member(out, "version", g->versions[i]);
        buf_add_cstr(out, ",\"resources\":[");
        EACH_RESOURCE(r, rs)
        {
            if (!str_eq(r->group, g->name) || !str_eq(r->version, g->versions[i]))
                continue;
            buf_add_cstr(out, first ? "" : ",");
            first = false;
            aggregated_resource(r, out);
        }
        buf_add_cstr(out, "],\"freshness\":\"Current\"}");
    }
    buf_add_cstr(out, "]}");
}

void discovery_aggregated(const struct resources *rs, bool core, struct buf *out)
{
    struct arena a;
    size_t n;
    bool first = true;
    arena_init(&a, 0);
    const struct discovery_group *groups = discovery_group_list(rs, &a, &n);
    buf_add_cstr(out,
                 "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\","
                 "\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < n; i++) {
        if (core != (groups[i].name.n == 0))
            continue;
        buf_add_cstr(out, first ? "" : ",");
        first = false;
        aggregated_group(rs, &groups[i], out);
    }
    buf_add_cstr(out, "]}");
    arena_release(&a);
}
