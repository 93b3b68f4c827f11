/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_table.h - what is known of every feature gate.
 *
 * Purpose:   the history of a gate in one line: "22a- 27b+ 34g+!" is alpha and off from 1.22 on,
 *            beta and on from 1.27 on, and since 1.34 generally available and on for good. Only
 *            features.c reads it.
 * Ownership: program text.
 * Threading: any.
 */
#ifndef BERTH_ENGINE_CONFIG_FEATURE_TABLE_H
#define BERTH_ENGINE_CONFIG_FEATURE_TABLE_H

#include "base/str.h"

#define FEATURE_GATE_COUNT 248

struct feature_gate {
    struct str name;
    /*
     * Oldest first: the minor version from which it holds, (a)lpha, (b)eta, (g)enerally available
     * or (d)eprecated, + or - for the default, ! where that cannot be changed any more.
     */
    const char *stages;
    const char *needs; /* gates that must be on where this one is; NULL: none */
};

/* By name, in the order of bytes. */
extern const struct feature_gate feature_gates[FEATURE_GATE_COUNT];

#endif
