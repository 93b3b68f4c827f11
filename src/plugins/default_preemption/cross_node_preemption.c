/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cross_node_preemption.c - branch and bound over sets of victims.
 *
 * The pool of a node is ordered so that pods whose eviction may harm come first: once only harmless
 * pods remain, evicting all of them decides whether a branch has any solution.
 */
#include "plugins/default_preemption/cross_node_preemption.h"

#include "base/go_sort.h"
#include "engine/framework/framework.h"
#include "plugins/default_preemption/cross_node_terms.h"

/* The cost of a set of victims, compared in this order. One more victim never lowers it. */
struct cost {
    int64_t violations, highest, sum;
    size_t n;
};

#define NONE SIZE_MAX

struct member {
    struct bound_pod bound;
    size_t rather; /* the last before it whose eviction helps as much and costs no more */
    bool taken;
};

struct search {
    const struct victim_rules *rules;
    const struct berth_cycle *cycle;
    struct cross_node_terms cross_terms;
    struct what_if what_if;
    size_t steps; /* remaining */

    /* The current node. */
    const struct berth_node *node;
    VEC(struct member)
    pool; /* by enum place, then the cheapest first; the first n_may_harm may harm */
    size_t n_may_harm;
    size_t node_steps; /* remaining */
    bool gave_up;
    const struct berth_handle
        *refuser; /* plugin that rejected the last dry run; NULL: none, or an error */
    struct cost found;
    pod_list found_pods; /* the cheapest victims for the node; empty: none found yet */

    /* The best of the nodes before. */
    const struct berth_node *best_node;
    struct cost best;
    pod_list best_pods;
};

/* --- costs ------------------------------------------------------------------------------------ */

static bool is_cheaper(const struct cost *a, const struct cost *b)
{
    if (a->violations != b->violations)
        return a->violations < b->violations;
    if (a->highest != b->highest)
        return a->highest < b->highest;
    if (a->sum != b->sum)
        return a->sum < b->sum;
    return a->n < b->n;
}

/* The taken pods, the most important first. */
static void list_taken(const struct search *s, pod_list *ret)
{
    vec_clear(ret);
    for (size_t i = 0; i < s->pool.n; i++)
        if (s->pool.v[i].taken)
            vec_push(ret, s->pool.v[i].bound.pod);
    go_sort((void **)ret->v, ret->n, pod_more_important);
}

static struct cost cost_of(const struct search *s)
{
    struct cost cost = {.highest = INT64_MIN};
    pod_list pods = {0};
    list_taken(s, &pods);
    for (size_t i = 0; i < pods.n; i++) {
        cost.highest = MAX(cost.highest, (int64_t)pods.v[i]->priority);
        cost.sum +=
            pods.v[i]->priority + (int64_t)INT32_MAX + 1; /* as engine/preempt/candidate.c */
    }
    cost.n = pods.n;
    cost.violations = (int64_t)budgets_split(s->rules->budgets, &pods);
    vec_release(&pods);
    return cost;
}

/* Is the taken set cheaper than the best so far? Supersets only cost more. */
static bool is_cheap_enough(const struct search *s)
{
    struct cost cost = cost_of(s);
    return (!s->best_node || is_cheaper(&cost, &s->best)) &&
           (!s->found_pods.n || is_cheaper(&cost, &s->found));
}

/* --- dry runs --------------------------------------------------------------------------------- */

static bool step(struct search *s)
{
    if (s->node_steps == 0 || s->steps == 0) {
        s->gave_up = true;
        return false;
    }
    s->node_steps--;
    s->steps--;
    return true;
}

/* Does the pod fit without the taken pods and all pods from `rest` on? */
static bool fits(struct search *s, size_t rest)
{
    s->refuser = NULL;
    if (!step(s))
        return false;
    what_if_begin(&s->what_if, s->cycle, s->node);
    for (size_t i = 0; i < s->pool.n; i++) {
        const struct bound_pod *b = &s->pool.v[i].bound;
        if (!s->pool.v[i].taken && i < rest)
            continue;
        if (!step(s) || !what_if_remove_from(&s->what_if, b->pod, b->node))
            return false;
    }
    return what_if_filter_nominated(&s->what_if, &s->refuser) == BERTH_SUCCESS;
}

/* --- search ----------------------------------------------------------------------------------- */

static void take_found(struct search *s)
{
    s->found = cost_of(s);
    list_taken(s, &s->found_pods);
}

/*
 * Tries each pod from `from` on as the next victim; skipped pods stay. Each set is visited at most
 * once, and no set with a pod that a cheaper one outside the set could replace. Two bounds prune:
 * the taken set must be cheaper than the best so far, and if only pods remain whose eviction never
 * harms, all of them together must suffice.
 */
