/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/numa_fit.h"

#include "api/resources.h"

/* --- requests --------------------------------------------------------------------------------- */

/* Native: without a domain, or in that of Kubernetes. */
static bool is_native(struct str name)
{
    return str_find(name, '/') == name.n || memmem(name.p, name.n, "kubernetes.io/", 14);
}

/* Zones need not have these: they may be the node's as a whole. */
static bool is_of_host(struct str name)
{
    return str_is(name, "ephemeral-storage") || str_is(name, "storage") || !is_native(name);
}

/* Only Guaranteed pods get them from one zone. */
static bool is_aligned_by_qos(struct str name)
{
    return str_eq(name, RESOURCE_CPU) || str_eq(name, RESOURCE_MEMORY) ||
           str_starts(name, RESOURCE_HUGE_PAGES_PREFIX);
}

static bool counts(enum pod_qos qos, struct str name)
{
    return qos == POD_QOS_GUARANTEED || !is_aligned_by_qos(name);
}

static bool is_exclusive(enum pod_qos qos, const struct quantity_entry *e)
{
    if (!is_native(e->key))
        return true;
    if (qos != POD_QOS_GUARANTEED)
        return false;
    int64_t whole = quantity_value(&e->value);
    if (str_eq(e->key, RESOURCE_CPU))
        return whole > 0 && whole * 1000 == quantity_milli_value(&e->value);
    return is_aligned_by_qos(e->key) && whole > 0;
}

/* Calls fn for all requests of init containers and containers, until it returns true. */
static bool any_request(const struct pod *pod, enum pod_qos qos,
                        bool (*fn)(enum pod_qos qos, const struct quantity_entry *e))
{
    size_t n_init = pod->spec.init_containers.n;
    for (size_t i = 0; i < n_init + pod->spec.containers.n; i++) {
        const struct container *c =
            i < n_init ? &pod->spec.init_containers.v[i] : &pod->spec.containers.v[i - n_init];
        for (size_t k = 0; k < c->resources.requests.n; k++)
            if (fn(qos, &c->resources.requests.v[k]))
                return true;
    }
    return false;
}

static bool is_device(enum pod_qos qos, const struct quantity_entry *e)
{
    (void)qos;
    return !is_native(e->key);
}

bool numa_requests_devices(const struct pod *pod)
{
    return any_request(pod, POD_QOS_UNKNOWN, is_device);
}

bool numa_requests_exclusive(const struct pod *pod)
{
    return any_request(pod, pod_qos_of(pod), is_exclusive);
}

enum request_part { PART_CONTAINER, PART_INIT, PART_OVERHEAD };

struct request {
    struct str name;
    enum request_part part;
    const struct quantity *amount;
};

static int by_name(const void *a, const void *b)
{
    const struct request *x = a, *y = b;
    int order = str_cmp(x->name, y->name);
    return order ? order : (int)x->part - (int)y->part;
}

static void gather(struct request **at, const quantity_map *map, enum request_part part)
{
    for (size_t i = 0; i < map->n; i++)
        *(*at)++ = (struct request){map->v[i].key, part, &map->v[i].value};
}

static void combine(struct quantity *q, const struct request *r)
{
    if (r->part == PART_INIT)
        quantity_raise(q, r->amount);
    else
        quantity_add(q, r->amount);
}

void numa_pod_requests(const struct pod *pod, struct arena *a, quantity_map *ret_requests)
{
    const struct pod_spec *spec = &pod->spec;
    size_t n = spec->overhead.n, kept = 0;
    for (size_t i = 0; i < spec->containers.n; i++)
        n += spec->containers.v[i].resources.requests.n;
    for (size_t i = 0; i < spec->init_containers.n; i++)
        n += spec->init_containers.v[i].resources.requests.n;
    struct request *all = arena_array(a, struct request, n), *at = all;
    for (size_t i = 0; i < spec->containers.n; i++)
        gather(&at, &spec->containers.v[i].resources.requests, PART_CONTAINER);
    for (size_t i = 0; i < spec->init_containers.n; i++)
        gather(&at, &spec->init_containers.v[i].resources.requests, PART_INIT);
    gather(&at, &spec->overhead, PART_OVERHEAD);
    if (n > 1)
        qsort(all, n, sizeof(*all), by_name);
    struct quantity_entry *sums = arena_array(a, struct quantity_entry, n);
    for (size_t i = 0; i < n; i++) {
        if (kept && str_eq(sums[kept - 1].key, all[i].name))
            combine(&sums[kept - 1].value, &all[i]);
        else
            sums[kept++] = (struct quantity_entry){all[i].name, *all[i].amount};
    }
    ret_requests->v = sums;
    ret_requests->n = kept;
}

