/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/numa_topology.h"

#define MAX_NODES_DEFAULT 8
#define MAX_NODES_LIMIT   1024

/* --- settings of the topology manager --------------------------------------------------------- */

/* topologyPolicies, which is deprecated: the first counts. */
static const struct {
    const char *name, *policy;
    bool pod_scope;
} legacy_policies[] = {
    {"SingleNUMANodePodLevel", "single-numa-node", true},
    {"SingleNUMANodeContainerLevel", "single-numa-node", false},
    {"BestEffortPodLevel", "best-effort", true},
    {"BestEffortContainerLevel", "best-effort", false},
    {"RestrictedPodLevel", "restricted", true},
    {"RestrictedContainerLevel", "restricted", false},
};

static void set_policy(struct numa_config *c, struct str name)
{
    static const char *const known[] = {"none", "best-effort", "restricted", "single-numa-node"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(name, known[i])) {
            c->policy = str_of(known[i]);
            c->single = i == 3;
        }
}

static void set_attribute(struct numa_config *c, struct str name, struct str value)
{
    uint64_t number;
    if (str_is(name, "topologyManagerPolicy")) {
        set_policy(c, value);
    } else if (str_is(name, "topologyManagerScope")) {
        if (str_is(value, "pod") || str_is(value, "container"))
            c->pod_scope = str_is(value, "pod");
    } else if (str_is(name, "topologyManagerMaxNUMANodes")) {
        if (str_to_u64(value, &number) && number > 1)
            c->max_nodes = (int64_t)MIN(number, (uint64_t)MAX_NODES_LIMIT);
    }
}

static void read_config(struct numa_topology *t, const struct json_value *object)
{
    struct numa_config *c = &t->config;
    *c = (struct numa_config){.policy = STR("none"), .max_nodes = MAX_NODES_DEFAULT};
    const struct json_value *policies = json_get_list(object, STR("topologyPolicies"));
    for (size_t i = 0; policies->n && i < ARRAY_LEN(legacy_policies); i++)
        if (policies->items[0].kind == JSON_STRING &&
            str_is(policies->items[0].text, legacy_policies[i].name)) {
            set_policy(c, str_of(legacy_policies[i].policy));
            c->pod_scope = legacy_policies[i].pod_scope;
        }
    const struct json_value *attributes = json_get_list(object, STR("attributes"));
    for (size_t i = 0; i < attributes->n; i++)
        set_attribute(c, json_get_text(&attributes->items[i], STR("name")),
                      json_get_text(&attributes->items[i], STR("value")));
}

bool numa_config_equal(const struct numa_config *a, const struct numa_config *b)
{
    return str_eq(a->policy, b->policy) && a->pod_scope == b->pod_scope &&
           a->max_nodes == b->max_nodes;
}

/* An attribute, or an annotation of older exporters. */
static void read_fingerprint(struct numa_topology *t, const struct json_value *object)
{
    const struct json_value *attributes = json_get_list(object, STR("attributes"));
    struct str found = STR(""), method = STR("");
    for (size_t i = attributes->n; i-- > 0;) {
        struct str name = json_get_text(&attributes->items[i], STR("name"));
        struct str value = json_get_text(&attributes->items[i], STR("value"));
        if (str_is(name, "nodeTopologyPodsFingerprint"))
            found = value;
        else if (str_is(name, "nodeTopologyPodsFingerprintMethod"))
            method = value;
    }
    t->fingerprint_is_exclusive = found.n && str_is(method, "with-exclusive-resources");
    if (!found.n) {
        const struct json_value *metadata = json_get(object, STR("metadata"));
        found = json_get_text(json_get(metadata, STR("annotations")),
                              STR("topology.node.k8s.io/fingerprint"));
    }
    t->fingerprint = arena_dup(&t->arena, found);
}

/* --- zones ------------------------------------------------------------------------------------ */

/* "node-3" is 3; -1: not such a name. */
static int id_of(struct str name)
{
    uint64_t id;
    if (!str_starts(name, STR("node-")) || !str_to_u64(str_slice(name, 5, name.n), &id) ||
        id >= NUMA_MAX_ZONES)
        return -1;
    return (int)id;
}

