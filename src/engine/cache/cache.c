/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.c - upstream: backend/cache/cache.go.
 *
 * A node has a slot as long as it has an object or pods; it is in the node tree, and its bit in
 * `present` is set, if and only if it has an object. Each change of a node ends in touch, which
 * copies its sums to the columns and raises its generation; changed objects also go to the journal.
 */
#include "engine/cache/cache.h"

void cache_init(struct cache *c, struct intern *names)
{
    *c = (struct cache){.names = names};
    node_tree_init(&c->tree);
}

static void free_columns(struct cache_columns *k)
{
    free(k->nodes);
    bitset_release(&k->present);
    bitset_release(&k->unschedulable);
    free(k->allocatable_cpu);
    free(k->allocatable_memory);
    free(k->allocatable_ephemeral_storage);
    free(k->allocatable_pods);
    free(k->requested_cpu);
    free(k->requested_memory);
    free(k->requested_ephemeral_storage);
    free(k->nonzero_cpu);
    free(k->nonzero_memory);
    free(k->pod_count);
    *k = (struct cache_columns){0};
}

void cache_release(struct cache *c)
{
    map_each (e, &c->pods) {
        struct cache_pod *cp = e->value;
        pod_info_unref(cp->pod);
        free(cp);
    }
    map_release(&c->pods);
    map_each (e, &c->nodes)
        node_info_free(e->value);
    map_release(&c->nodes);
    map_each (e, &c->images) {
        struct image_state *image = e->value;
        free(image->name);
        free(image);
    }
    map_release(&c->images);
    node_tree_release(&c->tree);
    vec_release(&c->order);
    vec_release(&c->free_slots);
    free_columns(&c->columns);
}

/* --- columns ---------------------------------------------------------------------------------- */

static void grow_columns(struct cache_columns *k)
{
    size_t cap = k->cap ? k->cap * 2 : 64;
    int64_t **columns[] = {
        &k->allocatable_cpu,
        &k->allocatable_memory,
        &k->allocatable_ephemeral_storage,
        &k->allocatable_pods,
        &k->requested_cpu,
        &k->requested_memory,
        &k->requested_ephemeral_storage,
        &k->nonzero_cpu,
        &k->nonzero_memory,
        &k->pod_count,
    };
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        *columns[i] = xreallocarray(*columns[i], cap, sizeof(int64_t));
    k->nodes = xreallocarray(k->nodes, cap, sizeof(struct berth_node *));
    bitset_resize(&k->present, cap);
    bitset_resize(&k->unschedulable, cap);
    k->cap = cap;
}

static uint32_t take_slot(struct cache *c)
{
    struct cache_columns *k = &c->columns;
    if (c->free_slots.n)
        return vec_pop(&c->free_slots);
    if (k->n == k->cap)
        grow_columns(k);
    k->nodes[k->n] = NULL; /* until it is touched */
    return (uint32_t)k->n++;
}

static void assign_bit(struct bitset *s, size_t i, bool value)
{
    if (value)
        bitset_set(s, i);
    else
        bitset_unset(s, i);
}

/*
 * Every change of a node ends here: its row in the columns is written again, so the columns always
 * agree with the NodeInfo.
 */
static void touch(struct cache *c, struct berth_node *node)
{
    struct cache_columns *k = &c->columns;
    uint32_t i = node->slot;
    INVARIANT(i < k->n && cache_node(c, str_of(node->name)) == node);
    node->generation = ++c->generation;
    k->nodes[i] = node;
    assign_bit(&k->present, i, node->object);
    assign_bit(&k->unschedulable, i, node->object && node->node->spec.unschedulable);
    k->allocatable_cpu[i] = node->allocatable.milli_cpu;
    k->allocatable_memory[i] = node->allocatable.memory;
    k->allocatable_ephemeral_storage[i] = node->allocatable.ephemeral_storage;
    k->allocatable_pods[i] = node->allocatable.pods;
    k->requested_cpu[i] = node->requested.milli_cpu;
    k->requested_memory[i] = node->requested.memory;
    k->requested_ephemeral_storage[i] = node->requested.ephemeral_storage;
    k->nonzero_cpu[i] = node->nonzero_milli_cpu;
    k->nonzero_memory[i] = node->nonzero_memory;
    k->pod_count[i] = (int64_t)node->pods.n;
}

