/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed decoder: one pass over the text, driven by the tables. Objects usually have their
 * fields in the order of the table, so the field after the last one is tried first.
 */
#include "base/vec.h"
#include "codec/decode.h"
#include "codec/json_private.h"
#include "codec/json_scalar.h"

struct decoder {
    struct json_reader r;
    struct arena *a;
    size_t budget;
    VEC(const void *) seen; /* strict mode: members seen so far in the open objects */
    struct decode_path path;
    struct err custom; /* error of a custom type */
    struct scratch scratch;
};

static const char too_big[] = "needs too much memory for its size";

static bool decode_member(struct decoder *d, const struct field *f, void *member);
static bool decode_object(struct decoder *d, const struct type *type, char *out);

/* --- values ----------------------------------------------------------------------------------- */

static bool decode_str(struct decoder *d, struct str *out)
{
    struct json_string s = JSON_STRING_INIT;
    if (!json_string(&d->r, &s))
        return false;
    if (LIKELY(!s.escaped && !s.broken))
        *out = decode_dup(d->a, s.raw);
    else
        *out = json_string_text(&s, d->a);
    return true;
}

static bool decode_item(struct decoder *d, const struct field *f, void *out)
{
    int64_t value = 0;
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
        return decode_str(d, out);
    case FIELD_BYTES:
        return json_read_bytes(&d->r, d->a, out);
    case FIELD_BOOL:
        return json_read_bool(&d->r, out);
    case FIELD_INT32:
        if (!json_read_int(&d->r, INT32_MIN, INT32_MAX, &value))
            return false;
        *(int32_t *)out = (int32_t)value;
        return true;
    case FIELD_INT64:
        return json_read_int(&d->r, INT64_MIN, INT64_MAX, out);
    case FIELD_DOUBLE:
        return json_read_double(&d->r, out);
    case FIELD_RAW:
        return json_read_raw(&d->r, d->a, out);
    case FIELD_MESSAGE:
        return decode_object(d, f->type, out);
    case FIELD_CUSTOM:
        return json_read_custom(&d->r, d->a, f->custom, out, &d->custom);
    }
    return false;
}

/* --- lists and maps --------------------------------------------------------------------------- */

static bool gather_list(struct decoder *d, const struct field *f, struct gather *g)
{
    if (!json_enter(&d->r, '[', "expected an array"))
        return false;
    if (json_empty(&d->r, ']'))
        return true;
    for (bool more = true; more;) {
        if (!decode_charge(&d->budget, g->item_size))
            return json_fail(&d->r, too_big);
        void *item = gather_next(g);
        bool ok = json_peek(&d->r) == 'n' ? json_word(&d->r, STR("null")) : decode_item(d, f, item);
        if (UNLIKELY(!ok)) {
            path_index(&d->path, g->n - 1);
            return false;
        }
        if (!json_next(&d->r, ']', &more))
            return false;
    }
    return true;
}

static bool decode_entry(struct decoder *d, const struct type *type, char *entry)
{
    struct str *key = (struct str *)(void *)(entry + entry_key(type)->offset);
    if (!decode_str(d, key) || !json_colon(&d->r))
        return false;
    const struct field *value = entry_value(type);
    if (LIKELY(decode_member(d, value, entry + value->offset)))
        return true;
    path_key(&d->path, *key);
    return false;
}

static bool gather_map(struct decoder *d, const struct field *f, struct gather *g)
{
    if (!json_enter(&d->r, '{', "expected an object"))
        return false;
    if (json_empty(&d->r, '}'))
        return true;
    for (bool more = true; more;) {
        if (!decode_charge(&d->budget, g->item_size))
            return json_fail(&d->r, too_big);
        if (!decode_entry(d, f->type, gather_next(g)) || !json_next(&d->r, '}', &more))
            return false;
    }
    return true;
}

