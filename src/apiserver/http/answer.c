/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: headers, content negotiation, one object, lists in chunks. */
#include "apiserver/http/api_server_internal.h"
#include "codec/yaml.h"
#include "net/media_type.h"

#define CHUNK ((size_t)64 * 1024)

/* --- headers ---------------------------------------------------------------------------------- */

static void add_header(struct http_header *headers, size_t *n, const char *name, struct str value)
{
    if (*n < ANSWER_HEADERS && http_is_value(value))
        headers[(*n)++] = (struct http_header){str_of(name), value};
}

/* 299 - "text": quotes and backslashes are escaped, control characters left out. */
static struct str warning_text(struct str line, struct arena *a)
{
    struct buf b = BUF_INIT;
    struct str text;

    buf_add_cstr(&b, "299 - \"");
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] == '"' || line.p[i] == '\\')
            buf_add_char(&b, '\\');
        if ((unsigned char)line.p[i] >= 0x20 && line.p[i] != 0x7f)
            buf_add_char(&b, line.p[i]);
    }
    buf_add_char(&b, '"');
    text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

size_t answer_headers(struct call *c, struct str content_type, struct http_header *headers)
{
    struct str rest = c->response.warnings, line;
    size_t n = 0;

    add_header(headers, &n, "Audit-Id", c->audit_id);
    add_header(headers, &n, "Cache-Control", STR("no-cache, private"));
    if (content_type.n)
        add_header(headers, &n, "Content-Type", content_type);
    while (rest.n > 0 && str_split(&rest, '\n', &line))
        if (line.n > 0)
            add_header(headers, &n, "Warning", warning_text(line, &c->arena));
    if (c->etag.n) {
        add_header(headers, &n, "ETag", c->etag);
        add_header(headers, &n, "Vary", STR("Accept"));
    }
    if (c->response.status.retry_after > 0)
        add_header(headers, &n, "Retry-After",
                   arena_printf(&c->arena, "%d", c->response.status.retry_after));
    return n;
}

void answer_text(struct call *c, int code, struct str content_type, struct str body)
{
    struct http_header headers[ANSWER_HEADERS];
    size_t n = answer_headers(c, content_type, headers);

    http_respond(c->x, code, headers, n, body);
    call_free(c);
}

static struct str form_type(struct api_form form)
{
    return form.encoding == FORM_YAML ? STR("application/yaml") : STR("application/json");
}

/* The text is compact JSON. */
static void answer_json(struct call *c, int code, struct buf *json)
{
    struct buf text = BUF_INIT;

    if (c->form.encoding == FORM_YAML) {
        struct json_value tree;

        if (json_parse(buf_str(json), 0, &c->arena, &tree, NULL) == 0)
            yaml_write(&tree, &text);
    } else if (c->form.pretty) {
        struct json_indent indent = {0};

        json_indent(&indent, buf_str(json), &text);
    } else {
        buf_add_char(json, '\n');
        answer_text(c, code, form_type(c->form), buf_str(json));
        return;
    }
    answer_text(c, code, form_type(c->form), buf_str(&text));
    buf_release(&text);
}

void answer_status(struct call *c, const struct api_status *status)
{
    struct buf out = BUF_INIT;
    int code = status->code;

    c->response.status.retry_after = status->retry_after;
    if (code == 401 || c->anonymous)
        http_last_request(c->x);
    api_status_write(status, &out);
    answer_json(c, code, &out);
    buf_release(&out);
}

void answer_object(struct call *c)
{
    struct form_object o = {.resource = c->resource,
                            .rev = c->response.object,
                            .tree = c->response.tree,
                            .now = c->now};
    struct buf out = BUF_INIT;
    struct api_form form = c->form;

    /* Status, Scale and reviews are no objects of the resource. */
    if (!o.rev && !str_eq(json_get_text(o.tree, STR("kind")), c->resource->kind))
        form.shape = FORM_OBJECT;
    form_write_object(form, &o, FORM_WHOLE, &c->arena, &out);
    answer_json(c, c->response.code, &out);
    buf_release(&out);
}

/* --- lists ------------------------------------------------------------------------------------ */

static struct form_list list_of(struct call *c)
{
    return (struct form_list){
        .resource = c->resource,
        .version = arena_printf(&c->arena, "%llu",
                                (unsigned long long)snapshot_version(c->response.snapshot)),
        .continue_token = c->response.continue_token,
        .remaining = c->response.remaining};
}

static void add_item(struct call *c, struct arena *scratch, struct buf *out)
{
    struct form_object o = {
        .resource = c->resource, .rev = c->response.items[c->at], .now = c->now};

    if (c->at > 0)
        buf_add_char(out, ',');
    form_write_object(c->form, &o, FORM_ROW, scratch, out);
    c->at++;
}

