/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of NodeResourceTopologyMatch: numa_score of numa_fit.h. */
#include <math.h>

#include "engine/framework/framework.h"
#include "plugins/common/go_math.h"
#include "plugins/sigs/numa_fit.h"

/* --- by allocation ---------------------------------------------------------------------------- */

static int64_t weight_of(const struct numa_scoring *s, struct str name)
{
    int64_t weight = 1;
    for (size_t i = 0; i < s->n_weights; i++)
        if (str_eq(s->weights[i].name, name))
            weight = s->weights[i].weight;
    return MAX(weight, 1);
}

/* 0 … 100 of one resource of a zone; 0 if it does not fit. */
static int64_t allocation(bool most, const struct quantity *request, const struct quantity *has)
{
    if (!has || quantity_is_zero(has) || quantity_cmp(request, has) > 0)
        return 0;
    int64_t wanted = quantity_value(request), all = quantity_value(has);
    return go_div(go_mul(most ? wanted : go_sub(all, wanted), MAX_NODE_SCORE), all);
}

static int64_t allocation_of_zone(const struct numa_scoring *s, const struct numa_topology *t,
                                  size_t zone, const quantity_map *requests)
{
    int64_t sum = 0, weights = 0;
    for (size_t i = 0; i < requests->n; i++) {
        const struct quantity_entry *e = &requests->v[i];
        int64_t weight = weight_of(s, e->key);
        const struct quantity *has = numa_available(t, zone, numa_topology_column(t, e->key));
        sum = go_add(
            sum, go_mul(allocation(s->strategy == NUMA_MOST_ALLOCATED, &e->value, has), weight));
        weights = go_add(weights, weight);
    }
    return weights > 0 ? sum / weights : 0;
}

static double fraction(const struct quantity *request, const struct quantity *has)
{
    int64_t all = has ? quantity_value(has) : 0;
    return all ? (double)quantity_value(request) / (double)all : 1;
}

/* The variance of the fractions, as that of a sample; 0 if one does not fit. */
static int64_t balance_of_zone(const struct numa_topology *t, size_t zone,
                               const quantity_map *requests)
{
    double sum = 0, squares = 0, rest = 0, n = (double)requests->n;
    for (size_t i = 0; i < requests->n; i++) {
        size_t column = numa_topology_column(t, requests->v[i].key);
        double f = fraction(&requests->v[i].value, numa_available(t, zone, column));
        if (f > 1)
            return 0;
        sum += f;
    }
    for (size_t i = 0; i < requests->n; i++) {
        size_t column = numa_topology_column(t, requests->v[i].key);
        double d = fraction(&requests->v[i].value, numa_available(t, zone, column)) - sum / n;
        squares += d * d;
        rest += d;
    }
    double variance = (squares - rest * rest / n) / (n - 1);
    return isfinite(variance) ? (int64_t)((1 - variance) * MAX_NODE_SCORE) : 0;
}

/* The lowest score of a zone that is not 0: it is not known which zone the kubelet will take. */
static int64_t lowest_of_zones(const struct numa_scoring *s, const struct numa_topology *t,
                               const quantity_map *requests)
{
    int64_t lowest = 0;
    for (size_t i = 0; i < t->n_zones; i++) {
        int64_t score = s->strategy == NUMA_BALANCED_ALLOCATION
                            ? balance_of_zone(t, i, requests)
                            : allocation_of_zone(s, t, i, requests);
        if (lowest == 0 || (score != 0 && score < lowest))
            lowest = score;
    }
    return lowest;
}

static const struct container *container_at(const struct pod *pod, size_t i)
{
    size_t n_init = pod->spec.init_containers.n;
    return i < n_init ? &pod->spec.init_containers.v[i] : &pod->spec.containers.v[i - n_init];
}

static size_t container_count(const struct pod *pod)
{
    return pod->spec.init_containers.n + pod->spec.containers.n;
}

static int64_t score_by_allocation(const struct numa_scoring *s, const struct numa_pod *p,
                                   const struct numa_topology *t)
{
    size_t n = container_count(p->pod);
    double sum = 0;
    if (!t->config.single)
        return 0;
    if (t->config.pod_scope)
        return lowest_of_zones(s, t, &p->requests);
    for (size_t i = 0; i < n; i++)
        sum += (double)lowest_of_zones(s, t, &container_at(p->pod, i)->resources.requests);
    return n ? (int64_t)(sum / (double)n) : 0;
}

/* --- by the number of zones ------------------------------------------------------------------- */

#define MAX_DISTANCE 255
/* Combinations of zones that are tried: all of 16 zones. Beyond that no answer is found. */
#define MAX_TRIES    (1 << 16)

/* A set of zones, as indexes in ascending order. */
struct zone_set {
    size_t zones[NUMA_MAX_ZONES], n;
};

struct zone_search {
    const struct numa_topology *t;
    struct quantity *amounts; /* laid out as t->available: what is left */
    size_t tries;
};

/* The next set of the same size in lexical order. */
static bool next_set(struct zone_set *s, size_t n_zones)
{
    size_t i = s->n;
    while (i-- > 0) {
        if (s->zones[i] == n_zones - s->n + i)
            continue;
        s->zones[i]++;
        for (size_t k = i + 1; k < s->n; k++)
            s->zones[k] = s->zones[k - 1] + 1;
        return true;
    }
    return false;
}

