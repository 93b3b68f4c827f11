/* SPDX-License-Identifier: Apache-2.0 */
#include "affinity_model.h"

/* --- pairs ------------------------------------------------------------------------------------ */

static struct model_pair *find(const model_pairs *pairs, struct str key, struct str value)
{
    for (size_t i = 0; i < pairs->n; i++)
        if (str_eq(pairs->v[i].key, key) && str_eq(pairs->v[i].value, value))
            return &pairs->v[i];
    return NULL;
}

static void add(model_pairs *pairs, const struct node *node, struct str key, int64_t n)
{
    const struct str *value = str_map_get(&node->metadata.labels, key);
    if (!value)
        return;
    struct model_pair *pair = find(pairs, key, *value);
    if (pair)
        pair->n = (int64_t)((uint64_t)pair->n + (uint64_t)n);
    else
        vec_push(pairs, (struct model_pair){key, *value, n});
}

static bool is_empty(const model_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++)
        if (pairs->v[i].n)
            return false;
    return true;
}

/* --- terms ------------------------------------------------------------------------------------ */

/* The pod's terms of one kind; n is 0 if one of them is invalid. */
struct terms {
    const struct pod_affinity_term *term[16];
    int32_t weight[16];
    size_t n;
    bool wrong;
};

enum { NEAR, FAR, NEAR_PREFERRED, FAR_PREFERRED, KINDS };

static bool compiles(const struct affinity_model *m, const struct pod_affinity_term *term)
{
    struct selector s;
    struct arena *a = (struct arena *)&m->arena;
    return selector_compile(term->label_selector, a, &s, NULL) == 0 &&
           selector_compile(term->namespace_selector, a, &s, NULL) == 0;
}

static void take(const struct affinity_model *m, const struct pod_affinity_term *term,
                 int32_t weight, struct terms *terms)
{
    terms->wrong |= !compiles(m, term);
    assert(terms->n < ARRAY_LEN(terms->term));
    terms->term[terms->n] = term;
    terms->weight[terms->n++] = weight;
}

static struct terms terms_of(const struct affinity_model *m, const struct pod *pod, int kind)
{
    struct terms terms = {0};
    const struct affinity *a = pod->spec.affinity;
    const struct pod_affinity *near = a ? a->pod_affinity : NULL;
    const struct pod_anti_affinity *far = a ? a->pod_anti_affinity : NULL;
    for (size_t i = 0; kind == NEAR && near && i < near->required.n; i++)
        take(m, &near->required.v[i], 0, &terms);
    for (size_t i = 0; kind == FAR && far && i < far->required.n; i++)
        take(m, &far->required.v[i], 0, &terms);
    for (size_t i = 0; kind == NEAR_PREFERRED && near && i < near->preferred.n; i++)
        take(m, &near->preferred.v[i].pod_affinity_term, near->preferred.v[i].weight, &terms);
    for (size_t i = 0; kind == FAR_PREFERRED && far && i < far->preferred.n; i++)
        take(m, &far->preferred.v[i].pod_affinity_term, far->preferred.v[i].weight, &terms);
    if (terms.wrong)
        terms.n = 0;
    return terms;
}

static bool matches(const struct affinity_model *m, const struct label_selector *ls,
                    const str_map *labels)
{
    struct selector s;
    return selector_compile(ls, (struct arena *)&m->arena, &s, NULL) == 0 &&
           selector_matches(&s, labels);
}

static bool names(const struct pod_affinity_term *term, const struct pod *owner, struct str name)
{
    if (!term->namespaces.n && !term->namespace_selector)
        return str_eq(owner->metadata.namespace, name);
    for (size_t i = 0; i < term->namespaces.n; i++)
        if (str_eq(term->namespaces.v[i], name))
            return true;
    return false;
}

static const str_map *labels_of(const struct affinity_model *m, struct str namespace)
{
    static const str_map none = {0};
    const struct object *o =
        objects_get(&m->engine->cluster.objects, KIND_NAMESPACE, STR(""), namespace);
    return o ? &object_meta(o)->labels : &none;
}

/* A term of a running pod, applied to the waiting pod. */
static bool means_waiting(const struct affinity_model *m, const struct pod_affinity_term *term,
                          const struct pod *owner)
{
    struct str namespace = m->pod->metadata.namespace;
    return (names(term, owner, namespace) ||
            matches(m, term->namespace_selector, labels_of(m, namespace))) &&
           matches(m, term->label_selector, &m->pod->metadata.labels);
}

/* A term of the waiting pod. */
static bool waiting_means(const struct affinity_model *m, const struct pod_affinity_term *term,
                          const struct pod *other)
{
    static const str_map none = {0};
    const struct label_selector *by_label = term->namespace_selector;
    struct str namespace = other->metadata.namespace;
    bool everything = by_label && !by_label->match_labels.n && !by_label->match_expressions.n;
    bool exists =
        objects_get(&m->engine->cluster.objects, KIND_NAMESPACE, STR(""), namespace) != NULL;
    bool picked = names(term, m->pod, namespace) || everything ||
                  (exists && matches(m, by_label, labels_of(m, namespace))) ||
                  (!m->options.exact_namespaces && matches(m, by_label, &none));
    return picked && matches(m, term->label_selector, &other->metadata.labels);
}

static bool waiting_means_by_all(const struct affinity_model *m, const struct terms *terms,
                                 const struct pod *other)
{
    for (size_t i = 0; i < terms->n; i++)
        if (!waiting_means(m, terms->term[i], other))
            return false;
    return terms->n > 0;
}

/* --- PreFilter and Filter --------------------------------------------------------------------- */

