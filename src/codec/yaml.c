/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: converts libyaml's events to a JSON tree. */
#include "codec/yaml.h"

#include <inttypes.h>
#include <math.h>
#include <yaml.h>

#include "base/vec.h"
#include "codec/base64.h"
#include "codec/decode.h"
#include "codec/json_private.h"
#include "codec/utf8.h"
#include "codec/yaml_resolve.h"

/* A node with an anchor. Aliases share it; the expanded size is counted. */
struct anchor {
    struct str name;
    struct json_value value;
    size_t nodes;
    int height;
    bool open; /* still being read: an alias to it would contain itself */
};

struct loader {
    yaml_parser_t parser;
    unsigned flags;
    yaml_twice_fn *on_duplicate; /* NULL: flags decide about duplicate keys */
    void *ctx;
    struct arena *a;
    VEC(struct anchor) anchors; /* of this document */
    size_t nodes;
    int height; /* of the last node */
    struct scratch scratch;
    struct err *reterr;
    int failed;
    size_t lines_before; /* of the source, before the parser's input */
    struct stream *stream;
};

static bool fail(struct loader *l, yaml_mark_t mark, const char *fmt, ...) PRINTF_LIKE(3, 4);

static bool fail(struct loader *l, yaml_mark_t mark, const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    l->failed = err_set(l->reterr, -EBADMSG, "line %zu, column %zu: %s",
                        l->lines_before + mark.line + 1, mark.column + 1, text);
    return false;
}

static uint32_t line_of(const struct loader *l, yaml_mark_t mark)
{
    return (uint32_t)(l->lines_before + mark.line + 1);
}

static bool next_event(struct loader *l, yaml_event_t *ret_event)
{
    if (yaml_parser_parse(&l->parser, ret_event))
        return true;
    if (l->failed) /* by the source, not by the parser */
        return false;
    const char *problem = l->parser.problem ? l->parser.problem : "not YAML";
    if (l->parser.error != YAML_READER_ERROR)
        return fail(l, l->parser.problem_mark, "%s", problem);
    l->failed = err_set(l->reterr, -EBADMSG, "byte %zu: %s", l->parser.problem_offset, problem);
    return false;
}

static bool load(struct loader *l, const yaml_event_t *e, int depth, struct json_value *out);
static bool is_items(const struct json_member *member, const yaml_event_t *e);
static bool stream_items(struct loader *l, int depth);
static void note_head(struct stream *s, const struct json_member *member);

/* --- scalars ---------------------------------------------------------------------------------- */

static struct str scalar_text(const yaml_event_t *e)
{
    return (struct str){(const char *)e->data.scalar.value, e->data.scalar.length};
}

static const char *tag_of(const yaml_event_t *e)
{
    return e->data.scalar.tag ? (const char *)e->data.scalar.tag : "";
}

/* Converts to the type of a tag such as !!int; false if that is not possible. */
static bool fits_tag(const char *tag, struct yaml_scalar *s)
{
    static const struct {
        const char *tag;
        enum yaml_meaning meaning;
    } tags[] = {{YAML_NULL_TAG, YAML_NULL},
                {YAML_BOOL_TAG, YAML_BOOL},
                {YAML_INT_TAG, YAML_INT},
                {YAML_FLOAT_TAG, YAML_FLOAT},
                {YAML_TIMESTAMP_TAG, YAML_TIMESTAMP}};
    if (strcmp(tag, YAML_FLOAT_TAG) == 0 && s->meaning == YAML_INT)
        *s = (struct yaml_scalar){.meaning = YAML_FLOAT, .real = (double)s->whole};
    if (strcmp(tag, YAML_INT_TAG) == 0 && s->meaning == YAML_UINT)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (strcmp(tag, tags[i].tag) == 0)
            return s->meaning == tags[i].meaning;
    return false;
}

static bool has_meaning(const char *tag)
{
    return strcmp(tag, YAML_NULL_TAG) == 0 || strcmp(tag, YAML_BOOL_TAG) == 0 ||
           strcmp(tag, YAML_INT_TAG) == 0 || strcmp(tag, YAML_FLOAT_TAG) == 0 ||
           strcmp(tag, YAML_TIMESTAMP_TAG) == 0;
}