static void extend(struct search *s, size_t from)
{
    for (size_t i = from; i < s->pool.n && !s->gave_up; i++) {
        struct member *m = &s->pool.v[i];
        if (m->rather != NONE && !s->pool.v[m->rather].taken)
            continue;
        /* The caller that took the pod before this one has run the same dry run. */
        bool is_known = i == from && from > s->n_may_harm;
        if (i >= s->n_may_harm && !is_known && !fits(s, i))
            return;
        m->taken = true;
        if (is_cheap_enough(s)) {
            if (fits(s, s->pool.n))
                take_found(s);
            else
                extend(s, i + 1);
        }
        m->taken = false;
    }
}

/* --- potential victims ------------------------------------------------------------------------ */

static bool holds_only_room(const struct berth_pod *pod)
{
    return !pod->requests.scalars.n && !pod->ports.n && !pod->pod->spec.volumes.n &&
           !pod->pod->spec.resource_claims.n;
}

/* Do both use only plain resources, and a no less than b? */
static bool holds_as_much(const struct berth_pod *a, const struct berth_pod *b)
{
    const struct resource *x = &a->requests, *y = &b->requests;
    return holds_only_room(a) && holds_only_room(b) && x->milli_cpu >= y->milli_cpu &&
           x->memory >= y->memory && x->ephemeral_storage >= y->ephemeral_storage;
}

/* Do budgets and label selectors not distinguish them? */
static bool look_alike(const struct search *s, const struct bound_pod *a, const struct bound_pod *b)
{
    const struct object_meta *x = &a->pod->pod->metadata, *y = &b->pod->pod->metadata;
    if (x->deletion_timestamp.set || y->deletion_timestamp.set)
        return false;
    if (str_eq(x->namespace, y->namespace) && str_map_equal(&x->labels, &y->labels))
        return true;
    return !a->cross_terms && !b->cross_terms && !budgets_have(s->rules->budgets, a->pod) &&
           !budgets_have(s->rules->budgets, b->pod);
}

/* Does evicting a help as much as evicting b, and cost no more? */
static bool rather(const struct search *s, const struct bound_pod *a, const struct bound_pod *b)
{
    bool here = a->node == s->node;
    return here == (b->node == s->node) && a->pod->priority <= b->pod->priority &&
           cross_node_terms_equal(&s->cross_terms, a, b) &&
           (!here || holds_as_much(a->pod, b->pod)) && look_alike(s, a, b);
}

static bool costs_more(const void *a, const void *b)
{
    const struct bound_pod *x = &((const struct member *)a)->bound;
    const struct bound_pod *y = &((const struct member *)b)->bound;
    return pod_more_important(x->pod, y->pod) && !pod_more_important(y->pod, x->pod);
}

static bool costs_less(const void *a, const void *b)
{
    return costs_more(b, a);
}

/* The same for pods on the node: among equal priorities, the largest first. */
static bool makes_more_room(const void *a, const void *b)
{
    const struct berth_pod *x = ((const struct member *)a)->bound.pod;
    const struct berth_pod *y = ((const struct member *)b)->bound.pod;
    if (x->priority != y->priority)
        return x->priority < y->priority;
    if (x->requests.milli_cpu != y->requests.milli_cpu)
        return x->requests.milli_cpu > y->requests.milli_cpu;
    if (x->requests.memory != y->requests.memory)
        return x->requests.memory > y->requests.memory;
    if (x->requests.ephemeral_storage != y->requests.ephemeral_storage)
        return x->requests.ephemeral_storage > y->requests.ephemeral_storage;
    return costs_less(a, b);
}

typedef VEC(struct member) member_list;

/* The pods whose eviction may make the node fit. */
static void find_members(struct search *s, member_list *ret)
{
    const pod_list *here = &s->node->pods;
    for (size_t i = 0; i < here->n; i++)
        if (here->v[i]->priority < s->rules->pod->priority)
            vec_push(ret, (struct member){cross_node_terms_of(&s->cross_terms, here->v[i], s->node),
                                          NONE, false});
    for (size_t i = 0; i < s->cross_terms.pods.n; i++) {
        const struct bound_pod *other = &s->cross_terms.pods.v[i];
        if (other->node != s->node && cross_node_terms_matter(&s->cross_terms, other, s->node))
            vec_push(ret, (struct member){*other, NONE, false});
    }
}

/* The order of decisions: pods that matter only for their resources come last. */
enum place { PLACE_MAY_HARM, PLACE_BOUND, PLACE_PLAIN };

static enum place place_of(const struct search *s, const struct bound_pod *bound)
{
    if (cross_node_terms_may_harm(&s->cross_terms, bound, s->node))
        return PLACE_MAY_HARM;
    return cross_node_terms_matter(&s->cross_terms, bound, s->node) ? PLACE_BOUND : PLACE_PLAIN;
}

typedef VEC(void *) member_order;

