/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/schema.h"

#include "base/nearest.h"
#include "base/vec.h"
#include "codec/json_reader.h"

/* A step of the path to the current value; on the stack of the walk. */
struct step {
    const struct step *up;
    struct str name; /* of a field, or a map's key */
    size_t index;    /* of a list */
    enum { STEP_FIELD, STEP_KEY, STEP_INDEX } kind;
};

/* A key of a map; duplicates are found when all are read. */
struct key {
    struct str name;
    size_t offset;
};

struct walk {
    struct json_reader r;
    const struct schema_type *types;
    schema_problem_fn *fn;
    void *ctx;
    struct arena arena;   /* decoded names with escapes */
    VEC(struct key) keys; /* of the open maps */
};

static bool walk_object(struct walk *w, const struct schema_type *type, const struct step *up);

/* --- problems --------------------------------------------------------------------------------- */

static void write_path(const struct step *step, struct buf *out)
{
    if (!step)
        return;
    write_path(step->up, out);
    if (step->kind == STEP_INDEX)
        buf_add_printf(out, "[%zu]", step->index);
    else
        buf_add_printf(out, "%s%.*s", out->n ? "." : "", STR_ARG(step->name));
}

static void report(struct walk *w, struct schema_problem problem, const struct step *step)
{
    struct buf path = BUF_INIT;
    write_path(step, &path);
    problem.path = buf_str(&path);
    w->fn(w->ctx, &problem);
    buf_release(&path);
}

static void report_unknown(struct walk *w, const struct schema_type *type, const char *where,
                           const struct step *step)
{
    struct nearest near;
    nearest_init(&near, step->name);
    for (size_t i = 0; i < type->n_fields; i++)
        nearest_consider(&near, (struct str){type->fields[i].name, type->fields[i].name_len});
    report(w,
           (struct schema_problem){.fault = SCHEMA_UNKNOWN_FIELD,
                                   .offset = (size_t)(where - w->r.start),
                                   .suggestion = nearest_suggestion(&near)},
           step);
}

static void report_duplicate(struct walk *w, size_t offset, const struct step *step)
{
    report(w, (struct schema_problem){.fault = SCHEMA_DUPLICATE_FIELD, .offset = offset}, step);
}

/* Reports a wrong type and skips the value. */
static bool wrong_type(struct walk *w, const char *expected, const struct step *step)
{
    report(w,
           (struct schema_problem){.fault = SCHEMA_WRONG_TYPE,
                                   .offset = (size_t)(w->r.at - w->r.start),
                                   .expected = expected},
           step);
    return json_skip(&w->r);
}

void schema_problem_write(const struct schema_problem *problem, struct buf *out)
{
    switch (problem->fault) {
    case SCHEMA_UNKNOWN_FIELD:
        buf_add_printf(out, "unknown field \"%.*s\"", STR_ARG(problem->path));
        if (problem->suggestion.n)
            buf_add_printf(out, "; did you mean \"%.*s\"?", STR_ARG(problem->suggestion));
        break;
    case SCHEMA_DUPLICATE_FIELD:
        buf_add_printf(out, "duplicate field \"%.*s\"", STR_ARG(problem->path));
        break;
    case SCHEMA_WRONG_TYPE:
        buf_add_printf(out, "%.*s: expected %s", STR_ARG(problem->path), problem->expected);
        break;
    }
}

/* --- values ----------------------------------------------------------------------------------- */

static bool walk_number(struct walk *w, bool must_be_whole, const struct step *step)
{
    const char *where = w->r.at;
    struct str text;
    bool whole;
    if (!json_number(&w->r, &text, &whole))
        return false;
    if (!whole && must_be_whole) {
        w->r.at = where;
        return wrong_type(w, "a whole number", step);
    }
    return true;
}

static bool walk_scalar(struct walk *w, enum schema_value value, const struct step *step)
{
    static const char *const expected[] = {
        [SCHEMA_STRING] = "a string",     [SCHEMA_BOOL] = "true or false",
        [SCHEMA_INT] = "a whole number",  [SCHEMA_NUMBER] = "a number",
        [SCHEMA_QUANTITY] = "a quantity", [SCHEMA_INT_OR_STRING] = "a string or a whole number",
    };
    char c = json_peek(&w->r);
    bool string = c == '"', boolean = c == 't' || c == 'f';
    bool number = c == '-' || (c >= '0' && c <= '9');
    bool takes_string =
        value == SCHEMA_STRING || value == SCHEMA_QUANTITY || value == SCHEMA_INT_OR_STRING;
    bool takes_number = value != SCHEMA_STRING && value != SCHEMA_BOOL;
    if (number && takes_number)
        return walk_number(w, value == SCHEMA_INT || value == SCHEMA_INT_OR_STRING, step);
    if ((string && takes_string) || (boolean && value == SCHEMA_BOOL))
        return json_skip(&w->r);
    return wrong_type(w, expected[value], step);
}

static bool walk_item(struct walk *w, const struct schema_field *f, const struct step *step)
{
    if (f->value == SCHEMA_ANY || json_peek(&w->r) == 'n')
        return json_skip(&w->r);
    if (f->value != SCHEMA_MESSAGE)
        return walk_scalar(w, f->value, step);
    if (json_peek(&w->r) != '{')
        return wrong_type(w, "an object", step);
    return walk_object(w, &w->types[f->type], step);
}

