/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of in-tree plugins as CSI volumes: compared with upstream's csi-translation-lib. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "golden.h"
#include "objects.h"
#include "plugins/common/csi_translation.h"
#include "plugins/common/csi_volume_id.h"

struct row {
    struct volume *inline_volume;
    struct persistent_volume *pv;
    struct str driver, handle, error;
    struct node_selector *affinity;
};
static const struct field row_fields[] = {
    F_PTR_MSG(struct row, inline_volume, "inline", 1, struct volume, &volume_type),
    F_PTR_MSG(struct row, pv, "pv", 2, struct persistent_volume, &persistent_volume_type),
    F_ONE(struct row, driver, "driver", 3, STR),
    F_ONE(struct row, handle, "handle", 4, STR),
    F_ONE(struct row, error, "error", 5, STR),
    F_PTR_MSG(struct row, affinity, "affinity", 6, struct node_selector, &node_selector_type),
};
static const struct type row_type = TYPE("row", struct row, row_fields);

struct table {
    LIST(struct row) rows;
};
static const struct field table_fields[] = {
    F_LIST_MSG(struct table, rows, "rows", 1, struct row, &row_type),
};
static const struct type table_type = TYPE("table", struct table, table_fields);

/* Upstream removes duplicate zones and sorts them: any order is the same list. */
static bool same_values(const struct node_selector_requirement *a,
                        const struct node_selector_requirement *b)
{
    for (size_t i = 0; i < a->values.n; i++) {
        bool found = false;
        for (size_t k = 0; k < b->values.n; k++)
            found = found || str_eq(a->values.v[i], b->values.v[k]);
        if (!found)
            return false;
    }
    return str_eq(a->key, b->key) && str_eq(a->operator, b->operator);
}

static bool same_affinity(const struct node_selector *a, const struct node_selector *b)
{
    if (!a || !b)
        return a == b;
    if (a->node_selector_terms.n != b->node_selector_terms.n)
        return false;
    for (size_t i = 0; i < a->node_selector_terms.n; i++) {
        const struct node_selector_term *x = &a->node_selector_terms.v[i],
                                        *y = &b->node_selector_terms.v[i];
        if (x->match_expressions.n != y->match_expressions.n)
            return false;
        for (size_t k = 0; k < x->match_expressions.n; k++)
            if (!same_values(&x->match_expressions.v[k], &y->match_expressions.v[k]) ||
                !same_values(&y->match_expressions.v[k], &x->match_expressions.v[k]))
                return false;
    }
    return true;
}

static void test_golden(void **state)
{
    (void)state;
    struct arena a;
    struct table table = {0};
    struct buf handle = BUF_INIT, why = BUF_INIT;
    size_t n_pvs = 0, n_errors = 0, n_affinities = 0;
    arena_init(&a, 0);
    golden_load("csi_translation.json", &table_type, &a, &table);
    for (size_t i = 0; i < table.rows.n; i++) {
        const struct row *row = &table.rows.v[i];
        const struct csi_migration *m = row->pv
                                            ? csi_migration_of_pv(row->pv)
                                            : csi_migration_of_inline(&row->inline_volume->source);
        buf_clear(&handle);
        buf_clear(&why);
        bool ok = row->pv ? csi_pv_handle(row->pv, &handle, &why)
                          : csi_inline_handle(row->inline_volume, STR("team-a"), &handle, &why);
        assert_non_null(m);
        if (ok != str_empty(row->error) || !str_eq(buf_str(&why), row->error))
            fail_msg("row %zu: want error '%.*s', got '%s'", i, STR_ARG(row->error),
                     buf_cstr(&why));
        n_pvs += row->pv != NULL;
        n_errors += !ok;
        if (!ok)
            continue;
        if (!str_eq(buf_str(&handle), row->handle) || !str_eq(m->driver, row->driver))
            fail_msg("row %zu: want %.*s %.*s, got %.*s %s", i, STR_ARG(row->driver),
                     STR_ARG(row->handle), STR_ARG(m->driver), buf_cstr(&handle));
        if (row->pv && !same_affinity(row->affinity, csi_pv_affinity(row->pv, &a)))
            fail_msg("row %zu: another affinity", i);
        n_affinities += row->affinity != NULL;
    }
    assert_true(n_pvs > 50 && n_errors > 20 && n_affinities > 50 && n_pvs < table.rows.n);
    buf_release(&handle);
    buf_release(&why);
    arena_release(&a);
}

