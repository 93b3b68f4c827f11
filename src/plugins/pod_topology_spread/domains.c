/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domains.c - pods and nodes by topology domain.
 *
 * The indexes of the cluster have the numbers (index/pod_counts.h, index/topology.h): for all
 * nodes, and for the nodes that count if a constraint excludes some.
 */
#include "plugins/common/required_nodes.h"
#include "plugins/pod_topology_spread/spread.h"

/* --- nodes that a pod can use ----------------------------------------------------------------- */

static bool affinity_matches(const struct required_node_affinity *affinity, const struct node *node)
{
    return required_node_affinity_matches(affinity, &node->metadata.labels, node->metadata.name);
}

static bool taints_tolerated(const struct pod *pod, const struct node *node, bool comparison)
{
    struct taint_list taints = {node->spec.taints.v, node->spec.taints.n};
    return !taints_find_untolerated(taints, pod_tolerations(pod), TAINT_BARS, comparison);
}

static bool affinity_met(const struct pod *pod, const struct node *node)
{
    if (!pod_requires_nodes(pod))
        return true;
    struct arena scratch;
    struct required_node_affinity affinity;
    arena_init(&scratch, 0);
    required_nodes_compile(pod, &scratch, &affinity);
    bool matches = affinity_matches(&affinity, node);
    arena_release(&scratch);
    return matches;
}

/* Upstream: matchNodeInclusionPolicies. */
bool spread_node_counts(const struct spread *self, const struct spread_constraint *c,
                        struct spread_usable *u)
{
    if (c->honor_affinity && !u->affinity)
        u->affinity = affinity_met(u->pod, u->node) ? SPREAD_YES : SPREAD_NO;
    if (c->honor_taints && !u->taints)
        u->taints =
            taints_tolerated(u->pod, u->node, self->comparison_operators) ? SPREAD_YES : SPREAD_NO;
    return !(c->honor_affinity && u->affinity == SPREAD_NO) &&
           !(c->honor_taints && u->taints == SPREAD_NO);
}

/* --- the same for all nodes ------------------------------------------------------------------- */

/* Compiled when the first node is asked: mostly all answers are cached. */
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
        required_nodes_compile(q->pod, q->arena, q->affinity);
    }
    return affinity_matches(q->affinity, node->node);
}

static const uint64_t *affinity_set(struct spread *self, const struct pod *pod, struct arena *a)
{
    struct affinity_question question = {.pod = pod, .arena = a}, *ask = &question;
    key_begin(&self->key, STR("PodTopologySpread affinity"));
    key_add_required_nodes(&self->key, pod);
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

/* --- state ------------------------------------------------------------------------------------ */

/* What may exclude a node from a constraint, as bits. */
enum { BY_AFFINITY = 1, BY_TAINTS = 2, BY_KEYS = 4, REASONS_ALL = 7 };

/* The nodes that count. */
struct node_set {
    const uint64_t *words; /* NULL: not computed yet */
    uint64_t number;
};

struct counting {
    struct spread *self;
    const struct spread_scope *scope;
    struct arena *arena;
    struct spread_domains *out;
    size_t n_words, n_nodes; /* nodes: those with an object */
    size_t n_incomplete;     /* topologies that some nodes are not in */
    const uint64_t *present;
    const uint64_t *affinity, *taints;       /* NULL: every node counts */
    struct node_set usable[REASONS_ALL + 1]; /* by bits of what excludes nodes */
};

/* NULL if the set has every node. */
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
    if (affinity && pod_requires_nodes(pod))
        k->affinity = unless_all(k, affinity_set(k->self, pod, k->arena));
    if (taints)
        k->taints = unless_all(k, taints_set(k->self, pod));
}

/* --- nodes that count ------------------------------------------------------------------------- */

/* Each node is asked once for all constraints. */
struct usable_question {
    const struct counting *counting;
    unsigned reasons;
};

static bool has(const uint64_t *set, uint32_t slot)
{
    return set[slot / 64] >> (slot % 64) & 1;
}

static int64_t ask_usable(const void *ask, const struct berth_node *node)
{
    const struct usable_question *q = ask;
    const struct counting *k = q->counting;
    if ((q->reasons & BY_AFFINITY && !has(k->affinity, node->slot)) ||
        (q->reasons & BY_TAINTS && !has(k->taints, node->slot)))
        return false;
    for (size_t i = 0; q->reasons & BY_KEYS && i < k->scope->constraints.list.n; i++)
        if (!topology_domain(k->out[i].topology, node->slot))
            return false;
    return true;
}

