/* SPDX-License-Identifier: Apache-2.0 */
/* batch: CronJobs. */
#include "apiserver/strategies/job_internal.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/strategies.h"
#include "apiserver/strategies/time_zones.h"
#include "apiserver/types/cron_schedule.h"

#define MAX_NAME 52

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a), *template;

    default_text(spec, "concurrencyPolicy", "Allow", a);
    json_set_default(spec, STR("suspend"), json_bool(false), a);
    json_set_default(spec, STR("successfulJobsHistoryLimit"), json_int(3, a), a);
    json_set_default(spec, STR("failedJobsHistoryLimit"), json_int(1, a), a);
    template = json_set_object(spec, STR("jobTemplate"), a);
    job_template_set_defaults(json_set_object(template, STR("spec"), a), a);
}

static bool names_zone(struct str schedule)
{
    return str_search(schedule, STR("TZ")) < schedule.n;
}

/* A schedule that has a time zone already may keep one: validate_update checks that. */
static void check_schedule(const struct spot *spec, bool is_new)
{
    struct spot schedule = spot_text(spec, "schedule");
    struct cron_schedule parsed;
    struct buf error = BUF_INIT;

    if (spot_empty(&schedule)) {
        spot_required(&schedule, "");
        return;
    }
    if (cron_schedule_parse(spot_str(&schedule), &parsed, &error))
        spot_invalid(&schedule, "%.*s", STR_ARG(buf_str(&error)));
    else if (!str_empty(parsed.zone) && !time_zone_known(parsed.zone))
        spot_invalid(&schedule, "provided bad location %.*s: unknown time zone %.*s",
                     STR_ARG(parsed.zone), STR_ARG(parsed.zone));
    buf_release(&error);
    if (is_new && names_zone(spot_str(&schedule)))
        spot_invalid(&schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
}

static bool zone_part_valid(struct str part)
{
    if (part.n == 0 || part.n > 14 || part.p[0] == '-' || str_is(part, ".") || str_is(part, ".."))
        return false;
    for (size_t i = 0; i < part.n; i++) {
        char c = part.p[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');

        if (!letter && !(c >= '0' && c <= '9') && c != '.' && c != '-' && c != '_' && c != '+')
            return false;
    }
    return true;
}

static void check_zone(const struct spot *zone)
{
    struct str rest = spot_str(zone), part;

    if (!spot_has(zone))
        return;
    if (spot_empty(zone)) {
        spot_invalid(zone, "timeZone must be nil or non-empty string");
        return;
    }
    while (str_split(&rest, '/', &part)) {
        if (!zone_part_valid(part)) {
            spot_invalid(zone, "unknown time zone %.*s", STR_ARG(spot_str(zone)));
            return;
        }
    }
    if (str_eq_fold(spot_str(zone), STR("Local")))
        spot_invalid(zone, "timeZone must be an explicit time zone as defined in "
                           "https://www.iana.org/time-zones");
    if (!str_is(spot_str(zone), "Local") && !time_zone_known(spot_str(zone)))
        spot_invalid(zone, "unknown time zone %.*s", STR_ARG(spot_str(zone)));
}

static void check_job_template(const struct spot *spec)
{
    static const char *const none[] = {"nil", "false", NULL};
    struct spot template = spot_get(spec, "jobTemplate"), job = spot_get(&template, "spec");
    struct spot selector = spot_get(&job, "selector");
    struct spot manual = spot_get(&job, "manualSelector");

    job_spec_validate(&job);
    if (spot_has(&selector))
        spot_invalid_selector(&selector, "`selector` will be auto-generated");
    if (spot_bool(&manual, false))
        field_not_supported(spec->errors, &manual.path, manual.v, none);
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    static const char *const policies[] = {"Allow", "Forbid", "Replace", NULL};
    static const char *const limits[] = {"successfulJobsHistoryLimit", "failedJobsHistoryLimit",
                                         NULL};
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot metadata = spot_get(&root, "metadata"), name = spot_text(&metadata, "name");
    struct spot policy = spot_text(&spec, "concurrencyPolicy"), zone = spot_get(&spec, "timeZone");
    bool is_new = object_is_new(object);

    check_schedule(&spec, is_new);
    check_counters(&spec, (const char *const[]){"startingDeadlineSeconds", NULL});
    if (is_new)
        check_zone(&zone);
    if (spot_empty(&policy))
        spot_required(&policy, "");
    else
        spot_check_one_of(&policy, policies);
    check_job_template(&spec);
    check_counters(&spec, limits);
    /* The names of its Jobs are longer by 11 characters. */
    if (is_new && spot_str(&name).n > MAX_NAME)
        spot_invalid(&name, "must be no more than 52 characters");
}

static void validate_update(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot schedule = spot_text(&spec, "schedule"), zone = spot_get(&spec, "timeZone");
    bool had_zone = names_zone(json_text_at(old, "spec.schedule"));

    if (names_zone(spot_str(&schedule)) && !had_zone)
        spot_invalid(&schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
    else if (names_zone(spot_str(&schedule)) && spot_has(&zone))
        spot_invalid(&schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
    if (!field_equal(zone.v, json_at(old, "spec.timeZone")))
        check_zone(&zone);
}

static void warn(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (object_is_new(object))
        warn_of_name(object, warnings, "Pod names and hostnames");
    job_spec_warn(json_at(object, "spec.jobTemplate.spec"), "spec.jobTemplate.spec", warnings);
    if (!object_is_new(object) && names_zone(json_text_at(object, "spec.schedule")))
        buf_add_cstr(warnings, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone "
                               "instead, see https://kubernetes.io/docs/concepts/workloads/"
                               "controllers/cron-jobs/ for more details\n");
}

const struct strategy cron_job_strategies[] = {
    {
        .group = STR_INIT("batch"),
        .plural = STR_INIT("cronjobs"),
        .set_defaults = set_defaults,
        .validate = validate,
        .validate_update = validate_update,
        .generation = (const char *const[]){"spec", NULL},
        .unconditional_update = true,
        .warn = warn,
    },
    {.plural = STR_INIT("")},
};