/* The scalar's value and, if that is a string, its text. */
static bool read_scalar(struct loader *l, const yaml_event_t *e, struct yaml_scalar *ret_scalar,
                        struct str *ret_text)
{
    const char *tag = tag_of(e);
    struct str text = scalar_text(e);
    *ret_text = text;
    *ret_scalar = (struct yaml_scalar){.meaning = YAML_STR};
    if (strcmp(tag, "tag:yaml.org,2002:binary") == 0) {
        char *bytes = decode_alloc(l->a, BASE64_DECODED_MAX(text.n), 1);
        size_t n;
        if (!base64_decode(text, bytes, &n))
            return fail(l, e->start_mark, "!!binary value contains invalid base64 data");
        *ret_text = (struct str){bytes, n};
        return utf8_valid(*ret_text) || fail(l, e->start_mark, "!!binary value is not UTF-8");
    }
    if (*tag ? !has_meaning(tag) : !e->data.scalar.plain_implicit)
        return true;
    *ret_scalar = yaml_resolve(text);
    if (*tag && !fits_tag(tag, ret_scalar))
        return fail(l, e->start_mark, "\"%.*s\" is not a !!%s", (int)MIN(text.n, (size_t)40),
                    text.p, strrchr(tag, ':') + 1);
    return true;
}

static bool load_scalar(struct loader *l, const yaml_event_t *e, struct json_value *out)
{
    struct yaml_scalar s;
    struct str text;
    if (!read_scalar(l, e, &s, &text))
        return false;
    struct buf number = BUF_INIT;
    out->kind = JSON_NUMBER;
    switch (s.meaning) {
    case YAML_NULL:
        out->kind = JSON_NULL;
        return true;
    case YAML_BOOL:
        out->kind = JSON_BOOL;
        out->boolean = s.boolean;
        return true;
    case YAML_INT:
        out->text = arena_printf(l->a, "%" PRId64, s.whole);
        return true;
    case YAML_UINT:
        out->text = arena_printf(l->a, "%" PRIu64, s.large);
        return true;
    case YAML_FLOAT:
        if (!isfinite(s.real))
            return fail(l, e->start_mark, "the number \"%.*s\" cannot be written as JSON",
                        STR_ARG(text));
        json_write_double(&number, s.real);
        out->text = arena_dup(l->a, buf_str(&number));
        buf_release(&number);
        return true;
    default:
        out->kind = JSON_STRING;
        out->text = decode_dup(l->a, text);
        out->literal = e->data.scalar.style == YAML_LITERAL_SCALAR_STYLE;
        return true;
    }
}

/* --- anchors ---------------------------------------------------------------------------------- */

/* Opens an anchor. Returns its index, or -1 if the node has none. */
static ssize_t open_anchor(struct loader *l, const yaml_event_t *e)
{
    const yaml_char_t *name = e->type == YAML_SCALAR_EVENT          ? e->data.scalar.anchor
                              : e->type == YAML_MAPPING_START_EVENT ? e->data.mapping_start.anchor
                                                                    : e->data.sequence_start.anchor;
    if (!name)
        return -1;
    struct str copy = arena_dup(l->a, str_of((const char *)name));
    vec_push(&l->anchors, (struct anchor){.name = copy, .open = true, .nodes = l->nodes});
    return (ssize_t)l->anchors.n - 1;
}

static void close_anchor(struct loader *l, ssize_t index, const struct json_value *value)
{
    if (index < 0)
        return;
    struct anchor *anchor = &l->anchors.v[index];
    anchor->value = *value;
    anchor->nodes = l->nodes - anchor->nodes;
    anchor->height = l->height;
    anchor->open = false;
}

static bool count_nodes(struct loader *l, const yaml_event_t *e, size_t n)
{
    l->nodes += n;
    return l->nodes <= YAML_MAX_NODES ||
           fail(l, e->start_mark, "more than %d values after expanding aliases", YAML_MAX_NODES);
}

