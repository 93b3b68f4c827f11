/* SPDX-License-Identifier: Apache-2.0 */
/* All errors in the form of a tree, and the valid rest of it. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/json_problems.h"
#include "codec/yaml.h"
#include "codec_schema.h"

static void write_problem(void *ctx, const struct json_problem *p)
{
    struct buf *out = ctx;
    buf_add_printf(out, "%u %.*s: %.*s", p->line, STR_ARG(p->path), STR_ARG(p->what));
    if (p->suggestion.n)
        buf_add_printf(out, " (%.*s)", STR_ARG(p->suggestion));
    buf_add_char(out, '\n');
}

static const struct {
    const char *in, *problems;
    unsigned flags;
} cases[] = {
    {"s: a\ni32: 1\n", "", 0},
    {"~\n", "", 0},
    {"3\n", "1 : expected an object\n", 0},
    {"strngs: []\ni32: x\nb: 1\nnothing: {a: 1}\n",
     "1 strngs: unknown field (strings)\n2 i32: expected a whole number\n3 b: expected true or "
     "false\n4 nothing: unknown field\n",
     0},
    {"child:\n  leaves:\n  - name: 1\n  - 5\n  - nam: x\n  pleaf: []\nleaves: {}\n",
     "3 child.leaves[0].name: expected a string\n4 child.leaves[1]: expected an object\n5 "
     "child.leaves[2].nam: unknown field (name)\n6 child.pleaf: expected an object\n7 leaves: "
     "expected an array\n",
     0},
    {"strings: [a, 1]\nlabels: {a: b, c: 2}\n",
     "1 strings[1]: expected a string\n2 labels[c]: expected a string\n", 0},
    {"I32: 1\nS: a\ns: b\n", "1 I32: unknown field (i32)\n2 S: unknown field (s)\n", 0},
    {"I32: 1\nS: a\ns: b\n", "3 s: duplicate field\n", JSON_FOLD_CASE},
    /* Aliases share the removed parts. */
    {"leaf: &l\n  nam: x\n  name: z\npleaf: *l\n",
     "2 leaf.nam: unknown field (name)\n2 pleaf.nam: unknown field (name)\n", 0},
};

static void all_errors_are_reported_and_the_rest_decodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        struct json_value *docs, nothing = {0};
        struct buf out = BUF_INIT;
        struct everything v;
        struct err err;
        size_t n;
        arena_init(&a, 0);
        assert_int_equal(yaml_parse(str_of(cases[i].in), JSON_STRICT, &a, &docs, &n, &err), 0);
        struct json_value *tree = n ? &docs[0] : &nothing;
        unsigned flags = cases[i].flags | JSON_STRICT;
        bool decodes = json_value_decode(tree, &everything_type, flags, &a, &v, &err) == 0;
        size_t found = json_take_problems(tree, &everything_type, flags, &a, write_problem, &out);
        assert_string_equal(buf_cstr(&out), cases[i].problems);
        assert_true(decodes == (found == 0));
        assert_int_equal(json_value_decode(tree, &everything_type, flags, &a, &v, &err), 0);
        assert_int_equal(json_take_problems(tree, &everything_type, flags, &a, write_problem, &out),
                         0);
        buf_release(&out);
        arena_release(&a);
    }
}

/* Valid parts stay, items keep their indexes. */
static void the_rest_is_as_it_was(void **state)
{
    (void)state;
    struct arena a;
    struct json_value *docs;
    struct buf out = BUF_INIT;
    struct everything v;
    struct err err;
    size_t n;
    arena_init(&a, 0);
    assert_int_equal(yaml_parse(STR("x: 1\ns: a\ny: 2\nleaves: [{name: p}, 7, {name: q, z: 1}]\n"),
                                0, &a, &docs, &n, &err),
                     0);
    assert_int_equal(json_take_problems(docs, &everything_type, 0, &a, write_problem, &out), 4);
    assert_int_equal(json_value_decode(docs, &everything_type, JSON_STRICT, &a, &v, &err), 0);
    assert_true(str_is(v.s, "a"));
    assert_int_equal(v.leaves.n, 3);
    assert_true(str_is(v.leaves.v[0].name, "p"));
    assert_true(str_empty(v.leaves.v[1].name));
    assert_true(str_is(v.leaves.v[2].name, "q"));
    buf_release(&out);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_errors_are_reported_and_the_rest_decodes),
        cmocka_unit_test(the_rest_is_as_it_was),
    };
    return cmocka_run_group_tests_name("json_problems", tests, NULL, NULL);
}
