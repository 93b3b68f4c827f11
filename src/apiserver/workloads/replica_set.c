/* SPDX-License-Identifier: Apache-2.0 */
/* ReplicaSets and ReplicationControllers: as many pods as spec.replicas
 * (pkg/controller/replicaset). */
#include "apiserver/workloads/workloads_internal.h"

struct counts {
    struct pod_item **active; /* in scratch memory */
    size_t n_active, n_terminating, n_labeled, n_ready, n_available;
};

/* --- which pods to delete --------------------------------------------------------------------- */

/* An active pod with what its order depends on. */
struct ranked {
    struct pod_item *pod;
    size_t rank; /* pods of the same workload on its node */
    int64_t now;
};

/* Times count by their magnitude: pods of about the same age are in the order of their uids. */
static int log_rank(int64_t now, int64_t then)
{
    return now <= then ? -1 : 63 - __builtin_clzll((uint64_t)(now - then));
}

/* Positive: the time of b is before that of a. 0: about the same, undecided. */
static int by_time(const struct ranked *a, const struct ranked *b, int64_t ta, int64_t tb)
{
    if (ta == tb)
        return 0;
    if (!ta || !tb)
        return !ta ? -1 : 1;
    int diff = log_rank(a->now, ta) - log_rank(b->now, tb);
    return diff ? diff : str_cmp(a->pod->member.uid, b->pod->member.uid);
}

/* Upstream: ActivePodsWithRanks. Those that are deleted first come first. */
static int by_rank(const void *x, const void *y)
{
    static const int phase_order[] = {0, 2, 0, 0, 1};
    const struct ranked *a = x, *b = y;
    const struct pod_item *p = a->pod, *q = b->pod;
    int diff;
    if (p->has_node != q->has_node)
        return p->has_node - q->has_node;
    if (phase_order[p->phase] != phase_order[q->phase])
        return phase_order[p->phase] - phase_order[q->phase];
    if (p->ready != q->ready)
        return p->ready - q->ready;
    if (p->deletion_cost != q->deletion_cost)
        return p->deletion_cost < q->deletion_cost ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    if (p->ready && (diff = by_time(a, b, p->ready_since, q->ready_since)))
        return diff;
    if (p->restarts != q->restarts)
        return p->restarts > q->restarts ? -1 : 1;
    if ((diff = by_time(a, b, p->member.created, q->member.created)))
        return diff;
    return str_cmp(p->member.uid, q->member.uid);
}

static struct str node_of(const struct pod_item *pod)
{
    return revision_field(pod->member.rev, STR("spec.nodeName"));
}

static void count_on_nodes(const struct workload *o, struct map *nodes)
{
    for (size_t i = 0; i < n_pods(o); i++) {
        struct pod_item *pod = pod_at(o, i);
        struct str node = node_of(pod);
        if (!pod_is_active(pod) || str_empty(node))
            continue;
        uintptr_t n = (uintptr_t)map_get(nodes, node);
        map_put(nodes, node, (void *)(n + 1));
    }
}

/* Pods of all ReplicaSets with the same owner count: a rollout leaves the pods spread. */
static void count_related(const struct workload *o, struct map *nodes)
{
    struct family *family = o->member.family;
    if (!family) {
        count_on_nodes(o, nodes);
        return;
    }
    const struct members *siblings = &family->members[MEMBER_WORKLOAD];
    for (size_t i = 0; i < siblings->list.n; i++)
        count_on_nodes(workload_of(siblings->list.v[i]), nodes);
}

void workload_sort_active(struct workloads *w, struct pod_item **pods, size_t n,
                          const struct map *nodes)
{
    struct ranked *ranked = arena_array(&w->scratch, struct ranked, n);
    for (size_t i = 0; i < n; i++) {
        struct str node = node_of(pods[i]);
        size_t rank = nodes && !str_empty(node) ? (size_t)(uintptr_t)map_get(nodes, node) : 0;
        ranked[i] = (struct ranked){pods[i], rank, workloads_now(w)};
    }
    if (n)
        qsort(ranked, n, sizeof(*ranked), by_rank);
    for (size_t i = 0; i < n; i++)
        pods[i] = ranked[i].pod;
}