static bool decode_map(struct decoder *d, const struct field *f, struct any_list *out)
{
    const char *where = d->r.at;
    struct gather g;
    gather_begin(&g, &d->scratch, f->type->size);
    if (!gather_map(d, f, &g)) {
        gather_abandon(&g);
        return false;
    }
    size_t n = g.n;
    *out = (struct any_list){gather_end(&g, d->a, f->type->align), n};
    decode_sort_map(out, f->type);
    if (out->n < n && (d->r.flags & JSON_STRICT))
        return json_fail_at(&d->r, where, "duplicate key");
    return true;
}

/* An empty list differs from an absent one: messages distinguish them. */
static const max_align_t no_items;

static bool decode_list(struct decoder *d, const struct field *f, struct any_list *out)
{
    struct gather g;
    gather_begin(&g, &d->scratch, field_item_size(f));
    if (!gather_list(d, f, &g)) {
        gather_abandon(&g);
        return false;
    }
    size_t n = g.n;
    *out = (struct any_list){gather_end(&g, d->a, field_item_align(f)), n};
    if (n == 0)
        out->v = (void *)(uintptr_t)&no_items;
    return true;
}

/* --- fields and objects ----------------------------------------------------------------------- */

static bool decode_ptr(struct decoder *d, const struct field *f, void **member)
{
    if (!*member) {
        size_t size = field_item_size(f);
        if (!decode_charge(&d->budget, size))
            return json_fail(&d->r, too_big);
        *member = arena_alloc(d->a, size, field_item_align(f));
    }
    return decode_item(d, f, *member);
}

static bool decode_member(struct decoder *d, const struct field *f, void *member)
{
    if (json_peek(&d->r) == 'n')
        return json_word(&d->r, STR("null"));
    switch ((enum field_shape)f->shape) {
    case SHAPE_ONE:
        return decode_item(d, f, member);
    case SHAPE_PTR:
        return decode_ptr(d, f, member);
    case SHAPE_LIST:
        return decode_list(d, f, member);
    case SHAPE_MAP:
        return decode_map(d, f, member);
    }
    return false;
}

static const struct field *find_folded(const struct type *type, struct str name)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];
        if (!(f->flags & FIELD_INLINE) && str_eq_fold((struct str){f->json, f->json_len}, name))
            return f;
    }
    return NULL;
}

/*
 * The field called name, in the type or in its inline messages. *out becomes the member's address.
 */
static const struct field *find_field(const struct type *type, struct str name, unsigned flags,
                                      char **out)
{
    const struct field *f = type_find_name(type, name);
    if (UNLIKELY(!f && (flags & JSON_FOLD_CASE)))
        f = find_folded(type, name);
    if (LIKELY(f)) {
        *out += f->offset;
        return f;
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *inlined = &type->fields[i];
        if (!(inlined->flags & FIELD_INLINE))
            continue;
        char *inner = *out + inlined->offset;
        f = find_field(inlined->type, name, flags, &inner);
        if (f) {
            *out = inner;
            return f;
        }
    }
    return NULL;
}

static bool already_seen(struct decoder *d, size_t first, const void *member)
{
    for (size_t i = first; i < d->seen.n; i++)
        if (d->seen.v[i] == member)
            return true;
    vec_push(&d->seen, member);
    return false;
}

/* Consumes the name of the field at *next if it follows, without searching its end. */
static inline const struct field *expected_field(struct json_reader *r, const struct type *type,
                                                 size_t *next)
{
    if (*next >= type->n_fields)
        return NULL;
    const struct field *f = &type->fields[*next];
    size_t n = f->json_len;
    if ((size_t)(r->end - r->at) < n + 2 || r->at[0] != '"' || r->at[n + 1] != '"' ||
        r->at[1] != f->json[0] || memcmp(r->at + 1, f->json, n) != 0 || (f->flags & FIELD_INLINE))
        return NULL;
    r->at += n + 2;
    ++*next;
    return f;
}

/*
 * Decodes the value of a field; f is NULL if the table has none of that name. seen: start of this
 * object's part of d->seen.
 */
