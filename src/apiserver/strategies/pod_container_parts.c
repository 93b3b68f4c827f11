/* SPDX-License-Identifier: Apache-2.0 */
/* Ports, variables, mounts and devices of containers. */
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/types/amounts.h"

/* --- ports ------------------------------------------------------------------------------------ */

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};

static void check_port(const struct json_value *port, struct map *names,
                       const struct field_path *path, struct field_errors *errors)
{
    struct field_path name_path = field_child(path, "name");
    struct field_path number = field_child(path, "containerPort");
    struct field_path host = field_child(path, "hostPort");
    struct field_path protocol = field_child(path, "protocol");
    struct json_value name = field_text(port, "name");

    if (!str_empty(name.text) && field_check_port_name(errors, &name_path, name.text) &&
        map_put(names, name.text, errors))
        field_error(errors, FIELD_DUPLICATE, &name_path, &name, "%s", "");
    if (json_int_at(port, "containerPort", 0) == 0)
        field_error(errors, FIELD_REQUIRED, &number, NULL, "%s", "");
    else
        field_check_port(errors, &number, json_int_at(port, "containerPort", 0));
    if (json_int_at(port, "hostPort", 0) != 0)
        field_check_port(errors, &host, json_int_at(port, "hostPort", 0));
    if (str_empty(json_get_text(port, STR("protocol"))))
        field_error(errors, FIELD_REQUIRED, &protocol, NULL, "%s", "");
    else
        field_check_enum(errors, &protocol, json_get_text(port, STR("protocol")), protocols);
}

void container_ports_validate(const struct json_value *container, const struct field_path *path,
                              struct field_errors *errors)
{
    struct json_items list = json_items_at(container, "ports");
    struct field_path ports = field_child(path, "ports");
    struct map names = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&ports, i);

        check_port(&list.v[i], &names, &at, errors);
    }
    map_release(&names);
}

/* --- paths ------------------------------------------------------------------------------------ */

bool field_check_no_backsteps(struct field_errors *errors, const struct field_path *path,
                              struct str text)
{
    struct json_value value = json_text(text);
    struct str rest = text, part;

    while (rest.p && str_split(&rest, '/', &part)) {
        if (str_is(part, "..")) {
            field_error(errors, FIELD_INVALID, path, &value, "must not contain '..'");
            return false;
        }
    }
    return true;
}

void field_check_descending_path(struct field_errors *errors, const struct field_path *path,
                                 struct str text)
{
    struct json_value value = json_text(text);

    if (str_starts(text, STR("/")))
        field_error(errors, FIELD_INVALID, path, &value, "must be a relative path");
    field_check_no_backsteps(errors, path, text);
}

/* --- references to fields --------------------------------------------------------------------- */

static const char *const env_fields[] = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    NULL,
};
static const char *const known_fields[] = {
    "metadata.annotations", "metadata.labels", "metadata.name",      "metadata.namespace",
    "metadata.uid",         "spec.nodeName",   "spec.restartPolicy", "spec.serviceAccountName",
    "spec.schedulerName",   "status.phase",    "status.hostIP",      "status.hostIPs",
    "status.podIP",         "status.podIPs",   "spec.host",          NULL,
};
static const char *const resource_fields[] = {
    "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
    NULL,
};

/* metadata.labels['key'] */
static bool split_subscript(struct str text, struct str *ret_path, struct str *ret_key)
{
    size_t at = str_search(text, STR("['"));

    if (!str_ends(text, STR("']")) || at == 0 || at + 2 > text.n - 2)
        return false;
    *ret_path = str_slice(text, 0, at);
    *ret_key = str_slice(text, at + 2, text.n - 2);
    return true;
}

static struct str lowered(struct str s, struct arena *a)
{
    char *p = arena_alloc(a, s.n + 1, 1);

    for (size_t i = 0; i < s.n; i++)
        p[i] = (char)(s.p[i] >= 'A' && s.p[i] <= 'Z' ? s.p[i] + 32 : s.p[i]);
    return (struct str){p, s.n};
}

/* Why the text is no field of a pod; NULL: it is one. */
static const char *unknown_field(struct str version, struct str text, bool subscript,
                                 struct str path, struct arena *a)
{
    if (!str_is(version, "v1"))
        return arena_printf(a, "unsupported pod version: %.*s", STR_ARG(version)).p;
    if (subscript)
        return str_is(path, "metadata.annotations") || str_is(path, "metadata.labels")
                   ? NULL
                   : arena_printf(a, "field label does not support subscript: %.*s", STR_ARG(text))
                         .p;
    return text_is_one_of(text, known_fields)
               ? NULL
               : arena_printf(a, "field label not supported: %.*s", STR_ARG(text)).p;
}

