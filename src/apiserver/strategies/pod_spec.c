/* SPDX-License-Identifier: Apache-2.0 */
/* Validation of pod specs (upstream: ValidatePodSpec, ValidatePodTemplateSpec). */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/pod_internal.h"

static const char *const restart_policies[] = {"Always", "OnFailure", "Never", NULL};
static const char *const dns_policies[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default",
                                           "None", NULL};
static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};

#define MAX_NAMESERVERS 3
#define MAX_SEARCHES    32
#define MAX_SEARCH_TEXT 2048
#define MAX_HOSTNAME    64
#define MAX_DEADLINE    2147483647

/* --- DNS and hosts ---------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* A subdomain whose labels may begin with and contain '_'. */
static bool is_search(struct str s)
{
    struct str label;

    if (s.n == 0)
        return false;
    while (s.p && str_split(&s, '.', &label)) {
        if (str_starts(label, STR("_")))
            label = str_slice(label, 1, label.n);
        if (label.n == 0 || !is_letter(label.p[0]) || !is_letter(label.p[label.n - 1]))
            return false;
        for (size_t i = 0; i < label.n; i++)
            if (!is_letter(label.p[i]) && label.p[i] != '-' && label.p[i] != '_')
                return false;
    }
    return true;
}

static void check_search(struct field_errors *errors, struct str text,
                         const struct field_path *path)
{
    struct str name = str_ends(text, STR(".")) ? str_slice(text, 0, text.n - 1) : text;
    struct json_value value = json_text(name);

    if (str_is(text, "."))
        return;
    if (name.n > 253)
        field_error(errors, FIELD_INVALID, path, &value, "must be no more than 253 characters");
    else if (!is_search(name))
        field_error(errors, FIELD_INVALID, path, &value,
                    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                    "characters, '_', '-' or '.', and must start and end with an alphanumeric "
                    "character (e.g. 'example.com', regex used for validation is "
                    "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')");
}

static void check_dns_lists(struct field_errors *errors, const struct json_value *config,
                            const struct field_path *path)
{
    struct json_items servers = json_items_at(config, "nameservers");
    struct json_items searches = json_items_at(config, "searches");
    struct json_items options = json_items_at(config, "options");
    struct field_path server_path = field_child(path, "nameservers");
    struct field_path search_path = field_child(path, "searches");
    struct field_path option_path = field_child(path, "options");
    size_t total = 0;

    if (servers.n > MAX_NAMESERVERS)
        field_error(errors, FIELD_INVALID, &server_path, json_get(config, STR("nameservers")),
                    "must not have more than %d nameservers", MAX_NAMESERVERS);
    for (size_t i = 0; i < servers.n; i++) {
        struct field_path at = field_index(&server_path, i);

        field_check_ip(errors, &at, servers.v[i].text, false);
    }
    if (searches.n > MAX_SEARCHES)
        field_error(errors, FIELD_INVALID, &search_path, json_get(config, STR("searches")),
                    "must not have more than %d search paths", MAX_SEARCHES);
    for (size_t i = 0; i < searches.n; i++)
        total += searches.v[i].text.n + (i > 0);
    if (total > MAX_SEARCH_TEXT)
        field_error(errors, FIELD_INVALID, &search_path, json_get(config, STR("searches")),
                    "must not have more than %d characters (including spaces) in the search list",
                    MAX_SEARCH_TEXT);
    for (size_t i = 0; i < searches.n; i++) {
        struct field_path at = field_index(&search_path, i);

        check_search(errors, searches.v[i].text, &at);
    }
    for (size_t i = 0; i < options.n; i++) {
        struct field_path at = field_index(&option_path, i);

        if (str_empty(json_get_text(&options.v[i], STR("name"))))
            field_error(errors, FIELD_REQUIRED, &at, NULL, "must not be empty");
    }
}

static void check_dns(const struct pod_check *check, const struct field_path *parent)
{
    const struct json_value *config = json_get(check->spec, STR("dnsConfig"));
    struct field_path path = field_child(parent, "dnsConfig");
    bool none = str_is(json_get_text(check->spec, STR("dnsPolicy")), "None");

    if (none && !config) {
        field_error(check->errors, FIELD_REQUIRED, &path, NULL,
                    "must provide `dnsConfig` when `dnsPolicy` is None");
        return;
    }
    if (none && json_items_at(config, "nameservers").n == 0) {
        field_error_at(check->errors, FIELD_REQUIRED, &path, "nameservers", NULL,
                       "must provide at least one DNS nameserver when `dnsPolicy` is None");
        return;
    }
    if (config)
        check_dns_lists(check->errors, config, &path);
}

