/* SPDX-License-Identifier: Apache-2.0 */
/* Services. */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/strategies.h"

#define MAX_AFFINITY_SECONDS 86400
#define FOR_LOAD_BALANCERS   "may only be used when `type` is 'LoadBalancer'"

/* --- kinds of services ------------------------------------------------------------------------ */

static bool is_type(const struct json_value *spec, const char *type)
{
    return str_is(json_get_text(spec, STR("type")), type);
}

static bool is_headless(const struct json_value *spec)
{
    struct json_items ips = json_items_at(spec, "clusterIPs");

    return ips.n == 1 && ips.v[0].kind == JSON_STRING && str_is(ips.v[0].text, "None");
}

static bool is_external(const struct json_value *spec)
{
    return is_type(spec, "LoadBalancer") || is_type(spec, "NodePort") ||
           (is_type(spec, "ClusterIP") && json_items_at(spec, "externalIPs").n > 0);
}

static bool needs_health_check(const struct json_value *spec)
{
    return is_type(spec, "LoadBalancer") &&
           str_is(json_get_text(spec, STR("externalTrafficPolicy")), "Local");
}

/* --- defaults --------------------------------------------------------------------------------- */

static void default_affinity(struct json_value *spec, struct arena *a)
{
    default_text(spec, "sessionAffinity", "None", a);
    if (str_is(json_get_text(spec, STR("sessionAffinity")), "None"))
        json_remove(spec, STR("sessionAffinityConfig"));
    else if (str_is(json_get_text(spec, STR("sessionAffinity")), "ClientIP") &&
             !json_at(spec, "sessionAffinityConfig.clientIP.timeoutSeconds"))
        json_set(spec, STR("sessionAffinityConfig"),
                 json_literal("{\"clientIP\":{\"timeoutSeconds\":10800}}", a), a);
}

static void default_ports(struct json_value *spec, struct arena *a)
{
    struct json_value *ports = array_at(spec, "ports");

    for (size_t i = 0; ports && i < ports->n; i++) {
        struct json_value *port = &ports->items[i];
        const struct json_value *target = json_get(port, STR("targetPort"));

        if (port->kind != JSON_OBJECT)
            continue;
        default_text(port, "protocol", "TCP", a);
        if (!target || (target->kind == JSON_NUMBER && str_is(target->text, "0")) ||
            (target->kind == JSON_STRING && str_empty(target->text)))
            json_set(port, STR("targetPort"), field_number(port, "port"), a);
    }
}

/* clusterIP is the first of clusterIPs; one sets the other. */
static void default_cluster_ips(struct json_value *spec, struct arena *a)
{
    struct str ip = json_get_text(spec, STR("clusterIP"));
    struct json_value list = json_array();

    if (!str_empty(ip) && !json_get(spec, STR("clusterIPs"))) {
        json_append(&list, json_text(ip), a);
        json_set(spec, STR("clusterIPs"), list, a);
    }
}

static void default_service(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);

    default_affinity(spec, a);
    default_text(spec, "type", "ClusterIP", a);
    default_ports(spec, a);
    if (is_external(spec))
        default_text(spec, "externalTrafficPolicy", "Cluster", a);
    if (is_type(spec, "NodePort") || is_type(spec, "LoadBalancer") || is_type(spec, "ClusterIP"))
        json_set_default(spec, STR("internalTrafficPolicy"), json_text(STR("Cluster")), a);
    if (is_type(spec, "LoadBalancer"))
        json_set_default(spec, STR("allocateLoadBalancerNodePorts"), json_bool(true), a);
    default_cluster_ips(spec, a);
}

static void prepare_service(struct json_value *object, struct arena *a)
{
    json_set(object, STR("status"), json_literal("{\"loadBalancer\":{}}", a), a);
}

/* --- updates: what another type does not have goes, unless the client changed it -------------- */

static void drop_if_same(struct json_value *spec, const struct json_value *old, const char *member)
{
    if (field_equal(json_get(spec, str_of(member)), json_get(old, str_of(member))))
        json_remove(spec, str_of(member));
}