/* Appends the pods of the place, in order. */
static void add_to_pool(struct search *s, const member_order *all, enum place place)
{
    member_order order = {0};
    for (size_t i = 0; i < all->n; i++)
        if (place_of(s, &((const struct member *)all->v[i])->bound) == place)
            vec_push(&order, all->v[i]);
    if (place == PLACE_PLAIN)
        go_sort(order.v, order.n, makes_more_room);
    for (size_t i = 0; i < order.n; i++)
        vec_push(&s->pool, *(const struct member *)order.v[i]);
    vec_release(&order);
}

static void find_rather(struct search *s)
{
    for (size_t i = 1; i < s->pool.n; i++)
        for (size_t k = i; k-- > 0 && s->pool.v[i].rather == NONE;)
            if (rather(s, &s->pool.v[k].bound, &s->pool.v[i].bound))
                s->pool.v[i].rather = k;
}

/* The least important pods, CROSS_NODE_MAX_PODS at most. */
static void gather(struct search *s)
{
    member_list all = {0};
    member_order order = {0};
    find_members(s, &all);
    for (size_t i = 0; i < all.n; i++)
        vec_push(&order, &all.v[i]);
    go_sort(order.v, order.n, costs_less);
    order.n = MIN(order.n, (size_t)CROSS_NODE_MAX_PODS);
    vec_clear(&s->pool);
    add_to_pool(s, &order, PLACE_MAY_HARM);
    s->n_may_harm = s->pool.n;
    add_to_pool(s, &order, PLACE_BOUND);
    add_to_pool(s, &order, PLACE_PLAIN);
    vec_release(&order);
    vec_release(&all);
}

static bool is_only_about_here(const struct search *s)
{
    for (size_t i = 0; i < s->pool.n; i++)
        if (s->pool.v[i].bound.node != s->node)
            return false;
    return true;
}

/* Is it certain without a search that nothing helps? */
static bool is_hopeless(struct search *s)
{
    /* If no eviction can harm, ordinary preemption has decided about the node's own pods. */
    if (!s->n_may_harm)
        return is_only_about_here(s);
    /* A plugin that reads only the node and rejects it without any of the pods always rejects. */
    return !fits(s, 0) && s->refuser && !s->refuser->plugin->remove_pod;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void search_node(struct search *s, const struct berth_node *node)
{
    s->node = node;
    s->node_steps = CROSS_NODE_MAX_NODE_STEPS;
    s->gave_up = false;
    vec_clear(&s->found_pods);
    gather(s);
    if (is_hopeless(s))
        return;
    find_rather(s);
    extend(s, 0);
    /* An unfinished search may not have found the cheapest. */
    if (s->gave_up || !s->found_pods.n)
        return;
    s->best_node = node;
    s->best = s->found;
    vec_clear(&s->best_pods);
    for (size_t i = 0; i < s->found_pods.n; i++)
        vec_push(&s->best_pods, s->found_pods.v[i]);
}

const struct berth_node *cross_node_preemption_find(const void *ctx,
                                                    const struct berth_cycle *cycle,
                                                    const struct berth_node *const *nodes, size_t n,
                                                    struct victims *ret_victims)
{
    const struct victim_rules *rules = ctx;
    struct search s = {.rules = rules, .cycle = cycle, .steps = CROSS_NODE_MAX_STEPS};
    struct berth_status status;
    status_init(&status);
    cross_node_terms_init(&s.cross_terms, rules->cluster, rules->pod);
    what_if_init(&s.what_if, rules->pod, &status);
    cross_node_terms_find_pods(&s.cross_terms);
    bool any = s.cross_terms.pods.n && !s.cross_terms.too_many;
    for (size_t i = 0; any && i < MIN(n, (size_t)CROSS_NODE_MAX_NODES); i++)
        search_node(&s, nodes[i]);
    if (s.best_node) {
        ret_victims->pods.v = s.best_pods.v;
        ret_victims->pods.n = s.best_pods.n;
        ret_victims->pods.cap = s.best_pods.cap;
        ret_victims->pdb_violations = s.best.violations;
    } else {
        vec_release(&s.best_pods);
    }
    vec_release(&s.pool);
    vec_release(&s.found_pods);
    what_if_release(&s.what_if);
    cross_node_terms_release(&s.cross_terms);
    status_release(&status);
    return s.best_node;
}

bool cross_node_preemption_waits(struct cluster *cluster, const struct berth_pod *pod,
                                 const struct berth_node *node)
{
    struct cross_node_terms cross_terms;
    bool waits = false;
    cross_node_terms_init(&cross_terms, cluster, pod);
    cross_node_terms_find_pods(&cross_terms);
    for (size_t i = 0; i < cross_terms.pods.n && !cross_terms.too_many && !waits; i++)
        waits = pod_leaves_by_preemption(cross_terms.pods.v[i].pod) &&
                cross_node_terms_matter(&cross_terms, &cross_terms.pods.v[i], node);
    cross_node_terms_release(&cross_terms);
    return waits;
}
