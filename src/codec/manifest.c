/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON is read here, since that is much faster than with libyaml. A document that begins like JSON
 * but is not goes to the YAML reader from its first byte on, and so does everything after it.
 */
#include "codec/manifest.h"

#include "codec/json_private.h"
#include "codec/json_reader.h"

#define CHUNK ((size_t)256 << 10)

struct reader {
    const struct yaml_source *source;
    unsigned flags;
    manifest_fn *fn;
    void *ctx;
    struct err *reterr;
    struct buf text;
    size_t begin; /* offset in text of the current document or item */
    size_t at;    /* how much of it was scanned, from begin on */
    size_t line;  /* where it begins */
    bool end;     /* of the source */
    int failed;
    bool sent; /* parts of this document were delivered: it must be JSON */
};

/* --- bytes ------------------------------------------------------------------------------------ */

/* The text from begin on; it moves when more is read. */
static struct str body(const struct reader *r)
{
    return str_slice(buf_str(&r->text), r->begin, r->text.n);
}

static bool read_more(struct reader *r)
{
    if (r->end || r->failed)
        return false;
    if (body(r).n >= YAML_MAX_OBJECT) {
        r->failed = err_set(r->reterr, -EMSGSIZE, "line %zu: object larger than %zu MiB", r->line,
                            YAML_MAX_OBJECT >> 20);
        return false;
    }
    buf_consume(&r->text, r->begin);
    r->begin = 0;
    if (!buf_reserve(&r->text, CHUNK))
        return false;
    ssize_t n = r->source->read(r->source->ctx, r->text.p + r->text.n, CHUNK, r->reterr);
    if (n < 0)
        r->failed = (int)n;
    else
        r->text.n += (size_t)n;
    r->end = n == 0;
    return n > 0;
}

static size_t count_lines(const char *from, const char *to)
{
    size_t n = 0;
    while (from < to && (from = memchr(from, '\n', (size_t)(to - from)))) {
        from++;
        n++;
    }
    return n;
}

/* Drops the scanned text. */
static void forget(struct reader *r)
{
    struct str text = body(r);
    r->line += count_lines(text.p, text.p + r->at);
    r->begin += r->at;
    r->at = 0;
}

static bool at_end(const struct reader *r)
{
    return r->end && r->at == body(r).n;
}

static bool fail(struct reader *r, const char *problem)
{
    struct str text = body(r);
    if (!r->failed)
        r->failed = err_set(r->reterr, -EBADMSG, "line %zu: %s",
                            r->line + count_lines(text.p, text.p + r->at),
                            at_end(r) ? "unexpected end of input" : problem);
    return false;
}

/* The next byte; NUL at the end. */
static char peek(struct reader *r)
{
    while (r->begin + r->at == r->text.n)
        if (!read_more(r))
            return '\0';
    return r->text.p[r->begin + r->at];
}

static char peek_token(struct reader *r)
{
    while (json_is_space(peek(r)))
        r->at++;
    return peek(r);
}

/* Skips a whole value; *ret_from: its offset in text. */
static bool pass_value(struct reader *r, size_t *ret_from)
{
    struct json_scan scan = {0};
    peek_token(r);
    for (;;) {
        struct str rest = str_slice(body(r), r->at, SIZE_MAX);
        ssize_t n = rest.n ? json_scan_value(&scan, rest) : 0;
        if (n < 0)
            return fail(r, "expected a value");
        if (n > 0) {
            *ret_from = r->at;
            r->at += (size_t)n;
            return true;
        }
        if (!read_more(r)) {
            r->at = body(r).n;
            return fail(r, "unexpected end of input");
        }
    }
}

/* --- JSON documents --------------------------------------------------------------------------- */

struct document {
    struct arena arena;
    struct str api_version, kind;
    struct buf head; /* the members without items, as an object */
    size_t line;
    size_t n_items;
    bool listed;
};

/* Maps a part of the text to lines of the file. */
struct place {
    const char *text;
    size_t line;
};

static size_t line_in(const void *ctx, size_t offset)
{
    const struct place *place = ctx;
    return place->line + count_lines(place->text, place->text + offset);
}

