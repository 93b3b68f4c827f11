/* SPDX-License-Identifier: Apache-2.0 */
/* The same events produce the same output, byte for byte, with any number of threads. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pool.h"
#include "base/time.h"
#include "cluster_life.h"
#include "engine/rooms.h"
#include "plugins/registry.h"
#include "prop.h"

/* --- a plugin whose verdicts depend on names -------------------------------------------------- */

/* Without any state, so that threads may call it. */
static const struct berth_host *host;
static struct berth_handle *handle;
static berth_reason odd_reason;
static bool dawdles; /* gives other threads time to run */

static void dawdle(uint64_t h)
{
    struct timespec moment = {.tv_nsec = 20000};
    if (dawdles && h / 8 % 61 == 0)
        nanosleep(&moment, NULL);
}

static int create(const struct berth_host *h, struct berth_handle *own, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args, (void)error, (void)ret_self;
    host = h;
    handle = own;
    odd_reason = h->reason(own, BERTH_STR("odd node"));
    return 0;
}

static uint64_t mix(uint64_t h, struct berth_str s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * 1099511628211u;
    return h;
}

static uint64_t hash(const struct berth_pod *pod, const struct berth_node *node, uint64_t salt)
{
    uint64_t h = mix(14695981039346656037u + salt, host->pod_name(pod));
    if (node)
        h = mix(h, host->node_name(node));
    h ^= h >> 31;
    h *= 0x9e3779b97f4a7c15u;
    return h >> 16;
}

static enum berth_code pre_enqueue(void *self, const struct berth_pod *pod,
                                   struct berth_status *status)
{
    (void)self, (void)status;
    return hash(pod, NULL, 1) % 40 == 0 ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS;
}

static enum berth_code pre_filter(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_status *status)
{
    (void)self;
    static const struct berth_str names[] = {{"n1", 2}, {"n17", 3}, {"n170", 4}, {"n9999", 5}};
    uint64_t h = hash(pod, NULL, 2);
    if (h % 13 == 0)
        host->limit_nodes(cycle, names, h / 13 % 5);
    if (h % 29 == 0)
        host->status_text(status, BERTH_STR("bad day"));
    return h % 29 == 0 ? BERTH_UNSCHEDULABLE : h % 31 == 0 ? BERTH_SKIP : BERTH_SUCCESS;
}

static enum berth_code filter(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)self, (void)cycle;
    uint64_t h = hash(pod, node, 3);
    char text[32];
    dawdle(h);
    switch (h % 8) {
    case 0:
        host->status_reason(status, odd_reason);
        return BERTH_UNSCHEDULABLE;
    case 1: { /* texts are numbered in the order of nodes, not of threads */
        int n = snprintf(text, sizeof(text), "text %u", (unsigned)(h / 8 % 300));
        host->status_text(status, (struct berth_str){text, (size_t)n});
        host->status_reason(status, odd_reason);
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    case 2: /* sometimes an error, on one node or on many */
        if (h / 8 % 3000 == 0 || hash(pod, NULL, 10) % 40 == 0) {
            host->status_text(status, host->node_name(node));
            return BERTH_ERROR;
        }
        return BERTH_SUCCESS;
    default: /* some pods are unschedulable */
        return hash(pod, NULL, 4) % 7 == 0 ? BERTH_PENDING : BERTH_SUCCESS;
    }
}

static enum berth_code post_filter(void *self, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status)
{
    (void)self;
    host->status_text(status, BERTH_STR("no victims"));
    if (hash(pod, NULL, 5) % 3 == 0)
        host->nominate(cycle, BERTH_STR("n3"));
    return hash(pod, NULL, 6) % 3 ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS;
}

static enum berth_code score(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)self, (void)cycle;
    uint64_t h = hash(pod, node, 7);
    dawdle(h);
    *ret_score = (int64_t)(h % 20);
    if (h % 20 || hash(pod, NULL, 11) % 60)
        return BERTH_SUCCESS;
    host->status_text(status, host->node_name(node));
    return BERTH_ERROR;
}

static enum berth_code normalize(void *self, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)slots, (void)status;
    for (size_t i = 0; i < n; i++)
        scores[i] = 100 - scores[i] * 5;
    return BERTH_SUCCESS;
}

static enum berth_code permit(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status)
{
    (void)self, (void)cycle, (void)node_name, (void)status;
    *ret_timeout_ns = (int64_t)(hash(pod, NULL, 8) % 30) * NSEC_PER_SEC;
    return hash(pod, NULL, 9) % 9 ? BERTH_SUCCESS : BERTH_WAIT;
}

static const struct berth_plugin hash_plugin = {
    .abi = BERTH_ABI,
    .struct_size = sizeof(struct berth_plugin),
    .name = "Hash",
    .create = create,
    .pre_enqueue = pre_enqueue,
    .pre_filter = pre_filter,
    .filter = filter,
    .post_filter = post_filter,
    .score = score,
    .normalize = normalize,
    .permit = permit,
};

static const struct berth_plugin *const plugins[] = {
    &priority_sort_plugin, &hash_plugin, &node_resources_fit_plugin, &default_binder_plugin, NULL};
static const struct plugin_ref defaults[] = {
    {STR_INIT("PrioritySort"), NULL},
    {STR_INIT("Hash"), NULL},
    {STR_INIT("NodeResourcesFit"), NULL},
    {STR_INIT("DefaultBinder"), NULL},
};
static const struct registry registry = {
    .plugins = plugins, .defaults = defaults, .n_defaults = ARRAY_LEN(defaults)};