static void drop_node_ports(struct json_value *spec, const struct json_value *old)
{
    struct json_value *ports = array_at(spec, "ports");
    struct json_items before = json_items_at(old, "ports");
    struct map known = MAP_INIT;
    bool same = true;

    for (size_t i = 0; i < before.n; i++)
        map_put(&known, field_number(&before.v[i], "nodePort").text, spec);
    for (size_t i = 0; ports && i < ports->n; i++)
        same = same && (json_int_at(&ports->items[i], "nodePort", 0) == 0 ||
                        map_get(&known, field_number(&ports->items[i], "nodePort").text));
    for (size_t i = 0; same && ports && i < ports->n; i++)
        if (ports->items[i].kind == JSON_OBJECT)
            json_remove(&ports->items[i], STR("nodePort"));
    map_release(&known);
}

static bool has_node_ports(const struct json_value *spec)
{
    return is_type(spec, "NodePort") || is_type(spec, "LoadBalancer");
}

static void drop_by_type(struct json_value *spec, const struct json_value *old)
{
    if (!is_type(old, "ExternalName") && is_type(spec, "ExternalName")) {
        if (field_equal(json_get(spec, STR("clusterIPs")), json_get(old, STR("clusterIPs")))) {
            json_remove(spec, STR("clusterIP"));
            json_remove(spec, STR("clusterIPs"));
        }
        drop_if_same(spec, old, "ipFamilies");
        drop_if_same(spec, old, "ipFamilyPolicy");
    }
    if (has_node_ports(old) && !has_node_ports(spec))
        drop_node_ports(spec, old);
    if (needs_health_check(old) && !needs_health_check(spec))
        drop_if_same(spec, old, "healthCheckNodePort");
    if (is_type(old, "LoadBalancer") && !is_type(spec, "LoadBalancer")) {
        drop_if_same(spec, old, "allocateLoadBalancerNodePorts");
        drop_if_same(spec, old, "loadBalancerClass");
    }
    if (is_external(old) && !is_external(spec))
        drop_if_same(spec, old, "externalTrafficPolicy");
}

/* A client that changes clusterIP alone means clusterIPs too (upstream: normalizeClusterIPs). */
static void follow_cluster_ip(struct json_value *spec, const struct json_value *old,
                              struct arena *a)
{
    struct json_value ip = field_text(spec, "clusterIP");
    struct json_value list = json_array();

    if (str_eq(ip.text, json_get_text(old, STR("clusterIP"))) ||
        !field_equal(json_get(spec, STR("clusterIPs")), json_get(old, STR("clusterIPs"))))
        return;
    json_remove(spec, STR("clusterIPs"));
    if (str_empty(ip.text))
        return;
    json_append(&list, ip, a);
    json_set(spec, STR("clusterIPs"), list, a);
}

/* What the server has allocated stays if the client does not name it. */
static void keep_allocated(struct json_value *spec, const struct json_value *old, struct arena *a)
{
    static const char *const members[] = {"clusterIP", "clusterIPs", "ipFamilies",
                                          "ipFamilyPolicy"};

    if (is_type(spec, "ExternalName") || is_type(old, "ExternalName"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const struct json_value *v = json_get(old, str_of(members[i]));

        if (v && field_equal(json_get(spec, str_of(members[i])), NULL))
            json_set(spec, str_of(members[i]), *v, a);
    }
}

static void prepare_service_update(struct json_value *object, const struct json_value *old,
                                   struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    const struct json_value *status = json_get(old, STR("status"));

    drop_by_type(spec, json_get(old, STR("spec")));
    keep_allocated(spec, json_get(old, STR("spec")), a);
    follow_cluster_ip(spec, json_get(old, STR("spec")), a);
    if (!is_type(spec, "LoadBalancer"))
        json_set(object, STR("status"), json_literal("{\"loadBalancer\":{}}", a), a);
    else if (status)
        json_set(object, STR("status"), *status, a);
}

/* --- ports ------------------------------------------------------------------------------------ */

static void check_port(const struct json_value *port, bool several, struct map *names,
                       const struct field_path *path, struct field_errors *errors)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    struct json_value name = field_text(port, "name");
    const struct json_value *app = json_get(port, STR("appProtocol"));
    struct field_path name_path = field_child(path, "name"), number = field_child(path, "port");
    struct field_path protocol = field_child(path, "protocol");
    struct field_path target = field_child(path, "targetPort");
    struct field_path app_path = field_child(path, "appProtocol");

    if (several && str_empty(name.text)) {
        field_error(errors, FIELD_REQUIRED, &name_path, NULL, "%s", "");
    } else if (!str_empty(name.text)) {
        field_check_name(errors, &name_path, name.text, NAME_DNS_LABEL);
        if (map_put(names, name.text, errors))
            field_error(errors, FIELD_DUPLICATE, &name_path, &name, "%s", "");
    }
    field_check_port(errors, &number, json_int_at(port, "port", 0));
    field_check_enum(errors, &protocol, json_get_text(port, STR("protocol")), protocols);
    port_number_or_name_validate(json_get(port, STR("targetPort")), &target, errors);
    if (app)
        field_check_name(errors, &app_path, app->text, NAME_QUALIFIED);
}

