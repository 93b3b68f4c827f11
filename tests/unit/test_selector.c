/* SPDX-License-Identifier: Apache-2.0 */
/* Label and field selectors: compared with apimachinery. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/labels.h"
#include "api/selector.h"
#include "golden.h"
#include "prop.h"

/* --- the table -------------------------------------------------------------------------------- */

struct match_row {
    str_map labels;
    bool match;
};
static const struct field match_row_fields[] = {
    F_STR_MAP(struct match_row, labels, "labels", 1),
    F_ONE(struct match_row, match, "match", 2, BOOL),
};
static const struct type match_row_type = TYPE("match", struct match_row, match_row_fields);

struct requirement_row {
    struct str key, op;
    LIST(struct str) values;
};
static const struct field requirement_row_fields[] = {
    F_ONE(struct requirement_row, key, "key", 1, STR),
    F_ONE(struct requirement_row, op, "op", 2, STR),
    F_LIST(struct requirement_row, values, "values", 3, STR),
};
static const struct type requirement_row_type =
    TYPE("requirement", struct requirement_row, requirement_row_fields);

/* A selector as object or as text, and its results for some labels. */
struct row {
    struct label_selector *selector;
    struct str in, err, string;
    bool empty;
    LIST(struct requirement_row) requirements;
    LIST(struct match_row) cases;
};
static const struct field row_fields[] = {
    F_PTR_MSG(struct row, selector, "selector", 1, struct label_selector, &label_selector_type),
    F_ONE(struct row, in, "in", 2, STR),
    F_ONE(struct row, err, "err", 3, STR),
    F_ONE(struct row, string, "string", 4, STR),
    F_ONE(struct row, empty, "empty", 5, BOOL),
    F_LIST_MSG(struct row, requirements, "requirements", 6, struct requirement_row,
               &requirement_row_type),
    F_LIST_MSG(struct row, cases, "cases", 7, struct match_row, &match_row_type),
};
static const struct type row_type = TYPE("row", struct row, row_fields);

struct table {
    LIST(struct row) label_selectors;
    LIST(struct row) label_strings;
    LIST(struct row) field_strings;
};
static const struct field table_fields[] = {
    F_LIST_MSG(struct table, label_selectors, "labelSelectors", 1, struct row, &row_type),
    F_LIST_MSG(struct table, label_strings, "labelStrings", 2, struct row, &row_type),
    F_LIST_MSG(struct table, field_strings, "fieldStrings", 3, struct row, &row_type),
};
static const struct type table_type = TYPE("table", struct table, table_fields);

struct fixture {
    struct arena a;
    struct table table;
};

