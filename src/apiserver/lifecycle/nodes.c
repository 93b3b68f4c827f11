/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: conditions become Unknown when the kubelet is silent, taints follow conditions, pods of
 * nodes that are not ready are not ready (upstream: node lifecycle controller).
 *
 * Unlike upstream, nodes of a zone are not tainted one after the other, and are tainted even if no
 * node is ready.
 */
#include "apiserver/lifecycle/nodes.h"

#define MONITOR_GRACE (50 * NSEC_PER_SEC)
#define STARTUP_GRACE (60 * NSEC_PER_SEC)
#define COMPONENT     "node-controller"
#define NOT_READY     "node.kubernetes.io/not-ready"
#define UNREACHABLE   "node.kubernetes.io/unreachable"
#define UNSCHEDULABLE "node.kubernetes.io/unschedulable"

/* --- the kubelet's signs of life -------------------------------------------------------------- */

static int64_t time_at(const struct json_value *v, const char *path, int64_t otherwise)
{
    struct timestamp t;
    return timestamp_parse(json_text_at(v, path), &t) ? timestamp_ns(t) : otherwise;
}

/* The lease is read when it matters, not at each of its changes. */
static void read_lease(struct lifecycle *l, struct node_state *node, struct str name)
{
    struct revision *rev = life_find(l, l->r.leases, STR("kube-node-lease"), name);
    int64_t now = l->queue.now;
    if (!rev || rev->version == node->lease_version)
        return;
    int64_t renewed = time_at(life_parse(l, rev), "spec.renewTime", now);
    /* A clock that is wrong: it was renewed after the last look. */
    if (renewed > now || now - renewed > MONITOR_GRACE)
        renewed = now;
    node->lease_version = rev->version;
    node->probe = MAX(node->probe, renewed);
}

/* Updates the time of the last sign of life. Returns the grace period. */
static int64_t read_health(struct lifecycle *l, struct node_state *node, struct json_value *object)
{
    struct json_value *ready = life_condition(object, "Ready");
    uint64_t heartbeat = 0;
    int64_t grace = MONITOR_GRACE;
    if (ready) {
        heartbeat = str_hash(json_get_text(ready, STR("lastHeartbeatTime"))) | 1;
    } else {
        grace = STARTUP_GRACE;
        node->probe = MAX(node->probe, time_at(object, "metadata.creationTimestamp", l->queue.now));
    }
    if (ready && (!node->seen || heartbeat != node->heartbeat))
        node->probe = l->queue.now;
    node->seen = true;
    node->heartbeat = heartbeat;
    read_lease(l, node, json_text_at(object, "metadata.name"));
    return grace;
}

/* Returns whether Ready changed. */
static bool set_unknown(struct lifecycle *l, struct json_value *object)
{
    static const char *const types[] = {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"};
    struct arena *a = &l->scratch;
    bool changed = false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct json_value *old = life_condition(object, types[i]);
        if (old && str_is(json_get_text(old, STR("status")), "Unknown"))
            continue;
        struct json_value c = life_make_condition(
            l, types[i], "Unknown", old ? "NodeStatusUnknown" : "NodeStatusNeverUpdated",
            old ? STR("Kubelet stopped posting node status.")
                : STR("Kubelet never posted node status."));
        struct str heartbeat = old ? json_get_text(old, STR("lastHeartbeatTime"))
                                   : json_text_at(object, "metadata.creationTimestamp");
        json_set(&c, STR("lastHeartbeatTime"), json_text(heartbeat), a);
        changed |= life_set_condition(l, object, c) && i == 0;
    }
    return changed;
}

/* --- taints ----------------------------------------------------------------------------------- */

static const struct taint_row {
    const char *condition, *status, *key;
} taint_rows[] = {
    {"Ready", "False", NOT_READY},
    {"Ready", "Unknown", UNREACHABLE},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
};

