/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - reports the result of an attempt (upstream: handleSchedulingFailure and friends).
 *
 * Purpose:   events, the pod's PodScheduled condition, log lines, metrics, the decision port and
 *            the explanation, in upstream's order; a pod that failed goes back to the queue.
 * Ownership: borrows all; report_failed takes over the queued pod.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_EXPLAIN_REPORT_H
#define BERTH_ENGINE_EXPLAIN_REPORT_H

#include "engine/explain/explain.h"

/* Where results are reported to. */
struct report {
    struct framework *framework;
    struct queue *queue;
    struct explain *explain;
};

/* The attempt failed: reports it and puts the pod back into the queue. */
void report_failed(const struct report *report, struct berth_queued_pod *queued,
                   const struct cycle_failure *failure, int64_t started,
                   const struct berth_cycle *cycle);
/* The API server has accepted the binding. pod: as assumed on its node. */
void report_bound(const struct report *report, const struct berth_queued_pod *queued,
                  const struct berth_pod *pod, struct berth_cycle *cycle, int64_t started);
/*
 * A pod that is being deleted needs no node (upstream: skipPodSchedule): reports that, removes the
 * pod from the queue and returns true.
 */
bool report_skip_deleting(const struct report *report, struct berth_queued_pod *queued);

#endif
