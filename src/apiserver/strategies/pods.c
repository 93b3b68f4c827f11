/* SPDX-License-Identifier: Apache-2.0 */
/* Pods: defaults, preparation and the row of the strategy. */
#include "api/pod_qos.h"
#include "api/resources.h"
#include "apiserver/strategies/pod_internal.h"
#include "apiserver/strategies/strategies.h"
#include "apiserver/types/amounts.h"

/* --- defaults --------------------------------------------------------------------------------- */

static void default_host_ports(struct json_value *container, struct arena *a)
{
    struct json_value *ports = array_at(container, "ports");

    for (size_t i = 0; ports && i < ports->n; i++) {
        int64_t port = json_int_at(&ports->items[i], "containerPort", 0);

        if (port != 0)
            default_number(&ports->items[i], "hostPort", port, a);
    }
}

/* Adds to `list` what it lacks of `from`. Linear in both. */
static void fill_list(struct json_value *list, const struct json_value *from, struct arena *a)
{
    struct map have = MAP_INIT;
    struct json_member *v;
    size_t n = list->n_members;

    v = arena_array(a, struct json_member, n + from->n_members);
    for (size_t i = 0; i < n; i++) {
        v[i] = list->members[i];
        map_put(&have, v[i].key, list);
    }
    for (size_t i = 0; i < from->n_members; i++)
        if (!map_get(&have, from->members[i].key))
            v[n++] = from->members[i];
    list->members = v;
    list->n_members = n;
    map_release(&have);
}

static void default_requests(struct json_value *container, struct arena *a)
{
    struct json_value *resources = json_member(container, STR("resources"));
    const struct json_value *limits = json_get(resources, STR("limits"));

    if (!limits || limits->kind != JSON_OBJECT)
        return;
    fill_list(json_set_object(resources, STR("requests"), a), json_get(resources, STR("limits")),
              a);
}

static bool is_pod_level(struct str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || str_starts(name, STR("hugepages-"));
}

/* The pod without pod-level resources, decoded; false if it is not of the form of a pod. */
static bool decode_pod(const struct json_value *pod, bool without_resources, struct arena *a,
                       struct pod *ret_pod)
{
    if (json_value_decode(pod, &pod_type, 0, a, ret_pod, NULL) < 0)
        return false;
    if (without_resources)
        ret_pod->spec.resources = NULL;
    return true;
}

/* Entries of the sums of containers that pod-level resources may have. */
static struct json_value supported_sums(const quantity_map *sums, bool hugepages, struct arena *a)
{
    struct amounts list = {0};

    for (size_t i = 0; i < sums->n; i++) {
        bool huge = str_starts(sums->v[i].key, STR("hugepages-"));

        if (is_pod_level(sums->v[i].key) && huge == hugepages)
            amounts_push(&list, sums->v[i].key, &sums->v[i].value, a);
    }
    return amounts_json(&list, a);
}

/* Upstream: defaultHugePagePodLimits. */
static void default_hugepage_limits(struct json_value *resources, const struct pod *pod,
                                    struct arena *a)
{
    struct json_value sums, kept = json_object();
    quantity_map limits = {0};

    pod_limits(pod, a, &limits);
    sums = supported_sums(&limits, true, a);
    for (size_t i = 0; i < sums.n_members; i++)
        if (!json_get(json_get(resources, STR("requests")), sums.members[i].key))
            json_set(&kept, sums.members[i].key, sums.members[i].value, a);
    if (kept.n_members > 0)
        fill_list(json_set_object(resources, STR("limits"), a), &kept, a);
}

/* Upstream: defaultPodRequests. */
static void default_pod_requests(struct json_value *resources, const struct pod *pod,
                                 struct arena *a)
{
    const struct json_value *limits = json_get(resources, STR("limits"));
    struct json_value sums, of_limits = json_object();
    struct json_value *requests;
    quantity_map map = {0};

    if (json_members_at(resources, "limits").n == 0)
        return;
    pod_requests(pod, &RESOURCE_GATES_DEFAULT, NULL, a, &map);
    sums = supported_sums(&map, false, a);
    for (size_t i = 0; i < limits->n_members; i++)
        if (is_pod_level(limits->members[i].key))
            json_set(&of_limits, limits->members[i].key, limits->members[i].value, a);
    if (sums.n_members + of_limits.n_members == 0)
        return;
    requests = json_set_object(resources, STR("requests"), a);
    fill_list(requests, &sums, a);
    fill_list(requests, &of_limits, a);
}

static void default_pod_resources(struct json_value *pod, struct json_value *spec, struct arena *a)
{
    struct json_value *resources = json_member(spec, STR("resources"));
    struct pod decoded = {0};

    if (!resources || resources->kind != JSON_OBJECT ||
        json_members_at(resources, "limits").n + json_members_at(resources, "requests").n == 0 ||
        !decode_pod(pod, true, a, &decoded))
        return;
    default_hugepage_limits(resources, &decoded, a);
    default_pod_requests(resources, &decoded, a);
}

