/* SPDX-License-Identifier: Apache-2.0 */
/* Tolerations and taints: compared with upstream. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/toleration.h"
#include "golden.h"

/* The pairs are lists of lists of booleans, which have no table: they are read as text. */
struct row {
    LIST(struct toleration) tolerations;
    LIST(struct taint) taints;
    struct str on, off;
    int32_t first_on, first_off;
};
static const struct field row_fields[] = {
    F_LIST_MSG(struct row, tolerations, "tolerations", 1, struct toleration, &toleration_type),
    F_LIST_MSG(struct row, taints, "taints", 2, struct taint, &taint_type),
    F_ONE(struct row, on, "on", 3, RAW),
    F_ONE(struct row, off, "off", 4, RAW),
    F_ONE(struct row, first_on, "firstOn", 5, INT32),
    F_ONE(struct row, first_off, "firstOff", 6, INT32),
};
static const struct type row_type = TYPE("row", struct row, row_fields);

struct table {
    LIST(struct row) rows;
};
static const struct field table_fields[] = {
    F_LIST_MSG(struct table, rows, "tolerations", 1, struct row, &row_type),
};
static const struct type table_type = TYPE("table", struct table, table_fields);

static void write_pairs(const struct row *row, bool comparison, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < row->tolerations.n; i++) {
        buf_add_cstr(out, i ? ",[" : "[");
        for (size_t j = 0; j < row->taints.n; j++)
            buf_add_printf(
                out, "%s%s", j ? "," : "",
                toleration_tolerates(&row->tolerations.v[i], &row->taints.v[j], comparison)
                    ? "true"
                    : "false");
        buf_add_char(out, ']');
    }
    buf_add_char(out, ']');
}

static void check(const struct row *row, size_t i, bool comparison)
{
    struct str want = comparison ? row->on : row->off;
    struct buf got = BUF_INIT;
    write_pairs(row, comparison, &got);
    if (!str_eq(want, buf_str(&got)))
        fail_msg("row %zu: want %.*s, got %.*s", i, STR_ARG(want), STR_ARG(buf_str(&got)));
    buf_release(&got);

    struct taint_list taints = {row->taints.v, row->taints.n};
    struct toleration_list tolerations = {row->tolerations.v, row->tolerations.n};
    const struct taint *first =
        taints_find_untolerated(taints, tolerations, TAINT_BARS, comparison);
    int32_t at = comparison ? row->first_on : row->first_off;
    assert_ptr_equal(first, at < 0 ? NULL : &row->taints.v[at]);
}

static void test_golden(void **state)
{
    (void)state;
    struct arena a;
    struct table t;
    arena_init(&a, 0);
    golden_load("selectors.json", &table_type, &a, &t);
    assert_true(t.rows.n > 100);
    for (size_t i = 0; i < t.rows.n; i++) {
        check(&t.rows.v[i], i, true);
        check(&t.rows.v[i], i, false);
    }
    arena_release(&a);
}

static struct taint taint(const char *key, const char *value, const char *effect)
{
    return (struct taint){str_of(key), str_of(value), str_of(effect)};
}

static struct toleration toleration(const char *op, const char *key, const char *value,
                                    const char *effect)
{
    return (struct toleration){str_of(key), str_of(op), str_of(value), str_of(effect)};
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *op, *bound, *value;
        bool tolerates;
    } cases[] = {
        {"Lt", "10", "9", true},
        {"Lt", "10", "10", false},
        {"Gt", "10", "11", true},
        {"Gt", "-5", "-4", true},
        {"Gt", "-5", "-5", false},
        {"Gt", "1", "02", false},
        {"Gt", "+1", "2", false},
        {"Gt", "-0", "2", false},
        {"Lt", "0", "-1", true},
        {"Gt", "", "2", false},
        {"Gt", "1", "", false},
        {"Gt", "1", "x", false},
        {"Gt", "1", "9223372036854775807", true},
        {"Gt", "1", "9223372036854775808", false},
        {"Lt", "1", "-9223372036854775808", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct toleration t = toleration(cases[i].op, "k", cases[i].bound, "");
        struct taint on = taint("k", cases[i].value, "NoSchedule");
        assert_int_equal(toleration_tolerates(&t, &on, true), cases[i].tolerates);
        assert_false(toleration_tolerates(&t, &on, false));
    }
}

static void test_effects(void **state)
{
    (void)state;
    struct taint taints[] = {
        taint("a", "", "PreferNoSchedule"), taint("b", "", "PreferNoSchedule"),
        taint("a", "", "NoExecute"),        taint("b", "", "NoSchedule"),
        taint("c", "", "Strange"),
    };
    struct taint_list all = {taints, ARRAY_LEN(taints)};
    struct toleration some[] = {toleration("Exists", "a", "", "PreferNoSchedule")};
    struct toleration every[] = {toleration("Exists", "", "", "")};
    struct toleration_list none = {NULL, 0}, one = {some, 1}, any = {every, 1};
    assert_int_equal(taints_count_intolerable(all, none, false), 2);
    assert_int_equal(taints_count_intolerable(all, one, false), 1);
    assert_int_equal(taints_count_intolerable(all, any, false), 0);
    assert_ptr_equal(taints_find_untolerated(all, one, TAINT_BARS, false), &taints[2]);
    assert_ptr_equal(taints_find_untolerated(all, one, TAINT_NO_SCHEDULE, false), &taints[3]);
    assert_ptr_equal(taints_find_untolerated(all, one, TAINT_PREFER_NO_SCHEDULE, false),
                     &taints[1]);
    assert_null(taints_find_untolerated(all, any, TAINT_BARS, false));
    assert_int_equal(taint_effect(&taints[4]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_effects),
    };
    return cmocka_run_group_tests_name("toleration", tests, NULL, NULL);
}
