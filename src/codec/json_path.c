/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_path.h"

#include "base/go_text.h"
#include "base/vec.h"

/* Filters and unions nest. */
#define MAX_NESTING 8

struct eval {
    struct arena *a;
    size_t visits;
    int nesting;
};

typedef VEC(const struct json_value *) value_set;

static bool eval_path(struct eval *e, struct str path, value_set *set);

static bool visit(struct eval *e, size_t n)
{
    e->visits += n;
    return e->visits <= JSON_PATH_MAX_VISITS;
}

static void replace(value_set *set, value_set *with)
{
    vec_release(set);
    *set = *with;
}

/* --- fields ----------------------------------------------------------------------------------- */

static void push_children(const struct json_value *v, value_set *out)
{
    if (v->kind == JSON_ARRAY)
        for (size_t i = 0; i < v->n; i++)
            vec_push(out, &v->items[i]);
    else if (v->kind == JSON_OBJECT)
        for (size_t i = 0; i < v->n_members; i++)
            vec_push(out, &v->members[i].value);
}

static bool is_terminator(char c)
{
    static const struct str terminators = STR_INIT(" \t\r\n.,[]$@{}");
    return str_find(terminators, c) < terminators.n;
}

/* Reads a name up to a terminator that \ does not escape. */
static struct str read_field(struct eval *e, struct str *path)
{
    char *name = arena_array(e->a, char, path->n + 1);
    size_t n = 0, i = 0;
    for (; i < path->n && !is_terminator(path->p[i]); i++) {
        if (path->p[i] == '\\' && ++i == path->n)
            break;
        if (path->p[i] != '\\')
            name[n++] = path->p[i];
    }
    *path = str_slice(*path, i, path->n);
    return (struct str){name, n};
}

static bool eval_field(struct eval *e, struct str *path, value_set *set)
{
    struct str name = read_field(e, path);
    value_set found = {0};
    bool all = str_is(name, "*");
    for (size_t i = 0; i < set->n; i++) {
        const struct json_value *member = all ? NULL : json_get(set->v[i], name);
        if (all)
            push_children(set->v[i], &found);
        else if (member)
            vec_push(&found, member);
    }
    bool ok = visit(e, found.n + set->n);
    replace(set, &found);
    return ok;
}

/* Every value that has children, parents before their children. */
static bool push_recursive(struct eval *e, const struct json_value *v, value_set *out)
{
    value_set children = {0};
    bool ok = true;
    push_children(v, &children);
    if (children.n)
        vec_push(out, v);
    ok = visit(e, children.n);
    for (size_t i = 0; ok && i < children.n; i++)
        ok = push_recursive(e, children.v[i], out);
    vec_release(&children);
    return ok;
}

static bool eval_recursive(struct eval *e, value_set *set)
{
    value_set found = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < set->n; i++)
        ok = push_recursive(e, set->v[i], &found);
    replace(set, &found);
    return ok;
}

/* --- arrays ----------------------------------------------------------------------------------- */

struct slice {
    int64_t from, to, step;
    bool to_end; /* no upper bound was given */
    bool single; /* one index: the upper bound follows it */
};

/* "3", "-1", "1:3", ":", "::2". */
static bool parse_slice(struct str text, struct slice *ret_slice)
{
    struct slice s = {.step = 1, .single = true};
    struct str rest = text, part;
    for (int i = 0; str_split(&rest, ':', &part); i++) {
        int64_t *at[] = {&s.from, &s.to, &s.step};
        if (i > 2 || (part.n && !str_to_i64(part, at[i])))
            return false;
        if (i == 1) {
            s.single = false;
            s.to_end = part.n == 0;
        }
        if (i == 0 && part.n == 0 && str_find(text, ':') == text.n)
            return false;
    }
    *ret_slice = s;
    return s.step > 0;
}

static bool slice_one(const struct json_value *v, struct slice s, value_set *out)
{
    int64_t n;
    if (v->kind == JSON_NULL)
        return true;
    if (v->kind != JSON_ARRAY)
        return false;
    n = (int64_t)v->n;
    if (s.from < -n || s.from > n || s.to < -n || s.to > n)
        return false;
    if (s.from < 0)
        s.from += n;
    if (s.single)
        s.to = s.from + 1;
    else if (s.to_end)
        s.to = n;
    else if (s.to < 0)
        s.to += n;
    if (s.to == s.from)
        return true;
    if (s.from >= n || s.to > n || s.from > s.to)
        return false;
    for (int64_t i = s.from; i < s.to; i += s.step)
        vec_push(out, &v->items[i]);
    return true;
}

static bool eval_union(struct eval *e, struct str list, value_set *set)
{
    value_set found = {0};
    struct str part;
    bool ok = e->nesting < MAX_NESTING;
    e->nesting++;
    while (ok && str_split(&list, ',', &part)) {
        value_set one = {0};
        for (size_t i = 0; i < set->n; i++)
            vec_push(&one, set->v[i]);
        part = str_trim(part);
        ok = visit(e, one.n) && eval_path(e, arena_printf(e->a, "[%.*s]", STR_ARG(part)), &one);
        for (size_t i = 0; i < one.n; i++)
            vec_push(&found, one.v[i]);
        vec_release(&one);
    }
    e->nesting--;
    replace(set, &found);
    return ok;
}