static bool walk_list(struct walk *w, const struct schema_field *f, const struct step *up)
{
    struct step step = {.up = up, .kind = STEP_INDEX};
    if (!json_enter(&w->r, '[', "expected an array"))
        return false;
    if (json_empty(&w->r, ']'))
        return true;
    for (bool more = true; more; step.index++)
        if (!walk_item(w, f, &step) || !json_next(&w->r, ']', &more))
            return false;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int order = str_cmp(x->name, y->name);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

static bool read_name(struct walk *w, struct str *ret_name, const char **ret_where)
{
    struct json_string s;
    json_space(&w->r);
    *ret_where = w->r.at;
    if (!json_string(&w->r, &s) || !json_colon(&w->r))
        return false;
    *ret_name = json_string_text(&s, &w->arena);
    return true;
}

/* Keys are mostly sorted: then comparing neighbours finds duplicates. */
static void report_duplicate_keys(struct walk *w, size_t first, const struct step *up)
{
    struct key *keys = w->keys.v + first;
    size_t n = w->keys.n - first;
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++)
        sorted = str_cmp(keys[i - 1].name, keys[i].name) < 0;
    if (sorted)
        return;
    qsort(keys, n, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < n; i++)
        if (str_eq(keys[i - 1].name, keys[i].name)) {
            struct step step = {.up = up, .name = keys[i].name, .kind = STEP_KEY};
            report_duplicate(w, keys[i].offset, &step);
        }
}

static bool walk_map(struct walk *w, const struct schema_field *f, const struct step *up)
{
    struct step step = {.up = up, .kind = STEP_KEY};
    size_t first = w->keys.n;
    if (!json_enter(&w->r, '{', "expected an object"))
        return false;
    if (json_empty(&w->r, '}'))
        return true;
    for (bool more = true; more;) {
        const char *where;
        if (!read_name(w, &step.name, &where))
            return false;
        vec_push(&w->keys, (struct key){step.name, (size_t)(where - w->r.start)});
        if (!walk_item(w, f, &step) || !json_next(&w->r, '}', &more))
            return false;
    }
    report_duplicate_keys(w, first, up);
    w->keys.n = first;
    return true;
}

static bool walk_field(struct walk *w, const struct schema_field *f, const struct step *step)
{
    char c = json_peek(&w->r);
    if (c == 'n')
        return json_skip(&w->r);
    if (f->shape == SCHEMA_LIST)
        return c == '[' ? walk_list(w, f, step) : wrong_type(w, "an array", step);
    if (f->shape == SCHEMA_MAP)
        return c == '{' ? walk_map(w, f, step) : wrong_type(w, "an object", step);
    return walk_item(w, f, step);
}

/* --- objects ---------------------------------------------------------------------------------- */

static int compare_name(struct str name, const struct schema_field *f)
{
    return str_cmp(name, (struct str){f->name, f->name_len});
}

/* next: kubectl prints fields in this order, so it is tried first. */
static const struct schema_field *find_field(const struct schema_type *type, struct str name,
                                             size_t *next)
{
    size_t from = 0, to = type->n_fields;
    if (*next < to && compare_name(name, &type->fields[*next]) == 0)
        return &type->fields[(*next)++];
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int order = compare_name(name, &type->fields[mid]);
        if (order == 0) {
            *next = mid + 1;
            return &type->fields[mid];
        }
        if (order > 0)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

const struct schema_field *schema_field_find(const struct schema_type *type, struct str name)
{
    size_t next = SIZE_MAX;
    return find_field(type, name, &next);
}

static bool walk_member(struct walk *w, const struct schema_type *type, const struct step *up,
                        uint64_t *seen, size_t *next)
{
    struct step step = {.up = up, .kind = STEP_FIELD};
    const char *where;
    if (!read_name(w, &step.name, &where))
        return false;
    const struct schema_field *f = find_field(type, step.name, next);
    if (!f) {
        report_unknown(w, type, where, &step);
        return json_skip(&w->r);
    }
    size_t i = (size_t)(f - type->fields);
    if (seen[i / 64] >> i % 64 & 1)
        report_duplicate(w, (size_t)(where - w->r.start), &step);
    seen[i / 64] |= (uint64_t)1 << i % 64;
    return walk_field(w, f, &step);
}

static bool walk_object(struct walk *w, const struct schema_type *type, const struct step *up)
{
    uint64_t seen[SCHEMA_MAX_FIELDS / 64] = {0};
    size_t next = 0;
    if (!json_enter(&w->r, '{', "expected an object"))
        return false;
    if (json_empty(&w->r, '}'))
        return true;
    for (bool more = true; more;)
        if (!walk_member(w, type, up, seen, &next) || !json_next(&w->r, '}', &more))
            return false;
    return true;
}

int schema_check(const struct schema_type *types, const struct schema_type *type, struct str json,
                 schema_problem_fn *fn, void *ctx, struct err *reterr)
{
    struct walk w = {.types = types, .fn = fn, .ctx = ctx};
    int ret = 0;
    json_reader_init(&w.r, json, 0);
    arena_init(&w.arena, 0);
    if (!walk_object(&w, type, NULL) || !json_finish(&w.r)) {
        size_t line, column;
        json_reader_locate(&w.r, &line, &column);
        ret = err_set(reterr, -EBADMSG, "line %zu, column %zu: %s", line, column, w.r.problem);
    }
    vec_release(&w.keys);
    arena_release(&w.arena);
    return ret;
}
