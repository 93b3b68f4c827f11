/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/openapi/openapi.h"

#include <inttypes.h>

#include "apiserver/openapi/openapi_internal.h"
#include "codec/json_value.h"

/* A group and version; a group of NULL: all. */
struct part {
    struct str group, version;
    bool all;
};

static bool in_part(void *ctx, const struct resource *r)
{
    const struct part *part = ctx;
    return part->all || (str_eq(r->group, part->group) && str_eq(r->version, part->version));
}

static void need_subresources(struct document *d, const struct resource *r)
{
    for (const struct subresource *s = r->subresources; s && s->name; s++) {
        struct str api_version = *s->api_version ? str_of(s->api_version) : r->api_version;
        const struct schema_kind *known = schema_kind_find(api_version, str_of(s->kind));
        if (known && known->type)
            openapi_need(d, known->type);
    }
}

/* The types of all resources of the part, and those of every answer. */
static void need_types(struct document *d, struct part *part)
{
    static const char *const always[] = {OPENAPI_META "Status", OPENAPI_META "DeleteOptions",
                                         OPENAPI_META "ListMeta", OPENAPI_META "ObjectMeta"};
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        if (openapi_type(always[i]))
            openapi_need(d, openapi_type(always[i]));
    for (const struct resource *r = NULL; (r = resources_next(d->rs, r));)
        if (in_part(part, r)) {
            if (r->type)
                openapi_need(d, r->type);
            need_subresources(d, r);
        }
}

static void write_document(const struct resources *rs, struct part part, bool v2, struct buf *out)
{
    struct document d = {.rs = rs, .v2 = v2, .out = out};
    bool first = true;
    d.needed = xcalloc(n_schema_types, sizeof(*d.needed));
    need_types(&d, &part);
    buf_add_cstr(out, v2 ? "{\"swagger\":\"2.0\",\"info\":{\"title\":\"Kubernetes\","
                           "\"version\":\"v1.36.3\"},\"paths\":{"
                         : "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\","
                           "\"version\":\"v1.36.3\"},\"paths\":{");
    for (const struct resource *r = NULL; (r = resources_next(rs, r));)
        if (in_part(&part, r))
            openapi_write_paths(&d, r, &first);
    buf_add_cstr(out, v2 ? "},\"definitions\":{" : "},\"components\":{\"schemas\":{");
    openapi_write_types(&d, in_part, &part);
    buf_add_cstr(out, v2 ? "},\"securityDefinitions\":{\"BearerToken\":{\"description\":\"Bearer "
                           "Token authentication\",\"type\":\"apiKey\",\"name\":\"authorization\","
                           "\"in\":\"header\"}},\"security\":[{\"BearerToken\":[]}]}"
                         : "},\"securitySchemes\":{\"BearerToken\":{\"description\":\"Bearer Token "
                           "authentication\",\"type\":\"apiKey\",\"name\":\"authorization\","
                           "\"in\":\"header\"}}}}");
    free(d.needed);
}

bool openapi_v3(const struct resources *rs, struct str group, struct str version, struct buf *out)
{
    if (!resources_has_group(rs, group, version))
        return false;
    write_document(rs, (struct part){.group = group, .version = version}, false, out);
    return true;
}

void openapi_v2(const struct resources *rs, struct buf *out)
{
    write_document(rs, (struct part){.all = true}, true, out);
}

/* --- the index -------------------------------------------------------------------------------- */

/* FNV-1a twice, with different starts. It names a state of the document; it protects nothing. */
struct hash {
    uint64_t a, b;
};

static void hash_add(struct hash *h, struct str s)
{
    for (size_t i = 0; i <= s.n; i++) {
        unsigned char c = i < s.n ? (unsigned char)s.p[i] : 0; /* a NUL ends each text */
        h->a = (h->a ^ c) * 0x100000001b3;
        h->b = (h->b ^ c) * 0x100000001b3;
    }
}

/* What the paths and schemas of a resource are made from. Built-in types are part of the program.
 */
static void hash_resource(struct hash *h, const struct resource *r)
{
    struct buf text = BUF_INIT;
    hash_add(h, r->plural);
    hash_add(h, r->kind);
    buf_add_printf(&text, "%u %d", r->verbs, r->namespaced);
    for (const struct subresource *s = r->subresources; s && s->name; s++)
        buf_add_printf(&text, " %s %u", s->name, s->verbs);
    if (r->schema)
        json_write(r->schema, &text);
    hash_add(h, buf_str(&text));
    buf_release(&text);
}

/* Of the document's sources: making the document itself costs milliseconds. */
static void write_hash(const struct resources *rs, struct part part, struct buf *out)
{
    struct hash h = {0xcbf29ce484222325, 0x9ae16a3b2f90404f};
    hash_add(&h, STR(BERTH_VERSION));
    for (const struct resource *r = NULL; (r = resources_next(rs, r));)
        if (in_part(&part, r))
            hash_resource(&h, r);
    buf_add_printf(out, "%016" PRIX64 "%016" PRIX64, h.a, h.b);
}

static void write_entry(const struct resources *rs, const struct resource *r, bool first,
                        struct buf *out)
{
    const char *root = r->group.n ? "apis" : "api";
    buf_add_printf(out, "%s\"%s/%.*s\":{\"serverRelativeURL\":\"/openapi/v3/%s/%.*s?hash=",
                   first ? "" : ",", root, STR_ARG(r->api_version), root, STR_ARG(r->api_version));
    write_hash(rs, (struct part){.group = r->group, .version = r->version}, out);
    buf_add_cstr(out, "\"}");
}

/* Resources of a group and version follow each other. */
void openapi_v3_index(const struct resources *rs, struct buf *out)
{
    const struct resource *previous = NULL;
    buf_add_cstr(out, "{\"paths\":{");
    for (const struct resource *r = NULL; (r = resources_next(rs, r)); previous = r)
        if (!previous || !str_eq(previous->api_version, r->api_version))
            write_entry(rs, r, !previous, out);
    buf_add_cstr(out, "}}");
}
