/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/types/quota.h"

#include "api/pod.h"
#include "api/pod_qos.h"
#include "api/resources.h"
#include "base/time.h"

#define SUFFIX_CLASS   ".storageclass.storage.k8s.io/"
#define SUFFIX_DEVICES ".deviceclass.resource.k8s.io/devices"
#define PREFIX_DEVICES "deviceclass.resource.kubernetes.io/"
#define MAX_DEVICES    32 /* of one claim: AllocationResultsMaxSize */

/* --- resources -------------------------------------------------------------------------------- */

struct name {
    const char *group, *plural;
};

static bool is_resource(const struct name *list, size_t n, struct str group, struct str plural)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(plural, list[i].plural) && str_is(group, list[i].group))
            return true;
    return false;
}

static bool is(struct str group, struct str plural, const char *wanted_group, const char *wanted)
{
    return str_is(plural, wanted) && str_is(group, wanted_group);
}

bool quota_counts(struct str group, struct str plural)
{
    static const struct name ignored[] = {
        {"", "bindings"},
        {"", "componentstatuses"},
        {"authentication.k8s.io", "tokenreviews"},
        {"authentication.k8s.io", "selfsubjectreviews"},
        {"authorization.k8s.io", "subjectaccessreviews"},
        {"authorization.k8s.io", "selfsubjectaccessreviews"},
        {"authorization.k8s.io", "localsubjectaccessreviews"},
        {"authorization.k8s.io", "selfsubjectrulesreviews"},
        {"", "events"},
        {"events.k8s.io", "events"},
    };
    return !is_resource(ignored, ARRAY_LEN(ignored), group, plural);
}

/* Resources that quotas also count under their plain name. */
static bool has_plain_name(struct str group, struct str plural)
{
    static const struct name plain[] = {
        {"", "configmaps"}, {"", "resourcequotas"},
        {"", "secrets"},    {"", "replicationcontrollers"},
        {"", "services"},   {"", "persistentvolumeclaims"},
    };
    return is_resource(plain, ARRAY_LEN(plain), group, plural);
}

static bool is_count_name(struct str name, struct str group, struct str plural)
{
    struct str rest = name;
    if (!str_starts(name, STR("count/")))
        return false;
    rest = str_slice(rest, 6, SIZE_MAX);
    if (!str_starts(rest, plural))
        return false;
    rest = str_slice(rest, plural.n, SIZE_MAX);
    return str_empty(group) ? str_empty(rest)
                            : rest.n == group.n + 1 && rest.p[0] == '.' && str_ends(rest, group);
}

static struct str count_name(struct str group, struct str plural, struct arena *a)
{
    return arena_printf(a, "count/%.*s%s%.*s", STR_ARG(plural), str_empty(group) ? "" : ".",
                        STR_ARG(group));
}

/* --- names that a resource uses --------------------------------------------------------------- */

