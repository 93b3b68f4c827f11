/* SPDX-License-Identifier: Apache-2.0 */
/* networking.k8s.io: Ingresses and IngressClasses. */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

#define CLASS_ANNOTATION "kubernetes.io/ingress.class"
#define MAX_CONTROLLER   250
#define WILDCARD_TEXT                                                                         \
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, " \
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "   \
    "alphanumeric character (e.g. '*.example.com', regex used for validation is "             \
    "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

/* --- references ------------------------------------------------------------------------------- */

static void check_segment(const struct spot *s)
{
    if (spot_empty(s))
        spot_required(s, "");
    else
        spot_check_name(s, NAME_PATH_SEGMENT);
}

static void check_reference(const struct spot *ref)
{
    struct spot group = spot_get(ref, "apiGroup"), kind = spot_text(ref, "kind");
    struct spot name = spot_text(ref, "name");

    if (spot_has(&group))
        spot_check_name(&group, NAME_DNS_SUBDOMAIN);
    check_segment(&kind);
    check_segment(&name);
}

/* --- Ingresses -------------------------------------------------------------------------------- */

static void check_port(const struct spot *backend, const struct spot *service)
{
    struct spot port = spot_get(service, "port"), name = spot_text(&port, "name");
    struct spot number = spot_number(&port, "number"), whole = *backend;
    struct json_value none = json_text(STR(""));

    whole.v = &none;
    if (!spot_empty(&name) && spot_int(&number) != 0)
        spot_invalid(&whole, "cannot set both port name & port number");
    else if (!spot_empty(&name))
        field_check_port_name(backend->errors, &name.path, spot_str(&name));
    else if (spot_int(&number) != 0)
        field_check_port(backend->errors, &number.path, spot_int(&number));
    else
        spot_required(backend, "port name or number is required");
}

static void check_backend(const struct spot *backend)
{
    struct spot resource = spot_get(backend, "resource"), service = spot_get(backend, "service");
    struct spot name = spot_text(&service, "name"), whole = *backend;
    struct json_value none = json_text(STR(""));

    whole.v = &none;
    if (spot_has(&resource) && spot_has(&service)) {
        spot_invalid(&whole, "cannot set both resource and service backends");
    } else if (spot_has(&resource)) {
        check_reference(&resource);
    } else if (spot_has(&service)) {
        if (spot_empty(&name))
            spot_required(&name, "");
        else
            spot_check_name(&name, NAME_DNS_LABEL);
        check_port(backend, &service);
    } else {
        spot_invalid(&whole, "resource or service backend is required");
    }
}

static void check_path_text(const struct spot *path)
{
    static const char *const sequences[] = {"//", "/./", "/../", "%2f", "%2F"};
    static const char *const suffixes[] = {"/..", "/."};
    struct str text = spot_str(path);

    if (!str_starts(text, STR("/")))
        spot_invalid(path, "must be an absolute path");
    for (size_t i = 0; i < ARRAY_LEN(sequences); i++)
        if (str_search(text, str_of(sequences[i])) < text.n)
            spot_invalid(path, "must not contain '%s'", sequences[i]);
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
        if (str_ends(text, str_of(suffixes[i])))
            spot_invalid(path, "cannot end with '%s'", suffixes[i]);
}

static void check_path(const struct spot *item)
{
    static const char *const types[] = {"Exact", "ImplementationSpecific", "Prefix", NULL};
    struct spot type = spot_get(item, "pathType"), path = spot_text(item, "path");
    struct spot backend = spot_get(item, "backend");

    if (!spot_has(&type)) {
        spot_required(&type, "pathType must be specified");
        return;
    }
    if (spot_is(&type, "Exact") || spot_is(&type, "Prefix")) {
        check_path_text(&path);
    } else if (spot_check_one_of(&type, types) && !spot_empty(&path) &&
               !str_starts(spot_str(&path), STR("/"))) {
        spot_invalid(&path, "must be an absolute path");
    }
    check_backend(&backend);
}

static void check_host(const struct spot *host)
{
    struct str text = spot_str(host);

    if (str_find(text, '*') == text.n) {
        spot_check_name(host, NAME_DNS_SUBDOMAIN);
        return;
    }
    if (text.n > 253)
        spot_invalid(host, "must be no more than 253 bytes");
    if (!str_starts(text, STR("*.")) ||
        (!name_valid(str_slice(text, 2, text.n), NAME_DNS_SUBDOMAIN) && text.n <= 253))
        spot_invalid(host, WILDCARD_TEXT);
}

static void check_rules(const struct spot *rules)
{
    for (size_t i = 0; i < spot_count(rules); i++) {
        struct spot rule = spot_item(rules, i), host = spot_text(&rule, "host");
        struct spot http = spot_get(&rule, "http"), paths = spot_get(&http, "paths");
        struct addr addr;

        if (!spot_empty(&host) && ip_parse_sloppy(spot_str(&host), &addr))
            spot_invalid(&host, "must be a DNS name, not an IP address");
        if (!spot_empty(&host))
            check_host(&host);
        if (spot_has(&http) && spot_count(&paths) == 0)
            spot_required(&paths, "");
        for (size_t j = 0; j < spot_count(&paths); j++) {
            struct spot path = spot_item(&paths, j);

            check_path(&path);
        }
    }
}

