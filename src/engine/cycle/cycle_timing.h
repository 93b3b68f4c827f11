/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cycle_timing.h - how long the stages of a cycle take, for metrics.
 *
 * Purpose:   a stage begins where the one before ended, or at cycle_mark: one look at the clock for
 *            each. In sampled cycles each plugin is timed by itself, too: plugin_begin before the
 *            call, plugin_end after it. Without metrics all of this is a branch.
 * Ownership: none.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_CYCLE_TIMING_H
#define BERTH_ENGINE_CYCLE_CYCLE_TIMING_H

#include "engine/internal.h"

static inline void cycle_mark(struct berth_cycle *cycle)
{
    if (cycle->engine->metrics)
        cycle->mark = engine_now(cycle->engine);
}

/* The stage has ended. ran: false where nobody was asked, which takes no time. */
static inline void cycle_timed(struct berth_cycle *cycle, enum metric_point point,
                               enum berth_code code, bool ran)
{
    struct scheduler_metrics *m = cycle->engine->metrics;
    if (!m)
        return;
    int64_t began = cycle->mark;
    if (ran)
        cycle->mark = engine_now(cycle->engine);
    scheduler_metrics_point(m, cycle->profile->metrics, point, code, cycle->mark - began);
}

/* The same where whatever does not turn the pod down is an error, as upstream wraps it. */
static inline enum berth_code stage_code(enum berth_code code)
{
    return code == BERTH_SUCCESS || code_rejects(code) ? code : BERTH_ERROR;
}

static inline int64_t plugin_begin(const struct berth_cycle *cycle)
{
    return cycle->sampled ? engine_now(cycle->engine) : 0;
}

static inline void plugin_end(const struct berth_cycle *cycle, const struct berth_handle *h,
                              enum metric_point point, enum berth_code code, int64_t began)
{
    if (cycle->sampled)
        scheduler_metrics_plugin(cycle->engine->metrics, h, point, code,
                                 engine_now(cycle->engine) - began, 1);
}

/* A plugin had its say, about n nodes where it is asked about nodes. */
static inline void plugin_evaluated(const struct berth_cycle *cycle, const struct berth_handle *h,
                                    enum metric_evaluation at, size_t n)
{
    if (cycle->engine->metrics)
        scheduler_metrics_evaluated(cycle->engine->metrics, cycle->profile->metrics, at, h->id, n);
}

#endif
