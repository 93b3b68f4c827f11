/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_metrics.h - metrics that plugins register (struct berth_metric).
 *
 * Purpose:   checks names and shapes, and gives the same metric for the same name, in every profile
 *            and after a reload.
 * Ownership: the registry owns them, as one of its parts.
 * Threading: made on the engine's thread; updated on any.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_PLUGIN_METRICS_H
#define BERTH_ENGINE_FRAMEWORK_PLUGIN_METRICS_H

#include "engine/framework/framework.h"

enum plugin_metric_update { PLUGIN_METRIC_ADD, PLUGIN_METRIC_SET, PLUGIN_METRIC_OBSERVE };

/* Before a second thread uses the registry. */
void plugin_metrics_prepare(struct metrics *registry);
/* NULL and an error in the log if the metric is refused. Metrics are off: one that does nothing. */
struct berth_metric *plugin_metric_new(const struct berth_handle *h,
                                       const struct berth_metric_desc *desc);
/* An update that the kind of the metric does not have is ignored. NULL is allowed. */
void plugin_metric_update(struct berth_metric *metric, enum plugin_metric_update update,
                          const struct berth_str *labels, double value);

#endif
