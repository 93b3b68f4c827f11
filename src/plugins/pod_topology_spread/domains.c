/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods and nodes by topology domain. Mostly all nodes count, and the numbers are there already:
 * the cluster keeps them. Only where some nodes do not count are they added up anew.
 */
#include "plugins/pod_topology_spread/spread.h"

/* --- which nodes a pod can use ---------------------------------------------------------------- */

static bool demands_nodes(const struct pod *pod)
{
    const struct affinity *a = pod->spec.affinity;
    return pod->spec.node_selector.n > 0 || (a && a->node_affinity && a->node_affinity->required);
}

static void compile_affinity(const struct pod *pod, struct arena *a,
                             struct required_node_affinity *ret_affinity)
{
    const struct affinity *affinity = pod->spec.affinity;
    required_node_affinity_compile(&pod->spec.node_selector,
                                   affinity ? affinity->node_affinity : NULL, a, ret_affinity);
}

static bool affinity_matches(const struct required_node_affinity *affinity, const struct node *node)
{
    return required_node_affinity_matches(affinity, &node->metadata.labels, node->metadata.name);
}

static bool taints_tolerated(const struct pod *pod, const struct node *node, bool comparison)
{
    struct taint_list taints = {node->spec.taints.v, node->spec.taints.n};
    return !taints_find_untolerated(taints, pod_tolerations(pod), TAINT_BARS, comparison);
}

bool spread_node_counts(const struct spread *self, const struct spread_constraint *c,
                        const struct pod *pod, const struct node *node)
{
    if (c->honor_affinity && demands_nodes(pod)) {
        struct arena scratch;
        struct required_node_affinity affinity;
        arena_init(&scratch, 0);
        compile_affinity(pod, &scratch, &affinity);
        bool matches = affinity_matches(&affinity, node);
        arena_release(&scratch);
        if (!matches)
            return false;
    }
    return !c->honor_taints || taints_tolerated(pod, node, self->comparison_operators);
}

/* --- the same of all nodes -------------------------------------------------------------------- */

/* Compiled when the first node has to be asked: mostly none has. */
struct affinity_question {
    const struct pod *pod;
    struct arena *arena;
    struct required_node_affinity *affinity;
};

static int64_t ask_affinity(const void *ask, const struct berth_node *node)
{
    struct affinity_question *q = *(struct affinity_question *const *)ask;
    if (!q->affinity) {
        q->affinity = arena_new(q->arena, struct required_node_affinity);
        compile_affinity(q->pod, q->arena, q->affinity);
    }
    return affinity_matches(q->affinity, node->node);
}

static void key_add_requirements(struct buf *key, const struct node_selector_requirement *v,
                                 size_t n)
{
    key_add_number(key, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        key_add(key, v[i].key);
        key_add(key, v[i].operator);
        key_add_number(key, (int64_t)v[i].values.n);
        for (size_t k = 0; k < v[i].values.n; k++)
            key_add(key, v[i].values.v[k]);
    }
}

static const uint64_t *affinity_set(struct spread *self, const struct pod *pod, struct arena *a)
{
    struct affinity_question question = {.pod = pod, .arena = a}, *ask = &question;
    const struct affinity *affinity = pod->spec.affinity;
    const struct node_selector *required =
        affinity && affinity->node_affinity ? affinity->node_affinity->required : NULL;
    key_begin(&self->key, STR("PodTopologySpread affinity"));
    key_add_number(&self->key, (int64_t)pod->spec.node_selector.n);
    for (size_t i = 0; i < pod->spec.node_selector.n; i++) {
        key_add(&self->key, pod->spec.node_selector.v[i].key);
        key_add(&self->key, pod->spec.node_selector.v[i].value);
    }
    key_add_number(&self->key, required != NULL);
    for (size_t i = 0; required && i < required->node_selector_terms.n; i++) {
        const struct node_selector_term *term = &required->node_selector_terms.v[i];
        key_add_requirements(&self->key, term->match_expressions.v, term->match_expressions.n);
        key_add_requirements(&self->key, term->match_fields.v, term->match_fields.n);
    }
    return node_memo_set(&self->cluster->memos, buf_str(&self->key), ask_affinity, &ask);
}

struct taints_question {
    const struct pod *pod;
    bool comparison;
};

static int64_t ask_taints(const void *ask, const struct berth_node *node)
{
    const struct taints_question *q = ask;
    return taints_tolerated(q->pod, node->node, q->comparison);
}

static const uint64_t *taints_set(struct spread *self, const struct pod *pod)
{
    struct taints_question question = {pod, self->comparison_operators};
    key_begin(&self->key, STR("PodTopologySpread taints"));
    key_add_tolerations(&self->key, pod, TAINT_BARS);
    return node_memo_set(&self->cluster->memos, buf_str(&self->key), ask_taints, &question);
}

/* --- counting --------------------------------------------------------------------------------- */

struct counting {
    struct spread *self;
    const struct spread_scope *scope;
    struct arena *arena;
    struct spread_domains *out;
    size_t n_words, n_nodes;
    const uint64_t *present;
    const uint64_t *affinity, *taints; /* NULL: every node counts */
};

/* A set that holds every node is as good as none. */
static const uint64_t *unless_all(const struct counting *k, const uint64_t *set)
{
    for (size_t w = 0; w < k->n_words; w++)
        if (k->present[w] & ~set[w])
            return set;
    return NULL;
}