static bool load_alias(struct loader *l, const yaml_event_t *e, int depth, struct json_value *out)
{
    const char *name = (const char *)e->data.alias.anchor;
    const struct anchor *anchor = NULL;
    for (size_t i = l->anchors.n; i-- > 0 && !anchor;)
        if (str_is(l->anchors.v[i].name, name))
            anchor = &l->anchors.v[i];
    if (!anchor)
        return fail(l, e->start_mark, "unknown anchor '%.80s' referenced", name);
    if (anchor->open)
        return fail(l, e->start_mark, "anchor '%.80s' value contains itself", name);
    if (depth + anchor->height > JSON_MAX_DEPTH)
        return fail(l, e->start_mark, "nested too deeply");
    *out = anchor->value;
    out->line = line_of(l, e->start_mark);
    out->literal = false;
    l->height = anchor->height;
    return count_nodes(l, e, anchor->nodes);
}

/* --- collections ------------------------------------------------------------------------------ */

static bool gather_sequence(struct loader *l, int depth, struct gather *g)
{
    int height = 0;
    for (;;) {
        yaml_event_t e;
        if (!next_event(l, &e))
            return false;
        bool end = e.type == YAML_SEQUENCE_END_EVENT;
        bool ok = end || load(l, &e, depth, gather_next(g));
        yaml_event_delete(&e);
        if (!ok)
            return false;
        if (end)
            break;
        height = MAX(height, l->height);
    }
    l->height = height + 1;
    return true;
}

static bool load_sequence(struct loader *l, int depth, struct json_value *out)
{
    struct gather g;
    gather_begin(&g, &l->scratch, sizeof(struct json_value));
    if (!gather_sequence(l, depth, &g)) {
        gather_abandon(&g);
        return false;
    }
    out->kind = JSON_ARRAY;
    out->n = g.n;
    out->items = gather_end(&g, l->a, _Alignof(struct json_value));
    return true;
}

static bool is_merge(const yaml_event_t *e)
{
    return e->type == YAML_SCALAR_EVENT && str_is(scalar_text(e), "<<") &&
           (e->data.scalar.plain_implicit || strcmp(tag_of(e), "tag:yaml.org,2002:merge") == 0);
}

static bool alias_key(struct loader *l, const yaml_event_t *e, struct str *ret_key)
{
    struct json_value v;
    if (!load_alias(l, e, 0, &v))
        return false;
    if (v.kind == JSON_BOOL)
        *ret_key = v.boolean ? STR("true") : STR("false");
    else if (v.kind == JSON_STRING || v.kind == JSON_NUMBER)
        *ret_key = v.text;
    else
        return fail(l, e->start_mark, "a key must be a string, number or boolean");
    return true;
}

static bool load_key(struct loader *l, const yaml_event_t *e, struct str *ret_key)
{
    if (e->type == YAML_ALIAS_EVENT)
        return alias_key(l, e, ret_key);
    struct yaml_scalar s;
    struct str text;
    if (e->type != YAML_SCALAR_EVENT)
        return fail(l, e->start_mark, "a key must be a string, number or boolean");
    if (!read_scalar(l, e, &s, &text))
        return false;
    struct buf key = BUF_INIT;
    bool ok = yaml_key(&s, text, &key);
    *ret_key = arena_dup(l->a, buf_str(&key));
    buf_release(&key);
    if (!ok)
        return fail(l, e->start_mark, "a key must be a string, number or boolean");
    /* A key may have an anchor as any node may. */
    struct json_value v = {.kind = JSON_STRING, .text = *ret_key};
    ssize_t anchor = open_anchor(l, e);
    l->height = 0;
    close_anchor(l, anchor, &v);
    return true;
}

/* Adds the members of what "<<" refers to. */
static bool merge(struct loader *l, const struct json_value *v, yaml_mark_t mark, struct gather *g)
{
    if (v->kind == JSON_OBJECT) {
        if (l->nodes + v->n_members > YAML_MAX_NODES)
            return fail(l, mark, "more than %d values after expanding aliases", YAML_MAX_NODES);
        l->nodes += v->n_members;
        for (size_t i = 0; i < v->n_members; i++)
            *(struct json_member *)gather_next(g) = v->members[i];
        return true;
    }
    bool maps = v->kind == JSON_ARRAY;
    for (size_t i = 0; maps && i < v->n; i++)
        maps = v->items[i].kind == JSON_OBJECT;
    if (!maps)
        return fail(l, mark, "map merge requires map or sequence of maps as the value");
    /* Backwards: the first of a sequence has precedence, and the last member added counts. */
    for (size_t i = v->n; i-- > 0;)
        if (!merge(l, &v->items[i], mark, g))
            return false;
    return true;
}

