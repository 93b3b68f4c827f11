/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Garbage collection: objects whose owners are gone, foreground deletion, orphans (upstream:
 * GarbageCollector). The graph is as new as the store, so that one look decides.
 */
#include "apiserver/lifecycle/gc_graph.h"

/* --- references of an object ------------------------------------------------------------------ */

struct verdict {
    size_t n_solid, n_dangling, n_waiting, n_orphaned;
    bool unknown, impossible;
};

static bool is_orphaned(const struct gc_edge *edge)
{
    return edge->owner->deleting && edge->owner->orphan;
}

static struct verdict judge(const struct lifecycle *l, const struct gc_node *node)
{
    struct verdict v = {0};
    for (size_t i = 0; i < node->owners.n; i++) {
        const struct gc_edge *edge = node->owners.v[i];
        enum gc_owner owner = gc_edge_owner(l, edge);
        v.n_solid += owner == GC_SOLID;
        v.n_dangling += owner == GC_DANGLING;
        v.n_waiting += owner == GC_WAITING;
        v.n_orphaned += is_orphaned(edge);
        v.unknown |= owner == GC_UNKNOWN;
        v.impossible |= owner == GC_IMPOSSIBLE;
    }
    return v;
}

/* References are written again as they are, those that `keeps` names. */
static void patch_owners(struct lifecycle *l, struct gc_node *node, const struct revision *rev,
                         bool (*keeps)(const struct lifecycle *l, const struct gc_edge *edge),
                         bool unblock)
{
    struct json_value *object = life_parse(l, rev);
    struct json_items list = json_items_at(object, "metadata.ownerReferences");
    struct life_target target = life_target(rev);
    size_t n = 0;
    life_patch(l, rev);
    buf_add_cstr(&l->body, ",\"ownerReferences\":");
    for (size_t i = 0; i < list.n && i < node->owners.n; i++) {
        struct json_value ref = json_copy(&list.v[i], &l->scratch);
        if (keeps && !keeps(l, node->owners.v[i]))
            continue;
        if (unblock)
            json_set(&ref, STR("blockOwnerDeletion"), json_bool(false), &l->scratch);
        buf_add_char(&l->body, n++ ? ',' : '[');
        json_write(&ref, &l->body);
    }
    buf_add_cstr(&l->body, n ? "]}}" : "null}}");
    task_write(l, &node->task, WRITER_PATCH_MERGE, &target, "");
}

static bool not_orphaned(const struct lifecycle *l UNUSED, const struct gc_edge *edge)
{
    return !is_orphaned(edge);
}

static bool solid(const struct lifecycle *l, const struct gc_edge *edge)
{
    return gc_edge_owner(l, edge) == GC_SOLID;
}

static void report_stray(struct lifecycle *l, struct gc_node *node, const struct revision *rev)
{
    for (size_t i = 0; i < node->owners.n && !node->reported; i++) {
        const struct gc_edge *edge = node->owners.v[i];
        struct event_text text = {
            .warning = true,
            .reason = "OwnerRefInvalidNamespace",
            .component = "garbage-collector-controller",
        };
        if (!gc_edge_strays(edge))
            continue;
        node->reported = true;
        text.message = arena_printf(
            &l->scratch,
            "ownerRef [%.*s/%.*s, namespace: %.*s, name: %.*s, uid: %.*s] does not exist in "
            "namespace \"%.*s\"",
            STR_ARG(edge->api_version), STR_ARG(edge->kind), STR_ARG(node->namespace),
            STR_ARG(edge->name), STR_ARG(edge->owner->uid), STR_ARG(node->namespace));
        life_event(l, rev, &text);
    }
}

/* --- owners that wait: their dependents were marked when that began --------------------------- */

static void sync_orphaning(struct lifecycle *l, struct gc_node *node, const struct revision *rev)
{
    if (node->dependents.n == 0)
        task_remove_finalizer(l, &node->task, rev, life_parse(l, rev), "orphan");
}

static void sync_foreground(struct lifecycle *l, struct gc_node *node, const struct revision *rev)
{
    if (node->n_blocking == 0)
        task_remove_finalizer(l, &node->task, rev, life_parse(l, rev), "foregroundDeletion");
}

/* --- deletion --------------------------------------------------------------------------------- */

/* A cycle of objects that wait for each other is opened first. Returns whether that was needed. */
static bool unblock(struct lifecycle *l, struct gc_node *node, const struct revision *rev)
{
    bool cycle = false, blocks = false;
    for (size_t i = 0; i < node->dependents.n && !cycle; i++) {
        const struct gc_node *dependent = node->dependents.v[i]->dependent;
        cycle = dependent->deleting && dependent->foreground;
    }
    for (size_t i = 0; i < node->owners.n; i++)
        blocks |= node->owners.v[i]->blocks;
    if (!cycle || !blocks)
        return false;
    patch_owners(l, node, rev, NULL, true);
    return true;
}

static void delete_unowned(struct lifecycle *l, struct gc_node *node, const struct revision *rev,
                           const struct verdict *v)
{
    const char *policy = "Background";
    if (v->n_waiting && node->dependents.n) {
        if (unblock(l, node, rev))
            return;
        policy = "Foreground";
    } else if (node->orphan) {
        policy = "Orphan";
    } else if (node->foreground) {
        policy = "Foreground";
    }
    task_delete(l, &node->task, rev, policy, true);
}

static void sync_dependent(struct lifecycle *l, struct gc_node *node, const struct revision *rev)
{
    struct verdict v = judge(l, node);
    if (v.n_orphaned) {
        patch_owners(l, node, rev, not_orphaned, false);
        return;
    }
    if (node->deleting || node->owners.n == 0)
        return;
    report_stray(l, node, rev);
    if (v.impossible)
        return;
    if (v.unknown) { /* the definition of a custom resource may come */
        task_due(l, &node->task, l->queue.now + GC_UNKNOWN_PERIOD);
        return;
    }
    if (!v.n_solid)
        delete_unowned(l, node, rev, &v);
    else if (v.n_dangling || v.n_waiting)
        patch_owners(l, node, rev, solid, false);
}

void gc_sync(struct lifecycle *l, struct task *task)
{
    struct gc_node *node = CONTAINER_OF(task, struct gc_node, task);
    if (!node->resource)
        return;
    struct revision *rev = life_find(l, node->resource, node->namespace, node->name);
    if (!rev || !gc_node_is_current(node, rev))
        return; /* the change is yet to be told */
    if (node->deleting && node->orphan)
        sync_orphaning(l, node, rev);
    else if (node->deleting && node->foreground)
        sync_foreground(l, node, rev);
    if (!node->task.work.n_writes)
        sync_dependent(l, node, rev);
}

void gc_changed(struct lifecycle *l, const struct store_event *event, const struct life_view *view)
{
    if (str_empty(view->uid) || event->after->resource == l->r.events)
        return;
    if (event->change == STORE_DELETED)
        gc_graph_remove(l, view);
    else
        gc_graph_put(l, event->after, view);
}