static void test_names(void **state)
{
    (void)state;
    const struct csi_migration *m = csi_migration_of_plugin(STR("kubernetes.io/aws-ebs"));
    assert_non_null(m);
    assert_true(str_is(m->driver, "ebs.csi.aws.com") && m->on);
    assert_false(csi_migration_of_plugin(STR("kubernetes.io/azure-file"))->on);
    assert_null(csi_migration_of_plugin(STR("kubernetes.io/nfs")));
}

static bool migrated(const char *annotations)
{
    struct object *o = object_jsonf(
        KIND_CSI_NODE, "{'metadata':{'name':'n','annotations':{%s}},'spec':{'drivers':[]}}",
        annotations);
    bool yes = csi_migrated_on_node(STR("kubernetes.io/cinder"), object_body(o));
    object_unref(o);
    return yes;
}

#define ANNOTATION "'storage.alpha.kubernetes.io/migrated-plugins':"

static void test_annotation(void **state)
{
    (void)state;
    assert_false(csi_migrated_on_node(STR("kubernetes.io/cinder"), NULL));
    assert_false(migrated(""));
    assert_false(migrated(ANNOTATION "''"));
    assert_false(migrated(ANNOTATION "'kubernetes.io/gce-pd,kubernetes.io/cinder2'"));
    assert_false(migrated(ANNOTATION "'kubernetes.io/gce-pd, kubernetes.io/cinder'"));
    assert_true(migrated(ANNOTATION "'kubernetes.io/gce-pd,kubernetes.io/cinder'"));
    assert_true(migrated(ANNOTATION "'kubernetes.io/cinder'"));
}

static void assert_ebs(const char *id, const char *want, const char *want_why)
{
    struct buf out = BUF_INIT, why = BUF_INIT;
    assert_int_equal(ebs_volume_id(str_of(id), &out, &why), !*want_why);
    assert_string_equal(buf_cstr(&out), want);
    assert_string_equal(buf_cstr(&why), want_why);
    buf_release(&out);
    buf_release(&why);
}

/* As Go's url.Parse and upstream's pattern have it. */
static void test_ebs(void **state)
{
    (void)state;
    assert_ebs("vol-1", "vol-1", "");
    assert_ebs("anything", "anything", "");
    assert_ebs("aws://us-east-1a/vol-1", "vol-1", "");
    assert_ebs("aws:///vol-1/", "vol-1", "");
    assert_ebs("aws://z/vol-%41?x#y", "vol-A", "");
    assert_ebs("aws://z:80/vol-1", "vol-1", "");
    assert_ebs("aws://z/x/vol-1", "", "Invalid format for AWS volume (aws://z/x/vol-1)");
    assert_ebs("aws://vol-1", "", "Invalid format for AWS volume (aws://vol-1)");
    assert_ebs("aws://z:x/vol-1", "",
               "Invalid disk name (aws://z:x/vol-1): parse \"aws://z:x/vol-1\": invalid port "
               "\":x\" after host");
    assert_ebs("aws://z/vol-%4", "",
               "Invalid disk name (aws://z/vol-%4): parse \"aws://z/vol-%4\": invalid URL escape "
               "\"%4\"");
    assert_ebs("aws://a b/vol-1", "",
               "Invalid disk name (aws://a b/vol-1): parse \"aws://a b/vol-1\": invalid character "
               "\" \" in host name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_annotation),
        cmocka_unit_test(test_ebs),
    };
    return cmocka_run_group_tests_name("csi_translation", tests, NULL, NULL);
}
