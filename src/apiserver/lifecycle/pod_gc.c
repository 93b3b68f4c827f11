/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods that no kubelet will remove: on nodes that are gone or out of service, deleted before they
 * had a node, and the oldest of too many that have ended (upstream: pod garbage collector).
 */
#include "apiserver/lifecycle/nodes.h"

#define QUARANTINE     (40 * NSEC_PER_SEC)
#define CHECK_PERIOD   (20 * NSEC_PER_SEC)
#define TERMINATED_MAX 12500
#define OUT_OF_SERVICE "node.kubernetes.io/out-of-service"

/* Why a pod was found by a look at others: the state of its task. */
struct pod_gc_reason {
    bool orphaned; /* its node has been missing for long */
    bool excess;   /* too many have ended */
};

static struct pod_gc_reason *need_reason(struct lifecycle *l, const struct revision *pod)
{
    struct named_task *task = task_named(l, TASK_POD_GC, pod->namespace, pod->name);
    if (!task->state)
        task->state = xnew(struct pod_gc_reason);
    return task->state;
}

/* --- one pod ---------------------------------------------------------------------------------- */

static bool is_out_of_service(struct lifecycle *l, const struct revision *node)
{
    struct json_value *object = life_parse(l, node);
    struct json_items taints = json_items_at(object, "spec.taints");
    if (str_is(json_get_text(life_condition(object, "Ready"), STR("status")), "True"))
        return false;
    for (size_t i = 0; i < taints.n; i++)
        if (str_is(json_get_text(&taints.v[i], STR("key")), OUT_OF_SERVICE))
            return true;
    return false;
}

/* Marked as failed first, since no kubelet will. */
static void remove_pod(struct lifecycle *l, struct task *task, const struct revision *rev,
                       struct json_value *pod, bool orphaned)
{
    struct str phase = json_text_at(pod, "status.phase");
    if (!str_is(phase, "Succeeded") && !str_is(phase, "Failed")) {
        if (orphaned)
            life_set_condition(l, pod,
                               life_make_condition(l, "DisruptionTarget", "True", "DeletionByPodGC",
                                                   STR("PodGC: node no longer exists")));
        task_patch_conditions(l, task, rev, pod, "Failed");
        return;
    }
    struct life_target target = life_target(rev);
    buf_clear(&l->body);
    buf_add_cstr(&l->body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                           "\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":");
    json_write_str(&l->body, json_text_at(pod, "metadata.uid"));
    buf_add_cstr(&l->body, "}}");
    task_write(l, task, WRITER_DELETE, &target, "");
}

void pod_gc_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    struct pod_entry *entry = pod_find(l, named->namespace, named->name);
    if (!entry) {
        task_end(l, named);
        return;
    }
    const struct pod_facts *facts = pod_read(l, entry);
    struct revision *node =
        entry->node ? life_find(l, l->r.nodes, STR(""), entry->node->name) : NULL;
    const struct pod_gc_reason *reason = named->state;
    bool orphaned = entry->node && !node && reason && reason->orphaned;
    bool stuck = facts->deleting && (!entry->node || (node && is_out_of_service(l, node)));
    bool excess = facts->terminal && reason && reason->excess;
    struct json_value *pod = life_parse(l, entry->rev);
    struct json_items finalizers = json_items_at(pod, "metadata.finalizers");
    /* A finalizer keeps it although it was deleted: a change leads here again. */
    bool held = facts->deleting && facts->terminal && finalizers.n;
    if ((orphaned || stuck || excess) && !held)
        remove_pod(l, task, entry->rev, pod, orphaned);
    else
        task_end(l, named);
}

/* --- nodes that are gone ---------------------------------------------------------------------- */

void orphans_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    const struct pod_group *pods = pods_on_node(l, named->name);
    int64_t *since = named->state;
    if (!pods || life_find(l, l->r.nodes, STR(""), named->name)) {
        task_end(l, named);
        return;
    }
    if (!since) {
        since = named->state = xmalloc(sizeof(*since));
        *since = l->queue.now;
    }
    if (l->queue.now < *since + QUARANTINE) {
        task_due(l, task, *since + QUARANTINE);
        return;
    }
    for (size_t i = 0; i < pods->pods.n; i++)
        need_reason(l, pods->pods.v[i]->rev)->orphaned = true;
    task_end(l, named);
}

/* --- pods that have ended --------------------------------------------------------------------- */

struct ended {
    const struct revision *rev;
    bool evicted;
    struct str created;
};

static int by_age(const void *a, const void *b)
{
    const struct ended *x = a, *y = b;
    if (x->evicted != y->evicted)
        return x->evicted ? -1 : 1;
    int order = str_cmp(x->created, y->created);
    return order ? order : str_cmp(x->rev->name, y->rev->name);
}

static bool has_ended(const struct revision *rev)
{
    struct str phase = revision_field(rev, STR("status.phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

void terminated_sync(struct lifecycle *l, struct task *task)
{
    size_t n = 0;
    if (l->n_terminated <= TERMINATED_MAX)
        return;
    struct ended *v = arena_array(&l->scratch, struct ended, l->n_terminated);
    map_each (e, &l->pods) {
        const struct pod_entry *pod = e->value;
        if (!has_ended(pod->rev) || n == l->n_terminated)
            continue;
        const struct json_value *object = life_parse(l, pod->rev);
        v[n++] = (struct ended){pod->rev,
                                str_is(json_text_at(object, "status.phase"), "Failed") &&
                                    str_is(json_text_at(object, "status.reason"), "Evicted"),
                                json_text_at(object, "metadata.creationTimestamp")};
    }
    qsort(v, n, sizeof(*v), by_age);
    for (size_t i = 0; i + TERMINATED_MAX < n; i++)
        need_reason(l, v[i].rev)->excess = true;
    task_due(l, task, l->queue.now + CHECK_PERIOD);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void count_terminated(struct lifecycle *l, const struct store_event *event)
{
    bool was = event->before && has_ended(event->before);
    bool is = event->change != STORE_DELETED && has_ended(event->after);
    l->n_terminated += is && !was;
    l->n_terminated -= was && !is;
    if (is && !was && l->n_terminated > TERMINATED_MAX) {
        struct named_task *task = task_find(l, TASK_TERMINATED, STR(""), STR("pods"));
        if (!task)
            task_named(l, TASK_TERMINATED, STR(""), STR("pods"));
        else
            task_due(l, &task->task, l->queue.now + CHECK_PERIOD);
    }
}

void pod_gc_changed(struct lifecycle *l, const struct store_event *event,
                    const struct life_view *view)
{
    const struct revision *rev = event->after;
    if (rev->resource == l->r.nodes && event->change == STORE_DELETED && pods_on_node(l, rev->name))
        task_named(l, TASK_ORPHANS, STR(""), rev->name);
    if (rev->resource != l->r.pods)
        return;
    count_terminated(l, event);
    if (event->change == STORE_DELETED)
        return;
    struct str node = life_pod_node(rev);
    const struct node_state *state = str_empty(node) ? NULL : node_state_find(l, node);
    if (!str_empty(node) && !state)
        task_named(l, TASK_ORPHANS, STR(""), node);
    if (!str_empty(view->deletion) && (str_empty(node) || (state && state->taints)))
        task_named(l, TASK_POD_GC, rev->namespace, rev->name);
}
