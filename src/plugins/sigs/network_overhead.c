/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NetworkOverhead of sigs.k8s.io/scheduler-plugins: keeps pods of an AppGroup near the pods that
 * they depend on. Costs between zones and regions come from a NetworkTopology.
 */
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/app_groups.h"

#define REGION    STR("topology.kubernetes.io/region")
#define ZONE      STR("topology.kubernetes.io/zone")
#define MAX_COST  100
#define ZONE_COST 1

/* --- arguments -------------------------------------------------------------------------------- */

struct overhead_args {
    struct args_meta meta;
    app_namespaces namespaces;
    struct str *weights_name, *network_topology_name;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct overhead_args),
    F_LIST(struct overhead_args, namespaces, "namespaces", 0, STR),
    F_PTR(struct overhead_args, weights_name, "weightsName", 0, STR),
    F_PTR(struct overhead_args, network_topology_name, "networkTopologyName", 0, STR),
};
static const struct type args_type = TYPE("NetworkOverheadArgs", struct overhead_args, args_fields);

static void fill(void *ctx, struct arena *a)
{
    struct overhead_args *args = ctx;
    if (!args->namespaces.n) {
        args->namespaces.v = arena_array(a, struct str, 1);
        args->namespaces.v[0] = STR("default");
        args->namespaces.n = 1;
    }
    args->weights_name = args_text_or(args->weights_name, STR("UserDefined"), a);
    args->network_topology_name = args_text_or(args->network_topology_name, STR("nt-default"), a);
}

const struct args_kind network_overhead_args_kind = {
    .plugin = "NetworkOverhead",
    .name = "NetworkOverheadArgs",
    .type = &args_type,
    .fill = fill,
};

/* --- plugin ----------------------------------------------------------------------------------- */

struct overhead {
    struct arena arena; /* of the arguments */
    struct overhead_args args;
    const struct berth_host *host;
    struct berth_handle *handle;
    struct app_groups *groups;
    berth_state_key key;
};

static void destroy(void *ctx)
{
    struct overhead *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct overhead *self = xnew(struct overhead);
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&network_overhead_args_kind, text, &self->arena, &self->args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->host = host;
    self->handle = h;
    self->groups = app_groups_open(host, h);
    self->key = host->state_key(h, BERTH_STR("PreFilterNetworkOverhead"));
    *ret_self = self;
    return 0;
}

/* --- places and dependencies ------------------------------------------------------------------ */

/* What the dependencies of a pod mean for a node. */
struct tally {
    int64_t satisfied, violated, cost;
};

struct place {
    struct str region, zone;
};

/* Pods of one place, or of one node, on which the pod depends with this bound. */
struct need {
    struct place place;
    int64_t max_cost;
    int64_t pods;
};

/* The state of an attempt: by slot. */
struct overhead_state {
    bool equal; /* all nodes are alike */
    struct tally tallies[];
};

typedef VEC(int64_t) bound_list;
typedef VEC(struct need) need_list;

struct calculation {
    const struct overhead *self;
    struct arena arena;
    const struct json_value *weights; /* spec.weights of the NetworkTopology */
    struct map bounds;                /* workload → bound_list: of the dependencies on it */
    struct map needs;                 /* key of place and bound → struct need */
    struct map own;                   /* node name → need_list: of the pods on it */
    struct map by_place;              /* key of a place → struct tally */
    struct buf key;
};

static struct place place_of(const struct berth_node *node)
{
    struct place p = {STR(""), STR("")};
    const str_map *labels = node && node->node ? &node->node->metadata.labels : NULL;
    const struct str *region = labels ? str_map_get(labels, REGION) : NULL;
    const struct str *zone = labels ? str_map_get(labels, ZONE) : NULL;
    if (region)
        p.region = *region;
    if (zone)
        p.zone = *zone;
    return p;
}

/* The dependencies of the pod's workload, by the workload that they are on. */
static void read_dependencies(struct calculation *c, const struct json_value *group,
                              struct str workload)
{
    const struct json_value *workloads =
        json_get_list(json_get(group, STR("spec")), STR("workloads"));
    for (size_t i = 0; i < workloads->n; i++) {
        const struct json_value *w = &workloads->items[i];
        if (!str_eq(json_get_text(json_get(w, STR("workload")), STR("selector")), workload))
            continue;
        const struct json_value *list = json_get_list(w, STR("dependencies"));
        for (size_t k = 0; k < list->n; k++) {
            struct str on =
                json_get_text(json_get(&list->items[k], STR("workload")), STR("selector"));
            bound_list *bounds = map_get(&c->bounds, on);
            if (!bounds) {
                bounds = xnew(bound_list);
                map_put(&c->bounds, on, bounds);
            }
            vec_push(bounds, json_get_int(&list->items[k], STR("maxNetworkCost")));
        }
    }
}