static int set_up(void **state)
{
    struct fixture *f = xnew(struct fixture);
    arena_init(&f->a, 0);
    golden_load("selectors.json", &table_type, &f->a, &f->table);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    arena_release(&f->a);
    free(f);
    return 0;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Returns true if the row is valid, false if both reject it. */
static bool agree_on_error(const struct row *row, int r, const struct err *e)
{
    if (str_empty(row->err) != (r == 0))
        fail_msg("'%.*s' %.*s: want %s, got %s", STR_ARG(row->in), STR_ARG(row->string),
                 str_empty(row->err) ? "no error" : row->err.p, r == 0 ? "none" : e->msg);
    return r == 0;
}

static void check_text(const struct row *row, struct buf *got)
{
    if (!str_eq(row->string, buf_str(got)))
        fail_msg("'%.*s': want '%.*s', got '%.*s'", STR_ARG(row->in), STR_ARG(row->string),
                 STR_ARG(buf_str(got)));
    buf_release(got);
}

/* At most one invalid label or expression: Go iterates over several labels in random order. */
static void check_fault(const struct row *row)
{
    struct buf text = BUF_INIT;
    bool wrong = selector_write_fault(row->selector, &text);
    if (wrong == str_empty(row->err) || !str_eq(row->err, buf_str(&text)))
        fail_msg("want '%.*s', got '%.*s'", STR_ARG(row->err), STR_ARG(buf_str(&text)));
    buf_release(&text);
}

static void check_matches(const struct row *row, const struct selector *s)
{
    struct buf text = BUF_INIT;
    selector_write(s, &text);
    check_text(row, &text);
    for (size_t i = 0; i < row->cases.n; i++)
        if (selector_matches(s, &row->cases.v[i].labels) != row->cases.v[i].match)
            fail_msg("'%.*s' must %smatch case %zu", STR_ARG(row->string),
                     row->cases.v[i].match ? "" : "not ", i);
}

static void check_requirements(const struct row *row, const struct selector *s)
{
    static const char *const ops[] = {
        [SELECTOR_IN] = "in",         [SELECTOR_NOT_IN] = "notin",
        [SELECTOR_EXISTS] = "exists", [SELECTOR_DOES_NOT_EXIST] = "!",
        [SELECTOR_GT] = "gt",         [SELECTOR_LT] = "lt",
        [SELECTOR_EQUALS] = "=",      [SELECTOR_DOUBLE_EQUALS] = "==",
        [SELECTOR_NOT_EQUALS] = "!=",
    };
    assert_int_equal(s->requirements.n, row->requirements.n);
    for (size_t i = 0; i < s->requirements.n; i++) {
        const struct requirement *got = &s->requirements.v[i];
        const struct requirement_row *want = &row->requirements.v[i];
        assert_true(str_eq(got->key, want->key));
        assert_true(str_is(want->op, ops[got->op]));
        assert_int_equal(got->values.n, want->values.n);
        for (size_t j = 0; j < got->values.n; j++)
            assert_true(str_eq(got->values.v[j], want->values.v[j]));
    }
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_label_selectors(void **state)
{
    struct fixture *f = *state;
    assert_true(f->table.label_selectors.n > 100);
    for (size_t i = 0; i < f->table.label_selectors.n; i++) {
        const struct row *row = &f->table.label_selectors.v[i];
        struct selector s;
        struct err e;
        check_fault(row);
        if (agree_on_error(row, selector_compile(row->selector, &f->a, &s, &e), &e))
            check_matches(row, &s);
    }
}

static void test_label_strings(void **state)
{
    struct fixture *f = *state;
    assert_true(f->table.label_strings.n > 100);
    for (size_t i = 0; i < f->table.label_strings.n; i++) {
        const struct row *row = &f->table.label_strings.v[i];
        struct selector s;
        struct err e;
        if (!agree_on_error(row, selector_parse(row->in, &f->a, &s, &e), &e))
            continue;
        check_matches(row, &s);
        check_requirements(row, &s);
        assert_int_equal(s.requirements.n == 0, row->empty);
    }
}

static void test_field_strings(void **state)
{
    struct fixture *f = *state;
    assert_true(f->table.field_strings.n > 100);
    for (size_t i = 0; i < f->table.field_strings.n; i++) {
        const struct row *row = &f->table.field_strings.v[i];
        struct field_selector s;
        struct err e;
        if (!agree_on_error(row, field_selector_parse(row->in, &f->a, &s, &e), &e))
            continue;
        struct buf text = BUF_INIT;
        field_selector_write(&s, &text);
        check_text(row, &text);
        assert_int_equal(s.requirements.n == 0, row->empty);
        for (size_t j = 0; j < row->cases.n; j++)
            if (field_selector_matches(&s, &row->cases.v[j].labels) != row->cases.v[j].match)
                fail_msg("'%.*s' must %smatch case %zu", STR_ARG(row->in),
                         row->cases.v[j].match ? "" : "not ", j);
    }
}

static void test_from_set(void **state)
{
    struct fixture *f = *state;
    struct str_entry demanded[] = {{STR("app"), STR("web")}, {STR("not valid"), STR("-")}};
    struct str_entry held[] = {
        {STR("app"), STR("web")}, {STR("not valid"), STR("-")}, {STR("x"), STR("y")}};
    str_map set = {demanded, 2}, labels = {held, 3}, some = {held, 1}, empty = {0};
    struct selector s;
    selector_from_set(&set, &f->a, &s);
    assert_true(selector_matches(&s, &labels));
    assert_false(selector_matches(&s, &some));
    selector_from_set(&empty, &f->a, &s);
    assert_true(selector_matches(&s, &empty));
}

static void test_validity(void **state)
{
    (void)state;
    char text[260];
    memset(text, 'a', sizeof(text));
    assert_null(label_value_fault(STR("")));
    assert_null(label_value_fault((struct str){text, 63}));
    assert_non_null(label_value_fault((struct str){text, 64}));
    assert_non_null(label_value_fault(STR("a/b")));
    assert_non_null(label_value_fault(STR("_a")));
    assert_true(label_key_valid(STR("A-b_c.d/E")) == false);
    assert_true(label_key_valid(STR("a-b.d/E_f")));
    assert_false(label_key_valid(STR("")));
    assert_false(label_key_valid(STR("a/")));
    assert_false(label_key_valid(STR("/a")));
    assert_false(label_key_valid(STR("a/b/c")));
    assert_true(dns_subdomain_valid((struct str){text, 253}));
    assert_false(dns_subdomain_valid((struct str){text, 254}));
    assert_false(dns_subdomain_valid(STR("")));
    assert_false(dns_subdomain_valid(STR("a..b")));
    assert_false(dns_subdomain_valid(STR(".a")));
    assert_false(dns_subdomain_valid(STR("a.")));
    assert_false(dns_subdomain_valid(STR("a-.b")));
    assert_false(dns_subdomain_valid(STR("a.-b")));
    assert_false(dns_subdomain_valid(STR("a_b")));
    assert_true(dns_subdomain_valid(STR("1-a.b--c")));
}

/* A written selector parses to the same selector. */
static bool writes_what_it_reads(struct rand *r, size_t size, void *ctx)
{
    static const char *const pieces[] = {"a",  "b.c/d", "in", "notin", "(", ")", ",",   "!", "=",
                                         "==", "!=",    ">",  "<",     " ", "7", "x_y", "-", "\\"};
    struct arena *a = ctx;
    struct buf text = BUF_INIT, once = BUF_INIT, twice = BUF_INIT;
    struct selector s;
    bool good = true;
    arena_reset(a);
    for (size_t n = 1 + rand_below(r, size / 5 + 1); n > 0; n--)
        buf_add_cstr(&text, pieces[rand_below(r, ARRAY_LEN(pieces))]);
    if (selector_parse(buf_str(&text), a, &s, NULL) == 0) {
        selector_write(&s, &once);
        good = selector_parse(buf_str(&once), a, &s, NULL) == 0;
        selector_write(&s, &twice);
        good = good && str_eq(buf_str(&once), buf_str(&twice));
    }
    buf_release(&text);
    buf_release(&once);
    buf_release(&twice);
    return good;
}

static void test_properties(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    bool held = prop_run("selectors are read as written", 20000, writes_what_it_reads, &a);
    arena_release(&a);
    assert_true(held);
}

/* Sorting is stable for requirements with the same key, and fast for a hundred thousand. */
static void test_sort(void **state)
{
    (void)state;
    size_t n = 100000;
    struct requirement *rs = xcalloc(n, sizeof(*rs));
    static const struct str keys[] = {STR_INIT("c"), STR_INIT("a"), STR_INIT("b")};
    for (size_t i = 0; i < n; i++) {
        rs[i].key = keys[i % 3];
        rs[i].number = (int64_t)i;
    }
    requirements_sort(rs, n);
    for (size_t i = 1; i < n; i++) {
        int c = str_cmp(rs[i - 1].key, rs[i].key);
        assert_true(c < 0 || (c == 0 && rs[i - 1].number < rs[i].number));
    }
    free(rs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label_selectors),
        cmocka_unit_test(test_label_strings),
        cmocka_unit_test(test_field_strings),
        cmocka_unit_test(test_from_set),
        cmocka_unit_test(test_validity),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests_name("selector", tests, set_up, tear_down);
}
