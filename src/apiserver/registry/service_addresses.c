/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses and node ports of services. They are the lowest free ones: what is taken is read from
 * the stored services, so there is no second record that could differ.
 */
#include "apiserver/registry/registry_internal.h"

/* 10.0.0.0/24. Addresses below FIRST_DYNAMIC are given out last: people choose them by hand. */
#define IP_PREFIX     "10.0.0."
#define IP_RANGE      "10.0.0.0/24"
#define FIRST_IP      1
#define FIRST_DYNAMIC 17
#define LAST_IP       254
#define FIRST_PORT    30000
#define LAST_PORT     32767

struct taken {
    bool ips[LAST_IP + 1];
    bool ports[LAST_PORT - FIRST_PORT + 1];
};

/* The last number of an address of the range; 0: it is none. */
static int64_t ip_number(struct str ip)
{
    struct str prefix = STR(IP_PREFIX);
    int64_t n;

    if (!str_starts(ip, prefix) || !str_to_i64(str_slice(ip, prefix.n, ip.n), &n) || n < FIRST_IP ||
        n > LAST_IP)
        return 0;
    return n;
}

static void take_ports(struct taken *taken, const struct json_value *service)
{
    struct json_items ports = json_items_at(service, "spec.ports");
    int64_t check = json_int_at(service, "spec.healthCheckNodePort", 0);

    for (size_t i = 0; i <= ports.n; i++) {
        int64_t n = i < ports.n ? json_int_at(&ports.v[i], "nodePort", 0) : check;

        if (n >= FIRST_PORT && n <= LAST_PORT)
            taken->ports[n - FIRST_PORT] = true;
    }
}

/* What all services but this one have. */
static struct taken *find_taken(struct op *op, const struct json_value *object)
{
    struct taken *taken = arena_new(op->a, struct taken);
    struct snapshot *snapshot = store_snapshot(op->reg->store);
    struct store_range range;
    struct revision *rev;

    store_range_init(&range, snapshot, op->stored, STR(""), NULL);
    while ((rev = store_range_next(&range))) {
        struct json_value *service;

        if (str_eq(rev->namespace, object_namespace(object)) &&
            str_eq(rev->name, object_name(object)))
            continue;
        service = op_parse(op, rev);
        taken->ips[ip_number(json_text_at(service, "spec.clusterIP"))] = true;
        take_ports(taken, service);
    }
    snapshot_unref(snapshot);
    taken->ips[0] = false;
    return taken;
}

static int refuse(struct op *op, const struct json_value *object, const struct field_errors *errors)
{
    return status_invalid(op_status(op), op->r->group, op->r->kind, object_name(object), errors);
}

/* --- addresses -------------------------------------------------------------------------------- */

static int64_t free_ip(const struct taken *taken)
{
    for (int64_t i = FIRST_DYNAMIC; i <= LAST_IP; i++)
        if (!taken->ips[i])
            return i;
    for (int64_t i = FIRST_IP + 1; i < FIRST_DYNAMIC; i++)
        if (!taken->ips[i])
            return i;
    return 0;
}

static int check_ip(struct op *op, const struct json_value *object, struct str ip,
                    const struct taken *taken)
{
    struct field_errors errors = {.arena = op->a};
    struct field_path spec = field_child(NULL, "spec"), path = field_child(&spec, "clusterIPs");
    const struct json_value *ips = json_at(object, "spec.clusterIPs");
    int64_t n = ip_number(ip);

    if (n == 0)
        field_error(&errors, FIELD_INVALID, &path, ips,
                    "failed to allocate IP %.*s: the provided IP (%.*s) is not in the valid range. "
                    "The range of valid IPs is " IP_RANGE,
                    STR_ARG(ip), STR_ARG(ip));
    else if (taken->ips[n])
        field_error(&errors, FIELD_INVALID, &path, ips,
                    "failed to allocate IP %.*s: provided IP is already allocated", STR_ARG(ip));
    return errors.n ? refuse(op, object, &errors) : 0;
}

