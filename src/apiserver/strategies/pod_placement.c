/* SPDX-License-Identifier: Apache-2.0 */
/* Affinity, tolerations and topology spread constraints. */
#include "apiserver/strategies/pod_internal.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* --- node selectors --------------------------------------------------------------------------- */

static void check_expression(struct field_errors *errors, const struct json_value *e,
                             bool any_value, const struct field_path *path)
{
    struct json_value operator= field_text(e, "operator");
    struct json_items values = json_items_at(e, "values");
    struct field_path key = field_child(path, "key"), list = field_child(path, "values");

    if (str_is(operator.text, "In") || str_is(operator.text, "NotIn")) {
        if (values.n == 0)
            field_error(errors, FIELD_REQUIRED, &list, NULL,
                        "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (str_is(operator.text, "Exists") || str_is(operator.text, "DoesNotExist")) {
        if (values.n > 0)
            field_error(errors, FIELD_FORBIDDEN, &list, NULL,
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (str_is(operator.text, "Gt") || str_is(operator.text, "Lt")) {
        if (values.n != 1)
            field_error(errors, FIELD_REQUIRED, &list, NULL,
                        "must be specified single value when `operator` is 'Lt' or 'Gt'");
    } else {
        field_error_at(errors, FIELD_INVALID, path, "operator", &operator,
                       "not a valid selector operator");
    }
    field_check_name(errors, &key, json_get_text(e, STR("key")), NAME_QUALIFIED);
    for (size_t i = 0; !any_value && i < values.n; i++) {
        struct field_path at = field_index(&list, i);

        if (values.v[i].kind == JSON_STRING)
            field_check_name(errors, &at, values.v[i].text, NAME_LABEL_VALUE);
    }
}

static void check_field(struct field_errors *errors, const struct json_value *e,
                        const struct field_path *path)
{
    struct json_value operator= field_text(e, "operator"), key = field_text(e, "key");
    struct json_items values = json_items_at(e, "values");
    struct field_path list = field_child(path, "values");

    if (!str_is(operator.text, "In") && !str_is(operator.text, "NotIn"))
        field_error_at(errors, FIELD_INVALID, path, "operator", &operator,
                       "not a valid selector operator");
    else if (values.n != 1)
        field_error(errors, FIELD_REQUIRED, &list, NULL,
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field "
                    "selector");
    if (!str_is(key.text, "metadata.name")) {
        field_error_at(errors, FIELD_INVALID, path, "key", &key, "not a valid field selector key");
        return;
    }
    for (size_t i = 0; i < values.n; i++) {
        struct field_path at = field_index(&list, i);

        if (values.v[i].kind == JSON_STRING)
            field_check_name(errors, &at, values.v[i].text, NAME_DNS_SUBDOMAIN);
    }
}

static void check_node_term(struct field_errors *errors, const struct json_value *term,
                            bool any_value, const struct field_path *path)
{
    struct json_items expressions = json_items_at(term, "matchExpressions");
    struct json_items fields = json_items_at(term, "matchFields");
    struct field_path expression_path = field_child(path, "matchExpressions");
    struct field_path fields_path = field_child(path, "matchFields");

    for (size_t i = 0; i < expressions.n; i++) {
        struct field_path at = field_index(&expression_path, i);

        check_expression(errors, &expressions.v[i], any_value, &at);
    }
    for (size_t i = 0; i < fields.n; i++) {
        struct field_path at = field_index(&fields_path, i);

        check_field(errors, &fields.v[i], &at);
    }
}

void node_selector_validate(const struct json_value *selector, const struct field_path *path,
                            struct field_errors *errors)
{
    struct json_items terms = json_items_at(selector, "nodeSelectorTerms");
    struct field_path list = field_child(path, "nodeSelectorTerms");

    if (terms.n == 0)
        field_error(errors, FIELD_REQUIRED, &list, NULL,
                    "must have at least one node selector term");
    for (size_t i = 0; i < terms.n; i++) {
        struct field_path at = field_index(&list, i);

        check_node_term(errors, &terms.v[i], false, &at);
    }
}

static void check_weight(struct field_errors *errors, const struct json_value *term,
                         const struct field_path *path)
{
    struct json_value weight = field_number(term, "weight");
    int64_t n = json_int_at(term, "weight", 0);

    if (n <= 0 || n > 100)
        field_error_at(errors, FIELD_INVALID, path, "weight", &weight,
                       "must be in the range 1-100");
}

static void check_node_affinity(const struct json_value *affinity, const struct field_path *path,
                                struct field_errors *errors)
{
    const struct json_value *required = json_get(affinity, STR(REQUIRED));
    struct json_items preferred = json_items_at(affinity, PREFERRED);
    struct field_path required_path = field_child(path, REQUIRED);
    struct field_path preferred_path = field_child(path, PREFERRED);

    if (required)
        node_selector_validate(required, &required_path, errors);
    for (size_t i = 0; i < preferred.n; i++) {
        struct field_path at = field_index(&preferred_path, i), in = field_child(&at, "preference");

        check_weight(errors, &preferred.v[i], &at);
        check_node_term(errors, json_get(&preferred.v[i], STR("preference")), true, &in);
    }
}

/* --- label keys ------------------------------------------------------------------------------- */

static void check_label_keys(struct field_errors *errors, const struct json_value *term,
                             const char *member, const struct field_path *parent)
{
    struct json_items keys = json_items_at(term, member);
    struct field_path path = field_child(parent, member);

    if (keys.n > 0 && !json_get(term, STR("labelSelector"))) {
        field_error(errors, FIELD_FORBIDDEN, &path, NULL,
                    "must not be specified when labelSelector is not set");
        return;
    }
    for (size_t i = 0; i < keys.n; i++) {
        struct field_path at = field_index(&path, i);

        if (keys.v[i].kind == JSON_STRING)
            field_check_name(errors, &at, keys.v[i].text, NAME_QUALIFIED);
    }
}

/*
 * A key of matchLabelKeys that the selector has twice: once as the user wrote it, once as the
 * server added it.
 */
static void check_keys_in_selector(struct field_errors *errors, const struct json_value *term,
                                   struct map *keys, const struct field_path *path)
{
    struct json_members labels = json_members_at(term, "labelSelector.matchLabels");
    struct json_items list = json_items_at(term, "labelSelector.matchExpressions");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < labels.n; i++)
        map_put(&seen, labels.v[i].key, keys);
    for (size_t i = 0; i < list.n; i++) {
        struct json_value key = field_text(&list.v[i], "key");
        const struct json_value *item = map_get(keys, key.text);
        bool twice = map_put(&seen, key.text, keys) != NULL;

        if (item && twice) {
            struct json_items all = json_items_at(term, "matchLabelKeys");
            struct field_path at = field_index(path, (size_t)(item - all.v));

            field_error(errors, FIELD_INVALID, &at, &key,
                        "exists in both matchLabelKeys and labelSelector");
        }
    }
    map_release(&seen);
}

/* Upstream: ValidateMatchLabelKeysAndMismatchLabelKeys. */
static void check_match_label_keys(struct field_errors *errors, const struct json_value *term,
                                   const struct field_path *path)
{
    struct json_items match = json_items_at(term, "matchLabelKeys");
    struct json_items mismatch = json_items_at(term, "mismatchLabelKeys");
    struct field_path match_path = field_child(path, "matchLabelKeys");
    struct map keys = MAP_INIT, others = MAP_INIT;

    check_label_keys(errors, term, "matchLabelKeys", path);
    check_label_keys(errors, term, "mismatchLabelKeys", path);
    for (size_t i = 0; i < match.n; i++)
        map_put(&keys, match.v[i].text, (void *)(uintptr_t)&match.v[i]);
    for (size_t i = 0; i < mismatch.n; i++)
        map_put(&others, mismatch.v[i].text, errors);
    if (match.n > 0)
        check_keys_in_selector(errors, term, &keys, path);
    for (size_t i = 0; i < match.n; i++) {
        struct field_path at = field_index(&match_path, i);

        if (map_get(&others, match.v[i].text))
            field_error(errors, FIELD_INVALID, &at, &match.v[i],
                        "exists in both matchLabelKeys and mismatchLabelKeys");
    }
    map_release(&keys);
    map_release(&others);
}

/* --- pod affinity ----------------------------------------------------------------------------- */

static void check_pod_term(struct field_errors *errors, const struct json_value *term,
                           const struct field_path *path)
{
    struct json_items namespaces = json_items_at(term, "namespaces");
    struct field_path selector = field_child(path, "labelSelector");
    struct field_path of_namespaces = field_child(path, "namespaceSelector");
    struct field_path namespace = field_child(path, "namespace");
    struct field_path key = field_child(path, "topologyKey");
    struct str topology = json_get_text(term, STR("topologyKey"));

    field_check_label_selector(errors, &selector, json_get(term, STR("labelSelector")));
    field_check_label_selector(errors, &of_namespaces, json_get(term, STR("namespaceSelector")));
    for (size_t i = 0; i < namespaces.n; i++)
        if (namespaces.v[i].kind == JSON_STRING)
            field_check_name(errors, &namespace, namespaces.v[i].text, NAME_DNS_LABEL);
    check_match_label_keys(errors, term, path);
    if (str_empty(topology))
        field_error(errors, FIELD_REQUIRED, &key, NULL, "can not be empty");
    field_check_name(errors, &key, topology, NAME_QUALIFIED);
}

static void check_pod_affinity(const struct json_value *affinity, const struct field_path *path,
                               struct field_errors *errors)
{
    struct json_items required = json_items_at(affinity, REQUIRED);
    struct json_items preferred = json_items_at(affinity, PREFERRED);
    struct field_path required_path = field_child(path, REQUIRED);
    struct field_path preferred_path = field_child(path, PREFERRED);

    for (size_t i = 0; i < required.n; i++) {
        struct field_path at = field_index(&required_path, i);

        check_pod_term(errors, &required.v[i], &at);
    }
    for (size_t i = 0; i < preferred.n; i++) {
        struct field_path at = field_index(&preferred_path, i);
        struct field_path in = field_child(&at, "podAffinityTerm");

        check_weight(errors, &preferred.v[i], &at);
        check_pod_term(errors, json_get(&preferred.v[i], STR("podAffinityTerm")), &in);
    }
}

void affinity_validate(const struct json_value *affinity, const struct field_path *path,
                       struct field_errors *errors)
{
    const struct json_value *node = json_get(affinity, STR("nodeAffinity"));
    const struct json_value *near = json_get(affinity, STR("podAffinity"));
    const struct json_value *far = json_get(affinity, STR("podAntiAffinity"));
    struct field_path node_path = field_child(path, "nodeAffinity");
    struct field_path near_path = field_child(path, "podAffinity");
    struct field_path far_path = field_child(path, "podAntiAffinity");

    if (node)
        check_node_affinity(node, &node_path, errors);
    if (near)
        check_pod_affinity(near, &near_path, errors);
    if (far)
        check_pod_affinity(far, &far_path, errors);
}

/* --- tolerations ------------------------------------------------------------------------------ */

static const char *const taint_effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};

static void check_toleration_operator(struct field_errors *errors, const struct json_value *t,
                                      const struct field_path *path)
{
    static const char *const operators[] = {"Equal", "Exists", NULL};
    static const char *const all_operators[] = {"Equal", "Exists", "Lt", "Gt", NULL};
    struct field_path at = field_child(path, "operator");
    struct str operator= json_get_text(t, STR("operator"));
    struct json_value value = field_text(t, "value");

    if (str_empty(operator) || str_is(operator, "Equal")) {
        field_check_name(errors, &at, value.text, NAME_LABEL_VALUE);
    } else if (str_is(operator, "Exists")) {
        if (!str_empty(value.text))
            field_error(errors, FIELD_INVALID, &at, &value,
                        "value must be empty when `operator` is 'Exists'");
    } else {
        struct json_value bad = json_text(operator);

        field_not_supported(errors, &at, &bad,
                            text_is_one_of(operator, all_operators) ? all_operators : operators);
    }
}

void tolerations_validate(const struct json_value *spec, const struct field_path *path,
                          struct field_errors *errors)
{
    struct json_items list = json_items_at(spec, "tolerations");

    for (size_t i = 0; i < list.n; i++) {
        const struct json_value *t = &list.v[i];
        struct field_path at = field_index(path, i), key_path = field_child(&at, "key");
        struct field_path effect_path = field_child(&at, "effect");
        struct str key = json_get_text(t, STR("key"));
        struct json_value operator= field_text(t, "operator"), effect = field_text(t, "effect");

        if (!str_empty(key))
            field_check_name(errors, &key_path, key, NAME_QUALIFIED);
        if (str_empty(key) && !str_is(operator.text, "Exists"))
            field_error_at(errors, FIELD_INVALID, &at, "operator", &operator,
                           "operator must be Exists when `key` is empty, which means \"match all "
                           "values and all keys\"");
        if (json_get(t, STR("tolerationSeconds")) && !str_is(effect.text, "NoExecute"))
            field_error(errors, FIELD_INVALID, &effect_path, &effect,
                        "effect must be 'NoExecute' when `tolerationSeconds` is set");
        check_toleration_operator(errors, t, &at);
        if (!str_empty(effect.text))
            field_check_enum(errors, &effect_path, effect.text, taint_effects);
    }
}

/* --- topology spread constraints -------------------------------------------------------------- */

static void check_positive(struct field_errors *errors, const struct json_value *object,
                           const char *member, const struct field_path *path)
{
    struct json_value number = field_number(object, member);

    if (json_int_at(object, member, 0) <= 0)
        field_error(errors, FIELD_INVALID, path, &number, "must be greater than zero");
}

static void check_domains(struct field_errors *errors, const struct json_value *c,
                          const struct field_path *path)
{
    static const char *const policies[] = {"Honor", "Ignore", NULL};
    static const char *const members[] = {"nodeAffinityPolicy", "nodeTaintsPolicy"};
    const struct json_value *min = json_get(c, STR("minDomains"));
    struct field_path at = field_child(path, "minDomains");
    struct str action = json_get_text(c, STR("whenUnsatisfiable"));

    if (min) {
        check_positive(errors, c, "minDomains", &at);
        if (!str_is(action, "DoNotSchedule"))
            field_error(errors, FIELD_INVALID, &at, min,
                        "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %.*s",
                        STR_ARG(action));
    }
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const struct json_value *policy = json_get(c, str_of(members[i]));
        struct field_path child = field_child(path, members[i]);

        if (policy)
            field_check_enum(errors, &child, policy->text, policies);
    }
}

