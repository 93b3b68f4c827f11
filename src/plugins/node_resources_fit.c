/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeResourcesFit: a pod goes where what it asks for is still free, preferably where most is left
 * (LeastAllocated).
 */
#include "api/resources.h"
#include "codec/json.h"
#include "plugins/plugin_base.h"
#include "plugins/registry.h"

#define MAX_SCORE        100
#define MAX_INSUFFICIENT 32

/* --- arguments -------------------------------------------------------------------------------- */

struct resource_weight {
    struct str name;
    int64_t weight;
};

struct fit_args {
    struct str kind, api_version;
    LIST(struct str) ignored_resources, ignored_resource_groups;
    struct scoring_strategy {
        struct str type;
        LIST(struct resource_weight) resources;
    } *scoring_strategy;
};

static const struct field resource_weight_fields[] = {
    F_ALWAYS(struct resource_weight, name, "name", 0, STR),
    F_ONE(struct resource_weight, weight, "weight", 0, INT64),
};
static const struct type resource_weight_type =
    TYPE("ResourceSpec", struct resource_weight, resource_weight_fields);

static const struct field scoring_strategy_fields[] = {
    F_ONE(struct scoring_strategy, type, "type", 0, STR),
    F_LIST_MSG(struct scoring_strategy, resources, "resources", 0, struct resource_weight,
               &resource_weight_type),
};
static const struct type scoring_strategy_type =
    TYPE("ScoringStrategy", struct scoring_strategy, scoring_strategy_fields);

static const struct field fit_args_fields[] = {
    F_ONE(struct fit_args, kind, "kind", 0, STR),
    F_ONE(struct fit_args, api_version, "apiVersion", 0, STR),
    F_LIST(struct fit_args, ignored_resources, "ignoredResources", 0, STR),
    F_LIST(struct fit_args, ignored_resource_groups, "ignoredResourceGroups", 0, STR),
    F_PTR_MSG(struct fit_args, scoring_strategy, "scoringStrategy", 0, struct scoring_strategy,
              &scoring_strategy_type),
};
static const struct type fit_args_type =
    TYPE("NodeResourcesFitArgs", struct fit_args, fit_args_fields);

struct node_resources_fit {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct arena arena; /* holds args */
    struct fit_args args;
    berth_reason too_many_pods, cpu, memory, ephemeral_storage;
};

static void default_strategy(struct fit_args *args, struct arena *a)
{
    if (!args->scoring_strategy)
        args->scoring_strategy = arena_new(a, struct scoring_strategy);
    struct scoring_strategy *s = args->scoring_strategy;
    if (str_empty(s->type))
        s->type = STR("LeastAllocated");
    if (s->resources.n == 0) {
        s->resources.v = arena_array(a, struct resource_weight, 2);
        s->resources.v[0] = (struct resource_weight){RESOURCE_CPU, 1};
        s->resources.v[1] = (struct resource_weight){RESOURCE_MEMORY, 1};
        s->resources.n = 2;
    }
    for (size_t i = 0; i < s->resources.n; i++)
        if (s->resources.v[i].weight == 0)
            s->resources.v[i].weight = 1;
}

static int check_args(const struct fit_args *args, struct err *reterr)
{
    const struct scoring_strategy *s = args->scoring_strategy;
    if (!str_is(s->type, "LeastAllocated"))
        return err_set(reterr, -EINVAL,
                       "scoringStrategy.type: \"%.*s\" is not supported, use \"LeastAllocated\"",
                       STR_ARG(s->type));
    for (size_t i = 0; i < s->resources.n; i++)
        if (s->resources.v[i].weight < 1 || s->resources.v[i].weight > 100)
            return err_set(reterr, -EINVAL,
                           "scoringStrategy.resources[%zu].weight: resource weight of %.*s not in "
                           "valid range [1, 100]",
                           i, STR_ARG(s->resources.v[i].name));
    for (size_t i = 0; i < args->ignored_resource_groups.n; i++)
        if (str_find(args->ignored_resource_groups.v[i], '/') <
            args->ignored_resource_groups.v[i].n)
            return err_set(reterr, -EINVAL,
                           "ignoredResourceGroups[%zu]: resource group name can't contain '/'", i);
    return 0;
}

