/* SPDX-License-Identifier: Apache-2.0 */
/* extended.c - extended resources of a pod as requests of a claim (upstream:
 * createRequestsAndMappings). */
#include "plugins/dynamic_resources/dynamic_resources.h"

/* --- which resources -------------------------------------------------------------------------- */

/* Only what the pod itself says counts: no resize, pod-level requests included. */
bool extended_requests_find(struct claims_state *s, const struct pod *pod)
{
    static const struct resource_gates gates = {.pod_level_resources = true};
    struct intern *names = handle_cluster(s->plugin->handle)->cache->names;
    quantity_map requests;
    bool any = false;
    pod_requests(pod, &gates, NULL, &s->arena, &requests);
    s->extended = arena_array(&s->arena, struct extended_request, requests.n);
    s->n_extended = 0;
    for (size_t i = 0; i < requests.n; i++) {
        struct str name = requests.v[i].key;
        if (quantity_is_zero(&requests.v[i].value) || !resource_may_be_devices(name))
            continue;
        bool devices = !str_empty(extended_classes_find(s->plugin->classes, name));
        /* A name that is not in use has no atom: no node has the resource. */
        s->extended[s->n_extended++] =
            (struct extended_request){name, intern_find(names, name), devices};
        any |= devices;
    }
    return any;
}

int64_t node_scalar(const struct berth_node *node, atom_t name, bool *ret_exists)
{
    *ret_exists = false;
    for (size_t i = 0; name && i < node->allocatable.scalars.n; i++) {
        if (node->allocatable.scalars.v[i].name != name)
            continue;
        *ret_exists = true;
        return node->allocatable.scalars.v[i].amount;
    }
    return 0;
}

/* --- requests of containers ------------------------------------------------------------------- */

/* One resource and the class that provides it. */
struct one_resource {
    struct str resource, class_name;
    struct arena *arena;
};

/* The containers of a pod, init containers first, and what each requests. */
struct container_requests {
    const struct pod *pod;
    size_t n;
    struct device_request *v; /* count 0: no request */
    struct exact_device_request *exact;
    size_t *own; /* index of the mapping to its own request */
};

typedef VEC(struct container_extended_resource_request) mapping_vec;
typedef VEC(struct device_request) request_vec;

static const struct container *container_at(const struct pod *pod, size_t i)
{
    size_t n = pod->spec.init_containers.n;
    return i < n ? &pod->spec.init_containers.v[i] : &pod->spec.containers.v[i - n];
}

/* An init container that ends before the others start. */
static bool is_short_lived(const struct pod *pod, size_t i)
{
    return i < pod->spec.init_containers.n &&
           !str_is(pod->spec.init_containers.v[i].restart_policy, "Always");
}

static bool has_request(const struct container_requests *c, size_t i)
{
    return c->exact[i].count > 0;
}

static void map_to(mapping_vec *mappings, const struct container *container, struct str resource,
                   struct str request)
{
    vec_push(mappings,
             (struct container_extended_resource_request){container->name, resource, request});
}

/* The container's request for the resource; its position among the names; 0 if none. */
static int64_t amount_requested(const struct container *c, struct str resource, size_t *ret_index)
{
    const quantity_map *requests = &c->resources.requests;
    const struct quantity *q = quantity_map_get(requests, resource);
    if (!q)
        return 0;
    int64_t amount = quantity_value(q);
    struct quantity whole = quantity_of(amount, QUANTITY_DECIMAL_SI);
    for (size_t i = 0; i < requests->n; i++)
        if (str_eq(requests->v[i].key, resource))
            *ret_index = i;
    return quantity_cmp(q, &whole) == 0 ? MAX(amount, 0) : 0;
}

/*
 * Sets the request of container i. A container that ends before others start uses what those
 * request; only the rest is requested in addition.
 */
