/* SPDX-License-Identifier: Apache-2.0 */
/* What may change in a pod (upstream: ValidatePodUpdate and its kin). */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/diff.h"
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_internal.h"

#define MIRROR   "kubernetes.io/config.mirror"
#define APPARMOR "container.apparmor.security.beta.kubernetes.io/"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define TERMS    "affinity.nodeAffinity." REQUIRED ".nodeSelectorTerms"
#define UPDATABLE                                                                             \
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," \
    "`spec.tolerations` (only additions to existing tolerations),"                            \
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

/* --- annotations ------------------------------------------------------------------------------ */

static void refuse_annotation(struct field_errors *errors, struct str key, const char *verb,
                              const struct field_path *path)
{
    struct field_path at = field_key(path, key);

    if (str_starts(key, STR(APPARMOR)))
        field_error(errors, FIELD_FORBIDDEN, &at, NULL, "may not %s AppArmor annotations", verb);
    if (str_is(key, MIRROR))
        field_error(errors, FIELD_FORBIDDEN, &at, NULL, "may not %s mirror pod annotation", verb);
}

static void check_annotations(const struct json_value *pod, const struct json_value *old,
                              struct field_errors *errors)
{
    const struct json_value *now = json_at(pod, "metadata.annotations");
    const struct json_value *before = json_at(old, "metadata.annotations");
    struct json_members list = json_members_at(old, "metadata.annotations");
    struct field_path meta = field_child(NULL, "metadata");
    struct field_path path = field_child(&meta, "annotations");

    for (size_t i = 0; i < list.n; i++) {
        const struct json_value *v = NULL;

        if (!str_starts(list.v[i].key, STR(APPARMOR)) && !str_is(list.v[i].key, MIRROR))
            continue;
        v = json_get(now, list.v[i].key);
        if (!v || !json_value_equal(v, &list.v[i].value))
            refuse_annotation(errors, list.v[i].key, "remove or update", &path);
    }
    list = json_members_at(pod, "metadata.annotations");
    for (size_t i = 0; i < list.n; i++)
        if ((str_starts(list.v[i].key, STR(APPARMOR)) || str_is(list.v[i].key, MIRROR)) &&
            !json_get(before, list.v[i].key))
            refuse_annotation(errors, list.v[i].key, "add", &path);
    pod_annotations_validate(json_get(pod, STR("metadata")), json_get(pod, STR("spec")), &path,
                             errors);
}

/* --- parts of the spec ------------------------------------------------------------------------ */

/* True if the lists have the same length. */
static bool check_containers(const struct json_value *spec, const struct json_value *old,
                             const char *member, struct field_errors *errors)
{
    struct json_items now = json_items_at(spec, member), before = json_items_at(old, member);
    struct field_path path = field_child(NULL, "spec");

    if (now.n == before.n)
        return true;
    field_error_at(errors, FIELD_FORBIDDEN, &path, member, NULL,
                   "pod updates may not add or remove containers");
    return false;
}

/* True if the update may go on. */
static bool check_deadline(const struct json_value *spec, const struct json_value *old,
                           struct field_errors *errors)
{
    const struct json_value *now = json_get(spec, STR("activeDeadlineSeconds"));
    const struct json_value *before = json_get(old, STR("activeDeadlineSeconds"));
    struct field_path path = field_child(NULL, "spec");
    struct field_path at = field_child(&path, "activeDeadlineSeconds");
    int64_t n = json_int_at(spec, "activeDeadlineSeconds", 0);

    if (now) {
        if (!field_check_range(errors, &at, n, 0, INT32_MAX))
            return false;
        if (before && json_int_at(old, "activeDeadlineSeconds", 0) < n) {
            field_error(errors, FIELD_INVALID, &at, now,
                        "must be less than or equal to previous value");
            return false;
        }
    } else if (before) {
        field_error(errors, FIELD_INVALID, &at, NULL,
                    "must not update from a positive integer to nil value");
    }
    return true;
}