static struct json_value port_key(const struct json_value *port, struct arena *a)
{
    struct json_value key = json_literal("{\"Name\":\"\",\"Protocol\":\"\",\"AppProtocol\":null,"
                                         "\"Port\":0,\"TargetPort\":0,\"NodePort\":0}",
                                         a);

    json_set(&key, STR("Protocol"), field_text(port, "protocol"), a);
    json_set(&key, STR("Port"), field_number(port, "port"), a);
    return key;
}

static void check_port_duplicates(const struct json_value *spec, const struct field_path *path,
                                  struct field_errors *errors)
{
    struct json_items ports = json_items_at(spec, "ports");
    struct map node_ports = MAP_INIT, numbers = MAP_INIT;

    for (size_t i = 0; i < ports.n; i++) {
        struct field_path at = field_index(path, i);
        struct json_value number = field_number(&ports.v[i], "nodePort");
        struct str protocol = json_get_text(&ports.v[i], STR("protocol"));

        if (json_int_at(&ports.v[i], "nodePort", 0) == 0)
            continue;
        if (is_type(spec, "ClusterIP"))
            field_error_at(errors, FIELD_FORBIDDEN, &at, "nodePort", NULL,
                           "may not be used when `type` is 'ClusterIP'");
        if (map_put(
                &node_ports,
                arena_printf(errors->arena, "%.*s/%.*s", STR_ARG(protocol), STR_ARG(number.text)),
                errors))
            field_error_at(errors, FIELD_DUPLICATE, &at, "nodePort", &number, "%s", "");
    }
    for (size_t i = 0; i < ports.n; i++) {
        struct field_path at = field_index(path, i);
        struct json_value number = field_number(&ports.v[i], "port");
        struct str protocol = json_get_text(&ports.v[i], STR("protocol"));

        if (map_put(
                &numbers,
                arena_printf(errors->arena, "%.*s/%.*s", STR_ARG(protocol), STR_ARG(number.text)),
                errors)) {
            struct json_value key = port_key(&ports.v[i], errors->arena);

            field_error(errors, FIELD_DUPLICATE, &at, &key, "%s", "");
        }
    }
    map_release(&node_ports);
    map_release(&numbers);
}

static void check_ports(const struct json_value *spec, const struct field_path *path,
                        struct field_errors *errors)
{
    struct json_items ports = json_items_at(spec, "ports");
    struct map names = MAP_INIT;

    for (size_t i = 0; i < ports.n; i++) {
        struct field_path at = field_index(path, i);

        check_port(&ports.v[i], ports.n > 1, &names, &at, errors);
    }
    map_release(&names);
}

/* --- types and addresses ---------------------------------------------------------------------- */

static void check_type_fields(const struct json_value *spec, const struct field_path *path,
                              struct field_errors *errors)
{
    static const char *const forbidden[] = {"clusterIPs", "ipFamilies", "ipFamilyPolicy"};
    struct str name = json_get_text(spec, STR("externalName"));
    struct field_path ips = field_child(path, "clusterIPs"), first = field_index(&ips, 0);
    struct field_path external = field_child(path, "externalName");
    struct json_value none = json_text(STR("None"));

    if (has_node_ports(spec) && is_headless(spec))
        field_error(errors, FIELD_INVALID, &first, &none,
                    "may not be set to 'None' for %.*s services",
                    STR_ARG(json_get_text(spec, STR("type"))));
    if (!is_type(spec, "ExternalName"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++)
        if (!field_equal(json_get(spec, str_of(forbidden[i])), NULL))
            field_error_at(errors, FIELD_FORBIDDEN, path, forbidden[i], NULL,
                           "may not be set for ExternalName services");
    if (str_ends(name, STR(".")))
        name = str_slice(name, 0, name.n - 1);
    if (str_empty(name))
        field_error(errors, FIELD_REQUIRED, &external, NULL, "%s", "");
    else
        field_check_name(errors, &external, name, NAME_DNS_SUBDOMAIN);
}

static void check_session(const struct json_value *spec, const struct field_path *parent,
                          struct field_errors *errors)
{
    static const char *const kinds[] = {"ClientIP", "None", NULL};
    struct str kind = json_get_text(spec, STR("sessionAffinity"));
    const struct json_value *seconds =
        json_at(spec, "sessionAffinityConfig.clientIP.timeoutSeconds");
    int64_t n = json_int_at(spec, "sessionAffinityConfig.clientIP.timeoutSeconds", 0);
    struct field_path path = field_child(parent, "sessionAffinity");
    struct field_path config = field_child(parent, "sessionAffinityConfig");
    struct field_path client = field_child(&config, "clientIP");

