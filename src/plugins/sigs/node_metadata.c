/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeMetadata of sigs.k8s.io/scheduler-plugins (newer than v0.34.7): prefers nodes by a number or
 * a time in one of their labels or annotations. Nodes without a valid value get 0, the others 1 to
 * 100.
 */
#include <math.h>

#include "base/go_text.h"
#include "base/go_time.h"
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

/* --- arguments -------------------------------------------------------------------------------- */

struct metadata_args {
    struct args_meta meta;
    struct str key, source, type, strategy, format;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct metadata_args),
    F_ONE(struct metadata_args, key, "metadataKey", 0, STR),
    F_ONE(struct metadata_args, source, "metadataSource", 0, STR),
    F_ONE(struct metadata_args, type, "metadataType", 0, STR),
    F_ONE(struct metadata_args, strategy, "scoringStrategy", 0, STR),
    F_ONE(struct metadata_args, format, "timestampFormat", 0, STR),
};
static const struct type args_type = TYPE("NodeMetadataArgs", struct metadata_args, args_fields);

static void fill(void *ctx, struct arena *a)
{
    struct metadata_args *args = ctx;
    (void)a;
    if (str_empty(args->format) && str_is(args->type, "Timestamp"))
        args->format = STR("2006-01-02T15:04:05Z07:00");
}

static void invalid(struct error_list *c, const char *field, struct str value, const char *why)
{
    error_list_add(c, "%s: Invalid value: \"%.*s\": %s", field, STR_ARG(value), why);
}

static void check(const void *ctx, struct error_list *c)
{
    const struct metadata_args *args = ctx;
    bool number = str_is(args->type, "Number"), time = str_is(args->type, "Timestamp");
    bool of_number = str_is(args->strategy, "Highest") || str_is(args->strategy, "Lowest");
    bool of_time = str_is(args->strategy, "Newest") || str_is(args->strategy, "Oldest");
    if (str_empty(args->key))
        invalid(c, "metadataKey", args->key, "metadataKey cannot be empty");
    if (!str_is(args->source, "Label") && !str_is(args->source, "Annotation"))
        invalid(c, "metadataSource", args->source,
                "metadataSource must be either \"Label\" or \"Annotation\"");
    if (!number && !time)
        invalid(c, "metadataType", args->type,
                "metadataType must be either \"Number\" or \"Timestamp\"");
    if (!of_number && !of_time)
        invalid(c, "scoringStrategy", args->strategy,
                "scoringStrategy must be one of \"Highest\", \"Lowest\", \"Newest\", or "
                "\"Oldest\"");
    if (number && of_time)
        invalid(c, "scoringStrategy", args->strategy,
                "scoringStrategy \"Newest\" and \"Oldest\" are only valid for metadataType "
                "\"Timestamp\"");
    if (time && of_number)
        invalid(c, "scoringStrategy", args->strategy,
                "scoringStrategy \"Highest\" and \"Lowest\" are only valid for metadataType "
                "\"Number\"");
}

const struct args_kind node_metadata_args_kind = {
    .plugin = "NodeMetadata",
    .name = "NodeMetadataArgs",
    .type = &args_type,
    .fill = fill,
    .check = check,
    .checked_late = true,
};

/* --- plugin ----------------------------------------------------------------------------------- */

struct node_metadata {
    struct berth_handle *handle;
    struct arena arena; /* of the arguments */
    struct metadata_args args;
    bool annotation, time;
    bool descending; /* the lowest number, or the newest time, is the best */
};

static void destroy(void *ctx)
{
    struct node_metadata *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    (void)host;
    struct node_metadata *self = xnew(struct node_metadata);
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&node_metadata_args_kind, text, &self->arena, &self->args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->handle = h;
    self->annotation = str_is(self->args.source, "Annotation");
    self->time = str_is(self->args.type, "Timestamp");
    self->descending =
        str_is(self->args.strategy, "Lowest") || str_is(self->args.strategy, "Newest");
    *ret_self = self;
    return 0;
}

/* The score of a node without a valid value, before normalization. */
#define NO_VALUE INT64_MIN

/* Numbers are cut to integers; those that no integer can hold are not valid. */
static int64_t number_of(struct str text)
{
    double value;
    struct err err;
    if (go_parse_float64(text, &value, &err) < 0 || !(fabs(value) < 0x1p63))
        return NO_VALUE;
    return (int64_t)value;
}

/* The age in whole seconds, rounded as by Go: at most 292 years, and by way of a double. */
static int64_t age_of(const struct node_metadata *self, struct str text)
{
    struct timestamp then, now = timestamp_of(handle_wall(self->handle));
    if (!go_time_parse(self->args.format, text, &then))
        return NO_VALUE;
    __int128 ns = (__int128)(now.sec - then.sec) * NSEC_PER_SEC + (now.nsec - then.nsec);
    ns = MAX(MIN(ns, (__int128)INT64_MAX), (__int128)INT64_MIN);
    return (int64_t)((double)(int64_t)(ns / NSEC_PER_SEC) +
                     (double)(int64_t)(ns % NSEC_PER_SEC) / NSEC_PER_SEC);
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle, (void)pod, (void)status;
    const struct node_metadata *self = ctx;
    const struct object_meta *meta = &node->node->metadata;
    const struct str *text =
        str_map_get(self->annotation ? &meta->annotations : &meta->labels, self->args.key);
    int64_t value = !text ? NO_VALUE : self->time ? age_of(self, *text) : number_of(*text);
    *ret_score = value == NO_VALUE || !self->descending ? value : -value;
    return BERTH_SUCCESS;
}

static enum berth_code normalize(void *ctx, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    (void)ctx, (void)cycle, (void)pod, (void)slots, (void)status;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if (scores[i] == NO_VALUE)
            continue;
        low = MIN(low, scores[i]);
        high = MAX(high, scores[i]);
    }
    for (size_t i = 0; i < n; i++) {
        __int128 above = (__int128)scores[i] - low, range = (__int128)high - low;
        if (scores[i] == NO_VALUE)
            scores[i] = 0;
        else
            scores[i] = range ? (int64_t)(above * 99 / range) + 1 : 1;
    }
    return BERTH_SUCCESS;
}

const struct berth_plugin node_metadata_plugin = {
    PLUGIN_HEAD("NodeMetadata"), .create = create, .destroy = destroy,
    .events = no_events,         .score = score,   .normalize = normalize,
};
