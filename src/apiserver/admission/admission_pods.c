/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_pods.c - Priority, DefaultTolerationSeconds, RuntimeClass, and TaintNodesByCondition,
 * which gives nodes what the tolerations are for.
 */
#include "apiserver/admission/admission_internal.h"
#include "apiserver/types/amounts.h"

#define TAINT_NOT_READY   "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE "node.kubernetes.io/unreachable"

static bool is_set(const struct json_value *v)
{
    return v && v->kind != JSON_NULL;
}

/* --- Priority --------------------------------------------------------------------------------- */

/* The global default, of several the one of the lowest value; NULL: none. */
static const struct json_value *default_priority_class(const struct admission *adm)
{
    const struct json_value *best = NULL;
    struct admission_range range;
    admission_range_init(&range, adm, "scheduling.k8s.io", "priorityclasses", STR(""),
                         STR("\"globalDefault\":true"));
    const struct revision *rev;
    while ((rev = admission_range_next(&range))) {
        const struct json_value *class = admission_parse(adm, rev);
        if (json_bool_at(class, "globalDefault", false) &&
            (!best || json_int_at(best, "value", 0) > json_int_at(class, "value", 0)))
            best = class;
    }
    return best;
}

struct priority {
    struct str class, policy; /* policy: "": none */
    int64_t value;
};

static int find_priority(const struct admission *adm, struct priority *ret_priority,
                         struct api_status *ret_status)
{
    struct str name = json_text_at(adm->object, "spec.priorityClassName");
    const struct json_value *class =
        str_empty(name) ? default_priority_class(adm)
                        : admission_get(adm, "scheduling.k8s.io", "priorityclasses", STR(""), name);
    if (!class && !str_empty(name))
        return admission_forbid(adm, ret_status, "no PriorityClass with name %.*s was found",
                                STR_ARG(name));
    if (!class) {
        *ret_priority = (struct priority){.policy = STR("PreemptLowerPriority")};
        return 0;
    }
    *ret_priority = (struct priority){
        .class = json_text_at(class, "metadata.name"),
        .policy = json_text_at(class, "preemptionPolicy"),
        .value = json_int_at(class, "value", 0),
    };
    return 0;
}

/* An update that leaves out what was set at creation keeps it. */
static void keep_priority(struct admission *adm)
{
    static const char *const paths[] = {"spec.priority", "spec.preemptionPolicy"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const struct json_value *before = json_at(adm->old, paths[i]);
        if (is_set(before) && !is_set(json_at(adm->object, paths[i])))
            json_set_at(adm->object, paths[i], *before, adm->arena);
    }
}

static int set_pod_priority(struct admission *adm, struct api_status *ret_status)
{
    struct priority p = {0};
    int code = find_priority(adm, &p, ret_status);
    if (code)
        return code;
    struct json_value *spec = json_set_object(adm->object, STR("spec"), adm->arena);
    if (!str_empty(p.class))
        json_set(spec, STR("priorityClassName"), json_text(p.class), adm->arena);
    int64_t given = json_int_at(spec, "priority", p.value);
    if (given != p.value)
        return admission_forbid(
            adm, ret_status,
            "the integer value of priority (%lld) must not be provided in pod spec; priority "
            "admission controller computed %lld from the given PriorityClass name",
            (long long)given, (long long)p.value);
    json_set(spec, STR("priority"), json_int(p.value, adm->arena), adm->arena);
    if (str_empty(p.policy))
        return 0;
    struct str policy = json_get_text(spec, STR("preemptionPolicy"));
    if (!str_empty(policy) && !str_eq(policy, p.policy))
        return admission_forbid(
            adm, ret_status,
            "the string value of PreemptionPolicy (%.*s) must not be provided in pod spec; "
            "priority "
            "admission controller computed %.*s from the given PriorityClass name",
            STR_ARG(policy), STR_ARG(p.policy));
    json_set(spec, STR("preemptionPolicy"), json_text(p.policy), adm->arena);
    return 0;
}

int priority_admit(struct admission *adm, struct api_status *ret_status)
{
    if (!admission_is_pod(adm))
        return 0;
    if (adm->operation == ADMIT_CREATE)
        return set_pod_priority(adm, ret_status);
    keep_priority(adm);
    return 0;
}

int priority_validate(struct admission *adm, struct api_status *ret_status)
{
    if (!admission_is(adm, "scheduling.k8s.io", "priorityclasses") ||
        !str_empty(adm->subresource) || !json_bool_at(adm->object, "globalDefault", false))
        return 0;
    const struct json_value *other = default_priority_class(adm);
    struct str name = json_text_at(other, "metadata.name");
    if (!other || (adm->operation == ADMIT_UPDATE &&
                   str_eq(name, json_text_at(adm->object, "metadata.name"))))
        return 0;
    return admission_forbid(
        adm, ret_status,
        "PriorityClass %.*s is already marked as default. Only one default can exist",
        STR_ARG(name));
}

