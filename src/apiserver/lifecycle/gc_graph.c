/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of owners and dependents (upstream: GraphBuilder). */
#include "apiserver/lifecycle/gc_graph.h"

/* --- nodes ------------------------------------------------------------------------------------ */

static struct gc_node *node_find(const struct lifecycle *l, struct str uid)
{
    return map_get(&l->graph, uid);
}

static struct gc_node *need_node(struct lifecycle *l, struct str uid)
{
    struct gc_node *node = node_find(l, uid);
    if (node)
        return node;
    node = xcalloc(1, sizeof(*node) + uid.n + 1);
    task_init(&node->task, TASK_GC);
    memcpy(node->text, uid.p, uid.n);
    node->uid = (struct str){node->text, uid.n};
    map_put(&l->graph, node->uid, node);
    return node;
}

static void drop_if_unused(struct lifecycle *l, struct gc_node *node)
{
    if (node->resource || node->dependents.n)
        return;
    map_del(&l->graph, node->uid);
    work_drop(&l->queue, &node->task.work);
}

void gc_release(struct lifecycle *l UNUSED, struct task *task)
{
    struct gc_node *node = CONTAINER_OF(task, struct gc_node, task);
    for (size_t i = 0; i < node->owners.n; i++)
        free(node->owners.v[i]);
    vec_release(&node->owners);
    vec_release(&node->dependents);
    free(node->place);
    free(node);
}

void gc_graph_release(struct lifecycle *l)
{
    map_each (e, &l->graph)
        gc_release(l, &((struct gc_node *)e->value)->task);
    map_release(&l->graph);
}

/* --- references ------------------------------------------------------------------------------- */

static bool names_node(const struct lifecycle *l, const struct gc_edge *edge)
{
    const struct gc_node *owner = edge->owner;
    const struct resource *r =
        resources_find_kind(l->options.resources, edge->api_version, edge->kind);
    return owner->resource && r && resource_stored(r) == owner->resource &&
           str_eq(owner->name, edge->name) &&
           (!r->namespaced || str_eq(owner->namespace, edge->dependent->namespace));
}

enum gc_owner gc_edge_owner(const struct lifecycle *l, const struct gc_edge *edge)
{
    const struct resource *r =
        resources_find_kind(l->options.resources, edge->api_version, edge->kind);
    if (!r)
        return GC_UNKNOWN;
    if (r->namespaced && str_empty(edge->dependent->namespace))
        return GC_IMPOSSIBLE;
    if (!names_node(l, edge))
        return GC_DANGLING;
    return edge->owner->deleting && edge->owner->foreground ? GC_WAITING : GC_SOLID;
}

bool gc_edge_strays(const struct gc_edge *edge)
{
    return edge->owner->resource && edge->owner->resource->namespaced &&
           !str_eq(edge->owner->namespace, edge->dependent->namespace);
}

/* The owner waits for its dependents: one of them may have been the last. */
static void mark_waiting(struct lifecycle *l, struct gc_node *owner)
{
    if (owner->deleting && (owner->foreground || owner->orphan))
        task_mark(l, &owner->task);
}

static void add_edge(struct lifecycle *l, struct gc_node *node, const struct json_value *ref)
{
    struct str api_version = json_get_text(ref, STR("apiVersion"));
    struct str kind = json_get_text(ref, STR("kind")), name = json_get_text(ref, STR("name"));
    struct gc_edge *edge = xcalloc(1, sizeof(*edge) + api_version.n + kind.n + name.n + 1);
    char *p = edge->text;
    struct str *to[] = {&edge->api_version, &edge->kind, &edge->name};
    const struct str from[] = {api_version, kind, name};
    for (size_t i = 0; i < ARRAY_LEN(to); i++) {
        if (from[i].n)
            memcpy(p, from[i].p, from[i].n);
        *to[i] = (struct str){p, from[i].n};
        p += from[i].n;
    }
    edge->dependent = node;
    edge->owner = need_node(l, json_get_text(ref, STR("uid")));
    edge->blocks = json_bool_at(ref, "blockOwnerDeletion", false);
    edge->owner->n_blocking += edge->blocks;
    edge->at = edge->owner->dependents.n;
    vec_push(&edge->owner->dependents, edge);
    vec_push(&node->owners, edge);
}

