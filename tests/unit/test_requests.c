/* SPDX-License-Identifier: Apache-2.0 */
/* Effective requests of pods: compared with component-helpers and the scheduler's PodInfo. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/resources.h"
#include "codec/json.h"
#include "golden.h"
#include "objects.h"

/* --- the table -------------------------------------------------------------------------------- */

struct int_entry {
    struct str key;
    int64_t value;
};
static const struct field int_entry_fields[] = {
    F_ONE(struct int_entry, key, "key", 1, STR),
    F_ONE(struct int_entry, value, "value", 2, INT64),
};
static const struct type int_entry_type = TYPE("int_entry", struct int_entry, int_entry_fields);

struct info {
    int64_t milli_cpu, memory, ephemeral_storage, non0_cpu, non0_memory;
    LIST(struct int_entry) scalars;
};
static const struct field info_fields[] = {
    F_ONE(struct info, milli_cpu, "milliCPU", 1, INT64),
    F_ONE(struct info, memory, "memory", 2, INT64),
    F_ONE(struct info, ephemeral_storage, "ephemeralStorage", 3, INT64),
    F_ONE(struct info, non0_cpu, "non0CPU", 4, INT64),
    F_ONE(struct info, non0_memory, "non0Memory", 5, INT64),
    F_MAP(struct info, scalars, "scalars", 6, struct int_entry, &int_entry_type),
};
static const struct type info_type = TYPE("info", struct info, info_fields);

/* The results of pod_requests, one map of texts per set of gates. */
struct expected {
    str_map spec, status, non_missing, status_containers_only, skip_pod_level, claims,
        claims_skip_pod_level;
};
static const struct field expected_fields[] = {
    F_STR_MAP(struct expected, spec, "spec", 1),
    F_STR_MAP(struct expected, status, "status", 2),
    F_STR_MAP(struct expected, non_missing, "nonMissing", 3),
    F_STR_MAP(struct expected, status_containers_only, "statusContainersOnly", 4),
    F_STR_MAP(struct expected, skip_pod_level, "skipPodLevel", 5),
    F_STR_MAP(struct expected, claims, "claims", 6),
    F_STR_MAP(struct expected, claims_skip_pod_level, "claimsSkipPodLevel", 7),
};
static const struct type expected_type = TYPE("expected", struct expected, expected_fields);

struct row {
    struct pod pod;
    struct expected requests;
    struct info info;
    str_map limits;
};
static const struct field row_fields[] = {
    F_MSG(struct row, pod, "pod", 1, struct pod, &pod_type),
    F_MSG(struct row, requests, "requests", 2, struct expected, &expected_type),
    F_MSG(struct row, info, "info", 3, struct info, &info_type),
    F_STR_MAP(struct row, limits, "limits", 4),
};
static const struct type row_type = TYPE("row", struct row, row_fields);

