/* SPDX-License-Identifier: Apache-2.0 */
/* networking.k8s.io: NetworkPolicies. */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

static const struct {
    const char *rules, *peers;
} directions[] = {{"ingress", "from"}, {"egress", "to"}};

static void default_ports(struct json_value *rules, struct arena *a)
{
    for (size_t i = 0; rules && rules->kind == JSON_ARRAY && i < rules->n; i++) {
        struct json_value *ports = json_member(&rules->items[i], STR("ports"));

        for (size_t j = 0; ports && ports->kind == JSON_ARRAY && j < ports->n; j++)
            json_set_default(&ports->items[j], STR("protocol"), json_text(STR("TCP")), a);
    }
}

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a), *types;

    if (json_items_at(spec, "policyTypes").n == 0) {
        json_set(spec, STR("policyTypes"), json_array(), a);
        types = json_set_array(spec, STR("policyTypes"), a);
        json_append(types, json_text(STR("Ingress")), a);
        if (json_items_at(spec, "egress").n > 0)
            json_append(types, json_text(STR("Egress")), a);
    }
    for (size_t i = 0; i < ARRAY_LEN(directions); i++)
        default_ports(json_member(spec, str_of(directions[i].rules)), a);
}

static void check_port(const struct spot *port)
{
    static const char *const protocols[] = {"TCP", "UDP", "SCTP", NULL};
    struct spot protocol = spot_get(port, "protocol"), number = spot_get(port, "port");
    struct spot end = spot_get(port, "endPort"), shown;

    if (spot_has(&protocol))
        spot_check_one_of(&protocol, protocols);
    if (!spot_has(&number)) {
        if (spot_has(&end))
            spot_invalid(&end, "may not be specified when `port` is not specified");
    } else if (number.v->kind == JSON_NUMBER) {
        field_check_port(port->errors, &number.path, spot_int(&number));
        if (!spot_has(&end))
            return;
        shown = end;
        shown.v = number.v;
        if (spot_int(&end) < spot_int(&number))
            spot_invalid(&shown, "must be greater than or equal to `port`");
        field_check_port(port->errors, &end.path, spot_int(&end));
    } else {
        if (spot_has(&end))
            spot_invalid(&end, "may not be specified when `port` is non-numeric");
        field_check_port_name(port->errors, &number.path, spot_str(&number));
    }
}

static void check_block(const struct spot *block)
{
    struct spot cidr = spot_text(block, "cidr"), excepts = spot_get(block, "except");
    struct addr network, inner;
    int bits, inner_bits;

    if (spot_empty(&cidr)) {
        spot_required(&cidr, "");
        return;
    }
    field_check_cidr(block->errors, &cidr.path, spot_str(&cidr), false);
    if (!cidr_parse_sloppy(spot_str(&cidr), &network, &bits))
        return;
    for (size_t i = 0; i < spot_count(&excepts); i++) {
        struct spot except = spot_item(&excepts, i);

        field_check_cidr(block->errors, &except.path, spot_str(&except), false);
        if (!cidr_parse_sloppy(spot_str(&except), &inner, &inner_bits))
            continue;
        addr_mask(&inner, inner_bits);
        if (inner.is4 != network.is4 || !addr_same_prefix(&inner, &network, bits) ||
            bits >= inner_bits)
            spot_invalid(&except, "must be a strict subset of `cidr`");
    }
}

static void check_peer(const struct spot *peer)
{
    struct spot pods = spot_get(peer, "podSelector");
    struct spot namespaces = spot_get(peer, "namespaceSelector");
    struct spot block = spot_get(peer, "ipBlock");
    int n = spot_has(&pods) + spot_has(&namespaces) + spot_has(&block);

    spot_check_selector(&pods);
    spot_check_selector(&namespaces);
    if (spot_has(&block))
        check_block(&block);
    if (n == 0)
        spot_required(peer, "must specify a peer");
    else if (n > 1 && spot_has(&block))
        spot_forbidden(peer, "may not specify both ipBlock and another peer");
}

static void check_rule(const struct spot *rule, const char *peers_name)
{
    struct spot ports = spot_get(rule, "ports"), peers = spot_get(rule, peers_name);

    for (size_t i = 0; i < spot_count(&ports); i++) {
        struct spot port = spot_item(&ports, i);

        check_port(&port);
    }
    for (size_t i = 0; i < spot_count(&peers); i++) {
        struct spot peer = spot_item(&peers, i);

        check_peer(&peer);
    }
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    static const char *const allowed[] = {"Ingress", "Egress", NULL};
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot selector = spot_get(&spec, "podSelector"), types = spot_get(&spec, "policyTypes");

    spot_check_selector(&selector);
    for (size_t i = 0; i < ARRAY_LEN(directions); i++) {
        struct spot rules = spot_get(&spec, directions[i].rules);

        for (size_t j = 0; j < spot_count(&rules); j++) {
            struct spot rule = spot_item(&rules, j);

            check_rule(&rule, directions[i].peers);
        }
    }
    if (spot_count(&types) > 2) {
        spot_invalid(&types, "may not specify more than two policyTypes");
        return;
    }
    for (size_t i = 0; i < spot_count(&types); i++) {
        struct spot type = spot_item(&types, i);

        spot_check_one_of(&type, allowed);
    }
}

const struct strategy network_policy_strategies[] = {
    {
        .group = STR_INIT("networking.k8s.io"),
        .plural = STR_INIT("networkpolicies"),
        .set_defaults = set_defaults,
        .validate = validate,
        .generation = (const char *const[]){"spec", NULL},
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
