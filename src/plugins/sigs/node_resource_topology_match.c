/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeResourceTopologyMatch of sigs.k8s.io/scheduler-plugins: filters nodes whose topology manager
 * would refuse the pod, and scores them by what is left in their NUMA zones.
 */
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/numa_cache.h"
#include "plugins/sigs/numa_fit.h"

/* --- arguments -------------------------------------------------------------------------------- */

struct match_strategy {
    struct str type;
    LIST(struct numa_weight) resources;
};

struct match_cache {
    struct str *foreign_pods_detect, *resync_method, *informer_mode, *resync_scope;
};

struct match_args {
    struct args_meta meta;
    struct match_strategy *scoring_strategy;
    int64_t *cache_resync_period_seconds;
    bool discard_reserved_nodes;
    struct match_cache *cache;
};

static const struct field weight_fields[] = {
    F_ALWAYS(struct numa_weight, name, "name", 0, STR),
    F_ONE(struct numa_weight, weight, "weight", 0, INT64),
};
static const struct type weight_type = TYPE("ResourceSpec", struct numa_weight, weight_fields);

static const struct field strategy_fields[] = {
    F_ONE(struct match_strategy, type, "type", 0, STR),
    F_LIST_MSG(struct match_strategy, resources, "resources", 0, struct numa_weight, &weight_type),
};
static const struct type strategy_type =
    TYPE("ScoringStrategy", struct match_strategy, strategy_fields);

static const struct field cache_fields[] = {
    F_PTR(struct match_cache, foreign_pods_detect, "foreignPodsDetect", 0, STR),
    F_PTR(struct match_cache, resync_method, "resyncMethod", 0, STR),
    F_PTR(struct match_cache, informer_mode, "informerMode", 0, STR),
    F_PTR(struct match_cache, resync_scope, "resyncScope", 0, STR),
};
static const struct type cache_type =
    TYPE("NodeResourceTopologyCache", struct match_cache, cache_fields);

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct match_args),
    F_PTR_MSG(struct match_args, scoring_strategy, "scoringStrategy", 0, struct match_strategy,
              &strategy_type),
    F_PTR(struct match_args, cache_resync_period_seconds, "cacheResyncPeriodSeconds", 0, INT64),
    F_ONE(struct match_args, discard_reserved_nodes, "discardReservedNodes", 0, BOOL),
    F_PTR_MSG(struct match_args, cache, "cache", 0, struct match_cache, &cache_type),
};
static const struct type args_type =
    TYPE("NodeResourceTopologyMatchArgs", struct match_args, args_fields);

static void fill_strategy(struct match_args *args, struct arena *a)
{
    if (!args->scoring_strategy) {
        args->scoring_strategy = arena_new(a, struct match_strategy);
        args->scoring_strategy->type = STR("LeastAllocated");
    }
    struct match_strategy *s = args->scoring_strategy;
    if (!s->resources.n) {
        s->resources.v = arena_array(a, struct numa_weight, 2);
        s->resources.n = 2;
        s->resources.v[0].name = STR("cpu");
        s->resources.v[1].name = STR("memory");
    }
    for (size_t i = 0; i < s->resources.n; i++)
        if (!s->resources.v[i].weight)
            s->resources.v[i].weight = 1;
}

static void fill(void *ctx, struct arena *a)
{
    struct match_args *args = ctx;
    fill_strategy(args, a);
    if (!args->cache)
        args->cache = arena_new(a, struct match_cache);
    struct match_cache *c = args->cache;
    c->foreign_pods_detect = args_text_or(c->foreign_pods_detect, STR("All"), a);
    c->resync_method = args_text_or(c->resync_method, STR("Autodetect"), a);
    c->informer_mode = args_text_or(c->informer_mode, STR("Dedicated"), a);
}

static const char *const strategies[] = {
    [NUMA_LEAST_ALLOCATED] = "LeastAllocated",
    [NUMA_MOST_ALLOCATED] = "MostAllocated",
    [NUMA_BALANCED_ALLOCATION] = "BalancedAllocation",
    [NUMA_LEAST_NODES] = "LeastNUMANodes",
};
static const char *const foreign_modes[] = {
    [NUMA_FOREIGN_ALL] = "All",
    [NUMA_FOREIGN_EXCLUSIVE] = "OnlyExclusiveResources",
    [NUMA_FOREIGN_NONE] = "None",
};
static const char *const resync_methods[] = {
    [NUMA_RESYNC_AUTODETECT] = "Autodetect",
    [NUMA_RESYNC_ALL] = "All",
    [NUMA_RESYNC_EXCLUSIVE] = "OnlyExclusiveResources",
};
static const char *const informer_modes[] = {"Dedicated", "Shared"};
static const char *const resync_scopes[] = {"All", "OnlyResources"};

/* The position of the text in the list; n: it is not there. */
static size_t position(const char *const *list, size_t n, struct str text)
{
    size_t i = 0;
    while (i < n && !str_is(text, list[i]))
        i++;
    return i;
}
#define POSITION(list, text) position(list, ARRAY_LEN(list), text)

static void check_choice(struct error_list *c, const char *field, const char *const *list, size_t n,
                         const struct str *text)
{
    if (text && position(list, n, *text) == n)
        error_list_add(c, "cache.%s: Unsupported value: \"%.*s\": must be %s, %s%s%s", field,
                       STR_ARG(*text), list[0], list[1], n > 2 ? ", " : "", n > 2 ? list[2] : "");
}
#define CHECK_CHOICE(c, field, list, text) check_choice(c, field, list, ARRAY_LEN(list), text)