/* --- tolerations ------------------------------------------------------------------------------ */

static bool tolerates_execution(struct json_items tolerations, const char *taint)
{
    for (size_t i = 0; i < tolerations.n; i++) {
        struct str key = json_text_at(&tolerations.v[i], "key");
        struct str effect = json_text_at(&tolerations.v[i], "effect");
        if ((str_empty(key) || str_is(key, taint)) &&
            (str_empty(effect) || str_is(effect, "NoExecute")))
            return true;
    }
    return false;
}

int default_toleration_seconds_admit(struct admission *adm, struct api_status *ret_status)
{
    (void)ret_status;
    if (!admission_is_pod(adm))
        return 0;
    static const char *const taints[] = {TAINT_NOT_READY, TAINT_UNREACHABLE};
    struct json_value *spec = json_set_object(adm->object, STR("spec"), adm->arena);
    bool tolerated[ARRAY_LEN(taints)];
    for (size_t i = 0; i < ARRAY_LEN(taints); i++)
        tolerated[i] = tolerates_execution(json_items_at(spec, "tolerations"), taints[i]);
    for (size_t i = 0; i < ARRAY_LEN(taints); i++) {
        if (tolerated[i])
            continue;
        struct json_value t = json_object();
        json_set(&t, STR("key"), json_text(str_of(taints[i])), adm->arena);
        json_set(&t, STR("operator"), json_text(STR("Exists")), adm->arena);
        json_set(&t, STR("effect"), json_text(STR("NoExecute")), adm->arena);
        json_set(&t, STR("tolerationSeconds"), json_int(300, adm->arena), adm->arena);
        json_append(json_set_array(spec, STR("tolerations"), adm->arena), t, adm->arena);
    }
    return 0;
}

/* Whether ss tolerates everything that t does. */
static bool is_superset(const struct json_value *ss, const struct json_value *t)
{
    if (json_value_equal(ss, t))
        return true;
    struct str key = json_get_text(ss, STR("key")), effect = json_get_text(ss, STR("effect"));
    struct str operator= json_get_text(ss, STR("operator"));
    if (!str_eq(json_get_text(t, STR("key")), key) &&
        (!str_empty(key) || !str_is(operator, "Exists")))
        return false;
    if (!str_eq(json_get_text(t, STR("effect")), effect) && !str_empty(effect))
        return false;
    if (str_is(effect, "NoExecute") && is_set(json_get(ss, STR("tolerationSeconds"))) &&
        json_int_at(t, "tolerationSeconds", INT64_MAX) > json_int_at(ss, "tolerationSeconds", 0))
        return false;
    if (str_is(operator, "Exists"))
        return true;
    return (str_empty(operator) || str_is(operator, "Equal")) &&
           str_is(json_get_text(t, STR("operator")), "Equal") &&
           str_eq(json_get_text(t, STR("value")), json_get_text(ss, STR("value")));
}

/* Both lists without tolerations that another one includes; of equal ones the first stays. */
static struct json_value merge_tolerations(struct json_items first, struct json_items second,
                                           struct arena *a)
{
    size_t n = first.n + second.n;
    struct json_value *all = arena_array(a, struct json_value, n);
    for (size_t i = 0; i < n; i++)
        all[i] = i < first.n ? first.v[i] : second.v[i - first.n];
    struct json_value merged = json_array();
    merged.items = arena_array(a, struct json_value, n);
    for (size_t i = 0; i < n; i++) {
        bool redundant = false;
        for (size_t j = 0; j < merged.n && !redundant; j++)
            redundant = is_superset(&merged.items[j], &all[i]);
        for (size_t j = i + 1; j < n && !redundant; j++)
            redundant = !json_value_equal(&all[j], &all[i]) && is_superset(&all[j], &all[i]);
        if (!redundant)
            merged.items[merged.n++] = all[i];
    }
    return merged;
}

/* --- RuntimeClass ----------------------------------------------------------------------------- */

/* 0 with NULL if the pod has none. */
static int get_runtime_class(const struct admission *adm, const struct json_value **ret_class,
                             struct api_status *ret_status)
{
    *ret_class = NULL;
    const struct json_value *name = json_at(adm->object, "spec.runtimeClassName");
    if (!is_set(name) || name->kind != JSON_STRING)
        return 0;
    *ret_class = admission_get(adm, "node.k8s.io", "runtimeclasses", STR(""), name->text);
    if (*ret_class)
        return 0;
    return admission_forbid(adm, ret_status, "pod rejected: RuntimeClass %.*s not found",
                            STR_ARG(arena_quoted(adm->arena, name->text)));
}

