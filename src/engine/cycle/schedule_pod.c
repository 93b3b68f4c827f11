/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_pod.c - all stages of a cycle in a row (upstream: schedulePod). */
#include "engine/cycle/cycle.h"
#include "engine/cycle/fit_error.h"

void cycle_unfit(struct berth_cycle *cycle, struct cycle_failure *failure)
{
    cycle_blame_limiters(cycle, failure);
    fit_error_write(cycle, &failure->text);
    if (cycle->resumed)
        cycle_restore_verdicts(cycle);
}

struct berth_node *cycle_try(struct berth_cycle *cycle, const struct berth_pod *pod,
                             struct cycle_failure *failure)
{
    if (!cycle_pre_filter(cycle, pod, failure))
        return NULL;
    if (!cycle_try_nominated(cycle, pod, failure) && !cycle_filter(cycle, pod, failure))
        return NULL;
    if (cycle->n_slots == 0) {
        cycle_unfit(cycle, failure);
        return NULL;
    }
    if (cycle->n_slots > 1 && !cycle_score(cycle, pod, failure))
        return NULL;
    return cycle_choose(cycle);
}