static void destroy(void *ctx)
{
    struct node_resources_fit *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct node_resources_fit *self = xnew(struct node_resources_fit);
    struct err err = {0};
    int r = 0;
    self->host = host;
    self->handle = h;
    arena_init(&self->arena, 0);
    if (args.n)
        r = json_decode(str_abi(args), &fit_args_type, JSON_STRICT, &self->arena, &self->args,
                        &err);
    if (r == 0) {
        default_strategy(&self->args, &self->arena);
        r = check_args(&self->args, &err);
    }
    if (r < 0) {
        snprintf(error->text, sizeof(error->text), "%.*s", (int)sizeof(error->text) - 1, err.msg);
        destroy(self);
        return r;
    }
    self->too_many_pods = host->reason(h, BERTH_STR("Too many pods"));
    self->cpu = host->reason(h, BERTH_STR("Insufficient cpu"));
    self->memory = host->reason(h, BERTH_STR("Insufficient memory"));
    self->ephemeral_storage = host->reason(h, BERTH_STR("Insufficient ephemeral-storage"));
    *ret_self = self;
    return 0;
}

/* --- filter ----------------------------------------------------------------------------------- */

/* What a node lacks. */
struct shortage {
    berth_reason reasons[MAX_INSUFFICIENT];
    size_t n;
    bool unresolvable; /* more than the node has at all: emptying it would not help */
};

/* Amounts may be absurd; sums wrap, as upstream's do. */
static int64_t plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void compare(struct shortage *s, int64_t request, int64_t allocatable, int64_t requested,
                    berth_reason reason)
{
    if (request <= 0 || request <= minus(allocatable, requested) || s->n == MAX_INSUFFICIENT)
        return;
    s->reasons[s->n++] = reason;
    s->unresolvable |= request > allocatable;
}

static bool list_has(const struct str *v, size_t n, struct str s)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(v[i], s))
            return true;
    return false;
}

static bool is_ignored(const struct node_resources_fit *self, struct str name)
{
    const struct fit_args *args = &self->args;
    struct str group = str_slice(name, 0, str_find(name, '/'));
    return resource_is_extended(name) &&
           (list_has(args->ignored_resources.v, args->ignored_resources.n, name) ||
            list_has(args->ignored_resource_groups.v, args->ignored_resource_groups.n, group));
}

static void compare_scalars(const struct node_resources_fit *self, const struct berth_pod *pod,
                            const struct resource *allocatable, const struct resource *requested,
                            struct shortage *s)
{
    for (size_t i = 0; i < pod->requests.scalars.n; i++) {
        const struct scalar_amount *want = &pod->requests.scalars.v[i];
        struct str name = intern_text(pod->names, want->name);
        int64_t has = resource_scalar(allocatable, want->name);
        int64_t used = resource_scalar(requested, want->name);
        if (want->amount == 0 || want->amount <= minus(has, used) || is_ignored(self, name))
            continue;
        char text[512];
        int n = snprintf(text, sizeof(text), "Insufficient %.*s", STR_ARG(name));
        struct berth_str reason = {text, MIN((size_t)MAX(n, 0), sizeof(text) - 1)};
        compare(s, want->amount, has, used, self->host->reason(self->handle, reason));
    }
}

/* What would be short on a node with these amounts and so many pods. */
static void find_shortage(const struct node_resources_fit *self, const struct berth_pod *pod,
                          const struct resource *allocatable, const struct resource *requested,
                          size_t pods, struct shortage *s)
{
    const struct resource *want = &pod->requests;
    s->n = 0;
    s->unresolvable = false;
    if ((int64_t)pods + 1 > allocatable->pods)
        s->reasons[s->n++] = self->too_many_pods;
    compare(s, want->milli_cpu, allocatable->milli_cpu, requested->milli_cpu, self->cpu);
    compare(s, want->memory, allocatable->memory, requested->memory, self->memory);
    compare(s, want->ephemeral_storage, allocatable->ephemeral_storage,
            requested->ephemeral_storage, self->ephemeral_storage);
    compare_scalars(self, pod, allocatable, requested, s);
}

