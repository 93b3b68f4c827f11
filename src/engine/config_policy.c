/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy v1, up to 1.22: predicates and priorities by name. Each stands for plugins at certain
 * points, by the table that the last release had. Nothing else runs, but for what cannot be left
 * out: the queue's order, preemption, binding, and the guards of fields that pods did not have
 * then.
 */
#include "base/vec.h"
#include "codec/json.h"
#include "engine/args_kind.h"
#include "engine/config_internal.h"
#include "engine/policy_file.h"

/* --- what the names mean ---------------------------------------------------------------------- */

#define AT(p) (1U << POINT_##p)

/*
 * In the order in which predicates ran. EBS, GCE PD, Azure and Cinder disks are counted by
 * NodeVolumeLimits today; VolumeRestrictions and VolumeZone have a PreFilter that they need.
 */
static const struct {
    const char *predicate;
    bool is_default;
    struct {
        const char *plugin;
        unsigned points;
    } runs[4];
} predicates[] = {
    {"CheckNodeUnschedulable", true, {{"NodeUnschedulable", AT(FILTER)}}},
    {"GeneralPredicates",
     true,
     {{"NodeResourcesFit", AT(PRE_FILTER) | AT(FILTER)},
      {"NodeName", AT(FILTER)},
      {"NodePorts", AT(PRE_FILTER) | AT(FILTER)},
      {"NodeAffinity", AT(PRE_FILTER) | AT(FILTER)}}},
    {"HostName", false, {{"NodeName", AT(FILTER)}}},
    {"PodFitsHostPorts", false, {{"NodePorts", AT(PRE_FILTER) | AT(FILTER)}}},
    {"MatchNodeSelector", false, {{"NodeAffinity", AT(PRE_FILTER) | AT(FILTER)}}},
    {"PodFitsResources", false, {{"NodeResourcesFit", AT(PRE_FILTER) | AT(FILTER)}}},
    {"NoDiskConflict", true, {{"VolumeRestrictions", AT(PRE_FILTER) | AT(FILTER)}}},
    {"PodToleratesNodeTaints", true, {{"TaintToleration", AT(FILTER)}}},
    {"CheckNodeLabelPresence", false, {{"NodeLabel", AT(FILTER)}}},
    {"CheckServiceAffinity", false, {{"ServiceAffinity", AT(PRE_FILTER) | AT(FILTER)}}},
    {"MaxEBSVolumeCount", true, {{"NodeVolumeLimits", AT(FILTER)}}},
    {"MaxGCEPDVolumeCount", true, {{"NodeVolumeLimits", AT(FILTER)}}},
    {"MaxCSIVolumeCountPred", true, {{"NodeVolumeLimits", AT(FILTER)}}},
    {"MaxAzureDiskVolumeCount", true, {{"NodeVolumeLimits", AT(FILTER)}}},
    {"MaxCinderVolumeCount", false, {{"NodeVolumeLimits", AT(FILTER)}}},
    {"CheckVolumeBinding",
     true,
     {{"VolumeBinding", AT(PRE_FILTER) | AT(FILTER) | AT(RESERVE) | AT(PRE_BIND)}}},
    {"NoVolumeZoneConflict", true, {{"VolumeZone", AT(PRE_FILTER) | AT(FILTER)}}},
    {"EvenPodsSpread", true, {{"PodTopologySpread", AT(PRE_FILTER) | AT(FILTER)}}},
    {"MatchInterPodAffinity", true, {{"InterPodAffinity", AT(PRE_FILTER) | AT(FILTER)}}},
};
enum { UNSCHEDULABLE = 0, TAINTS = 7, LABEL_PRESENCE = 8, SERVICE_AFFINITY = 9 };

/* Sorted by name: the order in which they were configured. */
static const struct {
    const char *priority;
    int32_t weight; /* where the file names no priorities; 0: not one of them */
    const char *plugin;
    bool pre_scores;
} priorities[] = {
    {"BalancedResourceAllocation", 1, "NodeResourcesBalancedAllocation", false},
    {"EvenPodsSpreadPriority", 2, "PodTopologySpread", true},
    {"ImageLocalityPriority", 1, "ImageLocality", false},
    {"InterPodAffinityPriority", 1, "InterPodAffinity", true},
    {"LeastRequestedPriority", 1, "NodeResourcesLeastAllocated", false},
    {"MostRequestedPriority", 0, "NodeResourcesMostAllocated", false},
    {"NodeAffinityPriority", 1, "NodeAffinity", true},
    {"NodeLabel", 0, "NodeLabel", false},
    {"NodePreferAvoidPodsPriority", 10000, "NodePreferAvoidPods", false},
    {"RequestedToCapacityRatio", 0, "RequestedToCapacityRatio", false},
    {"SelectorSpreadPriority", 1, "PodTopologySpread", true},
    {"ServiceAffinity", 0, "ServiceAffinity", false},
    {"TaintTolerationPriority", 1, "TaintToleration", true},
};
enum {
    EVEN_PODS_SPREAD = 1,
    INTER_POD_AFFINITY = 3,
    NODE_LABEL = 7,
    CAPACITY_RATIO = 9,
    SELECTOR_SPREAD = 10,
    SERVICE_ANTI_AFFINITY = 11,
};