static struct str spread_key(const struct json_value *c, struct arena *a)
{
    return arena_printf(a, "{%.*s, %.*s}", STR_ARG(json_get_text(c, STR("topologyKey"))),
                        STR_ARG(json_get_text(c, STR("whenUnsatisfiable"))));
}

void spread_constraints_validate(const struct json_value *spec, const struct field_path *path,
                                 struct field_errors *errors)
{
    static const char *const actions[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
    struct json_items list = json_items_at(spec, "topologySpreadConstraints");
    struct map last = MAP_INIT;

    /* An error is at every constraint but the last of equal ones. */
    for (size_t i = 0; i < list.n; i++)
        map_put(&last, spread_key(&list.v[i], errors->arena), (void *)(uintptr_t)&list.v[i]);
    for (size_t i = 0; i < list.n; i++) {
        const struct json_value *c = &list.v[i];
        struct field_path at = field_index(path, i), skew = field_child(&at, "maxSkew");
        struct field_path when = field_child(&at, "whenUnsatisfiable");
        struct field_path selector = field_child(&at, "labelSelector");
        struct json_value key = json_text(spread_key(c, errors->arena));

        check_positive(errors, c, "maxSkew", &skew);
        if (str_empty(json_get_text(c, STR("topologyKey"))))
            field_error_at(errors, FIELD_REQUIRED, &at, "topologyKey", NULL, "can not be empty");
        field_check_enum(errors, &when, json_get_text(c, STR("whenUnsatisfiable")), actions);
        if (map_get(&last, key.text) != c)
            field_error_at(errors, FIELD_DUPLICATE, &at, "{topologyKey, whenUnsatisfiable}", &key,
                           "%s", "");
        check_domains(errors, c, &at);
        check_match_label_keys(errors, c, &at);
        field_check_label_selector(errors, &selector, json_get(c, STR("labelSelector")));
    }
    map_release(&last);
}
