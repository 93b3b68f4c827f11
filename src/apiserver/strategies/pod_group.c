/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduling.k8s.io/v1alpha2: PodGroups and Workloads. Upstream's features for them are alpha; here
 * all of their fields are kept and checked.
 */
#include "apiserver/strategies/conditions.h"
#include "apiserver/strategies/strategies.h"

#define MAX_CLAIMS       4
#define MAX_TEMPLATES    8
#define HIGHEST_PRIORITY 1000000000

static void set_defaults(struct json_value *object, struct arena *a)
{
    json_set_default(json_set_object(object, STR("spec"), a), STR("disruptionMode"),
                     json_text(STR("Pod")), a);
}

/* --- parts of both ---------------------------------------------------------------------------- */

static bool check_required_name(const struct spot *s, enum name_format format)
{
    if (!spot_empty(s))
        return spot_check_name(s, format);
    spot_required(s, "");
    return false;
}

static void check_optional_name(const struct spot *s, enum name_format format)
{
    if (spot_has(s))
        spot_check_name(s, format);
}

/* Exactly one of the members, which end with NULL. */
static void check_union(const struct spot *s, const char *const *members)
{
    struct arena *a = s->errors->arena;
    struct buf all = BUF_INIT, set = BUF_INIT;
    struct json_value shown;
    struct spot whole = *s;
    size_t n = 0;

    for (size_t i = 0; members[i]; i++) {
        struct spot member = spot_get(s, members[i]);

        buf_add_printf(&all, "%s%s", i ? ", " : "", members[i]);
        if (spot_has(&member))
            buf_add_printf(&set, "%s%s", n++ ? ", " : "", members[i]);
    }
    shown = json_text(n ? arena_printf(a, "{%.*s}", STR_ARG(buf_str(&set))) : STR(""));
    whole.v = &shown;
    if (n != 1)
        spot_invalid(&whole, n ? "must specify exactly one of: %.*s" : "must specify one of: %.*s",
                     STR_ARG(buf_str(&all)));
    buf_release(&all);
    buf_release(&set);
}

static void check_policy(const struct spot *parent)
{
    static const char *const members[] = {"basic", "gang", NULL};
    struct spot policy = spot_get(parent, "schedulingPolicy"), gang = spot_get(&policy, "gang");
    struct spot count = spot_number(&gang, "minCount");

    check_union(&policy, members);
    if (!spot_has(&gang))
        return;
    if (spot_int(&count) == 0)
        spot_required(&count, "");
    else if (spot_int(&count) < 1)
        spot_invalid(&count, "must be greater than or equal to 1");
}

static void check_constraints(const struct spot *parent)
{
    struct spot constraints = spot_get(parent, "schedulingConstraints");
    struct spot topology = spot_get(&constraints, "topology");

    if (spot_too_many(&topology, 1))
        return;
    for (size_t i = 0; i < spot_count(&topology); i++) {
        struct spot item = spot_item(&topology, i), key = spot_text(&item, "key");

        check_required_name(&key, NAME_QUALIFIED);
    }
}

/* The whole item is shown, as upstream does. */
static void check_unique(const struct spot *list)
{
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot item = spot_item(list, i);

        if (map_put(&seen, json_get_text(item.v, STR("name")), list->errors))
            spot_duplicate(&item);
    }
    map_release(&seen);
}

static void check_claims(const struct spot *parent)
{
    static const char *const members[] = {"resourceClaimName", "resourceClaimTemplateName", NULL};
    struct spot claims = spot_get(parent, "resourceClaims");

    if (spot_too_many(&claims, MAX_CLAIMS))
        return;
    check_unique(&claims);
    for (size_t i = 0; i < spot_count(&claims); i++) {
        struct spot claim = spot_item(&claims, i), name = spot_text(&claim, "name");
        struct spot ref = spot_get(&claim, members[0]), template = spot_get(&claim, members[1]);

        check_union(&claim, members);
        check_required_name(&name, NAME_DNS_LABEL);
        check_optional_name(&ref, NAME_DNS_SUBDOMAIN);
        check_optional_name(&template, NAME_DNS_SUBDOMAIN);
    }
}

static void check_disruption(const struct spot *parent)
{
    static const char *const modes[] = {"Pod", "PodGroup", NULL};
    struct spot mode = spot_get(parent, "disruptionMode");
    struct spot class = spot_text(parent, "priorityClassName");
    struct spot priority = spot_get(parent, "priority");

    if (spot_has(&mode))
        spot_check_one_of(&mode, modes);
    if (!spot_empty(&class))
        spot_check_name(&class, NAME_DNS_SUBDOMAIN);
    if (spot_int(&priority) > HIGHEST_PRIORITY)
        spot_invalid(&priority, "must be less than or equal to %d", HIGHEST_PRIORITY);
}