void cache_get_columns(const struct cache *c, struct berth_columns *ret_columns)
{
    const struct cache_columns *k = &c->columns;
    *ret_columns = (struct berth_columns){
        .struct_size = sizeof(*ret_columns),
        .n = k->n,
        .nodes = (const struct berth_node *const *)k->nodes,
        .present = k->present.words,
        .unschedulable = k->unschedulable.words,
        .allocatable_cpu = k->allocatable_cpu,
        .allocatable_memory = k->allocatable_memory,
        .allocatable_ephemeral_storage = k->allocatable_ephemeral_storage,
        .allocatable_pods = k->allocatable_pods,
        .requested_cpu = k->requested_cpu,
        .requested_memory = k->requested_memory,
        .requested_ephemeral_storage = k->requested_ephemeral_storage,
        .nonzero_cpu = k->nonzero_cpu,
        .nonzero_memory = k->nonzero_memory,
        .pod_count = k->pod_count,
    };
}

/* --- nodes ------------------------------------------------------------------------------------ */

struct berth_node *cache_node(const struct cache *c, struct str name)
{
    return map_get(&c->nodes, name);
}

static struct berth_node *node_or_new(struct cache *c, struct str name)
{
    struct berth_node *node = cache_node(c, name);
    if (!node) {
        node = node_info_new(name, c->names);
        node->slot = take_slot(c);
        c->node_set++;
        map_put(&c->nodes, str_of(node->name), node);
    }
    return node;
}

/* Frees a node that has neither an object nor pods. */
static void drop_if_empty(struct cache *c, struct berth_node *node)
{
    if (node->object || node->pods.n)
        return;
    INVARIANT(c->columns.nodes[node->slot] == node);
    INVARIANT(!bitset_get(&c->columns.present, node->slot));
    c->columns.nodes[node->slot] = NULL;
    c->node_set++;
    vec_push(&c->free_slots, node->slot);
    map_del(&c->nodes, str_of(node->name));
    node_info_free(node);
}

/* The tree holds the nodes with an object, each once. */
static UNUSED bool order_agrees(const struct cache *c)
{
    for (size_t i = 0; i < c->order.n; i++)
        if (!c->order.v[i]->object || !bitset_get(&c->columns.present, c->order.v[i]->slot))
            return false;
    return c->order.n == c->tree.n_nodes && c->order.n == bitset_count(&c->columns.present);
}

void cache_refresh(struct cache *c)
{
    if (!c->order_is_old)
        return;
    node_tree_list(&c->tree, &c->order);
    INVARIANT(order_agrees(c));
    c->order_is_old = false;
    c->node_set++;
}

/* --- images ----------------------------------------------------------------------------------- */

static void drop_images(struct cache *c, struct berth_node *node)
{
    for (size_t i = 0; i < node->images.n; i++) {
        struct image_state *image = node->images.v[i];
        image->last = NULL;
        if (--image->n_nodes)
            continue;
        map_del(&c->images, str_of(image->name));
        free(image->name);
        free(image);
    }
    vec_clear(&node->images);
}

static void add_image(struct cache *c, struct berth_node *node, struct str name, int64_t size)
{
    struct image_state *image = map_get(&c->images, name);
    if (!image) {
        /* Upstream: the first node that reports an image determines its size. */
        image = xnew(struct image_state);
        image->name = str_dup(name);
        image->size = size;
        map_put(&c->images, str_of(image->name), image);
    }
    /* All images of a node are set in one call: a duplicate name was added to this node last. */
    if (image->last == node)
        return;
    image->last = node;
    image->n_nodes++;
    vec_push(&node->images, image);
}

static void set_images(struct cache *c, struct berth_node *node)
{
    /* Drop first: the only node that has an image may report another size. */
    drop_images(c, node);
    for (size_t i = 0; node->node && i < node->node->status.images.n; i++) {
        const struct container_image *image = &node->node->status.images.v[i];
        for (size_t k = 0; k < image->names.n; k++)
            add_image(c, node, image->names.v[k], image->size_bytes);
    }
}

/* --- adding and removing nodes ---------------------------------------------------------------- */

static const str_map *labels_of(const struct node *node)
{
    return node ? &node->metadata.labels : NULL;
}

static void set_object(struct cache *c, struct berth_node *node, struct object *object)
{
    if (c->watcher.ctx)
        c->watcher.labels(c->watcher.ctx, node->slot, labels_of(node->node),
                          labels_of(object ? object_node(object) : NULL));
    node_info_set_object(node, object);
    set_images(c, node);
    touch(c, node);
    journal_add(&c->node_changes, node->slot);
}