static void remove_edge(struct lifecycle *l, struct gc_edge *edge)
{
    struct gc_node *owner = edge->owner;
    vec_swap_remove(&owner->dependents, edge->at);
    if (edge->at < owner->dependents.n)
        owner->dependents.v[edge->at]->at = edge->at;
    owner->n_blocking -= edge->blocks;
    mark_waiting(l, owner);
    free(edge);
    drop_if_unused(l, owner);
}

/* A reference to something that is not there, or is being deleted, may be all that is left. */
static bool needs_look(const struct lifecycle *l, const struct gc_node *node)
{
    for (size_t i = 0; i < node->owners.n; i++) {
        const struct gc_node *owner = node->owners.v[i]->owner;
        if (gc_edge_owner(l, node->owners.v[i]) != GC_SOLID || (owner->deleting && owner->orphan))
            return true;
    }
    return false;
}

static uint64_t owners_hash(struct str text)
{
    return str_empty(text) ? 0 : str_hash(text) | 1;
}

bool gc_node_is_current(const struct gc_node *node, const struct revision *rev)
{
    struct life_view view = life_view(rev);
    return str_eq(view.uid, node->uid) && owners_hash(view.owners) == node->owners_hash;
}

static void set_owners(struct lifecycle *l, struct gc_node *node, struct str text)
{
    struct json_value list = json_array();
    VEC(struct gc_edge *) old = {0};
    uint64_t hash = owners_hash(text);
    if (hash == node->owners_hash)
        return;
    node->owners_hash = hash;
    node->reported = false;
    for (size_t i = 0; i < node->owners.n; i++)
        vec_push(&old, node->owners.v[i]);
    vec_clear(&node->owners);
    if (hash && json_parse(text, 0, &l->scratch, &list, NULL) == 0 && list.kind == JSON_ARRAY)
        for (size_t i = 0; i < list.n; i++)
            add_edge(l, node, &list.items[i]);
    for (size_t i = 0; i < old.n; i++)
        remove_edge(l, old.v[i]);
    vec_release(&old);
    /* Owners that are not seen yet may come before the next look. */
    if (needs_look(l, node))
        task_mark(l, &node->task);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void set_place(struct gc_node *node, const struct revision *rev)
{
    node->place = xmalloc(rev->namespace.n + rev->name.n + 1);
    if (rev->namespace.n)
        memcpy(node->place, rev->namespace.p, rev->namespace.n);
    memcpy(node->place + rev->namespace.n, rev->name.p, rev->name.n);
    node->namespace = (struct str){node->place, rev->namespace.n};
    node->name = (struct str){node->place + rev->namespace.n, rev->name.n};
    node->resource = rev->resource;
}

static void mark_dependents(struct lifecycle *l, struct gc_node *node)
{
    for (size_t i = 0; i < node->dependents.n; i++)
        task_mark(l, &node->dependents.v[i]->dependent->task);
}

static bool has_finalizer(struct lifecycle *l, struct str text, const char *name)
{
    struct json_value list;
    return !str_empty(text) && json_parse(text, 0, &l->scratch, &list, NULL) == 0 &&
           life_list_has(&list, name);
}

void gc_graph_put(struct lifecycle *l, const struct revision *rev, const struct life_view *view)
{
    struct gc_node *node = need_node(l, view->uid);
    bool is_new = !node->resource;
    bool waited = node->deleting && (node->foreground || node->orphan);
    if (is_new)
        set_place(node, rev);
    set_owners(l, node, view->owners);
    node->deleting = !str_empty(view->deletion);
    node->foreground = has_finalizer(l, view->finalizers, "foregroundDeletion");
    node->orphan = has_finalizer(l, view->finalizers, "orphan");
    bool waits = node->deleting && (node->foreground || node->orphan);
    if (waits) {
        task_mark(l, &node->task);
        if (!waited)
            mark_dependents(l, node);
    }
    if (is_new && node->dependents.n)
        mark_dependents(l, node); /* that were seen first: is it what they refer to? */
}

void gc_graph_remove(struct lifecycle *l, const struct life_view *view)
{
    struct gc_node *node = node_find(l, view->uid);
    if (!node)
        return;
    node->resource = NULL;
    node->deleting = node->foreground = node->orphan = false;
    mark_dependents(l, node);
    /* Its references are gone; a virtual node has none. */
    set_owners(l, node, STR(""));
    free(TAKE(node->place));
    node->namespace = node->name = STR("");
    drop_if_unused(l, node);
}
