/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_sets.c - volumes for a pod's claims on all nodes at once.
 *
 * The same rules as in find.c, in the same order, over sets of slots. Only if two claims of a class
 * may want the same volume is the result of a node more than the sum of its claims: those nodes are
 * left undecided, to be asked one by one. If the class does not provision, that concerns only nodes
 * with a volume for each claim.
 */
#include "engine/cycle/cycle.h"
#include "plugins/common/plugin_base.h"
#include "plugins/volume_binding/claim_kinds.h"
#include "plugins/volume_binding/find.h"

struct finding {
    struct pod_volumes *p;
    struct arena *arena;
    size_t n_slots, n_words;
    uint64_t *left; /* nodes that no claim has refused so far */
};

static uint64_t *new_set(const struct finding *f)
{
    return arena_array(f->arena, uint64_t, f->n_words);
}

static uint64_t *full_set(const struct finding *f)
{
    uint64_t *set = new_set(f);
    node_set_paint(NULL, set, f->n_slots);
    return set;
}

/* Refuses the nodes left that are not in `good` for this conflict. */
static void refuse_others(struct finding *f, const uint64_t *good, enum volume_conflict conflict)
{
    for (size_t w = 0; w < f->n_words; w++) {
        f->p->sets[conflict][w] |= f->left[w] & ~good[w];
        f->left[w] &= good[w];
    }
}

static void refuse_all(struct finding *f, enum volume_conflict conflict)
{
    for (size_t w = 0; w < f->n_words; w++) {
        f->p->sets[conflict][w] |= f->left[w];
        f->left[w] = 0;
    }
}

static void fail_at(struct finding *f, const uint64_t *nodes, struct str fault)
{
    for (size_t w = 0; w < f->n_words; w++) {
        f->p->broken[w] |= nodes ? f->left[w] & nodes[w] : f->left[w];
        f->left[w] &= ~f->p->broken[w];
    }
    f->p->fault = fault;
}

/* --- bound claims ----------------------------------------------------------------------------- */

static void check_migrated(struct finding *f, const struct pv *pv, uint64_t *good)
{
    const uint64_t *on = pv_migrated_nodes(f->p->volumes, pv, f->n_slots);
    uint64_t *there = new_set(f);
    node_set_paint(pv->migrated_where, there, f->n_slots);
    if (pv->fault)
        fail_at(f, on, str_of(pv->fault));
    for (size_t w = 0; w < f->n_words; w++)
        good[w] = (good[w] & ~on[w]) | (there[w] & on[w]);
}

static void check_bound(struct finding *f)
{
    const struct pod_volumes *p = f->p;
    for (size_t i = 0; i < p->bound.n; i++) {
        const struct pv *pv = pv_get(p->volumes, p->bound.v[i].pvc->spec.volume_name);
        if (!pv) {
            refuse_all(f, CONFLICT_LOST);
            return;
        }
        if (!pv->where && !pv->migration)
            continue;
        uint64_t *good = new_set(f);
        node_set_paint(pv->where, good, f->n_slots);
        if (pv->migration)
            check_migrated(f, pv, good);
        refuse_others(f, good, CONFLICT_NODE);
    }
}

/* --- unbound claims --------------------------------------------------------------------------- */

/* Only the selected node is left. */
static void check_selected(struct finding *f, const struct pod_claim *c)
{
    const struct berth_node *node = cache_node(f->p->volumes->cluster->cache, c->selected);
    uint64_t *good = new_set(f);
    if (node && node->slot < f->n_slots)
        good[node->slot / 64] |= (uint64_t)1 << (node->slot % 64);
    refuse_others(f, good, CONFLICT_BIND);
}

/* The nodes on which there is a volume for the claim. */
static const uint64_t *matched(const struct finding *f, const struct pod_claim *c)
{
    struct volumes *v = f->p->volumes;
    const struct pv *own = claim_own_volume(v, c, NULL);
    bool everywhere = false;
    const uint64_t *nodes = own ? NULL : claim_kind_nodes(v, c, f->n_slots, &everywhere);
    if (nodes && !everywhere)
        return nodes;
    uint64_t *set = new_set(f);
    if (own || everywhere)
        node_set_paint(own ? own->where : NULL, set, f->n_slots);
    return set;
}

