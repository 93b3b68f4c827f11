/* SPDX-License-Identifier: Apache-2.0 */
/* DaemonSets: one pod on every node that fits (pkg/controller/daemon). */
#include "apiserver/workloads/daemon_internal.h"

#define BACKOFF_FIRST NSEC_PER_SEC
#define BACKOFF_MAX   (900 * NSEC_PER_SEC)

/* When a failed pod of a node was last deleted. */
struct daemon_backoff {
    int64_t delay, since;
    char node[];
};

void daemon_set_free(struct workload *o)
{
    struct map *backoffs = o->state;
    if (!backoffs)
        return;
    map_each (e, backoffs)
        free(e->value);
    map_release(backoffs);
    free(backoffs);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Pods with a node first, then the older ones. */
static bool comes_before(const struct pod_item *a, const struct pod_item *b)
{
    if (a->has_node != b->has_node)
        return a->has_node;
    if (a->member.created != b->member.created)
        return a->member.created < b->member.created;
    return str_cmp(a->member.rev->name, b->member.rev->name) < 0;
}

static struct daemon_node *find_node(struct daemon_look *d, struct str name)
{
    size_t low = 0, high = d->n_nodes;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int diff = str_cmp(d->nodes[mid].node->name, name);
        if (diff == 0)
            return &d->nodes[mid];
        if (diff < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static void place_pod(struct daemon_look *d, struct pod_item *pod)
{
    struct daemon_node *n = find_node(d, daemon_pod_node(d, pod));
    if (!n) {
        /* Its node is gone. Pods on nodes that are gone are the pod garbage collector's. */
        if (!pod->has_node && !pod->member.deleting)
            d->remove[d->n_remove++] = pod;
        return;
    }
    struct pod_item **at = &n->pods;
    while (*at && comes_before(*at, pod))
        at = &(*at)->next_on_node;
    pod->next_on_node = *at;
    *at = pod;
}

static void read_nodes(struct daemon_look *d)
{
    struct arena *a = &d->w->scratch;
    d->n_nodes = d->w->nodes.n;
    d->nodes = arena_array(a, struct daemon_node, d->n_nodes);
    d->remove = arena_array(a, struct pod_item *, n_pods(d->o));
    d->create = arena_array(a, const struct node_item *, d->n_nodes);
    for (size_t i = 0; i < d->n_nodes; i++) {
        d->nodes[i].node = d->w->nodes.v[i];
        daemon_match_node(d, &d->nodes[i]);
        d->desired += d->nodes[i].should_run;
    }
    size_t unbound = 0;
    for (size_t i = 0; i < n_pods(d->o); i++) {
        unbound += !pod_at(d->o, i)->has_node;
        if (pod_at(d->o, i)->member.matches)
            place_pod(d, pod_at(d->o, i));
    }
    work_cost(&d->w->queue, &d->o->work, d->n_nodes + n_pods(d->o) + 10 * unbound);
}

static void read_strategy(struct daemon_look *d)
{
    const struct json_value *update = json_at(d->spec, "updateStrategy.rollingUpdate");
    if (str_is(json_text_at(d->spec, "updateStrategy.type"), "OnDelete"))
        return;
    const struct json_value *most = json_get(update, STR("maxUnavailable"));
    d->max_surge = workload_scaled(json_get(update, STR("maxSurge")), d->desired, true);
    d->max_unavailable = most ? workload_scaled(most, d->desired, true) : 1;
    if (!d->max_surge && !d->max_unavailable)
        d->max_unavailable = 1;
}

static bool is_available(struct daemon_look *d, const struct pod_item *pod)
{
    return workload_pod_is_available(d->w, pod, d->min_ready, &d->next);
}

/* --- one pod per node ------------------------------------------------------------------------- */

/* Whether the failed pod of a node may be deleted now; the delay doubles each time. */
static bool may_replace(struct daemon_look *d, struct str node)
{
    struct map *backoffs = d->o->state;
    int64_t now = workloads_now(d->w);
    if (!backoffs)
        d->o->state = backoffs = xnew(struct map);
    struct daemon_backoff *b = map_get(backoffs, node);
    if (!b) {
        b = xcalloc(1, sizeof(*b) + node.n + 1);
        memcpy(b->node, node.p, node.n);
        map_put(backoffs, (struct str){b->node, node.n}, b);
    }
    if (b->delay && now - b->since > 2 * BACKOFF_MAX)
        b->delay = 0;
    if (b->delay && now - b->since < b->delay) {
        work_add_at(&d->w->queue, &d->o->work, b->since + b->delay);
        return false;
    }
    b->delay = b->delay ? MIN(2 * b->delay, BACKOFF_MAX) : BACKOFF_FIRST;
    b->since = now;
    return true;
}

/* Deletes a pod that has ended. Returns whether it has. */
static bool remove_ended(struct daemon_look *d, const struct daemon_node *n, struct pod_item *pod)
{
    bool failed = pod->phase == POD_FAILED;
    const struct revision *rev = pod->member.rev;
    if (!failed && pod->phase != POD_SUCCEEDED)
        return false;
    if (failed && !may_replace(d, n->node->name))
        return true;
    workload_event(d->w, d->o, failed, failed ? "FailedDaemonPod" : "SucceededDaemonPod",
                   "Found %s daemon pod %.*s/%.*s on node %.*s, will try to %s it",
                   failed ? "failed" : "succeeded", STR_ARG(rev->namespace), STR_ARG(rev->name),
                   STR_ARG(n->node->name), failed ? "kill" : "delete");
    d->remove[d->n_remove++] = pod;
    return true;
}

/* With maxSurge a node may have an old and a new pod until the new one is available. */
static void keep_two(struct daemon_look *d, struct pod_item **running, size_t n)
{
    struct pod_item *old = NULL, *new = NULL;
    for (size_t i = 0; i < n; i++) {
        struct pod_item **first = daemon_pod_is_updated(d, running[i]) ? &new : &old;
        if (*first)
            d->remove[d->n_remove++] = running[i];
        else
            *first = running[i];
    }
    if (old && new && (!old->ready || is_available(d, new)))
        d->remove[d->n_remove++] = old;
}

static void sync_node(struct daemon_look *d, const struct daemon_node *n)
{
    struct pod_item **running = NULL;
    size_t n_running = 0, n_all = 0;
    for (struct pod_item *pod = n->pods; pod; pod = pod->next_on_node)
        n_all++;
    if (!n_all) {
        if (n->should_run)
            d->create[d->n_create++] = n->node;
        return;
    }
    running = arena_array(&d->w->scratch, struct pod_item *, n_all);
    for (struct pod_item *pod = n->pods; pod; pod = pod->next_on_node) {
        if (pod->member.deleting)
            continue;
        if (!n->may_stay)
            d->remove[d->n_remove++] = pod;
        else if (!remove_ended(d, n, pod))
            running[n_running++] = pod;
    }
    if (!n->may_stay)
        return;
    if (d->max_surge) {
        if (n_running > 1)
            keep_two(d, running, n_running);
        else if (!n_running && n->should_run)
            d->create[d->n_create++] = n->node;
        return;
    }
    for (size_t i = 1; i < n_running; i++)
        d->remove[d->n_remove++] = running[i];
}

/* --- rolling updates -------------------------------------------------------------------------- */

/* The pods of a node that are not being deleted. False: it has too many. */
static bool find_two(struct daemon_look *d, const struct daemon_node *n, struct pod_item **ret_new,
                     struct pod_item **ret_old)
{
    *ret_new = *ret_old = NULL;
    for (struct pod_item *pod = n->pods; pod; pod = pod->next_on_node) {
        if (pod->member.deleting)
            continue;
        struct pod_item **which = daemon_pod_is_updated(d, pod) ? ret_new : ret_old;
        if (*which)
            return false;
        *which = pod;
    }
    return true;
}

/* Old pods that are down are replaced at once, others as far as maxUnavailable allows. */
static void roll_in_place(struct daemon_look *d)
{
    struct pod_item **candidates = arena_array(&d->w->scratch, struct pod_item *, d->n_nodes);
    size_t n_candidates = 0;
    int64_t unavailable = 0;
    for (size_t i = 0; i < d->n_nodes; i++) {
        struct pod_item *new, *old;
        if (!d->nodes[i].should_run && !d->nodes[i].pods)
            continue;
        if (!find_two(d, &d->nodes[i], &new, &old) || (!new == !old)) {
            unavailable++;
        } else if (new) {
            unavailable += !is_available(d, new);
        } else if (!is_available(d, old)) {
            d->remove[d->n_remove++] = old;
            unavailable++;
        } else {
            candidates[n_candidates++] = old;
        }
    }
    for (size_t i = 0; i < n_candidates && unavailable < d->max_unavailable; i++, unavailable++)
        d->remove[d->n_remove++] = candidates[i];
}

static void roll_with_surge(struct daemon_look *d)
{
    const struct node_item **candidates =
        arena_array(&d->w->scratch, const struct node_item *, d->n_nodes);
    size_t n_candidates = 0;
    int64_t surge = 0;
    for (size_t i = 0; i < d->n_nodes; i++) {
        struct pod_item *new, *old;
        if (!find_two(d, &d->nodes[i], &new, &old)) {
            surge++;
            continue;
        }
        if (!old)
            continue;
        if (new) {
            if (is_available(d, new))
                d->remove[d->n_remove++] = old;
            else
                surge++;
        } else if (!d->nodes[i].should_run) {
            if (!is_available(d, old))
                d->remove[d->n_remove++] = old;
        } else if (!is_available(d, old)) {
            d->create[d->n_create++] = d->nodes[i].node;
        } else {
            candidates[n_candidates++] = d->nodes[i].node;
        }
    }
    for (size_t i = 0; i < n_candidates && surge < d->max_surge; i++, surge++)
        d->create[d->n_create++] = candidates[i];
}

/* --- status ----------------------------------------------------------------------------------- */

static void write_daemon_status(struct daemon_look *d)
{
    struct workloads *w = d->w;
    int64_t current = 0, misscheduled = 0, ready = 0, updated = 0, available = 0;
    struct json_value status = json_object();
    const struct json_value *conditions = json_at(d->object, "status.conditions");
    const struct json_value *collisions = json_at(d->object, "status.collisionCount");
    for (size_t i = 0; i < d->n_nodes; i++) {
        const struct pod_item *pod = d->nodes[i].pods;
        if (!pod)
            continue;
        if (!d->nodes[i].should_run) {
            misscheduled++;
            continue;
        }
        current++;
        ready += pod->ready;
        available += is_available(d, pod);
        updated += daemon_pod_is_updated(d, pod);
    }
    workload_put_int(w, &status, "currentNumberScheduled", current);
    workload_put_int(w, &status, "numberMisscheduled", misscheduled);
    workload_put_int(w, &status, "desiredNumberScheduled", d->desired);
    workload_put_int(w, &status, "numberReady", ready);
    workload_put_count(w, &status, "observedGeneration", d->o->member.generation);
    workload_put_count(w, &status, "updatedNumberScheduled", updated);
    workload_put_count(w, &status, "numberAvailable", available);
    workload_put_count(w, &status, "numberUnavailable", d->desired - available);
    if (collisions)
        json_set(&status, STR("collisionCount"), *collisions, &w->scratch);
    if (conditions)
        json_set(&status, STR("conditions"), *conditions, &w->scratch);
    workload_write_status(w, d->o, d->object, status, TAG_STATUS);
}

static bool is_live(void *ctx, const struct revision_view *v)
{
    struct daemon_look *d = ctx;
    struct str hash = revision_hash(d->o, v);
    for (size_t i = 0; i < n_pods(d->o); i++)
        if (str_eq(revision_label(pod_at(d->o, i)->member.rev, STR(REVISION_LABEL)), hash))
            return true;
    return false;
}

/* --- one look --------------------------------------------------------------------------------- */

void daemon_set_sync(struct workloads *w, struct workload *o, struct json_value *object)
{
    struct daemon_look d = {.w = w, .o = o, .object = object, .next = INT64_MAX};
    if (!o->selects) {
        workload_event(w, o, true, "SelectingAll",
                       "This daemon set is selecting all pods. A non-empty selector is required.");
        return;
    }
    if (o->member.deleting || workload_claim(w, o))
        return;
    history_read(w, o, object, &d.history);
    if (history_sync(w, o, object, &d.history))
        return;
    d.hash = revision_hash(o, d.history.update);
    d.spec = json_get(object, STR("spec"));
    d.pod_spec = json_at(d.spec, "template.spec");
    d.min_ready = json_int_at(d.spec, "minReadySeconds", 0);
    daemon_read_template(&d);
    read_nodes(&d);
    read_strategy(&d);
    for (size_t i = 0; i < d.n_nodes; i++)
        sync_node(&d, &d.nodes[i]);
    /* Until every node has its pod, the update waits. */
    if (!d.n_remove && !d.n_create && d.max_surge)
        roll_with_surge(&d);
    else if (!d.n_remove && !d.n_create && d.max_unavailable)
        roll_in_place(&d);
    history_truncate(w, o, object, &d.history, is_live, &d);
    write_daemon_status(&d);
    daemon_create_pods(&d);
    workload_delete_pods(w, o, d.remove, MIN(d.n_remove, (size_t)BURST_REPLICAS));
    if (d.next != INT64_MAX)
        work_add_at(&w->queue, &o->work, d.next);
}
