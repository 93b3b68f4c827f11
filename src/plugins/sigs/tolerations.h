/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tolerations.h - pods that tolerate preemption for a while (sigs: PreemptionToleration).
 *
 * Purpose:   the policies in the annotations of PriorityClasses: a pod of the class is not evicted
 *            by pods below a priority until it has run for some time, or ever.
 * Ownership: owns copies, rebuilt after a class has changed.
 * Threading: tolerations_refresh on the engine's thread; tolerations_judge on any thread.
 */
#ifndef BERTH_PLUGINS_SIGS_TOLERATIONS_H
#define BERTH_PLUGINS_SIGS_TOLERATIONS_H

#include "base/time.h"
#include "engine/framework/framework.h"

#define TOLERATION_PREFIX       "preemption-toleration.scheduling.x-k8s.io/"
#define TOLERATION_MIN_PRIORITY TOLERATION_PREFIX "minimum-preemptable-priority"
#define TOLERATION_SECONDS      TOLERATION_PREFIX "toleration-seconds"

struct tolerations {
    struct arena arena;
    struct map by_class; /* name of the PriorityClass → struct toleration_policy */
    uint64_t seen;       /* changes of classes, + 1; 0: not built yet */
};

void tolerations_init(struct tolerations *t);
void tolerations_release(struct tolerations *t);
/* Rebuilds them if a class has changed. Policies that cannot be read are logged: no toleration. */
void tolerations_refresh(struct tolerations *t, const struct objects *objects,
                         const struct engine_log *log);

enum tolerance {
    TOLERANCE_NONE, /* the pod may be evicted */
    TOLERANCE_YES,
    TOLERANCE_NO_CLASS, /* its PriorityClass does not exist */
};
/* Whether the pod tolerates preemption by a pod of this priority (upstream:
 * ExemptedFromPreemption). */
enum tolerance tolerations_judge(const struct tolerations *t, const struct pod *pod,
                                 int32_t preemptor_priority, struct timestamp now);

#endif