static bool load_member(struct loader *l, const yaml_event_t *key, int depth, struct gather *g)
{
    bool merging = is_merge(key);
    struct json_member member = {0};
    if (!merging && !load_key(l, key, &member.key))
        return false;
    yaml_event_t e;
    if (!next_event(l, &e))
        return false;
    bool items = l->stream && depth == 1 && is_items(&member, &e);
    bool ok = items ? stream_items(l, depth) : load(l, &e, depth, &member.value);
    yaml_mark_t mark = e.start_mark;
    yaml_event_delete(&e);
    if (!ok || items)
        return ok;
    if (merging)
        return merge(l, &member.value, mark, g);
    if (member.value.kind == JSON_ARRAY || member.value.kind == JSON_OBJECT)
        member.value.line = line_of(l, key->start_mark);
    if (l->stream && depth == 1)
        note_head(l->stream, &member);
    *(struct json_member *)gather_next(g) = member;
    return true;
}

static bool gather_mapping(struct loader *l, int depth, struct gather *g)
{
    int height = 0;
    for (;;) {
        yaml_event_t e;
        if (!next_event(l, &e))
            return false;
        bool end = e.type == YAML_MAPPING_END_EVENT;
        bool ok = end || load_member(l, &e, depth, g);
        yaml_event_delete(&e);
        if (!ok)
            return false;
        if (end)
            break;
        height = MAX(height, l->height);
    }
    l->height = height + 1;
    return true;
}

static void report_duplicate(void *ctx, const struct json_member *first,
                             const struct json_member *again)
{
    struct loader *l = ctx;
    l->on_duplicate(l->ctx, again->key, first->value.line, again->value.line);
}

static bool load_mapping(struct loader *l, yaml_mark_t mark, int depth, struct json_value *out)
{
    struct gather g;
    gather_begin(&g, &l->scratch, sizeof(struct json_member));
    if (!gather_mapping(l, depth, &g)) {
        gather_abandon(&g);
        return false;
    }
    out->kind = JSON_OBJECT;
    out->n_members = g.n;
    out->members = gather_end(&g, l->a, _Alignof(struct json_member));
    if (l->flags & JSON_KEEP_DUPLICATES)
        return true;
    if (l->on_duplicate)
        json_each_duplicate(out, report_duplicate, l);
    const struct json_member *twice = json_drop_duplicates(out, l->flags & JSON_STRICT);
    if (!twice)
        return true;
    mark.line = twice->value.line - 1 - l->lines_before;
    mark.column = 0;
    return fail(l, mark, "key \"%.*s\" is already set", (int)MIN(twice->key.n, (size_t)80),
                twice->key.p);
}

/* --- nodes and documents ---------------------------------------------------------------------- */

static bool load(struct loader *l, const yaml_event_t *e, int depth, struct json_value *out)
{
    *out = (struct json_value){.line = line_of(l, e->start_mark)};
    if (e->type == YAML_ALIAS_EVENT)
        return load_alias(l, e, depth, out);
    if (depth >= JSON_MAX_DEPTH && e->type != YAML_SCALAR_EVENT)
        return fail(l, e->start_mark, "nested too deeply");
    ssize_t anchor = open_anchor(l, e);
    if (!count_nodes(l, e, 1))
        return false;
    l->height = 0;
    bool ok = e->type == YAML_SCALAR_EVENT          ? load_scalar(l, e, out)
              : e->type == YAML_MAPPING_START_EVENT ? load_mapping(l, e->start_mark, depth + 1, out)
                                                    : load_sequence(l, depth + 1, out);
    close_anchor(l, anchor, out);
    return ok;
}

/* Reads the documents until the end of the stream into g. */
static bool load_stream(struct loader *l, struct gather *g)
{
    for (;;) {
        yaml_event_t e;
        if (!next_event(l, &e))
            return false;
        bool end = e.type == YAML_STREAM_END_EVENT, ok = true;
        /* Other events only mark the begin and end of documents. */
        if (e.type == YAML_DOCUMENT_START_EVENT) {
            vec_clear(&l->anchors);
        } else if (e.type == YAML_SCALAR_EVENT || e.type == YAML_ALIAS_EVENT ||
                   e.type == YAML_SEQUENCE_START_EVENT || e.type == YAML_MAPPING_START_EVENT) {
            struct json_value doc;
            ok = load(l, &e, 0, &doc);
            if (ok && doc.kind != JSON_NULL)
                *(struct json_value *)gather_next(g) = doc;
        }
        yaml_event_delete(&e);
        if (!ok || end)
            return ok;
    }
}

