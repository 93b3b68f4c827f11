/* SPDX-License-Identifier: Apache-2.0 */
/* batch: Jobs. */
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/job_internal.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/strategies.h"

#define MAX_PARALLELISM      100000
#define MAX_FAILED_INDEXES   100000
#define MANY_COMPLETIONS     100000
#define LIMIT_WHEN_MANY      10000
#define MAX_MANAGED_BY       63
#define CONTROLLER_UID_LABEL "batch.kubernetes.io/controller-uid"
#define JOB_NAME_LABEL       "batch.kubernetes.io/job-name"

/* --- defaults --------------------------------------------------------------------------------- */

static void default_failure_policy(struct json_value *spec, struct arena *a)
{
    struct json_value *policy = json_member(spec, STR("podFailurePolicy"));
    struct json_value *rules = json_member(policy, STR("rules"));

    for (size_t i = 0; rules && rules->kind == JSON_ARRAY && i < rules->n; i++) {
        struct json_value *patterns = json_member(&rules->items[i], STR("onPodConditions"));

        for (size_t j = 0; patterns && patterns->kind == JSON_ARRAY && j < patterns->n; j++)
            default_text(&patterns->items[j], "status", "True", a);
    }
}

void job_template_set_defaults(struct json_value *spec, struct arena *a)
{
    pod_template_set_defaults(json_set_object(spec, STR("template"), a), a);
    default_failure_policy(spec, a);
}

static bool has(const struct json_value *spec, const char *name)
{
    const struct json_value *v = json_get(spec, str_of(name));

    return v && v->kind != JSON_NULL;
}

static void default_labels(struct json_value *object, struct arena *a)
{
    const struct json_value *labels = json_at(object, "spec.template.metadata.labels");

    if (labels && labels->kind == JSON_OBJECT && json_members_at(object, "metadata.labels").n == 0)
        json_set_at(object, "metadata.labels", json_copy(labels, a), a);
}

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    bool per_index = has(spec, "backoffLimitPerIndex");

    if (!has(spec, "completions") && !has(spec, "parallelism"))
        json_set(spec, STR("completions"), json_int(1, a), a);
    json_set_default(spec, STR("parallelism"), json_int(1, a), a);
    json_set_default(spec, STR("backoffLimit"), json_int(per_index ? INT32_MAX : 6, a), a);
    default_labels(object, a);
    spec = json_set_object(object, STR("spec"), a);
    json_set_default(spec, STR("completionMode"), json_text(STR("NonIndexed")), a);
    json_set_default(spec, STR("suspend"), json_bool(false), a);
    json_set_default(
        spec, STR("podReplacementPolicy"),
        json_text(has(spec, "podFailurePolicy") ? STR("Failed") : STR("TerminatingOrFailed")), a);
    json_set_default(spec, STR("manualSelector"), json_bool(false), a);
    job_template_set_defaults(spec, a);
}

/* --- creation --------------------------------------------------------------------------------- */

/* Labels that are set already must have the right values: validation tells. */
static void prepare_create(struct json_value *object, struct arena *a)
{
    static const char *const names[] = {"job-name", JOB_NAME_LABEL};
    static const char *const uids[] = {"controller-uid", CONTROLLER_UID_LABEL};
    struct json_value name = json_text(json_text_at(object, "metadata.name"));
    struct json_value uid = json_text(json_text_at(object, "metadata.uid"));
    struct json_value *spec, *labels, *selector;

    json_remove(object, STR("status"));
    spec = json_set_object(object, STR("spec"), a);
    if (json_bool_at(spec, "manualSelector", false))
        return;
    labels = json_set_object(spec, STR("template"), a);
    labels = json_set_object(labels, STR("metadata"), a);
    labels = json_set_object(labels, STR("labels"), a);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        json_set_default(labels, str_of(names[i]), name, a);
    for (size_t i = 0; i < ARRAY_LEN(uids); i++)
        json_set_default(labels, str_of(uids[i]), uid, a);
    selector = json_set_object(spec, STR("selector"), a);
    selector = json_set_object(selector, STR("matchLabels"), a);
    json_set_default(selector, STR(CONTROLLER_UID_LABEL), uid, a);
    /* Upstream sets defaults again when it reads the object. */
    if (name_valid(name.text, NAME_LABEL_VALUE) && name_valid(uid.text, NAME_LABEL_VALUE))
        default_labels(object, a);
}

