/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_retired.h - flags that kube-scheduler had once and manifests still carry.
 *
 * Purpose:   what they say about the configuration, as 1.22 meant it. A Policy from a file or a
 *            ConfigMap takes the place of the profiles, also of those of a --config that says
 *            nothing about plugins; the name of the scheduler, a provider and weights count where
 *            there is no --config.
 * Ownership: the configuration lives in the arena that is given.
 * Threading: one thread, at start; a ConfigMap is waited for.
 */
#ifndef BERTH_CMD_SCHEDULER_RETIRED_H
#define BERTH_CMD_SCHEDULER_RETIRED_H

#include "cmd/scheduler_flags.h"
#include "engine/config.h"

/* config: that of --config or the default one, with the address of the API server. */
int retired_apply(const struct scheduler_options *o, struct arena *a,
                  struct scheduler_config *config, struct err *reterr) MUST_CHECK;

#endif