static int64_t ask_topologies(const void *ask, const struct berth_node *node)
{
    return node_terms_match(ask, &node->node->metadata.labels, STR(""));
}

static const uint64_t *reachable(const struct finding *f, const struct pod_claim *c)
{
    struct volumes *v = f->p->volumes;
    key_begin(&v->key, STR("VolumeBinding/topologies"));
    for (size_t i = 0; i < c->class->allowed_topologies.n; i++) {
        const struct topology_selector_term *term = &c->class->allowed_topologies.v[i];
        key_add_number(&v->key, (int64_t)term->match_label_expressions.n);
        for (size_t k = 0; k < term->match_label_expressions.n; k++) {
            const struct topology_selector_label_requirement *r =
                &term->match_label_expressions.v[k];
            key_add(&v->key, r->key);
            key_add_number(&v->key, (int64_t)r->values.n);
            for (size_t m = 0; m < r->values.n; m++)
                key_add(&v->key, r->values.v[m]);
        }
    }
    return node_memo_set(&v->cluster->memos, buf_str(&v->key), ask_topologies, c->topologies);
}

/* Where `have` lacks a volume, one must be provisioned. have NULL: everywhere. */
static void provision(struct finding *f, const struct pod_claim *c, const uint64_t *have)
{
    uint64_t *good = new_set(f);
    const uint64_t *there = c->provisionable && c->topologies ? reachable(f, c) : NULL;
    for (size_t w = 0; w < f->n_words; w++)
        good[w] = (have ? have[w] : 0) | (there ? there[w] : c->provisionable ? ~(uint64_t)0 : 0);
    refuse_others(f, good, CONFLICT_BIND);
    if (!c->provisionable || !c->tracks_capacity)
        return;
    if (have)
        memcpy(good, have, f->n_words * sizeof(uint64_t));
    else
        memset(good, 0, f->n_words * sizeof(uint64_t));
    capacities_paint(f->p->volumes, c->class->metadata.name, c->size, good, f->n_slots);
    refuse_others(f, good, CONFLICT_SPACE);
}

/* No claim to be matched can be provisioned: a node needs a volume for each. */
static bool all_static(const struct pod_volumes *p)
{
    for (size_t i = 0; i < p->n_to_match; i++)
        if (p->to_match[i]->provisionable)
            return false;
    return true;
}

static void check_unbound(struct finding *f)
{
    struct pod_volumes *p = f->p;
    bool by_claim = !p->share_class || all_static(p);
    for (size_t i = 0; i < p->n_selected; i++)
        check_selected(f, p->selected[i]);
    for (size_t i = 0; i < p->n_to_match; i++)
        if (!str_empty(p->to_match[i]->fault)) {
            fail_at(f, NULL, p->to_match[i]->fault);
            return;
        }
    for (size_t i = 0; i < p->n_selected; i++)
        provision(f, p->selected[i], NULL);
    for (size_t i = 0; by_claim && i < p->n_to_match; i++)
        provision(f, p->to_match[i], matched(f, p->to_match[i]));
    if (p->share_class)
        p->undecided = f->left;
}

void volumes_find_sets(struct pod_volumes *p, struct berth_cycle *cycle, size_t n_slots)
{
    struct finding f = {
        .p = p, .arena = &cycle->arena, .n_slots = n_slots, .n_words = BITSET_WORDS(n_slots)};
    for (unsigned conflict = 1; conflict <= CONFLICT_LOST; conflict <<= 1)
        p->sets[conflict] = new_set(&f);
    p->broken = new_set(&f);
    p->undecided = NULL;
    p->n_slots = n_slots;
    f.left = full_set(&f);
    check_bound(&f);
    if (p->unbound.n) {
        /* A conflict of bound volumes does not end the search: both reasons are given. */
        f.left = full_set(&f);
        for (size_t w = 0; w < f.n_words; w++)
            f.left[w] &= ~p->broken[w];
        check_unbound(&f);
    }
}