/* The key of the set: everything that ask_usable reads. */
static struct str name_usable(struct buf *key, const struct spread_scope *scope, unsigned reasons)
{
    key_begin(key, STR("PodTopologySpread"));
    key_add_number(key, reasons);
    if (reasons & BY_AFFINITY)
        key_add_required_nodes(key, scope->pod->pod);
    if (reasons & BY_TAINTS)
        key_add_tolerations(key, scope->pod->pod, TAINT_BARS);
    key_add_number(key, -1);
    for (size_t i = 0; reasons & BY_KEYS && i < scope->constraints.list.n; i++)
        key_add(key, scope->constraints.list.v[i].topology_key);
    return buf_str(key);
}

static const struct node_set *usable_nodes(struct counting *k, unsigned reasons)
{
    struct node_set *set = &k->usable[reasons];
    struct usable_question question = {k, reasons};
    if (!set->words)
        set->words = node_memo_numbered_set(&k->self->cluster->memos,
                                            name_usable(&k->self->key, k->scope, reasons),
                                            ask_usable, &question, &set->number);
    return set;
}

/* --- counts by domain ------------------------------------------------------------------------- */

/* The nodes as one constraint counts them. */
struct view {
    const struct topology *topology;
    const struct node_set *usable;
    uint32_t unlabelled; /* the domain of nodes without the key; 0: they do not count */
};

static uint32_t domain_at(const void *ctx, uint32_t slot)
{
    const struct view *v = ctx;
    if (!has(v->usable->words, slot))
        return 0;
    uint32_t domain = topology_domain(v->topology, slot);
    return domain ? domain : v->unlabelled;
}

static unsigned reasons_of(const struct counting *k, size_t i)
{
    const struct spread_constraint *c = &k->scope->constraints.list.v[i];
    bool incomplete = k->out[i].topology->n_nodes != k->n_nodes;
    unsigned reasons = 0;
    if (c->honor_affinity && k->affinity)
        reasons |= BY_AFFINITY;
    if (c->honor_taints && k->taints)
        reasons |= BY_TAINTS;
    /* Nodes without this key are in no domain; only other incomplete topologies matter. */
    if (k->scope->all_keys && k->n_incomplete > incomplete)
        reasons |= BY_KEYS;
    return reasons;
}

static struct str name_view(struct buf *key, const struct view *v)
{
    key_begin(key, STR("PodTopologySpread"));
    key_add_number(key, (int64_t)v->topology->id);
    key_add_number(key, (int64_t)v->usable->number);
    key_add_number(key, v->unlabelled);
    return buf_str(key);
}

static void fill(struct counting *k, size_t i)
{
    struct spread_domains *d = &k->out[i];
    const struct topology *t = d->topology;
    unsigned reasons = reasons_of(k, i);
    /* Upstream: if not all keys are required, a missing label counts as an empty value. */
    uint32_t unlabelled = k->scope->all_keys ? 0 : topology_find(t, STR(""));
    if (reasons || unlabelled) {
        struct view v = {t, usable_nodes(k, reasons), unlabelled};
        t = topologies_derive(&k->self->cluster->topologies, t, name_view(&k->self->key, &v),
                              domain_at, &v);
    }
    d->n = t->n_domains;
    d->nodes = t->nodes;
    d->n_used = t->n_used;
    d->counts = d->pods ? pod_count_by_domain(d->pods, t) : arena_array(k->arena, uint32_t, d->n);
}

/* Upstream: countPodsMatchSelector returns 0 for an empty selector, though it matches every pod. */
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

/* False: no node carries a required key. */
static bool find_topologies(struct counting *k)
{
    bool all = true;
    for (size_t i = 0; i < k->scope->constraints.list.n; i++) {
        struct topology *t = topologies_get(&k->self->cluster->topologies,
                                            k->scope->constraints.list.v[i].topology_key);
        k->out[i].topology = t;
        k->n_incomplete += t->n_nodes != k->n_nodes;
        all &= !topology_is_none(t);
    }
    return all || !k->scope->all_keys;
}

bool spread_domains_fill(struct spread *self, const struct spread_scope *scope, struct arena *a,
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
    if (!find_topologies(&k))
        return false;
    for (size_t i = 0; i < scope->constraints.list.n; i++)
        out[i].pods = pods_of(self, &scope->constraints.list.v[i], scope->pod);
    find_usable_nodes(&k);
    for (size_t i = 0; i < scope->constraints.list.n; i++)
        if (!topology_is_none(out[i].topology) &&
            (!scope->for_scores || !spread_is_per_node(&scope->constraints.list.v[i])))
            fill(&k, i);
    return true;
}