static bool is_numa_zone(const struct json_value *zone)
{
    return str_is(json_get_text(zone, STR("type")), "Node") &&
           id_of(json_get_text(zone, STR("name"))) >= 0;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void read_names(struct numa_topology *t, const struct json_value *zones)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < zones->n; i++)
        if (is_numa_zone(&zones->items[i]))
            n += json_get_list(&zones->items[i], STR("resources"))->n;
    t->names = arena_array(&t->arena, struct str, n);
    n = 0;
    for (size_t i = 0; i < zones->n; i++) {
        if (!is_numa_zone(&zones->items[i]))
            continue;
        const struct json_value *list = json_get_list(&zones->items[i], STR("resources"));
        for (size_t k = 0; k < list->n; k++)
            t->names[n++] = json_get_text(&list->items[k], STR("name"));
    }
    if (n > 1)
        qsort(t->names, n, sizeof(*t->names), by_name);
    for (size_t i = 0; i < n; i++)
        if (!kept || !str_eq(t->names[kept - 1], t->names[i]))
            t->names[kept++] = arena_dup(&t->arena, t->names[i]);
    t->n_names = kept;
}

/* A number is allowed, too. What is not a quantity is 0. */
static struct quantity quantity_of_json(const struct json_value *v, struct arena *a)
{
    struct quantity q = {0};
    if (v && (v->kind == JSON_STRING || v->kind == JSON_NUMBER) &&
        quantity_parse(v->text, a, &q, NULL) < 0)
        q = (struct quantity){0};
    return q;
}

static void read_zone(struct numa_topology *t, const struct json_value *zone)
{
    struct numa_zone *z = &t->zones[t->n_zones];
    const struct json_value *costs = json_get_list(zone, STR("costs"));
    const struct json_value *list = json_get_list(zone, STR("resources"));
    z->id = id_of(json_get_text(zone, STR("name")));
    for (size_t i = 0; i < NUMA_MAX_ZONES; i++)
        z->costs[i] = -1;
    for (size_t i = 0; i < costs->n; i++) {
        int id = id_of(json_get_text(&costs->items[i], STR("name")));
        if (id >= 0)
            z->costs[id] = json_get_int(&costs->items[i], STR("value"));
    }
    for (size_t i = 0; i < list->n; i++) {
        size_t column = numa_topology_column(t, json_get_text(&list->items[i], STR("name")));
        size_t at = t->n_zones * t->n_names + column;
        t->available[at] = quantity_of_json(json_get(&list->items[i], STR("available")), &t->arena);
        t->present[at] = true;
    }
    t->n_zones++;
}

struct numa_topology *numa_topology_read(const struct json_value *object)
{
    struct numa_topology *t = xnew(struct numa_topology);
    const struct json_value *zones = json_get_list(object, STR("zones"));
    size_t n = 0;
    arena_init(&t->arena, 0);
    read_config(t, object);
    read_fingerprint(t, object);
    read_names(t, zones);
    for (size_t i = 0; i < zones->n; i++)
        n += is_numa_zone(&zones->items[i]);
    n = MIN(n, (size_t)NUMA_MAX_ZONES); /* more have repeated ids */
    t->zones = arena_array(&t->arena, struct numa_zone, n);
    t->available = arena_array(&t->arena, struct quantity, n * t->n_names);
    t->present = arena_array(&t->arena, bool, n * t->n_names);
    for (size_t i = 0; i < zones->n && t->n_zones < n; i++)
        if (is_numa_zone(&zones->items[i]))
            read_zone(t, &zones->items[i]);
    return t;
}

struct numa_topology *numa_topology_dup(const struct numa_topology *t)
{
    struct numa_topology *copy = xnew(struct numa_topology);
    size_t n = t->n_zones * t->n_names;
    *copy = *t;
    arena_init(&copy->arena, 0);
    copy->fingerprint = arena_dup(&copy->arena, t->fingerprint);
    copy->names = arena_array(&copy->arena, struct str, t->n_names);
    for (size_t i = 0; i < t->n_names; i++)
        copy->names[i] = arena_dup(&copy->arena, t->names[i]);
    copy->zones = arena_array(&copy->arena, struct numa_zone, t->n_zones);
    copy->available = arena_array(&copy->arena, struct quantity, n);
    copy->present = arena_array(&copy->arena, bool, n);
    for (size_t i = 0; i < t->n_zones; i++)
        copy->zones[i] = t->zones[i];
    for (size_t i = 0; i < n; i++) {
        copy->available[i] = quantity_dup(&t->available[i], &copy->arena);
        copy->present[i] = t->present[i];
    }
    return copy;
}

struct numa_topology *numa_topology_free(struct numa_topology *t)
{
    if (t)
        arena_release(&t->arena);
    free(t);
    return NULL;
}

size_t numa_topology_column(const struct numa_topology *t, struct str name)
{
    size_t low = 0, high = t->n_names;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = str_cmp(t->names[middle], name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return t->n_names;
}
