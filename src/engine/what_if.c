/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/what_if.h"

void what_if_init(struct what_if *w, const struct berth_cycle *cycle, const struct berth_pod *pod,
                  const struct berth_node *node, struct berth_status *status)
{
    *w = (struct what_if){
        .cycle = cycle_clone(cycle),
        .node = node_info_clone(node),
        .pod = pod,
        .status = status,
    };
}

void what_if_release(struct what_if *w)
{
    node_info_free(w->node);
    cycle_free_clone(w->cycle);
}

/* What the plugin said becomes the whole text: no filter is to blame. */
static void tell_failure(struct what_if *w, const char *doing, const struct berth_handle *h,
                         enum berth_code code)
{
    struct cycle_failure failure = {0};
    cycle_failure_status(&failure, w->cycle, w->status, code,
                         "running %s on PreFilter plugin \"%s\"", doing, h->plugin->name);
    status_clear(w->status);
    status_add_text(w->status, buf_str(&failure.text));
    cycle_failure_release(&failure);
}

typedef enum berth_code change_fn(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_pod *other,
                                  const struct berth_node *node, struct berth_status *status);

/* Tells the plugins' cycle state that `other` has come or gone. */
static bool tell_plugins(struct what_if *w, const struct berth_pod *other, bool add)
{
    const handle_list *list = &w->cycle->profile->at[POINT_PRE_FILTER];
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        change_fn *change = add ? h->plugin->add_pod : h->plugin->remove_pod;
        if (!change || plugin_set_has(&w->cycle->skip_filter, h->id))
            continue;
        status_clear(w->status);
        enum berth_code code = change(h->self, w->cycle, w->pod, other, w->node, w->status);
        if (code == BERTH_SUCCESS)
            continue;
        tell_failure(w, add ? "AddPod" : "RemovePod", h, code);
        return false;
    }
    return true;
}

bool what_if_add(struct what_if *w, struct berth_pod *other)
{
    node_info_add_pod(w->node, other);
    return tell_plugins(w, other, true);
}

bool what_if_remove(struct what_if *w, struct berth_pod *other)
{
    bool was_there = node_info_remove_pod(w->node, pod_info_key(other));
    assert(was_there);
    (void)was_there;
    return tell_plugins(w, other, false);
}

enum berth_code what_if_filter(const struct what_if *w, const struct berth_handle **ret_plugin)
{
    return cycle_run_filters(w->cycle, w->pod, w->node, w->status, ret_plugin);
}
