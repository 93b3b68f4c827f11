/* SPDX-License-Identifier: Apache-2.0 */
/* Node selectors and affinity: compared with component-helpers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/node.h"
#include "api/node_selector.h"
#include "api/pod.h"
#include "golden.h"

/* --- the table -------------------------------------------------------------------------------- */

struct node_case {
    int32_t node; /* which of the nodes */
    bool match;
    struct str err;
};
static const struct field node_case_fields[] = {
    F_ONE(struct node_case, node, "node", 1, INT32),
    F_ONE(struct node_case, match, "match", 2, BOOL),
    F_ONE(struct node_case, err, "err", 3, STR),
};
static const struct type node_case_type = TYPE("case", struct node_case, node_case_fields);

struct selector_row {
    struct node_selector selector;
    struct str parse_err;
    LIST(struct node_case) cases;
};
static const struct field selector_row_fields[] = {
    F_MSG(struct selector_row, selector, "selector", 1, struct node_selector, &node_selector_type),
    F_ONE(struct selector_row, parse_err, "parseErr", 2, STR),
    F_LIST_MSG(struct selector_row, cases, "cases", 3, struct node_case, &node_case_type),
};
static const struct type selector_row_type =
    TYPE("selector", struct selector_row, selector_row_fields);

struct affinity_row {
    struct pod_spec spec;
    LIST(struct node_case) cases;
};
static const struct field affinity_row_fields[] = {
    F_MSG(struct affinity_row, spec, "spec", 1, struct pod_spec, &pod_spec_type),
    F_LIST_MSG(struct affinity_row, cases, "cases", 2, struct node_case, &node_case_type),
};
static const struct type affinity_row_type =
    TYPE("affinity", struct affinity_row, affinity_row_fields);

struct preferred_row {
    LIST(struct preferred_scheduling_term) terms;
    struct str err;
    LIST(int64_t) scores;
};
static const struct field preferred_row_fields[] = {
    F_LIST_MSG(struct preferred_row, terms, "terms", 1, struct preferred_scheduling_term,
               &preferred_scheduling_term_type),
    F_ONE(struct preferred_row, err, "err", 2, STR),
    F_LIST(struct preferred_row, scores, "scores", 3, INT64),
};
static const struct type preferred_row_type =
    TYPE("preferred", struct preferred_row, preferred_row_fields);

struct table {
    LIST(struct node) nodes;
    LIST(struct selector_row) selectors;
    LIST(struct affinity_row) affinities;
    LIST(struct preferred_row) preferred;
};
static const struct field table_fields[] = {
    F_LIST_MSG(struct table, nodes, "nodes", 1, struct node, &node_type),
    F_LIST_MSG(struct table, selectors, "nodeSelectors", 2, struct selector_row,
               &selector_row_type),
    F_LIST_MSG(struct table, affinities, "requiredNodeAffinity", 3, struct affinity_row,
               &affinity_row_type),
    F_LIST_MSG(struct table, preferred, "preferredNodeAffinity", 4, struct preferred_row,
               &preferred_row_type),
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

/* --- tests ------------------------------------------------------------------------------------ */

static const struct object_meta *node_of(const struct fixture *f, const struct node_case *c)
{
    assert_in_range(c->node, 0, f->table.nodes.n - 1);
    return &f->table.nodes.v[c->node].metadata;
}

static void test_node_selectors(void **state)
{
    struct fixture *f = *state;
    assert_true(f->table.selectors.n > 100);
    for (size_t i = 0; i < f->table.selectors.n; i++) {
        const struct selector_row *row = &f->table.selectors.v[i];
        struct node_terms terms;
        node_terms_compile(&row->selector, &f->a, &terms);
        struct str fault = node_terms_fault(&terms);
        if (str_empty(fault) != str_empty(row->parse_err))
            fail_msg("selector %zu: want '%.*s', got '%.*s'", i, STR_ARG(row->parse_err),
                     STR_ARG(fault));
        for (size_t j = 0; j < row->cases.n; j++) {
            const struct node_case *c = &row->cases.v[j];
            const struct object_meta *node = node_of(f, c);
            if (node_terms_match(&terms, &node->labels, node->name) != c->match)
                fail_msg("selector %zu must %smatch node %d", i, c->match ? "" : "not ", c->node);
            /* Upstream returns an error if a term is invalid and no other matches. */
            assert_int_equal(!c->match && !str_empty(fault), !str_empty(c->err));
        }
    }
}

static void test_required(void **state)
{
    struct fixture *f = *state;
    assert_true(f->table.affinities.n > 100);
    for (size_t i = 0; i < f->table.affinities.n; i++) {
        const struct affinity_row *row = &f->table.affinities.v[i];
        const struct affinity *affinity = row->spec.affinity;
        struct required_node_affinity required;
        required_node_affinity_compile(&row->spec.node_selector,
                                       affinity ? affinity->node_affinity : NULL, &f->a, &required);
        for (size_t j = 0; j < row->cases.n; j++) {
            const struct node_case *c = &row->cases.v[j];
            const struct object_meta *node = node_of(f, c);
            if (required_node_affinity_matches(&required, &node->labels, node->name) != c->match)
                fail_msg("affinity %zu must %smatch node %d", i, c->match ? "" : "not ", c->node);
        }
    }
}

static void test_preferred(void **state)
{
    struct fixture *f = *state;
    assert_true(f->table.preferred.n > 100);
    for (size_t i = 0; i < f->table.preferred.n; i++) {
        const struct preferred_row *row = &f->table.preferred.v[i];
        struct node_affinity affinity = {.preferred = {row->terms.v, row->terms.n}};
        struct node_terms terms;
        struct err e;
        int r = node_preferences_compile(&affinity, &f->a, &terms, &e);
        if (str_empty(row->err) != (r == 0))
            fail_msg("preferences %zu: want '%.*s', got '%s'", i, STR_ARG(row->err),
                     r == 0 ? "" : e.msg);
        if (r < 0)
            continue;
        assert_int_equal(row->scores.n, f->table.nodes.n);
        for (size_t j = 0; j < row->scores.n; j++) {
            const struct object_meta *node = &f->table.nodes.v[j].metadata;
            assert_int_equal(node_preferences_score(&terms, &node->labels, node->name),
                             row->scores.v[j]);
        }
    }
}

static void test_nothing_given(void **state)
{
    struct fixture *f = *state;
    struct required_node_affinity required;
    struct node_terms terms;
    struct err e;
    str_map none = {0};
    required_node_affinity_compile(&none, NULL, &f->a, &required);
    assert_true(required_node_affinity_matches(&required, &none, STR("n")));
    assert_int_equal(node_preferences_compile(NULL, &f->a, &terms, &e), 0);
    assert_int_equal(node_preferences_score(&terms, &none, STR("n")), 0);
    struct node_selector empty = {0};
    struct node_affinity affinity = {.required = &empty};
    required_node_affinity_compile(&none, &affinity, &f->a, &required);
    assert_false(required_node_affinity_matches(&required, &none, STR("n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_selectors),
        cmocka_unit_test(test_required),
        cmocka_unit_test(test_preferred),
        cmocka_unit_test(test_nothing_given),
    };
    return cmocka_run_group_tests_name("node_selector", tests, set_up, tear_down);
}