void affinity_model_move(struct affinity_model *m, const struct pod *other, const struct node *node,
                         int64_t by)
{
    struct terms theirs = terms_of(m, other, FAR);
    struct terms near = terms_of(m, m->pod, NEAR), far = terms_of(m, m->pod, FAR);
    for (size_t i = 0; i < theirs.n; i++)
        if (means_waiting(m, theirs.term[i], other))
            add(&m->existing, node, theirs.term[i]->topology_key, by);
    for (size_t i = 0; i < near.n && waiting_means_by_all(m, &near, other); i++)
        add(&m->affinity, node, near.term[i]->topology_key, by);
    for (size_t i = 0; i < far.n; i++)
        if (waiting_means(m, far.term[i], other))
            add(&m->anti, node, far.term[i]->topology_key, by);
}

static int64_t count(const model_pairs *pairs, const struct node *node, struct str key)
{
    const struct str *value = str_map_get(&node->metadata.labels, key);
    const struct model_pair *pair = value ? find(pairs, key, *value) : NULL;
    return pair ? pair->n : 0;
}

static bool is_near(const struct affinity_model *m, const struct node *node)
{
    struct terms near = terms_of(m, m->pod, NEAR);
    bool reached = true;
    for (size_t i = 0; i < near.n; i++) {
        if (!str_map_get(&node->metadata.labels, near.term[i]->topology_key))
            return false;
        reached = reached && count(&m->affinity, node, near.term[i]->topology_key) > 0;
    }
    return reached || (is_empty(&m->affinity) && waiting_means_by_all(m, &near, m->pod));
}

const char *affinity_model_filter(const struct affinity_model *m, const struct node *node)
{
    struct terms far = terms_of(m, m->pod, FAR);
    if (!is_near(m, node))
        return "node(s) didn't match pod affinity rules";
    for (size_t i = 0; i < far.n; i++)
        if (count(&m->anti, node, far.term[i]->topology_key) > 0)
            return "node(s) didn't match pod anti-affinity rules";
    for (size_t i = 0; i < m->existing.n; i++)
        if (count(&m->existing, node, m->existing.v[i].key) > 0)
            return "node(s) didn't satisfy existing pods anti-affinity rules";
    return "";
}

/* --- PreScore and Score ----------------------------------------------------------------------- */

static void score_pod(struct affinity_model *m, const struct pod *other, const struct node *node)
{
    for (int kind = NEAR_PREFERRED; kind <= FAR_PREFERRED; kind++) {
        int32_t sign = kind == NEAR_PREFERRED ? 1 : -1;
        struct terms ours = terms_of(m, m->pod, kind), theirs = terms_of(m, other, kind);
        for (size_t i = 0; i < ours.n; i++)
            if (waiting_means(m, ours.term[i], other))
                add(&m->scores, node, ours.term[i]->topology_key,
                    (int32_t)((uint32_t)ours.weight[i] * (uint32_t)sign));
        for (size_t i = 0; i < theirs.n; i++)
            if (means_waiting(m, theirs.term[i], other))
                add(&m->scores, node, theirs.term[i]->topology_key,
                    (int32_t)((uint32_t)theirs.weight[i] * (uint32_t)sign));
    }
    struct terms hard = terms_of(m, other, NEAR);
    for (size_t i = 0; m->options.hard_weight > 0 && i < hard.n; i++)
        if (means_waiting(m, hard.term[i], other))
            add(&m->scores, node, hard.term[i]->topology_key, m->options.hard_weight);
}

int64_t affinity_model_score(const struct affinity_model *m, const struct node *node)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->scores.n; i++) {
        const struct str *value = str_map_get(&node->metadata.labels, m->scores.v[i].key);
        if (value && str_eq(*value, m->scores.v[i].value))
            sum += (uint64_t)m->scores.v[i].n;
    }
    return (int64_t)sum;
}

/* --- the whole model -------------------------------------------------------------------------- */

static void decide(struct affinity_model *m)
{
    const struct affinity *a = m->pod->spec.affinity;
    bool wrong = false, required = false, preferred = false;
    for (int kind = 0; kind < KINDS; kind++)
        wrong |= terms_of(m, m->pod, kind).wrong;
    if (a && a->pod_affinity) {
        required |= a->pod_affinity->required.n > 0;
        preferred |= a->pod_affinity->preferred.n > 0;
    }
    if (a && a->pod_anti_affinity) {
        required |= a->pod_anti_affinity->required.n > 0;
        preferred |= a->pod_anti_affinity->preferred.n > 0;
    }
    m->pre_filter = wrong ? BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE
                          : (required || m->existing.n ? BERTH_SUCCESS : BERTH_SKIP);
    if (m->options.ignore_preferred && !preferred)
        m->pre_score = BERTH_SKIP;
    else
        m->pre_score = wrong ? BERTH_ERROR : (m->scores.n ? BERTH_SUCCESS : BERTH_SKIP);
}

void affinity_model_begin(struct affinity_model *m, struct engine *engine, const struct pod *pod,
                          struct affinity_options options)
{
    *m = (struct affinity_model){.engine = engine, .options = options, .pod = pod};
    arena_init(&m->arena, 0);
    map_each (e, &engine->cache.nodes) {
        const struct berth_node *node = e->value;
        for (size_t i = 0; node->object && i < node->pods.n; i++) {
            affinity_model_move(m, node->pods.v[i]->pod, node->node, 1);
            score_pod(m, node->pods.v[i]->pod, node->node);
        }
    }
    decide(m);
}

void affinity_model_end(struct affinity_model *m)
{
    vec_release(&m->existing);
    vec_release(&m->affinity);
    vec_release(&m->anti);
    vec_release(&m->scores);
    arena_release(&m->arena);
}