/* --- validation of a JobSpec ------------------------------------------------------------------ */

static void check_many_completions(const struct spot *spec)
{
    struct spot failed = spot_get(spec, "maxFailedIndexes");
    struct spot parallelism = spot_get(spec, "parallelism");
    static const char limit[] = "must be less than or equal to %d when completions are above %d "
                                "and used with backoff limit per index";

    if (!spot_has(&failed))
        field_error(spec->errors, FIELD_REQUIRED, &failed.path, NULL,
                    "must be specified when completions is above %d", MANY_COMPLETIONS);
    if (spot_int(&parallelism) > LIMIT_WHEN_MANY)
        spot_invalid(&parallelism, limit, LIMIT_WHEN_MANY, MANY_COMPLETIONS);
    if (spot_int(&failed) > LIMIT_WHEN_MANY)
        spot_invalid(&failed, limit, LIMIT_WHEN_MANY, MANY_COMPLETIONS);
}

static void check_indexed(const struct spot *spec)
{
    struct spot completions = spot_get(spec, "completions");
    struct spot parallelism = spot_get(spec, "parallelism");
    struct spot failed = spot_get(spec, "maxFailedIndexes");

    if (!spot_has(&completions))
        spot_required(&completions, "when completion mode is Indexed");
    if (spot_int(&parallelism) > MAX_PARALLELISM)
        spot_invalid(&parallelism,
                     "must be less than or equal to %d when completion mode is Indexed",
                     MAX_PARALLELISM);
    if (spot_has(&completions) && spot_int(&failed) > spot_int(&completions))
        spot_invalid(&failed, "must be less than or equal to completions");
    if (spot_int(&failed) > MAX_FAILED_INDEXES)
        spot_invalid(&failed, "must be less than or equal to %d", MAX_FAILED_INDEXES);
    if (spot_int(&completions) > MANY_COMPLETIONS && has(spec->v, "backoffLimitPerIndex"))
        check_many_completions(spec);
}

