/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_trial.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct berth_handle *trial_instance(const struct fixture *f, const char *plugin)
{
    const handle_list *list = &f->engine->framework.setup->profiles.v[0]->instances;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i]->plugin->name, plugin) == 0)
            return list->v[i];
    fail_msg("no plugin %s", plugin);
    return NULL;
}

static size_t all_slots(const struct trial *t, uint32_t *slots, size_t max)
{
    size_t n = t->engine->cache.order.n;
    assert_true(n <= max);
    for (size_t i = 0; i < n; i++)
        slots[i] = t->engine->cache.order.v[i]->slot;
    return n;
}

#define MAX_NODES 512

void trial_begin(struct trial *t, const struct fixture *f, const char *plugin, struct object *pod)
{
    struct engine *e = f->engine;
    uint32_t slots[MAX_NODES];
    *t = (struct trial){.engine = e, .handle = trial_instance(f, plugin)};
    t->cycle = cycle_new(&e->cycles, e->framework.setup->profiles.v[0]);
    t->pod = pod_info_new(pod, &e->names);
    object_unref(pod);
    cache_refresh(&e->cache);
    cache_get_columns(&e->cache, &t->cycle->columns);
    size_t n = all_slots(t, slots, ARRAY_LEN(slots));
    const struct berth_plugin *p = t->handle->plugin;
    status_clear(&e->cycles.status);
    if (p->pre_filter)
        t->pre_filter = p->pre_filter(t->handle->self, t->cycle, t->pod, &e->cycles.status);
    if (p->pre_score)
        t->pre_score = p->pre_score(t->handle->self, t->cycle, t->pod, slots, n, &e->cycles.status);
}

void trial_end(struct trial *t)
{
    cycle_free(t->cycle);
    pod_info_unref(t->pod);
}

static const struct berth_node *node_of(const struct trial *t, const char *node)
{
    const struct berth_node *found = cache_node(&t->engine->cache, str_of(node));
    assert_non_null(found);
    return found;
}

enum berth_code trial_filter(struct trial *t, const char *node)
{
    struct berth_status *status = &t->engine->cycles.status;
    struct buf text = BUF_INIT;
    status_clear(status);
    enum berth_code code =
        t->handle->plugin->filter(t->handle->self, t->cycle, t->pod, node_of(t, node), status);
    status_write(status, &t->engine->framework.reasons, &text);
    snprintf(t->text, sizeof(t->text), "%.*s", STR_ARG(buf_str(&text)));
    buf_release(&text);
    return code;
}

int64_t trial_score(struct trial *t, const char *node)
{
    int64_t score = INT64_MAX;
    status_clear(&t->engine->cycles.status);
    enum berth_code code = t->handle->plugin->score(
        t->handle->self, t->cycle, t->pod, node_of(t, node), &score, &t->engine->cycles.status);
    assert_int_equal(code, BERTH_SUCCESS);
    return score;
}

int64_t trial_score_of(const struct fixture *f, const char *plugin, struct object *pod,
                       const char *node)
{
    struct trial t;
    trial_begin(&t, f, plugin, pod);
    int64_t score = trial_score(&t, node);
    trial_end(&t);
    return score;
}

/* --- batches ---------------------------------------------------------------------------------- */

static bool filters_agree(struct trial *t)
{
    struct engine *e = t->engine;
    const struct berth_plugin *p = t->handle->plugin;
    uint64_t feasible[MAX_NODES / 64] = {0};
    uint8_t codes[MAX_NODES] = {0};
    berth_reason reasons[MAX_NODES] = {0};
    struct berth_filter_batch batch = {sizeof(batch), &t->cycle->columns, feasible, codes, reasons};
    if (batch.columns->n)
        memcpy(feasible, batch.columns->present, BITSET_WORDS(batch.columns->n) * sizeof(uint64_t));
    if (p->filter_many(t->handle->self, t->cycle, t->pod, &batch, &e->cycles.status) !=
        BERTH_SUCCESS)
        return false;
    for (size_t i = 0; i < e->cache.order.n; i++) {
        const struct berth_node *node = e->cache.order.v[i];
        status_clear(&e->cycles.status);
        enum berth_code code =
            p->filter(t->handle->self, t->cycle, t->pod, node, &e->cycles.status);
        bool passes = feasible[node->slot / 64] >> (node->slot % 64) & 1;
        if (passes != (code == BERTH_SUCCESS) || (!passes && codes[node->slot] != code))
            return false;
        /* The text of an error is in the batch's status, once for all nodes. */
        if ((passes || code_rejects(code)) &&
            reasons[node->slot] != status_reason(&e->cycles.status, &e->framework.reasons))
            return false;
    }
    return true;
}