static size_t line_of_document(const void *ctx, size_t offset)
{
    (void)offset;
    return ((const struct place *)ctx)->line;
}

static bool send(struct reader *r, const struct manifest_part *part)
{
    r->sent = true;
    r->failed = r->fn(r->ctx, part, r->reterr);
    return r->failed == 0;
}

static bool is_valid(struct str json)
{
    struct json_reader reader;
    json_reader_init(&reader, json, 0);
    return json_skip(&reader) && json_finish(&reader);
}

static bool send_item(struct reader *r, struct document *d, size_t from)
{
    struct str json = str_slice(body(r), from, r->at);
    if (!r->sent && !is_valid(json)) /* YAML may be in brackets, too */
        return fail(r, "not JSON");
    struct place place = {json.p, r->line + count_lines(body(r).p, json.p)};
    struct manifest_part part = {.what = YAML_ITEM,
                                 .json = json,
                                 .index = d->n_items++,
                                 .api_version = d->api_version,
                                 .kind = d->kind,
                                 .locate = line_in,
                                 .locate_ctx = &place};
    if (!send(r, &part))
        return false;
    forget(r);
    return true;
}

static bool read_items(struct reader *r, struct document *d)
{
    size_t from;
    d->listed = true;
    r->at++;
    if (peek_token(r) == ']') {
        r->at++;
        return true;
    }
    for (;;) {
        if (!pass_value(r, &from) || !send_item(r, d, from))
            return false;
        char c = peek_token(r);
        if (c != ',' && c != ']')
            return fail(r, "expected ',' or ']'");
        r->at++;
        if (c == ']')
            return true;
    }
}

static void note_member(struct document *d, struct str name, struct str value)
{
    struct str *to = str_is(name, "\"apiVersion\"") ? &d->api_version
                     : str_is(name, "\"kind\"")     ? &d->kind
                                                    : NULL;
    if (to && value.n >= 2 && value.p[0] == '"')
        *to = arena_dup(&d->arena, str_slice(value, 1, value.n - 1));
    buf_add_char(&d->head, d->head.n ? ',' : '{');
    buf_add_str(&d->head, name);
    buf_add_char(&d->head, ':');
    buf_add_str(&d->head, value);
}

static bool read_member(struct reader *r, struct document *d)
{
    size_t from, value;
    if (peek_token(r) != '"')
        return fail(r, "expected a field name in quotes");
    if (!pass_value(r, &from))
        return false;
    size_t name_end = r->at;
    if (peek_token(r) != ':')
        return fail(r, "expected ':'");
    r->at++;
    if (peek_token(r) == '[' && str_is(str_slice(body(r), from, name_end), "\"items\""))
        return read_items(r, d);
    if (!pass_value(r, &value))
        return false;
    note_member(d, str_slice(body(r), from, name_end), str_slice(body(r), value, r->at));
    return d->head.n <= YAML_MAX_OBJECT || fail(r, "the fields of the list are too large");
}

static bool read_members(struct reader *r, struct document *d)
{
    r->at++;
    if (peek_token(r) == '}') {
        r->at++;
        return true;
    }
    for (;;) {
        if (!read_member(r, d))
            return false;
        char c = peek_token(r);
        if (c != ',' && c != '}')
            return fail(r, "expected ',' or '}'");
        r->at++;
        if (c == '}')
            return true;
    }
}

static bool send_document(struct reader *r, struct document *d)
{
    struct str json = str_slice(body(r), 0, r->at);
    struct place place = {json.p, d->line};
    struct manifest_part part = {
        .what = YAML_DOCUMENT, .json = json, .locate = line_in, .locate_ctx = &place};
    if (d->listed) {
        buf_add_cstr(&d->head, d->head.n ? "}" : "{}");
        part.what = YAML_LIST;
        part.json = buf_str(&d->head);
        part.locate = line_of_document;
    } else if (!is_valid(json)) {
        return fail(r, "not JSON");
    }
    return send(r, &part);
}

