/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_allocatable.c - devices that take cpu, memory and huge pages of their node
 * (DRANodeAllocatableResources; upstream: nodeallocatabledynamicresources.go).
 *
 * A device may map to resources of the node. What the claims of a pod take in this way is written
 * to the pod's status, and counts on the node like requests of its containers.
 */
#include "engine/cycle/cycle.h"
#include "plugins/dynamic_resources/allocation_run.h"

struct claim_name {
    struct str name;  /* of the entry in the pod's spec */
    struct str claim; /* its claim's */
};

/* The claims of one pod. */
struct collector {
    const struct claims_state *state;
    const struct pod *pod;
    struct arena *arena;
    VEC(struct node_allocatable_resource_claim_status) statuses;
    /* The statuses by the name that containers use, sorted. */
    VEC(struct claim_name) names;
    bool mapped;
    struct buf *why;
};

/* --- amounts ---------------------------------------------------------------------------------- */

static struct quantity *entry_of(quantity_map *map, size_t capacity, struct str key)
{
    size_t i = 0;
    while (i < map->n && str_cmp(map->v[i].key, key) < 0)
        i++;
    if (i < map->n && str_eq(map->v[i].key, key))
        return &map->v[i].value;
    assert(map->n < capacity);
    (void)capacity;
    memmove(&map->v[i + 1], &map->v[i], (map->n - i) * sizeof(map->v[0]));
    map->n++;
    map->v[i] = (struct quantity_entry){.key = key};
    return &map->v[i].value;
}

/* Returns false if the mapping does not apply to the result. */
static bool amount_of(const struct device_request_allocation_result *r,
                      const struct node_allocatable_resource_mapping *m, struct quantity *ret)
{
    if (str_empty(m->capacity_key)) {
        *ret = m->allocation_multiplier ? *m->allocation_multiplier : (struct quantity){0};
        return true;
    }
    const struct quantity *consumed = quantity_map_get(&r->consumed_capacity, m->capacity_key);
    if (!consumed)
        return false;
    *ret = *consumed;
    if (m->allocation_multiplier)
        quantity_multiply(ret, m->allocation_multiplier);
    return true;
}

/* Adds what one device takes. Returns -1 with the reason in c->why. */
static int add_device(struct collector *c, const struct object_meta *claim,
                      const struct device_request_allocation_result *r, const struct device *device,
                      quantity_map *total, size_t capacity)
{
    for (size_t i = 0; i < device->node_allocatable_resource_mappings.n; i++) {
        struct str resource = device->node_allocatable_resource_mappings.v[i].key;
        const struct node_allocatable_resource_mapping *m =
            &device->node_allocatable_resource_mappings.v[i].value;
        struct quantity amount;
        if (!str_empty(m->capacity_key) && !r->consumed_capacity.n) {
            buf_add_printf(c->why,
                           "claim %.*s/%.*s, device %.*s: ConsumedCapacity is nil, but Capacity "
                           "key '%.*s' is set in NodeAllocatableResourceMappings for resource %.*s",
                           STR_ARG(c->pod->metadata.namespace), STR_ARG(claim->name),
                           STR_ARG(r->device), STR_ARG(m->capacity_key), STR_ARG(resource));
            return -1;
        }
        if (!amount_of(r, m, &amount))
            continue;
        size_t before = total->n;
        struct quantity *sum = entry_of(total, capacity, resource);
        if (total->n > before)
            *sum = amount;
        else
            quantity_add(sum, &amount);
    }
    return 0;
}

/* --- claims ----------------------------------------------------------------------------------- */

static const struct device *device_of(const struct claims_state *s,
                                      const struct device_request_allocation_result *r)
{
    return devices_find(s->plugin->shared->devices, r->driver, r->pool, r->device);
}

/* How many resources its devices may take; 0: the claim does not matter here. */
static size_t count_mappings(const struct claims_state *s, const struct allocation_result *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->devices.results.n; i++) {
        const struct device *device = device_of(s, &a->devices.results.v[i]);
        n += device ? device->node_allocatable_resource_mappings.n : 0;
    }
    return n;
}