static int parse(struct loader *l, struct str text, struct json_value **ret_docs, size_t *ret_n)
{
    if (!yaml_parser_initialize(&l->parser))
        return err_set(l->reterr, -ENOMEM, "out of memory");
    const char *bytes = text.n ? text.p : "";
    yaml_parser_set_input_string(&l->parser, (const unsigned char *)bytes, text.n);
    scratch_init(&l->scratch);
    struct gather g;
    gather_begin(&g, &l->scratch, sizeof(struct json_value));
    if (load_stream(l, &g)) {
        *ret_n = g.n;
        *ret_docs = gather_end(&g, l->a, _Alignof(struct json_value));
    }
    scratch_release(&l->scratch);
    vec_release(&l->anchors);
    yaml_parser_delete(&l->parser);
    return l->failed;
}

int yaml_parse(struct str text, unsigned flags, struct arena *a, struct json_value **ret_docs,
               size_t *ret_n, struct err *reterr)
{
    struct loader l = {.flags = flags, .a = a, .reterr = reterr};
    return parse(&l, text, ret_docs, ret_n);
}

int yaml_parse_twice(struct str text, yaml_twice_fn *on_duplicate, void *ctx, struct arena *a,
                     struct json_value **ret_docs, size_t *ret_n, struct err *reterr)
{
    struct loader l = {.on_duplicate = on_duplicate, .ctx = ctx, .a = a, .reterr = reterr};
    return parse(&l, text, ret_docs, ret_n);
}

/* --- streams ---------------------------------------------------------------------------------- */

/* The state of reading parts of documents; see yaml_stream. */
struct stream {
    const struct yaml_source *source;
    yaml_part_fn *fn;
    void *ctx;
    struct arena document, item;
    size_t bytes;           /* read so far */
    size_t limit;           /* position at which the current object must end */
    size_t n_items;         /* of the document */
    bool listed;            /* the document has items */
    size_t n_anchors;       /* of the document, when the item began */
    size_t anchored;        /* values kept because an alias may refer to them */
    VEC(struct arena) kept; /* items with anchors, until their document ends */
    size_t kept_bytes;
    struct str api_version, kind; /* of the document, as far as read */
};
#define MAX_KEPT ((size_t)256 << 20)

static int read_source(void *ctx, unsigned char *to, size_t n, size_t *ret_n)
{
    struct loader *l = ctx;
    struct stream *s = l->stream;
    if (s->bytes >= s->limit) {
        l->failed = err_set(l->reterr, -EMSGSIZE, "line %zu: object larger than %zu MiB",
                            l->lines_before + l->parser.mark.line + 1, YAML_MAX_OBJECT >> 20);
        return 0;
    }
    ssize_t got = s->source->read(s->source->ctx, (char *)to, n, l->reterr);
    if (got < 0) {
        l->failed = (int)got;
        return 0;
    }
    s->bytes += (size_t)got;
    *ret_n = (size_t)got;
    return 1;
}

/* An alias could refer to a sequence that has an anchor: then it is read as a whole. */
static bool is_items(const struct json_member *member, const yaml_event_t *e)
{
    return str_is(member->key, "items") && e->type == YAML_SEQUENCE_START_EVENT &&
           !e->data.sequence_start.anchor;
}

/* Records the apiVersion and kind of a list. */
static void note_head(struct stream *s, const struct json_member *member)
{
    if (member->value.kind != JSON_STRING)
        return;
    if (str_is(member->key, "apiVersion"))
        s->api_version = member->value.text;
    else if (str_is(member->key, "kind"))
        s->kind = member->value.text;
}