/* The list in parts: c->at goes from 0 to the number of items; the end adds the rest. */
static bool add_chunk(struct call *c, size_t max, struct buf *out)
{
    struct arena scratch;

    arena_init(&scratch, 0);
    while (c->at < c->response.n_items && out->n < max) {
        add_item(c, &scratch, out);
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    if (c->at < c->response.n_items)
        return false;
    form_end_list(c->form, out);
    return true;
}

static size_t send_chunk(struct call *c, struct buf *out)
{
    struct buf text = BUF_INIT;
    size_t queued;

    if (!c->form.pretty)
        return http_write(c->x, buf_str(out));
    json_indent(&c->indent, buf_str(out), &text);
    queued = http_write(c->x, buf_str(&text));
    buf_release(&text);
    return queued;
}

static void send_chunks(struct call *c, struct buf *out)
{
    bool whole = false;
    size_t queued = 0;

    while (!whole && queued <= HTTP_HIGH_WATER) {
        whole = add_chunk(c, CHUNK, out);
        queued = send_chunk(c, out);
        buf_clear(out);
    }
    if (whole) {
        http_end(c->x);
        call_free(c);
    }
}

static void on_drain(struct http_exchange *x)
{
    struct buf out = BUF_INIT;

    send_chunks(x->user, &out);
    buf_release(&out);
}

void answer_list(struct call *c)
{
    struct form_list list = list_of(c);
    struct http_header headers[ANSWER_HEADERS];
    struct buf out = BUF_INIT;
    size_t n;

    form_begin_list(c->form, &list, &out);
    if (c->form.encoding == FORM_YAML || add_chunk(c, CHUNK, &out)) {
        if (c->form.encoding == FORM_YAML)
            (void)add_chunk(c, SIZE_MAX, &out);
        answer_json(c, 200, &out);
        buf_release(&out);
        return;
    }
    n = answer_headers(c, form_type(c->form), headers);
    c->x->on_drain = on_drain;
    http_respond_stream(c->x, 200, headers, n);
    if (send_chunk(c, &out) <= HTTP_HIGH_WATER) {
        buf_clear(&out);
        send_chunks(c, &out);
    }
    buf_release(&out);
}

/* --- negotiation ------------------------------------------------------------------------------ */

enum { TYPE_JSON, TYPE_YAML };
static const struct media_type types[] = {
    [TYPE_JSON] = {STR_INIT("application"), STR_INIT("json"), true},
    [TYPE_YAML] = {STR_INIT("application"), STR_INIT("yaml"), false},
};

static bool allows(const void *ctx, const struct media_type *type, const struct media_choice *m)
{
    (void)type, (void)ctx;
    if (!m->converts || (str_empty(m->kind) && str_empty(m->group) && str_empty(m->version)))
        return true;
    return str_is(m->group, "meta.k8s.io") && str_is(m->version, "v1") &&
           (str_is(m->kind, "Table") || str_is(m->kind, "PartialObjectMetadata") ||
            str_is(m->kind, "PartialObjectMetadataList"));
}

static bool read_include(struct call *c)
{
    struct str text = c->query.include_object;

    if (str_empty(text) || str_is(text, "Metadata"))
        c->form.include = TABLE_OBJECT_METADATA;
    else if (str_is(text, "None"))
        c->form.include = TABLE_OBJECT_NONE;
    else if (str_is(text, "Object"))
        c->form.include = TABLE_OBJECT_FULL;
    else
        return false;
    return true;
}

bool call_negotiate(struct call *c, bool watch)
{
    struct media_page page = {types, ARRAY_LEN(types), allows, NULL, watch};
    struct str accept = http_headers_get(&c->x->headers, "accept");
    struct str agent = http_headers_get(&c->x->headers, "user-agent");
    struct media_choice choice;

    if (!media_negotiate(accept, &page, &c->arena, &choice) ||
        (watch && !types[choice.index].streams)) {
        status_of(&c->response.status, 406, &c->arena,
                  "only the following media types are accepted: %s",
                  watch ? "application/json;stream=watch" : "application/json, application/yaml");
        return false;
    }
    c->form.encoding = choice.index == TYPE_YAML ? FORM_YAML : FORM_JSON;
    if (choice.converts && !str_empty(choice.kind))
        c->form.shape = str_is(choice.kind, "Table") ? FORM_TABLE : FORM_PARTIAL;
    c->form.pretty = choice.pretty || c->query.pretty ||
                     (!c->query.has_pretty &&
                      (str_starts(agent, STR("curl")) || str_starts(agent, STR("Wget"))));
    if (c->form.encoding == FORM_YAML || watch)
        c->form.pretty = false;
    if (c->form.shape == FORM_TABLE && !read_include(c)) {
        status_bad_request(&c->response.status, &c->arena, "unrecognized includeObject value: %.*s",
                           STR_ARG(c->query.include_object));
        return false;
    }
    return true;
}