/* --- random cluster --------------------------------------------------------------------------- */

static struct object *node_object(size_t i, int shape)
{
    return NODE(.name = textf("n%zu", i),
                .labels = textf("s=%d,topology.kubernetes.io/zone=z%zu", shape,
                                (i + (size_t)shape / 4) % 5),
                .cpu = textf("%d", 2 + shape % 4), .memory = "64Gi", .pods = "20");
}

/* The cpu it requests. */
static uint64_t draw_pod(struct rand *r)
{
    return 50 + rand_below(r, 900);
}

static struct object *pod_object(const struct life_pod *pod, size_t i)
{
    unsigned cpu = (unsigned)pod->shape;
    return POD(.name = textf("p%zu", i), .uid = textf("u%zu", i), .node = pod->node,
               .priority = (int)(cpu % 4), .cpu = textf("%um", cpu));
}

static const struct life_kind kind = {.max_nodes = 600,
                                      .max_pods = 4000,
                                      .n_shapes = 16,
                                      .one_leaves = 3,
                                      .node = node_object,
                                      .draw = draw_pod,
                                      .pod = pod_object};

static void run_life(uint64_t seed, size_t steps, size_t threads, struct buf *out)
{
    struct life l = {0};
    struct pool *pool = threads ? pool_new(threads) : NULL;
    dawdles = threads > 1;
    fixture_init_pool(&l.f, NULL, &registry, pool);
    rand_seed(&l.r, seed);
    life_begin(&l, &kind);
    for (size_t i = 0; i < steps; i++)
        life_step(&l);
    life_write(&l, out);
    life_end(&l);
    fixture_release(&l.f);
    pool_free(pool);
}

/* The first difference of the two. */
static void assert_same(const struct buf *a, const struct buf *b, size_t threads)
{
    size_t i = 0;
    while (i < a->n && i < b->n && a->p[i] == b->p[i])
        i++;
    if (i == a->n && i == b->n)
        return;
    size_t from = i > 200 ? i - 200 : 0;
    fail_msg("with %zu threads, from byte %zu on:\n%.*s\n--- and not\n%.*s", threads, i,
             (int)MIN(a->n - from, (size_t)400), a->p + from, (int)MIN(b->n - from, (size_t)400),
             b->p + from);
}

static void the_same_stream_gives_the_same_bytes(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {1, 20261115};
    static const size_t steps[] = {4000, 1500};
    static const size_t threads[] = {0, 1, 2, 4};
    for (size_t s = 0; s < ARRAY_LEN(seeds); s++) {
        struct buf first = BUF_INIT;
        run_life(seeds[s], steps[s], 0, &first);
        /* Check that the run covers all outcomes. */
        assert_true(first.n > 1000000);
        assert_non_null(strstr(buf_cstr(&first), "-> n"));
        assert_non_null(strstr(buf_cstr(&first), "odd node"));
        assert_non_null(strstr(buf_cstr(&first), "filter plugin: n"));
        assert_non_null(strstr(buf_cstr(&first), "failed with: n"));
        assert_non_null(strstr(buf_cstr(&first), "rejected due to timeout"));
        assert_non_null(strstr(buf_cstr(&first), "conflict"));
        for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
            struct buf again = BUF_INIT;
            run_life(seeds[s], steps[s], threads[i], &again);
            assert_same(&first, &again, threads[i]);
            buf_release(&again);
        }
        buf_release(&first);
    }
}

/* Another seed has another output: the comparison above could fail. */
static void another_stream_gives_other_bytes(void **state)
{
    (void)state;
    struct buf a = BUF_INIT, b = BUF_INIT;
    run_life(5, 300, 0, &a);
    run_life(6, 300, 0, &b);
    assert_false(str_eq(buf_str(&a), buf_str(&b)));
    buf_release(&a);
    buf_release(&b);
}

/* --- other processes -------------------------------------------------------------------------- */

/* Set for a child process that only prints the hash. */
#define PRINT_HASH "BERTH_TEST_PRINT_HASH"

/* A hash of the output. The order of hash maps differs from process to process. */
static uint64_t hash_of_life(void)
{
    struct buf out = BUF_INIT;
    run_life(9, 1500, 2, &out);
    uint64_t h = mix(14695981039346656037u, abi_str(buf_str(&out)));
    buf_release(&out);
    return h;
}

static void other_processes_come_to_the_same(void **state)
{
    (void)state;
    char self[4096] = "", command[4200];
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    snprintf(command, sizeof(command), PRINT_HASH "=1 '%s' determinism", self);
    uint64_t expected = hash_of_life();
    for (int i = 0; i < 2; i++) {
        char line[32] = "", own[32];
        FILE *child = popen(command, "r");
        assert_non_null(child);
        assert_non_null(fgets(line, sizeof(line), child));
        assert_int_equal(pclose(child), 0);
        snprintf(own, sizeof(own), "%016llx\n", (unsigned long long)expected);
        assert_string_equal(line, own);
    }
}

int main(void)
{
    if (getenv(PRINT_HASH)) {
        printf("%016llx\n", (unsigned long long)hash_of_life());
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_stream_gives_the_same_bytes),
        cmocka_unit_test(another_stream_gives_other_bytes),
        cmocka_unit_test(other_processes_come_to_the_same),
    };
    return cmocka_run_group_tests_name("determinism", tests, NULL, NULL);
}
