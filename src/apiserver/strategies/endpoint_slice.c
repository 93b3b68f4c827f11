/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.k8s.io: EndpointSlices. */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

#define MAX_TOPOLOGY  16
#define MAX_ADDRESSES 100
#define MAX_PORTS     20000
#define MAX_ENDPOINTS 1000
#define MAX_HINTS     8

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *ports = json_member(object, STR("ports"));

    for (size_t i = 0; ports && ports->kind == JSON_ARRAY && i < ports->n; i++) {
        json_set_default(&ports->items[i], STR("name"), json_text(STR("")), a);
        json_set_default(&ports->items[i], STR("protocol"), json_text(STR("TCP")), a);
    }
}

static void check_ports(const struct spot *ports)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    struct map names = MAP_INIT;

    if (spot_too_many(ports, MAX_PORTS))
        return;
    for (size_t i = 0; i < spot_count(ports); i++) {
        struct spot port = spot_item(ports, i), name = spot_text(&port, "name");
        struct spot protocol = spot_get(&port, "protocol");
        struct spot application = spot_get(&port, "appProtocol");

        if (!spot_empty(&name))
            spot_check_name(&name, NAME_DNS_LABEL);
        if (map_put(&names, spot_str(&name), ports->errors))
            spot_duplicate(&name);
        if (!spot_has(&protocol))
            spot_required(&protocol, "");
        else
            spot_check_one_of(&protocol, protocols);
        if (spot_has(&application))
            spot_check_name(&application, NAME_QUALIFIED);
    }
    map_release(&names);
}

/* Upstream's errors name the domain or the label, not the field's value. */
static void check_domain(const struct spot *address)
{
    struct str name = spot_str(address), rest, label;
    struct json_value shown;
    struct spot part = *address;

    if (str_empty(name)) {
        spot_required(address, "");
        return;
    }
    if (str_ends(name, STR(".")))
        name = str_slice(name, 0, name.n - 1);
    shown = json_text(name);
    part.v = &shown;
    if (!spot_check_name(&part, NAME_DNS_SUBDOMAIN))
        return;
    if (str_find(name, '.') == name.n) {
        spot_invalid(&part, "should be a domain with at least two segments separated by dots");
        return;
    }
    rest = name;
    while (str_split(&rest, '.', &label)) {
        shown = json_text(label);
        if (!spot_check_name(&part, NAME_DNS_LABEL))
            return;
    }
}

static void check_address(const struct spot *addresses, const struct spot *address,
                          const struct spot *type)
{
    bool six = spot_is(type, "IPv6");
    struct spot list = *addresses;
    struct addr addr;

    if (spot_is(type, "FQDN")) {
        check_domain(address);
        return;
    }
    if (!six && !spot_is(type, "IPv4"))
        return;
    if (!field_check_ip(address->errors, &address->path, spot_str(address), six))
        return;
    list.v = address->v;
    if (ip_parse_sloppy(spot_str(address), &addr) && addr.is4 == six)
        spot_invalid(&list, six ? "must be an IPv6 address" : "must be an IPv4 address");
    field_check_endpoint_ip(address->errors, &address->path, spot_str(address));
}

static bool check_hint_list(const struct spot *hints, const char *name, enum name_format format)
{
    struct spot list = spot_get(hints, name);
    struct map seen = MAP_INIT;

    if (spot_too_many(&list, MAX_HINTS))
        return false;
    for (size_t i = 0; i < spot_count(&list); i++) {
        struct spot item = spot_item(&list, i), zone = spot_text(&item, "name");

        if (map_put(&seen, spot_str(&zone), hints->errors))
            spot_duplicate(&zone);
        spot_check_name(&zone, format);
    }
    map_release(&seen);
    return true;
}

static void check_endpoint(const struct spot *endpoint, const struct spot *type)
{
    struct spot addresses = spot_get(endpoint, "addresses"), node = spot_get(endpoint, "nodeName");
    struct spot topology = spot_get(endpoint, "deprecatedTopology");
    struct spot host = spot_get(endpoint, "hostname"), hints = spot_get(endpoint, "hints");

    if (spot_count(&addresses) == 0)
        spot_required(&addresses, "must contain at least 1 address");
    spot_too_many(&addresses, MAX_ADDRESSES);
    for (size_t i = 0; i < spot_count(&addresses); i++) {
        struct spot address = spot_item(&addresses, i);

        check_address(&addresses, &address, type);
    }
    if (spot_has(&node))
        spot_check_name(&node, NAME_DNS_SUBDOMAIN);
    spot_too_many(&topology, MAX_TOPOLOGY);
    field_check_labels(endpoint->errors, &topology.path, topology.v);
    if (spot_has(&host))
        spot_check_name(&host, NAME_DNS_LABEL);
    if (spot_has(&hints) && check_hint_list(&hints, "forZones", NAME_LABEL_VALUE))
        check_hint_list(&hints, "forNodes", NAME_DNS_SUBDOMAIN);
}

static void check_endpoints(const struct spot *endpoints, const struct spot *type)
{
    if (spot_too_many(endpoints, MAX_ENDPOINTS))
        return;
    for (size_t i = 0; i < spot_count(endpoints); i++) {
        struct spot endpoint = spot_item(endpoints, i);

        check_endpoint(&endpoint, type);
    }
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    static const char *const types[] = {"FQDN", "IPv4", "IPv6", NULL};
    struct spot root = spot_root(object, errors), type = spot_text(&root, "addressType");
    struct spot ports = spot_get(&root, "ports"), endpoints = spot_get(&root, "endpoints");

    if (spot_empty(&type))
        spot_required(&type, "");
    else
        spot_check_one_of(&type, types);
    check_ports(&ports);
    if (str_empty(json_text_at(object, "metadata.resourceVersion")))
        check_endpoints(&endpoints, &type);
}

static void validate_update(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), type = spot_text(&root, "addressType");
    struct spot endpoints = spot_get(&root, "endpoints");

    /* Endpoints that do not change were valid. */
    if (!field_equal(endpoints.v, json_get(old, STR("endpoints"))))
        check_endpoints(&endpoints, &type);
    spot_check_same_text(&root, old, "addressType");
}

static void warn(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (str_is(json_text_at(object, "addressType"), "FQDN") &&
        str_empty(json_text_at(object, "metadata.resourceVersion")))
        buf_add_cstr(warnings, "spec.addressType: FQDN endpoints are deprecated\n");
}

const struct strategy endpoint_slice_strategies[] = {
    {
        .group = STR_INIT("discovery.k8s.io"),
        .plural = STR_INIT("endpointslices"),
        .set_defaults = set_defaults,
        .validate = validate,
        .validate_update = validate_update,
        .generation =
            (const char *const[]){"endpoints", "ports", "addressType", "metadata.labels", NULL},
        .no_status = true,
        .unconditional_update = true,
        .warn = warn,
    },
    {.plural = STR_INIT("")},
};