static void default_pod(struct json_value *pod, struct arena *a)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct json_value *spec = json_set_object(pod, STR("spec"), a);
    bool host_network;

    pod_spec_set_defaults(spec, a);
    host_network = json_bool_at(spec, "hostNetwork", false);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_value *list = array_at(spec, lists[l]);

        for (size_t i = 0; list && i < list->n; i++) {
            if (list->items[i].kind != JSON_OBJECT)
                continue;
            default_requests(&list->items[i], a);
            if (host_network)
                default_host_ports(&list->items[i], a);
        }
    }
    default_pod_resources(pod, spec, a);
    json_set_default(spec, STR("enableServiceLinks"), json_bool(true), a);
}

/* --- label keys of affinity and spreading ----------------------------------------------------- */

static void apply_keys(struct json_value *term, const char *member, const char *operator,
                       const struct json_value * labels, struct arena *a)
{
    struct json_items keys = json_items_at(term, member);
    struct json_value *selector = json_member(term, STR("labelSelector"));
    struct json_value *list;

    if (keys.n == 0 || !selector || selector->kind != JSON_OBJECT)
        return;
    list = json_set_array(selector, STR("matchExpressions"), a);
    for (size_t i = 0; i < keys.n; i++) {
        const struct json_value *label = json_get(labels, keys.v[i].text);
        struct json_value values = json_array(), e = json_object();

        if (!label)
            continue;
        json_append(&values, *label, a);
        json_set(&e, STR("key"), keys.v[i], a);
        json_set(&e, STR("operator"), json_text(str_of(operator)), a);
        json_set(&e, STR("values"), values, a);
        json_append(list, e, a);
    }
}

static void apply_term_keys(struct json_value *term, const struct json_value *labels,
                            struct arena *a)
{
    if (!term)
        return;
    apply_keys(term, "matchLabelKeys", "In", labels, a);
    apply_keys(term, "mismatchLabelKeys", "NotIn", labels, a);
}

static void apply_label_keys(struct json_value *spec, const struct json_value *labels,
                             struct arena *a)
{
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
    struct json_value *affinity = json_member(spec, STR("affinity"));
    struct json_value *spread = array_at(spec, "topologySpreadConstraints");

    for (size_t k = 0; affinity && k < ARRAY_LEN(kinds); k++) {
        struct json_value *kind = json_member(affinity, str_of(kinds[k]));
        struct json_value *preferred =
            array_at(kind, "preferredDuringSchedulingIgnoredDuringExecution");
        struct json_value *required =
            array_at(kind, "requiredDuringSchedulingIgnoredDuringExecution");

        for (size_t i = 0; preferred && i < preferred->n; i++)
            apply_term_keys(json_member(&preferred->items[i], STR("podAffinityTerm")), labels, a);
        for (size_t i = 0; required && i < required->n; i++)
            apply_term_keys(&required->items[i], labels, a);
    }
    for (size_t i = 0; spread && i < spread->n; i++)
        apply_keys(&spread->items[i], "matchLabelKeys", "In", labels, a);
}

/* --- preparation ------------------------------------------------------------------------------ */

const char *pod_qos_class(const struct json_value *pod, struct arena *a)
{
    static const char *const names[] = {
        [POD_QOS_UNKNOWN] = "BestEffort",
        [POD_QOS_BEST_EFFORT] = "BestEffort",
        [POD_QOS_BURSTABLE] = "Burstable",
        [POD_QOS_GUARANTEED] = "Guaranteed",
    };
    struct pod decoded = {0};

    if (!decode_pod(pod, false, a, &decoded))
        return names[POD_QOS_BEST_EFFORT];
    decoded.status = (struct pod_status){0};
    return names[pod_qos_of(&decoded)];
}

static void prepare_pod(struct json_value *pod, struct arena *a)
{
    struct json_value status = json_object();
    struct json_value *spec = json_set_object(pod, STR("spec"), a);
    const struct json_value *created = json_at(pod, "metadata.creationTimestamp");

    json_set(&status, STR("phase"), json_text(STR("Pending")), a);
    if (json_items_at(spec, "schedulingGates").n > 0)
        json_set(&status, STR("conditions"),
                 json_literal("[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
                              "\"SchedulingGated\",\"message\":\"Scheduling is blocked due to "
                              "non-empty scheduling gates\"}]",
                              a),
                 a);
    if (created && json_get(&status, STR("conditions")))
        json_set(&json_member(&status, STR("conditions"))->items[0], STR("lastTransitionTime"),
                 *created, a);
    json_set(&status, STR("qosClass"), json_text(str_of(pod_qos_class(pod, a))), a);
    json_set(pod, STR("status"), status, a);
    apply_label_keys(json_member(pod, STR("spec")), json_at(pod, "metadata.labels"), a);
}