static void check_tls(const struct spot *list)
{
    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot tls = spot_item(list, i), hosts = spot_get(&tls, "hosts");
        struct spot secret = spot_text(&tls, "secretName");

        for (size_t j = 0; j < spot_count(&hosts); j++) {
            struct spot host = spot_item(&hosts, j);

            check_host(&host);
        }
        if (!spot_empty(&secret))
            spot_check_name(&secret, NAME_DNS_SUBDOMAIN);
    }
}

static void validate_ingress(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot rules = spot_get(&spec, "rules"), backend = spot_get(&spec, "defaultBackend");
    struct spot tls = spot_get(&spec, "tls"), class = spot_get(&spec, "ingressClassName");
    struct spot notes = spot_get(&root, "annotations"), note = spot_get(&notes, CLASS_ANNOTATION);
    struct spot whole = spec;

    whole.v = rules.v;
    if (spot_count(&rules) == 0 && !spot_has(&backend))
        spot_invalid(&whole, "either `defaultBackend` or `rules` must be specified");
    if (spot_has(&backend))
        check_backend(&backend);
    check_rules(&rules);
    check_tls(&tls);
    if (spot_has(&class))
        spot_check_name(&class, NAME_DNS_SUBDOMAIN);
    note.v = json_get(json_at(object, "metadata.annotations"), STR(CLASS_ANNOTATION));
    if (spot_has(&note) && spot_has(&class) && !str_eq(spot_str(&note), spot_str(&class)) &&
        str_empty(json_text_at(object, "metadata.resourceVersion")))
        spot_invalid(&note, "must match `ingressClassName` when both are specified");
}

static void validate_ingress_status(const struct json_value *object, const struct json_value *old,
                                    struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");
    struct spot balancer = spot_get(&status, "loadBalancer"), list = spot_get(&balancer, "ingress");
    struct json_items before = json_items_at(old, "status.loadBalancer.ingress");
    struct map known = MAP_INIT;
    struct addr addr;

    for (size_t i = 0; i < before.n; i++)
        map_put(&known, json_get_text(&before.v[i], STR("ip")), errors);
    for (size_t i = 0; i < spot_count(&list); i++) {
        struct spot item = spot_item(&list, i), ip = spot_text(&item, "ip");
        struct spot host = spot_text(&item, "hostname");

        if (!spot_empty(&ip) && !map_get(&known, spot_str(&ip)))
            field_check_ip(errors, &ip.path, spot_str(&ip), false);
        if (spot_empty(&host))
            continue;
        spot_check_name(&host, NAME_DNS_SUBDOMAIN);
        if (ip_parse_sloppy(spot_str(&host), &addr))
            spot_invalid(&host, "must be a DNS name, not an IP address");
    }
    map_release(&known);
}

static void warn_ingress(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (json_get(json_at(object, "metadata.annotations"), STR(CLASS_ANNOTATION)) &&
        !json_at(object, "spec.ingressClassName") &&
        str_empty(json_text_at(object, "metadata.resourceVersion")))
        buf_add_cstr(warnings, "annotation \"" CLASS_ANNOTATION
                               "\" is deprecated, please use 'spec.ingressClassName' instead\n");
}

/* --- IngressClasses --------------------------------------------------------------------------- */

static void default_class(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct json_value *parameters = json_member(spec, STR("parameters"));

    if (parameters && parameters->kind == JSON_OBJECT)
        json_set_default(parameters, STR("scope"), json_text(STR("Cluster")), a);
}

static void check_parameters(const struct spot *parameters)
{
    static const char *const scopes[] = {"Cluster", "Namespace", NULL};
    struct spot scope = spot_get(parameters, "scope");
    struct spot namespace = spot_get(parameters, "namespace");

    if (!spot_has(parameters))
        return;
    check_reference(parameters);
    if (!spot_has(&scope)) {
        spot_required(&scope, "");
        return;
    }
    if (!spot_check_one_of(&scope, scopes))
        return;
    if (spot_is(&scope, "Cluster") && spot_has(&namespace))
        spot_forbidden(&namespace, "`parameters.scope` is set to 'Cluster'");
    else if (spot_is(&scope, "Namespace") && !spot_has(&namespace))
        spot_required(&namespace, "`parameters.scope` is set to 'Namespace'");
    else if (spot_is(&scope, "Namespace"))
        spot_check_name(&namespace, NAME_DNS_LABEL);
}

static void validate_class(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot controller = spot_text(&spec, "controller");
    struct spot parameters = spot_get(&spec, "parameters");

    if (spot_str(&controller).n > MAX_CONTROLLER)
        spot_too_long(&controller, MAX_CONTROLLER);
    spot_check_prefixed_path(&controller);
    check_parameters(&parameters);
}

static void validate_class_update(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");

    spot_check_same_text(&spec, json_get(old, STR("spec")), "controller");
}

const struct strategy ingress_strategies[] = {
    {
        .group = STR_INIT("networking.k8s.io"),
        .plural = STR_INIT("ingresses"),
        .validate = validate_ingress,
        .validate_status = validate_ingress_status,
        .generation = (const char *const[]){"spec", NULL},
        .unconditional_update = true,
        .warn = warn_ingress,
    },
    {
        .group = STR_INIT("networking.k8s.io"),
        .plural = STR_INIT("ingressclasses"),
        .set_defaults = default_class,
        .validate = validate_class,
        .validate_update = validate_class_update,
        .generation = (const char *const[]){"spec", NULL},
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
