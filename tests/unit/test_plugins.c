/* SPDX-License-Identifier: Apache-2.0 */
/* In-tree plugins: the batch forms compared with the single forms. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "engine/rooms.h"
#include "engine_fixture.h"
#include "plugins/registry.h"
#include "prop.h"

static struct berth_handle *instance(const struct fixture *f, const char *name)
{
    const handle_list *list = &f->engine->framework.setup->profiles.v[0]->instances;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i]->plugin->name, name) == 0)
            return list->v[i];
    fail_msg("no plugin %s", name);
    return NULL;
}

/* --- batch and single forms agree ------------------------------------------------------------- */

static void add_random_nodes(struct fixture *f, struct rand *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ADD_NODE(f, .name = textf("n%zu", i), .unschedulable = rand_below(r, 3) == 0,
                 .cpu = textf("%d", (int)rand_below(r, 4)),
                 .memory = textf("%dMi", (int)rand_below(r, 300)),
                 .pods = textf("%d", (int)rand_below(r, 4)),
                 .allocatable = textf("ephemeral-storage=%d,example.com/gpu=%d",
                                      (int)rand_below(r, 10), (int)rand_below(r, 3)));
}

static struct object *random_pod(struct rand *r, size_t i, const char *node)
{
    return POD(.name = textf("p%zu", i), .node = node,
               .cpu = textf("%d00m", (int)rand_below(r, 30)),
               .memory = textf("%dMi", (int)rand_below(r, 200)),
               .requests = textf("ephemeral-storage=%d%s", (int)rand_below(r, 6),
                                 rand_below(r, 2) ? ",example.com/gpu=1" : ""),
               .tolerations = rand_below(r, 2) ? TOLERATIONS({.op = "Exists"}) : NULL);
}

static bool same_verdicts(struct fixture *f, const struct berth_handle *h,
                          const struct berth_pod *pod)
{
    struct engine *e = f->engine;
    struct berth_columns columns;
    cache_get_columns(&e->cache, &columns);
    uint64_t feasible[4] = {0};
    uint8_t codes[256] = {0};
    berth_reason reasons[256] = {0};
    memcpy(feasible, columns.present, BITSET_WORDS(columns.n) * sizeof(uint64_t));
    struct berth_filter_batch batch = {sizeof(batch), &columns, feasible, codes, reasons};
    if (h->plugin->filter_many(h->self, NULL, pod, &batch, &e->cycles.status) != BERTH_SUCCESS)
        return false;
    for (size_t i = 0; i < e->cache.order.n; i++) {
        const struct berth_node *node = e->cache.order.v[i];
        status_clear(&e->cycles.status);
        enum berth_code code = h->plugin->filter(h->self, NULL, pod, node, &e->cycles.status);
        bool passes = feasible[node->slot / 64] >> (node->slot % 64) & 1;
        if (passes != (code == BERTH_SUCCESS) || (!passes && codes[node->slot] != code) ||
            reasons[node->slot] != status_reason(&e->cycles.status, &e->framework.reasons))
            return false;
    }
    return true;
}

static bool batch_agrees(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct fixture f;
    fixture_init(&f, NULL, NULL);
    size_t nodes = 1 + size * 2;
    bool ok = true;
    add_random_nodes(&f, r, nodes);
    for (size_t i = 0; i < nodes; i++) {
        const char *name = textf("n%zu", (size_t)rand_below(r, nodes));
        fixture_add(&f, random_pod(r, i, name));
    }
    for (size_t i = 0; ok && i < 5; i++) {
        struct object *o = random_pod(r, 1000 + i, "");
        struct berth_pod *pod = pod_info_new(o, &f.engine->names);
        ok = same_verdicts(&f, instance(&f, "NodeUnschedulable"), pod);
        pod_info_unref(pod);
        object_unref(o);
    }
    fixture_release(&f);
    return ok;
}

static void batch_and_single_forms_agree(void **state)
{
    (void)state;
    assert_true(prop_run("filter_many agrees with filter", 100, batch_agrees, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_and_single_forms_agree),
    };
    return cmocka_run_group_tests_name("plugins", tests, NULL, NULL);
}