static void check_completion_mode(const struct spot *spec)
{
    static const char *const modes[] = {"NonIndexed", "Indexed", NULL};
    static const char *const indexed_only[] = {"backoffLimitPerIndex", "maxFailedIndexes"};
    struct spot mode = spot_get(spec, "completionMode");

    if (spot_has(&mode))
        spot_check_one_of(&mode, modes);
    if (spot_is(&mode, "Indexed"))
        check_indexed(spec);
    if (spot_has(&mode) && !spot_is(&mode, "NonIndexed"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(indexed_only); i++) {
        struct spot member = spot_get(spec, indexed_only[i]);

        if (spot_has(&member))
            spot_invalid(&member, "requires indexed completion mode");
    }
}

static void refuse_success_policy(const struct spot *policy)
{
    static const struct internal_member rule[] = {
        {"SucceededIndexes", "succeededIndexes", NULL, NULL},
        {"SucceededCount", "succeededCount", NULL, NULL},
        {0},
    };
    static const struct internal_member form[] = {{"Rules", "rules", rule, NULL}, {0}};
    struct json_value shown = internal_form(policy->v, form, policy->errors->arena);
    struct spot copy = *policy;

    copy.v = &shown;
    spot_invalid(&copy, "requires indexed completion mode");
}

static void check_policies(const struct spot *spec)
{
    static const char *const both[] = {"Failed", "TerminatingOrFailed", NULL};
    static const char *const failed[] = {"Failed", NULL};
    struct spot failure = spot_get(spec, "podFailurePolicy");
    struct spot success = spot_get(spec, "successPolicy");
    struct spot replacement = spot_get(spec, "podReplacementPolicy");

    if (spot_has(&failure))
        job_failure_policy_validate(spec);
    if (spot_has(&success) && !str_is(json_text_at(spec->v, "completionMode"), "Indexed"))
        refuse_success_policy(&success);
    else if (spot_has(&success))
        job_success_policy_validate(spec);
    if (spot_has(&replacement))
        spot_check_one_of(&replacement, spot_has(&failure) ? failed : both);
}

static void check_restart_policy(const struct spot *spec)
{
    static const char *const policies[] = {"OnFailure", "Never", NULL};
    struct spot template = spot_get(spec, "template"), pod = spot_get(&template, "spec");
    struct spot policy = spot_text(&pod, "restartPolicy");

    if (spot_empty(&policy) || spot_is(&policy, "Always"))
        spot_required(&policy, "valid values: \"OnFailure\", \"Never\"");
    else if (spot_check_one_of(&policy, policies) && has(spec->v, "podFailurePolicy") &&
             !spot_is(&policy, "Never"))
        spot_invalid(&policy, "only \"Never\" is supported when podFailurePolicy is specified");
}

void job_spec_validate(const struct spot *spec)
{
    static const char *const counters[] = {
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
        NULL,
    };
    struct spot manager = spot_get(spec, "managedBy");
    struct spot per_index = spot_get(spec, "backoffLimitPerIndex");
    struct spot template = spot_get(spec, "template");

    check_counters(spec, counters);
    if (has(spec->v, "maxFailedIndexes") && !spot_has(&per_index))
        spot_required(&per_index, "when maxFailedIndexes is specified");
    if (spot_has(&manager)) {
        spot_check_prefixed_path(&manager);
        if (spot_str(&manager).n > MAX_MANAGED_BY)
            spot_too_long(&manager, MAX_MANAGED_BY);
    }
    check_completion_mode(spec);
    check_policies(spec);
    pod_template_validate(template.v, &template.path, spec->errors);
    check_restart_policy(spec);
}

/* --- validation of Jobs ----------------------------------------------------------------------- */

static void check_label(const struct spot *labels, const char *key, struct str expected)
{
    struct field_path path = field_key(&labels->path, str_of(key));
    const struct json_value *value = json_get(labels->v, str_of(key));
    struct json_value shown = internal_map(labels->v, labels->errors->arena);

    if (!value)
        field_error(labels->errors, FIELD_REQUIRED, &path, NULL, "must be '%.*s'",
                    STR_ARG(expected));
    else if (value->kind != JSON_STRING || !str_eq(value->text, expected))
        field_error(labels->errors, FIELD_INVALID, &path, &shown, "must be '%.*s'",
                    STR_ARG(expected));
}

static void check_generated_selector(const struct spot *root, const struct spot *spec)
{
    struct str uid = json_text_at(root->v, "metadata.uid");
    struct str name = json_text_at(root->v, "metadata.name");
    struct spot selector = spot_get(spec, "selector"), template = spot_get(spec, "template");
    struct spot metadata = spot_get(&template, "metadata"), labels = spot_get(&metadata, "labels");
    const struct {
        const char *key;
        struct str value;
    } wanted[] = {
        {"controller-uid", uid},
        {"job-name", name},
        {CONTROLLER_UID_LABEL, uid},
        {JOB_NAME_LABEL, name},
    };
    struct json_value expected = json_object();
    size_t n = ARRAY_LEN(wanted);

    if (json_bool_at(spec->v, "manualSelector", false) || !spot_has(&selector))
        return;
    if (str_empty(uid))
        field_required(root->errors,
                       &(struct field_path){.name = STR_INIT("metadata"), .index = SIZE_MAX},
                       "uid");
    /* Jobs of old releases have no labels with a prefix. */
    if (!object_is_new(root->v) && !json_get(labels.v, STR(CONTROLLER_UID_LABEL)) &&
        !json_get(labels.v, STR(JOB_NAME_LABEL)))
        n = 2;
    for (size_t i = 0; i < n; i++) {
        check_label(&labels, wanted[i].key, wanted[i].value);
        json_set(&expected, str_of(wanted[i].key), json_text(wanted[i].value), root->errors->arena);
    }
    if (!label_selector_matches(selector.v, &expected))
        spot_invalid_selector(&selector, "`selector` not auto-generated");
}

/* A Job that had the labels with a prefix keeps them: they were not checked if both are missing. */
static void check_prefixed_labels(const struct spot *spec, const struct json_value *old)
{
    struct spot selector = spot_get(spec, "selector"), template = spot_get(spec, "template");
    struct spot metadata = spot_get(&template, "metadata"), labels = spot_get(&metadata, "labels");
    const struct json_value *had = json_at(old, "spec.template.metadata.labels");

    if (json_bool_at(spec->v, "manualSelector", false) || !spot_has(&selector) ||
        json_get(labels.v, STR(CONTROLLER_UID_LABEL)) || json_get(labels.v, STR(JOB_NAME_LABEL)) ||
        !json_get(had, STR(CONTROLLER_UID_LABEL)) || !json_get(had, STR(JOB_NAME_LABEL)))
        return;
    check_label(&labels, CONTROLLER_UID_LABEL, json_text_at(old, "metadata.uid"));
    check_label(&labels, JOB_NAME_LABEL, json_text_at(old, "metadata.name"));
}

/* Pods of an Indexed Job have host names with their index. */
static void check_host_name(const struct spot *root)
{
    struct spot metadata = spot_get(root, "metadata"), name = spot_text(&metadata, "name");
    int64_t completions = json_int_at(root->v, "spec.completions", 0);
    struct str host;

    if (completions <= 0 || !str_is(json_text_at(root->v, "spec.completionMode"), "Indexed"))
        return;
    host = arena_printf(root->errors->arena, "%.*s-%lld", STR_ARG(spot_str(&name)),
                        (long long)(completions - 1));
    if (!name_valid(host, NAME_DNS_LABEL))
        spot_invalid(&name, "will not able to create pod with invalid DNS label: %.*s",
                     STR_ARG(host));
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot selector = spot_get(&spec, "selector");

    check_generated_selector(&root, &spec);
    job_spec_validate(&spec);
    if (!spot_has(&selector))
        spot_required(&selector, "");
    if (spot_check_selector(&selector))
        check_template_labels(&spec);
    check_host_name(&root);
}

/* --- updates ---------------------------------------------------------------------------------- */

static bool condition_is(const struct json_value *object, const char *type, const char *status)
{
    struct json_items list = json_items_at(object, "status.conditions");

    for (size_t i = 0; i < list.n; i++)
        if (str_is(json_get_text(&list.v[i], STR("type")), type) &&
            str_is(json_get_text(&list.v[i], STR("status")), status))
            return true;
    return false;
}

static void check_completions(const struct spot *spec, const struct json_value *old)
{
    struct spot completions = spot_get(spec, "completions");
    const struct json_value *before = json_get(old, STR("completions"));

    if (!str_is(json_text_at(spec->v, "completionMode"), "Indexed"))
        spot_check_immutable(&completions, before);
    else if (spot_has(&completions) && !field_equal(completions.v, before) &&
             spot_int(&completions) != json_int_at(spec->v, "parallelism", 0))
        spot_invalid(&completions, "can only be modified in tandem with spec.parallelism");
}

/* What may change in the template of a suspended Job that has not started. */
static void take_directives(struct json_value *to, const struct json_value *from, struct arena *a)
{
    static const char *const members[] = {
        "metadata.labels",  "metadata.annotations",       "spec.nodeSelector",
        "spec.tolerations", "spec.affinity.nodeAffinity", "spec.schedulingGates",
    };

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const struct json_value *v = json_at(from, members[i]);

        json_set_at(to, members[i], v ? json_copy(v, a) : json_null(), a);
    }
}

