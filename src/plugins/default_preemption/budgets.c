/* SPDX-License-Identifier: Apache-2.0 */
/* budgets.c - compiled PodDisruptionBudgets, and the pods that violate them. */
#include "plugins/default_preemption/budgets.h"

#include "api/policy.h"
#include "api/selector.h"

struct budget {
    struct selector selector;
    const struct pod_disruption_budget *pdb;
};

struct budget_list {
    size_t n;
    struct budget v[];
};

void budgets_init(struct budgets *b)
{
    *b = (struct budgets){.by_namespace = MAP_INIT};
    arena_init(&b->arena, 0);
}

void budgets_release(struct budgets *b)
{
    map_release(&b->by_namespace);
    arena_release(&b->arena);
}

/* False: it selects no pod. */
static bool compile(const struct pod_disruption_budget *pdb, struct arena *a, struct budget *ret)
{
    ret->pdb = pdb;
    return selector_compile(pdb->spec.selector, a, &ret->selector, NULL) == 0 &&
           !ret->selector.nothing && ret->selector.requirements.n;
}

static void add_namespace(struct budgets *b, struct str namespace, const object_list *objects)
{
    struct budget_list *list =
        arena_alloc(&b->arena, sizeof(*list) + objects->n * sizeof(struct budget),
                    _Alignof(struct budget_list));
    list->n = 0;
    for (size_t i = 0; i < objects->n; i++)
        list->n += compile(object_body(objects->v[i]), &b->arena, &list->v[list->n]);
    if (list->n)
        map_put(&b->by_namespace, arena_dup(&b->arena, namespace), list);
}

void budgets_refresh(struct budgets *b, const struct objects *objects)
{
    uint64_t now = objects->kind_changes[KIND_POD_DISRUPTION_BUDGET] + 1;
    if (b->seen == now)
        return;
    map_clear(&b->by_namespace);
    arena_reset(&b->arena);
    map_each (entry, &objects->by_namespace[KIND_POD_DISRUPTION_BUDGET])
        add_namespace(b, entry->key, objects_in(objects, KIND_POD_DISRUPTION_BUDGET, entry->key));
    b->seen = now;
}

/* --- counting --------------------------------------------------------------------------------- */

/* The disruptions that remain of a budget. */
struct remainder {
    const struct budget *budget;
    int64_t left;
};

typedef VEC(struct remainder) remainders;

static struct remainder *remainder_of(remainders *list, const struct budget *budget)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i].budget == budget)
            return &list->v[i];
    vec_push(list, (struct remainder){budget, budget->pdb->status.disruptions_allowed});
    return &vec_last(list);
}

/* Upstream: pods in status.disruptedPods have been charged already. */
static bool is_disrupted(const struct pod_disruption_budget *pdb, struct str name)
{
    for (size_t i = 0; i < pdb->status.disrupted_pods.n; i++)
        if (str_eq(pdb->status.disrupted_pods.v[i].key, name))
            return true;
    return false;
}

/* stop: end at the first violated budget; the others are not charged. */
static bool violates(const struct budgets *b, const struct berth_pod *pod, remainders *left,
                     bool stop)
{
    const struct object_meta *meta = &pod->pod->metadata;
    const struct budget_list *list = map_get(&b->by_namespace, meta->namespace);
    bool violated = false;
    /* Upstream: no budget selects a pod without labels, not even one that excludes labels. */
    for (size_t i = 0; list && meta->labels.n && i < list->n && !(stop && violated); i++) {
        const struct budget *budget = &list->v[i];
        if (!selector_matches(&budget->selector, &meta->labels) ||
            is_disrupted(budget->pdb, meta->name))
            continue;
        if (--remainder_of(left, budget)->left < 0)
            violated = true;
    }
    return violated;
}

size_t budgets_split(const struct budgets *b, pod_list *pods)
{
    remainders left = {0};
    pod_list others = {0};
    size_t n = 0;
    if (!b->by_namespace.n)
        return 0;
    for (size_t i = 0; i < pods->n; i++)
        if (violates(b, pods->v[i], &left, false))
            pods->v[n++] = pods->v[i];
        else
            vec_push(&others, pods->v[i]);
    if (others.n)
        memcpy(pods->v + n, others.v, others.n * sizeof(*others.v));
    vec_release(&others);
    vec_release(&left);
    return n;
}

static bool victim_violates(const struct budgets *b, const struct group_victim *victim,
                            remainders *left)
{
    for (size_t i = 0; i < victim->pods.n; i++)
        if (violates(b, victim->pods.v[i], left, true))
            return true;
    return false;
}

size_t budgets_split_victims(const struct budgets *b, struct group_victim **victims, size_t n)
{
    remainders left = {0};
    VEC(struct group_victim *) others = {0};
    size_t n_violating = 0;
    for (size_t i = 0; i < n; i++)
        if (victim_violates(b, victims[i], &left))
            victims[n_violating++] = victims[i];
        else
            vec_push(&others, victims[i]);
    if (others.n)
        memcpy(victims + n_violating, others.v, others.n * sizeof(struct group_victim *));
    vec_release(&others);
    vec_release(&left);
    return n_violating;
}

bool budgets_have(const struct budgets *b, const struct berth_pod *pod)
{
    const struct object_meta *meta = &pod->pod->metadata;
    const struct budget_list *list = map_get(&b->by_namespace, meta->namespace);
    for (size_t i = 0; list && meta->labels.n && i < list->n; i++)
        if (selector_matches(&list->v[i].selector, &meta->labels))
            return true;
    return false;
}