/* --- PodGroups -------------------------------------------------------------------------------- */

static void check_template_ref(const struct spot *spec)
{
    static const char *const members[] = {"workload", NULL};
    struct spot ref = spot_get(spec, "podGroupTemplateRef");
    struct spot workload = spot_get(&ref, "workload");
    struct spot name = spot_text(&workload, "workloadName");
    struct spot template = spot_text(&workload, "podGroupTemplateName");

    if (!spot_has(&ref))
        return;
    check_union(&ref, members);
    if (!spot_has(&workload))
        return;
    check_required_name(&name, NAME_DNS_SUBDOMAIN);
    check_required_name(&template, NAME_DNS_LABEL);
}

static void validate_group(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");

    check_template_ref(&spec);
    check_policy(&spec);
    check_constraints(&spec);
    check_claims(&spec);
    check_disruption(&spec);
}

static void validate_group_update(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    static const char *const frozen[] = {
        "podGroupTemplateRef",
        "schedulingPolicy",
        "schedulingConstraints",
        "resourceClaims",
        "disruptionMode",
        "priorityClassName",
        "priority",
    };
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");

    for (size_t i = 0; i < ARRAY_LEN(frozen); i++)
        spot_check_same(&spec, json_get(old, STR("spec")), frozen[i]);
}

static void validate_group_status(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");
    struct spot conditions = spot_get(&status, "conditions");
    struct spot claims = spot_get(&status, "resourceClaimStatuses");
    struct json_items own = json_items_at(object, "spec.resourceClaims");
    struct map names = MAP_INIT;

    (void)old;
    for (size_t i = 0; i < own.n; i++)
        map_put(&names, json_get_text(&own.v[i], STR("name")), errors);
    conditions_validate(&conditions);
    for (size_t i = 0; i < spot_count(&claims); i++) {
        struct spot claim = spot_item(&claims, i), name = spot_text(&claim, "name");

        if (!map_get(&names, spot_str(&name)))
            spot_invalid(&name, "must match the name of an entry in `spec.resourceClaims`");
    }
    map_release(&names);
    if (spot_too_many(&claims, MAX_CLAIMS))
        return;
    check_unique(&claims);
    for (size_t i = 0; i < spot_count(&claims); i++) {
        struct spot claim = spot_item(&claims, i), ref = spot_get(&claim, "resourceClaimName");

        check_optional_name(&ref, NAME_DNS_SUBDOMAIN);
    }
}

/* --- Workloads -------------------------------------------------------------------------------- */

static void validate_workload(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot ref = spot_get(&spec, "controllerRef"), group = spot_text(&ref, "apiGroup");
    struct spot kind = spot_text(&ref, "kind"), owner = spot_text(&ref, "name");
    struct spot templates = spot_get(&spec, "podGroupTemplates");

    if (spot_has(&ref)) {
        if (!spot_empty(&group))
            spot_check_name(&group, NAME_DNS_SUBDOMAIN);
        check_required_name(&kind, NAME_PATH_SEGMENT);
        check_required_name(&owner, NAME_PATH_SEGMENT);
    }
    if (spot_count(&templates) == 0)
        spot_required(&templates, "");
    if (spot_too_many(&templates, MAX_TEMPLATES))
        return;
    check_unique(&templates);
    for (size_t i = 0; i < spot_count(&templates); i++) {
        struct spot template = spot_item(&templates, i), name = spot_text(&template, "name");

        check_required_name(&name, NAME_DNS_LABEL);
        check_policy(&template);
        check_constraints(&template);
        check_claims(&template);
        check_disruption(&template);
    }
}

static void validate_workload_update(const struct json_value *object, const struct json_value *old,
                                     struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");

    spot_check_same(&spec, json_get(old, STR("spec")), "controllerRef");
    spot_check_same(&spec, json_get(old, STR("spec")), "podGroupTemplates");
}

const struct strategy pod_group_strategies[] = {
    {
        .group = STR_INIT("scheduling.k8s.io"),
        .plural = STR_INIT("podgroups"),
        .set_defaults = set_defaults,
        .validate = validate_group,
        .validate_update = validate_group_update,
        .validate_status = validate_group_status,
        .unconditional_update = true,
    },
    {
        .group = STR_INIT("scheduling.k8s.io"),
        .plural = STR_INIT("workloads"),
        .validate = validate_workload,
        .validate_update = validate_workload_update,
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