void object_field_validate(const struct json_value *ref, const char *const *expressions,
                           const struct field_path *path, struct field_errors *errors)
{
    struct str version = json_get_text(ref, STR("apiVersion"));
    struct json_value text = field_text(ref, "fieldPath");
    struct field_path at = field_child(path, "fieldPath");
    struct str base = text.text, key = {0};
    bool subscript = split_subscript(text.text, &base, &key);
    const char *why;

    if (str_empty(version)) {
        field_required(errors, path, "apiVersion");
        return;
    }
    if (str_empty(text.text)) {
        field_required(errors, path, "fieldPath");
        return;
    }
    why = unknown_field(version, text.text, subscript, base, errors->arena);
    if (why)
        field_error(errors, FIELD_INVALID, &at, &text, "error converting fieldPath: %s", why);
    else if (subscript)
        field_check_name(errors, path,
                         str_is(base, "metadata.annotations") ? lowered(key, errors->arena) : key,
                         NAME_QUALIFIED);
    else
        field_check_enum(errors, &at, str_is(base, "spec.host") ? STR("spec.nodeName") : base,
                         expressions ? expressions : env_fields);
}

static bool is_unit(struct str text)
{
    static const char *const units[] = {"1",   "1k",  "1M",  "1G",  "1T",  "1P",  "1E",
                                        "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL};

    return text_is_one_of(text, units);
}

#define UNITS "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"

static void check_divisor(const struct json_value *ref, const struct field_path *path,
                          struct field_errors *errors)
{
    struct quantity q = quantity_at(json_get(ref, STR("divisor")), errors->arena);
    struct json_value name = field_text(ref, "resource");
    struct str text = quantity_text(&q, errors->arena), what;

    if (quantity_is_zero(&q))
        return;
    what = str_slice(name.text, str_find(name.text, '.') + 1, name.text.n);
    if (str_is(what, "cpu")) {
        if (!str_is(text, "1") && !str_is(text, "1m"))
            field_error_at(errors, FIELD_INVALID, path, "divisor", &name,
                           "only divisor's values 1m and 1 are supported with the cpu resource");
        return;
    }
    if (is_unit(text))
        return;
    if (str_is(what, "memory") || resource_name_is_hugepages(what))
        field_error_at(errors, FIELD_INVALID, path, "divisor", &name,
                       "only divisor's values " UNITS " are supported with the %s resource",
                       str_is(what, "memory") ? "memory" : "hugepages");
    else if (str_is(what, "ephemeral-storage"))
        field_error_at(errors, FIELD_INVALID, path, "divisor", &name,
                       "only divisor's values " UNITS
                       " are supported with the local ephemeral storage resource");
}

void resource_field_validate(const struct json_value *ref, bool volume,
                             const struct field_path *path, struct field_errors *errors)
{
    struct str name = json_get_text(ref, STR("resource"));
    struct field_path at = field_child(path, "resource");

    if (volume && str_empty(json_get_text(ref, STR("containerName"))))
        field_required(errors, path, "containerName");
    else if (str_empty(name))
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    else if (!str_starts(name, STR("requests.hugepages-")) &&
             !str_starts(name, STR("limits.hugepages-")))
        field_check_enum(errors, &at, name, resource_fields);
    check_divisor(ref, path, errors);
}

/* --- variables -------------------------------------------------------------------------------- */

static void check_key_ref(const struct json_value *ref, const struct field_path *path,
                          struct field_errors *errors)
{
    struct field_path name = field_child(path, "name"), key = field_child(path, "key");

    field_check_name(errors, &name, json_get_text(ref, STR("name")), NAME_DNS_SUBDOMAIN);
    if (str_empty(json_get_text(ref, STR("key"))))
        field_error(errors, FIELD_REQUIRED, &key, NULL, "%s", "");
    else
        field_check_name(errors, &key, json_get_text(ref, STR("key")), NAME_CONFIG_KEY);
}

static void check_file_ref(const struct json_value *ref, const struct field_path *path,
                           struct field_errors *errors)
{
    struct field_path key = field_child(path, "key"), volume = field_child(path, "volumeName");
    struct field_path at = field_child(path, "path");

    if (str_empty(json_get_text(ref, STR("key"))))
        field_error(errors, FIELD_REQUIRED, &key, NULL, "%s", "");
    else
        field_check_name(errors, &key, json_get_text(ref, STR("key")), NAME_ENV);
    if (str_empty(json_get_text(ref, STR("volumeName"))))
        field_error(errors, FIELD_REQUIRED, &volume, NULL, "%s", "");
    else
        field_check_name(errors, &volume, json_get_text(ref, STR("volumeName")), NAME_DNS_LABEL);
    if (str_empty(json_get_text(ref, STR("path"))))
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
    else
        field_check_no_backsteps(errors, &at, json_get_text(ref, STR("path")));
}

static void check_value_from(const struct json_value *env, const struct field_path *parent,
                             struct field_errors *errors)
{
    static const char *const sources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                          "secretKeyRef", "fileKeyRef"};
    const struct json_value *from = json_get(env, STR("valueFrom"));
    struct field_path path = field_child(parent, "valueFrom");
    struct json_value empty = json_text(STR(""));
    size_t n = 0;

    if (!from)
        return;
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        const struct json_value *ref = json_get(from, str_of(sources[i]));
        struct field_path at = field_child(&path, sources[i]);

        if (!ref)
            continue;
        n++;
        if (i == 0)
            object_field_validate(ref, NULL, &at, errors);
        else if (i == 1)
            resource_field_validate(ref, false, &at, errors);
        else if (i == 4)
            check_file_ref(ref, &at, errors);
        else
            check_key_ref(ref, &at, errors);
    }
    if (n == 0)
        field_error(errors, FIELD_INVALID, &path, &empty,
                    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                    "`secretKeyRef` or `fileKeyRef`");
    else if (!str_empty(json_get_text(env, STR("value"))))
        field_error(errors, FIELD_INVALID, &path, &empty,
                    "may not be specified when `value` is not empty");
    else if (n > 1)
        field_error(errors, FIELD_INVALID, &path, &empty,
                    "may not have more than one field specified at a time");
}