static void check_host_aliases(const struct pod_check *check, const struct field_path *parent)
{
    struct json_items list = json_items_at(check->spec, "hostAliases");
    struct field_path path = field_child(parent, "hostAliases");

    for (size_t i = 0; i < list.n; i++) {
        struct json_items names = json_items_at(&list.v[i], "hostnames");
        struct field_path at = field_index(&path, i), ip = field_child(&at, "ip");
        struct field_path names_path = field_child(&at, "hostnames");

        field_check_ip(check->errors, &ip, json_get_text(&list.v[i], STR("ip")), false);
        for (size_t j = 0; j < names.n; j++) {
            struct field_path name = field_index(&names_path, j);

            field_check_name(check->errors, &name, names.v[j].text, NAME_DNS_SUBDOMAIN);
        }
    }
}

static void check_hostname_override(const struct pod_check *check, const struct field_path *parent)
{
    const struct json_value *name = json_get(check->spec, STR("hostnameOverride"));
    struct field_path path = field_child(parent, "hostnameOverride");

    if (!name)
        return;
    if (json_bool_at(check->spec, "setHostnameAsFQDN", false))
        field_error(check->errors, FIELD_FORBIDDEN, &path, NULL,
                    "may not be specified when setHostnameAsFQDN is true");
    if (check->host_network)
        field_error(check->errors, FIELD_FORBIDDEN, &path, NULL,
                    "may not be specified when hostNetwork is true");
    if (name->text.n > MAX_HOSTNAME)
        field_error(check->errors, FIELD_TOO_LONG, &path, NULL, "may not be more than %d bytes",
                    MAX_HOSTNAME);
    field_check_name(check->errors, &path, name->text, NAME_DNS_SUBDOMAIN);
}

/* Host ports equal container ports on the network of the host. */
static void check_host_network(const struct pod_check *check, const struct field_path *parent)
{
    struct json_items list = json_items_at(check->spec, "containers");
    struct field_path path = field_child(parent, "containers");

    for (size_t i = 0; check->host_network && i < list.n; i++) {
        struct json_items ports = json_items_at(&list.v[i], "ports");
        struct field_path at = field_index(&path, i), ports_path = field_child(&at, "ports");

        for (size_t j = 0; j < ports.n; j++) {
            struct field_path port = field_index(&ports_path, j);
            struct json_value host = field_number(&ports.v[j], "hostPort");
            int64_t number = json_int_at(&ports.v[j], "hostPort", 0);

            if ((check->meta || number != 0) &&
                number != json_int_at(&ports.v[j], "containerPort", 0))
                field_error_at(check->errors, FIELD_INVALID, &port, "hostPort", &host,
                               "must match `containerPort` when `hostNetwork` is true");
        }
    }
}

static void check_host_users(const struct pod_check *check, const struct field_path *path)
{
    if (check->host_users)
        return;
    if (check->host_network)
        field_error_at(check->errors, FIELD_FORBIDDEN, path, "hostNetwork", NULL,
                       "when `hostUsers` is false");
    if (json_bool_at(check->spec, "hostPID", false))
        field_error_at(check->errors, FIELD_FORBIDDEN, path, "HostPID", NULL,
                       "when `hostUsers` is false");
    if (json_bool_at(check->spec, "hostIPC", false))
        field_error_at(check->errors, FIELD_FORBIDDEN, path, "HostIPC", NULL,
                       "when `hostUsers` is false");
}

/* --- gates and references --------------------------------------------------------------------- */

static void check_gates(const struct pod_check *check, const struct field_path *parent)
{
    struct json_items readiness = json_items_at(check->spec, "readinessGates");
    struct json_items scheduling = json_items_at(check->spec, "schedulingGates");
    struct field_path readiness_path = field_child(parent, "readinessGates");
    struct field_path scheduling_path = field_child(parent, "schedulingGates");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < readiness.n; i++) {
        struct field_path at = field_index(&readiness_path, i);
        struct field_path type = field_child(&at, "conditionType");

        field_check_name(check->errors, &type, json_get_text(&readiness.v[i], STR("conditionType")),
                         NAME_QUALIFIED);
    }
    for (size_t i = 0; i < scheduling.n; i++) {
        struct field_path at = field_index(&scheduling_path, i);
        struct json_value name = field_text(&scheduling.v[i], "name");

        field_check_name(check->errors, &at, name.text, NAME_QUALIFIED);
        if (map_put(&seen, name.text, check->errors))
            field_error(check->errors, FIELD_DUPLICATE, &at, &name, "%s", "");
    }
    map_release(&seen);
}

