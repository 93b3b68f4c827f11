/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.h - feature gates: upstream's that plugins read, and our own.
 *
 * Purpose:   one table of gates with their defaults. Those named Berth… are berth's own and off:
 *            each mends a quirk of upstream's that changes placements, or adds what upstream lacks.
 * Ownership: values.
 * Threading: set before the engine is made, constant afterwards.
 */
#ifndef BERTH_ENGINE_FEATURES_H
#define BERTH_ENGINE_FEATURES_H

#include "base/buf.h"
#include "base/err.h"

enum feature {
    FEATURE_MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    FEATURE_NODE_DECLARED_FEATURES,
    FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS,
    /* Negative namespace selectors of a pod's own affinity terms do not match every namespace. */
    FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS,
    /* Among nodes with equal totals one is drawn by lot, as up to 1.34. */
    FEATURE_BERTH_RANDOM_TIES,
    /* Scores of nodes with absurd capacities stay in range instead of overflowing. */
    FEATURE_BERTH_SANE_SCORES,
    FEATURE_COUNT,
};

struct features {
    bool on[FEATURE_COUNT];
    bool named[FEATURE_COUNT]; /* AllAlpha and AllBeta are not about those that were named */
};

void features_default(struct features *f);
/* "Name=true,Other=false", as --feature-gates has it; also AllAlpha and AllBeta. */
int features_parse(struct features *f, struct str text, struct err *reterr) MUST_CHECK;
/* For --help: one line a gate, "Name=true|false (BETA - default=true)". */
void features_write_help(struct buf *out);

struct berth_handle;
/* For plugins: the gates of the engine that they work for. */
bool handle_feature(const struct berth_handle *h, enum feature feature);

#endif