static int add_claim(struct collector *c, const struct used_claim *used,
                     const struct allocation_result *a)
{
    const struct object_meta *meta = &used->claim->metadata;
    size_t capacity = count_mappings(c->state, a);
    struct node_allocatable_resource_claim_status status = {.resource_claim_name = meta->name};
    c->mapped |= capacity > 0;
    quantity_map total = {.v = arena_array(c->arena, struct quantity_entry, capacity)};
    for (size_t i = 0; capacity && i < a->devices.results.n; i++) {
        const struct device_request_allocation_result *r = &a->devices.results.v[i];
        const struct device *device = device_of(c->state, r);
        if (!device) {
            buf_add_printf(c->why,
                           "claim %.*s/%.*s, device %.*s: device %.*s not found in pool %.*s",
                           STR_ARG(c->pod->metadata.namespace), STR_ARG(meta->name),
                           STR_ARG(r->device), STR_ARG(r->device), STR_ARG(r->pool));
            return -1;
        }
        if (add_device(c, meta, r, device, &total, capacity) < 0)
            return -1;
    }
    if (!total.n)
        return 0;
    status.resources.v = total.v;
    status.resources.n = total.n;
    vec_push(&c->statuses, status);
    return 0;
}

static int by_claim(const void *a, const void *b)
{
    const struct node_allocatable_resource_claim_status *x = a, *y = b;
    return str_cmp(x->resource_claim_name, y->resource_claim_name);
}

/* A claim that the pod names twice counts once, with its last allocation. */
static void sort_statuses(struct collector *c)
{
    size_t n = 0;
    if (c->statuses.n > 1)
        qsort(c->statuses.v, c->statuses.n, sizeof(c->statuses.v[0]), by_claim);
    for (size_t i = 0; i < c->statuses.n; i++) {
        if (n && by_claim(&c->statuses.v[n - 1], &c->statuses.v[i]) == 0)
            n--;
        c->statuses.v[n++] = c->statuses.v[i];
    }
    c->statuses.n = n;
}

/* --- containers ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const struct claim_name *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static struct node_allocatable_resource_claim_status *status_of(struct collector *c,
                                                                struct str name)
{
    const struct claim_name key = {.name = name};
    const struct claim_name *found =
        c->names.n ? bsearch(&key, c->names.v, c->names.n, sizeof(key), by_name) : NULL;
    const struct node_allocatable_resource_claim_status wanted = {
        .resource_claim_name = found ? found->claim : STR("")};
    return found ? bsearch(&wanted, c->statuses.v, c->statuses.n, sizeof(wanted), by_claim) : NULL;
}

/* Counts the references of a container in the statuses, or enters its name. */
static void each_reference(struct collector *c, const struct container *container, bool enters)
{
    for (size_t i = 0; i < container->resources.claims.n; i++) {
        struct node_allocatable_resource_claim_status *s =
            status_of(c, container->resources.claims.v[i].name);
        if (s && enters)
            s->containers.v[s->containers.n] = container->name;
        if (s)
            s->containers.n++;
    }
}

static void each_container(struct collector *c, bool enters)
{
    const struct pod_spec *spec = &c->pod->spec;
    for (size_t i = 0; i < spec->init_containers.n; i++)
        each_reference(c, &spec->init_containers.v[i], enters);
    for (size_t i = 0; i < spec->containers.n; i++)
        each_reference(c, &spec->containers.v[i], enters);
}

static void find_containers(struct collector *c)
{
    const struct claims_state *s = c->state;
    for (size_t i = 0; i < s->n; i++)
        if (&s->v[i] != dra_extended_claim(s))
            vec_push(&c->names,
                     (struct claim_name){s->v[i].entry_name, s->v[i].claim->metadata.name});
    if (c->names.n > 1)
        qsort(c->names.v, c->names.n, sizeof(c->names.v[0]), by_name);
    each_container(c, false);
    for (size_t i = 0; i < c->statuses.n; i++) {
        struct node_allocatable_resource_claim_status *status = &c->statuses.v[i];
        status->containers.v = arena_array(c->arena, struct str, status->containers.n);
        status->containers.n = 0;
    }
    each_container(c, true);
}

