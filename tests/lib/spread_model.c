/* SPDX-License-Identifier: Apache-2.0 */
#include "spread_model.h"

#include <math.h>

#include "api/toleration.h"

/* --- constraints ------------------------------------------------------------------------------ */

static void init(struct spread_model *m, const struct cache *cache, const struct pod *pod)
{
    const struct affinity *a = pod->spec.affinity;
    *m = (struct spread_model){.cache = cache, .pod = pod, .all_keys = true};
    arena_init(&m->arena, 0);
    required_node_affinity_compile(&pod->spec.node_selector, a ? a->node_affinity : NULL, &m->arena,
                                   &m->affinity);
}

static void add(struct spread_model *m, const struct topology_spread_constraint *c)
{
    struct selector *s = &m->selectors[m->n];
    int r = selector_compile(c->label_selector, &m->arena, s, NULL);
    assert(r == 0 && m->n < SPREAD_MODEL_MAX);
    (void)r;
    for (size_t i = 0; !s->nothing && i < c->match_label_keys.n; i++) {
        struct str *value =
            (struct str *)str_map_get(&m->pod->metadata.labels, c->match_label_keys.v[i]);
        if (!value)
            continue;
        struct requirement *rs = arena_array(&m->arena, struct requirement, s->requirements.n + 1);
        if (s->requirements.n)
            memcpy(rs, s->requirements.v, s->requirements.n * sizeof(*rs));
        rs[s->requirements.n++] = (struct requirement){
            .key = c->match_label_keys.v[i], .op = SELECTOR_IN, .values = {value, 1}};
        s->requirements.v = rs;
    }
    m->constraints[m->n++] = c;
}

void spread_model_init(struct spread_model *m, const struct cache *cache, const struct pod *pod,
                       const char *action)
{
    init(m, cache, pod);
    for (size_t i = 0; i < pod->spec.topology_spread_constraints.n; i++)
        if (str_is(pod->spec.topology_spread_constraints.v[i].when_unsatisfiable, action))
            add(m, &pod->spec.topology_spread_constraints.v[i]);
}

void spread_model_init_system(struct spread_model *m, const struct cache *cache,
                              const struct pod *pod, const struct selector *from)
{
    static const struct topology_spread_constraint defaults[] = {
        {.topology_key = STR_INIT(LABEL_HOSTNAME), .max_skew = 3},
        {.topology_key = STR_INIT(LABEL_TOPOLOGY_ZONE), .max_skew = 5},
    };
    init(m, cache, pod);
    m->all_keys = false;
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        m->constraints[m->n] = &defaults[i];
        m->selectors[m->n++] = *from;
    }
}