/* The text of a toleration without its seconds. */
static struct str toleration_key(const struct json_value *t, struct arena *a)
{
    static const char *const members[] = {"key", "operator", "value", "effect"};
    struct buf b = BUF_INIT;
    struct str text;

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        buf_add_printf(&b, "%.*s\n", STR_ARG(json_get_text(t, str_of(members[i]))));
    text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static void check_tolerations(const struct json_value *spec, const struct json_value *old,
                              struct field_errors *errors)
{
    struct json_items now = json_items_at(spec, "tolerations");
    struct json_items before = json_items_at(old, "tolerations");
    struct field_path path = field_child(NULL, "spec"), at = field_child(&path, "tolerations");
    struct map have = MAP_INIT;
    bool found = true;

    for (size_t i = 0; i < now.n; i++)
        map_put(&have, toleration_key(&now.v[i], errors->arena), errors);
    for (size_t i = 0; found && i < before.n; i++)
        found = map_get(&have, toleration_key(&before.v[i], errors->arena)) != NULL;
    map_release(&have);
    if (!found)
        field_error(errors, FIELD_FORBIDDEN, &at, NULL,
                    "existing toleration can not be modified except its tolerationSeconds");
    else
        tolerations_validate(spec, &at, errors);
}

static void check_gates(const struct json_value *spec, const struct json_value *old,
                        struct field_errors *errors)
{
    struct json_items now = json_items_at(spec, "schedulingGates");
    struct json_items before = json_items_at(old, "schedulingGates");
    struct field_path path = field_child(NULL, "spec"),
                      list = field_child(&path, "schedulingGates");
    struct map have = MAP_INIT;

    for (size_t i = 0; i < before.n; i++)
        map_put(&have, json_get_text(&before.v[i], STR("name")), errors);
    for (size_t i = 0; i < now.n; i++) {
        struct str name = json_get_text(&now.v[i], STR("name"));
        struct field_path at = field_index(&list, i);

        if (!map_get(&have, name))
            field_error_at(errors, FIELD_FORBIDDEN, &at, "name", NULL,
                           "only deletion is allowed, but found new scheduling gate '%.*s'",
                           STR_ARG(name));
    }
    map_release(&have);
}

/* --- pods with gates: scheduling directives may become narrower ------------------------------- */

static void check_node_selector(const struct json_value *spec, const struct json_value *old,
                                struct field_errors *errors)
{
    struct json_members before = json_members_at(old, "nodeSelector");
    const struct json_value *now = json_get(spec, STR("nodeSelector"));
    struct field_path path = field_child(NULL, "spec"), at = field_child(&path, "nodeSelector");

    for (size_t i = 0; i < before.n; i++) {
        const struct json_value *v = json_get(now, before.v[i].key);

        if (!v || !json_value_equal(v, &before.v[i].value)) {
            field_error(errors, FIELD_INVALID, &at, now,
                        "only additions to spec.nodeSelector are allowed (no mutations or "
                        "deletions)");
            return;
        }
    }
}

/* The old list begins the new one. */
static bool is_prefix(const struct json_value *term, const struct json_value *old,
                      const char *member)
{
    struct json_items now = json_items_at(term, member), before = json_items_at(old, member);

    if (now.n < before.n)
        return false;
    for (size_t i = 0; i < before.n; i++)
        if (!field_equal(&now.v[i], &before.v[i]))
            return false;
    return true;
}

static bool term_only_grows(const struct json_value *term, const struct json_value *old)
{
    size_t before = json_items_at(old, "matchExpressions").n + json_items_at(old, "matchFields").n;
    size_t now = json_items_at(term, "matchExpressions").n + json_items_at(term, "matchFields").n;

    return (before > 0 || now == 0) && is_prefix(term, old, "matchExpressions") &&
           is_prefix(term, old, "matchFields");
}

static void check_node_affinity(const struct json_value *spec, const struct json_value *old,
                                struct field_errors *errors)
{
    struct json_items now = json_items_at(spec, TERMS), before = json_items_at(old, TERMS);
    struct field_path path = field_child(NULL, "spec"), affinity = field_child(&path, "affinity");
    struct field_path node = field_child(&affinity, "nodeAffinity");
    struct field_path required = field_child(&node, REQUIRED);
    struct field_path list = field_child(&required, "nodeSelectorTerms");
    struct json_value shown;