static bool pod_tracks(struct str name)
{
    static const char *const names[] = {
        "cpu",          "memory",          "ephemeral-storage",
        "requests.cpu", "requests.memory", "requests.ephemeral-storage",
        "limits.cpu",   "limits.memory",   "limits.ephemeral-storage",
        "pods",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    if (str_starts(name, STR("hugepages-")) || str_starts(name, STR("requests.hugepages-")))
        return true;
    /* Extended resources have a domain that is not upstream's own. */
    bool native = str_find(name, '/') == name.n || str_search(name, STR("kubernetes.io/")) < name.n;
    return str_starts(name, STR("requests.")) &&
           (!native || str_starts(name, STR("requests." PREFIX_DEVICES)));
}

bool quota_tracks(struct str group, struct str plural, struct str name)
{
    if (is_count_name(name, group, plural))
        return true;
    if (has_plain_name(group, plural) && str_eq(name, plural))
        return true;
    if (is(group, plural, "", "pods"))
        return pod_tracks(name);
    if (is(group, plural, "", "services"))
        return str_is(name, "services.nodeports") || str_is(name, "services.loadbalancers");
    if (is(group, plural, "", "persistentvolumeclaims"))
        return str_is(name, "requests.storage") ||
               str_ends(name, STR(SUFFIX_CLASS "requests.storage")) ||
               str_ends(name, STR(SUFFIX_CLASS "persistentvolumeclaims"));
    if (is(group, plural, "resource.k8s.io", "resourceclaims"))
        return str_ends(name, STR(SUFFIX_DEVICES));
    return false;
}

/* --- usage ------------------------------------------------------------------------------------ */

static void push_count(struct amounts *usage, struct str name, int64_t n, struct arena *a)
{
    struct quantity q = quantity_of(n, QUANTITY_DECIMAL_SI);
    amounts_push(usage, name, &q, a);
}

static bool decode_pod(const struct quota_object *o, struct arena *a, struct pod *ret_pod)
{
    return json_value_decode(o->object, &pod_type, 0, a, ret_pod, NULL) == 0;
}

/* A pod that has ended, or whose grace period is over, uses no compute resources. */
static bool is_charged(const struct quota_object *o)
{
    struct str phase = json_text_at(o->object, "status.phase");
    if (str_is(phase, "Failed") || str_is(phase, "Succeeded"))
        return false;
    struct str deleted = json_text_at(o->object, "metadata.deletionTimestamp");
    int64_t grace = json_int_at(o->object, "metadata.deletionGracePeriodSeconds", -1);
    struct timestamp at;
    if (str_empty(deleted) || grace < 0 || !timestamp_parse(deleted, &at))
        return true;
    at.sec += MIN(grace, INT32_MAX);
    return timestamp_cmp(timestamp_of(o->now), at) <= 0;
}

static void pod_usage(const struct quota_object *o, struct amounts *usage, struct arena *a)
{
    struct pod pod = {0};
    if (!is_charged(o) || !decode_pod(o, a, &pod))
        return;
    struct resource_gates gates = RESOURCE_GATES_DEFAULT;
    quantity_map requests, limits;
    pod_requests(&pod, &gates, NULL, a, &requests);
    pod_limits(&pod, a, &limits);
    push_count(usage, STR("pods"), 1, a);
    for (size_t i = 0; i < requests.n; i++) {
        struct str name = requests.v[i].key;
        bool common = str_is(name, "cpu") || str_is(name, "memory") ||
                      str_is(name, "ephemeral-storage") || str_starts(name, STR("hugepages-"));
        if (common)
            amounts_push(usage, name, &requests.v[i].value, a);
        if (common || resource_is_extended(name) || str_starts(name, STR(PREFIX_DEVICES)))
            amounts_push(usage, arena_printf(a, "requests.%.*s", STR_ARG(name)),
                         &requests.v[i].value, a);
    }
    for (size_t i = 0; i < limits.n; i++) {
        struct str name = limits.v[i].key;
        if (str_is(name, "cpu") || str_is(name, "memory") || str_is(name, "ephemeral-storage"))
            amounts_push(usage, arena_printf(a, "limits.%.*s", STR_ARG(name)), &limits.v[i].value,
                         a);
    }
}

static void service_usage(const struct json_value *service, struct amounts *usage, struct arena *a)
{
    struct str type = json_text_at(service, "spec.type");
    const struct json_value *ports = json_at(service, "spec.ports");
    int64_t n = ports && ports->kind == JSON_ARRAY ? (int64_t)ports->n : 0, node_ports = 0;
    bool balancer = str_is(type, "LoadBalancer");
    if (str_is(type, "NodePort") ||
        (balancer && json_bool_at(service, "spec.allocateLoadBalancerNodePorts", true)))
        node_ports = n;
    else if (balancer)
        for (int64_t i = 0; i < n; i++)
            node_ports += json_int_at(&ports->items[i], "nodePort", 0) != 0;
    push_count(usage, STR("services.nodeports"), node_ports, a);
    push_count(usage, STR("services.loadbalancers"), balancer, a);
}

static bool storage_at(const struct json_value *claim, const char *path, struct arena *a,
                       struct quantity *ret_quantity)
{
    const struct json_value *v = json_at(claim, path);
    return v && (v->kind == JSON_STRING || v->kind == JSON_NUMBER) &&
           quantity_parse(v->text, a, ret_quantity, NULL) == 0;
}

static void claim_usage(const struct json_value *claim, struct amounts *usage, struct arena *a)
{
    const struct json_value *old = json_get(json_at(claim, "metadata.annotations"),
                                            STR("volume.beta.kubernetes.io/storage-class"));
    struct str class =
        old && old->kind == JSON_STRING ? old->text : json_text_at(claim, "spec.storageClassName");
    struct quantity storage, allocated;
    bool has_storage = storage_at(claim, "spec.resources.requests.storage", a, &storage);
    if (has_storage && storage_at(claim, "status.allocatedResources.storage", a, &allocated) &&
        quantity_cmp(&allocated, &storage) > 0)
        storage = allocated;
    /* Whole bytes: the quota itself must be valid. */
    int64_t whole;
    if (has_storage && !quantity_as_int64(&storage, &whole) &&
        (whole = quantity_value(&storage)) > 0)
        storage = quantity_of(whole, (enum quantity_format)storage.format);
    if (has_storage)
        amounts_push(usage, STR("requests.storage"), &storage, a);
    if (str_empty(class))
        return;
    push_count(usage, arena_printf(a, "%.*s" SUFFIX_CLASS "persistentvolumeclaims", STR_ARG(class)),
               1, a);
    if (has_storage)
        amounts_push(usage, arena_printf(a, "%.*s" SUFFIX_CLASS "requests.storage", STR_ARG(class)),
                     &storage, a);
}

static int64_t devices_of(const struct json_value *request)
{
    struct str mode = json_text_at(request, "allocationMode");
    if (str_is(mode, "All"))
        return MAX_DEVICES;
    return str_empty(mode) || str_is(mode, "ExactCount") ? json_int_at(request, "count", 1) : 0;
}

static struct str device_name(const struct json_value *request, struct arena *a)
{
    return arena_printf(a, "%.*s" SUFFIX_DEVICES,
                        STR_ARG(json_text_at(request, "deviceClassName")));
}

static void device_usage(const struct json_value *claim, struct amounts *usage, struct arena *a)
{
    const struct json_value *requests = json_at(claim, "spec.devices.requests");
    for (size_t i = 0; requests && requests->kind == JSON_ARRAY && i < requests->n; i++) {
        const struct json_value *exactly = json_at(&requests->items[i], "exactly");
        const struct json_value *first = json_at(&requests->items[i], "firstAvailable");
        struct amounts most = {0};
        if (exactly)
            push_count(usage, device_name(exactly, a), devices_of(exactly), a);
        /* Of several alternatives the most expensive one of each class. */
        for (size_t j = 0; first && first->kind == JSON_ARRAY && j < first->n; j++) {
            struct amounts one = {0};
            push_count(&one, device_name(&first->items[j], a), devices_of(&first->items[j]), a);
            most = amounts_max(&most, &one, a);
        }
        amounts_push_all(usage, most.v, most.n, a);
    }
}

struct amounts quota_usage(const struct quota_object *o, struct arena *a)
{
    struct amounts usage = {0};
    push_count(&usage, count_name(o->group, o->plural, a), 1, a);
    if (has_plain_name(o->group, o->plural))
        push_count(&usage, o->plural, 1, a);
    if (is(o->group, o->plural, "", "pods"))
        pod_usage(o, &usage, a);
    else if (is(o->group, o->plural, "", "services"))
        service_usage(o->object, &usage, a);
    else if (is(o->group, o->plural, "", "persistentvolumeclaims"))
        claim_usage(o->object, &usage, a);
    else if (is(o->group, o->plural, "resource.k8s.io", "resourceclaims"))
        device_usage(o->object, &usage, a);
    amounts_sum(&usage);
    return usage;
}

/* --- scopes ----------------------------------------------------------------------------------- */

bool quota_pod_is_terminating(const struct json_value *pod)
{
    return json_int_at(pod, "spec.activeDeadlineSeconds", -1) >= 0;
}

static bool terms_cross_namespaces(const struct json_value *terms, bool weighted)
{
    for (size_t i = 0; terms && terms->kind == JSON_ARRAY && i < terms->n; i++) {
        const struct json_value *term =
            weighted ? json_at(&terms->items[i], "podAffinityTerm") : &terms->items[i];
        const struct json_value *namespaces = json_at(term, "namespaces");
        const struct json_value *selector = json_at(term, "namespaceSelector");
        if ((namespaces && namespaces->kind == JSON_ARRAY && namespaces->n > 0) ||
            (selector && selector->kind == JSON_OBJECT))
            return true;
    }
    return false;
}

static bool crosses_namespaces(const struct json_value *pod)
{
    static const char *const kinds[] = {"spec.affinity.podAffinity",
                                        "spec.affinity.podAntiAffinity"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct json_value *affinity = json_at(pod, kinds[i]);
        if (terms_cross_namespaces(
                json_at(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), false) ||
            terms_cross_namespaces(
                json_at(affinity, "preferredDuringSchedulingIgnoredDuringExecution"), true))
            return true;
    }
    return false;
}

static bool is_best_effort(const struct quota_object *o, struct arena *a)
{
    struct pod pod = {0};
    return decode_pod(o, a, &pod) && pod_qos_of(&pod) == POD_QOS_BEST_EFFORT;
}

/* A requirement of a scope selector on one value; empty: the object has none. */
static bool matches_value(const struct json_value *requirement, struct str value)
{
    struct str operator= json_text_at(requirement, "operator");
    if (str_is(operator, "Exists"))
        return !str_empty(value);
    if (str_is(operator, "DoesNotExist"))
        return str_empty(value);
    bool in = false;
    const struct json_value *values = json_at(requirement, "values");
    for (size_t i = 0; values && values->kind == JSON_ARRAY && i < values->n; i++)
        in = in || (values->items[i].kind == JSON_STRING && str_eq(values->items[i].text, value));
    if (str_is(operator, "In"))
        return !str_empty(value) && in;
    return str_is(operator, "NotIn") && (str_empty(value) || !in);
}

static bool claim_matches(const struct json_value *requirement, const struct json_value *claim)
{
    static const char *const paths[] = {
        "spec.volumeAttributesClassName",
        "status.currentVolumeAttributesClassName",
        "status.modifyVolumeStatus.targetVolumeAttributesClassName",
    };
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct str class = json_text_at(claim, paths[i]);
        if (str_empty(class))
            continue;
        any = true;
        if (matches_value(requirement, class))
            return true;
    }
    return !any && matches_value(requirement, STR(""));
}