struct table {
    LIST(struct row) pods;
};
static const struct field table_fields[] = {
    F_LIST_MSG(struct table, pods, "pods", 1, struct row, &row_type),
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
    golden_load("podrequests.json", &table_type, &f->a, &f->table);
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

static void check_map(const struct pod *pod, const char *what, const str_map *want,
                      const quantity_map *got)
{
    struct str name = pod->metadata.name;
    for (size_t i = 0; i < MIN(want->n, got->n); i++) {
        struct buf text = BUF_INIT;
        quantity_write(&got->v[i].value, &text);
        if (!str_eq(want->v[i].key, got->v[i].key) || !str_eq(want->v[i].value, buf_str(&text)))
            fail_msg("%.*s, %s: want %.*s=%.*s, got %.*s=%.*s", STR_ARG(name), what,
                     STR_ARG(want->v[i].key), STR_ARG(want->v[i].value), STR_ARG(got->v[i].key),
                     STR_ARG(buf_str(&text)));
        buf_release(&text);
    }
    if (want->n != got->n)
        fail_msg("%.*s, %s: want %zu resources, got %zu", STR_ARG(name), what, want->n, got->n);
}

static void check_requests(const struct row *row, const char *what, struct resource_gates gates,
                           const str_map *want, const quantity_map *non_missing)
{
    struct arena a;
    quantity_map got;
    arena_init(&a, 0);
    pod_requests(&row->pod, &gates, non_missing, &a, &got);
    check_map(&row->pod, what, want, &got);
    arena_release(&a);
}

static void test_pod_requests(void **state)
{
    struct fixture *f = *state;
    struct quantity_entry defaults[] = {
        {RESOURCE_CPU, quantity_of_milli(DEFAULT_MILLI_CPU_REQUEST, QUANTITY_DECIMAL_SI)},
        {RESOURCE_MEMORY, quantity_of(DEFAULT_MEMORY_REQUEST, QUANTITY_DECIMAL_SI)},
    };
    quantity_map non_missing = {defaults, 2};
    struct resource_gates all = RESOURCE_GATES_DEFAULT, no_resize = all, no_pod_resize = all;
    no_resize.in_place_pod_vertical_scaling = false;
    no_pod_resize.in_place_pod_level_resources_vertical_scaling = false;
    struct resource_gates no_pod_level = no_pod_resize, claims = no_resize;
    no_pod_level.pod_level_resources = false;
    claims.dra_node_allocatable_resources = true;
    struct resource_gates claims_no_pod_level = claims;
    claims_no_pod_level.pod_level_resources = false;

    assert_true(f->table.pods.n >= 100);
    for (size_t i = 0; i < f->table.pods.n; i++) {
        const struct row *row = &f->table.pods.v[i];
        const struct expected *e = &row->requests;
        check_requests(row, "spec", no_resize, &e->spec, NULL);
        check_requests(row, "status", all, &e->status, NULL);
        check_requests(row, "nonMissing", all, &e->non_missing, &non_missing);
        check_requests(row, "statusContainersOnly", no_pod_resize, &e->status_containers_only,
                       NULL);
        check_requests(row, "skipPodLevel", no_pod_level, &e->skip_pod_level, NULL);
        check_requests(row, "claims", claims, &e->claims, NULL);
        check_requests(row, "claimsSkipPodLevel", claims_no_pod_level, &e->claims_skip_pod_level,
                       NULL);
    }
}

static void check_int(const struct row *row, const char *what, int64_t want, int64_t got)
{
    if (want != got)
        fail_msg("%.*s: %s: want %lld, got %lld", STR_ARG(row->pod.metadata.name), what,
                 (long long)want, (long long)got);
}

static void test_pod_resource(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < f->table.pods.n; i++) {
        const struct row *row = &f->table.pods.v[i];
        struct pod_resource got;
        pod_resource_calculate(&row->pod, &RESOURCE_GATES_DEFAULT, &f->a, &got);
        check_int(row, "cpu", row->info.milli_cpu, got.requests.milli_cpu);
        check_int(row, "memory", row->info.memory, got.requests.memory);
        check_int(row, "ephemeral", row->info.ephemeral_storage, got.requests.ephemeral_storage);
        check_int(row, "non-zero cpu", row->info.non0_cpu, got.non_zero_milli_cpu);
        check_int(row, "non-zero memory", row->info.non0_memory, got.non_zero_memory);
        check_int(row, "scalars", (int64_t)row->info.scalars.n, (int64_t)got.requests.scalars.n);
        for (size_t j = 0; j < row->info.scalars.n; j++) {
            const int64_t *value = resources_scalar(&got.requests, row->info.scalars.v[j].key);
            assert_non_null(value);
            check_int(row, "scalar", row->info.scalars.v[j].value, *value);
        }
        assert_null(resources_scalar(&got.requests, STR("example.com/nothing")));
    }
}

static void decode_pod(const char *json, struct arena *a, struct pod *pod)
{
    struct err e;
    if (json_decode(json_quotes_str(json), &pod_type, 0, a, pod, &e) < 0)
        fail_msg("%s", e.msg);
}