static void add_need(struct calculation *c, const struct need *need)
{
    key_begin(&c->key, need->place.region);
    key_add(&c->key, need->place.zone);
    key_add_number(&c->key, need->max_cost);
    struct need *sum = map_get(&c->needs, buf_str(&c->key));
    if (!sum) {
        sum = arena_new(&c->arena, struct need);
        *sum = (struct need){need->place, need->max_cost, 0};
        map_put(&c->needs, arena_dup(&c->arena, buf_str(&c->key)), sum);
    }
    sum->pods++;
}

static void read_pods(struct calculation *c, const struct map *pods)
{
    map_each (e, pods) {
        const struct app_pod *pod = e->value;
        const bound_list *bounds = map_get(&c->bounds, pod->workload);
        if (!bounds)
            continue;
        need_list *own = map_get(&c->own, pod->node);
        if (!own) {
            own = xnew(need_list);
            map_put(&c->own, pod->node, own);
        }
        struct place place =
            place_of(c->self->host->node_by_name(c->self->handle, abi_str(pod->node)));
        for (size_t i = 0; i < bounds->n; i++) {
            struct need need = {place, bounds->v[i], 1};
            vec_push(own, need);
            add_need(c, &need);
        }
    }
}

/* --- costs ------------------------------------------------------------------------------------ */

/* The last item of the list whose member has this text; NULL: none. */
static const struct json_value *item_with(const struct json_value *list, struct str key,
                                          struct str text)
{
    for (size_t i = list->n; i-- > 0;)
        if (str_eq(json_get_text(&list->items[i], key), text))
            return &list->items[i];
    return NULL;
}

/* The cost from an origin to a destination; -1: unknown. */
static int64_t cost_of(const struct calculation *c, struct str topology_key, struct str origin,
                       struct str destination)
{
    const struct json_value *weights, *key, *from, *to;
    if (str_empty(origin))
        return -1;
    weights = item_with(c->weights, STR("name"), *c->self->args.weights_name);
    key = item_with(json_get_list(weights, STR("topologyList")), STR("topologyKey"), topology_key);
    from = item_with(json_get_list(key, STR("originList")), STR("origin"), origin);
    to = item_with(json_get_list(from, STR("costList")), STR("destination"), destination);
    return to ? json_get_int(to, STR("networkCost")) : -1;
}

/* Adds what pods at another node mean for a node at this place. */
static void count_need(const struct calculation *c, const struct place *at, const struct need *need,
                       struct tally *t)
{
    const struct place *to = &need->place;
    bool same_region = str_eq(at->region, to->region);
    if (str_empty(to->region) && str_empty(to->zone)) {
        t->violated += need->pods;
        t->cost += need->pods * MAX_COST;
        return;
    }
    if (same_region && str_eq(at->zone, to->zone)) {
        t->satisfied += need->pods;
        t->cost += need->pods * ZONE_COST;
        return;
    }
    int64_t cost = same_region ? cost_of(c, ZONE, at->zone, to->zone)
                               : cost_of(c, REGION, at->region, to->region);
    if (cost >= 0 && cost <= need->max_cost)
        t->satisfied += need->pods;
    else if (cost >= 0)
        t->violated += need->pods;
    t->cost += need->pods * (cost >= 0 ? cost : MAX_COST);
}

/* All nodes of a place are alike, except for pods on the node itself. */
static const struct tally *tally_of_place(struct calculation *c, const struct place *at)
{
    key_begin(&c->key, at->region);
    key_add(&c->key, at->zone);
    struct tally *t = map_get(&c->by_place, buf_str(&c->key));
    if (t)
        return t;
    t = arena_new(&c->arena, struct tally);
    *t = (struct tally){0};
    map_put(&c->by_place, arena_dup(&c->arena, buf_str(&c->key)), t);
    map_each (e, &c->needs)
        count_need(c, at, e->value, t);
    return t;
}

static struct tally tally_of(struct calculation *c, const struct berth_node *node)
{
    struct place at = place_of(node);
    struct tally t = *tally_of_place(c, &at), away = {0};
    const need_list *own = map_get(&c->own, str_of(node->name));
    for (size_t i = 0; own && i < own->n; i++)
        count_need(c, &at, &own->v[i], &away);
    t.satisfied += (own ? (int64_t)own->n : 0) - away.satisfied;
    t.violated -= away.violated;
    t.cost -= away.cost;
    return t;
}

