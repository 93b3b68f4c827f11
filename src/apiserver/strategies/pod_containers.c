/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of the containers of a pod. */
#include "apiserver/strategies/pod_internal.h"

static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};
static const char *const message_policies[] = {"File", "FallbackToLogsOnError", NULL};
static const char *const resize_resources[] = {"cpu", "memory", NULL};
static const char *const resize_policies[] = {"NotRequired", "RestartContainer", NULL};
static const char *const restart_policies[] = {"Always", "Never", "OnFailure", NULL};
static const char *const restart_actions[] = {"Restart", "RestartAllContainers", NULL};
static const char *const exit_operators[] = {"In", "NotIn", NULL};

/* An enumeration that must be set. */
static void check_required_enum(struct field_errors *errors, const struct field_path *path,
                                struct str text, const char *const *supported)
{
    if (str_empty(text))
        field_error(errors, FIELD_REQUIRED, path, NULL, "%s", "");
    else
        field_check_enum(errors, path, text, supported);
}

static void check_resize_policy(const struct pod_check *check, const struct json_value *container,
                                const struct field_path *parent)
{
    struct json_items list = json_items_at(container, "resizePolicy");
    struct field_path path = field_child(parent, "resizePolicy");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&path, i);
        struct json_value name = field_text(&list.v[i], "resourceName");
        struct json_value policy = field_text(&list.v[i], "restartPolicy");

        if (map_put(&seen, name.text, (void *)(uintptr_t)check))
            field_error(check->errors, FIELD_DUPLICATE, &at, &name, "%s", "");
        check_required_enum(check->errors, &path, name.text, resize_resources);
        check_required_enum(check->errors, &path, policy.text, resize_policies);
        if (str_is(check->restart_policy, "Never") && !str_is(policy.text, "NotRequired"))
            field_error(check->errors, FIELD_INVALID, &path, &policy,
                        "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
    map_release(&seen);
}

/* What all kinds of containers have. */
static void check_common(const struct pod_check *check, const struct json_value *c,
                         const struct field_path *path)
{
    struct field_errors *errors = check->errors;
    struct field_path name = field_child(path, "name");
    struct field_path message = field_child(path, "terminationMessagePolicy");
    struct field_path pull = field_child(path, "imagePullPolicy");
    struct field_path resources = field_child(path, "resources");
    struct field_path security = field_child(path, "securityContext");

    if (str_empty(json_get_text(c, STR("name"))))
        field_error(errors, FIELD_REQUIRED, &name, NULL, "%s", "");
    else
        field_check_name(errors, &name, json_get_text(c, STR("name")), NAME_DNS_LABEL);
    if (str_empty(json_get_text(c, STR("image"))))
        field_required(errors, path, "image");
    check_required_enum(errors, &message, json_get_text(c, STR("terminationMessagePolicy")),
                        message_policies);
    container_ports_validate(c, path, errors);
    container_env_validate(c, path, errors);
    container_mounts_validate(check, c, path);
    check_required_enum(errors, &pull, json_get_text(c, STR("imagePullPolicy")), pull_policies);
    resource_requirements_validate(check, json_get(c, STR("resources")), false, &resources);
    check_resize_policy(check, c, path);
    container_security_validate(check, json_get(c, STR("securityContext")), &security);
}

/* --- restart policies ------------------------------------------------------------------------- */

#define MAX_RULES  20
#define MAX_VALUES 255

static void check_restart_rule(struct field_errors *errors, const struct json_value *rule,
                               const struct field_path *path)
{
    const struct json_value *codes = json_get(rule, STR("exitCodes"));
    struct field_path action = field_child(path, "action");
    struct field_path at = field_child(path, "exitCodes"), operator= field_child(&at, "operator");

    field_check_enum(errors, &action, json_get_text(rule, STR("action")), restart_actions);
    if (!codes) {
        field_error(errors, FIELD_REQUIRED, &at, NULL, "must be specified");
        return;
    }
    field_check_enum(errors, &operator, json_get_text(codes, STR("operator")), exit_operators);
    if (json_items_at(codes, "values").n > MAX_VALUES) {
        struct json_value n = json_int((int64_t)json_items_at(codes, "values").n, errors->arena);

        field_error_at(errors, FIELD_TOO_MANY, &at, "values", &n, "must have at most %d items",
                       MAX_VALUES);
    }
}