static enum berth_code shortage_code(const struct shortage *s)
{
    if (s->n == 0)
        return BERTH_SUCCESS;
    return s->unresolvable ? BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE : BERTH_UNSCHEDULABLE;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    const struct node_resources_fit *self = ctx;
    struct shortage s;
    find_shortage(self, pod, &node->allocatable, &node->requested, node->pods.n, &s);
    for (size_t i = 0; i < s.n; i++)
        self->host->status_reason(status, s.reasons[i]);
    return shortage_code(&s);
}

/* True where the columns alone show that the pod fits; scalars are not in them. */
static bool fits_columns(const struct berth_columns *c, size_t i, const struct resource *want)
{
    return c->pod_count[i] < c->allocatable_pods[i] &&
           (want->milli_cpu <= 0 ||
            want->milli_cpu <= minus(c->allocatable_cpu[i], c->requested_cpu[i])) &&
           (want->memory <= 0 ||
            want->memory <= minus(c->allocatable_memory[i], c->requested_memory[i])) &&
           (want->ephemeral_storage <= 0 ||
            want->ephemeral_storage <=
                minus(c->allocatable_ephemeral_storage[i], c->requested_ephemeral_storage[i]));
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct node_resources_fit *self = ctx;
    const struct berth_columns *c = batch->columns;
    bool has_scalars = pod->requests.scalars.n > 0;
    for (size_t w = 0; w < BITSET_WORDS(c->n); w++)
        for (uint64_t left = batch->feasible[w]; left; left &= left - 1) {
            size_t slot = w * 64 + (size_t)__builtin_ctzll(left);
            if (!has_scalars && fits_columns(c, slot, &pod->requests))
                continue;
            struct shortage s;
            const struct berth_node *node = c->nodes[slot];
            find_shortage(self, pod, &node->allocatable, &node->requested, node->pods.n, &s);
            if (s.n == 0)
                continue;
            batch->feasible[w] &= ~(left & -left);
            batch->codes[slot] = (uint8_t)shortage_code(&s);
            batch->reasons[slot] = self->host->reason_list(self->handle, s.reasons, s.n);
        }
    return BERTH_SUCCESS;
}

/* --- score: LeastAllocated -------------------------------------------------------------------- */

/* What the pod adds to the resource, and what the node has and has given away. */
static void amounts_of(const struct berth_pod *pod, const struct berth_node *node, struct str name,
                       int64_t *ret_requested, int64_t *ret_allocatable)
{
    if (str_eq(name, RESOURCE_CPU)) {
        *ret_requested = plus(node->nonzero_milli_cpu, pod->nonzero_milli_cpu);
        *ret_allocatable = node->allocatable.milli_cpu;
    } else if (str_eq(name, RESOURCE_MEMORY)) {
        *ret_requested = plus(node->nonzero_memory, pod->nonzero_memory);
        *ret_allocatable = node->allocatable.memory;
    } else {
        int64_t want = resource_by_name(&pod->requests, pod->names, name);
        *ret_requested = plus(resource_by_name(&node->requested, node->names, name), want);
        *ret_allocatable = resource_by_name(&node->allocatable, node->names, name);
        /* A scalar resource that the pod does not ask for says nothing about it. */
        if (want == 0 && resource_is_scalar(name))
            *ret_allocatable = 0;
    }
}

static int64_t least_requested(int64_t requested, int64_t capacity)
{
    if (requested > capacity || capacity <= 0)
        return 0;
    if (LIKELY(requested >= 0 && capacity <= INT64_MAX / MAX_SCORE))
        return (capacity - requested) * MAX_SCORE / capacity;
    /* Where amounts are absurd upstream's score overflows, and no pod is placed any more; ours
     * stays within its bounds. */
    __extension__ typedef __int128 wide;
    wide score = ((wide)capacity - requested) * MAX_SCORE / capacity;
    return (int64_t)MIN(score, (wide)MAX_SCORE);
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct node_resources_fit *self = ctx;
    const struct scoring_strategy *s = self->args.scoring_strategy;
    int64_t sum = 0, weights = 0;
    for (size_t i = 0; i < s->resources.n; i++) {
        int64_t requested, allocatable;
        amounts_of(pod, node, s->resources.v[i].name, &requested, &allocatable);
        if (allocatable == 0)
            continue;
        sum += least_requested(requested, allocatable) * s->resources.v[i].weight;
        weights += s->resources.v[i].weight;
    }
    *ret_score = weights ? sum / weights : 0;
    return BERTH_SUCCESS;
}

