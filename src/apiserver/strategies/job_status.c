/* SPDX-License-Identifier: Apache-2.0 */
/* batch: the status of Jobs. */
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/job_internal.h"

/* What validation asks about the status of a Job. */
struct facts {
    const struct json_value *status;
    bool complete, failed, failure_target, criteria_met, suspended, resumed, finished;
};

static struct facts facts_of(const struct json_value *object)
{
    struct facts f = {.status = json_get(object, STR("status"))};
    struct json_items list = json_items_at(f.status, "conditions");
    struct {
        const char *type;
        bool *fact;
    } known[] = {
        {"Complete", &f.complete},
        {"Failed", &f.failed},
        {"FailureTarget", &f.failure_target},
        {"SuccessCriteriaMet", &f.criteria_met},
        {"Suspended", &f.suspended},
    };

    for (size_t i = 0; i < list.n; i++) {
        struct str type = json_get_text(&list.v[i], STR("type"));
        struct str status = json_get_text(&list.v[i], STR("status"));

        for (size_t j = 0; j < ARRAY_LEN(known); j++)
            if (str_is(type, known[j].type) && str_is(status, "True"))
                *known[j].fact = true;
        f.resumed = f.resumed || (str_is(type, "Suspended") && str_is(status, "False"));
    }
    f.finished = f.complete || f.failed;
    return f;
}

static bool changed(const struct facts *now, const struct facts *before, const char *name)
{
    return !field_equal(json_get(now->status, str_of(name)),
                        json_get(before->status, str_of(name)));
}

static void check_uncounted(const struct spot *status)
{
    static const char *const lists[] = {"succeeded", "failed"};
    struct spot pods = spot_get(status, "uncountedTerminatedPods");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct spot list = spot_get(&pods, lists[i]);

        for (size_t j = 0; j < spot_count(&list); j++) {
            struct spot uid = spot_item(&list, j);

            if (spot_empty(&uid))
                spot_invalid(&uid, "must not be empty");
            else if (map_put(&seen, spot_str(&uid), status->errors))
                spot_duplicate(&uid);
        }
    }
    map_release(&seen);
}

/* Conditions that exclude or need each other: the value is not shown. */
static void refuse_conditions(const struct spot *status, bool refuse, const char *text)
{
    struct spot conditions = spot_get(status, "conditions");

    conditions.v = &field_value_omitted;
    if (refuse)
        spot_invalid(&conditions, "%s", text);
}

static void check_times(const struct spot *status, const struct facts *f, const struct facts *old)
{
    struct spot done = spot_get(status, "completionTime");
    struct spot start = spot_get(status, "startTime");
    bool touched = f->complete != old->complete || changed(f, old, "completionTime");
    bool moved = changed(f, old, "startTime") || changed(f, old, "completionTime");

    if (touched && spot_has(&done) && !f->complete)
        spot_invalid(&done, "cannot set completionTime when there is no Complete=True condition");
    if (touched && !spot_has(&done) && f->complete)
        spot_required(&done, "completionTime is required for Complete jobs");
    /* Times of the API have one form: their texts are in their order. */
    if (moved && spot_has(&start) && spot_has(&done) &&
        str_cmp(spot_str(&done), spot_str(&start)) < 0)
        spot_invalid(&done, "must be equal to or after `startTime`");
}

static void refuse_uncounted(const struct spot *pods)
{
    static const struct internal_member form[] = {
        {"Succeeded", "succeeded", NULL, NULL}, {"Failed", "failed", NULL, NULL}, {0}};
    struct json_value shown = internal_form(pods->v, form, pods->errors->arena);
    struct spot copy = *pods;

    copy.v = &shown;
    spot_invalid(&copy, "must be empty for finished job");
}

