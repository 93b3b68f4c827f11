/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toleration.h - matches tolerations and taints.
 *
 * Purpose:   all operators: Equal, Exists, Lt, Gt.
 * Ownership: nothing is kept.
 * Threading: any thread.
 *
 * `comparison` enables Lt and Gt (feature gate TaintTolerationComparisonOperators); without it a
 * toleration with one of them tolerates nothing.
 */
#ifndef BERTH_API_TOLERATION_H
#define BERTH_API_TOLERATION_H

#include "api/node_affinity.h"

/* Sets of effects; a taint with an unknown effect is in none of them. */
enum taint_effects {
    TAINT_NO_SCHEDULE = 1 << 0,
    TAINT_PREFER_NO_SCHEDULE = 1 << 1,
    TAINT_NO_EXECUTE = 1 << 2,
    TAINT_BARS = TAINT_NO_SCHEDULE | TAINT_NO_EXECUTE, /* prevent scheduling on the node */
};

/* The effect as a set of one, or 0. */
unsigned taint_effect(const struct taint *taint);

struct taint_list {
    const struct taint *v;
    size_t n;
};
struct toleration_list {
    const struct toleration *v;
    size_t n;
};

bool toleration_tolerates(const struct toleration *t, const struct taint *taint, bool comparison);
bool tolerations_tolerate(struct toleration_list tolerations, const struct taint *taint,
                          bool comparison);

/* The first taint with one of the effects that no toleration matches; NULL if there is none. */
const struct taint *taints_find_untolerated(struct taint_list taints,
                                            struct toleration_list tolerations, unsigned effects,
                                            bool comparison);
/* The number of PreferNoSchedule taints that are not tolerated. */
size_t taints_count_intolerable(struct taint_list taints, struct toleration_list tolerations,
                                bool comparison);

#endif