    if (before.n == 0)
        return;
    if (now.n != before.n) {
        shown = internal_list(json_at(spec, TERMS), internal_node_term, errors->arena);
        field_error(errors, FIELD_INVALID, &list, &shown,
                    "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    for (size_t i = 0; i < before.n; i++) {
        struct field_path at = field_index(&list, i);

        if (term_only_grows(&now.v[i], &before.v[i]))
            continue;
        shown = internal_form(&now.v[i], internal_node_term, errors->arena);
        field_error(errors, FIELD_INVALID, &at, &shown,
                    "only additions are allowed (no mutations or deletions)");
    }
}

/* --- the update ------------------------------------------------------------------------------- */

static void take(struct json_value *spec, const struct json_value *old, const char *member,
                 struct arena *a)
{
    const struct json_value *v = json_get(old, str_of(member));

    if (v)
        json_set(spec, str_of(member), *v, a);
    else
        json_remove(spec, str_of(member));
}

static void take_images(struct json_value *spec, const struct json_value *old, const char *member,
                        struct arena *a)
{
    struct json_value *list = array_at(spec, member);
    struct json_items before = json_items_at(old, member);

    for (size_t i = 0; list && i < list->n && i < before.n; i++)
        take(&list->items[i], &before.v[i], "image", a);
}

/* The new spec with everything that may change as it was. */
static struct json_value munged(const struct json_value *new, const struct json_value *old,
                                bool gated, struct arena *a)
{
    struct json_value spec = json_copy(new, a);

    take_images(&spec, old, "containers", a);
    take_images(&spec, old, "initContainers", a);
    take(&spec, old, "activeDeadlineSeconds", a);
    take(&spec, old, "schedulingGates", a);
    take(&spec, old, "tolerations", a);
    if (json_int_at(old, "terminationGracePeriodSeconds", 0) < 0 &&
        json_int_at(&spec, "terminationGracePeriodSeconds", 0) == 1)
        take(&spec, old, "terminationGracePeriodSeconds", a);
    if (gated) {
        const struct json_value *affinity = json_get(old, STR("affinity"));

        take(&spec, old, "nodeSelector", a);
        if (json_get(&spec, STR("affinity")) || json_get(affinity, STR("nodeAffinity")))
            take(json_set_object(&spec, STR("affinity"), a), affinity ? affinity : &spec,
                 "nodeAffinity", a);
    }
    return spec;
}

void pod_update_validate(const struct json_value *pod, const struct json_value *old,
                         struct field_errors *errors)
{
    const struct json_value *spec = json_get(pod, STR("spec")), *was = json_get(old, STR("spec"));
    bool gated = json_items_at(was, "schedulingGates").n > 0;
    struct field_path path = field_child(NULL, "spec");
    struct json_value rest;

