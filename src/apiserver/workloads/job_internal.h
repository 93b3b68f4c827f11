/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_internal.h - one look at a Job: its pods, what they count for, and what is decided.
 *
 * Purpose:   job.c creates and deletes pods, job_status.c counts finished ones without losing or
 *            repeating one, job_policy.c evaluates the policies, job_indexes.c has sets of indexes.
 * Ownership: everything is in scratch memory, except struct job_state.
 * Threading: as workloads.h.
 *
 * A finished pod is counted in three steps, as upstream does: its uid goes to
 * status.uncountedTerminatedPods (its index to completedIndexes), then its finalizer is removed,
 * then the counter is raised and the uid removed. Each step relies on what is stored only.
 */
#ifndef BERTH_APISERVER_WORKLOADS_JOB_INTERNAL_H
#define BERTH_APISERVER_WORKLOADS_JOB_INTERNAL_H

#include "apiserver/workloads/workloads_internal.h"

/* Sorted, separate intervals of indexes: "1,3-5". */
struct interval {
    int64_t first, last;
};
struct indexes {
    struct interval *v;
    size_t n;
};

/* Parts that are not below `limit` are left out. */
struct indexes indexes_parse(struct workloads *w, struct str text, int64_t limit);
/* A union; `more` need not be sorted and is changed. */
struct indexes indexes_add(struct workloads *w, struct indexes set, int64_t *more, size_t n);
struct str indexes_text(struct workloads *w, struct indexes set);
int64_t indexes_total(struct indexes set);
bool indexes_has(struct indexes set, int64_t index);
/* How many of `set` are in `of`. */
int64_t indexes_common(struct indexes set, struct indexes of);
/* The first indexes below limit that are not in the set; returns how many. */
size_t indexes_missing(struct indexes set, int64_t limit, int64_t *ret_indexes, size_t n);

/* Failures since the last success, for the delay of new pods. */
struct job_state {
    unsigned n_failures;
    int64_t last_failure;
};

struct job {
    struct workloads *w;
    struct workload *o;
    struct json_value *object;
    struct json_value status; /* the next one */
    const struct json_value *spec;
    struct pod_item **active;
    size_t n_active, n_ready, n_terminating;
    int64_t succeeded, failed;            /* with those that are not counted yet */
    int64_t completions;                  /* -1: none */
    int64_t limit_per_index;              /* -1: none */
    bool indexed, suspended, only_failed; /* podReplacementPolicy: Failed */
    struct indexes done, failed_indexes;
    struct new_condition finish; /* decided: SuccessCriteriaMet or FailureTarget; type NULL: no */
    bool failing;                /* it has the condition FailureTarget */
    struct pod_item **kept;      /* by index: see job_kept_failure */
    size_t n_kept;
    bool uncounted; /* a finished pod is not counted yet */
};

/* Whether it has an index that the Job has. */
bool job_pod_valid(const struct job *j, const struct pod_item *pod);
/* When its last container ended. */
int64_t job_pod_finish_time(struct job *j, const struct pod_item *pod);

/* --- job_policy.c ----------------------------------------------------------------------------- */

enum failure_action { FAILURE_COUNT, FAILURE_IGNORE, FAILURE_FAIL_INDEX, FAILURE_FAIL_JOB };
/* ret_message: of FAILURE_FAIL_JOB. */
enum failure_action job_failure_action(struct job *j, const struct pod_item *pod,
                                       struct str *ret_message);
/* The index of the rule of the successPolicy that is met; -1: none. */
int job_success_rule(struct job *j);

/* --- job_status.c ----------------------------------------------------------------------------- */

/* Counts the pods; fills the status with what they add, and j->finish with what follows. */
void job_count(struct job *j);
void job_decide(struct job *j);
void job_release_pod(struct job *j, const struct pod_item *pod);
/* Removes finalizers of pods that are counted. */
void job_release_pods(struct job *j);
/* Writes the status; with the last condition if everything is counted. */
void job_write_status(struct job *j);
/* The failed pod whose finalizer stays until the index has another pod; NULL if there is none. */
struct pod_item *job_kept_failure(struct job *j, int64_t index);

#endif
