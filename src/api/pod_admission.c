/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pod_admission.h"

#include "api/node.h"

/* --- lists and maps --------------------------------------------------------------------------- */

static int compare_entries(const void *a, const void *b)
{
    const struct str_entry *x = a, *y = b;
    return str_cmp(x->key, y->key);
}

void str_map_add(str_map *map, const struct str_entry *more, size_t n, struct arena *a)
{
    struct str_entry *v = arena_array(a, struct str_entry, map->n + n);
    size_t kept = 0;
    for (size_t i = 0; i < map->n; i++) {
        bool replaced = false;
        for (size_t k = 0; k < n && !replaced; k++)
            replaced = str_eq(map->v[i].key, more[k].key);
        if (!replaced)
            v[kept++] = map->v[i];
    }
    memcpy(v + kept, more, n * sizeof(*v));
    map->v = v;
    map->n = kept + n;
    qsort(v, map->n, sizeof(*v), compare_entries);
}

static bool has_toleration(const struct pod_spec *spec, const struct toleration *t)
{
    for (size_t i = 0; i < spec->tolerations.n; i++)
        if (desc_equal(&toleration_type, &spec->tolerations.v[i], t))
            return true;
    return false;
}

void pod_add_tolerations(struct pod_spec *spec, const struct toleration *more, size_t n,
                         struct arena *a)
{
    struct toleration *v = arena_array(a, struct toleration, spec->tolerations.n + n);
    if (spec->tolerations.n)
        memcpy(v, spec->tolerations.v, spec->tolerations.n * sizeof(*v));
    spec->tolerations.v = v;
    for (size_t i = 0; i < n; i++)
        if (!has_toleration(spec, &more[i]))
            v[spec->tolerations.n++] = more[i];
}

static int compare_quantities(const void *a, const void *b)
{
    const struct quantity_entry *x = a, *y = b;
    return str_cmp(x->key, y->key);
}

/* Adds the entries that the map does not have. */
static void quantity_map_fill(quantity_map *map, const quantity_map *from, struct arena *a)
{
    struct quantity_entry *v = arena_array(a, struct quantity_entry, map->n + from->n);
    size_t n = map->n;
    if (n)
        memcpy(v, map->v, n * sizeof(*v));
    for (size_t i = 0; i < from->n; i++)
        if (!quantity_map_get(map, from->v[i].key))
            v[n++] = from->v[i];
    map->v = v;
    map->n = n;
    qsort(v, n, sizeof(*v), compare_quantities);
}

/* --- API defaults ----------------------------------------------------------------------------- */

static void default_container(struct container *c, bool host_network, struct arena *a)
{
    if (c->resources.limits.n)
        quantity_map_fill(&c->resources.requests, &c->resources.limits, a);
    for (size_t i = 0; host_network && i < c->ports.n; i++)
        if (c->ports.v[i].host_port == 0)
            c->ports.v[i].host_port = c->ports.v[i].container_port;
}

static bool container_asks(const struct pod_spec *spec, struct str resource)
{
    for (size_t i = 0; i < spec->containers.n; i++)
        if (quantity_map_get(&spec->containers.v[i].resources.requests, resource))
            return true;
    for (size_t i = 0; i < spec->init_containers.n; i++)
        if (quantity_map_get(&spec->init_containers.v[i].resources.requests, resource))
            return true;
    return false;
}

/* Pod-level limits become requests that neither the pod nor a container has. */
static void default_pod_requests(struct pod_spec *spec, struct arena *a)
{
    if (!spec->resources)
        return;
    const quantity_map *limits = &spec->resources->limits;
    quantity_map missing = {.v = arena_array(a, struct quantity_entry, limits->n)};
    for (size_t i = 0; i < limits->n; i++) {
        struct str key = limits->v[i].key;
        bool supported =
            str_is(key, "cpu") || str_is(key, "memory") || str_starts(key, STR("hugepages-"));
        if (supported && !container_asks(spec, key))
            missing.v[missing.n++] = limits->v[i];
    }
    if (missing.n)
        quantity_map_fill(&spec->resources->requests, &missing, a);
}

/* --- label keys ------------------------------------------------------------------------------- */

static bool has_requirement(const struct label_selector *s, struct str key, const char *operator,
                            struct str value)
{
    for (size_t i = 0; i < s->match_expressions.n; i++) {
        const struct label_selector_requirement *r = &s->match_expressions.v[i];
        if (str_eq(r->key, key) && str_is(r->operator, operator) && r->values.n == 1 &&
            str_eq(r->values.v[0], value))
            return true;
    }
    return false;
}

/*
 * Adds requirements for the pod's own values of these labels (upstream: matchLabelKeys,
 * mismatchLabelKeys).
 */
static void apply_keys(struct label_selector *s, const struct str *keys, size_t n,
                       const char *operator, const str_map * labels, struct arena *a)
{
    size_t have = s->match_expressions.n;
    struct label_selector_requirement *v =
        arena_array(a, struct label_selector_requirement, have + n);
    if (have)
        memcpy(v, s->match_expressions.v, have * sizeof(*v));
    s->match_expressions.v = v;
    for (size_t i = 0; i < n; i++) {
        const struct str *value = str_map_get(labels, keys[i]);
        if (!value || has_requirement(s, keys[i], operator, * value))
            continue;
        struct label_selector_requirement *r = &v[s->match_expressions.n++];
        r->key = keys[i];
        r->operator= str_of(operator);
        r->values.v = arena_new(a, struct str);
        r->values.v[0] = *value;
        r->values.n = 1;
    }
}