void spread_model_release(struct spread_model *m)
{
    arena_release(&m->arena);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static const struct str *label(const struct berth_node *node, struct str key)
{
    return str_map_get(&node->node->metadata.labels, key);
}

/* As in a Go map: a missing key is empty. */
static struct str value_of(const struct berth_node *node, struct str key)
{
    const struct str *value = label(node, key);
    return value ? *value : STR("");
}

static bool has_keys(const struct spread_model *m, const struct berth_node *node)
{
    for (size_t i = 0; i < m->n; i++)
        if (!label(node, m->constraints[i]->topology_key))
            return false;
    return true;
}

/* Whether the node counts for the constraint. */
static bool counts(const struct spread_model *m, const struct berth_node *node, size_t i)
{
    const struct topology_spread_constraint *c = m->constraints[i];
    struct taint_list taints = {node->node->spec.taints.v, node->node->spec.taints.n};
    struct toleration_list tolerations = {m->pod->spec.tolerations.v, m->pod->spec.tolerations.n};
    if (m->all_keys && !has_keys(m, node))
        return false;
    if (!str_is(c->node_affinity_policy, "Ignore") &&
        !required_node_affinity_matches(&m->affinity, &node->node->metadata.labels,
                                        node->node->metadata.name))
        return false;
    return !str_is(c->node_taints_policy, "Honor") ||
           !taints_find_untolerated(taints, tolerations, TAINT_BARS, false);
}

static int64_t pods_on(const struct spread_model *m, const struct berth_node *node, size_t i)
{
    const struct selector *s = &m->selectors[i];
    int64_t n = 0;
    if (!s->nothing && s->requirements.n == 0)
        return 0;
    for (size_t k = 0; k < node->pods.n; k++) {
        const struct object_meta *meta = &node->pods.v[k]->pod->metadata;
        n += !meta->deletion_timestamp.set && str_eq(meta->namespace, m->pod->metadata.namespace) &&
             selector_matches(s, &meta->labels);
    }
    return n;
}

/* Pods in the domain; *ret_there: whether it has a node that counts. */
static int64_t pods_in(const struct spread_model *m, size_t i, struct str value, bool *ret_there)
{
    int64_t n = 0;
    *ret_there = false;
    for (size_t k = 0; k < m->cache->order.n; k++) {
        const struct berth_node *node = m->cache->order.v[k];
        if (!counts(m, node, i) || !str_eq(value, value_of(node, m->constraints[i]->topology_key)))
            continue;
        *ret_there = true;
        n += pods_on(m, node, i);
    }
    return n;
}

/* Whether no earlier node of the list is in the same domain. */
static bool is_first(const struct spread_model *m, size_t i, size_t place)
{
    struct str key = m->constraints[i]->topology_key;
    for (size_t k = 0; k < place; k++)
        if (counts(m, m->cache->order.v[k], i) &&
            str_eq(value_of(m->cache->order.v[k], key), value_of(m->cache->order.v[place], key)))
            return false;
    return counts(m, m->cache->order.v[place], i);
}

/* --- filter ----------------------------------------------------------------------------------- */

static int64_t lowest(const struct spread_model *m, size_t i)
{
    const struct topology_spread_constraint *c = m->constraints[i];
    int64_t least = INT32_MAX, n_domains = 0;
    bool there;
    for (size_t k = 0; k < m->cache->order.n; k++) {
        if (!is_first(m, i, k))
            continue;
        n_domains++;
        least = MIN(least, pods_in(m, i, value_of(m->cache->order.v[k], c->topology_key), &there));
    }
    return n_domains < (c->min_domains ? *c->min_domains : 1) ? 0 : least;
}

enum berth_code spread_model_filter(const struct spread_model *m, const struct berth_node *node)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct topology_spread_constraint *c = m->constraints[i];
        const struct str *value = label(node, c->topology_key);
        bool there;
        if (!value)
            return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
        int64_t pods = pods_in(m, i, *value, &there);
        bool self = selector_matches(&m->selectors[i], &m->pod->metadata.labels);
        if (pods + self - lowest(m, i) > c->max_skew)
            return BERTH_UNSCHEDULABLE;
    }
    return BERTH_SUCCESS;
}

/* --- score ------------------------------------------------------------------------------------ */

static bool is_ignored(const struct spread_model *m, const struct berth_node *node)
{
    return m->all_keys && !has_keys(m, node);
}

static double weight(const struct spread_model *m, size_t i)
{
    struct str key = m->constraints[i]->topology_key;
    size_t n = 0;
    for (size_t k = 0; k < m->cache->order.n; k++) {
        const struct berth_node *node = m->cache->order.v[k];
        bool is_new = !is_ignored(m, node);
        for (size_t j = 0; is_new && j < k && !str_is(key, LABEL_HOSTNAME); j++)
            is_new = is_ignored(m, m->cache->order.v[j]) ||
                     !str_eq(value_of(m->cache->order.v[j], key), value_of(node, key));
        n += is_new;
    }
    return log((double)(n + 2));
}

void spread_model_score(const struct spread_model *m, int64_t *scores)
{
    double weights[SPREAD_MODEL_MAX];
    for (size_t i = 0; i < m->n; i++)
        weights[i] = weight(m, i);
    for (size_t k = 0; k < m->cache->order.n; k++) {
        const struct berth_node *node = m->cache->order.v[k];
        double sum = 0;
        for (size_t i = 0; !is_ignored(m, node) && i < m->n; i++) {
            const struct topology_spread_constraint *c = m->constraints[i];
            const struct str *value = label(node, c->topology_key);
            bool there;
            if (!value)
                continue;
            int64_t pods = str_is(c->topology_key, LABEL_HOSTNAME) ? pods_on(m, node, i)
                                                                   : pods_in(m, i, *value, &there);
            sum += (double)pods * weights[i] + (c->max_skew - 1);
        }
        scores[k] = (int64_t)round(sum);
    }
}

void spread_model_normalize(const struct spread_model *m, int64_t *scores)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t k = 0; k < m->cache->order.n; k++)
        if (!is_ignored(m, m->cache->order.v[k])) {
            least = MIN(least, scores[k]);
            most = MAX(most, scores[k]);
        }
    for (size_t k = 0; k < m->cache->order.n; k++)
        scores[k] = is_ignored(m, m->cache->order.v[k]) ? 0
                    : most == 0                         ? 100
                                                        : 100 * (most + least - scores[k]) / most;
}
