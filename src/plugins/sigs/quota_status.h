/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quota_status.h - writes status.used of ElasticQuotas (upstream: ElasticQuotaReconciler).
 *
 * Purpose:   status.used is what the Running pods of the namespace request: 0 for each resource of
 *            min and max, more for those that are used. A change waits for a second, so that many
 *            changes are one write; a write that failed is repeated. Timers run on the leader only,
 *            so other instances write nothing.
 * Ownership: part of struct quota; see quotas.h.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_SIGS_QUOTA_STATUS_H
#define BERTH_PLUGINS_SIGS_QUOTA_STATUS_H

#include "plugins/sigs/quotas.h"

/* The quota or its running pods changed. */
void quota_status_changed(struct quotas *quotas, struct quota *quota);
/* The quota is about to be freed. */
void quota_status_forget(struct quotas *quotas, struct quota *quota);

#endif
