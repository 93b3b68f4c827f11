/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_policy.c - Policy v1 (releases up to 1.22): predicates and priorities by name.
 *
 * Each stands for plugins at certain points, by the table of the last release that read it
 * (upstream: legacy_registry.go). Nothing else runs except what is required: queue sort,
 * preemption, binding, and the plugins for fields that pods did not have then.
 */
#include "base/nearest.h"
#include "base/vec.h"
#include "codec/json.h"
#include "engine/config/config_internal.h"
#include "engine/config/policy_file.h"

/* --- names ------------------------------------------------------------------------------------ */

#define AT(p) (1U << POINT_##p)

/* In the order in which predicates ran. */
enum predicate {
    PREDICATE_NODE_UNSCHEDULABLE,
    PREDICATE_GENERAL,
    PREDICATE_HOST_NAME,
    PREDICATE_HOST_PORTS,
    PREDICATE_NODE_SELECTOR,
    PREDICATE_RESOURCES,
    PREDICATE_DISK_CONFLICT,
    PREDICATE_NODE_TAINTS,
    PREDICATE_LABEL_PRESENCE,
    PREDICATE_SERVICE_AFFINITY,
    PREDICATE_EBS_COUNT,
    PREDICATE_GCE_PD_COUNT,
    PREDICATE_CSI_COUNT,
    PREDICATE_AZURE_DISK_COUNT,
    PREDICATE_CINDER_COUNT,
    PREDICATE_VOLUME_BINDING,
    PREDICATE_VOLUME_ZONE,
    PREDICATE_EVEN_PODS_SPREAD,
    PREDICATE_INTER_POD_AFFINITY,
    PREDICATES,
};

/*
 * With the extension points that the plugins have today: those of volumes have a PreFilter.
 */