static bool decode_known(struct decoder *d, const struct field *f, size_t seen, const char *where,
                         char *member)
{
    struct json_reader *r = &d->r;
    if (!json_colon(r))
        return false;
    if (LIKELY(!(r->flags & JSON_STRICT)))
        return f ? decode_member(d, f, member) : json_skip(r);
    if (!f)
        return json_fail_at(r, where, "unknown field");
    if (already_seen(d, seen, member))
        return json_fail_at(r, where, "duplicate field");
    return decode_member(d, f, member);
}

/* One name and its value. */
static bool decode_field(struct decoder *d, const struct type *type, size_t *next, size_t seen,
                         char *out)
{
    struct json_reader *r = &d->r;
    json_space(r);
    const char *where = r->at;
    struct str name;
    char *member = out;
    const struct field *f = expected_field(r, type, next);
    if (f) {
        name = (struct str){f->json, f->json_len};
        member += f->offset;
    } else {
        struct json_string key = JSON_STRING_INIT;
        if (!json_string(r, &key))
            return json_fail(r, "expected a field name in quotes");
        name = json_string_text(&key, d->a);
        f = find_field(type, name, r->flags, &member);
        if (f >= type->fields && f < type->fields + type->n_fields)
            *next = (size_t)(f - type->fields) + 1;
    }
    if (LIKELY(decode_known(d, f, seen, where, member)))
        return true;
    path_field(&d->path, name);
    return false;
}

static bool decode_object(struct decoder *d, const struct type *type, char *out)
{
    if (!json_enter(&d->r, '{', "expected an object"))
        return false;
    if (json_empty(&d->r, '}'))
        return true;
    size_t next = 0, seen = d->seen.n;
    for (bool more = true; more;)
        if (!decode_field(d, type, &next, seen, out) || !json_next(&d->r, '}', &more))
            return false;
    d->seen.n = seen;
    return true;
}

/* --- entry points ----------------------------------------------------------------------------- */

static void decoder_init(struct decoder *d, struct str text, unsigned flags, struct arena *a)
{
    json_reader_init(&d->r, text, flags);
    d->a = a;
    d->budget = decode_budget(text.n);
    memset(&d->seen, 0, sizeof(d->seen));
    path_init(&d->path);
    scratch_init(&d->scratch);
}

static void decoder_release(struct decoder *d)
{
    vec_release(&d->seen);
    scratch_release(&d->scratch);
}

static int report(const struct decoder *d, json_locate_fn *locate, const void *ctx,
                  struct err *reterr)
{
    struct str path = path_str(&d->path);
    int code =
        err_set(reterr, -EBADMSG, "%.*s%s%s", STR_ARG(path), path.n ? ": " : "", d->r.problem);
    size_t line, column;
    if (locate) {
        line = locate(ctx, (size_t)(d->r.where - d->r.start));
        return line ? err_prefix(reterr, code, "line %zu", line) : code;
    }
    json_reader_locate(&d->r, &line, &column);
    return err_prefix(reterr, code, "line %zu, column %zu", line, column);
}

int json_decode_located(struct str text, const struct json_target *target, struct arena *a,
                        json_locate_fn *locate, const void *ctx, struct err *reterr)
{
    struct decoder d;
    decoder_init(&d, text, target->flags, a);
    memset(target->out, 0, target->type->size);
    int ret = 0;
    bool ok = json_peek(&d.r) == 'n' ? json_word(&d.r, STR("null"))
                                     : decode_object(&d, target->type, target->out);
    if (!ok || !json_finish(&d.r))
        ret = report(&d, locate, ctx, reterr);
    decoder_release(&d);
    return ret;
}

int json_decode(struct str text, const struct type *type, unsigned flags, struct arena *a,
                void *out, struct err *reterr)
{
    struct json_target target = {type, flags, out};
    return json_decode_located(text, &target, a, NULL, NULL, reterr);
}

/* --- lists, item by item ---------------------------------------------------------------------- */

struct list_reader {
    json_item_fn *on_item;
    void *ctx;
    int stopped; /* what on_item returned */
};