static void request_for(const struct one_resource *one, struct container_requests *c, size_t i,
                        mapping_vec *mappings)
{
    const struct container *container = container_at(c->pod, i);
    size_t index = 0;
    int64_t want = amount_requested(container, one->resource, &index), have = 0;
    if (!want)
        return;
    for (size_t k = i; is_short_lived(c->pod, i) && k < c->n; k++) {
        if (is_short_lived(c->pod, k) || !has_request(c, k))
            continue;
        have += c->exact[k].count;
        map_to(mappings, container, one->resource, c->v[k].name);
        if (have >= want)
            return;
    }
    c->exact[i] = (struct exact_device_request){.device_class_name = one->class_name,
                                                .allocation_mode = STR("ExactCount"),
                                                .count = want - have};
    c->v[i] = (struct device_request){
        .name = arena_printf(one->arena, "container-%zu-request-%zu", i, index),
        .exactly = &c->exact[i],
    };
    c->own[i] = mappings->n;
    map_to(mappings, container, one->resource, c->v[i].name);
}

/* Containers that run one after the other share the largest request. Returns its index or n. */
static size_t share_largest(struct container_requests *c, mapping_vec *mappings)
{
    size_t largest = c->n;
    for (size_t i = 0; i < c->n; i++)
        if (is_short_lived(c->pod, i) && has_request(c, i) &&
            (largest == c->n || c->exact[i].count > c->exact[largest].count))
            largest = i;
    for (size_t i = 0; largest < c->n && i < c->n; i++)
        if (is_short_lived(c->pod, i) && has_request(c, i))
            mappings->v[c->own[i]].request_name = c->v[largest].name;
    return largest;
}

static void add_resource(const struct one_resource *one, const struct pod *pod, request_vec *all,
                         mapping_vec *mappings)
{
    size_t n = pod->spec.init_containers.n + pod->spec.containers.n;
    struct container_requests c = {
        .pod = pod,
        .n = n,
        .v = arena_array(one->arena, struct device_request, n),
        .exact = arena_array(one->arena, struct exact_device_request, n),
        .own = arena_array(one->arena, size_t, n),
    };
    mapping_vec shorts = {0};
    for (size_t i = 0; i < n; i++)
        if (!is_short_lived(pod, i))
            request_for(one, &c, i, mappings);
    for (size_t i = 0; i < n; i++)
        if (is_short_lived(pod, i))
            request_for(one, &c, i, &shorts);
    size_t largest = share_largest(&c, &shorts);
    for (size_t i = 0; i < n; i++)
        if (has_request(&c, i) && (!is_short_lived(pod, i) || i == largest))
            vec_push(all, c.v[i]);
    for (size_t i = 0; i < shorts.n; i++)
        vec_push(mappings, shorts.v[i]);
    vec_release(&shorts);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct device_request *)a)->name,
                   ((const struct device_request *)b)->name);
}

void extended_claim_make(const struct claims_state *s, const struct pod *pod,
                         const struct berth_node *node, struct arena *a, struct extended_claim *ret)
{
    request_vec requests = {0};
    mapping_vec mappings = {0};
    for (size_t i = 0; i < s->n_extended; i++) {
        const struct extended_request *e = &s->extended[i];
        bool exists;
        if (!e->devices || (node && node_scalar(node, e->name, &exists)))
            continue;
        const struct one_resource one = {
            .resource = e->resource,
            .class_name = extended_classes_find(s->plugin->classes, e->resource),
            .arena = a,
        };
        add_resource(&one, pod, &requests, &mappings);
    }
    if (requests.n > 1)
        qsort(requests.v, requests.n, sizeof(*requests.v), by_name);
    *ret = (struct extended_claim){0};
    ret->requests.n = requests.n;
    ret->requests.v = arena_array(a, struct device_request, requests.n);
    ret->mappings.n = mappings.n;
    ret->mappings.v = arena_array(a, struct container_extended_resource_request, mappings.n);
    if (requests.n)
        memcpy(ret->requests.v, requests.v, requests.n * sizeof(*requests.v));
    if (mappings.n)
        memcpy(ret->mappings.v, mappings.v, mappings.n * sizeof(*mappings.v));
    vec_release(&requests);
    vec_release(&mappings);
}