/* After '['. As upstream, ['a.b'] is the path .a.b. */
static bool eval_array(struct eval *e, struct str *path, value_set *set)
{
    size_t end = str_find(*path, ']');
    struct str text = str_slice(*path, 0, end);
    struct slice slice;
    value_set found = {0};
    bool ok = true;
    if (end == path->n)
        return false;
    *path = str_slice(*path, end + 1, path->n);
    if (str_find(text, ',') < text.n)
        return eval_union(e, text, set);
    if (text.n >= 2 && text.p[0] == '\'' && text.p[text.n - 1] == '\'') {
        struct str key = str_slice(text, 1, text.n - 1);
        return eval_path(e, arena_printf(e->a, ".%.*s", STR_ARG(key)), set);
    }
    if (!parse_slice(str_is(text, "*") ? STR(":") : text, &slice))
        return false;
    for (size_t i = 0; ok && i < set->n; i++)
        ok = slice_one(set->v[i], slice, &found);
    ok = ok && visit(e, found.n + set->n);
    replace(set, &found);
    return ok;
}

/* --- literals --------------------------------------------------------------------------------- */

static void set_literal(struct eval *e, struct json_value v, value_set *set)
{
    struct json_value *kept = arena_new(e->a, struct json_value);
    *kept = v;
    for (size_t i = 0; i < set->n; i++)
        set->v[i] = kept;
}

/* A text in quotes; \ keeps the character after it. */
static bool eval_quoted(struct eval *e, struct str *path, value_set *set)
{
    char quote = path->p[0];
    char *text = arena_array(e->a, char, path->n);
    size_t n = 0, i = 1;
    for (; i < path->n && path->p[i] != quote; i++) {
        if (path->p[i] == '\\' && ++i == path->n)
            return false;
        text[n++] = path->p[i];
    }
    if (i == path->n)
        return false;
    *path = str_slice(*path, i + 1, path->n);
    set_literal(e, (struct json_value){.kind = JSON_STRING, .text = {text, n}}, set);
    return true;
}

static bool eval_number(struct eval *e, struct str *path, value_set *set)
{
    size_t n = 1;
    double value;
    while (n < path->n && (path->p[n] == '.' || (path->p[n] >= '0' && path->p[n] <= '9')))
        n++;
    struct str text = str_slice(*path, 0, n);
    if (go_parse_float64(text, &value, NULL))
        return false;
    *path = str_slice(*path, n, path->n);
    text = str_slice(text, text.p[0] == '+', text.n);
    set_literal(e, (struct json_value){.kind = JSON_NUMBER, .text = text}, set);
    return true;
}

static bool eval_word(struct eval *e, struct str *path, value_set *set)
{
    bool yes = str_starts(*path, STR("true"));
    size_t n = yes ? 4 : 5;
    if (!yes && !str_starts(*path, STR("false")))
        return false;
    if (n < path->n && !is_terminator(path->p[n]))
        return false;
    *path = str_slice(*path, n, path->n);
    set_literal(e, (struct json_value){.kind = JSON_BOOL, .boolean = yes}, set);
    return true;
}

/* --- filters ---------------------------------------------------------------------------------- */

enum compare_op { OP_EXISTS, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE };

struct filter {
    struct str left, right;
    enum compare_op op;
};

/* After "[?(": up to the ")]" that is in no quotes. */
static bool read_filter(struct str *path, struct str *ret_text)
{
    char quote = 0;
    for (size_t i = 0; i < path->n; i++) {
        char c = path->p[i];
        if (quote && c == '\\')
            i++;
        else if (quote && c == quote)
            quote = 0;
        else if (!quote && (c == '"' || c == '\''))
            quote = c;
        else if (!quote && c == ')') {
            if (i + 1 == path->n || path->p[i + 1] != ']')
                return false;
            *ret_text = str_slice(*path, 0, i);
            *path = str_slice(*path, i + 2, path->n);
            return true;
        }
    }
    return false;
}

static bool is_operator(char c)
{
    return c == '!' || c == '<' || c == '>' || c == '=';
}

static bool parse_filter(struct str text, struct filter *ret_filter)
{
    static const char *const names[] = {
        [OP_EQ] = "==", [OP_NE] = "!=", [OP_LT] = "<",
        [OP_LE] = "<=", [OP_GT] = ">",  [OP_GE] = ">=",
    };
    size_t from = 0, to;
    while (from < text.n && !is_operator(text.p[from]))
        from++;
    for (to = from; to < text.n && is_operator(text.p[to]);)
        to++;
    struct filter f = {str_slice(text, 0, from), str_slice(text, to, text.n), OP_EXISTS};
    if (from == 0 || to == from || to == text.n) {
        *ret_filter = (struct filter){.left = text};
        return true;
    }
    for (enum compare_op op = OP_EQ; op <= OP_GE; op++)
        if (str_is(str_slice(text, from, to), names[op]))
            f.op = op;
    *ret_filter = f;
    return f.op != OP_EXISTS;
}