    field_check_enum(errors, &path, kind, kinds);
    if (str_is(kind, "ClientIP") && (n <= 0 || n > MAX_AFFINITY_SECONDS))
        field_error_at(errors, FIELD_INVALID, &client, "timeoutSeconds", seconds,
                       "must be greater than 0 and less than %d", MAX_AFFINITY_SECONDS);
}

static void check_families(const struct json_value *spec, const struct field_path *path,
                           struct field_errors *errors)
{
    static const char *const families[] = {"IPv4", "IPv6", NULL};
    static const char *const policies[] = {"PreferDualStack", "RequireDualStack", "SingleStack",
                                           NULL};
    struct json_items list = json_items_at(spec, "ipFamilies");
    const struct json_value *policy = json_get(spec, STR("ipFamilyPolicy"));
    struct field_path list_path = field_child(path, "ipFamilies");
    struct field_path policy_path = field_child(path, "ipFamilyPolicy");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&list_path, i);

        field_check_enum(errors, &at, list.v[i].text, families);
        if (map_put(&seen, list.v[i].text, errors))
            field_error(errors, FIELD_DUPLICATE, &at, &list.v[i], "%s", "");
    }
    if (policy)
        field_check_enum(errors, &policy_path, policy->text, policies);
    map_release(&seen);
}

/* True if all are addresses. */
static bool check_ip_list(const struct json_value *spec, const struct field_path *path,
                          struct field_errors *errors)
{
    struct json_items ips = json_items_at(spec, "clusterIPs");
    const struct json_value *all = json_get(spec, STR("clusterIPs"));
    bool valid = true;

    for (size_t i = 0; i < ips.n; i++) {
        struct field_path at = field_index(path, i);

        if (i == 0 && str_is(ips.v[i].text, "None")) {
            if (ips.n > 1) {
                valid = false;
                field_error(errors, FIELD_INVALID, path, all,
                            "'None' must be the first and only value");
            }
            continue;
        }
        valid = field_check_ip(errors, &at, ips.v[i].text, false) && valid;
    }
    if (ips.n > 2)
        field_error(errors, FIELD_INVALID, path, all, "may only hold up to 2 values");
    return valid;
}

static void check_ip_families(const struct json_value *spec, const struct field_path *path,
                              struct field_errors *errors)
{
    struct json_items ips = json_items_at(spec, "clusterIPs");
    struct json_items families = json_items_at(spec, "ipFamilies");
    size_t counts[2] = {0};

    if (is_headless(spec))
        return;
    for (size_t i = 0; i < ips.n; i++) {
        struct field_path at = field_index(path, i);
        struct addr ip = {0};
        bool v4 = ip_parse_sloppy(ips.v[i].text, &ip) && ip.is4;

        counts[v4]++;
        if (i < families.n && str_is(families.v[i].text, v4 ? "IPv6" : "IPv4"))
            field_error(errors, FIELD_INVALID, &at, &ips.v[i],
                        "expected an %s value as indicated by `ipFamilies[%zu]`",
                        v4 ? "IPv6" : "IPv4", i);
    }
    if (ips.n > 1 && (counts[0] == 0 || counts[1] == 0))
        field_error(errors, FIELD_INVALID, path, json_get(spec, STR("clusterIPs")),
                    "may specify no more than one IP for each IP family");
}

static void check_cluster_ips(const struct json_value *spec, const struct field_path *parent,
                              struct field_errors *errors)
{
    struct json_items ips = json_items_at(spec, "clusterIPs");
    struct str ip = json_get_text(spec, STR("clusterIP"));
    struct field_path path = field_child(parent, "clusterIPs");
    const struct json_value *all = json_get(spec, STR("clusterIPs"));

