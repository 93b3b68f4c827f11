/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_retired.h - flags that kube-scheduler had once and manifests still carry.
 *
 * Purpose:   what they say about the configuration, where no --config is given: a Policy from a
 *            file or a ConfigMap, the name of the scheduler, weights.
 * Ownership: the configuration lives in the arena that is given.
 * Threading: one thread, at start; a ConfigMap is waited for.
 */
#ifndef BERTH_CMD_SCHEDULER_RETIRED_H
#define BERTH_CMD_SCHEDULER_RETIRED_H

#include "cmd/scheduler_flags.h"
#include "engine/config.h"

/* The configuration that retired flags ask for: that of a Policy, or the default one. */
int retired_load_config(const struct scheduler_options *o, struct arena *a,
                        struct scheduler_config *ret, struct err *reterr) MUST_CHECK;

#endif
