/* SPDX-License-Identifier: Apache-2.0 */
#include "cache_model.h"

void cache_model_init(struct cache_model *m, const struct pod_facts *pod_kinds,
                      const struct node_facts *node_kinds)
{
    *m = (struct cache_model){.pod_kinds = pod_kinds, .node_kinds = node_kinds};
    for (int i = 0; i < MODEL_NODES; i++)
        m->node_kind[i] = -1;
}

bool cache_model_has_slot(const struct cache_model *m, int node)
{
    if (m->node_kind[node] >= 0)
        return true;
    for (int i = 0; i < MODEL_PODS; i++)
        if (m->pods[i].there && m->pods[i].node == node)
            return true;
    return false;
}

static void count_slot_change(struct cache_model *m, int node, bool had)
{
    m->slot_changes += cache_model_has_slot(m, node) != had;
}

/* --- zones ------------------------------------------------------------------------------------ */

static int zone_of(const struct cache_model *m, int node)
{
    return m->node_kinds[m->node_kind[node]].zone;
}

static size_t nodes_in_zone(const struct cache_model *m, int zone)
{
    size_t n = 0;
    for (int i = 0; i < m->n_arrived; i++)
        n += zone_of(m, m->arrived[i]) == zone;
    return n;
}

/* Must be called while the node still has the kind it has in the zone. */
static void leave_zone(struct cache_model *m, int node)
{
    int zone = zone_of(m, node), n = 0;
    for (int i = 0; i < m->n_arrived; i++)
        if (m->arrived[i] != node)
            m->arrived[n++] = m->arrived[i];
    m->n_arrived = n;
    if (nodes_in_zone(m, zone))
        return;
    n = 0;
    for (int i = 0; i < m->n_zones; i++)
        if (m->zones[i] != zone)
            m->zones[n++] = m->zones[i];
    m->n_zones = n;
}

static void enter_zone(struct cache_model *m, int node)
{
    int zone = zone_of(m, node);
    if (!nodes_in_zone(m, zone))
        m->zones[m->n_zones++] = zone;
    m->arrived[m->n_arrived++] = node;
}

/* The i-th node added to the zone; -1 if none. */
static int nth_of_zone(const struct cache_model *m, int zone, int nth)
{
    for (int i = 0; i < m->n_arrived; i++)
        if (zone_of(m, m->arrived[i]) == zone && nth-- == 0)
            return m->arrived[i];
    return -1;
}

static void make_order(struct cache_model *m)
{
    m->n_order = 0;
    for (int round = 0; round < MODEL_NODES; round++)
        for (int i = 0; i < m->n_zones; i++) {
            int node = nth_of_zone(m, m->zones[i], round);
            if (node >= 0)
                m->order[m->n_order++] = node;
        }
}

/* A node that changes its zone keeps its place until another node is added or deleted. */
size_t cache_model_order(struct cache_model *m, int *ret_order)
{
    if (m->order_is_old)
        make_order(m);
    m->order_is_old = false;
    memcpy(ret_order, m->order, sizeof(m->order));
    return (size_t)m->n_order;
}

/* --- images ----------------------------------------------------------------------------------- */

size_t cache_model_image_nodes(const struct cache_model *m, int image)
{
    size_t n = 0;
    for (int i = 0; i < MODEL_NODES; i++)
        n += m->images[image].on[i];
    return n;
}

/* The first node that reports an image sets its size, for as long as any node has the image. */
static void report_images(struct cache_model *m, int node, const int64_t *sizes)
{
    for (int i = 0; i < MODEL_IMAGES; i++)
        m->images[i].on[node] = false;
    for (int i = 0; i < MODEL_IMAGES; i++) {
        if (!sizes || !sizes[i])
            continue;
        if (!cache_model_image_nodes(m, i))
            m->images[i].size = sizes[i];
        m->images[i].on[node] = true;
    }
}

/* --- events ----------------------------------------------------------------------------------- */

void cache_model_set_node(struct cache_model *m, int node, int kind)
{
    bool had = cache_model_has_slot(m, node);
    int old = m->node_kind[node];
    bool moves = old < 0 || m->node_kinds[old].zone != m->node_kinds[kind].zone;
    if (moves && old >= 0)
        leave_zone(m, node);
    m->node_kind[node] = kind;
    if (moves)
        enter_zone(m, node);
    m->order_is_old |= old < 0;
    report_images(m, node, m->node_kinds[kind].images);
    count_slot_change(m, node, had);
}

void cache_model_remove_node(struct cache_model *m, int node)
{
    bool had = cache_model_has_slot(m, node);
    if (m->node_kind[node] < 0)
        return;
    leave_zone(m, node);
    m->node_kind[node] = -1;
    m->order_is_old = true;
    report_images(m, node, NULL);
    count_slot_change(m, node, had);
}

void cache_model_remove_pod(struct cache_model *m, int pod)
{
    if (!m->pods[pod].there)
        return;
    int node = m->pods[pod].node;
    bool had = cache_model_has_slot(m, node);
    for (int i = 0; i < MODEL_PORTS; i++)
        if (m->pod_kinds[m->pods[pod].kind].ports[i])
            m->ports[node][i] = 0;
    m->pods[pod].there = false;
    count_slot_change(m, m->pods[pod].node, had);
}

void cache_model_set_pod(struct cache_model *m, int pod, int kind, int node, bool assumed)
{
    cache_model_remove_pod(m, pod);
    bool had = cache_model_has_slot(m, node);
    m->pods[pod] = (struct model_cache_pod){true, assumed, kind, node};
    for (int i = 0; i < MODEL_PORTS; i++)
        m->ports[node][i] += m->pod_kinds[kind].ports[i];
    count_slot_change(m, node, had);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Sums wrap, as upstream's do. */
static void add(int64_t *sum, int64_t amount)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)amount);
}

struct model_sums cache_model_sums(const struct cache_model *m, int node)
{
    struct model_sums s = {0};
    for (int i = 0; i < MODEL_PODS; i++) {
        if (!m->pods[i].there || m->pods[i].node != node)
            continue;
        const struct pod_facts *f = &m->pod_kinds[m->pods[i].kind];
        add(&s.cpu, f->cpu);
        add(&s.memory, f->memory);
        add(&s.storage, f->storage);
        add(&s.nonzero_cpu, f->nonzero_cpu);
        add(&s.nonzero_memory, f->nonzero_memory);
        for (int k = 0; k < MODEL_SCALARS; k++)
            add(&s.scalars[k], f->scalars[k]);
        for (int k = 0; k < MODEL_CLAIMS; k++)
            s.claims[k] += f->claims[k];
        s.pods++;
        s.affinity += f->affinity;
        s.required_anti_affinity += f->required_anti_affinity;
    }
    memcpy(s.ports, m->ports[node], sizeof(s.ports));
    return s;
}