/* --- extension points ------------------------------------------------------------------------- */

static void calculation_release(struct calculation *c)
{
    map_each (e, &c->bounds) {
        bound_list *list = e->value;
        vec_release(list);
        free(list);
    }
    map_each (e, &c->own) {
        need_list *list = e->value;
        vec_release(list);
        free(list);
    }
    map_release(&c->bounds);
    map_release(&c->own);
    map_release(&c->needs);
    map_release(&c->by_place);
    buf_release(&c->key);
    arena_release(&c->arena);
}

static void calculate(struct calculation *c, const struct berth_columns *columns,
                      struct overhead_state *state)
{
    for (size_t i = 0; i < columns->n; i++)
        if (columns->nodes[i] && columns->nodes[i]->node)
            state->tallies[i] = tally_of(c, columns->nodes[i]);
    state->equal = false;
}

/* Without dependencies or pods with nodes all nodes are alike; so they are without the objects. */
static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)status;
    const struct overhead *self = ctx;
    const struct berth_columns *columns = self->host->columns(cycle);
    struct overhead_state *state =
        self->host->cycle_alloc(cycle, sizeof(*state) + columns->n * sizeof(state->tallies[0]));
    struct str name = app_group_of(pod->pod);
    state->equal = true;
    self->host->state_write(cycle, self->key, state, NULL, NULL);
    if (str_empty(name))
        return BERTH_SUCCESS;
    const struct json_value *group = app_groups_find(self->groups, &self->args.namespaces, name);
    const struct json_value *network =
        app_groups_network(self->groups, &self->args.namespaces, *self->args.network_topology_name);
    const struct map *pods = app_groups_pods(self->groups, name);
    if (!group || !network || !pods)
        return BERTH_SUCCESS;
    struct calculation c = {
        .self = self, .weights = json_get_list(json_get(network, STR("spec")), STR("weights"))};
    arena_init(&c.arena, 0);
    read_dependencies(&c, group, app_workload_of(pod->pod));
    if (c.bounds.n) {
        read_pods(&c, pods);
        calculate(&c, columns, state);
    }
    calculation_release(&c);
    return BERTH_SUCCESS;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)pod;
    const struct overhead *self = ctx;
    const struct overhead_state *state = self->host->state_read(cycle, self->key);
    if (!state) {
        status_printf(self->host, status, "not eligible due to failed to read from cycleState");
        return BERTH_ERROR;
    }
    if (state->equal)
        return BERTH_SUCCESS;
    const struct tally *t = &state->tallies[node->slot];
    if (t->violated <= t->satisfied)
        return BERTH_SUCCESS;
    status_printf(self->host, status,
                  "Node %s does not meet several network requirements from Workload dependencies: "
                  "Satisfied: %lld Violated: %lld",
                  node->name, (long long)t->satisfied, (long long)t->violated);
    return BERTH_UNSCHEDULABLE;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)pod;
    const struct overhead *self = ctx;
    const struct overhead_state *state = self->host->state_read(cycle, self->key);
    if (!state) {
        status_printf(self->host, status,
                      "not eligible due to failed to read from cycleState, return min score");
        return BERTH_ERROR;
    }
    *ret_score = state->equal ? 0 : state->tallies[node->slot].cost;
    return BERTH_SUCCESS;
}

/* The lowest cost becomes 100, the highest 0; if all are 0 they stay so. */
static enum berth_code normalize(void *ctx, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    (void)ctx, (void)cycle, (void)pod, (void)slots, (void)status;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        low = MIN(low, scores[i]);
        high = MAX(high, scores[i]);
    }
    if (low == 0 && high == 0)
        return BERTH_SUCCESS;
    for (size_t i = 0; i < n; i++) {
        int64_t lost = 0;
        if (high != low)
            lost = (int64_t)((double)MAX_NODE_SCORE * (double)(scores[i] - low) /
                             (double)(high - low));
        scores[i] = MAX_NODE_SCORE - lost;
    }
    return BERTH_SUCCESS;
}

const struct berth_plugin network_overhead_plugin = {
    PLUGIN_HEAD("NetworkOverhead"), .create = create, .destroy = destroy,
    .pre_filter = pre_filter,       .filter = filter, .score = score,
    .normalize = normalize,
};
