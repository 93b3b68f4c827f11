/* SPDX-License-Identifier: Apache-2.0 */
#include "api/resources.h"

#include "api/labels.h"
#include "base/map.h"
#include "base/vec.h"

/* --- names and integers ----------------------------------------------------------------------- */

static bool is_prefixed_native(struct str name)
{
    struct str domain = STR("kubernetes.io/");
    return str_search(name, domain) + domain.n <= name.n;
}

bool resource_is_extended(struct str name)
{
    struct str quota = STR("requests.");
    size_t slash = str_find(name, '/');
    if (slash == name.n || is_prefixed_native(name) || str_starts(name, quota))
        return false;
    /* With the prefix "requests." it must be a valid key; the domain has at most 253 bytes. */
    return label_key_valid(name) && slash + quota.n <= 253;
}

static bool is_huge_page(struct str name)
{
    return str_starts(name, RESOURCE_HUGE_PAGES_PREFIX);
}

bool resource_is_scalar(struct str name)
{
    return is_huge_page(name) || is_prefixed_native(name) ||
           str_starts(name, RESOURCE_ATTACHABLE_VOLUMES_PREFIX) || resource_is_extended(name);
}

void resources_from_map(const quantity_map *map, struct arena *a, struct resources *ret_resources)
{
    struct resources r = {0};
    for (size_t i = 0; i < map->n; i++) {
        struct str name = map->v[i].key;
        const struct quantity *q = &map->v[i].value;
        if (str_eq(name, RESOURCE_CPU)) {
            r.milli_cpu = quantity_milli_value(q);
        } else if (str_eq(name, RESOURCE_MEMORY)) {
            r.memory = quantity_value(q);
        } else if (str_eq(name, RESOURCE_PODS)) {
            r.allowed_pods = quantity_value(q);
        } else if (str_eq(name, RESOURCE_EPHEMERAL_STORAGE)) {
            r.ephemeral_storage = quantity_value(q);
        } else if (resource_is_scalar(name)) {
            if (!r.scalars.v)
                r.scalars.v = arena_array(a, struct scalar_resource, map->n - i);
            r.scalars.v[r.scalars.n++] = (struct scalar_resource){name, quantity_value(q)};
        }
    }
    *ret_resources = r;
}