static void take_resources(struct json_value *to, const struct json_value *from, const char *list,
                           struct arena *a)
{
    struct json_value *pod = json_member(to, STR("spec"));
    struct json_value *mine = json_member(pod, str_of(list));
    struct json_items theirs = json_items_at(json_get(from, STR("spec")), list);

    if (!mine || mine->kind != JSON_ARRAY || mine->n != theirs.n)
        return;
    for (size_t i = 0; i < theirs.n; i++) {
        const struct json_value *v = json_get(&theirs.v[i], STR("resources"));

        if (str_eq(json_get_text(&theirs.v[i], STR("name")),
                   json_get_text(&mine->items[i], STR("name"))))
            json_set(&mine->items[i], STR("resources"), v ? json_copy(v, a) : json_null(), a);
    }
}

static void check_template_change(const struct spot *spec, const struct json_value *old)
{
    struct arena *a = spec->errors->arena;
    struct spot template = spot_get(spec, "template");
    const struct json_value *v = json_at(old, "spec.template");
    struct json_value before = v ? json_copy(v, a) : json_object();
    bool suspended = json_bool_at(old, "spec.suspend", false);
    bool started = json_at(old, "status.startTime") != NULL;
    bool idle = json_int_at(old, "status.active", 0) == 0 &&
                (!started || condition_is(old, "Suspended", "True"));
    struct spot pod = spot_get(spec, "template.spec");

    if (suspended && idle && template.v) {
        take_directives(&before, template.v, a);
        take_resources(&before, template.v, "containers", a);
        take_resources(&before, template.v, "initContainers", a);
        pod.v = json_get(template.v, STR("spec"));
        spot_check_immutable(&pod, json_get(&before, STR("spec")));
        return;
    }
    if (suspended && !started && template.v)
        take_directives(&before, template.v, a);
    spot_check_immutable(&template, &before);
}