static void check_restart_policy(const struct pod_check *check, const struct json_value *c,
                                 const struct field_path *path)
{
    struct json_items rules = json_items_at(c, "restartPolicyRules");
    const struct json_value *policy = json_get(c, STR("restartPolicy"));
    struct field_path at = field_child(path, "restartPolicy");
    struct field_path list = field_child(path, "restartPolicyRules");

    if (!policy && rules.n > 0)
        field_error(check->errors, FIELD_REQUIRED, &at, NULL,
                    "must specify restartPolicy when restart rules are used");
    if (policy)
        field_check_enum(check->errors, &at, policy->text, restart_policies);
    if (rules.n > MAX_RULES) {
        struct json_value n = json_int((int64_t)rules.n, check->errors->arena);

        field_error(check->errors, FIELD_TOO_MANY, &list, &n, "must have at most %d items",
                    MAX_RULES);
    }
    for (size_t i = 0; i < rules.n; i++) {
        struct field_path rule = field_index(&list, i);

        check_restart_rule(check->errors, &rules.v[i], &rule);
    }
}

/* --- names and ports -------------------------------------------------------------------------- */

/* Adds the names of a list to the set. */
static void add_names(struct map *names, struct json_items list)
{
    for (size_t i = 0; i < list.n; i++)
        map_put(names, json_get_text(&list.v[i], STR("name")), (void *)(uintptr_t)&list.v[i]);
}

static void check_unique_name(const struct pod_check *check, const struct json_value *c,
                              struct map *names, const struct field_path *path)
{
    struct json_value name = field_text(c, "name");

    if (map_get(names, name.text))
        field_error_at(check->errors, FIELD_DUPLICATE, path, "name", &name, "%s", "");
    else
        map_put(names, name.text, (void *)(uintptr_t)c);
}

/* Host ports of these containers, which are at path[first] and so on, must differ. */
static void check_host_ports(struct field_errors *errors, struct json_items list,
                             const struct field_path *path)
{
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct json_items ports = json_items_at(&list.v[i], "ports");
        struct field_path at = field_index(path, i), in = field_child(&at, "ports");

        for (size_t j = 0; j < ports.n; j++) {
            struct field_path port = field_index(&in, j);
            int64_t number = json_int_at(&ports.v[j], "hostPort", 0);
            struct json_value key;

            if (number == 0)
                continue;
            key = json_text(arena_printf(errors->arena, "%.*s/%.*s/%lld",
                                         STR_ARG(json_get_text(&ports.v[j], STR("protocol"))),
                                         STR_ARG(json_get_text(&ports.v[j], STR("hostIP"))),
                                         (long long)number));
            if (map_put(&seen, key.text, errors))
                field_error_at(errors, FIELD_DUPLICATE, &port, "hostPort", &key, "%s", "");
        }
    }
    map_release(&seen);
}

/* --- lists ------------------------------------------------------------------------------------ */

void containers_validate(const struct pod_check *check, const struct field_path *path)
{
    struct json_items list = json_items_at(check->spec, "containers");
    struct map names = MAP_INIT;

    if (list.n == 0)
        field_error(check->errors, FIELD_REQUIRED, path, NULL, "%s", "");
    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(path, i);

        check_common(check, &list.v[i], &at);
        check_unique_name(check, &list.v[i], &names, &at);
        container_lifecycle_validate(check, &list.v[i], &at);
        container_probes_validate(check, &list.v[i], &at);
        check_restart_policy(check, &list.v[i], &at);
    }
    check_host_ports(check->errors, list, path);
    map_release(&names);
}

