/* SPDX-License-Identifier: Apache-2.0 */
/* rbac.authorization.k8s.io: roles and bindings. */
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

#define GROUP "rbac.authorization.k8s.io"

static const char *const only_group[] = {GROUP, NULL};

/* --- roles ------------------------------------------------------------------------------------ */

static void check_rule(const struct spot *rule, bool namespaced)
{
    struct spot verbs = spot_get(rule, "verbs"), urls = spot_get(rule, "nonResourceURLs");
    struct spot groups = spot_get(rule, "apiGroups"), resources = spot_get(rule, "resources");
    struct spot names = spot_get(rule, "resourceNames");

    if (spot_count(&verbs) == 0)
        spot_required(&verbs, "verbs must contain at least one value");
    if (spot_count(&urls) > 0) {
        if (namespaced)
            spot_invalid(&urls, "namespaced rules cannot apply to non-resource URLs");
        if (spot_count(&groups) + spot_count(&resources) + spot_count(&names) > 0)
            spot_invalid(&urls, "rules cannot apply to both regular resources and non-resource "
                                "URLs");
        return;
    }
    if (spot_count(&groups) == 0)
        spot_required(&groups, "resource rules must supply at least one api group");
    if (spot_count(&resources) == 0)
        spot_required(&resources, "resource rules must supply at least one resource");
}

static void check_rules(const struct spot *root, bool namespaced)
{
    struct spot rules = spot_get(root, "rules");

    for (size_t i = 0; i < spot_count(&rules); i++) {
        struct spot rule = spot_item(&rules, i);

        check_rule(&rule, namespaced);
    }
}

static void validate_role(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors);

    check_rules(&root, true);
}

static void validate_cluster_role(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors);
    struct spot aggregation = spot_get(&root, "aggregationRule");
    struct spot selectors = spot_get(&aggregation, "clusterRoleSelectors");

    check_rules(&root, false);
    if (spot_has(&aggregation) && spot_count(&selectors) == 0)
        spot_required(&selectors,
                      "at least one clusterRoleSelector required if aggregationRule is non-nil");
    for (size_t i = 0; i < spot_count(&selectors); i++) {
        struct spot selector = spot_item(&selectors, i);

        if (!spot_check_selector(&selector)) {
            selector.v = NULL;
            spot_invalid(&selector, "invalid label selector.");
        }
    }
}

/* --- bindings --------------------------------------------------------------------------------- */

static void default_binding(struct json_value *object, struct arena *a)
{
    struct json_value *subjects;

    default_text(json_set_object(object, STR("roleRef"), a), "apiGroup", GROUP, a);
    subjects = json_member(object, STR("subjects"));
    for (size_t i = 0; subjects && subjects->kind == JSON_ARRAY && i < subjects->n; i++) {
        struct str kind = json_get_text(&subjects->items[i], STR("kind"));

        if (str_is(kind, "User") || str_is(kind, "Group"))
            default_text(&subjects->items[i], "apiGroup", GROUP, a);
    }
}

static void check_account(const struct spot *subject, bool namespaced)
{
    static const char *const none[] = {"", NULL};
    struct spot name = spot_text(subject, "name"), group = spot_text(subject, "apiGroup");
    struct spot namespace = spot_text(subject, "namespace");

    if (!spot_empty(&name))
        spot_check_name(&name, NAME_DNS_SUBDOMAIN);
    spot_check_one_of(&group, none);
    if (!namespaced && spot_empty(&namespace))
        spot_required(&namespace, "");
}

static void check_subject(const struct spot *subject, bool namespaced)
{
    static const char *const kinds[] = {"ServiceAccount", "User", "Group", NULL};
    struct spot name = spot_text(subject, "name"), kind = spot_text(subject, "kind");
    struct spot group = spot_text(subject, "apiGroup");

    if (spot_empty(&name))
        spot_required(&name, "");
    if (spot_is(&kind, "ServiceAccount"))
        check_account(subject, namespaced);
    else if (spot_check_one_of(&kind, kinds))
        spot_check_one_of(&group, only_group);
}

static void check_binding(const struct json_value *object, bool namespaced,
                          struct field_errors *errors)
{
    static const char *const kinds[] = {"Role", "ClusterRole", NULL};
    struct spot root = spot_root(object, errors), ref = spot_get(&root, "roleRef");
    struct spot group = spot_text(&ref, "apiGroup"), kind = spot_text(&ref, "kind");
    struct spot name = spot_text(&ref, "name"), subjects = spot_get(&root, "subjects");

    spot_check_one_of(&group, only_group);
    spot_check_one_of(&kind, namespaced ? kinds : kinds + 1);
    if (spot_empty(&name))
        spot_required(&name, "");
    else
        spot_check_name(&name, NAME_PATH_SEGMENT);
    for (size_t i = 0; i < spot_count(&subjects); i++) {
        struct spot subject = spot_item(&subjects, i);

        check_subject(&subject, namespaced);
    }
}

static void validate_binding(const struct json_value *object, struct field_errors *errors)
{
    check_binding(object, true, errors);
}

static void validate_cluster_binding(const struct json_value *object, struct field_errors *errors)
{
    check_binding(object, false, errors);
}

/* Upstream shows its internal struct. */
static void validate_binding_update(const struct json_value *object, const struct json_value *old,
                                    struct field_errors *errors)
{
    static const struct internal_member fields[] = {
        {"APIGroup", "apiGroup", NULL, "\"\""},
        {"Kind", "kind", NULL, "\"\""},
        {"Name", "name", NULL, "\"\""},
        {0},
    };
    struct spot root = spot_root(object, errors), ref = spot_get(&root, "roleRef");
    struct json_value shown = internal_form(ref.v, fields, errors->arena);

    if (field_equal(ref.v, json_get(old, STR("roleRef"))))
        return;
    ref.v = &shown;
    spot_invalid(&ref, "cannot change roleRef");
}

#define ROW(p, ...)                  \
    {.group = STR_INIT(GROUP),       \
     .plural = STR_INIT(p),          \
     .no_status = true,              \
     .allow_create_on_update = true, \
     .unconditional_update = true,   \
     __VA_ARGS__}

const struct strategy rbac_strategies[] = {
    ROW("roles", .validate = validate_role),
    ROW("clusterroles", .validate = validate_cluster_role),
    ROW("rolebindings", .set_defaults = default_binding, .validate = validate_binding,
        .validate_update = validate_binding_update),
    ROW("clusterrolebindings", .set_defaults = default_binding,
        .validate = validate_cluster_binding, .validate_update = validate_binding_update),
    {.plural = STR_INIT("")},
};