/* requirement: {"scopeName":…,"operator":…,"values":[…]}. */
static bool matches_scope(struct str scope, const struct json_value *requirement,
                          const struct quota_object *o, struct arena *a)
{
    if (is(o->group, o->plural, "", "persistentvolumeclaims"))
        return str_is(scope, "VolumeAttributesClass") && claim_matches(requirement, o->object);
    if (!is(o->group, o->plural, "", "pods"))
        return false;
    if (str_is(scope, "Terminating"))
        return quota_pod_is_terminating(o->object);
    if (str_is(scope, "NotTerminating"))
        return !quota_pod_is_terminating(o->object);
    if (str_is(scope, "BestEffort"))
        return is_best_effort(o, a);
    if (str_is(scope, "NotBestEffort"))
        return !is_best_effort(o, a);
    if (str_is(scope, "PriorityClass"))
        return matches_value(requirement, json_text_at(o->object, "spec.priorityClassName"));
    return str_is(scope, "CrossNamespacePodAffinity") && crosses_namespaces(o->object);
}

bool quota_in_scope(const struct json_value *quota, const struct quota_object *o, struct arena *a)
{
    const struct json_value *scopes = json_at(quota, "spec.scopes");
    for (size_t i = 0; scopes && scopes->kind == JSON_ARRAY && i < scopes->n; i++) {
        struct json_value exists = json_object();
        json_set(&exists, STR("operator"), json_text(STR("Exists")), a);
        if (!matches_scope(scopes->items[i].text, &exists, o, a))
            return false;
    }
    const struct json_value *selector = json_at(quota, "spec.scopeSelector.matchExpressions");
    for (size_t i = 0; selector && selector->kind == JSON_ARRAY && i < selector->n; i++) {
        const struct json_value *requirement = &selector->items[i];
        if (!matches_scope(json_text_at(requirement, "scopeName"), requirement, o, a))
            return false;
    }
    return true;
}