static int overhead_mismatch(const struct admission *adm, struct api_status *ret_status)
{
    return admission_forbid(adm, ret_status,
                            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined "
                            "Overhead");
}

static int set_overhead(struct admission *adm, const struct json_value *class,
                        struct api_status *ret_status)
{
    if (!is_set(json_at(class, "overhead")))
        return 0;
    const struct json_value *fixed = json_at(class, "overhead.podFixed");
    struct amounts given = amounts_of(json_at(adm->object, "spec.overhead"), adm->arena);
    struct amounts defined = amounts_of(fixed, adm->arena);
    if (given.n > 0 && !amounts_equal(&given, &defined))
        return overhead_mismatch(adm, ret_status);
    if (is_set(fixed))
        json_set_at(adm->object, "spec.overhead", *fixed, adm->arena);
    return 0;
}

static int set_scheduling(struct admission *adm, const struct json_value *class,
                          struct api_status *ret_status)
{
    struct json_value *spec = json_member(adm->object, STR("spec"));
    struct json_members wanted = json_members_at(class, "scheduling.nodeSelector");
    for (size_t i = 0; i < wanted.n; i++) {
        struct str key = wanted.v[i].key, value = wanted.v[i].value.text;
        struct json_value *selector = json_set_object(spec, STR("nodeSelector"), adm->arena);
        const struct json_value *given = json_get(selector, key);
        if (given && !json_value_equal(given, &wanted.v[i].value))
            return admission_forbid(adm, ret_status,
                                    "conflict: runtimeClass.scheduling.nodeSelector[%.*s] = %.*s; "
                                    "pod.spec.nodeSelector[%.*s] = %.*s",
                                    STR_ARG(key), STR_ARG(value), STR_ARG(key),
                                    STR_ARG(json_get_text(selector, key)));
        json_set(selector, key, wanted.v[i].value, adm->arena);
    }
    if (!is_set(json_at(class, "scheduling")))
        return 0;
    struct json_value merged =
        merge_tolerations(json_items_at(spec, "tolerations"),
                          json_items_at(class, "scheduling.tolerations"), adm->arena);
    if (merged.n > 0)
        json_set(spec, STR("tolerations"), merged, adm->arena);
    return 0;
}

int runtime_class_admit(struct admission *adm, struct api_status *ret_status)
{
    const struct json_value *class;
    if (!admission_is_pod(adm))
        return 0;
    int code = get_runtime_class(adm, &class, ret_status);
    if (code || !class)
        return code;
    code = set_overhead(adm, class, ret_status);
    return code ? code : set_scheduling(adm, class, ret_status);
}

int runtime_class_validate(struct admission *adm, struct api_status *ret_status)
{
    const struct json_value *class;
    if (!admission_is_pod(adm))
        return 0;
    int code = get_runtime_class(adm, &class, ret_status);
    if (code)
        return code;
    const struct json_value *overhead = json_at(adm->object, "spec.overhead");
    if (!class || !is_set(json_at(class, "overhead"))) {
        if (is_set(overhead))
            return admission_forbid(adm, ret_status,
                                    "pod rejected: Pod Overhead set without corresponding "
                                    "RuntimeClass defined Overhead");
        return 0;
    }
    struct amounts given = amounts_of(overhead, adm->arena);
    struct amounts defined = amounts_of(json_at(class, "overhead.podFixed"), adm->arena);
    return amounts_equal(&given, &defined) ? 0 : overhead_mismatch(adm, ret_status);
}

/* --- TaintNodesByCondition -------------------------------------------------------------------- */

/* Otherwise pods could get onto a node before its first condition is known. */
int taint_nodes_by_condition_admit(struct admission *adm, struct api_status *ret_status)
{
    (void)ret_status;
    if (!admission_is(adm, "", "nodes") || !str_empty(adm->subresource))
        return 0;
    struct json_value *spec = json_set_object(adm->object, STR("spec"), adm->arena);
    struct json_items taints = json_items_at(spec, "taints");
    for (size_t i = 0; i < taints.n; i++)
        if (str_is(json_text_at(&taints.v[i], "key"), TAINT_NOT_READY) &&
            str_is(json_text_at(&taints.v[i], "effect"), "NoSchedule"))
            return 0;
    struct json_value taint = json_object();
    json_set(&taint, STR("key"), json_text(STR(TAINT_NOT_READY)), adm->arena);
    json_set(&taint, STR("effect"), json_text(STR("NoSchedule")), adm->arena);
    json_append(json_set_array(spec, STR("taints"), adm->arena), taint, adm->arena);
    return 0;
}
