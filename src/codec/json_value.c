/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_value.h"

#include "base/vec.h"
#include "codec/decode.h"
#include "codec/json_private.h"
#include "codec/json_reader.h"

/* --- sorted members --------------------------------------------------------------------------- */

/* Equal keys keep the order of the object. */
static int compare_members(const void *a, const void *b)
{
    const struct json_member *x = *(const struct json_member *const *)a;
    const struct json_member *y = *(const struct json_member *const *)b;
    int order = str_cmp(x->key, y->key);
    return order ? order : (x > y) - (x < y);
}

struct json_member **json_sorted_members(const struct json_value *v)
{
    struct json_member **sorted = xreallocarray(NULL, v->n_members, sizeof(struct json_member *));
    for (size_t i = 0; i < v->n_members; i++)
        sorted[i] = &v->members[i];
    if (v->n_members)
        qsort(sorted, v->n_members, sizeof(*sorted), compare_members);
    return sorted;
}

/* Few members are compared pairwise, many are sorted first. */
#define FEW 12

static bool has_duplicates(const struct json_value *v)
{
    bool found = false;
    if (v->n_members <= FEW) {
        for (size_t i = 1; i < v->n_members; i++)
            for (size_t k = 0; k < i; k++)
                found |= str_eq(v->members[i].key, v->members[k].key);
        return found;
    }
    struct json_member **sorted = json_sorted_members(v);
    for (size_t i = 1; i < v->n_members && !found; i++)
        found = str_eq(sorted[i - 1]->key, sorted[i]->key);
    free(sorted);
    return found;
}

void json_each_duplicate(const struct json_value *v, json_duplicate_fn *fn, void *ctx)
{
    if (!has_duplicates(v))
        return;
    struct json_member **sorted = json_sorted_members(v);
    for (size_t i = 0, k; i < v->n_members; i = k)
        for (k = i + 1; k < v->n_members && str_eq(sorted[i]->key, sorted[k]->key); k++)
            fn(ctx, sorted[i], sorted[k]);
    free(sorted);
}

const struct json_member *json_drop_duplicates(struct json_value *v, bool refuse)
{
    if (!has_duplicates(v))
        return NULL;
    struct json_member **sorted = json_sorted_members(v), *second = NULL;
    for (size_t i = 0, k; i < v->n_members; i = k) {
        for (k = i + 1; k < v->n_members && str_eq(sorted[i]->key, sorted[k]->key); k++)
            if (!second || sorted[k] < second)
                second = sorted[k];
        sorted[i]->value = sorted[k - 1]->value;
        for (size_t gone = i + 1; gone < k && !refuse; gone++)
            sorted[gone]->key.p = NULL; /* every key that was read has bytes */
    }
    free(sorted);
    if (refuse)
        return second;
    size_t n = 0;
    for (size_t i = 0; i < v->n_members; i++)
        if (v->members[i].key.p)
            v->members[n++] = v->members[i];
    v->n_members = n;
    return NULL;
}

/* --- parsing ---------------------------------------------------------------------------------- */

struct parser {
    struct json_reader r;
    struct arena *a;
    const char *counted; /* line is correct up to here */
    uint32_t line;
    struct decode_path path;
    struct scratch scratch;
};

static uint32_t line_at(struct parser *p, const char *at)
{
    while ((p->counted = memchr(p->counted, '\n', (size_t)(at - p->counted)))) {
        p->counted++;
        p->line++;
    }
    p->counted = at;
    return p->line;
}

static bool parse_value(struct parser *p, struct json_value *out);

static bool parse_text(struct parser *p, struct str *out)
{
    struct json_string s;
    if (!json_string(&p->r, &s))
        return false;
    *out = s.escaped || s.broken ? json_string_text(&s, p->a) : decode_dup(p->a, s.raw);
    return true;
}

static bool gather_members(struct parser *p, struct gather *g)
{
    if (json_empty(&p->r, '}'))
        return true;
    for (bool more = true; more;) {
        struct json_member *m = gather_next(g);
        if (json_peek(&p->r) != '"')
            return json_fail(&p->r, "expected a field name in quotes");
        if (!parse_text(p, &m->key) || !json_colon(&p->r))
            return false;
        if (!parse_value(p, &m->value)) {
            path_field(&p->path, m->key);
            return false;
        }
        if (!json_next(&p->r, '}', &more))
            return false;
    }
    return true;
}