    check_annotations(pod, old, errors);
    if (!check_containers(spec, was, "containers", errors) ||
        !check_containers(spec, was, "initContainers", errors) ||
        !check_deadline(spec, was, errors))
        return;
    check_tolerations(spec, was, errors);
    check_gates(spec, was, errors);
    if (gated &&
        !field_equal(json_get(spec, STR("nodeSelector")), json_get(was, STR("nodeSelector"))))
        check_node_selector(spec, was, errors);
    if (gated &&
        !field_equal(json_at(spec, "affinity.nodeAffinity"), json_at(was, "affinity.nodeAffinity")))
        check_node_affinity(spec, was, errors);
    rest = munged(spec, was, gated, errors->arena);
    if (!field_equal(&rest, was))
        field_error(errors, FIELD_FORBIDDEN, &path, NULL,
                    "pod updates may not change fields other than " UPDATABLE "\n%.*s",
                    STR_ARG(json_diff(was, &rest, errors->arena)));
}

/* --- status ----------------------------------------------------------------------------------- */

static void check_ips(const struct json_value *pod, const char *member, struct field_errors *errors)
{
    const struct json_value *status = json_get(pod, STR("status"));
    struct json_items list = json_items_at(status, member);
    struct field_path path = field_child(NULL, "status"), at = field_child(&path, member);
    size_t n4 = 0, n6 = 0;

    for (size_t i = 0; i < list.n; i++) {
        struct str text = json_get_text(&list.v[i], STR("ip"));
        struct field_path item = field_index(&at, i);
        struct addr addr;

        if (field_check_ip(errors, &item, text, false) && ip_parse_sloppy(text, &addr))
            addr.is4 ? n4++ : n6++;
    }
    if (n4 > 1 || n6 > 1)
        field_error(errors, FIELD_INVALID, &at, json_get(status, str_of(member)),
                    "may specify no more than one IP for each IP family");
}

static void check_conditions(const struct json_value *pod, struct field_errors *errors)
{
    struct json_items list = json_items_at(pod, "status.conditions");
    struct field_path status = field_child(NULL, "status");
    struct field_path path = field_child(&status, "conditions");

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&path, i), type = field_child(&at, "Type");
        struct str name = json_get_text(&list.v[i], STR("type"));

        if (json_int_at(&list.v[i], "observedGeneration", 0) < 0)
            field_error_at(errors, FIELD_INVALID, &at, "observedGeneration",
                           json_get(&list.v[i], STR("observedGeneration")),
                           "must be a non-negative integer");
        field_check_name(errors, &type, name, NAME_QUALIFIED);
    }
}

void pod_status_validate(const struct json_value *pod, const struct json_value *old,
                         struct field_errors *errors)
{
    struct json_value nominated = json_text(json_text_at(pod, "status.nominatedNodeName"));
    struct field_path path = field_child(NULL, "status"), qos = field_child(&path, "qosClass");
    struct field_path at = field_child(&path, "nominatedNodeName");
    bool changed = !str_eq(nominated.text, json_text_at(old, "status.nominatedNodeName"));

    check_annotations(pod, old, errors);
    check_conditions(pod, errors);
    if (changed && !str_empty(nominated.text))
        field_check_name(errors, &at, nominated.text, NAME_DNS_SUBDOMAIN);
    if (changed && !str_empty(nominated.text) && !str_empty(json_text_at(old, "spec.nodeName")))
        field_error(errors, FIELD_FORBIDDEN, &at, NULL,
                    "may not be set on pods that are already bound to a node");
    if (json_int_at(pod, "status.observedGeneration", 0) < 0)
        field_error_at(errors, FIELD_INVALID, &path, "observedGeneration",
                       json_at(pod, "status.observedGeneration"), "must be a non-negative integer");
    /* A status without a class keeps the class. */
    if (!str_empty(json_text_at(pod, "status.qosClass")))
        field_check_immutable(errors, &qos, json_at(pod, "status.qosClass"),
                              json_at(old, "status.qosClass"));
    check_ips(pod, "podIPs", errors);
    check_ips(pod, "hostIPs", errors);
}

/* --- subresources ----------------------------------------------------------------------------- */

static bool is_mirror(const struct json_value *pod)
{
    return json_get(json_at(pod, "metadata.annotations"), STR(MIRROR)) != NULL;
}

static void forbid_nowhere(struct field_errors *errors, const char *why)
{
    struct field_path path = field_child(NULL, "");

    errors->n = 0;
    field_error(errors, FIELD_FORBIDDEN, &path, NULL, "%s", why);
}

static void validate_ephemeral(const struct json_value *pod, const struct json_value *old,
                               struct field_errors *errors)
{
    struct json_items now = json_items_at(pod, "spec.ephemeralContainers");
    struct json_items before = json_items_at(old, "spec.ephemeralContainers");
    struct field_path spec = field_child(NULL, "spec");
    struct field_path path = field_child(&spec, "ephemeralContainers");
    struct map by_name = MAP_INIT;