/* Upstream: CheckGracefulDelete. */
static int64_t grace_period(const struct json_value *pod)
{
    struct str phase = json_text_at(pod, "status.phase");
    int64_t period = json_int_at(pod, "spec.terminationGracePeriodSeconds", 0);

    if (str_empty(json_text_at(pod, "spec.nodeName")) || str_is(phase, "Failed") ||
        str_is(phase, "Succeeded"))
        return 0;
    return period < 0 ? 1 : period;
}

/* --- validation ------------------------------------------------------------------------------- */

/* Tokens of service accounts need an account. */
static void check_tokens(const struct json_value *spec, const struct field_path *path,
                         struct field_errors *errors)
{
    struct json_items volumes = json_items_at(spec, "volumes");
    struct field_path list = field_child(path, "volumes");

    if (!str_empty(json_get_text(spec, STR("serviceAccountName"))))
        return;
    for (size_t i = 0; i < volumes.n; i++) {
        struct json_items sources = json_items_at(&volumes.v[i], "projected.sources");
        struct field_path at = field_index(&list, i), in = field_child(&at, "projected");
        struct field_path of_sources = field_child(&in, "sources");

        for (size_t j = 0; j < sources.n; j++) {
            struct field_path source = field_index(&of_sources, j);

            if (json_get(&sources.v[j], STR("serviceAccountToken")))
                field_error_at(errors, FIELD_FORBIDDEN, &source, "serviceAccountToken", NULL,
                               "must not be specified when serviceAccountName is not set");
        }
    }
}

static void check_images(const struct json_value *spec, const char *member,
                         const struct field_path *path, struct field_errors *errors)
{
    struct json_items list = json_items_at(spec, member);
    struct field_path in = field_child(path, member);

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&in, i);
        struct json_value image = field_text(&list.v[i], "image");

        if (str_trim(image.text).n != image.text.n)
            field_error_at(errors, FIELD_INVALID, &at, "image", &image,
                           "must not have leading or trailing whitespace");
    }
}

/* A new object has no version yet. */
static bool is_stored(const struct json_value *pod)
{
    return !str_empty(json_text_at(pod, "metadata.resourceVersion"));
}

/* Upstream: validatePodMetadataAndSpec, and ValidatePodCreate for new pods. */
static void validate_pod(const struct json_value *pod, struct field_errors *errors)
{
    const struct json_value *meta = json_get(pod, STR("metadata"));
    const struct json_value *spec = json_get(pod, STR("spec"));
    struct pod_check check = {.meta = meta};
    struct field_path path = field_child(NULL, "spec"), meta_path = field_child(NULL, "metadata");
    struct field_path annotations = field_child(&meta_path, "annotations");

    pod_annotations_validate(meta, spec, &annotations, errors);
    pod_spec_validate(&check, spec, &path, errors);
    check_tokens(spec, &path, errors);
    check_images(spec, "containers", &path, errors);
    check_images(spec, "initContainers", &path, errors);
    if (is_stored(pod))
        return;
    if (json_items_at(spec, "ephemeralContainers").n > 0)
        field_error_at(errors, FIELD_FORBIDDEN, &path, "ephemeralContainers", NULL,
                       "cannot be set on create");
    if (!str_empty(json_get_text(spec, STR("nodeName"))) &&
        json_items_at(spec, "schedulingGates").n > 0)
        field_error_at(errors, FIELD_FORBIDDEN, &path, "nodeName", NULL,
                       "cannot be set until all schedulingGates have been cleared");
}

/* Upstream warns about new pods only. */
static void warn_pod(const struct json_value *pod, struct buf *warnings, struct arena *a)
{
    if (is_stored(pod))
        return;
    warn_dns_label(json_text_at(pod, "metadata.name"), "the Pod's hostname", warnings, a);
    pod_template_warn(pod, "", warnings, a);
}

static const char *const spec_member[] = {"spec", NULL};
static const char *const pod_fields[] = {
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
    NULL,
};

const struct strategy pod_strategies[] = {
    {
        .plural = STR_INIT("pods"),
        .set_defaults = default_pod,
        .prepare_create = prepare_pod,
        .validate = validate_pod,
        .validate_update = pod_update_validate,
        .validate_status = pod_status_validate,
        .validate_part = pod_part_validate,
        .generation = spec_member,
        .fields = pod_fields,
        .grace_period = grace_period,
        .unconditional_update = true,
        .warn = warn_pod,
    },
    {.plural = STR_INIT("")},
};
