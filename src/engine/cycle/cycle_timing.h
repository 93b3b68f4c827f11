/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle_timing.h - how long the stages of a cycle take, for metrics.
 *
 * Purpose:   a stage begins where the one before ended, or at cycle_mark: one clock reading each.
 *            In sampled cycles each plugin call is timed as well: plugin_begin before the call,
 *            plugin_end after it. Without metrics all of this is one branch.
 * Ownership: none.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_CYCLE_TIMING_H
#define BERTH_ENGINE_CYCLE_CYCLE_TIMING_H

#include "engine/cycle/cycle.h"
#include "engine/framework/setup.h"
#include "engine/metrics/scheduler_metrics.h"

static inline void cycle_mark(struct berth_cycle *cycle)
{
    if (cycle->framework->metrics)
        cycle->mark = framework_now(cycle->framework);
}

/* The stage has ended. ran: false if no plugin ran, which takes no time. */
static inline void cycle_timed(struct berth_cycle *cycle, enum metric_point point,
                               enum berth_code code, bool ran)
{
    struct scheduler_metrics *m = cycle->framework->metrics;
    if (!m)
        return;
    int64_t began = cycle->mark;
    if (ran)
        cycle->mark = framework_now(cycle->framework);
    scheduler_metrics_point(m, cycle->profile->metrics, point, code, cycle->mark - began);
}

/* A code that does not reject the pod is an error at the level of a stage, as upstream has it. */
static inline enum berth_code stage_code(enum berth_code code)
{
    return code == BERTH_SUCCESS || code_rejects(code) ? code : BERTH_ERROR;
}

static inline int64_t plugin_begin(const struct berth_cycle *cycle)
{
    return cycle->sampled ? framework_now(cycle->framework) : 0;
}

static inline void plugin_end(const struct berth_cycle *cycle, const struct berth_handle *h,
                              enum metric_point point, enum berth_code code, int64_t began)
{
    if (cycle->sampled)
        scheduler_metrics_plugin(cycle->framework->metrics, h, point, code,
                                 framework_now(cycle->framework) - began, 1);
}

/* A plugin ran, for n nodes if it runs per node. */
static inline void plugin_evaluated(const struct berth_cycle *cycle, const struct berth_handle *h,
                                    enum metric_evaluation at, size_t n)
{
    if (cycle->framework->metrics)
        scheduler_metrics_evaluated(cycle->framework->metrics, cycle->profile->metrics, at, h->id,
                                    n);
}

/* The scheduling algorithm, which began at `started`, is over. */
static inline void cycle_algorithm_done(struct berth_cycle *cycle, int64_t started)
{
    cycle_mark(cycle);
    if (cycle->framework->metrics)
        scheduler_metrics_algorithm(cycle->framework->metrics, cycle->mark - started);
}

#endif
