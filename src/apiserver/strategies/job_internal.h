/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_internal.h - what Jobs and CronJobs share.
 *
 * Purpose:   defaults and validation of a JobSpec, which is also in the template of a CronJob, and
 *            the validation of a Job's status, which has a file of its own.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_JOB_INTERNAL_H
#define BERTH_APISERVER_STRATEGIES_JOB_INTERNAL_H

#include "apiserver/strategies/workload_checks.h"

/* Defaults below a JobSpec that a CronJob's template has, too. */
void job_template_set_defaults(struct json_value *spec, struct arena *a);
/* A JobSpec without what concerns its selector. */
void job_spec_validate(const struct spot *spec);
void job_spec_warn(const struct json_value *spec, const char *path, struct buf *warnings);
/* spec.podFailurePolicy and spec.successPolicy, which the spec has. */
void job_failure_policy_validate(const struct spot *spec);
void job_success_policy_validate(const struct spot *spec);
void job_status_validate(const struct json_value *object, const struct json_value *old,
                         struct field_errors *errors);

/*
 * Indexes such as "1,3-5,7", all below completions. False: *ret_error says why. ret_total: how
 * many indexes there are.
 */
bool job_indexes_parse(struct str text, int64_t completions, struct arena *a, int64_t *ret_total,
                       struct str *ret_error);
/* One interval of such a list. */
bool job_interval_parse(struct str text, int64_t completions, struct arena *a,
                        int64_t ret_interval[2], struct str *ret_error);

#endif