/* Whether the conditions ask for this taint; *ret_ours: it is one that they decide on. */
static bool wanted(struct json_value *object, struct str key, struct str effect, bool *ret_ours)
{
    bool execute = str_is(effect, "NoExecute");
    *ret_ours = false;
    if (!execute && !str_is(effect, "NoSchedule"))
        return false;
    if (!execute && str_is(key, UNSCHEDULABLE)) {
        *ret_ours = true;
        return json_bool_at(object, "spec.unschedulable", false);
    }
    for (size_t i = 0; i < ARRAY_LEN(taint_rows); i++) {
        const struct taint_row *row = &taint_rows[i];
        if (!str_is(key, row->key) || (execute && strcmp(row->condition, "Ready") != 0))
            continue;
        const struct json_value *c = life_condition(object, row->condition);
        /* Without a condition, what admission set when the node was made stays. */
        *ret_ours = c != NULL || !execute;
        return str_is(json_get_text(c, STR("status")), row->status);
    }
    return false;
}

static bool has_taint(const struct json_value *list, const char *key, const char *effect)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_is(json_get_text(&list->items[i], STR("key")), key) &&
            str_is(json_get_text(&list->items[i], STR("effect")), effect))
            return true;
    return false;
}

static bool add_taint(struct lifecycle *l, struct json_value *object, struct json_value *list,
                      const char *key, const char *effect)
{
    struct json_value taint = json_object();
    bool ours;
    if (!wanted(object, str_of(key), str_of(effect), &ours) || has_taint(list, key, effect))
        return false;
    json_set(&taint, STR("key"), json_text(str_of(key)), &l->scratch);
    json_set(&taint, STR("effect"), json_text(str_of(effect)), &l->scratch);
    json_set(&taint, STR("timeAdded"), json_text(life_time(l, l->queue.now)), &l->scratch);
    json_append(list, taint, &l->scratch);
    return true;
}

/* Returns whether the list changed. */
static bool set_taints(struct lifecycle *l, struct json_value *object)
{
    struct json_value *spec = json_set_object(object, STR("spec"), &l->scratch);
    struct json_value *list = json_set_array(spec, STR("taints"), &l->scratch);
    bool changed = false, ours;
    for (size_t i = list->n; i-- > 0;) {
        struct str key = json_get_text(&list->items[i], STR("key"));
        struct str effect = json_get_text(&list->items[i], STR("effect"));
        if (!wanted(object, key, effect, &ours) && ours) {
            json_remove_item(list, i);
            changed = true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(taint_rows); i++) {
        changed |= add_taint(l, object, list, taint_rows[i].key, "NoSchedule");
        if (i < 2)
            changed |= add_taint(l, object, list, taint_rows[i].key, "NoExecute");
    }
    changed |= add_taint(l, object, list, UNSCHEDULABLE, "NoSchedule");
    return changed;
}

static void patch_taints(struct lifecycle *l, struct task *task, const struct revision *rev,
                         const struct json_value *object)
{
    struct life_target target = life_target(rev);
    life_patch(l, rev);
    buf_add_cstr(&l->body, "},\"spec\":{\"taints\":");
    json_write(json_at(object, "spec.taints"), &l->body);
    buf_add_cstr(&l->body, "}}");
    task_write(l, task, WRITER_PATCH_MERGE, &target, "");
}

/* --- pods of the node ------------------------------------------------------------------------- */

/* Which NoExecute taints there are; 0: none. */
static uint64_t execute_taints(const struct json_value *object)
{
    struct json_items taints = json_items_at(object, "spec.taints");
    uint64_t hash = 0;
    for (size_t i = 0; i < taints.n; i++)
        if (str_is(json_get_text(&taints.v[i], STR("effect")), "NoExecute"))
            hash = hash_u64(hash ^ str_hash(json_get_text(&taints.v[i], STR("key"))) ^
                            hash_u64(str_hash(json_get_text(&taints.v[i], STR("value"))))) |
                   1;
    return hash;
}

static void mark_pods(struct lifecycle *l, struct str node, enum task_kind kind)
{
    const struct pod_group *pods = pods_on_node(l, node);
    for (size_t i = 0; pods && i < pods->pods.n; i++) {
        const struct revision *rev = pods->pods.v[i]->rev;
        task_named(l, kind, rev->namespace, rev->name);
    }
}

void pod_unready_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    struct pod_entry *pod = pod_find(l, named->namespace, named->name);
    const struct node_state *node = pod && pod->node ? node_state_find(l, pod->node->name) : NULL;
    if (!node || !node->not_ready || !pod_read(l, pod)->ready) {
        task_end(l, named);
        return;
    }
    struct json_value *object = life_parse(l, pod->rev);
    struct json_value c = json_copy(life_condition(object, "Ready"), &l->scratch);
    struct event_text text = {.warning = true,
                              .reason = "NodeNotReady",
                              .component = COMPONENT,
                              .message = STR("Node is not ready")};
    json_set(&c, STR("status"), json_text(STR("False")), &l->scratch);
    life_set_condition(l, object, c);
    life_event(l, pod->rev, &text);
    task_patch_conditions(l, task, pod->rev, object, NULL);
}

