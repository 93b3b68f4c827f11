/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TargetLoadPacking of sigs.k8s.io/scheduler-plugins: packs pods on nodes up to a target of cpu
 * utilization, then spreads them. What pods will use that no measurement shows yet is predicted
 * from their limits and requests.
 */
#include <math.h>

#include "engine/framework/framework.h"
#include "plugins/common/go_math.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/load_source.h"
#include "plugins/sigs/pod_amounts.h"
#include "plugins/sigs/recent_pods.h"

/* --- arguments -------------------------------------------------------------------------------- */

struct packing_args {
    struct args_meta meta;
    struct load_spec spec;
    quantity_map default_requests;
    struct str *default_requests_multiplier;
    int64_t *target_utilization;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct packing_args),
    LOAD_SPEC_FIELDS(struct packing_args),
    F_MAP(struct packing_args, default_requests, "defaultRequests", 0, struct quantity_entry,
          &quantity_entry_type),
    F_PTR(struct packing_args, default_requests_multiplier, "defaultRequestsMultiplier", 0, STR),
    F_PTR(struct packing_args, target_utilization, "targetUtilization", 0, INT64),
};
static const struct type args_type =
    TYPE("TargetLoadPackingArgs", struct packing_args, args_fields);

static void fill(void *ctx, struct arena *a)
{
    struct packing_args *args = ctx;
    load_spec_fill(&args->spec, a);
    if (!args->default_requests.n) {
        args->default_requests.v = arena_array(a, struct quantity_entry, 1);
        args->default_requests.n = 1;
        args->default_requests.v[0] =
            (struct quantity_entry){STR("cpu"), quantity_of(1, QUANTITY_DECIMAL_SI)};
    }
    if (!args->default_requests_multiplier) {
        args->default_requests_multiplier = arena_new(a, struct str);
        *args->default_requests_multiplier = STR("1.5");
    }
    if (!args->target_utilization || *args->target_utilization <= 0) {
        args->target_utilization = arena_new(a, int64_t);
        *args->target_utilization = 40;
    }
}

/* False if it is not a number that a prediction can be multiplied by. */
static bool multiplier_of(struct str text, double *ret_multiplier)
{
    char copy[64], *end;
    if (!text.n || text.n >= sizeof(copy) || memchr(text.p, '\0', text.n))
        return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    *ret_multiplier = strtod(copy, &end);
    return !*end && !strchr(" \t\n", *copy) && isfinite(*ret_multiplier) && *ret_multiplier >= 0;
}

static void check(const void *ctx, struct error_list *c)
{
    const struct packing_args *args = ctx;
    double multiplier;
    load_spec_check(&args->spec, c);
    if (!multiplier_of(*args->default_requests_multiplier, &multiplier))
        error_list_add(c,
                       "defaultRequestsMultiplier: Invalid value: \"%.*s\": unable to parse "
                       "DefaultRequestsMultiplier: must be a number that is not negative",
                       STR_ARG(*args->default_requests_multiplier));
    if (*args->target_utilization > 100)
        error_list_add(c, "targetUtilization: Invalid value: %lld: must not be greater than 100",
                       (long long)*args->target_utilization);
}

const struct args_kind target_load_packing_args_kind = {
    .plugin = "TargetLoadPacking",
    .name = "TargetLoadPackingArgs",
    .type = &args_type,
    .fill = fill,
    .check = check,
    .checked_late = true,
};

/* --- plugin ----------------------------------------------------------------------------------- */

struct packing {
    struct load_source *source;
    const struct recent_pods *recent;
    int64_t default_cpu; /* of a container without requests and limits, in thousandths */
    double multiplier;
    int64_t target;
};

static void destroy(void *ctx)
{
    struct packing *self = ctx;
    load_source_close(self->source);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct packing *self = xnew(struct packing);
    struct packing_args args;
    struct arena a;
    arena_init(&a, 0);
    int r = plugin_args_read(&target_load_packing_args_kind, text, &a, &args, error);
    if (r == 0) {
        self->default_cpu = quantity_map_amount(&args.default_requests, LOAD_CPU);
        (void)multiplier_of(*args.default_requests_multiplier, &self->multiplier);
        self->target = *args.target_utilization;
        self->source = load_source_open(host, h, &args.spec);
        self->recent = recent_pods_open(host, h);
        *ret_self = self;
    } else {
        free(self);
    }
    arena_release(&a);
    return r;
}

static int64_t predict_container(const struct packing *self, const struct container *c)
{
    if (quantity_map_get(&c->resources.limits, STR("cpu")))
        return quantity_map_amount(&c->resources.limits, LOAD_CPU);
    if (quantity_map_get(&c->resources.requests, STR("cpu")))
        return go_int64(round((double)quantity_map_amount(&c->resources.requests, LOAD_CPU) *
                              self->multiplier));
    return self->default_cpu;
}

static int64_t predict(const struct packing *self, const struct pod *pod)
{
    int64_t cpu = quantity_map_amount(&pod->spec.overhead, LOAD_CPU);
    for (size_t i = 0; i < pod->spec.containers.n; i++)
        cpu = go_add(cpu, predict_container(self, &pod->spec.containers.v[i]));
    return cpu;
}

/*
 * What pods on the node use that the measurements do not show: those bound since, or up to a minute
 * before the window's end. Pods that are being bound count as well; upstream does not see them.
 */
static int64_t predict_unseen(const struct packing *self, const struct berth_node *node)
{
    int64_t cpu = 0, end = load_source_window_end(self->source);
    const struct recent_node *recent = recent_pods_on(self->recent, str_of(node->name));
    for (size_t i = 0; recent && i < recent->pods.n; i++)
        if (recent->pods.v[i].since > end - RECENT_PODS_SECONDS)
            cpu = go_add(cpu, predict(self, object_pod(recent->pods.v[i].object)));
    for (size_t i = 0; i < node->pods.n; i++)
        if (node->pods.v[i]->assumed_node)
            cpu = go_add(cpu, predict(self, node->pods.v[i]->pod));
    return cpu;
}

static int64_t score_of(int64_t target, double predicted)
{
    double t = (double)target;
    if (predicted > 100)
        return 0;
    if (predicted > t)
        return go_int64(round(t * (100 - predicted) / (100 - t)));
    return go_int64(round((100 - t) * predicted / t + t));
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle, (void)status;
    const struct packing *self = ctx;
    const struct node_load *load = load_source_node(self->source, str_of(node->name));
    *ret_score = 0;
    if (!load || !load->usage[LOAD_CPU].has_last)
        return BERTH_SUCCESS;
    double capacity = (double)quantity_map_amount(&node->node->status.capacity, LOAD_CPU);
    double used = load->usage[LOAD_CPU].last / 100 * capacity;
    double predicted = 0;
    if (capacity != 0)
        predicted = 100 *
                    (used + (double)predict(self, pod->pod) + (double)predict_unseen(self, node)) /
                    capacity;
    *ret_score = score_of(self->target, predicted);
    return BERTH_SUCCESS;
}

const struct berth_plugin target_load_packing_plugin = {
    PLUGIN_HEAD("TargetLoadPacking"),
    .create = create,
    .destroy = destroy,
    .events = no_events,
    .score = score,
};