static void apply_term_keys(struct pod_affinity_term *t, const str_map *labels, struct arena *a)
{
    if (!t->label_selector)
        return;
    if (t->match_label_keys.n)
        apply_keys(t->label_selector, t->match_label_keys.v, t->match_label_keys.n, "In", labels,
                   a);
    if (t->mismatch_label_keys.n)
        apply_keys(t->label_selector, t->mismatch_label_keys.v, t->mismatch_label_keys.n, "NotIn",
                   labels, a);
}

static void apply_label_keys(struct pod *pod, struct arena *a)
{
    const str_map *labels = &pod->metadata.labels;
    struct affinity *affinity = pod->spec.affinity;
    struct pod_affinity *near = affinity ? affinity->pod_affinity : NULL;
    struct pod_anti_affinity *far = affinity ? affinity->pod_anti_affinity : NULL;
    for (size_t i = 0; near && i < near->required.n; i++)
        apply_term_keys(&near->required.v[i], labels, a);
    for (size_t i = 0; near && i < near->preferred.n; i++)
        apply_term_keys(&near->preferred.v[i].pod_affinity_term, labels, a);
    for (size_t i = 0; far && i < far->required.n; i++)
        apply_term_keys(&far->required.v[i], labels, a);
    for (size_t i = 0; far && i < far->preferred.n; i++)
        apply_term_keys(&far->preferred.v[i].pod_affinity_term, labels, a);
    for (size_t i = 0; i < pod->spec.topology_spread_constraints.n; i++) {
        struct topology_spread_constraint *c = &pod->spec.topology_spread_constraints.v[i];
        if (c->label_selector && c->match_label_keys.n)
            apply_keys(c->label_selector, c->match_label_keys.v, c->match_label_keys.n, "In",
                       labels, a);
    }
}

/* --- DefaultTolerationSeconds ----------------------------------------------------------------- */

static bool tolerates_execution(const struct pod_spec *spec, const char *key)
{
    for (size_t i = 0; i < spec->tolerations.n; i++) {
        const struct toleration *t = &spec->tolerations.v[i];
        if ((str_empty(t->key) || str_is(t->key, key)) &&
            (str_empty(t->effect) || str_is(t->effect, TAINT_EFFECT_NO_EXECUTE)))
            return true;
    }
    return false;
}

static void default_tolerations(struct pod_spec *spec, struct arena *a)
{
    static const char *const keys[] = {TAINT_NODE_NOT_READY, TAINT_NODE_UNREACHABLE};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct toleration t = {.key = str_of(keys[i]),
                               .operator= STR("Exists"),
                               .effect = STR(TAINT_EFFECT_NO_EXECUTE)};
        if (!tolerates_execution(spec, keys[i]))
            pod_add_tolerations(spec, &t, 1, a);
    }
}

void pod_set_defaults(struct pod *pod, struct arena *a)
{
    struct pod_spec *spec = &pod->spec;
    if (str_empty(spec->scheduler_name))
        spec->scheduler_name = STR(DEFAULT_SCHEDULER_NAME);
    for (size_t i = 0; i < spec->containers.n; i++)
        default_container(&spec->containers.v[i], spec->host_network, a);
    for (size_t i = 0; i < spec->init_containers.n; i++)
        default_container(&spec->init_containers.v[i], spec->host_network, a);
    default_pod_requests(spec, a);
    apply_label_keys(pod, a);
    default_tolerations(spec, a);
}

/* --- Priority --------------------------------------------------------------------------------- */

static const struct priority_class system_classes[] = {
    {.metadata.name = STR_INIT("system-node-critical"), .value = 2000001000},
    {.metadata.name = STR_INIT("system-cluster-critical"), .value = 2000000000},
};

const struct priority_class *priority_class_find(const struct priority_class *const *classes,
                                                 size_t n, struct str name)
{
    const struct priority_class *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (name.n && str_eq(classes[i]->metadata.name, name))
            return classes[i];
        if (!name.n && classes[i]->global_default && (!found || classes[i]->value < found->value))
            found = classes[i];
    }
    for (size_t i = 0; i < ARRAY_LEN(system_classes) && name.n; i++)
        if (str_eq(system_classes[i].metadata.name, name))
            return &system_classes[i];
    return found;
}

void pod_set_priority(struct pod *pod, const struct priority_class *class, struct arena *a)
{
    struct pod_spec *spec = &pod->spec;
    if (!spec->priority) {
        spec->priority = arena_new(a, int32_t);
        *spec->priority = class ? class->value : 0;
    }
    if (class && str_empty(spec->preemption_policy))
        spec->preemption_policy = class->preemption_policy;
}

/* --- RuntimeClass ----------------------------------------------------------------------------- */

int pod_set_runtime_class(struct pod *pod, const struct runtime_class *class, struct arena *a,
                          struct err *reterr)
{
    struct pod_spec *spec = &pod->spec;
    if (class->overhead)
        spec->overhead = class->overhead->pod_fixed;
    if (!class->scheduling)
        return 0;
    const str_map *selector = &class->scheduling->node_selector;
    for (size_t i = 0; i < selector->n; i++) {
        const struct str *own = str_map_get(&spec->node_selector, selector->v[i].key);
        if (own && !str_eq(*own, selector->v[i].value))
            return err_set(reterr, -EINVAL,
                           "spec.nodeSelector[%.*s]: runtime class \"%.*s\" requires \"%.*s\"",
                           STR_ARG(selector->v[i].key), STR_ARG(class->metadata.name),
                           STR_ARG(selector->v[i].value));
    }
    if (selector->n)
        str_map_add(&spec->node_selector, selector->v, selector->n, a);
    if (class->scheduling->tolerations.n)
        pod_add_tolerations(spec, class->scheduling->tolerations.v,
                            class->scheduling->tolerations.n, a);
    return 0;
}
