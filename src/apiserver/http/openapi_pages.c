/* SPDX-License-Identifier: Apache-2.0 */
/* /openapi/v2 and /openapi/v3: documents are kept until a CustomResourceDefinition changes. */
#include "apiserver/http/api_server_internal.h"
#include "apiserver/openapi/openapi.h"

struct document {
    char *path;
    struct buf text;
    char tag[OPENAPI_HASH_SIZE + 2]; /* in quotes */
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
    char hash[OPENAPI_HASH_SIZE];

    if (doc)
        return doc;
    if (!write_document(s, path, &text)) {
        buf_release(&text);
        return NULL;
    }
    openapi_hash(buf_str(&text), hash);
    doc = xnew(struct document);
    doc->path = str_dup(path);
    doc->text = text;
    snprintf(doc->tag, sizeof(doc->tag), "\"%s\"", hash);
    map_put(&s->documents, str_of(doc->path), doc);
    return doc;
}

void call_openapi(struct call *c, struct str path)
{
    const struct document *doc = find_document(c->server, path);

    if (!doc) {
        call_refuse_page(c);
        return;
    }
    c->etag = arena_dup(&c->arena, str_of(doc->tag));
    c->content_type = STR("application/json");
    c->code = 200;
    if (str_eq(http_headers_get(&c->x->headers, "if-none-match"), c->etag))
        c->code = 304;
    else
        buf_add_str(&c->body, buf_str(&doc->text));
    call_finish(c);
}