static void choose_and_delete(struct workloads *w, struct workload *o, struct counts *c, size_t n)
{
    struct map nodes = MAP_INIT;
    n = MIN(n, (size_t)BURST_REPLICAS);
    if (n < c->n_active) {
        count_related(o, &nodes);
        workload_sort_active(w, c->active, c->n_active, &nodes);
        map_release(&nodes);
    }
    workload_delete_pods(w, o, c->active, n);
}

/* --- status ----------------------------------------------------------------------------------- */

static int64_t count_pods(struct workloads *w, struct workload *o, const struct json_value *object,
                          struct counts *ret_counts)
{
    int64_t next = INT64_MAX, min_ready = json_int_at(object, "spec.minReadySeconds", 0);
    struct json_members labels = json_members_at(object, "spec.template.metadata.labels");
    struct counts c = {.active = arena_array(&w->scratch, struct pod_item *, n_pods(o))};
    for (size_t i = 0; i < n_pods(o); i++) {
        struct pod_item *pod = pod_at(o, i);
        if (!pod->member.matches)
            continue;
        c.n_terminating += pod_is_terminating(pod);
        if (!pod_is_active(pod))
            continue;
        c.active[c.n_active++] = pod;
        c.n_ready += pod->ready;
        c.n_available += workload_pod_is_available(w, pod, min_ready, &next);
        bool labeled = true;
        for (size_t l = 0; labeled && l < labels.n; l++)
            labeled =
                str_eq(revision_label(pod->member.rev, labels.v[l].key), labels.v[l].value.text);
        c.n_labeled += labeled;
    }
    work_cost(&w->queue, &o->work, n_pods(o));
    *ret_counts = c;
    return next;
}

static void sync_status(struct workloads *w, struct workload *o, struct json_value *object,
                        const struct counts *c, int64_t replicas)
{
    const struct json_value *old = json_at(object, "status.conditions");
    struct json_value status = json_object();
    workload_put_int(w, &status, "replicas", (int64_t)c->n_active);
    workload_put_count(w, &status, "fullyLabeledReplicas", (int64_t)c->n_labeled);
    workload_put_count(w, &status, "readyReplicas", (int64_t)c->n_ready);
    workload_put_count(w, &status, "availableReplicas", (int64_t)c->n_available);
    if (o->kind == WORKLOAD_REPLICA_SET)
        workload_put_int(w, &status, "terminatingReplicas", (int64_t)c->n_terminating);
    workload_put_count(w, &status, "observedGeneration", o->member.generation);
    if (old && old->kind == JSON_ARRAY && old->n)
        json_set(&status, STR("conditions"), json_copy(old, &w->scratch), &w->scratch);
    bool wrong = (int64_t)c->n_active != replicas;
    if (o->refused && wrong && !workload_condition(object, "ReplicaFailure"))
        workload_set_condition(
            w, &status,
            &(struct new_condition){"ReplicaFailure", "True",
                                    o->refused_delete ? "FailedDelete" : "FailedCreate",
                                    workload_refusal(w, o)},
            CONDITION_PLAIN);
    else if (!o->refused)
        workload_remove_condition(&status, "ReplicaFailure");
    workload_write_status(w, o, object, status, TAG_STATUS);
}

void replica_set_sync(struct workloads *w, struct workload *o, struct json_value *object)
{
    struct counts c;
    if (workload_claim(w, o))
        return;
    int64_t replicas = json_int_at(object, "spec.replicas", 1);
    int64_t next = count_pods(w, o, object, &c);
    int64_t diff = replicas - (int64_t)c.n_active;
    const struct json_value *template = json_at(object, "spec.template");
    bool acts = diff != 0 && !o->member.deleting;
    struct json_value pod = acts && diff > 0 ? workload_pod(w, o, template) : json_null();
    if (!diff)
        o->refused = 0;
    sync_status(w, o, object, &c, replicas);
    if (diff <= 0)
        o->batch = 1;
    if (acts && diff > 0)
        workload_create_pods(w, o, &pod, (size_t)diff);
    else if (acts)
        choose_and_delete(w, o, &c, (size_t)-diff);
    if (next != INT64_MAX)
        work_add_at(&w->queue, &o->work, next);
}