static bool parse_object(struct parser *p, struct json_value *out)
{
    const char *where = p->r.at;
    if (!json_enter(&p->r, '{', "expected an object"))
        return false;
    struct gather g;
    gather_begin(&g, &p->scratch, sizeof(struct json_member));
    if (!gather_members(p, &g)) {
        gather_abandon(&g);
        return false;
    }
    out->n_members = g.n;
    out->members = gather_end(&g, p->a, _Alignof(struct json_member));
    const struct json_member *twice = json_drop_duplicates(out, p->r.flags & JSON_STRICT);
    if (!twice)
        return true;
    path_field(&p->path, twice->key);
    return json_fail_at(&p->r, where, "duplicate field");
}

static bool gather_items(struct parser *p, struct gather *g)
{
    if (json_empty(&p->r, ']'))
        return true;
    for (bool more = true; more;) {
        if (!parse_value(p, gather_next(g))) {
            path_index(&p->path, g->n - 1);
            return false;
        }
        if (!json_next(&p->r, ']', &more))
            return false;
    }
    return true;
}

static bool parse_array(struct parser *p, struct json_value *out)
{
    if (!json_enter(&p->r, '[', "expected an array"))
        return false;
    struct gather g;
    gather_begin(&g, &p->scratch, sizeof(struct json_value));
    if (!gather_items(p, &g)) {
        gather_abandon(&g);
        return false;
    }
    out->n = g.n;
    out->items = gather_end(&g, p->a, _Alignof(struct json_value));
    return true;
}

static bool parse_number(struct parser *p, struct json_value *out)
{
    struct str text;
    bool whole;
    if (p->r.at == p->r.end || (*p->r.at != '-' && (*p->r.at < '0' || *p->r.at > '9')))
        return json_fail(&p->r, "expected a value");
    if (!json_number(&p->r, &text, &whole))
        return false;
    out->kind = JSON_NUMBER;
    out->text = decode_dup(p->a, text);
    return true;
}

static bool parse_value(struct parser *p, struct json_value *out)
{
    char c = json_peek(&p->r);
    out->line = line_at(p, p->r.at);
    switch (c) {
    case '{':
        out->kind = JSON_OBJECT;
        return parse_object(p, out);
    case '[':
        out->kind = JSON_ARRAY;
        return parse_array(p, out);
    case '"':
        out->kind = JSON_STRING;
        return parse_text(p, &out->text);
    case 't':
    case 'f':
        out->kind = JSON_BOOL;
        out->boolean = c == 't';
        return json_word(&p->r, c == 't' ? STR("true") : STR("false"));
    case 'n':
        out->kind = JSON_NULL;
        return json_word(&p->r, STR("null"));
    default:
        return parse_number(p, out);
    }
}