/* Variables from files need a volume of the kind emptyDir. */
static void check_file_volumes(const struct pod_check *check, const struct field_path *path)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    struct json_items volumes = json_items_at(check->spec, "volumes");
    struct map by_name = MAP_INIT;

    for (size_t i = 0; i < volumes.n; i++)
        map_put(&by_name, json_get_text(&volumes.v[i], STR("name")),
                (void *)(uintptr_t)&volumes.v[i]);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_items list = json_items_at(check->spec, lists[l]);
        struct field_path in = field_child(path, lists[l]);

        for (size_t i = 0; i < list.n; i++) {
            struct json_items env = json_items_at(&list.v[i], "env");
            struct field_path at = field_index(&in, i), env_path = field_child(&at, "env");

            for (size_t j = 0; j < env.n; j++) {
                const struct json_value *ref = json_at(&env.v[j], "valueFrom.fileKeyRef");
                struct json_value name = field_text(ref, "volumeName");
                const struct json_value *volume = map_get(&by_name, name.text);
                struct field_path e = field_index(&env_path, j), f = field_child(&e, "valueFrom");
                struct field_path r = field_child(&f, "fileKeyRef");

                if (ref && !volume)
                    field_error_at(check->errors, FIELD_NOT_FOUND, &r, "volumeName", &name, "%s",
                                   "");
                else if (ref && !json_get(volume, STR("emptyDir")))
                    field_error_at(check->errors, FIELD_INVALID, &r, "volumeName", &name,
                                   "referenced volume must be of type emptyDir");
            }
        }
    }
    map_release(&by_name);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void check_policies(const struct pod_check *check, const struct field_path *path)
{
    struct field_path restart = field_child(path, "restartPolicy");
    struct field_path dns = field_child(path, "dnsPolicy");

    if (str_empty(check->restart_policy))
        field_error(check->errors, FIELD_REQUIRED, &restart, NULL, "%s", "");
    else
        field_check_enum(check->errors, &restart, check->restart_policy, restart_policies);
    field_check_enum(check->errors, &dns, json_get_text(check->spec, STR("dnsPolicy")),
                     dns_policies);
}