/* --- on the way ------------------------------------------------------------------------------- */

struct conversion {
    struct arena *a;
    bool has_predicate[ARRAY_LEN(predicates)];
    int64_t weight[ARRAY_LEN(priorities)];                          /* 0: not asked for */
    VEC(struct str) present, absent, prefer_present, prefer_absent; /* NodeLabel */
    VEC(struct str) affinity, anti_affinity;                        /* ServiceAffinity */
    bool has_label_args, has_service_args;                          /* though perhaps empty ones */
    const struct policy_ratio *ratio;
    const struct policy_priority *custom[3]; /* the last with each kind of argument */
    struct plugins_config *plugins;
    VEC(struct plugin_args) args;
};

static size_t find_predicate(struct str name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(predicates) && !str_is(name, predicates[i].predicate))
        i++;
    return i;
}

static size_t find_priority(struct str name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(priorities) && !str_is(name, priorities[i].priority))
        i++;
    return i;
}

#define PUSH_ALL(vec, list)                      \
    do {                                         \
        for (size_t i_ = 0; i_ < (list).n; i_++) \
            vec_push(&(vec), (list).v[i_]);      \
    } while (0)

static int take_predicate(struct conversion *c, const struct policy_predicate *p, size_t at,
                          struct err *reterr)
{
    const struct policy_predicate_argument *arg = p->argument;
    if (arg && !arg->service_affinity == !arg->labels_presence)
        return err_set(reterr, -EINVAL, "predicates[%zu].argument: exactly 1 is required", at);
    /* A name of the table decides; the argument is then not looked at. */
    size_t known =
        find_predicate(str_is(p->name, "PodFitsPorts") ? STR("PodFitsHostPorts") : p->name);
    if (known < ARRAY_LEN(predicates)) {
        c->has_predicate[known] = true;
        return 0;
    }
    if (!arg)
        return err_set(reterr, -EINVAL,
                       "predicates[%zu].name: predicate type not found for \"%.*s\"", at,
                       STR_ARG(p->name));
    if (arg->service_affinity) {
        PUSH_ALL(c->affinity, arg->service_affinity->labels);
        c->has_predicate[SERVICE_AFFINITY] = c->has_service_args = true;
    } else {
        if (arg->labels_presence->presence)
            PUSH_ALL(c->present, arg->labels_presence->labels);
        else
            PUSH_ALL(c->absent, arg->labels_presence->labels);
        c->has_predicate[LABEL_PRESENCE] = c->has_label_args = true;
    }
    return 0;
}

/* Which of the table a priority with an argument is. */
static size_t take_argument(struct conversion *c, const struct policy_priority_argument *arg)
{
    if (arg->service_anti_affinity) {
        vec_push(&c->anti_affinity, arg->service_anti_affinity->label);
        c->has_service_args = true;
        return SERVICE_ANTI_AFFINITY;
    }
    if (arg->label_preference) {
        if (arg->label_preference->presence)
            vec_push(&c->prefer_present, arg->label_preference->label);
        else
            vec_push(&c->prefer_absent, arg->label_preference->label);
        c->has_label_args = true;
        return NODE_LABEL;
    }
    c->ratio = arg->ratio;
    return CAPACITY_RATIO;
}

/* Those with one kind of argument are one plugin: they weigh the same, and a ratio is told once. */
static int check_custom(struct conversion *c, const struct policy_priority *p, size_t at,
                        struct err *reterr)
{
    const struct policy_priority_argument *arg = p->argument;
    size_t kind = arg->service_anti_affinity ? 0 : arg->label_preference ? 1 : 2;
    const struct policy_priority *before = c->custom[kind];
    c->custom[kind] = p;
    if (before && arg->ratio)
        return err_set(reterr, -EINVAL,
                       "priorities[%zu].argument: priority \"%.*s\" redeclares custom priority "
                       "\"RequestedToCapacityRatio\", from: \"%.*s\"",
                       at, STR_ARG(p->name), STR_ARG(before->name));
    if (before && before->weight != p->weight)
        return err_set(reterr, -EINVAL,
                       "priorities[%zu].weight: priority \"%.*s\" has a different weight with "
                       "\"%.*s\", which is of the same kind",
                       at, STR_ARG(p->name), STR_ARG(before->name));
    return 0;
}

