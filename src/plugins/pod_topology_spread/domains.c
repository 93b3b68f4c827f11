/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods and nodes by topology domain. The numbers are there already, since the cluster keeps them:
 * for all nodes, and for those that count where a constraint leaves some out.
 */
#include "plugins/node_demands.h"
#include "plugins/pod_topology_spread/spread.h"

/* --- which nodes a pod can use ---------------------------------------------------------------- */

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
    if (c->honor_affinity && pod_demands_nodes(pod)) {
        struct arena scratch;
        struct required_node_affinity affinity;
        arena_init(&scratch, 0);
        node_demands_compile(pod, &scratch, &affinity);
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
        node_demands_compile(q->pod, q->arena, q->affinity);
    }
    return affinity_matches(q->affinity, node->node);
}

static const uint64_t *affinity_set(struct spread *self, const struct pod *pod, struct arena *a)
{
    struct affinity_question question = {.pod = pod, .arena = a}, *ask = &question;
    key_begin(&self->key, STR("PodTopologySpread affinity"));
    key_add_node_demands(&self->key, pod);
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
    size_t n_words, n_nodes; /* nodes: those with an object */
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
    if (affinity && pod_demands_nodes(pod))
        k->affinity = unless_all(k, affinity_set(k->self, pod, k->arena));
    if (taints)
        k->taints = unless_all(k, taints_set(k->self, pod));
}

/* How one constraint sees the nodes. */
struct view {
    const struct counting *counting;
    const struct topology *topology;
    const uint64_t *affinity, *taints; /* NULL: every node counts */
    uint32_t unlabelled; /* the domain of nodes that lack the key; 0: they do not count */
    bool all_keys;       /* nodes that lack another's key do not count */
};

static uint32_t domain_at(const void *ctx, uint32_t slot)
{
    const struct view *v = ctx;
    const struct counting *k = v->counting;
    uint32_t domain = topology_domain(v->topology, slot);
    if (v->affinity && !(v->affinity[slot / 64] >> (slot % 64) & 1))
        return 0;
    if (v->taints && !(v->taints[slot / 64] >> (slot % 64) & 1))
        return 0;
    for (size_t i = 0; v->all_keys && i < k->scope->constraints.list.n; i++)
        if (!topology_domain(k->out[i].topology, slot))
            return 0;
    return domain ? domain : v->unlabelled;
}

static struct view view_of(const struct counting *k, size_t i)
{
    const struct spread_constraint *c = &k->scope->constraints.list.v[i];
    struct view v = {.counting = k, .topology = k->out[i].topology};
    v.affinity = c->honor_affinity ? k->affinity : NULL;
    v.taints = c->honor_taints ? k->taints : NULL;
    /* Where keys are not demanded, a label that is missing is as one that is empty. */
    if (!k->scope->all_keys)
        v.unlabelled = topology_find(v.topology, STR(""));
    for (size_t j = 0; k->scope->all_keys && j < k->scope->constraints.list.n; j++)
        v.all_keys |= j != i && k->out[j].topology->n_nodes != k->n_nodes;
    return v;
}

static bool takes_all(const struct view *v)
{
    return !v->affinity && !v->taints && !v->all_keys && !v->unlabelled;
}

/* What stands for the view: everything that domain_at looks at. */
static struct str name_view(struct buf *key, const struct view *v)
{
    const struct spread_scope *scope = v->counting->scope;
    key_begin(key, STR("PodTopologySpread"));
    key_add(key, v->topology->key);
    key_add_number(key, v->unlabelled);
    key_add_number(key, (v->affinity != NULL) | (v->taints != NULL) << 1 | v->all_keys << 2);
    if (v->affinity)
        key_add_node_demands(key, scope->pod->pod);
    if (v->taints)
        key_add_tolerations(key, scope->pod->pod, TAINT_BARS);
    key_add_number(key, -1);
    for (size_t i = 0; v->all_keys && i < scope->constraints.list.n; i++)
        key_add(key, scope->constraints.list.v[i].topology_key);
    return buf_str(key);
}

static void fill(const struct counting *k, size_t i)
{
    struct spread_domains *d = &k->out[i];
    struct view v = view_of(k, i);
    const struct topology *t = d->topology;
    if (!takes_all(&v))
        t = topologies_derive(&k->self->cluster->topologies, t, name_view(&k->self->key, &v),
                              domain_at, &v);
    d->n = t->n_domains;
    d->nodes = t->nodes;
    d->n_used = t->n_used;
    d->counts = d->pods ? pod_count_by_domain(d->pods, t) : arena_array(k->arena, uint32_t, d->n);
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
        if (!scope->for_scores || !spread_is_per_node(&scope->constraints.list.v[i]))
            fill(&k, i);
}
