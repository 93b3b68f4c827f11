/* SPDX-License-Identifier: Apache-2.0 */
/* networking.k8s.io: IPAddresses and ServiceCIDRs. */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

static void check_segment(const struct spot *s, bool required)
{
    if (!spot_empty(s))
        spot_check_name(s, NAME_PATH_SEGMENT);
    else if (required)
        spot_required(s, "");
}

static void validate_address(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), metadata = spot_get(&root, "metadata");
    struct spot name = spot_text(&metadata, "name"), spec = spot_get(&root, "spec");
    struct spot parent = spot_get(&spec, "parentRef"), group = spot_text(&parent, "group");
    struct spot resource = spot_text(&parent, "resource"), owner = spot_text(&parent, "name");
    struct spot namespace = spot_text(&parent, "namespace");

    if (!spot_empty(&name))
        field_check_ip(errors, &name.path, spot_str(&name), true);
    if (!spot_has(&parent)) {
        spot_required(&parent, "");
        return;
    }
    if (!spot_empty(&group))
        spot_check_name(&group, NAME_DNS_SUBDOMAIN);
    check_segment(&resource, true);
    check_segment(&owner, true);
    check_segment(&namespace, false);
}

static void validate_address_update(const struct json_value *object, const struct json_value *old,
                                    struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");

    spot_check_same(&spec, json_get(old, STR("spec")), "parentRef");
}

/* Upstream shows its internal struct. */
static void refuse_many(const struct spot *cidrs)
{
    struct json_value shown = json_object();
    struct spot whole = *cidrs;

    json_set(&shown, STR("CIDRs"), *cidrs->v, cidrs->errors->arena);
    whole.v = &shown;
    spot_invalid(&whole, "may only hold up to 2 values");
}

static void validate_cidr(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot cidrs = spot_get(&spec, "cidrs");
    struct addr addrs[2];
    int bits, known = 0;

    /* An update adds a second network at most: validate_cidr_update refuses the rest. */
    if (!str_empty(json_text_at(object, "metadata.resourceVersion")) && spot_count(&cidrs) != 2)
        return;
    if (spot_count(&cidrs) == 0) {
        spot_required(&cidrs, "at least one CIDR required");
        return;
    }
    if (spot_count(&cidrs) > 2) {
        refuse_many(&cidrs);
        return;
    }
    for (size_t i = 0; i < spot_count(&cidrs); i++) {
        struct spot cidr = spot_item(&cidrs, i);

        field_check_cidr(errors, &cidr.path, spot_str(&cidr), true);
        known += cidr_parse_sloppy(spot_str(&cidr), &addrs[i], &bits);
    }
    if (known == 2 && addrs[0].is4 == addrs[1].is4)
        spot_invalid(&cidrs, "may specify no more than one IP for each IP family, i.e "
                             "192.168.0.0/24 and 2001:db8::/64");
}

static void validate_cidr_update(const struct json_value *object, const struct json_value *old,
                                 struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot cidrs = spot_get(&spec, "cidrs");
    struct json_items before = json_items_at(old, "spec.cidrs");
    size_t n = spot_count(&cidrs);

    /* A second family may be added. */
    if (n != before.n && !(before.n == 1 && n == 2)) {
        spot_invalid(&cidrs, FIELD_IMMUTABLE_TEXT);
        return;
    }
    for (size_t i = 0; i < before.n; i++) {
        struct spot cidr = spot_item(&cidrs, i);

        spot_check_immutable(&cidr, &before.v[i]);
    }
}

const struct strategy service_ip_strategies[] = {
    {
        .group = STR_INIT("networking.k8s.io"),
        .plural = STR_INIT("ipaddresses"),
        .validate = validate_address,
        .validate_update = validate_address_update,
        .no_status = true,
        .unconditional_update = true,
    },
    {
        .group = STR_INIT("networking.k8s.io"),
        .plural = STR_INIT("servicecidrs"),
        .validate = validate_cidr,
        .validate_update = validate_cidr_update,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
