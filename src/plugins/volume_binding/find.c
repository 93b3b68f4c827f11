/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.c - volumes for a pod's claims on one node (upstream: FindPodVolumes, FindMatchingVolume).
 *
 * A claim takes the smallest volume that fits and that no smaller claim of the pod has taken. A
 * volume that names the claim comes first: if it is not reachable from the node, nothing fits.
 */
#include "plugins/volume_binding/find.h"

/* --- does the volume fit the claim? ----------------------------------------------------------- */

static struct str mode_or_default(struct str mode)
{
    return str_empty(mode) ? STR("Filesystem") : mode;
}

static struct str text_at(const struct str *s)
{
    return s ? *s : STR("");
}

/* What a volume that names the claim must also fulfil. */
static bool suits(const struct pod_claim *c, const struct persistent_volume *pv)
{
    return str_eq(mode_or_default(c->pvc->spec.volume_mode),
                  mode_or_default(pv->spec.volume_mode)) &&
           str_eq(text_at(c->pvc->spec.volume_attributes_class_name),
                  text_at(pv->spec.volume_attributes_class_name));
}

static bool has_mode(const struct persistent_volume *pv, struct str mode)
{
    for (size_t i = 0; i < pv->spec.access_modes.n; i++)
        if (str_eq(pv->spec.access_modes.v[i], mode))
            return true;
    return false;
}

static bool has_modes(const struct pod_claim *c, const struct persistent_volume *pv)
{
    for (size_t i = 0; i < c->pvc->spec.access_modes.n; i++)
        if (!has_mode(pv, c->pvc->spec.access_modes.v[i]))
            return false;
    return true;
}

/* Does the claim accept a free volume of its class that is large enough? */
static bool claim_accepts(const struct pod_claim *c, const struct pv *pv)
{
    return suits(c, pv->body) && has_modes(c, pv->body) &&
           (!c->selector || selector_matches(c->selector, &pv->body->metadata.labels));
}

/* --- volumes that were chosen for other claims of the pod ------------------------------------- */

#define FEW_CHOSEN 16

struct chosen {
    struct pv **v; /* NULL in between */
    size_t n;
    struct map by_name; /* the same, if there are more than a few */
};

static bool is_chosen(const struct chosen *chosen, const struct pv *pv)
{
    if (chosen->n > FEW_CHOSEN)
        return map_get(&chosen->by_name, pv->body->metadata.name);
    for (size_t i = 0; i < chosen->n; i++)
        if (chosen->v[i] == pv)
            return true;
    return false;
}

static void choose(struct chosen *chosen, struct pv *pv)
{
    chosen->v[chosen->n++] = pv;
    if (chosen->n <= FEW_CHOSEN)
        return;
    for (size_t i = chosen->n == FEW_CHOSEN + 1 ? 0 : chosen->n - 1; i < chosen->n; i++)
        if (chosen->v[i])
            map_put(&chosen->by_name, chosen->v[i]->body->metadata.name, chosen->v[i]);
}

/* --- a volume for one claim ------------------------------------------------------------------- */