/* --- queueing hints --------------------------------------------------------------------------- */

/* Does the change leave anything that the pod asks for freer than before? */
static bool freed_by_resize(const struct berth_pod *pod, const struct pod *old,
                            const struct pod *new)
{
    struct arena scratch;
    quantity_map before, after;
    bool freed = false;
    arena_init(&scratch, 0);
    pod_requests(old, &RESOURCE_GATES_DEFAULT, NULL, &scratch, &before);
    pod_requests(new, &RESOURCE_GATES_DEFAULT, NULL, &scratch, &after);
    for (size_t i = 0; !freed && i < before.n; i++) {
        struct str name = before.v[i].key;
        const struct quantity *now = quantity_map_get(&after, name);
        freed = resource_by_name(&pod->requests, pod->names, name) != 0 &&
                (!now || quantity_cmp(now, &before.v[i].value) < 0);
    }
    arena_release(&scratch);
    return freed;
}

static enum berth_hint after_pod_change(void *self, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    (void)self;
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    if (!new)
        return BERTH_QUEUE;
    if (hint_about(pod, new))
        return BERTH_QUEUE;
    if (!old || str_empty(new->spec.node_name))
        return BERTH_QUEUE_SKIP;
    return freed_by_resize(pod, old, new) ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

/* Has the node grown in something that the pod asks for? */
static bool grown_for(const struct berth_pod *pod, const struct resources *old,
                      const struct resources *new)
{
    const struct resource *want = &pod->requests;
    if (new->allowed_pods > old->allowed_pods ||
        (want->milli_cpu > 0 && new->milli_cpu > old->milli_cpu) ||
        (want->memory > 0 && new->memory > old->memory) ||
        (want->ephemeral_storage > 0 && new->ephemeral_storage > old->ephemeral_storage))
        return true;
    for (size_t i = 0; i < want->scalars.n; i++) {
        struct str name = intern_text(pod->names, want->scalars.v[i].name);
        const int64_t *has = resources_scalar(new, name), *had = resources_scalar(old, name);
        if (want->scalars.v[i].amount && (has ? *has : 0) > (had ? *had : 0))
            return true;
    }
    return false;
}

static bool fits_empty(const struct berth_pod *pod, const struct resources *has)
{
    const struct resource *want = &pod->requests;
    if (has->allowed_pods < 1 || want->milli_cpu > has->milli_cpu || want->memory > has->memory ||
        want->ephemeral_storage > has->ephemeral_storage)
        return false;
    for (size_t i = 0; i < want->scalars.n; i++) {
        const int64_t *amount =
            resources_scalar(has, intern_text(pod->names, want->scalars.v[i].name));
        if (want->scalars.v[i].amount > (amount ? *amount : 0))
            return false;
    }
    return true;
}

static enum berth_hint after_node_change(void *self, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)self;
    const struct node *old = hint_node(before), *new = hint_node(after);
    if (!new)
        return BERTH_QUEUE_SKIP;
    struct arena scratch;
    struct resources had = {0}, has = {0};
    arena_init(&scratch, 0);
    resources_from_map(&new->status.allocatable, &scratch, &has);
    if (old)
        resources_from_map(&old->status.allocatable, &scratch, &had);
    bool helps = fits_empty(pod, &has) && (!old || grown_for(pod, &had, &has));
    arena_release(&scratch);
    return helps ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((struct node_resources_fit *)ctx)->host;
    host->register_event(r, BERTH_RESOURCE_POD,
                         BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_POD_SCALE_DOWN,
                         after_pod_change);
    host->register_event(r, BERTH_RESOURCE_NODE,
                         BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE,
                         after_node_change);
}

const struct berth_plugin node_resources_fit_plugin = {
    PLUGIN_HEAD("NodeResourcesFit"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .filter = filter,
    .filter_many = filter_many,
    .score = score,
};