    if (is_type(spec, "ExternalName"))
        return;
    if (!str_empty(ip) && ips.n == 0)
        field_error(errors, FIELD_REQUIRED, &path, NULL, "%s", "");
    else if (!str_empty(ip) && !str_eq(ips.v[0].text, ip))
        field_error(errors, FIELD_INVALID, &path, all, "first value must match `clusterIP`");
    else if (str_empty(ip) && ips.n > 0)
        field_error(errors, FIELD_INVALID, &path, all,
                    "must be empty when `clusterIP` is not specified");
    check_families(spec, parent, errors);
    if (check_ip_list(spec, &path, errors))
        check_ip_families(spec, &path, errors);
}

static void check_external_ips(const struct json_value *spec, const struct field_path *parent,
                               struct field_errors *errors)
{
    struct json_items ips = json_items_at(spec, "externalIPs");
    struct field_path path = field_child(parent, "externalIPs");

    for (size_t i = 0; i < ips.n; i++) {
        struct field_path at = field_index(&path, i);

        if (field_check_ip(errors, &at, ips.v[i].text, false))
            field_check_endpoint_ip(errors, &at, ips.v[i].text);
    }
}

/* --- load balancers and traffic --------------------------------------------------------------- */

static void check_load_balancer(const struct json_value *spec, const struct field_path *path,
                                struct field_errors *errors)
{
    struct json_items ranges = json_items_at(spec, "loadBalancerSourceRanges");
    const struct json_value *class = json_get(spec, STR("loadBalancerClass"));
    struct field_path range_path = field_child(path, "LoadBalancerSourceRanges");
    struct field_path class_path = field_child(path, "loadBalancerClass");
    bool balancer = is_type(spec, "LoadBalancer");

    if (ranges.n > 0 && !balancer)
        field_error(errors, FIELD_FORBIDDEN, &range_path, NULL, FOR_LOAD_BALANCERS);
    for (size_t i = 0; i < ranges.n; i++) {
        struct field_path at = field_index(&range_path, i);

        field_check_cidr(errors, &at, str_trim(ranges.v[i].text), false);
    }
    if (json_get(spec, STR("allocateLoadBalancerNodePorts")) && !balancer)
        field_error_at(errors, FIELD_FORBIDDEN, path, "allocateLoadBalancerNodePorts", NULL,
                       FOR_LOAD_BALANCERS);
    if (class && balancer)
        field_check_name(errors, &class_path, class->text, NAME_QUALIFIED);
    else if (class)
        field_error(errors, FIELD_FORBIDDEN, &class_path, NULL, FOR_LOAD_BALANCERS);
}

static void check_traffic(const struct json_value *spec, const struct field_path *path,
                          struct field_errors *errors)
{
    static const char *const policies[] = {"Cluster", "Local", NULL};
    static const char *const distributions[] = {"PreferClose", "PreferSameZone", "PreferSameNode",
                                                NULL};
    struct json_value external = field_text(spec, "externalTrafficPolicy");
    struct json_value health = field_number(spec, "healthCheckNodePort");
    const struct json_value *internal = json_get(spec, STR("internalTrafficPolicy"));
    const struct json_value *distribution = json_get(spec, STR("trafficDistribution"));
    struct field_path external_path = field_child(path, "externalTrafficPolicy");
    struct field_path internal_path = field_child(path, "internalTrafficPolicy");
    struct field_path distribution_path = field_child(path, "trafficDistribution");
    struct field_path health_path = field_child(path, "healthCheckNodePort");
    int64_t port = json_int_at(spec, "healthCheckNodePort", 0);

    if (is_external(spec))
        field_check_enum(errors, &external_path, external.text, policies);
    else if (!str_empty(external.text))
        field_error(errors, FIELD_INVALID, &external_path, &external,
                    "may only be set for externally-accessible services");
    if (needs_health_check(spec) ? port != 0 && (port < 0 || port > 65535) : port != 0)
        field_error(errors, FIELD_INVALID, &health_path, &health, "%s",
                    needs_health_check(spec) ? "must be between 1 and 65535, inclusive"
                                             : "may only be set when `type` is 'LoadBalancer' and "
                                               "`externalTrafficPolicy` is 'Local'");
    if (internal)
        field_check_enum(errors, &internal_path, internal->text, policies);
    if (distribution)
        field_check_enum(errors, &distribution_path, distribution->text, distributions);
}

