/* SPDX-License-Identifier: Apache-2.0 */
/* Pods on nodes with NoExecute taints (upstream: taint eviction controller). */
#include "api/toleration.h"
#include "apiserver/lifecycle/nodes.h"

#define COMPONENT "taint-eviction-controller"

/* --- tolerations ------------------------------------------------------------------------------ */

struct tolerance {
    struct toleration toleration;
    int64_t seconds; /* INT64_MAX: for ever */
};

static size_t read_tolerations(struct lifecycle *l, const struct json_value *pod,
                               struct tolerance **ret)
{
    struct json_items list = json_items_at(pod, "spec.tolerations");
    struct tolerance *v = arena_array(&l->scratch, struct tolerance, list.n);
    for (size_t i = 0; i < list.n; i++)
        v[i] = (struct tolerance){
            {json_get_text(&list.v[i], STR("key")), json_get_text(&list.v[i], STR("operator")),
             json_get_text(&list.v[i], STR("value")), json_get_text(&list.v[i], STR("effect"))},
            json_int_at(&list.v[i], "tolerationSeconds", INT64_MAX)};
    *ret = v;
    return list.n;
}

/* Seconds that all NoExecute taints are tolerated; 0: not at all; INT64_MAX: for ever. */
static int64_t tolerated_for(struct lifecycle *l, const struct json_value *node,
                             const struct json_value *pod)
{
    struct json_items taints = json_items_at(node, "spec.taints");
    struct tolerance *v;
    size_t n = read_tolerations(l, pod, &v);
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < taints.n; i++) {
        struct taint taint = {json_get_text(&taints.v[i], STR("key")),
                              json_get_text(&taints.v[i], STR("value")),
                              json_get_text(&taints.v[i], STR("effect"))};
        size_t at = 0;
        if (taint_effect(&taint) != TAINT_NO_EXECUTE)
            continue;
        while (at < n && !toleration_tolerates(&v[at].toleration, &taint, false))
            at++;
        if (at == n)
            return 0;
        least = MIN(least, MAX(v[at].seconds, 0));
    }
    return least;
}

/* --- the pod ---------------------------------------------------------------------------------- */

static void report(struct lifecycle *l, const struct revision *pod, const char *what)
{
    struct event_text text = {.reason = "TaintManagerEviction",
                              .component = COMPONENT,
                              .message = arena_printf(&l->scratch, "%s Pod %.*s/%.*s", what,
                                                      STR_ARG(pod->namespace), STR_ARG(pod->name))};
    life_event(l, pod, &text);
}

/* The condition first, then the deletion. */
static void evict(struct lifecycle *l, struct task *task, const struct revision *rev,
                  struct json_value *pod)
{
    struct json_value c =
        life_make_condition(l, "DisruptionTarget", "True", "DeletionByTaintManager",
                            STR("Taint manager: deleting due to NoExecute taint"));
    if (life_set_condition(l, pod, c)) {
        report(l, rev, "Marking for deletion");
        task_patch_conditions(l, task, rev, pod, NULL);
        return;
    }
    task_delete(l, task, rev, "", false);
}

/* state: when the taint was first seen, if the pod is to be evicted later. */
void tainted_pod_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    struct pod_entry *pod = pod_find(l, named->namespace, named->name);
    struct revision *node =
        pod && pod->node ? life_find(l, l->r.nodes, STR(""), pod->node->name) : NULL;
    int64_t *since = named->state;
    if (!node || pod_read(l, pod)->deleting) {
        if (node) /* it may be out of service */
            task_named(l, TASK_POD_GC, named->namespace, named->name);
        task_end(l, named);
        return;
    }
    struct json_value *object = life_parse(l, pod->rev);
    int64_t seconds = tolerated_for(l, life_parse(l, node), object);
    if (seconds == INT64_MAX) {
        if (since)
            report(l, pod->rev, "Cancelling deletion of");
        task_end(l, named);
        return;
    }
    if (!since) {
        since = named->state = xmalloc(sizeof(*since));
        *since = l->queue.now;
    }
    seconds = MIN(seconds, INT64_C(1) << 31);
    int64_t at = seconds ? *since + seconds * NSEC_PER_SEC : 0;
    if (at <= l->queue.now)
        evict(l, task, pod->rev, object);
    else
        task_due(l, task, at);
}
