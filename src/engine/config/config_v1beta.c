/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_v1beta.c - kubescheduler.config.k8s.io/v1beta1 (1.19 to 1.22), v1beta2 (1.22 to 1.27) and
 * v1beta3 (1.23 to 1.28).
 *
 * v1beta3 has the defaults of v1. The two before it had no multiPoint but a list of default plugins
 * for every point: these lists, merged with the file's, become the sections of a v1 profile without
 * other defaults.
 */
#include "engine/config/args_kind.h"
#include "engine/config/config_internal.h"
#include "engine/config/profile_plan.h"

/* --- default plugins -------------------------------------------------------------------------- */

enum beta { BETA_1 = 1 << 0, BETA_2 = 1 << 1, BETA_3 = 1 << 2, BETA_BOTH = BETA_1 | BETA_2 };

/*
 * As in the last release that read the version, and what today's pods require: SchedulingGates and
 * DynamicResources check fields that did not exist then; the plugins of volumes and
 * DefaultPreemption run at more points now.
 */
static const struct {
    enum point point;
    unsigned in;
    struct str name;
    int32_t weight;
} defaults[] = {
    {POINT_PRE_ENQUEUE, BETA_BOTH, STR_INIT("SchedulingGates"), 0},
    {POINT_PRE_ENQUEUE, BETA_BOTH, STR_INIT("DynamicResources"), 0},
    {POINT_PRE_ENQUEUE, BETA_BOTH, STR_INIT("DefaultPreemption"), 0},
    {POINT_QUEUE_SORT, BETA_BOTH, STR_INIT("PrioritySort"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("NodeResourcesFit"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("NodePorts"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("VolumeRestrictions"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("EBSLimits"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("GCEPDLimits"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("NodeVolumeLimits"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("AzureDiskLimits"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("PodTopologySpread"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("InterPodAffinity"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("VolumeBinding"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("VolumeZone"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("NodeAffinity"), 0},
    {POINT_PRE_FILTER, BETA_BOTH, STR_INIT("DynamicResources"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("NodeUnschedulable"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("NodeName"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("TaintToleration"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("NodeAffinity"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("NodePorts"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("NodeResourcesFit"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("VolumeRestrictions"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("EBSLimits"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("GCEPDLimits"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("NodeVolumeLimits"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("AzureDiskLimits"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("VolumeBinding"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("VolumeZone"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("PodTopologySpread"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("InterPodAffinity"), 0},
    {POINT_FILTER, BETA_BOTH, STR_INIT("DynamicResources"), 0},
    {POINT_POST_FILTER, BETA_BOTH, STR_INIT("DynamicResources"), 0},
    {POINT_POST_FILTER, BETA_BOTH, STR_INIT("DefaultPreemption"), 0},
    {POINT_PRE_SCORE, BETA_BOTH, STR_INIT("InterPodAffinity"), 0},
    {POINT_PRE_SCORE, BETA_BOTH, STR_INIT("PodTopologySpread"), 0},
    {POINT_PRE_SCORE, BETA_BOTH, STR_INIT("TaintToleration"), 0},
    {POINT_PRE_SCORE, BETA_BOTH, STR_INIT("NodeAffinity"), 0},
    {POINT_PRE_SCORE, BETA_2, STR_INIT("NodeResourcesFit"), 0},
    {POINT_PRE_SCORE, BETA_2, STR_INIT("NodeResourcesBalancedAllocation"), 0},
    {POINT_SCORE, BETA_BOTH, STR_INIT("NodeResourcesBalancedAllocation"), 1},
    {POINT_SCORE, BETA_BOTH, STR_INIT("ImageLocality"), 1},
    {POINT_SCORE, BETA_BOTH, STR_INIT("InterPodAffinity"), 1},
    {POINT_SCORE, BETA_1, STR_INIT("NodeResourcesLeastAllocated"), 1},
    {POINT_SCORE, BETA_2, STR_INIT("NodeResourcesFit"), 1},
    {POINT_SCORE, BETA_BOTH, STR_INIT("NodeAffinity"), 1},
    {POINT_SCORE, BETA_1, STR_INIT("NodePreferAvoidPods"), 10000},
    {POINT_SCORE, BETA_BOTH, STR_INIT("PodTopologySpread"), 2},
    {POINT_SCORE, BETA_BOTH, STR_INIT("TaintToleration"), 1},
    {POINT_RESERVE, BETA_BOTH, STR_INIT("VolumeBinding"), 0},
    {POINT_RESERVE, BETA_BOTH, STR_INIT("DynamicResources"), 0},
    {POINT_PRE_BIND, BETA_BOTH, STR_INIT("VolumeBinding"), 0},
    {POINT_PRE_BIND, BETA_BOTH, STR_INIT("DynamicResources"), 0},
    {POINT_BIND, BETA_BOTH, STR_INIT("DefaultBinder"), 0},
};

/*
 * v1beta1 did not replace a default that the file enables again: the plugin is listed twice, which
 * is an error when the profile is built, unless the file disables it too.
 */
static void append(const struct plugin_section *own, const struct plugin_section *user,
                   struct arena *a, struct plugin_section *ret_section)
{
    bool none = plugin_section_disables(user, STR("*"));
    struct plugin_section out = {0};
    out.enabled.v = arena_array(a, struct plugin_ref, own->enabled.n + user->enabled.n);
    for (size_t i = 0; !none && i < own->enabled.n; i++)
        if (!plugin_section_disables(user, own->enabled.v[i].name))
            out.enabled.v[out.enabled.n++] = own->enabled.v[i];
    for (size_t i = 0; i < user->enabled.n; i++)
        out.enabled.v[out.enabled.n++] = user->enabled.v[i];
    *ret_section = out;
}

static void merge_defaults(struct profile_config *p, enum beta version, struct arena *a)
{
    static const struct plugins_config nothing;
    const struct plugins_config *user = p->plugins ? p->plugins : &nothing;
    struct plugins_config *merged = plugins_without_defaults(a);
    for (int point = 0; point < POINT_COUNT; point++) {
        struct plugin_section own = {0};
        own.enabled.v = arena_array(a, struct plugin_ref, ARRAY_LEN(defaults));
        for (size_t i = 0; i < ARRAY_LEN(defaults); i++)
            if ((int)defaults[i].point == point && defaults[i].in & version)
                plugin_section_push(&own, defaults[i].name, defaults[i].weight, a);
        if (version == BETA_1)
            append(&own, &user->at[point], a, &merged->at[point]);
        else
            plugin_section_merge(own.enabled.v, own.enabled.n, &user->at[point], a,
                                 &merged->at[point]);
        merged->at[point].disabled.n = 0;
    }
    p->plugins = merged;
}

/* --- conflicting plugins ---------------------------------------------------------------------- */

/* In v1beta1 other plugins scored resources; upstream rejected NodeResourcesFit beside them. */
static void check_scores(const struct profile_config *p, size_t at,
                         struct config_problems *problems)
{
    static const char *const others[] = {"NodeResourcesLeastAllocated",
                                         "NodeResourcesMostAllocated", "RequestedToCapacityRatio"};
    static const struct plugins_config nothing;
    const struct plugin_section *score = &p->plugins->at[POINT_SCORE];
    const struct plugin_section *own = &(p->given ? p->given : &nothing)->at[POINT_SCORE];
    size_t fit = 0;
    while (fit < own->enabled.n && !str_is(own->enabled.v[fit].name, "NodeResourcesFit"))
        fit++;
    for (size_t i = 0; fit < own->enabled.n && i < ARRAY_LEN(others); i++)
        if (plugin_section_enables(score, str_of(others[i])))
            config_problem_add(
                problems, 0,
                arena_printf(problems->a, "profiles[%zu].plugins.score.enabled[%zu]", at, fit),
                STR(""),
                "Invalid value: \"NodeResourcesFit\": was conflict with [\"%s\"]: disable one of "
                "them",
                others[i]);
}

/* --- fields ----------------------------------------------------------------------------------- */

static struct json_value *member(struct json_value *v, const char *key)
{
    return (struct json_value *)(uintptr_t)json_get(v, str_of(key));
}

/* Copies: YAML aliases share members. */
static void drop(struct json_value *object, const char *key, struct arena *a)
{
    if (!member(object, key))
        return;
    struct json_member *kept = arena_array(a, struct json_member, object->n_members);
    size_t n = 0;
    for (size_t i = 0; i < object->n_members; i++)
        if (!str_is(object->members[i].key, key))
            kept[n++] = object->members[i];
    object->members = kept;
    object->n_members = n;
}

/* A field of later versions. */
static void refuse(struct json_value *object, struct str path, const char *key,
                   struct config_problems *problems)
{
    const struct json_value *v = json_get(object, str_of(key));
    if (!v)
        return;
    config_problem_add(problems, v->line, arena_printf(problems->a, "%.*s%s", STR_ARG(path), key),
                       STR(""), "unknown field in this version");
    drop(object, key, problems->a);
}

static void set(struct json_value *object, const char *key, struct json_value value,
                struct arena *a)
{
    drop(object, key, a);
    struct json_member *members = arena_array(a, struct json_member, object->n_members + 1);
    if (object->n_members)
        memcpy(members, object->members, object->n_members * sizeof(*members));
    value.line = object->line;
    members[object->n_members++] = (struct json_member){str_of(key), value};
    object->members = members;
}

/* Absent, null or the zero value. */
static bool is_unset(const struct json_value *v, const char *zero)
{
    return !v || v->kind == JSON_NULL ||
           ((v->kind == JSON_STRING || v->kind == JSON_NUMBER) && str_is(v->text, zero));
}

/* v1beta1: defaultConstraints implied defaultingType: List. */
static void default_spreading(struct json_value *args, struct arena *a)
{
    const struct json_value *list = json_get(args, STR("defaultConstraints"));
    if (list && list->kind == JSON_ARRAY && list->n && is_unset(member(args, "defaultingType"), ""))
        set(args, "defaultingType", (struct json_value){.kind = JSON_STRING, .text = STR("List")},
            a);
}

static void default_weights(struct json_value *args, struct arena *a)
{
    struct json_value *list = member(args, "resources");
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (list->items[i].kind == JSON_OBJECT && is_unset(member(&list->items[i], "weight"), "0"))
            set(&list->items[i], "weight",
                (struct json_value){.kind = JSON_NUMBER, .text = STR("1")}, a);
}

static void take_early_args(struct str plugin, struct json_value *args, struct str path,
                            struct config_problems *problems)
{
    if (str_is(plugin, "PodTopologySpread"))
        default_spreading(args, problems->a);
    else if (str_is(plugin, "RequestedToCapacityRatio"))
        default_weights(args, problems->a);
    else if (str_is(plugin, "InterPodAffinity"))
        refuse(args, path, "ignorePreferredTermsOfExistingPods", problems);
}

static void take_args(struct json_value *profile, size_t at, enum beta version, struct str said,
                      struct config_problems *problems)
{
    struct json_value *entries = member(profile, "pluginConfig");
    for (size_t i = 0; entries && entries->kind == JSON_ARRAY && i < entries->n; i++) {
        struct json_value *args = member(&entries->items[i], "args");
        if (!args || args->kind != JSON_OBJECT)
            continue;
        /* Arguments may have the file's apiVersion. */
        struct json_value *own = member(args, "apiVersion");
        if (own && own->kind == JSON_STRING && str_eq(own->text, said))
            own->text = STR(CONFIG_API_VERSION);
        if (version == BETA_1)
            take_early_args(
                json_get_text(&entries->items[i], STR("name")), args,
                arena_printf(problems->a, "profiles[%zu].pluginConfig[%zu].args.", at, i),
                problems);
    }
}

/* v1beta2 accepted multiPoint and ignored it. */
static const struct {
    const char *name;
    unsigned in;
} newer_points[] = {
    {"placementGenerate", 0},
    {"placementScore", 0},
    {"preEnqueue", BETA_2 | BETA_3},
    {"multiPoint", BETA_2 | BETA_3},
};

static void check_profile_fields(struct json_value *profile, size_t at, enum beta version,
                                 struct config_problems *problems)
{
    struct json_value *plugins = member(profile, "plugins");
    struct str path = arena_printf(problems->a, "profiles[%zu].", at);
    struct str plugins_path = arena_printf(problems->a, "%.*splugins.", STR_ARG(path));
    refuse(profile, path, "percentageOfNodesToScore", problems);
    for (size_t i = 0; plugins && i < ARRAY_LEN(newer_points); i++)
        if (!(newer_points[i].in & version))
            refuse(plugins, plugins_path, newer_points[i].name, problems);
}

/* Keeps the profile as in the file, before defaults are added. */
static void note_origins(struct profile_config *p, size_t at, struct arena *a)
{
    p->given = p->plugins;
    for (size_t i = 0; i < p->plugin_config.n; i++) {
        struct plugin_args *entry = &p->plugin_config.v[i];
        entry->origin = arena_printf(a, "profiles[%zu].pluginConfig[%zu]", at, i);
        entry->args_origin = arena_printf(a, "%.*s.args", STR_ARG(entry->origin));
    }
}

static int read_fields(struct json_value *doc, enum beta version, struct scheduler_config *out,
                       struct config_problems *problems)
{
    struct str said = json_get_text(doc, STR("apiVersion"));
    struct json_value *profiles = member(doc, "profiles");
    refuse(doc, STR(""), "delayCacheUntilActive", problems);
    for (size_t i = 0; profiles && profiles->kind == JSON_ARRAY && i < profiles->n; i++) {
        if (profiles->items[i].kind != JSON_OBJECT)
            continue;
        check_profile_fields(&profiles->items[i], i, version, problems);
        take_args(&profiles->items[i], i, version, said, problems);
    }
    int r = config_decode(doc, &scheduler_config_type, 0, problems, out);
    for (size_t i = 0; r == 0 && i < out->profiles.n; i++)
        note_origins(&out->profiles.v[i], i, problems->a);
    return r;
}

/* --- versions --------------------------------------------------------------------------------- */

static int from_lists(struct json_value *doc, enum beta version, struct scheduler_config *out,
                      struct config_problems *problems)
{
    /* Ignored: the addresses of the insecure health and metrics endpoints. */
    drop(doc, "healthzBindAddress", problems->a);
    drop(doc, "metricsBindAddress", problems->a);
    struct arena *a = problems->a;
    int r = read_fields(doc, version, out, problems);
    if (r < 0)
        return r;
    if (out->profiles.n == 0) {
        out->profiles.v = arena_new(a, struct profile_config);
        out->profiles.n = 1;
    }
    for (size_t i = 0; i < out->profiles.n; i++) {
        merge_defaults(&out->profiles.v[i], version, a);
        if (version == BETA_1)
            check_scores(&out->profiles.v[i], i, problems);
    }
    return 0;
}

int config_from_v1beta1(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems)
{
    return from_lists(doc, BETA_1, out, problems);
}

int config_from_v1beta2(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems)
{
    return from_lists(doc, BETA_2, out, problems);
}

int config_from_v1beta3(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems)
{
    return read_fields(doc, BETA_3, out, problems);
}