    if (is_mirror(old)) {
        forbid_nowhere(errors, "static pods do not support ephemeral containers");
        return;
    }
    for (size_t i = 0; i < now.n; i++)
        map_put(&by_name, json_get_text(&now.v[i], STR("name")), (void *)(uintptr_t)&now.v[i]);
    for (size_t i = 0; i < before.n; i++) {
        struct str name = json_get_text(&before.v[i], STR("name"));
        struct str quoted = arena_quoted(errors->arena, name);
        const struct json_value *new = map_get(&by_name, name);

        if (!new)
            field_error(errors, FIELD_FORBIDDEN, &path, NULL,
                        "existing ephemeral containers %.*s may not be removed\n", STR_ARG(quoted));
        else if (!field_equal(new, &before.v[i]))
            field_error(errors, FIELD_FORBIDDEN, &path, NULL,
                        "existing ephemeral containers %.*s may not be changed\n%.*s",
                        STR_ARG(quoted), STR_ARG(json_diff(&before.v[i], new, errors->arena)));
    }
    map_release(&by_name);
}

static bool is_resizable(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory");
}

/* cpu and memory of both lists are equal, or one lacks them. */
static void check_resize_list(const struct json_value *now, const struct json_value *before,
                              const char *member, const struct field_path *path,
                              struct field_errors *errors)
{
    struct json_members was = json_members_at(before, member);
    struct json_members is = json_members_at(now, member);
    const struct json_value *list = json_get(now, str_of(member));
    struct field_path at = field_child(path, member);
    struct field_path spec = field_child(NULL, "spec");
    bool other = false;

    for (size_t i = 0; i < was.n; i++) {
        const struct json_value *v = json_get(list, was.v[i].key);

        if (!v) {
            field_error(errors, FIELD_FORBIDDEN, &at, NULL, "resource %s cannot be removed",
                        member);
            return;
        }
        other |= !is_resizable(was.v[i].key) && !json_value_equal(v, &was.v[i].value);
    }
    for (size_t i = 0; i < is.n; i++)
        other |=
            !is_resizable(is.v[i].key) && !json_get(json_get(before, str_of(member)), is.v[i].key);
    if (other)
        field_error(errors, FIELD_FORBIDDEN, &spec, NULL,
                    "only cpu and memory resources are mutable");
}

static void validate_resize(const struct json_value *pod, const struct json_value *old,
                            struct field_errors *errors)
{
    static const char *const lists[] = {"initContainers", "containers"};
    struct field_path spec = field_child(NULL, "spec");
    struct json_value qos = json_text(json_text_at(old, "status.qosClass"));

    if (is_mirror(old)) {
        forbid_nowhere(errors, "static pods cannot be resized");
        return;
    }
    if (str_is(json_text_at(old, "spec.os.name"), "windows")) {
        forbid_nowhere(errors, "windows pods cannot be resized");
        return;
    }
    if (!str_empty(qos.text) && !str_is(qos.text, pod_qos_class(pod, errors->arena)))
        field_error(errors, FIELD_INVALID, &spec, &qos,
                    "Pod QOS Class may not change as a result of resizing");
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_items now = json_items_at(json_get(pod, STR("spec")), lists[l]);
        struct json_items before = json_items_at(json_get(old, STR("spec")), lists[l]);
        struct field_path in = field_child(&spec, lists[l]);

        for (size_t i = 0; i < now.n && i < before.n; i++) {
            const struct json_value *new = json_get(&now.v[i], STR("resources"));
            const struct json_value *was = json_get(&before.v[i], STR("resources"));
            struct field_path at = field_index(&in, i), path = field_child(&at, "resources");

            check_resize_list(new, was, "requests", &path, errors);
            check_resize_list(new, was, "limits", &path, errors);
        }
    }
}

void pod_part_validate(const struct json_value *pod, const struct json_value *old,
                       struct str subresource, struct field_errors *errors)
{
    if (str_is(subresource, "ephemeralcontainers"))
        validate_ephemeral(pod, old, errors);
    else if (str_is(subresource, "resize"))
        validate_resize(pod, old, errors);
}
