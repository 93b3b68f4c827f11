/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeResourcesAllocatable of sigs.k8s.io/scheduler-plugins: prefers nodes with the least (or most)
 * allocatable resources, whatever runs on them. The score is the weighted mean of the amounts; a
 * millicore counts as much as a MiB by default.
 */
#include "api/resources.h"
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/score_range.h"

/* --- arguments -------------------------------------------------------------------------------- */

struct weighted_resource {
    struct str name;
    int64_t weight;
};

struct allocatable_args {
    struct args_meta meta;
    LIST(struct weighted_resource) resources;
    struct str mode;
};

static const struct field weighted_fields[] = {
    F_ALWAYS(struct weighted_resource, name, "name", 0, STR),
    F_ONE(struct weighted_resource, weight, "weight", 0, INT64),
};
static const struct type weighted_type =
    TYPE("ResourceSpec", struct weighted_resource, weighted_fields);

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct allocatable_args),
    F_LIST_MSG(struct allocatable_args, resources, "resources", 0, struct weighted_resource,
               &weighted_type),
    F_ONE(struct allocatable_args, mode, "mode", 0, STR),
};
static const struct type args_type =
    TYPE("NodeResourcesAllocatableArgs", struct allocatable_args, args_fields);

static void fill(void *ctx, struct arena *a)
{
    struct allocatable_args *args = ctx;
    if (args->resources.n == 0) {
        args->resources.v = arena_array(a, struct weighted_resource, 2);
        args->resources.n = 2;
        args->resources.v[0] = (struct weighted_resource){RESOURCE_CPU, 1 << 20};
        args->resources.v[1] = (struct weighted_resource){RESOURCE_MEMORY, 1};
    }
    if (str_empty(args->mode))
        args->mode = STR("Least");
}

static void check(const void *ctx, struct error_list *c)
{
    const struct allocatable_args *args = ctx;
    for (size_t i = 0; i < args->resources.n; i++) {
        const struct weighted_resource *r = &args->resources.v[i];
        if (r->weight <= 0)
            error_list_add(c,
                           "resources[%zu].weight: Invalid value: %lld: resource weight of %.*s "
                           "should be a positive value, got :%lld",
                           i, (long long)r->weight, STR_ARG(r->name), (long long)r->weight);
    }
    if (!str_is(args->mode, "Least") && !str_is(args->mode, "Most"))
        error_list_add(c, "mode: Invalid value: \"%.*s\": invalid support ModeType",
                       STR_ARG(args->mode));
}

const struct args_kind node_resources_allocatable_args_kind = {
    .plugin = "NodeResourcesAllocatable",
    .name = "NodeResourcesAllocatableArgs",
    .type = &args_type,
    .fill = fill,
    .check = check,
    .checked_late = true,
};

/* --- plugin ----------------------------------------------------------------------------------- */

struct allocatable {
    struct arena arena; /* of the arguments */
    struct allocatable_args args;
    bool most;
    struct node_memos *memos;
    struct buf key; /* identifies the arguments among the questions to nodes */
};

static void destroy(void *ctx)
{
    struct allocatable *self = ctx;
    arena_release(&self->arena);
    buf_release(&self->key);
    free(self);
}

/* Upstream keeps the weights by name: the last of a repeated name counts. */
static void merge_repeated(struct allocatable_args *args)
{
    size_t n = 0;
    for (size_t i = 0; i < args->resources.n; i++) {
        size_t k = 0;
        while (k < n && !str_eq(args->resources.v[k].name, args->resources.v[i].name))
            k++;
        args->resources.v[k] = args->resources.v[i];
        n = MAX(n, k + 1);
    }
    args->resources.n = n;
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    (void)host;
    struct allocatable *self = xnew(struct allocatable);
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&node_resources_allocatable_args_kind, text, &self->arena, &self->args,
                             error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    merge_repeated(&self->args);
    self->most = str_is(self->args.mode, "Most");
    self->memos = &handle_cluster(h)->memos;
    key_begin(&self->key, STR("NodeResourcesAllocatable"));
    key_add(&self->key, self->args.mode);
    for (size_t i = 0; i < self->args.resources.n; i++) {
        key_add(&self->key, self->args.resources.v[i].name);
        key_add_number(&self->key, self->args.resources.v[i].weight);
    }
    *ret_self = self;
    return 0;
}

/* "pods" and unknown names count as 0, and in the sum of weights. */
static int64_t amount_of(const struct berth_node *node, struct str name)
{
    if (str_eq(name, RESOURCE_CPU))
        return node->allocatable.milli_cpu;
    if (str_eq(name, RESOURCE_MEMORY))
        return node->allocatable.memory;
    if (str_eq(name, RESOURCE_EPHEMERAL_STORAGE))
        return node->allocatable.ephemeral_storage;
    return resource_is_scalar(name) ? resource_by_name(&node->allocatable, node->names, name) : 0;
}

/*
 * The sum of upstream wraps with weights beyond 2^40 or so; this one does not. A mean of int64 is
 * an int64. Both truncate.
 */
static int64_t weighted_mean(const void *ask, const struct berth_node *node)
{
    const struct allocatable *self = ask;
    __int128 sum = 0, weights = 0;
    for (size_t i = 0; i < self->args.resources.n; i++) {
        const struct weighted_resource *r = &self->args.resources.v[i];
        sum += (__int128)amount_of(node, r->name) * r->weight;
        weights += r->weight;
    }
    return (int64_t)((self->most ? sum : -sum) / weights);
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle, (void)pod, (void)status;
    *ret_score = weighted_mean(ctx, node);
    return BERTH_SUCCESS;
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    (void)cycle, (void)pod, (void)status;
    const struct allocatable *self = ctx;
    const int64_t *means = node_memo_column(self->memos, buf_str(&self->key), weighted_mean, self);
    for (size_t i = 0; i < batch->n; i++)
        batch->scores[i] = means[batch->slots[i]];
    return BERTH_SUCCESS;
}

const struct berth_plugin node_resources_allocatable_plugin = {
    PLUGIN_HEAD("NodeResourcesAllocatable"),
    .create = create,
    .destroy = destroy,
    .events = no_events,
    .score = score,
    .score_many = score_many,
    .normalize = normalize_range,
};
