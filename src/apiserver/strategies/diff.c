/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/diff.h"

#include "base/vec.h"

#define CONTEXT 3

struct lines {
    struct buf text;
    VEC(struct str) v;
};

static void indent(struct buf *out, size_t depth)
{
    buf_add_char(out, '\n');
    for (size_t i = 0; i < depth; i++)
        buf_add_char(out, ' ');
}

/* As Go's MarshalIndent with one space. Depth is bounded by JSON_MAX_DEPTH. */
static void write_indented(const struct json_value *v, size_t depth, struct buf *out)
{
    bool array = v->kind == JSON_ARRAY;
    size_t n = array ? v->n : v->kind == JSON_OBJECT ? v->n_members : 0;

    if (n == 0) {
        json_write(v, out);
        return;
    }
    buf_add_char(out, array ? '[' : '{');
    for (size_t i = 0; i < n; i++) {
        buf_add_cstr(out, i ? "," : "");
        indent(out, depth + 1);
        if (!array) {
            struct json_value key = json_text(v->members[i].key);

            json_write(&key, out);
            buf_add_cstr(out, ": ");
        }
        write_indented(array ? &v->items[i] : &v->members[i].value, depth + 1, out);
    }
    indent(out, depth);
    buf_add_char(out, array ? ']' : '}');
}

static void make_lines(struct lines *l, const struct json_value *v)
{
    struct json_value none = json_null();
    struct str rest, line;

    write_indented(v ? v : &none, 0, &l->text);
    rest = buf_str(&l->text);
    while (rest.p && str_split(&rest, '\n', &line))
        vec_push(&l->v, line);
}

static void add_range(struct buf *out, struct lines *l, size_t from, size_t to, char sign)
{
    for (size_t i = from; i < to; i++)
        buf_add_printf(out, "%c%.*s\n", sign, STR_ARG(l->v.v[i]));
}

struct str json_diff(const struct json_value *from, const struct json_value *to, struct arena *a)
{
    struct lines x = {0}, y = {0};
    struct buf out = BUF_INIT;
    size_t head = 0, tail = 0, start, end_x, end_y;
    struct str text;

    make_lines(&x, from);
    make_lines(&y, to);
    while (head < x.v.n && head < y.v.n && str_eq(x.v.v[head], y.v.v[head]))
        head++;
    while (tail < x.v.n - head && tail < y.v.n - head &&
           str_eq(x.v.v[x.v.n - tail - 1], y.v.v[y.v.n - tail - 1]))
        tail++;
    if (head < x.v.n || head < y.v.n) {
        start = head > CONTEXT ? head - CONTEXT : 0;
        end_x = MIN(x.v.n, x.v.n - tail + CONTEXT);
        end_y = MIN(y.v.n, y.v.n - tail + CONTEXT);
        buf_add_printf(&out, "@@ -%zu,%zu +%zu,%zu @@\n", start + 1, end_x - start, start + 1,
                       end_y - start);
        add_range(&out, &x, start, head, ' ');
        add_range(&out, &x, head, x.v.n - tail, '-');
        add_range(&out, &y, head, y.v.n - tail, '+');
        add_range(&out, &x, x.v.n - tail, end_x, ' ');
    }
    text = arena_dup(a, buf_str(&out));
    buf_release(&out);
    buf_release(&x.text);
    buf_release(&y.text);
    vec_release(&x.v);
    vec_release(&y.v);
    return text;
}
