/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/default_preemption/cross_node_terms.h"

/* --- terms of the pod ------------------------------------------------------------------------- */

/* NULL: no node carries the key, so the term has no effect. */
static struct cross_node_term *add(struct cross_node_terms *b, enum cross_node_term_kind kind,
                                   struct str topology_key)
{
    const struct topology *t = topologies_get(&b->cluster->topologies, topology_key);
    struct cross_node_term *cross_term = &b->v[b->n];
    if (topology_is_none(t))
        return NULL;
    b->too_many = b->too_many || b->n == CROSS_TERMS_MAX;
    b->n += b->n < CROSS_TERMS_MAX;
    *cross_term = (struct cross_node_term){kind, t, .selector = {.nothing = true}};
    return cross_term;
}

static void add_spread(struct cross_node_terms *b, const struct topology_spread_constraint *c)
{
    struct selector selector;
    if (!str_is(c->when_unsatisfiable, "DoNotSchedule") ||
        selector_compile(c->label_selector, &b->arena, &selector, NULL) < 0)
        return;
    struct cross_node_term *cross_term = add(b, CROSS_TERM_SPREAD, c->topology_key);
    if (cross_term)
        cross_term->selector = selector;
}

static void add_terms(struct cross_node_terms *b, enum affinity_kind terms,
                      enum cross_node_term_kind kind)
{
    const struct affinity_set *set = b->pod->affinity;
    for (size_t i = 0; set && i < set->of[terms].n; i++) {
        struct cross_node_term *cross_term = add(b, kind, set->of[terms].v[i].topology_key);
        if (cross_term)
            cross_term->term = &set->of[terms].v[i];
    }
}

void cross_node_terms_init(struct cross_node_terms *b, struct cluster *cluster,
                           const struct berth_pod *pod)
{
    *b = (struct cross_node_terms){.cluster = cluster, .pod = pod};
    arena_init(&b->arena, 0);
    for (size_t i = 0; i < pod->pod->spec.topology_spread_constraints.n; i++)
        add_spread(b, &pod->pod->spec.topology_spread_constraints.v[i]);
    add_terms(b, AFFINITY_REQUIRED_ANTI, CROSS_TERM_ANTI);
    add_terms(b, AFFINITY_REQUIRED, CROSS_TERM_AFFINITY);
}

void cross_node_terms_release(struct cross_node_terms *b)
{
    vec_release(&b->pods);
    arena_release(&b->arena);
}

/* --- other pods ------------------------------------------------------------------------------- */

static const str_map *namespace_labels(const struct cross_node_terms *b,
                                       const struct berth_pod *pod)
{
    static const str_map none = {0};
    const struct object *namespace =
        objects_get(&b->cluster->objects, KIND_NAMESPACE, STR(""), pod->pod->metadata.namespace);
    return namespace ? &object_meta(namespace)->labels : &none;
}

static bool is_about(const struct cross_node_terms *b, const struct cross_node_term *cross_term,
                     const struct berth_pod *other)
{
    const struct object_meta *meta = &other->pod->metadata;
    switch (cross_term->kind) {
    case CROSS_TERM_SPREAD:
        return str_eq(meta->namespace, b->pod->pod->metadata.namespace) &&
               selector_matches(&cross_term->selector, &meta->labels);
    case CROSS_TERM_ANTI:
    case CROSS_TERM_AFFINITY:
        return selector_matches(&cross_term->term->pods.selector, &meta->labels) &&
               (cross_term->term->pods.any_namespace ||
                affinity_term_matches(cross_term->term, meta, namespace_labels(b, other)));
    case CROSS_TERM_EXISTING:
        break;
    }
    return false;
}

/* The bit of the term for anti-affinity of other pods with this topology key. */
static uint64_t existing(struct cross_node_terms *b, struct str topology_key)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->v[i].kind == CROSS_TERM_EXISTING && str_eq(b->v[i].topology->key, topology_key))
            return UINT64_C(1) << i;
    return add(b, CROSS_TERM_EXISTING, topology_key) ? UINT64_C(1) << (b->n - 1) : 0;
}

