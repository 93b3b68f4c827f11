/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategies.h - the arrays of strategies, one per file.
 *
 * Purpose:   strategies.c looks resources up in these. Each array ends with an empty plural.
 * Ownership: constant data.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_STRATEGIES_H
#define BERTH_APISERVER_STRATEGIES_STRATEGIES_H

#include "apiserver/strategies/strategy.h"

extern const struct strategy pod_strategies[];
extern const struct strategy config_strategies[]; /* config maps, secrets, service accounts */
extern const struct strategy namespace_strategies[];
extern const struct strategy node_strategies[];
extern const struct strategy quota_strategies[]; /* limit ranges, resource quotas */
extern const struct strategy service_strategies[];
extern const struct strategy endpoint_strategies[];    /* endpoints, events */
extern const struct strategy volume_strategies[];      /* persistent volumes and claims */
extern const struct strategy replication_strategies[]; /* pod templates, replication controllers */

#endif