/* Frees an item's memory, or keeps it if an alias may refer to it. */
static bool end_item(struct loader *l)
{
    struct stream *s = l->stream;
    if (l->anchors.n > s->n_anchors) {
        s->kept_bytes += s->item.total;
        vec_push(&s->kept, s->item);
        arena_init(&s->item, 4096);
        s->anchored = l->nodes;
    } else {
        arena_reset(&s->item);
    }
    l->nodes = s->anchored;
    s->limit = s->bytes + YAML_MAX_OBJECT;
    return s->kept_bytes <= MAX_KEPT ||
           fail(l, l->parser.mark, "items with anchors larger than %zu MiB", MAX_KEPT >> 20);
}

static bool stream_item(struct loader *l, const yaml_event_t *e, int depth)
{
    struct stream *s = l->stream;
    struct json_value value;
    struct yaml_part part = {.what = YAML_ITEM,
                             .value = &value,
                             .index = s->n_items++,
                             .api_version = s->api_version,
                             .kind = s->kind};
    struct arena *a = l->a;
    s->n_anchors = l->anchors.n;
    l->a = &s->item;
    bool ok = load(l, e, depth + 1, &value);
    l->a = a;
    if (ok)
        l->failed = s->fn(s->ctx, &part, l->reterr);
    return ok && l->failed == 0 && end_item(l);
}

static bool stream_items(struct loader *l, int depth)
{
    l->stream->listed = true;
    for (;;) {
        yaml_event_t e;
        if (!next_event(l, &e))
            return false;
        bool end = e.type == YAML_SEQUENCE_END_EVENT;
        bool ok = end || stream_item(l, &e, depth);
        yaml_event_delete(&e);
        if (!ok || end)
            return ok;
    }
}

static void begin_document(struct loader *l)
{
    struct stream *s = l->stream;
    vec_clear(&l->anchors);
    for (size_t i = 0; i < s->kept.n; i++)
        arena_release(&s->kept.v[i]);
    vec_clear(&s->kept);
    arena_reset(&s->document);
    arena_reset(&s->item);
    s->n_items = s->n_anchors = s->anchored = s->kept_bytes = l->nodes = 0;
    s->api_version = s->kind = STR("");
    s->listed = false;
    s->limit = s->bytes + YAML_MAX_OBJECT;
}

static bool stream_document(struct loader *l, const yaml_event_t *e)
{
    struct stream *s = l->stream;
    struct json_value value;
    if (!load(l, e, 0, &value))
        return false;
    struct yaml_part part = {.what = s->listed ? YAML_LIST : YAML_DOCUMENT, .value = &value};
    if (value.kind != JSON_NULL)
        l->failed = s->fn(s->ctx, &part, l->reterr);
    return l->failed == 0;
}

static bool stream_all(struct loader *l)
{
    for (;;) {
        yaml_event_t e;
        if (!next_event(l, &e))
            return false;
        bool end = e.type == YAML_STREAM_END_EVENT, ok = true;
        if (e.type == YAML_DOCUMENT_START_EVENT)
            begin_document(l);
        else if (e.type == YAML_SCALAR_EVENT || e.type == YAML_ALIAS_EVENT ||
                 e.type == YAML_SEQUENCE_START_EVENT || e.type == YAML_MAPPING_START_EVENT)
            ok = stream_document(l, &e);
        yaml_event_delete(&e);
        if (!ok || end)
            return ok;
    }
}

int yaml_stream(const struct yaml_source *source, unsigned flags, yaml_part_fn *fn, void *ctx,
                struct err *reterr)
{
    struct stream s = {.source = source, .fn = fn, .ctx = ctx, .limit = YAML_MAX_OBJECT};
    struct loader l = {.flags = flags,
                       .a = &s.document,
                       .reterr = reterr,
                       .lines_before = source->lines_before,
                       .stream = &s};
    if (!yaml_parser_initialize(&l.parser))
        return err_set(reterr, -ENOMEM, "out of memory");
    yaml_parser_set_input(&l.parser, read_source, &l);
    arena_init(&s.document, 4096);
    arena_init(&s.item, 4096);
    scratch_init(&l.scratch);
    if (!stream_all(&l) && l.failed == 0)
        l.failed = err_set(reterr, -EBADMSG, "not YAML");
    begin_document(&l);
    arena_release(&s.document);
    arena_release(&s.item);
    vec_release(&s.kept);
    scratch_release(&l.scratch);
    vec_release(&l.anchors);
    yaml_parser_delete(&l.parser);
    return l.failed;
}
