/* SPDX-License-Identifier: Apache-2.0 */
/* own_terms.c - the pending pod's own terms, with their namespaces resolved. */
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

struct topology *topology_of(const struct inter_pod_affinity *self, struct str key)
{
    return topologies_get(&self->cluster->topologies, key);
}

const str_map *namespace_labels(const struct inter_pod_affinity *self, const struct pod *pod)
{
    static const str_map none = {0};
    const struct object *namespace =
        objects_get(&self->cluster->objects, KIND_NAMESPACE, STR(""), pod->metadata.namespace);
    return namespace ? &object_meta(namespace)->labels : &none;
}

/*
 * Namespaces that the selector matches join those that are listed (upstream:
 * mergeAffinityTermNamespacesIfNotEmpty). Since 1.34 upstream keeps the selector as well and
 * matches it against empty labels, so that a selector that only excludes (NotIn, DoesNotExist)
 * selects every namespace. The feature gate BerthExactNamespaceSelectors corrects that.
 */
struct pod_term own_term(struct inter_pod_affinity *self, const struct affinity_term *term)
{
    const struct selector *by_label = &term->namespace_selector;
    bool all = !by_label->nothing && by_label->requirements.n == 0;
    struct pod_term own = {.selector = term->pods.selector};
    if (all || (term->pods.any_namespace && !self->exact_namespaces)) {
        own.any_namespace = true;
        return own;
    }
    namespace_list names = {term->pods.namespaces.v, term->pods.namespaces.n};
    if (!by_label->nothing)
        names = namespace_sets_get(&self->cluster->namespace_sets, names, by_label);
    own.namespaces.v = names.v;
    own.namespaces.n = names.n;
    return own;
}

bool own_terms_make(struct inter_pod_affinity *self, const struct affinity_set *set,
                    enum affinity_kind kind, struct arena *a, struct own_terms *ret_own)
{
    size_t n = set ? set->of[kind].n : 0, kept = 0;
    struct pod_term *terms = arena_array(a, struct pod_term, n);
    struct topology **topologies = arena_array(a, struct topology *, n);
    for (size_t i = 0; i < n; i++) {
        struct topology *t = topology_of(self, set->of[kind].v[i].topology_key);
        if (!topology_is_none(t)) {
            terms[kept] = own_term(self, &set->of[kind].v[i]);
            topologies[kept++] = t;
        }
    }
    *ret_own = (struct own_terms){.terms = {terms, kept}, .topologies = topologies};
    return kept == n;
}