/* --- alignment to one zone -------------------------------------------------------------------- */

/* The amounts that are left while containers are placed one after the other. */
struct leftover {
    const struct numa_topology *t;
    struct quantity *amounts; /* laid out as t->available */
};

static struct quantity *left_in(const struct leftover *l, size_t zone, size_t column)
{
    size_t i = zone * l->t->n_names + column;
    return column < l->t->n_names && l->t->present[i] ? &l->amounts[i] : NULL;
}

static void leftover_init(struct leftover *l, const struct numa_topology *t)
{
    size_t n = t->n_zones * t->n_names;
    l->t = t;
    l->amounts = xcalloc(n + 1, sizeof(*l->amounts));
    if (n)
        memcpy(l->amounts, t->available, n * sizeof(*l->amounts));
}

static bool node_has(const struct node *node, struct str name)
{
    return str_eq(name, RESOURCE_CPU) || str_eq(name, RESOURCE_MEMORY) ||
           str_eq(name, RESOURCE_PODS) || str_eq(name, RESOURCE_EPHEMERAL_STORAGE) ||
           (resource_is_scalar(name) && quantity_map_get(&node->status.allocatable, name));
}

/* The zones that have enough of one resource, as bits by id; all if it is not bound to zones. */
static uint64_t zones_for(const struct leftover *l, enum pod_qos qos,
                          const struct quantity_entry *e)
{
    uint64_t zones = 0;
    bool bound = false;
    size_t column = numa_topology_column(l->t, e->key);
    for (size_t i = 0; i < l->t->n_zones; i++) {
        const struct quantity *left = left_in(l, i, column);
        if (!left)
            continue;
        bound = true;
        if (!counts(qos, e->key) || quantity_cmp(left, &e->value) >= 0)
            zones |= (uint64_t)1 << l->t->zones[i].id;
    }
    return !bound && is_of_host(e->key) ? ~(uint64_t)0 : zones;
}

/* The lowest id of a zone that has everything, which the kubelet would choose; -1: none. */
static int find_zone(const struct leftover *l, const struct numa_pod *p, const struct node *node,
                     const quantity_map *requests)
{
    uint64_t zones = ~(uint64_t)0;
    for (size_t i = 0; i < requests->n; i++) {
        const struct quantity_entry *e = &requests->v[i];
        if (quantity_is_zero(&e->value))
            continue;
        if (!node_has(node, e->key))
            return -1;
        zones &= zones_for(l, p->qos, e);
    }
    return zones ? __builtin_ctzll(zones) : -1;
}

static void take(struct leftover *l, const struct numa_pod *p, int id, const quantity_map *requests)
{
    for (size_t i = 0; i < requests->n; i++) {
        const struct quantity_entry *e = &requests->v[i];
        size_t column = numa_topology_column(l->t, e->key);
        for (size_t z = 0; z < l->t->n_zones; z++) {
            struct quantity *left = left_in(l, z, column);
            if (left && l->t->zones[z].id == id && counts(p->qos, e->key))
                quantity_sub(left, &e->value);
        }
    }
}

/* Init containers run before the others and give back what they use. */
static const char *containers_refusal(const struct numa_pod *p, const struct numa_topology *t,
                                      const struct node *node)
{
    const struct pod_spec *spec = &p->pod->spec;
    const char *refusal = NULL;
    struct leftover l;
    leftover_init(&l, t);
    for (size_t i = 0; !refusal && i < spec->init_containers.n; i++) {
        const struct container *c = &spec->init_containers.v[i];
        if (find_zone(&l, p, node, &c->resources.requests) < 0)
            refusal = str_is(c->restart_policy, "Always") ? "cannot align sidecar container"
                                                          : "cannot align init container";
    }
    for (size_t i = 0; !refusal && i < spec->containers.n; i++) {
        const quantity_map *requests = &spec->containers.v[i].resources.requests;
        int id = find_zone(&l, p, node, requests);
        if (id < 0)
            refusal = "cannot align container";
        else
            take(&l, p, id, requests);
    }
    free(l.amounts);
    return refusal;
}

const char *numa_refusal(const struct numa_pod *p, const struct numa_topology *t,
                         const struct node *node)
{
    if (!t->config.single)
        return NULL;
    if (!t->config.pod_scope)
        return containers_refusal(p, t, node);
    struct leftover l = {t, t->available};
    return find_zone(&l, p, node, &p->requests) < 0 ? "cannot align pod" : NULL;
}