int json_parse(struct str text, unsigned flags, struct arena *a, struct json_value *ret_value,
               struct err *reterr)
{
    struct parser p = {.a = a, .line = 1};
    json_reader_init(&p.r, text, flags);
    p.counted = p.r.start;
    path_init(&p.path);
    scratch_init(&p.scratch);
    struct json_value value = {0};
    int ret = 0;
    if (parse_value(&p, &value) && json_finish(&p.r)) {
        *ret_value = value;
    } else {
        size_t line, column;
        struct str path = path_str(&p.path);
        json_reader_locate(&p.r, &line, &column);
        ret = err_set(reterr, -EBADMSG, "line %zu, column %zu: %.*s%s%s", line, column,
                      STR_ARG(path), path.n ? ": " : "", p.r.problem);
    }
    scratch_release(&p.scratch);
    return ret;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct writer {
    struct buf *out;
    struct json_marks *marks; /* NULL: not needed */
};

static void mark(struct writer *w, uint32_t line)
{
    if (w->marks && (w->marks->v.n == 0 || vec_last(&w->marks->v).line != line))
        vec_push(&w->marks->v, (struct json_mark){w->out->n, line});
}

static void write_value(struct writer *w, const struct json_value *v)
{
    struct buf *out = w->out;
    mark(w, v->line);
    switch (v->kind) {
    case JSON_NULL:
        buf_add_cstr(out, "null");
        break;
    case JSON_BOOL:
        buf_add_cstr(out, v->boolean ? "true" : "false");
        break;
    case JSON_NUMBER:
        buf_add_str(out, v->text);
        break;
    case JSON_STRING:
        json_write_str(out, v->text);
        break;
    case JSON_ARRAY:
        buf_add_char(out, '[');
        for (size_t i = 0; i < v->n; i++) {
            if (i)
                buf_add_char(out, ',');
            write_value(w, &v->items[i]);
        }
        buf_add_char(out, ']');
        break;
    case JSON_OBJECT:
        buf_add_char(out, '{');
        for (size_t i = 0; i < v->n_members; i++) {
            if (i)
                buf_add_char(out, ',');
            /* A name belongs to the line of its value: errors point there. */
            mark(w, v->members[i].value.line);
            json_write_str(out, v->members[i].key);
            buf_add_char(out, ':');
            write_value(w, &v->members[i].value);
        }
        buf_add_char(out, '}');
        break;
    }
}

void json_write(const struct json_value *v, struct buf *out)
{
    struct writer w = {.out = out};
    write_value(&w, v);
}

void json_write_marked(const struct json_value *v, struct buf *out, struct json_marks *marks)
{
    struct writer w = {.out = out, .marks = marks};
    write_value(&w, v);
}

/* --- reading ---------------------------------------------------------------------------------- */

const struct json_value *json_get(const struct json_value *v, struct str key)
{
    if (!v || v->kind != JSON_OBJECT)
        return NULL;
    for (size_t i = 0; i < v->n_members; i++)
        if (str_eq(v->members[i].key, key))
            return &v->members[i].value;
    return NULL;
}

struct str json_get_text(const struct json_value *v, struct str key)
{
    const struct json_value *member = json_get(v, key);
    return member && member->kind == JSON_STRING ? member->text : STR("");
}

static bool number_equal(struct str a, struct str b)
{
    int64_t x, y;
    if (str_eq(a, b))
        return true;
    if (str_to_i64(a, &x) && str_to_i64(b, &y))
        return x == y; /* -0 and 0 */
    char *s = str_dup(a), *t = str_dup(b);
    bool equal = strtod(s, NULL) == strtod(t, NULL);
    free(s);
    free(t);
    return equal;
}

static bool object_equal(const struct json_value *a, const struct json_value *b)
{
    if (a->n_members != b->n_members)
        return false;
    struct json_member **x = json_sorted_members(a), **y = json_sorted_members(b);
    bool equal = true;
    for (size_t i = 0; i < a->n_members && equal; i++)
        equal = str_eq(x[i]->key, y[i]->key) && json_value_equal(&x[i]->value, &y[i]->value);
    free(x);
    free(y);
    return equal;
}

bool json_value_equal(const struct json_value *a, const struct json_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->boolean == b->boolean;
    case JSON_NUMBER:
        return number_equal(a->text, b->text);
    case JSON_STRING:
        return str_eq(a->text, b->text);
    case JSON_ARRAY:
        for (size_t i = 0; i < a->n && a->n == b->n; i++)
            if (!json_value_equal(&a->items[i], &b->items[i]))
                return false;
        return a->n == b->n;
    case JSON_OBJECT:
        return object_equal(a, b);
    }
    return false;
}

/* --- typed ------------------------------------------------------------------------------------ */

size_t json_marks_line(const void *ctx, size_t offset)
{
    const struct json_marks *marks = ctx;
    size_t from = 0, to = marks->v.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (marks->v.v[mid].offset <= offset)
            from = mid + 1;
        else
            to = mid;
    }
    return from ? marks->v.v[from - 1].line : 0;
}

int json_value_decode(const struct json_value *v, const struct type *type, unsigned flags,
                      struct arena *a, void *out, struct err *reterr)
{
    struct buf text = BUF_INIT;
    struct json_marks marks = {0};
    json_write_marked(v, &text, &marks);
    struct json_target target = {type, flags, out};
    int ret = text.overflow ? err_set(reterr, -EMSGSIZE, "more than %zu bytes", BUF_MAX_DEFAULT)
                            : json_decode_located(buf_str(&text), &target, a, json_marks_line,
                                                  &marks, reterr);
    vec_release(&marks.v);
    buf_release(&text);
    return ret;
}