int node_claims_collect(const struct claims_state *s, const struct pod *pod,
                        const struct allocation_result *results, struct arena *a,
                        struct node_claims *ret, struct buf *why)
{
    struct collector c = {.state = s, .pod = pod, .arena = a, .why = why};
    size_t next = 0;
    int r = 0;
    *ret = (struct node_claims){0};
    for (size_t i = 0; r == 0 && i < s->n; i++) {
        const struct allocation_result *result =
            s->v[i].to_allocate ? &results[next++] : s->v[i].allocation;
        if (result && !s->v[i].named_again)
            r = add_claim(&c, &s->v[i], result);
    }
    ret->mapped = c.mapped;
    if (r == 0 && c.statuses.n) {
        sort_statuses(&c);
        find_containers(&c);
        ret->n = c.statuses.n;
        ret->v = arena_array(a, struct node_allocatable_resource_claim_status, ret->n);
        memcpy(ret->v, c.statuses.v, ret->n * sizeof(ret->v[0]));
    }
    vec_release(&c.statuses);
    vec_release(&c.names);
    return r;
}

/* --- Filter ----------------------------------------------------------------------------------- */

static enum berth_code refuse(const struct claims_state *s, struct berth_status *status,
                              struct str why, enum berth_code code)
{
    s->plugin->host->status_text(status, abi_str(why));
    return code;
}

/* The pod's requests with what its claims take. */
static void demand_of(const struct pod *pod, const struct node_claims *claims, bool pod_level,
                      struct arena *a, quantity_map *ret)
{
    const struct resource_gates gates = {.pod_level_resources = pod_level,
                                         .dra_node_allocatable_resources = true};
    struct pod with = *pod;
    with.status.node_allocatable_resource_claim_statuses.v = claims->v;
    with.status.node_allocatable_resource_claim_statuses.n = claims->n;
    pod_requests(&with, &gates, NULL, a, ret);
}

