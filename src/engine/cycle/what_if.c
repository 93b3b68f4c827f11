/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/what_if.h"

void what_if_init(struct what_if *w, const struct berth_pod *pod, struct berth_status *status)
{
    *w = (struct what_if){.pod = pod, .status = status};
    arena_init(&w->cycle.arena, 0);
}

/* The copies that plugins made of their state, and what they have written since. */
static void drop_state(struct what_if *w)
{
    cycle_drop_state(&w->cycle);
    /* A dry run activates no pods. */
    for (size_t i = 0; i < w->cycle.to_activate.n; i++)
        pod_info_unref(w->cycle.to_activate.v[i]);
    vec_release(&w->cycle.to_activate);
}

void what_if_release(struct what_if *w)
{
    drop_state(w);
    vec_release(&w->cycle.state);
    arena_release(&w->cycle.arena);
    node_info_end_borrowing(&w->node);
    if (w->with_nominated)
        what_if_release(w->with_nominated);
    free(w->with_nominated);
}

/*
 * A nominated pod keeps its node against pods of at most its priority (upstream: addNominatedPods).
 * Members of the group under way do not count for each other: they are in flight, and each is
 * assumed where it fits.
 */
static bool counts_for(const struct queue *queue, const struct berth_pod *pod,
                       const struct berth_pod *nominated)
{
    if (nominated->priority < pod->priority || str_eq(pod_info_key(nominated), pod_info_key(pod)))
        return false;
    const struct berth_queued_pod *queued = queue_get(queue, pod_info_key(nominated));
    return !queued || queued->place != QUEUE_IN_FLIGHT;
}

static const struct nominated_node *nominated_for(const struct queue *queue,
                                                  const struct berth_pod *pod,
                                                  const struct berth_node *node)
{
    if (!queue->nominator.nodes.n)
        return NULL;
    const struct nominated_node *n = nominator_node(&queue->nominator, str_of(node->name));
    for (size_t i = 0; n && i < n->pods.n; i++)
        if (counts_for(queue, pod, n->pods.v[i]))
            return n;
    return NULL;
}

void what_if_begin(struct what_if *w, const struct berth_cycle *cycle,
                   const struct berth_node *node)
{
    drop_state(w);
    struct berth_cycle own = w->cycle;
    w->cycle = *cycle;
    w->cycle.arena = own.arena;
    arena_reset(&w->cycle.arena);
    w->cycle.state.v = own.state.v;
    w->cycle.state.cap = own.state.cap;
    w->cycle.state.n = 0;
    w->cycle.to_activate.v = NULL;
    w->cycle.to_activate.n = w->cycle.to_activate.cap = 0;
    for (size_t i = 0; i < cycle->state.n; i++) {
        struct cycle_item item = cycle->state.v[i];
        if (item.data && item.clone)
            item.data = item.clone(item.data);
        else
            item.free = NULL; /* shared: the original's */
        vec_push(&w->cycle.state, item);
    }
    node_info_borrow(&w->node, node);
    w->nominated = nominated_for(cycle->cycles->queue, w->pod, node);
}

/* --- pods come and go ------------------------------------------------------------------------- */

/* Replaces the status by one text: what was run, the plugin, its reasons. */
static void tell_failure(struct what_if *w, enum berth_code code, const char *before,
                         const struct berth_handle *h, const char *behind)
{
    struct cycle_failure failure = {0};
    cycle_failure_status(&failure, &w->cycle.framework->reasons, w->status, code,
                         "running %s\"%s\"%s", before, h->plugin->name, behind);
    status_clear(w->status);
    status_add_text(w->status, buf_str(&failure.text));
    cycle_failure_release(&failure);
}

typedef enum berth_code change_fn(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_pod *other,
                                  const struct berth_node *node, struct berth_status *status);

/* Tells the plugins' cycle state that `other` has come or gone. */
static bool tell_plugins(struct what_if *w, const struct berth_pod *other,
                         const struct berth_node *node, bool add)
{
    const handle_list *list = &w->cycle.profile->at[POINT_PRE_FILTER];
    w->asked = true;
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        change_fn *change = add ? h->plugin->add_pod : h->plugin->remove_pod;
        if (!change || plugin_set_has(&w->cycle.skip_filter, h->id))
            continue;
        status_clear(w->status);
        enum berth_code code = change(h->self, &w->cycle, w->pod, other, node, w->status);
        if (code == BERTH_SUCCESS)
            continue;
        tell_failure(w, code,
                     add ? "AddPod on PreFilter plugin " : "RemovePod on PreFilter plugin ", h, "");
        return false;
    }
    return true;
}

bool what_if_add(struct what_if *w, struct berth_pod *other)
{
    node_info_add_pod(&w->node, other);
    return tell_plugins(w, other, &w->node, true);
}

bool what_if_remove(struct what_if *w, struct berth_pod *other)
{
    bool was_there = node_info_remove_this(&w->node, other);
    assert(was_there);
    (void)was_there;
    return tell_plugins(w, other, &w->node, false);
}

static bool is_elsewhere(const struct what_if *w, const struct berth_node *node)
{
    return node->slot != w->node.slot;
}

bool what_if_add_to(struct what_if *w, struct berth_pod *other, const struct berth_node *node)
{
    return is_elsewhere(w, node) ? tell_plugins(w, other, node, true) : what_if_add(w, other);
}

bool what_if_remove_from(struct what_if *w, struct berth_pod *other, const struct berth_node *node)
{
    return is_elsewhere(w, node) ? tell_plugins(w, other, node, false) : what_if_remove(w, other);
}

/* --- verdicts --------------------------------------------------------------------------------- */

enum berth_code what_if_filter(struct what_if *w, const struct berth_handle **ret_plugin)
{
    *ret_plugin = NULL;
    enum berth_code code = cycle_run_filters(&w->cycle, w->pod, &w->node, w->status, ret_plugin);
    if (code == BERTH_SUCCESS || code_rejects(code))
        return code;
    tell_failure(w, code, "", *ret_plugin, " filter plugin");
    *ret_plugin = NULL;
    return code;
}

bool what_if_has_nominated(const struct berth_cycle *cycle, const struct berth_pod *pod,
                           const struct berth_node *node)
{
    return nominated_for(cycle->cycles->queue, pod, node) != NULL;
}

bool what_if_add_nominated(struct what_if *w)
{
    const struct nominated_node *n = w->nominated;
    for (size_t i = 0; n && i < n->pods.n; i++)
        if (counts_for(w->cycle.cycles->queue, w->pod, n->pods.v[i]) &&
            !what_if_add(w, n->pods.v[i]))
            return false;
    return true;
}

static enum berth_code filter_kept(struct what_if *w, const struct berth_handle **ret_plugin)
{
    if (!w->with_nominated) {
        w->with_nominated = xnew(struct what_if);
        what_if_init(w->with_nominated, w->pod, w->status);
    }
    *ret_plugin = NULL;
    what_if_begin(w->with_nominated, &w->cycle, &w->node);
    if (!what_if_add_nominated(w->with_nominated))
        return BERTH_ERROR;
    return what_if_filter(w->with_nominated, ret_plugin);
}

enum berth_code what_if_filter_nominated(struct what_if *w, const struct berth_handle **ret_plugin)
{
    if (w->nominated) {
        enum berth_code code = filter_kept(w, ret_plugin);
        if (code != BERTH_SUCCESS)
            return code;
    }
    return what_if_filter(w, ret_plugin);
}