static void check(const void *ctx, struct error_list *c)
{
    const struct match_args *args = ctx;
    struct str type = args->scoring_strategy->type;
    if (POSITION(strategies, type) == ARRAY_LEN(strategies))
        error_list_add(c,
                       "scoringStrategy.type: Invalid value: \"%.*s\": invalid ScoringStrategyType",
                       STR_ARG(type));
    CHECK_CHOICE(c, "foreignPodsDetect", foreign_modes, args->cache->foreign_pods_detect);
    CHECK_CHOICE(c, "resyncMethod", resync_methods, args->cache->resync_method);
    CHECK_CHOICE(c, "informerMode", informer_modes, args->cache->informer_mode);
    CHECK_CHOICE(c, "resyncScope", resync_scopes, args->cache->resync_scope);
}

const struct args_kind node_resource_topology_match_args_kind = {
    .plugin = "NodeResourceTopologyMatch",
    .name = "NodeResourceTopologyMatchArgs",
    .type = &args_type,
    .fill = fill,
    .check = check,
    .checked_late = true,
};

/* --- plugin ----------------------------------------------------------------------------------- */

struct match {
    const struct berth_host *host;
    struct arena arena; /* of the arguments */
    struct match_args args;
    struct numa_scoring scoring;
    struct numa_cache *cache;
    struct numa_cache_options options;
};

static void destroy(void *ctx)
{
    struct match *self = ctx;
    if (self->cache)
        numa_cache_close(self->cache, &self->options);
    arena_release(&self->arena);
    free(self);
}

static void take_options(struct match *self, const struct berth_handle *h)
{
    const struct match_cache *c = self->args.cache;
    const int64_t *period = self->args.cache_resync_period_seconds;
    self->options = (struct numa_cache_options){
        .foreign = (enum numa_foreign)POSITION(foreign_modes, *c->foreign_pods_detect),
        .method = (enum numa_resync)POSITION(resync_methods, *c->resync_method),
        .only_running = str_is(*c->informer_mode, "Shared"),
        .only_resources = c->resync_scope && str_is(*c->resync_scope, "OnlyResources"),
        .scheduler = arena_dup(&self->arena, h->profile->scheduler_name),
    };
    if (self->args.discard_reserved_nodes) {
        self->options.mode = NUMA_DISCARD_RESERVED;
    } else if (period && *period > 0) {
        self->options.mode = NUMA_OVER_RESERVE;
        self->options.period = MIN(*period, INT64_MAX / NSEC_PER_SEC) * NSEC_PER_SEC;
    }
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct match *self = xnew(struct match);
    arena_init(&self->arena, 0);
    self->host = host;
    int r = plugin_args_read(&node_resource_topology_match_args_kind, text, &self->arena,
                             &self->args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    const struct match_strategy *s = self->args.scoring_strategy;
    self->scoring = (struct numa_scoring){(enum numa_strategy)POSITION(strategies, s->type),
                                          s->resources.v, s->resources.n};
    take_options(self, h);
    self->cache = numa_cache_open(host, h, &self->options);
    *ret_self = self;
    return 0;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct match *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, NULL);
    self->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE, NULL);
    self->host->register_event(r, numa_cache_resource(self->cache),
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE, NULL);
}

static enum berth_code refuse(const struct match *self, struct berth_status *status,
                              const char *why)
{
    self->host->status_text(status, (struct berth_str){why, strlen(why)});
    return BERTH_UNSCHEDULABLE;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    const struct match *self = ctx;
    const struct numa_topology *t;
    struct numa_pod p = {.pod = pod->pod, .qos = pod_qos_of(pod->pod)};
    if (p.qos == POD_QOS_BEST_EFFORT && !numa_requests_devices(pod->pod))
        return BERTH_SUCCESS;
    if (!numa_cache_get(self->cache, self->options.mode, str_of(node->name), &t))
        return refuse(self, status, "invalid node topology data");
    if (!t || !t->config.single)
        return BERTH_SUCCESS;
    struct arena a;
    arena_init(&a, 0);
    if (t->config.pod_scope)
        numa_pod_requests(pod->pod, &a, &p.requests);
    const char *why = numa_refusal(&p, t, node->node);
    arena_release(&a);
    return why ? refuse(self, status, why) : BERTH_SUCCESS;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle, (void)status;
    const struct match *self = ctx;
    const struct numa_topology *t;
    struct numa_pod p = {.pod = pod->pod, .qos = pod_qos_of(pod->pod)};
    *ret_score = MAX_NODE_SCORE;
    if (p.qos != POD_QOS_GUARANTEED)
        return BERTH_SUCCESS;
    *ret_score = 0;
    if (!numa_cache_get(self->cache, self->options.mode, str_of(node->name), &t) || !t)
        return BERTH_SUCCESS;
    struct arena a;
    arena_init(&a, 0);
    if (t->config.pod_scope)
        numa_pod_requests(pod->pod, &a, &p.requests);
    *ret_score = numa_score(&self->scoring, &p, t);
    arena_release(&a);
    return BERTH_SUCCESS;
}

static enum berth_code reserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    (void)cycle, (void)status;
    const struct match *self = ctx;
    numa_cache_reserve(self->cache, self->options.mode, str_abi(node_name), pod);
    return BERTH_SUCCESS;
}

static void unreserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)cycle;
    const struct match *self = ctx;
    numa_cache_unreserve(self->cache, self->options.mode, str_abi(node_name), pod);
}

static void post_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)cycle;
    const struct match *self = ctx;
    numa_cache_bound(self->cache, self->options.mode, str_abi(node_name), pod);
}

const struct berth_plugin node_resource_topology_match_plugin = {
    PLUGIN_HEAD("NodeResourceTopologyMatch"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .filter = filter,
    .score = score,
    .reserve = reserve,
    .unreserve = unreserve,
    .post_bind = post_bind,
};
