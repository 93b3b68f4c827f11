/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects and lists of objects are walked here; every other value is passed to the decoder as an
 * object with this member alone, so that only the decoder decides what a field accepts.
 */
#include "codec/json_problems.h"

#include "base/buf.h"
#include "base/nearest.h"

struct search {
    unsigned flags;
    json_problem_fn *fn;
    void *ctx;
    size_t found;
    struct buf path;
    struct arena *copies; /* of members, where some are removed */
    struct arena scratch; /* for the decoded single members */
};

static bool take_object(struct search *s, struct json_value *v, const struct type *type);

/* --- reports ---------------------------------------------------------------------------------- */

static void report(struct search *s, uint32_t line, struct str what, struct str suggestion)
{
    struct json_problem problem = {line, buf_str(&s->path), what, suggestion};
    s->found++;
    s->fn(s->ctx, &problem);
}

/* Appends a step to the path. Returns the length to cut it back to. */
static size_t step_into(struct search *s, struct str name)
{
    size_t before = s->path.n;
    buf_add_printf(&s->path, "%s%.*s", before ? "." : "", (int)MIN(name.n, (size_t)80),
                   name.p ? name.p : "");
    return before;
}

/* --- fields ----------------------------------------------------------------------------------- */

static struct str name_of(const struct field *f)
{
    return (struct str){f->json, f->json_len};
}

/* The field of this name, in the type or in its inline messages; NULL: none. */
static const struct field *find_field(const struct type *type, struct str name, unsigned flags)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];
        bool inlined = f->flags & FIELD_INLINE;
        if (!inlined && (str_eq(name_of(f), name) ||
                         ((flags & JSON_FOLD_CASE) && str_eq_fold(name_of(f), name))))
            return f;
        const struct field *inner = inlined ? find_field(f->type, name, flags) : NULL;
        if (inner)
            return inner;
    }
    return NULL;
}

static void consider_fields(const struct type *type, struct nearest *nearest)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (type->fields[i].flags & FIELD_INLINE)
            consider_fields(type->fields[i].type, nearest);
        else
            nearest_consider(nearest, name_of(&type->fields[i]));
}

static void report_unknown(struct search *s, const struct type *type, const struct json_member *m)
{
    struct nearest nearest;
    nearest_init(&nearest, m->key);
    consider_fields(type, &nearest);
    report(s, m->value.line, STR("unknown field"), nearest_suggestion(&nearest));
}

/* --- values checked by the decoder ------------------------------------------------------------ */

/* "line 3: labels[2]: expected a string": line and path are known better here. */
static void report_decoder_error(struct search *s, const struct json_member *m,
                                 const struct err *err)
{
    struct str rest = str_of(err->msg);
    uint32_t line = m->value.line;
    uint64_t parsed;
    size_t colon = str_find(rest, ':');
    if (str_starts(rest, STR("line ")) && colon < rest.n) {
        if (str_to_u64(str_slice(rest, strlen("line "), colon), &parsed))
            line = (uint32_t)parsed;
        rest = str_slice(rest, colon + strlen(": "), rest.n);
    }
    size_t before = s->path.n;
    if (str_starts(rest, m->key)) {
        colon = str_search(rest, STR(": "));
        buf_add_str(&s->path, str_slice(rest, m->key.n, colon));
        rest = str_slice(rest, colon + strlen(": "), rest.n);
    }
    report(s, line, rest, STR(""));
    s->path.n = before;
}

static bool decodes(struct search *s, const struct type *type, struct json_member *m)
{
    struct json_value alone = {.kind = JSON_OBJECT, .line = m->value.line};
    struct err err;
    alone.members = m;
    alone.n_members = 1;
    void *out = arena_alloc(&s->scratch, type->size, type->align);
    int r = json_value_decode(&alone, type, s->flags, &s->scratch, out, &err);
    arena_reset(&s->scratch);
    if (r < 0)
        report_decoder_error(s, m, &err);
    return r == 0;
}

/* --- the walk --------------------------------------------------------------------------------- */

static bool take_list(struct search *s, struct json_value *v, const struct type *type)
{
    if (v->kind != JSON_ARRAY) {
        report(s, v->line, STR("expected an array"), STR(""));
        return false;
    }
    for (size_t i = 0; i < v->n; i++) {
        size_t before = s->path.n;
        buf_add_printf(&s->path, "[%zu]", i);
        if (!take_object(s, &v->items[i], type))
            v->items[i] = (struct json_value){.kind = JSON_NULL, .line = v->items[i].line};
        s->path.n = before;
    }
    return true;
}

/* Returns false if the member must be removed. */
static bool take_member(struct search *s, const struct type *type, const struct field *f,
                        struct json_member *m)
{
    bool message = f->kind == FIELD_MESSAGE;
    if (m->value.kind == JSON_NULL)
        return true;
    if (message && (f->shape == SHAPE_ONE || f->shape == SHAPE_PTR))
        return take_object(s, &m->value, f->type);
    if (message && f->shape == SHAPE_LIST)
        return take_list(s, &m->value, f->type);
    return decodes(s, type, m);
}

/* Two members can mean one field only if names are case-insensitive. */
static bool is_second(const struct search *s, const struct json_member *before, size_t n,
                      const struct field *f, const struct type *type)
{
    for (size_t i = 0; (s->flags & JSON_FOLD_CASE) && i < n; i++)
        if (find_field(type, before[i].key, s->flags) == f)
            return true;
    return false;
}

/* before: the n members kept so far. */
static bool keep_member(struct search *s, const struct json_member *before, size_t n,
                        struct json_member *m, const struct type *type)
{
    const struct field *f = find_field(type, m->key, s->flags);
    size_t length = step_into(s, m->key);
    bool keep = false;
    if (!f)
        report_unknown(s, type, m);
    else if (is_second(s, before, n, f, type))
        report(s, m->value.line, STR("duplicate field"), STR(""));
    else
        keep = take_member(s, type, f, m);
    s->path.n = length;
    return keep;
}

/* Returns false if it is not an object. */
static bool take_object(struct search *s, struct json_value *v, const struct type *type)
{
    if (v->kind == JSON_NULL)
        return true;
    if (v->kind != JSON_OBJECT) {
        report(s, v->line, STR("expected an object"), STR(""));
        return false;
    }
    /* Aliases share members, so copy them. */
    struct json_member *kept = NULL;
    size_t n = 0;
    for (size_t i = 0; i < v->n_members; i++) {
        struct json_member *m = &v->members[i];
        bool keep = keep_member(s, kept ? kept : v->members, n, m, type);
        if (!keep && !kept) {
            kept = arena_array(s->copies, struct json_member, v->n_members);
            memcpy(kept, v->members, n * sizeof(*kept));
        }
        if (keep && kept)
            kept[n] = *m;
        n += keep;
    }
    v->n_members = n;
    if (kept)
        v->members = kept;
    return true;
}

size_t json_take_problems(struct json_value *tree, const struct type *type, unsigned flags,
                          struct arena *a, json_problem_fn *fn, void *ctx)
{
    struct search s = {.flags = flags | JSON_STRICT, .fn = fn, .ctx = ctx, .copies = a};
    arena_init(&s.scratch, 0);
    if (!take_object(&s, tree, type))
        *tree = (struct json_value){.kind = JSON_NULL, .line = tree->line};
    arena_release(&s.scratch);
    buf_release(&s.path);
    return s.found;
}