static void check_finished(const struct spot *status, const struct facts *f,
                           const struct facts *old, const struct json_value *spec)
{
    struct spot active = spot_number(status, "active"), start = spot_get(status, "startTime");
    struct spot uncounted = spot_get(status, "uncountedTerminatedPods");
    bool turned = f->finished != old->finished;
    bool empty = json_bool_at(spec, "suspend", false) && json_int_at(spec, "completions", -1) == 0;

    if (!f->finished)
        return;
    if ((turned || changed(f, old, "active")) && spot_int(&active) > 0)
        spot_invalid(&active, "active>0 is invalid for finished job");
    if ((turned || changed(f, old, "startTime")) && !empty && !spot_has(&start))
        spot_required(&start, "startTime is required for finished job");
    if ((turned || changed(f, old, "uncountedTerminatedPods")) &&
        json_items_at(uncounted.v, "failed").n + json_items_at(uncounted.v, "succeeded").n > 0)
        refuse_uncounted(&uncounted);
}

/* Both lists are sorted; fragments that cannot be parsed are skipped. */
static void check_overlap(const struct spot *failed, struct str completed, int64_t completions)
{
    struct arena *a = failed->errors->arena;
    struct str lists[2] = {completed, spot_str(failed)}, part, error;
    int64_t at[2][2];
    bool have[2] = {false, false};

    if (str_empty(lists[0]) || str_empty(lists[1]))
        return;
    for (;;) {
        for (int i = 0; i < 2; i++) {
            while (!have[i] && str_split(&lists[i], ',', &part))
                have[i] = job_interval_parse(part, completions, a, at[i], &error);
            if (!have[i])
                return;
        }
        if (at[0][0] <= at[1][1] && at[1][0] <= at[0][1]) {
            spot_invalid(failed, "failedIndexes and completedIndexes overlap at index: %lld",
                         (long long)MAX(at[0][0], at[1][0]));
            return;
        }
        have[at[0][0] <= at[1][0] ? 0 : 1] = false;
    }
}

