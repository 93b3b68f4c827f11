/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_table.h - the stages of every feature gate.
 *
 * Purpose:   the history of a gate in one line: "22a- 27b+ 34g+!" is alpha and off from 1.22 on,
 *            beta and on from 1.27 on, and generally available and locked on since 1.34. Only
 *            features.c reads it.
 * Ownership: constant.
 * Threading: any thread.
 */
#ifndef BERTH_ENGINE_CONFIG_FEATURE_TABLE_H
#define BERTH_ENGINE_CONFIG_FEATURE_TABLE_H

#include "base/str.h"

#define FEATURE_GATE_COUNT 248

struct feature_gate {
    struct str name;
    /*
     * Oldest first: the minor version from which the stage applies, (a)lpha, (b)eta, (g)enerally
     * available or (d)eprecated, + or - for the default, ! if it is locked.
     */
    const char *stages;
    const char *needs; /* gates that this one depends on; NULL: none */
};

/* Sorted by name. */
extern const struct feature_gate feature_gates[FEATURE_GATE_COUNT];

#endif