static bool pass_items(struct decoder *d, struct list_reader *list)
{
    struct json_reader *r = &d->r;
    if (json_peek(r) == 'n')
        return json_word(r, STR("null"));
    if (!json_enter(r, '[', "expected an array"))
        return false;
    if (json_empty(r, ']'))
        return true;
    for (bool more = true; more;) {
        json_space(r);
        struct json_scan scan = {0};
        struct str rest = {r->at, (size_t)(r->end - r->at)};
        ssize_t n = rest.n && (*r->at == '{' || *r->at == '[') ? json_scan_value(&scan, rest) : -1;
        if (n <= 0)
            return json_fail(r, n < 0 ? "expected an object" : "unexpected end of input");
        list->stopped = list->on_item(list->ctx, str_slice(rest, 0, (size_t)n));
        if (list->stopped)
            return false;
        r->at += n;
        if (!json_next(r, ']', &more))
            return false;
    }
    return true;
}

static bool decode_list_field(struct decoder *d, const struct type *type, size_t *next, char *out,
                              struct list_reader *list)
{
    struct json_reader *r = &d->r;
    json_space(r);
    static const char items[] = "\"items\"";
    size_t n = sizeof(items) - 1;
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, items, n) != 0)
        return decode_field(d, type, next, 0, out);
    r->at += n;
    if (json_colon(r) && pass_items(d, list))
        return true;
    path_field(&d->path, STR("items"));
    return false;
}

static bool decode_list_object(struct decoder *d, const struct type *type, char *out,
                               struct list_reader *list)
{
    if (!json_enter(&d->r, '{', "expected an object"))
        return false;
    if (json_empty(&d->r, '}'))
        return true;
    size_t next = 0;
    for (bool more = true; more;)
        if (!decode_list_field(d, type, &next, out, list) || !json_next(&d->r, '}', &more))
            return false;
    return true;
}

int json_decode_list(struct str text, const struct type *type, struct arena *a, void *out,
                     json_item_fn *on_item, void *ctx, struct err *reterr)
{
    struct decoder d;
    struct list_reader list = {on_item, ctx, 0};
    decoder_init(&d, text, 0, a);
    memset(out, 0, type->size);
    int ret = 0;
    if (!decode_list_object(&d, type, out, &list) || !json_finish(&d.r))
        ret = list.stopped ? list.stopped : report(&d, NULL, NULL, reterr);
    decoder_release(&d);
    return ret;
}

/* --- members, one by one ---------------------------------------------------------------------- */

/* Consumes a whole value with matched brackets. */
static bool take_value(struct json_reader *r, struct str *ret_value)
{
    json_space(r);
    struct json_scan scan = {0};
    struct str rest = {r->at, (size_t)(r->end - r->at)};
    ssize_t n = json_scan_value(&scan, rest);
    if (n <= 0)
        return json_fail(r, n < 0 ? "expected a value" : "unexpected end of input");
    *ret_value = str_slice(rest, 0, (size_t)n);
    r->at += n;
    return true;
}

static bool each_member(struct json_reader *r, json_member_fn *fn, void *ctx)
{
    if (!json_enter(r, '{', "expected an object"))
        return false;
    if (json_empty(r, '}'))
        return true;
    for (bool more = true; more;) {
        struct json_string name;
        struct str value;
        if (!json_string(r, &name) || !json_colon(r) || !take_value(r, &value))
            return false;
        if (!fn(ctx, name.raw, value))
            return true;
        if (!json_next(r, '}', &more))
            return false;
    }
    return true;
}

int json_each_member(struct str text, json_member_fn *fn, void *ctx, struct err *reterr)
{
    struct json_reader r;
    size_t line, column;
    json_reader_init(&r, text, 0);
    if (each_member(&r, fn, ctx))
        return 0;
    json_reader_locate(&r, &line, &column);
    return err_set(reterr, -EBADMSG, "line %zu, column %zu: %s", line, column, r.problem);
}