/* The rules one by one, small enough to check by hand. */
static void test_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *pod;
        int64_t cpu, memory, non_zero_cpu;
    } cases[] = {
        {"{}", 0, 0, 0},
        {"{'spec':{'containers':[{}]}}", 0, 0, 100},
        /* a sidecar runs beside the containers and beside later init containers */
        {"{'spec':{'containers':[{'resources':{'requests':{'cpu':'1'}}}],"
         "'initContainers':[{'resources':{'requests':{'cpu':'2'}}},"
         "{'restartPolicy':'Always','resources':{'requests':{'cpu':'500m'}}},"
         "{'resources':{'requests':{'cpu':'1800m'}}}]}}",
         2300, 0, 2300},
        /* overhead is added to pod-level requests */
        {"{'spec':{'containers':[{'resources':{'requests':{'cpu':'5'}}}],"
         "'resources':{'requests':{'cpu':'2','memory':'1Ki','example.com/x':'1'}},"
         "'overhead':{'cpu':'10m'}}}",
         2010, 1024, 2010},
        /* a resize in progress: the largest counts; an infeasible one: not the spec */
        {"{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'5'}}}]"
         "},"
         "'status':{'containerStatuses':[{'name':'c','allocatedResources':{'cpu':'2'}"
         ","
         "'resources':{'requests':{'cpu':'3'}}}]}}",
         5000, 0, 5000},
        {"{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':'5'}}}]"
         "},"
         "'status':{'conditions':[{'type':'PodResizePending','reason':'Infeasible'}],"
         "'containerStatuses':[{'name':'c','allocatedResources':{'cpu':'2'},"
         "'resources':{'requests':{'cpu':'3'}}}]}}",
         3000, 0, 3000},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        struct pod pod;
        struct pod_resource got;
        arena_init(&a, 0);
        decode_pod(cases[i].pod, &a, &pod);
        pod_resource_calculate(&pod, &RESOURCE_GATES_DEFAULT, &a, &got);
        assert_int_equal(got.requests.milli_cpu, cases[i].cpu);
        assert_int_equal(got.requests.memory, cases[i].memory);
        assert_int_equal(got.non_zero_milli_cpu, cases[i].non_zero_cpu);
        assert_int_equal(got.requests.scalars.n, 0);
        arena_release(&a);
    }
}

/* Summing must not change the pod, which has other readers. */
static void test_pod_is_left_alone(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < f->table.pods.n; i++) {
        const struct pod *pod = &f->table.pods.v[i].pod;
        struct buf before = BUF_INIT, after = BUF_INIT;
        struct pod_resource got;
        json_encode(&pod_type, pod, &before);
        pod_resource_calculate(pod, &RESOURCE_GATES_DEFAULT, &f->a, &got);
        json_encode(&pod_type, pod, &after);
        assert_true(str_eq(buf_str(&before), buf_str(&after)));
        buf_release(&before);
        buf_release(&after);
    }
}

static void test_names(void **state)
{
    (void)state;
    char *long_domain = xmalloc(246);
    memset(long_domain, 'a', 244);
    long_domain[244] = '\0';
    char *fits = xasprintf("%s/x", long_domain), *too_long = xasprintf("a%s/x", long_domain);
    assert_true(resource_is_extended(STR("example.com/gpu")));
    assert_false(resource_is_extended(STR("gpu")));
    assert_false(resource_is_extended(STR("kubernetes.io/gpu")));
    assert_false(resource_is_extended(STR("x.kubernetes.io/gpu")));
    assert_false(resource_is_extended(STR("requests.example.com/gpu")));
    assert_false(resource_is_extended(STR("Example.com/gpu")));
    assert_false(resource_is_extended(STR("a/b/c")));
    assert_true(resource_is_extended(str_of(fits)));
    assert_false(resource_is_extended(str_of(too_long)));
    assert_true(resource_is_scalar(STR("kubernetes.io/gpu")));
    assert_true(resource_is_scalar(STR("hugepages-2Mi")));
    assert_true(resource_is_scalar(STR("attachable-volumes-csi-x")));
    assert_false(resource_is_scalar(STR("storage")));
    assert_false(resource_is_scalar(STR("")));
    free(too_long);
    free(fits);
    free(long_domain);
}

static void test_pod_limits(void **state)
{
    struct fixture *f = *state;
    size_t limited = 0;
    for (size_t i = 0; i < f->table.pods.n; i++) {
        const struct row *row = &f->table.pods.v[i];
        struct arena a;
        quantity_map got;
        arena_init(&a, 0);
        pod_limits(&row->pod, &a, &got);
        check_map(&row->pod, "limits", &row->limits, &got);
        limited += got.n > 0;
        arena_release(&a);
    }
    assert_true(limited >= 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_requests),      cmocka_unit_test(test_pod_resource),
        cmocka_unit_test(test_by_hand),           cmocka_unit_test(test_names),
        cmocka_unit_test(test_pod_is_left_alone), cmocka_unit_test(test_pod_limits),
    };
    return cmocka_run_group_tests_name("requests", tests, set_up, tear_down);
}