static uint64_t existing_of(struct cross_node_terms *b, const struct berth_pod *other)
{
    const struct affinity_set *set = other->affinity;
    uint64_t bits = 0;
    for (size_t i = 0; set && i < set->of[AFFINITY_REQUIRED_ANTI].n; i++) {
        const struct affinity_term *term = &set->of[AFFINITY_REQUIRED_ANTI].v[i];
        if (affinity_term_matches(term, &b->pod->pod->metadata, namespace_labels(b, b->pod)))
            bits |= existing(b, term->topology_key);
    }
    return bits;
}

struct bound_pod cross_node_terms_of(struct cross_node_terms *b, struct berth_pod *pod,
                                     const struct berth_node *node)
{
    struct bound_pod bound = {pod, node, 0};
    for (size_t i = 0; i < b->n; i++)
        if (is_about(b, &b->v[i], pod))
            bound.cross_terms |= UINT64_C(1) << i;
    if (pod->has_required_anti_affinity)
        bound.cross_terms |= existing_of(b, pod);
    return bound;
}

static bool may_help(const struct cross_node_terms *b, const struct bound_pod *pod)
{
    for (size_t i = 0; i < b->n; i++)
        if (pod->cross_terms >> i & 1 && b->v[i].kind != CROSS_TERM_AFFINITY)
            return true;
    return false;
}

static void find_on(struct cross_node_terms *b, const struct berth_node *node)
{
    for (size_t i = 0; i < node->pods.n; i++) {
        if (node->pods.v[i]->priority >= b->pod->priority)
            continue;
        struct bound_pod bound = cross_node_terms_of(b, node->pods.v[i], node);
        if (may_help(b, &bound))
            vec_push(&b->pods, bound);
    }
}

void cross_node_terms_find_pods(struct cross_node_terms *b)
{
    const node_list *all = &b->cluster->cache->order;
    bool any = b->n || b->cluster->affinity_terms.n[AFFINITY_MUST];
    for (size_t i = 0; any && i < all->n && !b->too_many; i++)
        find_on(b, all->v[i]);
}

/* --- relations -------------------------------------------------------------------------------- */

static uint32_t domain(const struct cross_node_terms *b, size_t i, const struct berth_node *node)
{
    return topology_domain(b->v[i].topology, node->slot);
}

bool cross_node_terms_matter(const struct cross_node_terms *b, const struct bound_pod *pod,
                             const struct berth_node *node)
{
    bool leaving = pod->pod->pod->metadata.deletion_timestamp.set;
    for (size_t i = 0; i < b->n; i++) {
        if (!(pod->cross_terms >> i & 1) || b->v[i].kind == CROSS_TERM_AFFINITY)
            continue;
        /* Spread constraints do not count terminating pods, though a dry run removes them. */
        if (b->v[i].kind == CROSS_TERM_SPREAD && leaving)
            continue;
        if (domain(b, i, node) && domain(b, i, node) == domain(b, i, pod->node))
            return true;
    }
    return false;
}

bool cross_node_terms_may_harm(const struct cross_node_terms *b, const struct bound_pod *pod,
                               const struct berth_node *node)
{
    for (size_t i = 0; i < b->n; i++) {
        if (!(pod->cross_terms >> i & 1))
            continue;
        if (b->v[i].kind == CROSS_TERM_AFFINITY)
            return true;
        if (b->v[i].kind == CROSS_TERM_SPREAD && domain(b, i, node) != domain(b, i, pod->node))
            return true;
    }
    return false;
}

bool cross_node_terms_equal(const struct cross_node_terms *b, const struct bound_pod *x,
                            const struct bound_pod *y)
{
    if (x->cross_terms != y->cross_terms)
        return false;
    for (size_t i = 0; i < b->n; i++)
        if (x->cross_terms >> i & 1 && domain(b, i, x->node) != domain(b, i, y->node))
            return false;
    return true;
}