static void check_indexes(const struct spot *status, const struct facts *f, const struct facts *old,
                          const struct json_value *spec)
{
    struct spot completed = spot_text(status, "completedIndexes");
    struct spot failed = spot_get(status, "failedIndexes");
    const struct json_value *limit = json_get(spec, STR("backoffLimitPerIndex"));
    bool has_completions = json_get(spec, STR("completions")) != NULL;
    int64_t completions = json_int_at(spec, "completions", 0), total;
    bool completed_changed = changed(f, old, "completedIndexes");
    bool failed_changed = changed(f, old, "failedIndexes");
    struct arena *a = status->errors->arena;
    struct str error;

    if (completed_changed && has_completions &&
        !job_indexes_parse(spot_str(&completed), completions, a, &total, &error))
        spot_invalid(&completed, "error parsing completedIndexes: %.*s", STR_ARG(error));
    if (failed_changed && has_completions && limit && spot_has(&failed) &&
        !job_indexes_parse(spot_str(&failed), completions, a, &total, &error))
        spot_invalid(&failed, "error parsing failedIndexes: %.*s", STR_ARG(error));
    if (completed_changed && !spot_empty(&completed) &&
        !str_is(json_text_at(spec, "completionMode"), "Indexed"))
        spot_invalid(&completed,
                     "cannot set non-empty completedIndexes when non-indexed completion mode");
    if (failed_changed && !limit && spot_has(&failed))
        spot_invalid(&failed,
                     "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    if ((failed_changed || completed_changed) && has_completions && spot_has(&failed))
        check_overlap(&failed, spot_str(&completed), completions);
}

static void check_pods(const struct spot *status, const struct facts *f, const struct facts *old)
{
    struct spot terminating = spot_get(status, "terminating");
    struct spot ready = spot_get(status, "ready"), active = spot_number(status, "active");

    if ((f->finished != old->finished || changed(f, old, "terminating")) && f->finished &&
        spot_int(&terminating) > 0)
        spot_invalid(&terminating, "terminating>0 is invalid for finished job");
    if ((changed(f, old, "ready") || changed(f, old, "active")) && spot_has(&ready) &&
        spot_int(&ready) > spot_int(&active))
        spot_invalid(&ready, "cannot set more ready pods than active");
}

/* What an update may not take back. */
static void check_progress(const struct spot *status, const struct facts *f,
                           const struct facts *old, const struct json_value *spec)
{
    struct spot failed = spot_number(status, "failed");
    struct spot succeeded = spot_number(status, "succeeded");
    struct spot done = spot_get(status, "completionTime"), start = spot_get(status, "startTime");
    const struct json_value *was_done = json_get(old->status, STR("completionTime"));
    const struct json_value *was_started = json_get(old->status, STR("startTime"));
    bool elastic = str_is(json_text_at(spec, "completionMode"), "Indexed") &&
                   json_int_at(spec, "completions", -1) == json_int_at(spec, "parallelism", -2);
    bool resuming = old->suspended && f->resumed;

    refuse_conditions(status, old->failed && !f->failed,
                      "cannot disable the terminal Failed=True condition");
    refuse_conditions(status, old->complete && !f->complete,
                      "cannot disable the terminal Complete=True condition");
    refuse_conditions(status, old->failure_target && !f->failure_target,
                      "cannot disable the terminal FailureTarget=True condition");
    if (spot_int(&failed) < json_int_at(old->status, "failed", 0))
        spot_invalid(&failed, "cannot decrease the failed counter");
    if (!elastic && spot_int(&succeeded) < json_int_at(old->status, "succeeded", 0))
        spot_invalid(&succeeded, "cannot decrease the succeeded counter");
    if (spot_has(&done) && was_done && !field_equal(done.v, was_done))
        spot_invalid(&done, "field is immutable");
    if (was_started && !resuming && !field_equal(start.v, was_started) &&
        !json_bool_at(spec, "suspend", false))
        spot_invalid(&start, "field is immutable for unsuspended job once set");
    refuse_conditions(status, old->criteria_met && !f->criteria_met,
                      "cannot disable the SuccessCriteriaMet=True condition");
    refuse_conditions(status, old->complete && !old->criteria_met && f->criteria_met,
                      "cannot set SuccessCriteriaMet=True for Job already has Complete=true "
                      "conditions");
}

void job_status_validate(const struct json_value *object, const struct json_value *old,
                         struct field_errors *errors)
{
    static const char *const counters[] = {"active", "succeeded",   "failed",
                                           "ready",  "terminating", NULL};
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");
    const struct json_value *spec = json_get(object, STR("spec"));
    struct facts f = facts_of(object), before = facts_of(old);
    bool complete_changed = f.complete != before.complete;
    bool failed_changed = f.failed != before.failed;

    check_counters(&status, counters);
    check_uncounted(&status);
    refuse_conditions(&status, (complete_changed || failed_changed) && f.complete && f.failed,
                      "cannot set Complete=True and Failed=true conditions");
    refuse_conditions(&status,
                      (complete_changed || f.failure_target != before.failure_target) &&
                          f.complete && f.failure_target,
                      "cannot set Complete=True and FailureTarget=true conditions");
    check_times(&status, &f, &before);
    refuse_conditions(&status,
                      (failed_changed || changed(&f, &before, "failedIndexes")) && f.failed &&
                          !f.failure_target,
                      "cannot set Failed=True condition without the FailureTarget=true condition");
    refuse_conditions(&status,
                      (complete_changed || f.criteria_met != before.criteria_met) && f.complete &&
                          !f.criteria_met,
                      "cannot set Complete=True condition without the SuccessCriteriaMet=true "
                      "condition");
    check_finished(&status, &f, &before, spec);
    check_indexes(&status, &f, &before, spec);
    check_pods(&status, &f, &before);
    refuse_conditions(&status, f.criteria_met && f.failed,
                      "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    refuse_conditions(&status, f.criteria_met && f.failure_target,
                      "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    refuse_conditions(&status,
                      json_get(spec, STR("successPolicy")) && !f.criteria_met && f.complete,
                      "cannot set Complete=True for Job with SuccessPolicy unless "
                      "SuccessCriteriaMet=True");
    check_progress(&status, &f, &before, spec);
}