static size_t first_large_enough(const pv_list *list, const struct quantity *request)
{
    size_t from = 0, to = list->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (quantity_cmp(list->v[mid]->size, request) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static struct pv *find_in_pool(const struct pod_claim *c, const struct pv_pool *pool,
                               const struct chosen *chosen)
{
    for (size_t i = first_large_enough(&pool->free, c->request); i < pool->free.n; i++) {
        struct pv *pv = pool->free.v[i];
        if (claim_accepts(c, pv) && (!chosen || !is_chosen(chosen, pv)))
            return pv;
    }
    return NULL;
}

struct pv *pool_offer(const struct pod_claim *c, const struct pv_pool *pool)
{
    return find_in_pool(c, pool, NULL);
}

struct pv *claim_own_volume(const struct volumes *v, const struct pod_claim *c,
                            const struct chosen *chosen)
{
    const struct claimed *claimed = pv_claimed(v, c->key);
    for (size_t i = 0; claimed && i < claimed->volumes.n; i++) {
        struct pv *pv = claimed->volumes.v[i];
        if (pv_is_for(pv, c->pvc) && !pv->body->metadata.deletion_timestamp.set &&
            str_eq(pv_class_name(pv->body), c->class->metadata.name) &&
            quantity_cmp(pv->size, c->request) >= 0 && suits(c, pv->body) &&
            (!chosen || !is_chosen(chosen, pv)))
            return pv;
    }
    return NULL;
}

static struct pv *smaller(struct pv *a, struct pv *b)
{
    if (!a || !b)
        return a ? a : b;
    int by_size = quantity_cmp(a->size, b->size);
    if (by_size == 0)
        by_size = str_cmp(a->body->metadata.name, b->body->metadata.name);
    return by_size <= 0 ? a : b;
}

static struct pv *match(const struct pod_volumes *p, const struct pod_claim *c,
                        const struct berth_node *node, const struct chosen *chosen)
{
    const struct volumes *v = p->volumes;
    const struct pv_class *class = map_get(&v->classes, c->class->metadata.name);
    struct pv *best = claim_own_volume(v, c, chosen);
    if (best)
        return node_set_matches(best->where, node) ? best : NULL;
    if (!class)
        return NULL;
    const node_set_list *sets = node_sets_at(&v->sets, node);
    if (!sets) {
        for (size_t i = 0; i < class->pools.n; i++)
            if (node_set_matches(class->pools.v[i]->where, node))
                best = smaller(best, find_in_pool(c, class->pools.v[i], chosen));
        return best;
    }
    if (class->everywhere)
        best = find_in_pool(c, class->everywhere, chosen);
    for (size_t i = 0; i < sets->n; i++)
        for (size_t k = 0; k < sets->v[i]->pools.n; k++)
            if (sets->v[i]->pools.v[k]->class == class)
                best = smaller(best, find_in_pool(c, sets->v[i]->pools.v[k], chosen));
    return best;
}

/* --- one node --------------------------------------------------------------------------------- */

/* Upstream: checkBoundClaims. The first claim that does not fit decides. */
static int check_bound(const struct pod_volumes *p, const struct berth_node *node,
                       struct str *ret_fault)
{
    for (size_t i = 0; i < p->bound.n; i++) {
        const struct pv *pv = pv_get(p->volumes, p->bound.v[i].pvc->spec.volume_name);
        if (!pv)
            return CONFLICT_LOST;
        const struct node_set *where = pv->where;
        if (pv_migrated_on(p->volumes, pv, str_of(node->name))) {
            if (pv->fault) {
                *ret_fault = str_of(pv->fault);
                return -1;
            }
            where = pv->migrated_where;
        }
        if (!node_set_matches(where, node))
            return CONFLICT_NODE;
    }
    return 0;
}

/* Upstream: checkVolumeProvisions, for one claim. */
static int provision(const struct pod_volumes *p, const struct pod_claim *c,
                     const struct berth_node *node, struct offers *offers)
{
    const struct capacity *storage = NULL;
    if (!c->provisionable ||
        (c->topologies && !node_terms_match(c->topologies, &node->node->metadata.labels, STR(""))))
        return CONFLICT_BIND;
    if (c->tracks_capacity) {
        storage = capacity_for(p->volumes, c->class->metadata.name, c->size, node);
        if (!storage)
            return CONFLICT_SPACE;
    }
    if (offers) {
        offers->storage[offers->n_to_provision] = storage;
        offers->to_provision[offers->n_to_provision++] = c;
    }
    return 0;
}

/* Claims whose node was selected before are provisioned, before all others. */
static int check_selected(const struct pod_volumes *p, const struct berth_node *node)
{
    for (size_t i = 0; i < p->n_selected; i++)
        if (!str_eq(p->selected[i]->selected, str_of(node->name)))
            return CONFLICT_BIND;
    return 0;
}

static int match_all(const struct pod_volumes *p, const struct berth_node *node,
                     struct chosen *chosen, struct str *ret_fault)
{
    for (size_t i = 0; i < p->n_to_match; i++) {
        const struct pod_claim *c = p->to_match[i];
        if (!str_empty(c->fault)) {
            *ret_fault = c->fault;
            return -1;
        }
        choose(chosen, match(p, c, node, chosen));
    }
    return 0;
}

static int find_unbound(const struct pod_volumes *p, const struct berth_node *node,
                        struct chosen *chosen, struct offers *offers, struct str *ret_fault)
{
    int conflict = check_selected(p, node);
    if (conflict == 0)
        conflict = match_all(p, node, chosen, ret_fault);
    for (size_t i = 0; conflict == 0 && i < p->n_selected; i++)
        conflict = provision(p, p->selected[i], node, offers);
    for (size_t i = 0; conflict == 0 && i < p->n_to_match; i++)
        if (!chosen->v[i])
            conflict = provision(p, p->to_match[i], node, offers);
    return conflict;
}

int volumes_find(const struct pod_volumes *p, const struct berth_node *node, struct offers *offers,
                 struct str *ret_fault)
{
    struct pv *few[FEW_CHOSEN];
    struct chosen chosen = {.v = few};
    int bound = check_bound(p, node, ret_fault);
    if (bound < 0 || p->unbound.n == 0)
        return bound;
    if (offers) {
        chosen.v = offers->volumes;
        offers->n_to_provision = 0;
    } else if (p->n_to_match > FEW_CHOSEN) {
        chosen.v = xreallocarray(NULL, p->n_to_match, sizeof(struct pv *));
    }
    int unbound = find_unbound(p, node, &chosen, offers, ret_fault);
    map_release(&chosen.by_name);
    if (!offers && chosen.v != few)
        free(chosen.v);
    return unbound < 0 ? unbound : bound | unbound;
}

void offers_init(struct offers *offers, const struct pod_volumes *p, struct arena *a)
{
    *offers = (struct offers){
        .volumes = arena_array(a, struct pv *, p->n_to_match),
        .storage = arena_array(a, const struct capacity *, p->unbound.n),
        .to_provision = arena_array(a, const struct pod_claim *, p->unbound.n),
    };
}