const int64_t *resources_scalar(const struct resources *r, struct str name)
{
    size_t from = 0, to = r->scalars.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = str_cmp(r->scalars.v[mid].name, name);
        if (c == 0)
            return &r->scalars.v[mid].value;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

/* --- maps of quantities ----------------------------------------------------------------------- */

/* Combines two values of the same name. */
typedef void combine_fn(struct quantity *have, const struct quantity *other);

static void combine_add(struct quantity *have, const struct quantity *other)
{
    quantity_add(have, other);
}

static void combine_max(struct quantity *have, const struct quantity *other)
{
    quantity_raise(have, other);
}

static void combine_replace(struct quantity *have, const struct quantity *other)
{
    *have = *other;
}

static void combine_keep(struct quantity *have UNUSED, const struct quantity *other UNUSED)
{
}

/*
 * Merges `other` into map; both are sorted by name. Most names exist already, so the map is copied
 * to a larger one only if it must grow.
 */
static void merge(quantity_map *map, const quantity_map *other, combine_fn *combine,
                  struct arena *a)
{
    size_t missing = 0;
    for (size_t i = 0, j = 0; j < other->n; j++) {
        while (i < map->n && str_cmp(map->v[i].key, other->v[j].key) < 0)
            i++;
        if (i < map->n && str_eq(map->v[i].key, other->v[j].key))
            combine(&map->v[i].value, &other->v[j].value);
        else
            missing++;
    }
    if (missing == 0)
        return;
    struct quantity_entry *v = arena_array(a, struct quantity_entry, map->n + missing);
    size_t n = 0, i = 0;
    for (size_t j = 0; j < other->n; j++) {
        while (i < map->n && str_cmp(map->v[i].key, other->v[j].key) < 0)
            v[n++] = map->v[i++];
        if (i == map->n || !str_eq(map->v[i].key, other->v[j].key))
            v[n++] = other->v[j];
    }
    while (i < map->n)
        v[n++] = map->v[i++];
    map->v = v;
    map->n = n;
}

/* --- requests of a pod ------------------------------------------------------------------------ */

struct request {
    const struct pod *pod;
    const struct resource_gates *gates;
    const quantity_map *non_missing;
    struct arena *a;
    bool infeasible;     /* the requested resize is infeasible: the spec does not count */
    bool limits;         /* add up limits instead of requests */
    struct map statuses; /* by name; empty: there are few, or they do not count */
};

static bool resize_is_infeasible(const struct pod *pod)
{
    for (size_t i = 0; i < pod->status.conditions.n; i++) {
        const struct pod_condition *c = &pod->status.conditions.v[i];
        if (str_is(c->type, POD_RESIZE_PENDING))
            return str_is(c->reason, POD_REASON_INFEASIBLE);
    }
    return false;
}

static bool counts_at_pod_level(struct str name)
{
    return str_eq(name, RESOURCE_CPU) || str_eq(name, RESOURCE_MEMORY) || is_huge_page(name);
}

bool pod_level_requests_set(const struct pod *pod)
{
    const struct resource_requirements *own = pod->spec.resources;
    for (size_t i = 0; own && i < own->requests.n; i++)
        if (counts_at_pod_level(own->requests.v[i].key))
            return true;
    return false;
}

/*
 * During a resize the largest of the requested, actual and allocated resources counts (upstream:
 * resourcehelpers.PodRequests, KEP 1287).
 */
static quantity_map effective(const struct request *rq, const quantity_map *spec,
                              const quantity_map *actuated, const quantity_map *allocated)
{
    quantity_map result = {0};
    if (!rq->infeasible)
        merge(&result, spec, combine_keep, rq->a);
    merge(&result, actuated, combine_max, rq->a);
    merge(&result, allocated, combine_max, rq->a);
    return result;
}

/* Statuses are searched one by one up to this number. */
#define FEW_STATUSES 16

/* Of two with the same name the last counts, and init containers come after the others. */
static void index_statuses(struct request *rq)
{
    const struct pod_status *s = &rq->pod->status;
    if (s->container_statuses.n + s->init_container_statuses.n <= FEW_STATUSES ||
        !rq->gates->in_place_pod_vertical_scaling)
        return;
    for (size_t i = 0; i < s->container_statuses.n; i++)
        map_put(&rq->statuses, s->container_statuses.v[i].name, &s->container_statuses.v[i]);
    for (size_t i = 0; i < s->init_container_statuses.n; i++)
        map_put(&rq->statuses, s->init_container_statuses.v[i].name,
                &s->init_container_statuses.v[i]);
}

static const struct container_status *find_status(const struct request *rq, struct str name)
{
    const struct pod_status *s = &rq->pod->status;
    if (rq->statuses.n)
        return map_get(&rq->statuses, name);
    for (size_t i = s->init_container_statuses.n; i-- > 0;)
        if (str_eq(s->init_container_statuses.v[i].name, name))
            return &s->init_container_statuses.v[i];
    for (size_t i = s->container_statuses.n; i-- > 0;)
        if (str_eq(s->container_statuses.v[i].name, name))
            return &s->container_statuses.v[i];
    return NULL;
}

/* The result may be the container's own map: do not change it. */
static quantity_map container_requests(const struct request *rq, const struct container *c,
                                       bool resizable)
{
    if (rq->limits)
        return c->resources.limits;
    quantity_map result = c->resources.requests;
    if (resizable && rq->gates->in_place_pod_vertical_scaling) {
        const struct container_status *s = find_status(rq, c->name);
        if (s && s->resources)
            result = effective(rq, &c->resources.requests, &s->resources->requests,
                               &s->allocated_resources);
    }
    if (rq->non_missing) {
        quantity_map filled = {0};
        merge(&filled, &result, combine_keep, rq->a);
        merge(&filled, rq->non_missing, combine_keep, rq->a);
        return filled;
    }
    return result;
}

/* What one container requests of one resource. */
struct share {
    struct quantity_entry entry;
    enum role { CONTAINER, SIDECAR, INIT_CONTAINER } role;
    size_t place; /* in the order of all shares */
};

typedef VEC(struct share) share_vec;

static void add_shares(share_vec *shares, const quantity_map *own, enum role role)
{
    for (size_t i = 0; i < own->n; i++)
        vec_push(shares, (struct share){own->v[i], role, shares->n});
}

static int by_name_and_place(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    int c = str_cmp(x->entry.key, y->entry.key);
    return c ? c : (x->place > y->place) - (x->place < y->place);
}

/* Of a resource, from one share on: the sum, the sidecars alone, the largest initial phase. */
struct phases {
    struct quantity total, sidecars, init;
    bool has_total, has_sidecars, has_init;
};

static void combine(struct quantity *have, bool *has, const struct quantity *other, combine_fn *fn)
{
    if (*has)
        fn(have, other);
    else
        *have = *other;
    *has = true;
}

/*
 * Init containers run one after the other, each together with the sidecars started before it; the
 * containers run together with all sidecars (upstream: AggregateContainerRequests).
 */
static void add_share(struct phases *p, const struct share *share)
{
    struct quantity together = share->entry.value;
    if (share->role != INIT_CONTAINER)
        combine(&p->total, &p->has_total, &together, combine_add);
    if (share->role == CONTAINER)
        return;
    if (share->role == SIDECAR) {
        combine(&p->sidecars, &p->has_sidecars, &together, combine_add);
        together = p->sidecars;
    } else if (p->has_sidecars) {
        quantity_add(&together, &p->sidecars);
    }
    combine(&p->init, &p->has_init, &together, combine_max);
}

static void add_containers(const struct request *rq, quantity_map *total)
{
    const struct pod_spec *spec = &rq->pod->spec;
    share_vec shares = {0};
    for (size_t i = 0; i < spec->containers.n; i++) {
        quantity_map own = container_requests(rq, &spec->containers.v[i], true);
        add_shares(&shares, &own, CONTAINER);
    }
    for (size_t i = 0; i < spec->init_containers.n; i++) {
        const struct container *c = &spec->init_containers.v[i];
        bool sidecar = str_is(c->restart_policy, "Always");
        quantity_map own = container_requests(rq, c, sidecar);
        add_shares(&shares, &own, sidecar ? SIDECAR : INIT_CONTAINER);
    }
    /* Most pods have one container, whose requests are sorted. */
    if (spec->containers.n + spec->init_containers.n > 1 && shares.n)
        qsort(shares.v, shares.n, sizeof(shares.v[0]), by_name_and_place);
    total->v = arena_array(rq->a, struct quantity_entry, shares.n);
    for (size_t i = 0; i < shares.n;) {
        struct phases p = {0};
        struct str name = shares.v[i].entry.key;
        for (; i < shares.n && str_eq(shares.v[i].entry.key, name); i++)
            add_share(&p, &shares.v[i]);
        if (p.has_init)
            combine(&p.total, &p.has_total, &p.init, combine_max);
        total->v[total->n++] = (struct quantity_entry){name, p.total};
    }
    vec_release(&shares);
}

static void add_claims(const struct request *rq, quantity_map *total)
{
    const struct pod_status *s = &rq->pod->status;
    for (size_t i = 0; i < s->node_allocatable_resource_claim_statuses.n; i++)
        merge(total, &s->node_allocatable_resource_claim_statuses.v[i].resources, combine_add,
              rq->a);
}

/* Pod-level requests replace the sum of the containers. */
static void apply_pod_level(const struct request *rq, quantity_map *total)
{
    const struct resource_requirements *own = rq->pod->spec.resources;
    const struct resource_requirements *actual = rq->pod->status.resources;
    bool resizing = actual && rq->gates->in_place_pod_vertical_scaling &&
                    rq->gates->in_place_pod_level_resources_vertical_scaling;
    quantity_map effect = {0}, chosen = {0};
    if (resizing)
        effect =
            effective(rq, &own->requests, &actual->requests, &rq->pod->status.allocated_resources);
    chosen.v = arena_array(rq->a, struct quantity_entry, own->requests.n);
    for (size_t i = 0; i < own->requests.n; i++) {
        struct quantity_entry e = own->requests.v[i];
        if (!counts_at_pod_level(e.key))
            continue;
        if (resizing) {
            const struct quantity *q = quantity_map_get(&effect, e.key);
            e.value = q ? *q : (struct quantity){0};
        }
        chosen.v[chosen.n++] = e;
    }
    merge(total, &chosen, combine_replace, rq->a);
}

void pod_requests(const struct pod *pod, const struct resource_gates *gates,
                  const quantity_map *non_missing, struct arena *a, quantity_map *ret_requests)
{
    struct request rq = {
        .pod = pod,
        .gates = gates,
        .non_missing = non_missing,
        .a = a,
        .infeasible = resize_is_infeasible(pod),
    };
    quantity_map total = {0};
    index_statuses(&rq);
    add_containers(&rq, &total);
    map_release(&rq.statuses);
    if (gates->dra_node_allocatable_resources)
        add_claims(&rq, &total);
    if (gates->pod_level_resources && pod_level_requests_set(pod))
        apply_pod_level(&rq, &total);
    merge(&total, &pod->spec.overhead, combine_add, a);
    *ret_requests = total;
}

/* Overhead is added to the resources that are limited. */
static void add_overhead_to_limits(const struct pod *pod, quantity_map *limits)
{
    for (size_t i = 0; i < limits->n; i++) {
        const struct quantity *more = quantity_map_get(&pod->spec.overhead, limits->v[i].key);
        if (more && !quantity_is_zero(&limits->v[i].value))
            quantity_add(&limits->v[i].value, more);
    }
}

void pod_limits(const struct pod *pod, struct arena *a, quantity_map *ret_limits)
{
    static const struct resource_gates none;
    struct request rq = {.pod = pod, .gates = &none, .a = a, .limits = true};
    const struct resource_requirements *own = pod->spec.resources;
    quantity_map total = {0}, chosen = {0};
    add_containers(&rq, &total);
    if (own)
        chosen.v = arena_array(a, struct quantity_entry, own->limits.n);
    for (size_t i = 0; own && i < own->limits.n; i++)
        if (counts_at_pod_level(own->limits.v[i].key))
            chosen.v[chosen.n++] = own->limits.v[i];
    merge(&total, &chosen, combine_replace, a);
    add_overhead_to_limits(pod, &total);
    *ret_limits = total;
}

void pod_resource_calculate(const struct pod *pod, const struct resource_gates *gates,
                            struct arena *a, struct pod_resource *ret_resource)
{
    struct arena work;
    arena_init(&work, 0);
    quantity_map requests, non_zero;
    pod_requests(pod, gates, NULL, &work, &requests);
    resources_from_map(&requests, a, &ret_resource->requests);

    /* A pod with pod-level requests needs defaults only for resources without any request. */
    bool own = gates->pod_level_resources && pod_level_requests_set(pod);
    struct quantity_entry room[2];
    quantity_map defaults = {.v = room};
    if (!own || !quantity_map_get(&requests, RESOURCE_CPU))
        room[defaults.n++] = (struct quantity_entry){
            RESOURCE_CPU, quantity_of_milli(DEFAULT_MILLI_CPU_REQUEST, QUANTITY_DECIMAL_SI)};
    if (!own || !quantity_map_get(&requests, RESOURCE_MEMORY))
        room[defaults.n++] = (struct quantity_entry){
            RESOURCE_MEMORY, quantity_of(DEFAULT_MEMORY_REQUEST, QUANTITY_DECIMAL_SI)};
    non_zero = requests;
    if (defaults.n > 0)
        pod_requests(pod, gates, &defaults, &work, &non_zero);

    const struct quantity *cpu = quantity_map_get(&non_zero, RESOURCE_CPU);
    const struct quantity *memory = quantity_map_get(&non_zero, RESOURCE_MEMORY);
    ret_resource->non_zero_milli_cpu = cpu ? quantity_milli_value(cpu) : 0;
    ret_resource->non_zero_memory = memory ? quantity_value(memory) : 0;
    arena_release(&work);
}