static void find_usable_nodes(struct counting *k)
{
    const struct pod *pod = k->scope->pod->pod;
    bool affinity = false, taints = false;
    for (size_t i = 0; i < k->scope->constraints.list.n; i++) {
        affinity |= k->scope->constraints.list.v[i].honor_affinity;
        taints |= k->scope->constraints.list.v[i].honor_taints;
    }
    if (affinity && demands_nodes(pod))
        k->affinity = unless_all(k, affinity_set(k->self, pod, k->arena));
    if (taints)
        k->taints = unless_all(k, taints_set(k->self, pod));
}

/* Do all nodes that have this constraint's key count for it? */
static bool all_count(const struct counting *k, size_t i)
{
    const struct spread_constraint *c = &k->scope->constraints.list.v[i];
    if ((c->honor_affinity && k->affinity) || (c->honor_taints && k->taints))
        return false;
    if (!k->scope->all_keys)
        /* Without the label is as with an empty value, so these count for that one, too. */
        return !topology_find(k->out[i].topology, STR(""));
    for (size_t j = 0; j < k->scope->constraints.list.n; j++)
        if (j != i && k->out[j].topology->n_nodes != k->n_nodes)
            return false;
    return true;
}

static uint64_t counting_nodes(const struct counting *k, const struct spread_constraint *c,
                               size_t w)
{
    uint64_t bits = k->present[w];
    if (c->honor_affinity && k->affinity)
        bits &= k->affinity[w];
    if (c->honor_taints && k->taints)
        bits &= k->taints[w];
    return bits;
}

/* The domain that a node counts for; 0: none. */
static uint32_t domain_at(const struct counting *k, size_t i, uint32_t slot, uint32_t without)
{
    for (size_t j = 0; k->scope->all_keys && j < k->scope->constraints.list.n; j++)
        if (!topology_domain(k->out[j].topology, slot))
            return 0;
    uint32_t domain = topology_domain(k->out[i].topology, slot);
    return domain ? domain : without;
}

static void count_nodes(const struct counting *k, size_t i)
{
    struct spread_domains *d = &k->out[i];
    uint32_t *nodes = arena_array(k->arena, uint32_t, d->n);
    d->n_used = 0;
    for (size_t w = 0; w < k->n_words; w++) {
        uint64_t bits = counting_nodes(k, &k->scope->constraints.list.v[i], w);
        for (; bits; bits &= bits - 1) {
            uint32_t slot = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);
            uint32_t domain = domain_at(k, i, slot, 0);
            if (domain)
                d->n_used += nodes[domain]++ == 0;
        }
    }
    d->nodes = nodes;
}

static void count_pods(const struct counting *k, size_t i)
{
    struct spread_domains *d = &k->out[i];
    const struct spread_constraint *c = &k->scope->constraints.list.v[i];
    uint32_t without = k->scope->all_keys ? 0 : topology_find(d->topology, STR(""));
    uint32_t *counts = arena_array(k->arena, uint32_t, d->n);
    size_t n = 0;
    const uint32_t *slots = d->pods ? pod_count_slots(d->pods, &n) : NULL;
    for (size_t at = 0; at < n; at++) {
        uint32_t slot = slots[at];
        if (counting_nodes(k, c, slot / 64) >> (slot % 64) & 1)
            counts[domain_at(k, i, slot, without)] += d->pods->slots.counts[at];
    }
    d->counts = counts; /* at 0: those that count nowhere */
}

static void fill(const struct counting *k, size_t i)
{
    struct spread_domains *d = &k->out[i];
    bool all = all_count(k, i);
    d->n = d->topology->n_domains;
    if (all && d->pods)
        d->counts = pod_count_by_domain(d->pods, d->topology);
    else
        count_pods(k, i);
    if (!k->scope->with_nodes)
        return;
    if (all) {
        d->nodes = d->topology->nodes;
        d->n_used = d->topology->n_used;
    } else {
        count_nodes(k, i);
    }
}

/* An empty selector matches every pod, and yet none is counted for it. */
static struct pod_count *pods_of(struct spread *self, const struct spread_constraint *c,
                                 const struct berth_pod *pod)
{
    if (c->selector.nothing || c->selector.requirements.n == 0)
        return NULL;
    struct str namespace = pod->pod->metadata.namespace;
    struct pod_term term = {.namespaces = {&namespace, 1}, .selector = c->selector};
    struct pod_selection selection = {.terms = {&term, 1}, .without_terminating = true};
    return pod_counts_get(&self->cluster->pod_counts, &selection);
}

void spread_domains_fill(struct spread *self, const struct spread_scope *scope, struct arena *a,
                         struct spread_domains *out)
{
    const struct cache *cache = self->cluster->cache;
    struct counting k = {
        .self = self,
        .scope = scope,
        .arena = a,
        .out = out,
        .n_words = BITSET_WORDS(cache->columns.n),
        .n_nodes = cache->tree.n_nodes,
        .present = cache->columns.present.words,
    };
    for (size_t i = 0; i < scope->constraints.list.n; i++) {
        const struct spread_constraint *c = &scope->constraints.list.v[i];
        out[i].topology = topologies_get(&self->cluster->topologies, c->topology_key);
        out[i].pods = pods_of(self, c, scope->pod);
    }
    find_usable_nodes(&k);
    for (size_t i = 0; i < scope->constraints.list.n; i++)
        fill(&k, i);
}
