/* SPDX-License-Identifier: Apache-2.0 */
/* /openapi/v2 and /openapi/v3: documents are kept until a CustomResourceDefinition changes. */
#include "apiserver/http/api_server_internal.h"
#include "apiserver/openapi/openapi.h"
#include "net/media_type.h"

/* The name of the second form of v2 in the map of documents. */
#define V2_PROTO   "v2+protobuf"
/* Upstream answers with this type, whichever of its two names was requested. */
#define PROTO_TYPE "com.github.proto-openapi.spec.v2.v1.0+protobuf"

struct document {
    char *path;
    struct buf text;
    char tag[19]; /* a hash in quotes */
};

void openapi_forget(struct api_server *s)
{
    map_each (e, &s->documents) {
        struct document *doc = e->value;

        buf_release(&doc->text);
        free(doc->path);
        free(doc);
    }
    map_release(&s->documents);
}

static bool write_document(struct api_server *s, struct str path, struct buf *out)
{
    struct str rest = path, group = STR(""), version;

    if (str_is(path, "v2")) {
        openapi_v2(s->resources, out);
        return true;
    }
    if (str_is(path, V2_PROTO))
        return openapi_v2_proto(s->resources, out);
    if (str_is(path, "v3")) {
        openapi_v3_index(s->resources, out);
        return true;
    }
    if (str_starts(path, STR("v3/api/"))) {
        version = str_slice(path, 7, path.n);
    } else if (str_starts(path, STR("v3/apis/"))) {
        rest = str_slice(path, 8, path.n);
        str_split(&rest, '/', &group);
        version = rest;
    } else {
        return false;
    }
    return !str_empty(version) && openapi_v3(s->resources, group, version, out);
}

static struct document *find_document(struct api_server *s, struct str path)
{
    struct document *doc = map_get(&s->documents, path);
    struct buf text = BUF_INIT;

    if (doc)
        return doc;
    if (!write_document(s, path, &text)) {
        buf_release(&text);
        return NULL;
    }
    doc = xnew(struct document);
    doc->path = str_dup(path);
    doc->text = text;
    snprintf(doc->tag, sizeof(doc->tag), "\"%016llX\"",
             (unsigned long long)str_hash(buf_str(&text)));
    map_put(&s->documents, str_of(doc->path), doc);
    return doc;
}

static bool allows_all(const void *ctx, const struct media_type *type,
                       const struct media_choice *choice)
{
    (void)ctx, (void)type, (void)choice;
    return true;
}

/* The form of v2 that the client prefers; empty: none of these. */
static struct str negotiate(struct call *c)
{
    static const struct media_type types[] = {
        {STR_INIT("application"), STR_INIT("json"), false},
        {STR_INIT("application"), STR_INIT("com.github.proto-openapi.spec.v2@v1.0+protobuf"),
         false},
        {STR_INIT("application"), STR_INIT(PROTO_TYPE), false}};
    struct media_page page = {types, ARRAY_LEN(types), allows_all, NULL, false};
    struct media_choice choice;

    if (!media_negotiate(http_headers_get(&c->x->headers, "accept"), &page, &c->arena, &choice))
        return STR("");
    return choice.index ? STR(V2_PROTO) : STR("v2");
}

void call_openapi(struct call *c, struct str path)
{
    struct str name = str_is(path, "v2") ? negotiate(c) : path;
    const struct document *doc;

    if (str_empty(name)) {
        c->content_type = STR("text/plain; charset=utf-8");
        c->code = 406;
        call_finish(c);
        return;
    }
    doc = str_is(path, V2_PROTO) ? NULL : find_document(c->server, name);
    if (!doc) {
        call_refuse_page(c);
        return;
    }
    c->etag = arena_dup(&c->arena, str_of(doc->tag));
    c->content_type =
        str_is(name, V2_PROTO) ? STR("application/" PROTO_TYPE) : STR("application/json");
    c->code = 200;
    if (str_eq(http_headers_get(&c->x->headers, "if-none-match"), c->etag))
        c->code = 304;
    else
        buf_add_str(&c->body, buf_str(&doc->text));
    call_finish(c);
}
