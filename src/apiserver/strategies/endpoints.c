/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints and Events of the core group. */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/strategies.h"

/* --- endpoints -------------------------------------------------------------------------------- */

static void default_endpoints(struct json_value *object, struct arena *a)
{
    struct json_value *subsets = array_at(object, "subsets");

    for (size_t i = 0; subsets && i < subsets->n; i++) {
        struct json_value *ports = array_at(&subsets->items[i], "ports");

        for (size_t j = 0; ports && j < ports->n; j++)
            default_text(&ports->items[j], "protocol", "TCP", a);
    }
}

static void check_addresses(const struct json_value *subset, const char *member,
                            const struct field_path *parent, struct field_errors *errors)
{
    struct json_items list = json_items_at(subset, member);
    struct field_path path = field_child(parent, member);

    for (size_t i = 0; i < list.n; i++) {
        struct str ip = json_get_text(&list.v[i], STR("ip"));
        struct str host = json_get_text(&list.v[i], STR("hostname"));
        const struct json_value *node = json_get(&list.v[i], STR("nodeName"));
        struct field_path at = field_index(&path, i), ip_path = field_child(&at, "ip");
        struct field_path host_path = field_child(&at, "hostname");
        struct field_path node_path = field_child(&at, "nodeName");

        field_check_ip(errors, &ip_path, ip, false);
        if (!str_empty(host))
            field_check_name(errors, &host_path, host, NAME_DNS_LABEL);
        if (node)
            field_check_name(errors, &node_path, node->text, NAME_DNS_SUBDOMAIN);
        field_check_endpoint_ip(errors, &ip_path, ip);
    }
}

static void check_ports(const struct json_value *subset, const struct field_path *parent,
                        struct field_errors *errors)
{
    static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
    struct json_items list = json_items_at(subset, "ports");
    struct field_path path = field_child(parent, "ports");

    for (size_t i = 0; i < list.n; i++) {
        struct str name = json_get_text(&list.v[i], STR("name"));
        const struct json_value *app = json_get(&list.v[i], STR("appProtocol"));
        struct field_path at = field_index(&path, i), name_path = field_child(&at, "name");
        struct field_path port = field_child(&at, "port"), protocol = field_child(&at, "protocol");
        struct field_path app_path = field_child(&at, "appProtocol");

        if (list.n > 1 && str_empty(name))
            field_error(errors, FIELD_REQUIRED, &name_path, NULL, "%s", "");
        else if (!str_empty(name))
            field_check_name(errors, &name_path, name, NAME_DNS_LABEL);
        field_check_port(errors, &port, json_int_at(&list.v[i], "port", 0));
        field_check_enum(errors, &protocol, json_get_text(&list.v[i], STR("protocol")), protocols);
        if (app)
            field_check_name(errors, &app_path, app->text, NAME_QUALIFIED);
    }
}

static void validate_endpoints(const struct json_value *object, struct field_errors *errors)
{
    struct json_items subsets = json_items_at(object, "subsets");
    struct field_path path = field_child(NULL, "subsets");

    for (size_t i = 0; i < subsets.n; i++) {
        struct field_path at = field_index(&path, i);

        if (json_items_at(&subsets.v[i], "addresses").n +
                json_items_at(&subsets.v[i], "notReadyAddresses").n ==
            0)
            field_error(errors, FIELD_REQUIRED, &at, NULL,
                        "must specify `addresses` or `notReadyAddresses`");
        check_addresses(&subsets.v[i], "addresses", &at, errors);
        check_addresses(&subsets.v[i], "notReadyAddresses", &at, errors);
        check_ports(&subsets.v[i], &at, errors);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

#define MAX_TEXT 128
#define MAX_NOTE 1024

static void check_event_text(const struct json_value *object, const char *member, size_t max,
                             bool required, struct field_errors *errors)
{
    struct str text = json_get_text(object, str_of(member));
    struct json_value empty = json_text(STR(""));

    if (required && str_empty(text))
        field_required(errors, NULL, member);
    if (text.n > max)
        field_error_at(errors, FIELD_INVALID, NULL, member, &empty,
                       "can have at most %zu characters", max);
}

/* Events with a time are of the new kind and have more rules. */
static void check_new_event(const struct json_value *object, struct field_errors *errors)
{
    struct str reporter = json_get_text(object, STR("reportingComponent"));
    struct field_path path = field_child(NULL, "reportingComponent");

    if (str_empty(reporter))
        field_error(errors, FIELD_REQUIRED, &path, NULL, "%s", "");
    field_check_name(errors, &path, reporter, NAME_QUALIFIED);
    check_event_text(object, "reportingInstance", MAX_TEXT, true, errors);
    check_event_text(object, "action", MAX_TEXT, true, errors);
    check_event_text(object, "reason", MAX_TEXT, true, errors);
    check_event_text(object, "message", MAX_NOTE, false, errors);
}

/* Upstream: legacyValidateEvent. */
static void validate_event(const struct json_value *object, struct field_errors *errors)
{
    struct str namespace = json_text_at(object, "metadata.namespace");
    struct json_value of = json_text(json_text_at(object, "involvedObject.namespace"));
    struct field_path path = field_child(NULL, "involvedObject");
    bool timed = json_get(object, STR("eventTime")) != NULL, matches;

    if (!str_empty(of.text))
        matches = timed || str_eq(of.text, namespace);
    else
        matches = str_is(namespace, "default") || (timed && str_is(namespace, "kube-system"));
    if (!matches)
        field_error_at(errors, FIELD_INVALID, &path, "namespace", &of,
                       "does not match event.namespace");
    if (timed)
        check_new_event(object, errors);
}

static const char *const event_fields[] = {
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
    NULL,
};

const struct strategy endpoint_strategies[] = {
    {
        .plural = STR_INIT("endpoints"),
        .set_defaults = default_endpoints,
        .validate = validate_endpoints,
        .no_status = true,
        .allow_create_on_update = true,
        .unconditional_update = true,
    },
    {
        .plural = STR_INIT("events"),
        .validate = validate_event,
        .fields = event_fields,
        .no_status = true,
        .allow_create_on_update = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