static void validate_service(const struct json_value *object, struct field_errors *errors)
{
    static const char *const types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort",
                                        NULL};
    const struct json_value *spec = json_get(object, STR("spec"));
    struct field_path path = field_child(NULL, "spec"), ports = field_child(&path, "ports");
    struct field_path selector = field_child(&path, "selector"), type = field_child(&path, "type");

    if (json_items_at(spec, "ports").n == 0 && !is_headless(spec) && !is_type(spec, "ExternalName"))
        field_error(errors, FIELD_REQUIRED, &ports, NULL, "%s", "");
    check_type_fields(spec, &path, errors);
    check_ports(spec, &ports, errors);
    field_check_labels(errors, &selector, json_get(spec, STR("selector")));
    check_session(spec, &path, errors);
    check_cluster_ips(spec, &path, errors);
    check_external_ips(spec, &path, errors);
    field_check_enum(errors, &type, json_get_text(spec, STR("type")), types);
    check_port_duplicates(spec, &ports, errors);
    check_load_balancer(spec, &path, errors);
    check_traffic(spec, &path, errors);
}

static void validate_service_update(const struct json_value *object, const struct json_value *old,
                                    struct field_errors *errors)
{
    const struct json_value *spec = json_get(object, STR("spec")),
                            *was = json_get(old, STR("spec"));
    struct json_items now = json_items_at(spec, "clusterIPs");
    struct json_items before = json_items_at(was, "clusterIPs");
    struct field_path path = field_child(NULL, "spec"), ips = field_child(&path, "clusterIPs");

    if (!is_type(spec, "ExternalName") && !is_type(was, "ExternalName") &&
        !(is_headless(spec) && is_headless(was))) {
        for (size_t i = 0; i < before.n && i < now.n; i++) {
            struct field_path at = field_index(&ips, i);

            if (!json_value_equal(&now.v[i], &before.v[i]))
                field_error(errors, FIELD_INVALID, &at, json_get(spec, STR("clusterIPs")),
                            "may not change once set");
        }
    }
    if (is_type(spec, "LoadBalancer") && is_type(was, "LoadBalancer") &&
        !field_equal(json_get(spec, STR("loadBalancerClass")),
                     json_get(was, STR("loadBalancerClass"))))
        field_error_at(errors, FIELD_INVALID, &path, "loadBalancerClass",
                       json_get(spec, STR("loadBalancerClass")), "may not change once set");
}

static void warn_service(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    const struct json_value *spec = json_get(object, STR("spec"));
    bool external = json_items_at(spec, "externalIPs").n > 0, headless = is_headless(spec);

    (void)a;
    if (headless && !str_empty(json_get_text(spec, STR("loadBalancerIP"))))
        buf_add_cstr(warnings, "spec.loadBalancerIP is ignored for headless services\n");
    if (headless && external)
        buf_add_cstr(warnings, "spec.externalIPs is ignored for headless services\n");
    if (headless && !str_is(json_get_text(spec, STR("sessionAffinity")), "None"))
        buf_add_cstr(warnings, "spec.SessionAffinity is ignored for headless services\n");
    if (external && !headless && !is_type(spec, "ExternalName"))
        buf_add_cstr(warnings, "spec.externalIPs is deprecated and may no longer be implemented in "
                               "some clusters\n");
    if (external && is_type(spec, "ExternalName"))
        buf_add_cstr(warnings, "spec.externalIPs is ignored when spec.type is \"ExternalName\"\n");
    if (!is_type(spec, "ExternalName") && !str_empty(json_get_text(spec, STR("externalName"))))
        buf_add_cstr(warnings,
                     "spec.externalName is ignored when spec.type is not \"ExternalName\"\n");
    if (str_is(json_get_text(spec, STR("trafficDistribution")), "PreferClose"))
        buf_add_cstr(warnings, "spec.trafficDistribution: \"PreferClose\" is deprecated; use "
                               "\"PreferSameZone\"\n");
}

static const char *const service_fields[] = {"spec.clusterIP", "spec.type", NULL};

const struct strategy service_strategies[] = {
    {
        .plural = STR_INIT("services"),
        .set_defaults = default_service,
        .prepare_create = prepare_service,
        .prepare_update = prepare_service_update,
        .validate = validate_service,
        .validate_update = validate_service_update,
        .fields = service_fields,
        .allow_create_on_update = true,
        .unconditional_update = true,
        .warn = warn_service,
    },
    {.plural = STR_INIT("")},
};