/* The order of two values of one type; false if upstream does not compare them. */
static bool compare(const struct json_value *a, const struct json_value *b, int *ret_order)
{
    int64_t x, y;
    if (a->kind != b->kind)
        return false;
    if (a->kind == JSON_STRING) {
        *ret_order = str_cmp(a->text, b->text);
        return true;
    }
    if (a->kind == JSON_BOOL) {
        *ret_order = (int)a->boolean - (int)b->boolean;
        return true;
    }
    if (a->kind != JSON_NUMBER)
        return false;
    bool whole = str_to_i64(a->text, &x), other = str_to_i64(b->text, &y);
    double v, w;
    if (whole != other)
        return false;
    if (whole) {
        *ret_order = (x > y) - (x < y);
        return true;
    }
    if (go_parse_float64(a->text, &v, NULL) || go_parse_float64(b->text, &w, NULL))
        return false;
    *ret_order = (v > w) - (v < w);
    return true;
}

static bool passes(enum compare_op op, int order)
{
    switch (op) {
    case OP_EQ:
        return order == 0;
    case OP_NE:
        return order != 0;
    case OP_LT:
        return order < 0;
    case OP_LE:
        return order <= 0;
    case OP_GT:
        return order > 0;
    case OP_GE:
        return order >= 0;
    default:
        return true;
    }
}

/* Whether the filter lets the item through. False is returned for an error. */
static bool filter_item(struct eval *e, const struct filter *f, const struct json_value *item,
                        bool *ret_pass)
{
    value_set left = {0}, right = {0};
    bool ok, pass = false;
    int order;
    vec_push(&left, item);
    vec_push(&right, item);
    ok = eval_path(e, f->left, &left);
    if (f->op == OP_EXISTS) {
        pass = ok && left.n > 0;
        ok = true;
    } else {
        ok = ok && left.n <= 1 && eval_path(e, f->right, &right) && right.n <= 1;
        if (ok && left.n && right.n) {
            ok = compare(left.v[0], right.v[0], &order) &&
                 (left.v[0]->kind != JSON_BOOL || f->op == OP_EQ || f->op == OP_NE);
            pass = ok && passes(f->op, order);
        }
    }
    vec_release(&left);
    vec_release(&right);
    *ret_pass = pass;
    return ok;
}

static bool eval_filter(struct eval *e, struct str *path, value_set *set)
{
    struct filter f;
    struct str text;
    value_set found = {0};
    bool ok = read_filter(path, &text) && parse_filter(text, &f) && e->nesting < MAX_NESTING;
    e->nesting++;
    for (size_t i = 0; ok && i < set->n; i++) {
        ok = set->v[i]->kind == JSON_ARRAY;
        for (size_t j = 0; ok && j < set->v[i]->n; j++) {
            bool pass;
            ok = visit(e, 1) && filter_item(e, &f, &set->v[i]->items[j], &pass);
            if (ok && pass)
                vec_push(&found, &set->v[i]->items[j]);
        }
    }
    e->nesting--;
    replace(set, &found);
    return ok;
}

/* --- a path ----------------------------------------------------------------------------------- */

static bool eval_step(struct eval *e, struct str *path, value_set *set)
{
    char c = path->p[0];
    if (str_starts(*path, STR("[?("))) {
        *path = str_slice(*path, 3, path->n);
        return eval_filter(e, path, set);
    }
    if (str_starts(*path, STR(".."))) {
        *path = str_slice(*path, 2, path->n);
        bool name = path->n && !is_terminator(path->p[0]);
        return eval_recursive(e, set) && (!name || eval_field(e, path, set));
    }
    if (c == '"' || c == '\'')
        return eval_quoted(e, path, set);
    if (c == '+' || c == '-' || (c >= '0' && c <= '9'))
        return eval_number(e, path, set);
    if (c != ' ' && c != '@' && c != '$' && c != '[' && c != '.')
        return eval_word(e, path, set);
    *path = str_slice(*path, 1, path->n);
    if (c == '[')
        return eval_array(e, path, set);
    return c != '.' || eval_field(e, path, set);
}

/* Replaces the set by what the path finds in its values. False: an error. */
static bool eval_path(struct eval *e, struct str path, value_set *set)
{
    while (path.n)
        if (!eval_step(e, &path, set))
            return false;
    return true;
}

const struct json_value *json_path_first(const struct json_value *v, struct str path,
                                         struct arena *a)
{
    struct eval e = {.a = a};
    value_set set = {0};
    vec_push(&set, v);
    bool ok = eval_path(&e, path, &set);
    const struct json_value *first = ok && set.n ? set.v[0] : NULL;
    vec_release(&set);
    return first;
}
