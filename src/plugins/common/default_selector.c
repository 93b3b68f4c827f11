/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/default_selector.h"

#include "api/apps.h"
#include "api/core.h"

typedef VEC(struct str_entry) label_set;

static void merge(label_set *set, const str_map *labels)
{
    for (size_t i = 0; i < labels->n; i++)
        vec_push(set, labels->v[i]);
}

/* A Service without a selector selects nothing. */
static bool selects(const str_map *selector, const str_map *labels)
{
    for (size_t i = 0; i < selector->n; i++) {
        const struct str *value = str_map_get(labels, selector->v[i].key);
        if (!value || !str_eq(*value, selector->v[i].value))
            return false;
    }
    return selector->n > 0;
}

static void merge_services(struct objects *objects, const struct pod *pod, label_set *set)
{
    const object_list *services = objects_in(objects, KIND_SERVICE, pod->metadata.namespace);
    for (size_t i = 0; services && i < services->n; i++) {
        const struct service *service = object_service(services->v[i]);
        if (selects(&service->spec.selector, &pod->metadata.labels))
            merge(set, &service->spec.selector);
    }
}

/* --- owners ----------------------------------------------------------------------------------- */

static bool is_kind(const struct owner_reference *owner, const char *kind, const char *version)
{
    return str_is(owner->kind, kind) && str_is(owner->api_version, version);
}

/* Adds the owner's selector; an invalid selector or a missing owner adds nothing. */
static void owner_requirements(struct objects *objects, const struct pod *pod,
                               const struct owner_reference *owner, struct arena *a,
                               struct selector *ret_selector)
{
    const struct label_selector *selector = NULL;
    struct object *object = NULL;
    if (is_kind(owner, "ReplicaSet", "apps/v1")) {
        object = objects_get(objects, KIND_REPLICA_SET, pod->metadata.namespace, owner->name);
        selector = object ? object_replica_set(object)->spec.selector : NULL;
    } else if (is_kind(owner, "StatefulSet", "apps/v1")) {
        object = objects_get(objects, KIND_STATEFUL_SET, pod->metadata.namespace, owner->name);
        selector = object ? object_stateful_set(object)->spec.selector : NULL;
    }
    if (!selector || selector_compile(selector, a, ret_selector, NULL) < 0)
        *ret_selector = (struct selector){0};
}

static void merge_controller(struct objects *objects, const struct pod *pod,
                             const struct owner_reference *owner, label_set *set)
{
    /* "/v1" is "v1": the empty group. */
    if (!is_kind(owner, "ReplicationController", "v1") &&
        !is_kind(owner, "ReplicationController", "/v1"))
        return;
    struct object *object =
        objects_get(objects, KIND_REPLICATION_CONTROLLER, pod->metadata.namespace, owner->name);
    if (object)
        merge(set, &object_replication_controller(object)->spec.selector);
}

/* --- all resources ---------------------------------------------------------------------------- */

/* The last of several values for a key counts. Returns the number that remains. */
static size_t drop_overruled(struct requirement *rs, size_t n)
{
    size_t left = 0;
    requirements_sort(rs, n);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || !str_eq(rs[i].key, rs[i + 1].key))
            rs[left++] = rs[i];
    return left;
}

static void make_selector(const label_set *set, const struct selector *more, struct arena *a,
                          struct selector *ret_selector)
{
    struct requirement *rs = arena_array(a, struct requirement, set->n + more->requirements.n);
    struct str *values = arena_array(a, struct str, set->n);
    for (size_t i = 0; i < set->n; i++) {
        values[i] = set->v[i].value;
        rs[i] = (struct requirement){
            .key = set->v[i].key,
            .op = SELECTOR_EQUALS,
            .values = {&values[i], 1},
        };
    }
    size_t n = drop_overruled(rs, set->n);
    if (more->requirements.n)
        memcpy(&rs[n], more->requirements.v, more->requirements.n * sizeof(*rs));
    n += more->requirements.n;
    requirements_sort(rs, n);
    *ret_selector = (struct selector){.requirements = {rs, n}};
}

void default_selector(struct objects *objects, const struct pod *pod, struct arena *a,
                      struct selector *ret_selector)
{
    const struct owner_reference *owner = object_meta_controller(&pod->metadata);
    struct selector more = {0};
    label_set set = {0};
    merge_services(objects, pod, &set);
    if (owner) {
        merge_controller(objects, pod, owner, &set);
        owner_requirements(objects, pod, owner, a, &more);
    }
    make_selector(&set, &more, a, ret_selector);
    vec_release(&set);
}