static void validate_update(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    static const char *const frozen[] = {"completionMode", "podFailurePolicy",
                                         "backoffLimitPerIndex", "managedBy", "successPolicy"};
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot selector = spot_get(&spec, "selector");
    const struct json_value *before = json_get(old, STR("spec"));

    check_prefixed_labels(&spec, old);
    check_completions(&spec, before);
    spot_check_immutable_selector(&selector, json_get(before, STR("selector")));
    check_template_change(&spec, old);
    for (size_t i = 0; i < ARRAY_LEN(frozen); i++)
        spot_check_same(&spec, before, frozen[i]);
}

/* --- warnings --------------------------------------------------------------------------------- */

void job_spec_warn(const struct json_value *spec, const char *path, struct buf *warnings)
{
    if (str_is(json_text_at(spec, "completionMode"), "Indexed") &&
        json_int_at(spec, "completions", 0) > MANY_COMPLETIONS &&
        json_int_at(spec, "parallelism", 0) > LIMIT_WHEN_MANY)
        buf_add_printf(warnings,
                       "%s: In Indexed Jobs with a number of completions higher than 10^5 and a "
                       "parallelism higher than 10^4, Kubernetes might not be able to track "
                       "completedIndexes when a big number of indexes fail\n",
                       path);
}

static void warn(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (object_is_new(object))
        warn_of_name(object, warnings, "Pod names and hostnames");
    job_spec_warn(json_get(object, STR("spec")), "spec", warnings);
}

const struct strategy job_strategies[] = {
    {
        .group = STR_INIT("batch"),
        .plural = STR_INIT("jobs"),
        .set_defaults = set_defaults,
        .prepare_create = prepare_create,
        .validate = validate,
        .validate_update = validate_update,
        .validate_status = job_status_validate,
        .generation = (const char *const[]){"spec", NULL},
        .fields = (const char *const[]){"status.successful", NULL},
        .unconditional_update = true,
        .warn = warn,
    },
    {.plural = STR_INIT("")},
};