static int take_priority(struct conversion *c, const struct policy_priority *p, size_t at,
                         struct err *reterr)
{
    const struct policy_priority_argument *arg = p->argument;
    if (p->weight <= 0 || p->weight > INT32_MAX)
        return err_set(reterr, -EINVAL,
                       "priorities[%zu].weight: Invalid value: %lld: should have a positive weight "
                       "applied to it or it has overflown",
                       at, (long long)p->weight);
    if (arg && !!arg->service_anti_affinity + !!arg->label_preference + !!arg->ratio != 1)
        return err_set(reterr, -EINVAL, "priorities[%zu].argument: exactly 1 is required", at);
    int r = arg ? check_custom(c, p, at, reterr) : 0;
    if (r < 0 || str_is(p->name, "EqualPriority"))
        return r;
    size_t known = find_priority(
        str_is(p->name, "ServiceSpreadingPriority") ? STR("SelectorSpreadPriority") : p->name);
    bool needs_argument = known == NODE_LABEL || known == SERVICE_ANTI_AFFINITY;
    if (known == ARRAY_LEN(priorities) || needs_argument) {
        if (!arg)
            return err_set(reterr, -EINVAL,
                           "priorities[%zu].name: priority type not found for \"%.*s\"", at,
                           STR_ARG(p->name));
        known = take_argument(c, arg);
    }
    c->weight[known] = p->weight;
    return 0;
}

/* --- plugins ---------------------------------------------------------------------------------- */

#define SECTION_ROOM 32 /* more than there are plugins at a point */

/* A plugin that is there already stays, with the weight that it has. */
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
    for (size_t i = 0; i < ARRAY_LEN(predicates); i++)
        for (size_t k = 0; c->has_predicate[i] && k < 4 && predicates[i].runs[k].plugin; k++)
            for (int point = 0; point < POINT_COUNT; point++)
                if (predicates[i].runs[k].points >> point & 1)
                    enable(c, (enum point)point, predicates[i].runs[k].plugin, 0);
}

