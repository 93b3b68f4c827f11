/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_spec.h - where plugins that score by measured load get the measurements (TrimaranSpec).
 *
 * Purpose:   the arguments that TargetLoadPacking, LoadVariationRiskBalancing and
 *            LowRiskOverCommitment have in common: the address of a load watcher, or a provider of
 *            metrics.
 * Ownership: part of the plugin's arguments.
 * Threading: constant once read.
 */
#ifndef BERTH_PLUGINS_SIGS_LOAD_SPEC_H
#define BERTH_PLUGINS_SIGS_LOAD_SPEC_H

#include "plugins/common/plugin_args.h"

struct metric_provider {
    struct str type; /* "KubernetesMetricsServer", "Prometheus", "SignalFx" */
    struct str address;
    struct str token;
    bool *insecure_skip_verify;
};

struct load_spec {
    struct metric_provider metric_provider;
    struct str *watcher_address;
};

extern const struct type metric_provider_type;

/* The rows of a member `spec`, a struct load_spec, of the arguments C. */
#define LOAD_SPEC_FIELDS(C)                                                            \
    F_ALWAYS_MSG(C, spec.metric_provider, "metricProvider", 0, struct metric_provider, \
                 &metric_provider_type),                                               \
        F_PTR(C, spec.watcher_address, "watcherAddress", 0, STR)

void load_spec_fill(struct load_spec *spec, struct arena *a);
void load_spec_check(const struct load_spec *spec, struct error_list *c);

#endif