/* Reads the document at begin. */
static bool read_document(struct reader *r)
{
    struct document d = {.line = r->line};
    arena_init(&d.arena, 0);
    bool ok = read_members(r, &d) && send_document(r, &d);
    buf_release(&d.head);
    arena_release(&d.arena);
    if (ok)
        forget(r);
    return ok;
}

/* --- YAML ------------------------------------------------------------------------------------- */

/* The text read so far, then the source. */
static ssize_t read_rest(void *ctx, char *to, size_t n, struct err *reterr)
{
    struct reader *r = ctx;
    struct str left = str_slice(body(r), r->at, SIZE_MAX);
    if (left.n == 0)
        return r->source->read(r->source->ctx, to, n, reterr);
    n = MIN(n, left.n);
    memcpy(to, left.p, n);
    r->at += n;
    return (ssize_t)n;
}

static int send_part(void *ctx, const struct yaml_part *part, struct err *reterr)
{
    struct reader *r = ctx;
    struct buf text = BUF_INIT;
    struct json_marks marks = {0};
    json_write_marked(part->value, &text, &marks);
    struct manifest_part sent = {.what = part->what,
                                 .json = buf_str(&text),
                                 .index = part->index,
                                 .api_version = part->api_version,
                                 .kind = part->kind,
                                 .locate = json_marks_line,
                                 .locate_ctx = &marks};
    int ret = text.overflow
                  ? err_set(reterr, -EMSGSIZE, "line %u: object too large", part->value->line)
                  : r->fn(r->ctx, &sent, reterr);
    vec_release(&marks.v);
    buf_release(&text);
    return ret;
}

static int read_yaml(struct reader *r)
{
    struct yaml_source rest = {.read = read_rest, .ctx = r, .lines_before = r->line - 1};
    return yaml_stream(&rest, r->flags, send_part, r, r->reterr);
}

/* --- documents -------------------------------------------------------------------------------- */

static void pass_line(struct reader *r)
{
    while (peek(r) != '\n' && !at_end(r) && !r->failed)
        r->at++;
}

/* "---" on a line of its own. */
static bool at_separator(struct reader *r)
{
    while (body(r).n - r->at < 4 && read_more(r))
        continue;
    struct str rest = str_slice(body(r), r->at, SIZE_MAX);
    return str_starts(rest, STR("---")) && (rest.n == 3 || json_is_space(rest.p[3]));
}

static void pass_byte_order_mark(struct reader *r)
{
    static const struct str mark = STR_INIT("\xef\xbb\xbf");
    while (body(r).n < mark.n && read_more(r))
        continue;
    if (str_starts(body(r), mark))
        r->at = mark.n;
    forget(r);
}

/* Skips separators between documents. Returns the next byte, NUL at the end. */
static char next_document(struct reader *r)
{
    for (;;) {
        char c = peek_token(r);
        forget(r);
        if (c == '-' && at_separator(r)) {
            r->at += 3;
            while (peek(r) == ' ' || peek(r) == '\t')
                r->at++;
            c = peek(r);
            if (c == '{')
                return c;
            if (c != '\n' && c != '\r' && c != '#' && !at_end(r)) {
                r->at = 0; /* "--- text" is YAML */
                return '-';
            }
            pass_line(r);
        } else if (c == '#') {
            pass_line(r);
        } else {
            return c;
        }
    }
}

int manifest_read(const struct yaml_source *source, unsigned flags, manifest_fn *fn, void *ctx,
                  struct err *reterr)
{
    struct reader r = {.source = source,
                       .flags = flags,
                       .fn = fn,
                       .ctx = ctx,
                       .reterr = reterr,
                       .line = source->lines_before + 1};
    buf_init(&r.text, 2 * YAML_MAX_OBJECT);
    pass_byte_order_mark(&r);
    for (;;) {
        char c = next_document(&r);
        if (r.failed || at_end(&r))
            break;
        forget(&r);
        r.sent = false;
        if (c == '{' && read_document(&r))
            continue;
        if (r.sent || (r.failed && r.failed != -EBADMSG))
            break;
        r.at = 0;
        r.failed = read_yaml(&r);
        break;
    }
    buf_release(&r.text);
    return r.failed;
}