/* Pod-level requests must include what the claims take. */
static enum berth_code check_pod_level(const struct claims_state *s, const struct pod *pod,
                                       const struct node_claims *claims, const quantity_map *demand,
                                       struct arena *a, struct berth_status *status)
{
    quantity_map sum;
    if (!s->plugin->gates.pod_level_resources || !pod->spec.resources)
        return BERTH_SUCCESS;
    demand_of(pod, claims, false, a, &sum);
    for (size_t i = 0; i < demand->n; i++) {
        const struct quantity *needed = quantity_map_get(&sum, demand->v[i].key);
        if (needed && quantity_cmp(needed, &demand->v[i].value) > 0)
            return refuse(s, status,
                          arena_printf(a,
                                       "pod level request for %.*s is insufficient to cover the "
                                       "aggregated container and node-allocatable DRA requests",
                                       STR_ARG(demand->v[i].key)),
                          BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    }
    return BERTH_SUCCESS;
}

/* What a node has of one resource. */
struct fit {
    const struct claims_state *state;
    struct berth_status *status;
    enum berth_code code;
};

static void check_one(struct fit *f, struct str name, int64_t demand, int64_t allocatable,
                      int64_t requested)
{
    struct buf why = BUF_INIT;
    if (demand <= resource_sum(allocatable, -1, requested))
        return;
    buf_add_printf(&why, "Insufficient %.*s", STR_ARG(name));
    f->state->plugin->host->status_text(f->status, abi_str(buf_str(&why)));
    buf_release(&why);
    if (f->code == BERTH_SUCCESS)
        f->code = BERTH_UNSCHEDULABLE;
    if (demand > allocatable)
        f->code = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/* Upstream: nodeFitsResources. */
static enum berth_code check_fit(const struct claims_state *s, const quantity_map *demand,
                                 const struct berth_node *node, struct arena *a,
                                 struct berth_status *status)
{
    struct fit f = {s, status, BERTH_SUCCESS};
    const struct resource *has = &node->allocatable, *used = &node->requested;
    struct resources r;
    resources_from_map(demand, a, &r);
    if (r.milli_cpu > 0)
        check_one(&f, RESOURCE_CPU, r.milli_cpu, has->milli_cpu, used->milli_cpu);
    if (r.memory > 0)
        check_one(&f, RESOURCE_MEMORY, r.memory, has->memory, used->memory);
    if (r.ephemeral_storage > 0)
        check_one(&f, RESOURCE_EPHEMERAL_STORAGE, r.ephemeral_storage, has->ephemeral_storage,
                  used->ephemeral_storage);
    for (size_t i = 0; i < r.scalars.n; i++) {
        struct str name = r.scalars.v[i].name;
        if (str_starts(name, RESOURCE_HUGE_PAGES_PREFIX))
            check_one(&f, name, r.scalars.v[i].value, resource_by_name(has, node->names, name),
                      resource_by_name(used, node->names, name));
    }
    return f.code;
}

enum berth_code node_claims_check(const struct claims_state *s, const struct pod *pod,
                                  const struct berth_node *node,
                                  const struct allocation_result *results, struct arena *a,
                                  struct berth_status *status)
{
    struct node_claims claims;
    struct buf why = BUF_INIT;
    quantity_map demand;
    int r = node_claims_collect(s, pod, results, a, &claims, &why);
    struct str error = arena_dup(a, buf_str(&why));
    buf_release(&why);
    if (r < 0)
        return refuse(s, status, error, BERTH_ERROR);
    if (!claims.mapped)
        return BERTH_SUCCESS;
    for (size_t i = 0; i < claims.n; i++)
        if (!claims.v[i].containers.n)
            return refuse(s, status,
                          arena_printf(a,
                                       "claim %.*s: node-allocatable resource claim not referenced "
                                       "by any container within the pod",
                                       STR_ARG(claims.v[i].resource_claim_name)),
                          BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    demand_of(pod, &claims, s->plugin->gates.pod_level_resources, a, &demand);
    enum berth_code code = check_pod_level(s, pod, &claims, &demand, a, status);
    return code == BERTH_SUCCESS ? check_fit(s, &demand, node, a, status) : code;
}

/* --- claims in use ---------------------------------------------------------------------------- */

/* Is one of the pods on the node another than this one, which takes resources by the claim? */
static size_t count_consumers(const struct berth_node *node, const struct object_meta *pod,
                              struct str claim, bool *ret_has_pod)
{
    size_t n = 0;
    *ret_has_pod = false;
    for (size_t i = 0; i < node->pods.n; i++) {
        const struct claimed_resources *claimed = node->pods.v[i]->claimed;
        const struct object_meta *meta = &node->pods.v[i]->pod->metadata;
        if (!claimed || !str_eq(meta->namespace, pod->namespace))
            continue;
        for (size_t k = 0; k < claimed->statuses.n; k++) {
            if (!str_eq(claimed->statuses.v[k].resource_claim_name, claim))
                continue;
            n++;
            *ret_has_pod |= str_eq(meta->uid, pod->uid);
            break;
        }
    }
    return n;
}

enum berth_code node_claims_check_sharing(const struct claims_state *s, const struct pod *pod,
                                          const struct berth_node *node,
                                          const struct used_claim *claim,
                                          struct berth_status *status)
{
    struct str name = claim->claim->metadata.name;
    bool is_ours;
    size_t n = count_consumers(node, &pod->metadata, name, &is_ours);
    if (n == 0 || (n == 1 && is_ours))
        return BERTH_SUCCESS;
    struct buf why = BUF_INIT;
    buf_add_printf(&why, "node allocatable resource claim %.*s %s", STR_ARG(name),
                   n > 1 ? "shared by multiple pods" : "is already used by another pod");
    enum berth_code code = refuse(s, status, buf_str(&why), BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE);
    buf_release(&why);
    return code;
}