static int allocate_ip(struct op *op, struct json_value *object, const struct taken *taken)
{
    struct json_value *spec = json_member(object, STR("spec"));
    struct str ip = json_get_text(spec, STR("clusterIP"));
    struct json_value list = json_array(), families = json_array();
    int64_t n;

    json_append(&families, json_text(STR("IPv4")), op->a);
    json_set_default(spec, STR("ipFamilies"), families, op->a);
    json_set_default(spec, STR("ipFamilyPolicy"), json_text(STR("SingleStack")), op->a);
    if (str_is(ip, "None"))
        return 0;
    if (!str_empty(ip))
        return check_ip(op, object, ip, taken);
    n = free_ip(taken);
    if (n == 0)
        return status_of(op_status(op), 500, op->a,
                         "failed to allocate a serviceIP: range is full");
    ip = arena_printf(op->a, IP_PREFIX "%lld", (long long)n);
    json_append(&list, json_text(ip), op->a);
    json_set(spec, STR("clusterIP"), json_text(ip), op->a);
    json_set(spec, STR("clusterIPs"), list, op->a);
    return 0;
}

/* --- ports ------------------------------------------------------------------------------------ */

/* The node port that the old service has for the same port; 0: none. */
static int64_t old_port(const struct json_value *old, const struct json_value *port)
{
    struct json_items ports = json_items_at(old, "spec.ports");

    for (size_t i = 0; i < ports.n; i++)
        if (json_int_at(&ports.v[i], "port", 0) == json_int_at(port, "port", 0) &&
            str_eq(json_get_text(&ports.v[i], STR("protocol")),
                   json_get_text(port, STR("protocol"))))
            return json_int_at(&ports.v[i], "nodePort", 0);
    return 0;
}

static int64_t free_port(const struct taken *taken)
{
    for (int64_t i = 0; i <= LAST_PORT - FIRST_PORT; i++)
        if (!taken->ports[i])
            return FIRST_PORT + i;
    return 0;
}

static void check_port(struct field_errors *errors, int64_t n, const struct taken *taken, size_t i)
{
    struct field_path spec = field_child(NULL, "spec"), ports = field_child(&spec, "ports");
    struct field_path at = field_index(&ports, i), path = field_child(&at, "nodePort");
    struct json_value value = json_int(n, errors->arena);

    if (n < FIRST_PORT || n > LAST_PORT)
        field_error(errors, FIELD_INVALID, &path, &value,
                    "provided port is not in the valid range. The range of valid ports is %d-%d",
                    FIRST_PORT, LAST_PORT);
    else if (taken->ports[n - FIRST_PORT])
        field_error(errors, FIELD_INVALID, &path, &value, "provided port is already allocated");
}

static int allocate_ports(struct op *op, struct json_value *object, const struct json_value *old,
                          struct taken *taken)
{
    struct json_value *spec = json_member(object, STR("spec"));
    struct json_value *ports = json_member(spec, STR("ports"));
    bool balancer = str_is(json_get_text(spec, STR("type")), "LoadBalancer");
    struct field_errors errors = {.arena = op->a};

    for (size_t i = 0; ports && ports->kind == JSON_ARRAY && i < ports->n; i++) {
        int64_t n = json_int_at(&ports->items[i], "nodePort", 0);

        if (n == 0)
            n = old_port(old, &ports->items[i]);
        if (n != 0)
            check_port(&errors, n, taken, i);
        else if (!balancer || json_bool_at(spec, "allocateLoadBalancerNodePorts", true))
            n = free_port(taken);
        if (n == 0)
            continue;
        json_set(&ports->items[i], STR("nodePort"), json_int(n, op->a), op->a);
        /* The same port of another protocol may have the same node port: taken after the check. */
        if (n >= FIRST_PORT && n <= LAST_PORT)
            taken->ports[n - FIRST_PORT] = true;
    }
    if (balancer && str_is(json_get_text(spec, STR("externalTrafficPolicy")), "Local") &&
        json_int_at(spec, "healthCheckNodePort", 0) == 0) {
        int64_t n = json_int_at(old, "spec.healthCheckNodePort", 0);

        json_set(spec, STR("healthCheckNodePort"), json_int(n ? n : free_port(taken), op->a),
                 op->a);
    }
    return errors.n ? refuse(op, object, &errors) : 0;
}

int service_allocate(struct op *op, struct json_value *object, const struct json_value *old)
{
    struct str type = json_text_at(object, "spec.type");
    struct taken *taken;
    int code;

    if (!str_empty(op->stored->group) || !str_is(op->stored->plural, "services") ||
        str_empty(type) || str_is(type, "ExternalName"))
        return 0;
    taken = find_taken(op, object);
    code = allocate_ip(op, object, taken);
    if (!code && (str_is(type, "NodePort") || str_is(type, "LoadBalancer")))
        code = allocate_ports(op, object, old, taken);
    return code;
}