void cache_set_node(struct cache *c, struct object *object)
{
    struct berth_node *node = node_or_new(c, object_meta(object)->name);
    const struct node *new = object_node(object);
    if (!node->object) {
        node_tree_add(&c->tree, node, new);
        c->order_is_old = true;
    } else if (!node_tree_same_zone(node->node, new)) {
        /* Upstream: the order follows when the next node is added or removed. */
        node_tree_remove(&c->tree, node, node->node);
        node_tree_add(&c->tree, node, new);
    }
    set_object(c, node, object);
}

void cache_remove_node(struct cache *c, struct str name)
{
    struct berth_node *node = cache_node(c, name);
    if (!node || !node->object)
        return;
    node_tree_remove(&c->tree, node, node->node);
    c->order_is_old = true;
    set_object(c, node, NULL);
    drop_if_empty(c, node);
}

/* --- pods ------------------------------------------------------------------------------------- */

struct cache_pod *cache_pod(const struct cache *c, struct str uid)
{
    return map_get(&c->pods, uid);
}

/* The sums of a node are those of its pods. */
static UNUSED bool sums_agree(const struct berth_node *node)
{
    int64_t cpu = 0, memory = 0, nonzero_cpu = 0, nonzero_memory = 0;
    for (size_t i = 0; i < node->pods.n; i++) {
        const struct berth_pod *pod = node->pods.v[i];
        cpu = resource_sum(cpu, 1, pod_info_counted(pod)->milli_cpu);
        memory = resource_sum(memory, 1, pod_info_counted(pod)->memory);
        nonzero_cpu = resource_sum(nonzero_cpu, 1, pod_info_counted_cpu(pod));
        nonzero_memory = resource_sum(nonzero_memory, 1, pod_info_counted_memory(pod));
    }
    return cpu == node->requested.milli_cpu && memory == node->requested.memory &&
           nonzero_cpu == node->nonzero_milli_cpu && nonzero_memory == node->nonzero_memory &&
           (node->pods.n || (!node->requested.scalars.n && !node->used_ports.n && !node->claims.n));
}

/* A pod was added to the node or removed from it. */
static void moved(struct cache *c, const struct berth_pod *pod, struct berth_node *node, int sign)
{
    /* Removing a pod searches the list of pods, so a sum over it costs no more. */
    INVARIANT(sign > 0 || sums_agree(node));
    touch(c, node);
    journal_add(&c->pod_changes, node->slot);
    if (c->watcher.ctx)
        c->watcher.moved(c->watcher.ctx, pod, node, sign);
}

static void insert_pod(struct cache *c, struct berth_pod *pod, bool assumed)
{
    struct cache_pod *cp = xnew(struct cache_pod);
    cp->pod = pod_info_ref(pod);
    cp->node = node_or_new(c, pod->node_name);
    cp->assumed = assumed;
    c->n_assumed += assumed;
    map_put(&c->pods, pod_info_key(pod), cp);
    INVARIANT(c->n_assumed <= c->pods.n);
    node_info_add_pod(cp->node, pod);
    moved(c, pod, cp->node, 1);
}

void cache_remove_pod(struct cache *c, struct str uid)
{
    struct cache_pod *cp = map_del(&c->pods, uid);
    if (!cp)
        return;
    INVARIANT(c->n_assumed >= cp->assumed);
    c->n_assumed -= cp->assumed;
    bool found = node_info_remove_pod(cp->node, uid);
    INVARIANT(found);
    (void)found;
    moved(c, cp->pod, cp->node, -1);
    drop_if_empty(c, cp->node);
    pod_info_unref(cp->pod);
    free(cp);
}

void cache_lift_pod(struct cache *c, struct cache_pod *cp)
{
    node_info_remove_pod(cp->node, pod_info_key(cp->pod));
    moved(c, cp->pod, cp->node, -1);
}

void cache_put_back_pod(struct cache *c, struct cache_pod *cp)
{
    node_info_add_pod(cp->node, cp->pod);
    moved(c, cp->pod, cp->node, 1);
}

void cache_set_pod(struct cache *c, struct berth_pod *pod)
{
    /* The API server's version replaces the assumed one, on whatever node that was. */
    cache_remove_pod(c, pod_info_key(pod));
    insert_pod(c, pod, false);
}

void cache_assume(struct cache *c, struct berth_pod *pod)
{
    assert(!cache_pod(c, pod_info_key(pod)));
    insert_pod(c, pod, true);
}

bool cache_forget(struct cache *c, struct str uid)
{
    struct cache_pod *cp = cache_pod(c, uid);
    if (!cp || !cp->assumed)
        return false;
    cache_remove_pod(c, uid);
    return true;
}