static void check_env_from(const struct json_value *source, const struct field_path *list,
                           const struct field_path *path, struct field_errors *errors)
{
    static const char *const refs[] = {"configMapRef", "secretRef"};
    struct field_path prefix = field_child(path, "prefix");
    struct json_value empty = json_text(STR(""));
    size_t n = 0;

    if (!str_empty(json_get_text(source, STR("prefix"))))
        field_check_name(errors, &prefix, json_get_text(source, STR("prefix")), NAME_ENV);
    for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
        const struct json_value *ref = json_get(source, str_of(refs[i]));
        struct field_path at = field_child(path, refs[i]), name = field_child(&at, "name");

        if (!ref)
            continue;
        n++;
        if (str_empty(json_get_text(ref, STR("name"))))
            field_error(errors, FIELD_REQUIRED, &name, NULL, "%s", "");
        else
            field_check_name(errors, &name, json_get_text(ref, STR("name")), NAME_DNS_SUBDOMAIN);
    }
    if (n == 0)
        field_error(errors, FIELD_INVALID, list, &empty,
                    "must specify one of: `configMapRef` or `secretRef`");
    else if (n > 1)
        field_error(errors, FIELD_INVALID, list, &empty,
                    "may not have more than one field specified at a time");
}

void container_env_validate(const struct json_value *container, const struct field_path *path,
                            struct field_errors *errors)
{
    struct json_items env = json_items_at(container, "env");
    struct json_items from = json_items_at(container, "envFrom");
    struct field_path env_path = field_child(path, "env");
    struct field_path from_path = field_child(path, "envFrom");

    for (size_t i = 0; i < env.n; i++) {
        struct field_path at = field_index(&env_path, i), name = field_child(&at, "name");

        if (str_empty(json_get_text(&env.v[i], STR("name"))))
            field_error(errors, FIELD_REQUIRED, &name, NULL, "%s", "");
        else
            field_check_name(errors, &name, json_get_text(&env.v[i], STR("name")), NAME_ENV);
        check_value_from(&env.v[i], &at, errors);
    }
    for (size_t i = 0; i < from.n; i++) {
        struct field_path at = field_index(&from_path, i);

        check_env_from(&from.v[i], &from_path, &at, errors);
    }
}