/* --- the node --------------------------------------------------------------------------------- */

struct node_state *node_state_find(struct lifecycle *l, struct str name)
{
    struct named_task *task = task_find(l, TASK_NODE, STR(""), name);
    return task ? task->state : NULL;
}

/* What the node's pods have to know. */
static void tell_pods(struct lifecycle *l, struct node_state *node, struct json_value *object,
                      struct str name)
{
    struct json_value *ready = life_condition(object, "Ready");
    bool not_ready = ready && !str_is(json_get_text(ready, STR("status")), "True");
    uint64_t taints = execute_taints(object);
    if (not_ready && !node->not_ready)
        mark_pods(l, name, TASK_POD_UNREADY);
    node->not_ready = not_ready;
    if (taints == node->taints)
        return;
    node->taints = taints;
    mark_pods(l, name, TASK_TAINTED_POD);
}

static void report_not_ready(struct lifecycle *l, const struct revision *rev)
{
    struct event_text text = {
        .reason = "NodeNotReady",
        .component = COMPONENT,
        .message =
            arena_printf(&l->scratch, "Node %.*s status is now: NodeNotReady", STR_ARG(rev->name))};
    life_event(l, rev, &text);
}

void node_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    struct node_state *node = named->state;
    struct revision *rev = life_find(l, l->r.nodes, STR(""), named->name);
    if (!rev)
        return;
    struct json_value *object = life_parse(l, rev);
    bool was_ready = str_is(json_get_text(life_condition(object, "Ready"), STR("status")), "True");
    int64_t grace = read_health(l, node, object);
    if (l->queue.now <= node->probe + grace) {
        task_due(l, task, node->probe + grace + 1);
    } else if (set_unknown(l, object)) {
        if (was_ready)
            report_not_ready(l, rev);
        task_patch_conditions(l, task, rev, object, NULL);
        return;
    }
    tell_pods(l, node, object, named->name);
    if (set_taints(l, object))
        patch_taints(l, task, rev, object);
}

void nodes_changed(struct lifecycle *l, const struct store_event *event,
                   const struct life_view *view UNUSED)
{
    const struct revision *rev = event->after;
    if (rev->resource == l->r.nodes) {
        struct named_task *task = task_named(l, TASK_NODE, STR(""), rev->name);
        if (event->change == STORE_DELETED)
            task_end(l, task);
        else if (!task->state)
            task->state = xnew(struct node_state);
        return;
    }
    if (rev->resource != l->r.pods || event->change == STORE_DELETED)
        return;
    struct str name = life_pod_node(rev);
    const struct node_state *node = str_empty(name) ? NULL : node_state_find(l, name);
    if (node && node->not_ready)
        task_named(l, TASK_POD_UNREADY, rev->namespace, rev->name);
    if (node && node->taints)
        task_named(l, TASK_TAINTED_POD, rev->namespace, rev->name);
}