static void first_set(struct zone_set *s, size_t n)
{
    s->n = n;
    for (size_t i = 0; i < n; i++)
        s->zones[i] = i;
}

static float distance_of(const struct numa_topology *t, const struct zone_set *s)
{
    int64_t sum = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->n; k++) {
            int64_t cost = t->zones[s->zones[i]].costs[t->zones[s->zones[k]].id];
            sum += cost < 0 ? MAX_DISTANCE : cost;
        }
    return (float)sum / (float)(s->n * s->n);
}

/* Every zone of the set must have each of the resources, and together enough of them. */
static bool set_has(const struct zone_search *z, const struct zone_set *s,
                    const quantity_map *requests)
{
    for (size_t i = 0; i < requests->n; i++) {
        size_t column = numa_topology_column(z->t, requests->v[i].key);
        struct quantity sum = {0};
        for (size_t k = 0; k < s->n; k++) {
            size_t at = s->zones[k] * z->t->n_names + column;
            if (column >= z->t->n_names || !z->t->present[at])
                return false;
            quantity_add(&sum, &z->amounts[at]);
        }
        if (!quantity_is_zero(&requests->v[i].value) &&
            quantity_cmp(&sum, &requests->v[i].value) < 0)
            return false;
    }
    return true;
}

/* The nearest set of n zones that has the requests; false: none. */
static bool find_set(struct zone_search *z, size_t n, const quantity_map *requests,
                     struct zone_set *ret_set, bool *ret_nearest)
{
    float nearest = MAX_DISTANCE, best = MAX_DISTANCE + 1;
    struct zone_set s;
    bool found = false;
    first_set(&s, n);
    do
        nearest = fminf(nearest, distance_of(z->t, &s));
    while (next_set(&s, z->t->n_zones) && z->tries++ < MAX_TRIES);
    first_set(&s, n);
    do {
        float distance = distance_of(z->t, &s);
        if ((distance == nearest || distance < best) && set_has(z, &s, requests)) {
            found = true;
            best = distance;
            *ret_set = s;
            *ret_nearest = distance == nearest;
            if (*ret_nearest)
                break;
        }
    } while (next_set(&s, z->t->n_zones) && z->tries++ < MAX_TRIES);
    return found;
}

static bool find_smallest_set(struct zone_search *z, const quantity_map *requests,
                              struct zone_set *ret_set, bool *ret_nearest)
{
    z->tries = 0;
    for (size_t n = 1; n <= z->t->n_zones && z->tries < MAX_TRIES; n++)
        if (find_set(z, n, requests, ret_set, ret_nearest))
            return true;
    return false;
}

static bool is_bound_to_zones(const struct numa_topology *t, const quantity_map *requests)
{
    for (size_t i = 0; i < requests->n; i++)
        if (numa_topology_column(t, requests->v[i].key) < t->n_names)
            return true;
    return false;
}

/* Takes the requests from the zones, from the first one as much as it has. */
static void take_from_set(struct zone_search *z, const struct zone_set *s,
                          const quantity_map *requests)
{
    for (size_t i = 0; i < requests->n; i++) {
        size_t column = numa_topology_column(z->t, requests->v[i].key);
        struct quantity rest = requests->v[i].value;
        for (size_t k = 0; k < s->n && !quantity_is_zero(&rest); k++) {
            struct quantity *left = &z->amounts[s->zones[k] * z->t->n_names + column];
            struct quantity taken = quantity_cmp(&rest, left) < 0 ? rest : *left;
            quantity_sub(&rest, &taken);
            quantity_sub(left, &taken);
        }
    }
}

static int64_t score_of_count(size_t n, bool nearest, int64_t max_nodes)
{
    int64_t step = MAX_NODE_SCORE / max_nodes;
    int64_t score = MAX_NODE_SCORE - (int64_t)n * step + (nearest ? step / 2 : 0);
    return MAX(score, 0);
}

static int64_t score_by_count(const struct numa_pod *p, const struct numa_topology *t)
{
    size_t cells = t->n_zones * t->n_names, most = 0;
    size_t n = t->config.pod_scope ? 1 : container_count(p->pod);
    struct zone_search z = {.t = t, .amounts = xcalloc(cells + 1, sizeof(*z.amounts))};
    bool all_nearest = true, fits = true;
    if (cells)
        memcpy(z.amounts, t->available, cells * sizeof(*z.amounts));
    for (size_t i = 0; fits && i < n; i++) {
        const quantity_map *requests =
            t->config.pod_scope ? &p->requests : &container_at(p->pod, i)->resources.requests;
        struct zone_set set;
        bool nearest;
        if (!is_bound_to_zones(t, requests))
            continue;
        fits = find_smallest_set(&z, requests, &set, &nearest);
        if (fits) {
            all_nearest &= nearest;
            most = MAX(most, set.n);
            take_from_set(&z, &set, requests);
        }
    }
    free(z.amounts);
    if (!fits)
        return 0;
    return most ? score_of_count(most, all_nearest, t->config.max_nodes) : MAX_NODE_SCORE;
}

int64_t numa_score(const struct numa_scoring *s, const struct numa_pod *p,
                   const struct numa_topology *t)
{
    return s->strategy == NUMA_LEAST_NODES ? score_by_count(p, t) : score_by_allocation(s, p, t);
}