static const struct {
    const char *predicate;
    bool is_default;
    struct {
        const char *plugin;
        unsigned points;
    } runs[4];
} predicates[PREDICATES] = {
    [PREDICATE_NODE_UNSCHEDULABLE] = {"CheckNodeUnschedulable",
                                      true,
                                      {{"NodeUnschedulable", AT(FILTER)}}},
    [PREDICATE_GENERAL] = {"GeneralPredicates",
                           true,
                           {{"NodeResourcesFit", AT(PRE_FILTER) | AT(FILTER)},
                            {"NodeName", AT(FILTER)},
                            {"NodePorts", AT(PRE_FILTER) | AT(FILTER)},
                            {"NodeAffinity", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_HOST_NAME] = {"HostName", false, {{"NodeName", AT(FILTER)}}},
    [PREDICATE_HOST_PORTS] = {"PodFitsHostPorts",
                              false,
                              {{"NodePorts", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_NODE_SELECTOR] = {"MatchNodeSelector",
                                 false,
                                 {{"NodeAffinity", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_RESOURCES] = {"PodFitsResources",
                             false,
                             {{"NodeResourcesFit", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_DISK_CONFLICT] = {"NoDiskConflict",
                                 true,
                                 {{"VolumeRestrictions", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_NODE_TAINTS] = {"PodToleratesNodeTaints", true, {{"TaintToleration", AT(FILTER)}}},
    [PREDICATE_LABEL_PRESENCE] = {"CheckNodeLabelPresence", false, {{"NodeLabel", AT(FILTER)}}},
    [PREDICATE_SERVICE_AFFINITY] = {"CheckServiceAffinity",
                                    false,
                                    {{"ServiceAffinity", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_EBS_COUNT] = {"MaxEBSVolumeCount",
                             true,
                             {{"EBSLimits", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_GCE_PD_COUNT] = {"MaxGCEPDVolumeCount",
                                true,
                                {{"GCEPDLimits", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_CSI_COUNT] = {"MaxCSIVolumeCountPred",
                             true,
                             {{"NodeVolumeLimits", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_AZURE_DISK_COUNT] = {"MaxAzureDiskVolumeCount",
                                    true,
                                    {{"AzureDiskLimits", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_CINDER_COUNT] = {"MaxCinderVolumeCount",
                                false,
                                {{"CinderLimits", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_VOLUME_BINDING] = {"CheckVolumeBinding",
                                  true,
                                  {{"VolumeBinding",
                                    AT(PRE_FILTER) | AT(FILTER) | AT(RESERVE) | AT(PRE_BIND)}}},
    [PREDICATE_VOLUME_ZONE] = {"NoVolumeZoneConflict",
                               true,
                               {{"VolumeZone", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_EVEN_PODS_SPREAD] = {"EvenPodsSpread",
                                    true,
                                    {{"PodTopologySpread", AT(PRE_FILTER) | AT(FILTER)}}},
    [PREDICATE_INTER_POD_AFFINITY] = {"MatchInterPodAffinity",
                                      true,
                                      {{"InterPodAffinity", AT(PRE_FILTER) | AT(FILTER)}}},
};
/* Sorted by name: the order in which they were configured. */
enum priority {
    PRIORITY_BALANCED_ALLOCATION,
    PRIORITY_EVEN_PODS_SPREAD,
    PRIORITY_IMAGE_LOCALITY,
    PRIORITY_INTER_POD_AFFINITY,
    PRIORITY_LEAST_REQUESTED,
    PRIORITY_MOST_REQUESTED,
    PRIORITY_NODE_AFFINITY,
    PRIORITY_NODE_LABEL,
    PRIORITY_PREFER_AVOID_PODS,
    PRIORITY_CAPACITY_RATIO,
    PRIORITY_SELECTOR_SPREAD,
    PRIORITY_SERVICE_ANTI_AFFINITY,
    PRIORITY_TAINT_TOLERATION,
    PRIORITIES,
};

static const struct {
    const char *priority;
    int32_t weight; /* without priorities in the file; 0: not a default */
    const char *plugin;
    bool pre_scores;
} priorities[PRIORITIES] = {
    [PRIORITY_BALANCED_ALLOCATION] = {"BalancedResourceAllocation", 1,
                                      "NodeResourcesBalancedAllocation", false},
    [PRIORITY_EVEN_PODS_SPREAD] = {"EvenPodsSpreadPriority", 2, "PodTopologySpread", true},
    [PRIORITY_IMAGE_LOCALITY] = {"ImageLocalityPriority", 1, "ImageLocality", false},
    [PRIORITY_INTER_POD_AFFINITY] = {"InterPodAffinityPriority", 1, "InterPodAffinity", true},
    [PRIORITY_LEAST_REQUESTED] = {"LeastRequestedPriority", 1, "NodeResourcesLeastAllocated",
                                  false},
    [PRIORITY_MOST_REQUESTED] = {"MostRequestedPriority", 0, "NodeResourcesMostAllocated", false},
    [PRIORITY_NODE_AFFINITY] = {"NodeAffinityPriority", 1, "NodeAffinity", true},
    [PRIORITY_NODE_LABEL] = {"NodeLabel", 0, "NodeLabel", false},
    [PRIORITY_PREFER_AVOID_PODS] = {"NodePreferAvoidPodsPriority", 10000, "NodePreferAvoidPods",
                                    false},
    [PRIORITY_CAPACITY_RATIO] = {"RequestedToCapacityRatio", 0, "RequestedToCapacityRatio", false},
    [PRIORITY_SELECTOR_SPREAD] = {"SelectorSpreadPriority", 1, "PodTopologySpread", true},
    [PRIORITY_SERVICE_ANTI_AFFINITY] = {"ServiceAffinity", 0, "ServiceAffinity", false},
    [PRIORITY_TAINT_TOLERATION] = {"TaintTolerationPriority", 1, "TaintToleration", true},
};

/* --- conversion ------------------------------------------------------------------------------- */

struct conversion {
    struct arena *a;
    struct config_problems *problems;
    /* The paths of entries with arguments: "predicates[2].argument.labelsPresence" */
    struct str label_origin, service_origin, ratio_origin;
    bool has_predicate[PREDICATES];
    int64_t weight[PRIORITIES];                                     /* 0: not enabled */
    VEC(struct str) present, absent, prefer_present, prefer_absent; /* NodeLabel */
    VEC(struct str) affinity, anti_affinity;                        /* ServiceAffinity */
    bool has_label_args, has_service_args;                          /* possibly empty */
    const struct policy_ratio *ratio;
    const struct policy_priority *custom[3]; /* the last with each kind of argument */
    struct plugins_config *plugins;
    VEC(struct plugin_args) args;
};

static size_t find_predicate(struct str name)
{
    size_t i = 0;
    while (i < PREDICATES && !str_is(name, predicates[i].predicate))
        i++;
    return i;
}

static void refuse_argument(struct conversion *c, const char *list, size_t at)
{
    config_problem_add(c->problems, 0, arena_printf(c->a, "%s[%zu].argument", list, at), STR(""),
                       "exactly 1 is required");
}

static size_t find_priority(struct str name)
{
    size_t i = 0;
    while (i < PRIORITIES && !str_is(name, priorities[i].priority))
        i++;
    return i;
}

#define PUSH_ALL(vec, list)                      \
    do {                                         \
        for (size_t i_ = 0; i_ < (list).n; i_++) \
            vec_push(&(vec), (list).v[i_]);      \
    } while (0)

static struct str near_predicate(struct str name)
{
    struct nearest nearest;
    nearest_init(&nearest, name);
    for (size_t i = 0; i < PREDICATES; i++)
        nearest_consider(&nearest, str_of(predicates[i].predicate));
    return nearest_suggestion(&nearest);
}

static void take_predicate(struct conversion *c, const struct policy_predicate *p, size_t at)
{
    const struct policy_predicate_argument *arg = p->argument;
    if (arg && !arg->service_affinity == !arg->labels_presence) {
        refuse_argument(c, "predicates", at);
        return;
    }
    /* Upstream: for a name of the table the argument is ignored. */
    size_t known =
        find_predicate(str_is(p->name, "PodFitsPorts") ? STR("PodFitsHostPorts") : p->name);
    if (known < PREDICATES) {
        c->has_predicate[known] = true;
    } else if (!arg) {
        config_problem_add(c->problems, 0, arena_printf(c->a, "predicates[%zu].name", at), STR(""),
                           "predicate type not found for \"%.*s\"", STR_ARG(p->name));
        config_problem_suggest(c->problems, near_predicate(p->name));
    } else if (arg->service_affinity) {
        PUSH_ALL(c->affinity, arg->service_affinity->labels);
        c->has_predicate[PREDICATE_SERVICE_AFFINITY] = c->has_service_args = true;
        c->service_origin = arena_printf(c->a, "predicates[%zu].argument.serviceAffinity", at);
    } else {
        if (arg->labels_presence->presence)
            PUSH_ALL(c->present, arg->labels_presence->labels);
        else
            PUSH_ALL(c->absent, arg->labels_presence->labels);
        c->has_predicate[PREDICATE_LABEL_PRESENCE] = c->has_label_args = true;
        c->label_origin = arena_printf(c->a, "predicates[%zu].argument.labelsPresence", at);
    }
}

/* The table's entry for a priority with an argument. */
static size_t take_argument(struct conversion *c, const struct policy_priority_argument *arg,
                            size_t at)
{
    struct str path = arena_printf(c->a, "priorities[%zu].argument", at);
    if (arg->service_anti_affinity) {
        c->service_origin = arena_printf(c->a, "%.*s.serviceAntiAffinity", STR_ARG(path));
        vec_push(&c->anti_affinity, arg->service_anti_affinity->label);
        c->has_service_args = true;
        return PRIORITY_SERVICE_ANTI_AFFINITY;
    }
    if (arg->label_preference) {
        c->label_origin = arena_printf(c->a, "%.*s.labelPreference", STR_ARG(path));
        if (arg->label_preference->presence)
            vec_push(&c->prefer_present, arg->label_preference->label);
        else
            vec_push(&c->prefer_absent, arg->label_preference->label);
        c->has_label_args = true;
        return PRIORITY_NODE_LABEL;
    }
    c->ratio = arg->ratio;
    c->ratio_origin = arena_printf(c->a, "%.*s.requestedToCapacityRatioArguments", STR_ARG(path));
    return PRIORITY_CAPACITY_RATIO;
}

/* Entries with one kind of argument are one plugin: equal weights, and one ratio at most. */
static bool check_custom(struct conversion *c, const struct policy_priority *p, size_t at)
{
    const struct policy_priority_argument *arg = p->argument;
    size_t kind = arg->service_anti_affinity ? 0 : arg->label_preference ? 1 : 2;
    const struct policy_priority *before = c->custom[kind];
    c->custom[kind] = p;
    if (before && arg->ratio) {
        config_problem_add(c->problems, 0, arena_printf(c->a, "priorities[%zu].argument", at),
                           STR(""),
                           "priority \"%.*s\" redeclares custom priority "
                           "\"RequestedToCapacityRatio\", from: \"%.*s\"",
                           STR_ARG(p->name), STR_ARG(before->name));
        return false;
    }
    if (before && before->weight != p->weight) {
        config_problem_add(c->problems, 0, arena_printf(c->a, "priorities[%zu].weight", at),
                           STR(""),
                           "priority \"%.*s\" has a different weight with \"%.*s\", which is of "
                           "the same kind",
                           STR_ARG(p->name), STR_ARG(before->name));
        return false;
    }
    return true;
}

static struct str near_priority(struct str name)
{
    struct nearest nearest;
    nearest_init(&nearest, name);
    for (size_t i = 0; i < PRIORITIES; i++)
        nearest_consider(&nearest, str_of(priorities[i].priority));
    return nearest_suggestion(&nearest);
}

static bool check_priority(struct conversion *c, const struct policy_priority *p, size_t at)
{
    const struct policy_priority_argument *arg = p->argument;
    bool ok = p->weight > 0 && p->weight <= INT32_MAX;
    if (!ok)
        config_problem_add(c->problems, 0, arena_printf(c->a, "priorities[%zu].weight", at),
                           STR(""),
                           "Invalid value: %lld: should have a positive weight applied to it or "
                           "it has overflown",
                           (long long)p->weight);
    if (arg && !!arg->service_anti_affinity + !!arg->label_preference + !!arg->ratio != 1) {
        refuse_argument(c, "priorities", at);
        return false;
    }
    return (!arg || check_custom(c, p, at)) && ok;
}

static void take_priority(struct conversion *c, const struct policy_priority *p, size_t at)
{
    const struct policy_priority_argument *arg = p->argument;
    bool ok = check_priority(c, p, at);
    if (str_is(p->name, "EqualPriority"))
        return;
    size_t known = find_priority(
        str_is(p->name, "ServiceSpreadingPriority") ? STR("SelectorSpreadPriority") : p->name);
    bool needs_argument = known == PRIORITY_NODE_LABEL || known == PRIORITY_SERVICE_ANTI_AFFINITY;
    if (known == PRIORITIES || needs_argument) {
        if (!arg) {
            config_problem_add(c->problems, 0, arena_printf(c->a, "priorities[%zu].name", at),
                               STR(""), "priority type not found for \"%.*s\"", STR_ARG(p->name));
            config_problem_suggest(c->problems, near_priority(p->name));
            return;
        }
        if (!ok)
            return;
        known = take_argument(c, arg, at);
    }
    if (ok)
        c->weight[known] = p->weight;
}

/* --- plugins ---------------------------------------------------------------------------------- */

#define SECTION_ROOM 32 /* more than the plugins at any point */

/* A plugin that is enabled already keeps its weight. */
static void enable(struct conversion *c, enum point point, const char *plugin, int32_t weight)
{
    struct plugin_section *s = &c->plugins->at[point];
    for (size_t i = 0; i < s->enabled.n; i++)
        if (str_is(s->enabled.v[i].name, plugin))
            return;
    if (!s->enabled.v)
        s->enabled.v = arena_array(c->a, struct plugin_ref, SECTION_ROOM);
    plugin_section_push(s, str_of(plugin), weight, c->a);
}

static void enable_predicates(struct conversion *c)
{
    for (size_t i = 0; i < PREDICATES; i++)
        for (size_t k = 0; c->has_predicate[i] && k < 4 && predicates[i].runs[k].plugin; k++)
            for (int point = 0; point < POINT_COUNT; point++)
                if (predicates[i].runs[k].points >> point & 1)
                    enable(c, (enum point)point, predicates[i].runs[k].plugin, 0);
}

static void enable_priorities(struct conversion *c)
{
    /* Upstream: the weight is multiplied by the number of preferences. */
    c->weight[PRIORITY_NODE_LABEL] *= (int64_t)(c->prefer_present.n + c->prefer_absent.n);
    c->weight[PRIORITY_SERVICE_ANTI_AFFINITY] *= (int64_t)c->anti_affinity.n;
    for (size_t i = 0; i < PRIORITIES; i++) {
        if (!c->weight[i])
            continue;
        if (priorities[i].pre_scores)
            enable(c, POINT_PRE_SCORE, priorities[i].plugin, 0);
        enable(c, POINT_SCORE, priorities[i].plugin, (int32_t)MIN(c->weight[i], INT32_MAX));
    }
}

static void enable_always(struct conversion *c)
{
    enable(c, POINT_PRE_ENQUEUE, "SchedulingGates", 0);
    enable(c, POINT_PRE_ENQUEUE, "DynamicResources", 0);
    enable(c, POINT_PRE_ENQUEUE, "DefaultPreemption", 0);
    enable(c, POINT_QUEUE_SORT, "PrioritySort", 0);
    enable(c, POINT_PRE_FILTER, "DynamicResources", 0);
    enable(c, POINT_FILTER, "DynamicResources", 0);
    enable(c, POINT_POST_FILTER, "DynamicResources", 0);
    enable(c, POINT_POST_FILTER, "DefaultPreemption", 0);
    enable(c, POINT_RESERVE, "DynamicResources", 0);
    enable(c, POINT_PRE_BIND, "DynamicResources", 0);
    enable(c, POINT_BIND, "DefaultBinder", 0);
}

/* --- arguments -------------------------------------------------------------------------------- */

/* origin: the path in the file. */
static void add_args(struct conversion *c, const char *plugin, struct str origin, struct buf *json)
{
    vec_push(&c->args, (struct plugin_args){.name = str_of(plugin),
                                            .args = arena_dup(c->a, buf_str(json)),
                                            .origin = origin,
                                            .args_origin = origin});
    buf_release(json);
}

/* "key":["a","b"]; nothing if n is 0. */
static void write_list(struct buf *out, const char *key, const struct str *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i == 0)
            buf_add_printf(out, "%s\"%s\":[", out->n > 1 ? "," : "", key);
        else
            buf_add_char(out, ',');
        json_write_str(out, v[i]);
    }
    if (n)
        buf_add_char(out, ']');
}

static void add_label_args(struct conversion *c)
{
    struct buf json = BUF_INIT;
    buf_add_char(&json, '{');
    write_list(&json, "presentLabels", c->present.v, c->present.n);
    write_list(&json, "absentLabels", c->absent.v, c->absent.n);
    write_list(&json, "presentLabelsPreference", c->prefer_present.v, c->prefer_present.n);
    write_list(&json, "absentLabelsPreference", c->prefer_absent.v, c->prefer_absent.n);
    buf_add_char(&json, '}');
    add_args(c, "NodeLabel", c->label_origin, &json);
}

static void add_service_args(struct conversion *c)
{
    struct buf json = BUF_INIT;
    buf_add_char(&json, '{');
    write_list(&json, "affinityLabels", c->affinity.v, c->affinity.n);
    write_list(&json, "antiAffinityLabelsPreference", c->anti_affinity.v, c->anti_affinity.n);
    buf_add_char(&json, '}');
    add_args(c, "ServiceAffinity", c->service_origin, &json);
}

static void add_all_args(struct conversion *c, int32_t hard_weight)
{
    struct buf json = BUF_INIT;
    if (c->present.n || c->absent.n || c->prefer_present.n || c->prefer_absent.n)
        add_label_args(c);
    if (c->affinity.n || c->anti_affinity.n)
        add_service_args(c);
    if (c->weight[PRIORITY_CAPACITY_RATIO] && c->ratio) {
        json_encode(&policy_ratio_type, c->ratio, &json);
        add_args(c, "RequestedToCapacityRatio", c->ratio_origin, &json);
    }
    if (c->weight[PRIORITY_INTER_POD_AFFINITY]) {
        buf_add_printf(&json, "{\"hardPodAffinityWeight\":%d}", hard_weight ? hard_weight : 1);
        add_args(c, "InterPodAffinity", STR("hardPodAffinitySymmetricWeight"), &json);
    }
    /* Default spreading came with SelectorSpreadPriority. */
    if (c->weight[PRIORITY_SELECTOR_SPREAD] || c->weight[PRIORITY_EVEN_PODS_SPREAD]) {
        buf_add_printf(&json, "{\"defaultingType\":\"%s\"}",
                       c->weight[PRIORITY_SELECTOR_SPREAD] ? "System" : "List");
        add_args(c, "PodTopologySpread", STR("priorities"), &json);
    }
}

/* --- extenders -------------------------------------------------------------------------------- */

/* "line 1, column 7: tlsConfig.x: unknown field" refers to the text built here: keep the field. */
static void refuse_extender(size_t at, const struct err *err, struct config_problems *problems)
{
    struct str rest = str_of(err->msg);
    rest = str_slice(rest, str_search(rest, STR(": ")) + strlen(": "), rest.n);
    size_t colon = str_search(rest, STR(": "));
    struct str field = str_slice(rest, 0, colon);
    config_problem_add(problems, 0,
                       arena_printf(problems->a, "extenders[%zu].%.*s", at, STR_ARG(field)),
                       STR(""), "%.*s", STR_ARG(str_slice(rest, colon + strlen(": "), rest.n)));
}

static void take_extender(const struct policy_extender *from, size_t at,
                          struct config_problems *problems, struct extender_config *to)
{
    struct buf json = BUF_INIT;
    struct err err;
    buf_add_printf(&json, "{\"tlsConfig\":%.*s,\"managedResources\":[",
                   from->tls_config.n ? (int)from->tls_config.n : 4,
                   from->tls_config.n ? from->tls_config.p : "null");
    for (size_t i = 0; i < from->managed_resources.n; i++)
        buf_add_printf(&json, "%s%.*s", i ? "," : "", STR_ARG(from->managed_resources.v[i]));
    buf_add_cstr(&json, "]}");
    if (json_decode(buf_str(&json), &extender_config_type, JSON_STRICT | JSON_FOLD_CASE,
                    problems->a, to, &err) < 0) {
        refuse_extender(at, &err, problems);
        *to = (struct extender_config){0};
    }
    buf_release(&json);
    to->url_prefix = from->url_prefix;
    to->filter_verb = from->filter_verb;
    to->preempt_verb = from->preempt_verb;
    to->prioritize_verb = from->prioritize_verb;
    to->bind_verb = from->bind_verb;
    to->weight = from->weight;
    to->enable_https = from->enable_https;
    to->http_timeout = from->http_timeout;
    to->node_cache_capable = from->node_cache_capable;
    to->ignorable = from->ignorable;
}

static void take_extenders(const struct policy *policy, struct scheduler_config *out,
                           struct config_problems *problems)
{
    out->extenders.v = arena_array(problems->a, struct extender_config, policy->extenders.n + 1);
    out->extenders.n = policy->extenders.n;
    for (size_t i = 0; i < policy->extenders.n; i++)
        take_extender(&policy->extenders.v[i], i, problems, &out->extenders.v[i]);
}

/* --- Policy ----------------------------------------------------------------------------------- */

/* Without a list the defaults apply; an empty list enables nothing. */
static bool is_given(const struct json_value *doc, const char *key)
{
    for (size_t i = 0; i < doc->n_members; i++)
        if (str_eq_fold(doc->members[i].key, str_of(key)))
            return doc->members[i].value.kind != JSON_NULL;
    return false;
}

/* Three of the names require arguments, which another entry may have set. */
static void check_arguments(struct conversion *c)
{
    if (c->has_predicate[PREDICATE_LABEL_PRESENCE] && !c->has_label_args)
        config_problem_add(
            c->problems, 0, STR("predicates"), STR(""),
            "CheckNodeLabelPresence: want args to be of type NodeLabelArgs, got none");
    if (c->has_predicate[PREDICATE_SERVICE_AFFINITY] && !c->has_service_args)
        config_problem_add(
            c->problems, 0, STR("predicates"), STR(""),
            "CheckServiceAffinity: want args to be of type ServiceAffinityArgs, got none");
    if (c->weight[PRIORITY_CAPACITY_RATIO] && !c->ratio)
        config_problem_add(c->problems, 0, STR("priorities"), STR(""),
                           "RequestedToCapacityRatio: want args to be of type "
                           "RequestedToCapacityRatioArgs, got none");
}

static void take_names(struct conversion *c, const struct json_value *doc,
                       const struct policy *policy)
{
    if (!is_given(doc, "predicates"))
        for (size_t i = 0; i < PREDICATES; i++)
            c->has_predicate[i] = predicates[i].is_default;
    if (!is_given(doc, "priorities"))
        for (size_t i = 0; i < PRIORITIES; i++)
            c->weight[i] = priorities[i].weight;
    for (size_t i = 0; i < policy->predicates.n; i++)
        take_predicate(c, &policy->predicates.v[i], i);
    for (size_t i = 0; i < policy->priorities.n; i++)
        take_priority(c, &policy->priorities.v[i], i);
    /* Upstream: mandatory predicates. */
    c->has_predicate[PREDICATE_NODE_UNSCHEDULABLE] = c->has_predicate[PREDICATE_NODE_TAINTS] = true;
    check_arguments(c);
}

static void make_profile(struct conversion *c, int32_t hard_weight, struct scheduler_config *out)
{
    struct profile_config *profile = arena_new(c->a, struct profile_config);
    c->plugins = plugins_without_defaults(c->a);
    enable_predicates(c);
    enable_priorities(c);
    enable_always(c);
    add_all_args(c, hard_weight);
    profile->plugins = c->plugins;
    profile->older = profile->from_policy = true;
    profile->plugin_config.v = arena_array(c->a, struct plugin_args, c->args.n + 1);
    for (size_t i = 0; i < c->args.n; i++)
        profile->plugin_config.v[profile->plugin_config.n++] = c->args.v[i];
    out->profiles.v = profile;
    out->profiles.n = 1;
}

int config_from_policy(struct json_value *doc, struct scheduler_config *out,
                       struct config_problems *problems)
{
    struct policy policy;
    struct conversion c = {.a = problems->a, .problems = problems};
    int r = config_decode(doc, &policy_type, JSON_FOLD_CASE, problems, &policy);
    if (r < 0)
        return r;
    int32_t hard_weight = policy.hard_pod_affinity_symmetric_weight;
    if (hard_weight < 0 || hard_weight > 100) {
        config_problem_add(problems, 0, STR("hardPodAffinitySymmetricWeight"), STR(""),
                           "Invalid value: %d: not in valid range [0-100]", hard_weight);
        hard_weight = 0;
    }
    *out = (struct scheduler_config){0};
    take_names(&c, doc, &policy);
    make_profile(&c, hard_weight, out);
    take_extenders(&policy, out, problems);
    vec_release(&c.present);
    vec_release(&c.absent);
    vec_release(&c.prefer_present);
    vec_release(&c.prefer_absent);
    vec_release(&c.affinity);
    vec_release(&c.anti_affinity);
    vec_release(&c.args);
    return 0;
}
