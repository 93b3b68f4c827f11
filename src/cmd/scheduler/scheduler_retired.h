/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_retired.h - flags that kube-scheduler had once and manifests still carry.
 *
 * Purpose:   what they say about the configuration, as the last release that had each meant it
 *            (1.22; the name of the scheduler, providers and weights: 1.21). A Policy from a file
 *            or a ConfigMap takes the place of profiles and extenders, also of those of a --config:
 *            pods of default-scheduler are scheduled by it. Without a Policy a provider counts.
 *            The name of the scheduler, the lock's and weights count where there is no --config.
 * Ownership: the configuration lives in the arena that is given.
 * Threading: one thread, at start; a ConfigMap is waited for.
 */
#ifndef BERTH_CMD_SCHEDULER_SCHEDULER_RETIRED_H
#define BERTH_CMD_SCHEDULER_SCHEDULER_RETIRED_H

#include "cmd/scheduler/scheduler_flags.h"
#include "engine/config/config.h"

struct error_list;

/* What is wrong with their values. */
void retired_check(const struct scheduler_options *o, struct error_list *out);
/* config: that of --config or the default one, with the address of the API server. */
int retired_apply(const struct scheduler_options *o, struct arena *a,
                  struct scheduler_config *config, struct err *reterr) MUST_CHECK;

#endif