static void check_no_sidecar(const struct pod_check *check, const struct json_value *c,
                             const struct field_path *path)
{
    static const char *const members[] = {"lifecycle", "livenessProbe", "readinessProbe",
                                          "startupProbe"};
    struct json_items policies = json_items_at(c, "resizePolicy");
    struct field_path list = field_child(path, "resizePolicy");

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (json_get(c, str_of(members[i])))
            field_error_at(check->errors, FIELD_FORBIDDEN, path, members[i], NULL,
                           "may not be set for init containers without restartPolicy=Always");
    for (size_t i = 0; i < policies.n; i++) {
        struct field_path at = field_index(&list, i);
        struct json_value policy = field_text(&policies.v[i], "restartPolicy");

        if (str_is(policy.text, "RestartContainer"))
            field_error_at(check->errors, FIELD_INVALID, &at, "restartPolicy", &policy,
                           "must not be set to 'RestartContainer' for non-sidecar initContainers");
    }
}

void init_containers_validate(const struct pod_check *check, const struct field_path *path)
{
    struct json_items list = json_items_at(check->spec, "initContainers");
    struct map names = MAP_INIT;

    add_names(&names, json_items_at(check->spec, "containers"));
    for (size_t i = 0; i < list.n; i++) {
        const struct json_value *c = &list.v[i];
        struct field_path at = field_index(path, i);

        check_common(check, c, &at);
        check_restart_policy(check, c, &at);
        if (!str_empty(json_get_text(c, STR("name"))) || map_get(&names, STR("")))
            check_unique_name(check, c, &names, &at);
        check_host_ports(check->errors, (struct json_items){c, 1}, path);
        if (str_is(json_get_text(c, STR("restartPolicy")), "Always")) {
            container_lifecycle_validate(check, c, &at);
            container_probes_validate(check, c, &at);
        } else {
            check_no_sidecar(check, c, &at);
        }
    }
    map_release(&names);
}

/* Members that ephemeral containers cannot have, in upstream's order. */
static void check_ephemeral_members(const struct pod_check *check, const struct json_value *c,
                                    const struct field_path *path)
{
    static const char *const forbidden[] = {
        "ports",         "resources",      "resizePolicy", "restartPolicy", "restartPolicyRules",
        "livenessProbe", "readinessProbe", "startupProbe", "lifecycle",
    };
    struct json_items mounts = json_items_at(c, "volumeMounts");
    struct field_path list = field_child(path, "volumeMounts");

    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++)
        if (!field_equal(json_get(c, str_of(forbidden[i])), NULL))
            field_error_at(check->errors, FIELD_FORBIDDEN, path, forbidden[i], NULL,
                           "cannot be set for an Ephemeral Container");
    for (size_t i = 0; i < mounts.n; i++) {
        static const char *const members[] = {"subPath", "subPathExpr"};
        struct field_path at = field_index(&list, i);

        for (size_t m = 0; m < ARRAY_LEN(members); m++)
            if (!str_empty(json_get_text(&mounts.v[i], str_of(members[m]))))
                field_error_at(check->errors, FIELD_FORBIDDEN, &at, members[m], NULL,
                               "cannot be set for an Ephemeral Container");
    }
}

void ephemeral_containers_validate(const struct pod_check *check, const struct field_path *path)
{
    struct json_items list = json_items_at(check->spec, "ephemeralContainers");
    struct map names = MAP_INIT, targets = MAP_INIT;

    add_names(&names, json_items_at(check->spec, "containers"));
    add_names(&names, json_items_at(check->spec, "initContainers"));
    add_names(&targets, json_items_at(check->spec, "containers"));
    add_names(&targets, json_items_at(check->spec, "initContainers"));
    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(path, i);
        struct json_value target = field_text(&list.v[i], "targetContainerName");

        check_common(check, &list.v[i], &at);
        check_unique_name(check, &list.v[i], &names, &at);
        if (!str_empty(target.text) && !map_get(&targets, target.text))
            field_error_at(check->errors, FIELD_NOT_FOUND, &at, "targetContainerName", &target,
                           "%s", "");
        check_ephemeral_members(check, &list.v[i], &at);
    }
    map_release(&names);
    map_release(&targets);
}
