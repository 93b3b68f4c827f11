/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_retired.h - flags that kube-scheduler has removed and manifests still use.
 *
 * Purpose:   applies them to the configuration as the last release that had them did (1.21 for
 *            --scheduler-name, --algorithm-provider and --hard-pod-affinity-symmetric-weight, 1.22
 *            for the others). A Policy from a file or a ConfigMap replaces all profiles and
 *            extenders, even those of --config; it schedules pods of default-scheduler. A provider
 *            is used only without a Policy. The names of the scheduler and the lock, and the
 *            weight, are ignored if --config is set.
 * Ownership: the configuration lives in the arena given.
 * Threading: one thread, at start; blocks while a ConfigMap is fetched.
 */
#ifndef BERTH_CMD_SCHEDULER_SCHEDULER_RETIRED_H
#define BERTH_CMD_SCHEDULER_SCHEDULER_RETIRED_H

#include "cmd/scheduler/scheduler_flags.h"
#include "engine/config/config.h"

struct error_list;

/* Adds errors in their values. */
void retired_check(const struct scheduler_options *o, struct error_list *out);
/* config: from --config or the defaults; its clientConnection is used to fetch a ConfigMap. */
int retired_apply(const struct scheduler_options *o, struct arena *a,
                  struct scheduler_config *config, struct err *reterr) MUST_CHECK;

#endif