static bool scores_agree(struct trial *t)
{
    struct engine *e = t->engine;
    const struct berth_plugin *p = t->handle->plugin;
    uint32_t slots[MAX_NODES];
    int64_t scores[MAX_NODES];
    struct berth_score_batch batch = {sizeof(batch), &t->cycle->columns, slots,
                                      all_slots(t, slots, ARRAY_LEN(slots)), scores};
    if (p->score_many(t->handle->self, t->cycle, t->pod, &batch, &e->cycles.status) !=
        BERTH_SUCCESS)
        return false;
    for (size_t i = 0; i < batch.n; i++) {
        int64_t score = 0;
        if (p->score(t->handle->self, t->cycle, t->pod, batch.columns->nodes[slots[i]], &score,
                     &e->cycles.status) != BERTH_SUCCESS ||
            score != scores[i])
            return false;
    }
    return true;
}

bool trial_batches_agree(struct trial *t)
{
    const struct berth_plugin *p = t->handle->plugin;
    bool filters = p->filter_many && t->pre_filter == BERTH_SUCCESS;
    bool scores = p->score_many && t->pre_score == BERTH_SUCCESS;
    return (!filters || filters_agree(t)) && (!scores || scores_agree(t));
}

const char *trial_args_error(const struct fixture *f, const char *plugin, const char *args,
                             struct berth_error *error)
{
    struct berth_handle *h = trial_instance(f, plugin);
    void *self = NULL;
    *error = (struct berth_error){""};
    int r = h->plugin->create(&engine_host, h, abi_str(json_quotes_str(args)), &self, error);
    assert_int_equal(r != 0, error->text[0] != '\0');
    assert_int_equal(r != 0, self == NULL);
    if (self)
        h->plugin->destroy(self);
    return error->text;
}

/* --- hints ------------------------------------------------------------------------------------ */

static bool find_registration(const struct berth_handle *h, enum berth_resource resource,
                              unsigned action, struct event_registration *ret_registration)
{
    struct berth_registrar registrar = {.handle = h};
    bool found = false;
    h->plugin->events(h->self, &registrar);
    for (size_t i = 0; i < registrar.events.n; i++) {
        const struct event_registration *e = &registrar.events.v[i];
        if (e->resource != resource || !(e->actions & action))
            continue;
        found = true;
        *ret_registration = *e;
    }
    vec_release(&registrar.events);
    return found;
}

bool trial_is_told(const struct fixture *f, const char *plugin, enum berth_resource resource,
                   unsigned action)
{
    struct event_registration e;
    return find_registration(trial_instance(f, plugin), resource, action, &e);
}

enum berth_hint trial_hint(const struct fixture *f, const char *plugin, struct object *waiting,
                           struct trial_change change)
{
    const struct berth_handle *h = trial_instance(f, plugin);
    struct berth_pod *pod = pod_info_new(waiting, &f->engine->names);
    struct event_registration e = {0};
    assert_true(find_registration(h, change.resource, change.action, &e));
    enum berth_hint answer =
        e.hint ? e.hint(h->self, pod, object_abi(change.before), object_abi(change.after))
               : BERTH_QUEUE;
    pod_info_unref(pod);
    object_unref(waiting);
    object_unref(change.before);
    object_unref(change.after);
    return answer;
}