/* Names of other objects and of the host: checked if they are not empty. */
static void check_names(const struct pod_check *check, const struct field_path *path, bool first)
{
    static const struct {
        const char *member;
        enum name_format format;
        bool first; /* before activeDeadlineSeconds */
    } names[] = {
        {"serviceAccountName", NAME_DNS_SUBDOMAIN, true},
        {"nodeName", NAME_DNS_SUBDOMAIN, true},
        {"hostname", NAME_DNS_LABEL, false},
        {"subdomain", NAME_DNS_LABEL, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str text = json_get_text(check->spec, str_of(names[i].member));
        struct field_path at = field_child(path, names[i].member);

        if (names[i].first == first && !str_empty(text))
            field_check_name(check->errors, &at, text, names[i].format);
    }
}

static void check_classes(const struct pod_check *check, const struct field_path *path)
{
    const struct json_value *runtime = json_get(check->spec, STR("runtimeClassName"));
    const struct json_value *preemption = json_get(check->spec, STR("preemptionPolicy"));
    const struct json_value *overhead = json_get(check->spec, STR("overhead"));
    struct str priority = json_get_text(check->spec, STR("priorityClassName"));
    struct field_path priority_path = field_child(path, "priorityClassName");
    struct field_path runtime_path = field_child(path, "runtimeClassName");
    struct field_path preemption_path = field_child(path, "preemptionPolicy");
    struct field_path overhead_path = field_child(path, "overhead");

    if (!str_empty(priority))
        field_check_name(check->errors, &priority_path, priority, NAME_DNS_SUBDOMAIN);
    if (runtime)
        field_check_name(check->errors, &runtime_path, runtime->text, NAME_DNS_SUBDOMAIN);
    if (preemption && str_empty(preemption->text))
        field_error(check->errors, FIELD_REQUIRED, &preemption_path, NULL, "%s", "");
    else if (preemption)
        field_check_enum(check->errors, &preemption_path, preemption->text, preemption_policies);
    if (overhead) {
        struct json_value limits = json_object();

        json_set(&limits, STR("limits"), *overhead, check->errors->arena);
        resource_requirements_validate(check, &limits, false, &overhead_path);
    }
}

static void check_scheduling_group(const struct pod_check *check, const struct field_path *parent)
{
    const struct json_value *group = json_get(check->spec, STR("schedulingGroup"));
    const struct json_value *name = json_get(group, STR("podGroupName"));
    struct field_path path = field_child(parent, "schedulingGroup");
    struct field_path at = field_child(&path, "podGroupName");

    if (!group)
        return;
    if (!name)
        field_error(check->errors, FIELD_INVALID, &at, NULL, "must specify one of: `podGroupName`");
    else
        field_check_name(check->errors, &at, name->text, NAME_DNS_SUBDOMAIN);
}

static void check_lists(struct pod_check *check, const struct field_path *path)
{
    struct field_path volumes = field_child(path, "volumes");
    struct field_path claims = field_child(path, "resourceClaims");
    struct field_path containers = field_child(path, "containers");
    struct field_path inits = field_child(path, "initContainers");
    struct field_path ephemeral = field_child(path, "ephemeralContainers");

    volumes_validate(check, &volumes);
    pod_claims_validate(check, &claims);
    containers_validate(check, &containers);
    init_containers_validate(check, &inits);
    ephemeral_containers_validate(check, &ephemeral);
    pod_resources_validate(check, path);
}

static void check_rest(const struct pod_check *check, const struct field_path *path)
{
    struct field_path selector = field_child(path, "nodeSelector");
    struct field_path security = field_child(path, "securityContext");
    struct field_path affinity = field_child(path, "affinity");
    struct field_path spread = field_child(path, "topologySpreadConstraints");
    struct field_path tolerations = field_child(path, "tolerations");
    struct field_path deadline = field_child(path, "activeDeadlineSeconds");

    check_host_network(check, path);
    check_policies(check, path);
    field_check_labels(check->errors, &selector, json_get(check->spec, STR("nodeSelector")));
    pod_security_validate(check, &security);
    affinity_validate(json_get(check->spec, STR("affinity")), &affinity, check->errors);
    check_dns(check, path);
    check_gates(check, path);
    spread_constraints_validate(check->spec, &spread, check->errors);
    pod_windows_validate(check, path);
    check_host_users(check, path);
    check_hostname_override(check, path);
    check_names(check, path, true);
    if (json_get(check->spec, STR("activeDeadlineSeconds")))
        field_check_range(check->errors, &deadline,
                          json_int_at(check->spec, "activeDeadlineSeconds", 0), 1, MAX_DEADLINE);
    check_names(check, path, false);
    tolerations_validate(check->spec, &tolerations, check->errors);
    check_host_aliases(check, path);
    check_classes(check, path);
    pod_os_validate(check, path);
    check_scheduling_group(check, path);
    check_file_volumes(check, path);
}

void pod_spec_validate(struct pod_check *check, const struct json_value *spec,
                       const struct field_path *path, struct field_errors *errors)
{
    const struct json_value *grace = json_get(spec, STR("terminationGracePeriodSeconds"));
    int64_t seconds = json_int_at(spec, "terminationGracePeriodSeconds", 0);

    check->spec = spec;
    check->errors = errors;
    check->restart_policy = json_get_text(spec, STR("restartPolicy"));
    check->os = json_get(spec, STR("os"));
    check->host_users = json_bool_at(spec, "hostUsers", true);
    check->host_network = json_bool_at(spec, "hostNetwork", false);
    check->grace_period = grace ? &seconds : NULL;
    if (!grace)
        field_required(errors, path, "terminationGracePeriodSeconds");
    check_lists(check, path);
    check_rest(check, path);
    map_release(&check->volumes);
    map_release(&check->claims);
}

void pod_template_validate(const struct json_value *template, const struct field_path *path,
                           struct field_errors *errors)
{
    const struct json_value *meta = json_get(template, STR("metadata"));
    struct pod_check check = {.meta = NULL};
    struct field_path labels = field_child(path, "labels");
    struct field_path annotations = field_child(path, "annotations");
    struct field_path spec = field_child(path, "spec");

    field_check_labels(errors, &labels, json_get(meta, STR("labels")));
    field_check_annotations(errors, &annotations, json_get(meta, STR("annotations")));
    pod_annotations_validate(meta, json_get(template, STR("spec")), &annotations, errors);
    pod_spec_validate(&check, json_get(template, STR("spec")), &spec, errors);
    if (json_items_at(template, "spec.ephemeralContainers").n > 0)
        field_error_at(errors, FIELD_FORBIDDEN, &spec, "ephemeralContainers", NULL,
                       "ephemeral containers not allowed in pod template");
}
