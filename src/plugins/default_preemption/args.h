/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - DefaultPreemptionArgs, and PreemptionTolerationArgs, which have the same fields.
 *
 * Purpose:   the number of candidates that preemption searches for.
 * Ownership: a decoded value lives in the caller's arena.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_DEFAULT_PREEMPTION_ARGS_H
#define BERTH_PLUGINS_DEFAULT_PREEMPTION_ARGS_H

#include "plugins/common/in_tree.h"

struct default_preemption_args {
    struct args_meta meta;
    int32_t *min_candidate_nodes_percentage, *min_candidate_nodes_absolute;
};

#endif