static void enable_priorities(struct conversion *c)
{
    /* Several preferences of one plugin weigh as many times. */
    c->weight[NODE_LABEL] *= (int64_t)(c->prefer_present.n + c->prefer_absent.n);
    c->weight[SERVICE_ANTI_AFFINITY] *= (int64_t)c->anti_affinity.n;
    for (size_t i = 0; i < ARRAY_LEN(priorities); i++) {
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

static void add_args(struct conversion *c, const char *plugin, struct buf *json)
{
    vec_push(&c->args, (struct plugin_args){str_of(plugin), arena_dup(c->a, buf_str(json))});
    buf_release(json);
}

/* "key":["a","b"], unless there are none. */
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
    add_args(c, "NodeLabel", &json);
}

static void add_service_args(struct conversion *c)
{
    struct buf json = BUF_INIT;
    buf_add_char(&json, '{');
    write_list(&json, "affinityLabels", c->affinity.v, c->affinity.n);
    write_list(&json, "antiAffinityLabelsPreference", c->anti_affinity.v, c->anti_affinity.n);
    buf_add_char(&json, '}');
    add_args(c, "ServiceAffinity", &json);
}

static void add_all_args(struct conversion *c, int32_t hard_weight)
{
    struct buf json = BUF_INIT;
    if (c->present.n || c->absent.n || c->prefer_present.n || c->prefer_absent.n)
        add_label_args(c);
    if (c->affinity.n || c->anti_affinity.n)
        add_service_args(c);
    if (c->weight[CAPACITY_RATIO]) {
        json_encode(&policy_ratio_type, c->ratio, &json);
        add_args(c, "RequestedToCapacityRatio", &json);
    }
    if (c->weight[INTER_POD_AFFINITY]) {
        buf_add_printf(&json, "{\"hardPodAffinityWeight\":%d}", hard_weight ? hard_weight : 1);
        add_args(c, "InterPodAffinity", &json);
    }
    /* Spreading that the file did not ask for came with SelectorSpreadPriority. */
    if (c->weight[SELECTOR_SPREAD] || c->weight[EVEN_PODS_SPREAD]) {
        buf_add_printf(&json, "{\"defaultingType\":\"%s\"}",
                       c->weight[SELECTOR_SPREAD] ? "System" : "List");
        add_args(c, "PodTopologySpread", &json);
    }
}

/* --- extenders -------------------------------------------------------------------------------- */

static int take_extender(const struct policy_extender *from, struct arena *a,
                         struct extender_config *to, struct err *reterr)
{
    struct buf json = BUF_INIT;
    buf_add_printf(&json, "{\"tlsConfig\":%.*s,\"managedResources\":[",
                   from->tls_config.n ? (int)from->tls_config.n : 4,
                   from->tls_config.n ? from->tls_config.p : "null");
    for (size_t i = 0; i < from->managed_resources.n; i++)
        buf_add_printf(&json, "%s%.*s", i ? "," : "", STR_ARG(from->managed_resources.v[i]));
    buf_add_cstr(&json, "]}");
    int r = json_decode(buf_str(&json), &extender_config_type, JSON_STRICT | JSON_FOLD_CASE, a, to,
                        reterr);
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
    return r;
}

static int take_extenders(const struct policy *policy, struct arena *a,
                          struct scheduler_config *out, struct err *reterr)
{
    int r = 0;
    out->extenders.v = arena_array(a, struct extender_config, policy->extenders.n + 1);
    out->extenders.n = policy->extenders.n;
    for (size_t i = 0; r == 0 && i < policy->extenders.n; i++) {
        r = take_extender(&policy->extenders.v[i], a, &out->extenders.v[i], reterr);
        if (r < 0)
            err_prefix(reterr, r, "extenders[%zu]", i);
    }
    return r;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* A list that is not there asks for the usual; an empty one for nothing. */
static bool is_given(const struct json_value *doc, const char *key)
{
    for (size_t i = 0; i < doc->n_members; i++)
        if (str_eq_fold(doc->members[i].key, str_of(key)))
            return doc->members[i].value.kind != JSON_NULL;
    return false;
}

/* Three of the names mean nothing without arguments, which others may have brought. */
static int check_arguments(const struct conversion *c, struct err *reterr)
{
    const char *missing = NULL;
    if (c->has_predicate[LABEL_PRESENCE] && !c->has_label_args)
        missing = "predicates: CheckNodeLabelPresence: want args to be of type NodeLabelArgs";
    else if (c->has_predicate[SERVICE_AFFINITY] && !c->has_service_args)
        missing = "predicates: CheckServiceAffinity: want args to be of type ServiceAffinityArgs";
    else if (c->weight[CAPACITY_RATIO] && !c->ratio)
        missing = "priorities: RequestedToCapacityRatio: want args to be of type "
                  "RequestedToCapacityRatioArgs";
    return missing ? err_set(reterr, -EINVAL, "%s, got none", missing) : 0;
}

static int take_names(struct conversion *c, const struct json_value *doc,
                      const struct policy *policy, struct err *reterr)
{
    int r = 0;
    if (!is_given(doc, "predicates"))
        for (size_t i = 0; i < ARRAY_LEN(predicates); i++)
            c->has_predicate[i] = predicates[i].is_default;
    if (!is_given(doc, "priorities"))
        for (size_t i = 0; i < ARRAY_LEN(priorities); i++)
            c->weight[i] = priorities[i].weight;
    for (size_t i = 0; r == 0 && i < policy->predicates.n; i++)
        r = take_predicate(c, &policy->predicates.v[i], i, reterr);
    for (size_t i = 0; r == 0 && i < policy->priorities.n; i++)
        r = take_priority(c, &policy->priorities.v[i], i, reterr);
    /* No policy could do without these. */
    c->has_predicate[UNSCHEDULABLE] = c->has_predicate[TAINTS] = true;
    return r < 0 ? r : check_arguments(c, reterr);
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
    profile->plugin_config.v = arena_array(c->a, struct plugin_args, c->args.n + 1);
    for (size_t i = 0; i < c->args.n; i++)
        profile->plugin_config.v[profile->plugin_config.n++] = c->args.v[i];
    out->profiles.v = profile;
    out->profiles.n = 1;
}

int config_from_policy(struct json_value *doc, struct arena *a, struct scheduler_config *out,
                       struct err *reterr)
{
    struct policy policy;
    struct conversion c = {.a = a};
    int r = json_value_decode(doc, &policy_type, JSON_STRICT | JSON_FOLD_CASE, a, &policy, reterr);
    if (r < 0)
        return r;
    if (policy.hard_pod_affinity_symmetric_weight < 0 ||
        policy.hard_pod_affinity_symmetric_weight > 100)
        return err_set(reterr, -EINVAL,
                       "hardPodAffinitySymmetricWeight: Invalid value: %d: not in valid range "
                       "[0-100]",
                       policy.hard_pod_affinity_symmetric_weight);
    *out = (struct scheduler_config){0};
    r = take_names(&c, doc, &policy, reterr);
    if (r == 0)
        make_profile(&c, policy.hard_pod_affinity_symmetric_weight, out);
    if (r == 0)
        r = take_extenders(&policy, a, out, reterr);
    vec_release(&c.present);
    vec_release(&c.absent);
    vec_release(&c.prefer_present);
    vec_release(&c.prefer_absent);
    vec_release(&c.affinity);
    vec_release(&c.anti_affinity);
    vec_release(&c.args);
    return r;
}
