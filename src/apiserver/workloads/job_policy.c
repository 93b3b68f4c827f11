/* SPDX-License-Identifier: Apache-2.0 */
/* podFailurePolicy and successPolicy of Jobs. */
#include "apiserver/workloads/job_internal.h"

static bool has_code(const struct json_value *rule, int64_t code)
{
    struct json_items values = json_items_at(rule, "values");
    int64_t n;
    for (size_t i = 0; i < values.n; i++)
        if (values.v[i].kind == JSON_NUMBER && str_to_i64(values.v[i].text, &n) && n == code)
            return true;
    return false;
}

/* The status of a container whose exit code the rule names; NULL if there is none. */
static const struct json_value *match_codes(const struct json_value *rule,
                                            const struct json_value *pod)
{
    static const char *const lists[] = {"status.containerStatuses", "status.initContainerStatuses"};
    struct str name = json_get_text(rule, STR("containerName"));
    bool in = str_is(json_get_text(rule, STR("operator")), "In");
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct json_items list = json_items_at(pod, lists[l]);
        for (size_t i = 0; i < list.n; i++) {
            int64_t code = json_int_at(&list.v[i], "state.terminated.exitCode", 0);
            if (code != 0 &&
                (str_empty(name) || str_eq(name, json_get_text(&list.v[i], STR("name")))) &&
                has_code(rule, code) == in)
                return &list.v[i];
        }
    }
    return NULL;
}

static const struct json_value *match_conditions(struct json_items patterns,
                                                 const struct json_value *pod)
{
    struct json_items list = json_items_at(pod, "status.conditions");
    for (size_t i = 0; i < list.n; i++)
        for (size_t k = 0; k < patterns.n; k++) {
            struct str status = json_get_text(&patterns.v[k], STR("status"));
            if (str_empty(status))
                status = STR("True");
            if (str_eq(json_get_text(&list.v[i], STR("type")),
                       json_get_text(&patterns.v[k], STR("type"))) &&
                str_eq(json_get_text(&list.v[i], STR("status")), status))
                return &list.v[i];
        }
    return NULL;
}

static enum failure_action action_of(struct str name)
{
    if (str_is(name, "Ignore"))
        return FAILURE_IGNORE;
    if (str_is(name, "FailIndex"))
        return FAILURE_FAIL_INDEX;
    return str_is(name, "FailJob") ? FAILURE_FAIL_JOB : FAILURE_COUNT;
}

enum failure_action job_failure_action(struct job *j, const struct pod_item *pod,
                                       struct str *ret_message)
{
    struct json_items rules = json_items_at(j->spec, "podFailurePolicy.rules");
    if (!rules.n)
        return FAILURE_COUNT;
    const struct json_value *tree = workload_tree(j->w, &pod->member);
    const struct revision *rev = pod->member.rev;
    for (size_t i = 0; i < rules.n; i++) {
        const struct json_value *codes = json_get(&rules.v[i], STR("onExitCodes"));
        struct json_items patterns = json_items_at(&rules.v[i], "onPodConditions");
        struct str name = json_get_text(&rules.v[i], STR("action"));
        const struct json_value *found =
            codes ? match_codes(codes, tree) : match_conditions(patterns, tree);
        if (!found)
            continue;
        if (codes)
            *ret_message = arena_printf(
                &j->w->scratch,
                "Container %.*s for pod %.*s/%.*s failed with exit code %lld matching %.*s rule at "
                "index %zu",
                STR_ARG(json_get_text(found, STR("name"))), STR_ARG(rev->namespace),
                STR_ARG(rev->name), (long long)json_int_at(found, "state.terminated.exitCode", 0),
                STR_ARG(name), i);
        else
            *ret_message = arena_printf(
                &j->w->scratch, "Pod %.*s/%.*s has condition %.*s matching %.*s rule at index %zu",
                STR_ARG(rev->namespace), STR_ARG(rev->name),
                STR_ARG(json_get_text(found, STR("type"))), STR_ARG(name), i);
        return action_of(name);
    }
    return FAILURE_COUNT;
}

int job_success_rule(struct job *j)
{
    struct json_items rules = json_items_at(j->spec, "successPolicy.rules");
    for (size_t i = 0; i < rules.n; i++) {
        const struct json_value *named = json_get(&rules.v[i], STR("succeededIndexes"));
        int64_t count = json_int_at(&rules.v[i], "succeededCount", -1);
        int64_t has = indexes_total(j->done), needs = count;
        if (named && named->kind == JSON_STRING) {
            struct indexes required = indexes_parse(j->w, named->text, j->completions);
            has = indexes_common(required, j->done);
            needs = count >= 0 ? count : indexes_total(required);
        }
        if (needs >= 0 && has >= needs)
            return (int)i;
    }
    return -1;
}
