/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_admission.h - what an API server makes of a new pod.
 *
 * Purpose:   the defaults and the admission plugins of upstream that change what scheduling reads:
 *            requests from limits, host ports, matchLabelKeys, DefaultTolerationSeconds, Priority,
 *            RuntimeClass. LimitRanger and webhooks are not among them.
 * Ownership: what is added lives in the arena given, or is the class's own.
 * Threading: one thread; the pod is not shared yet.
 */
#ifndef BERTH_API_POD_ADMISSION_H
#define BERTH_API_POD_ADMISSION_H

#include "api/pod.h"
#include "api/runtime_class.h"
#include "api/scheduling.h"

/* Defaults of the API and DefaultTolerationSeconds. */
void pod_set_defaults(struct pod *pod, struct arena *a);

/*
 * The class of a name: one of classes[n], or one of the two that every cluster has. Without a name
 * the global default, of several the one of the lowest value; NULL: there is none.
 */
const struct priority_class *priority_class_find(const struct priority_class *const *classes,
                                                 size_t n, struct str name);
/* class: NULL for the priority of pods without one. A priority that the pod has stays. */
void pod_set_priority(struct pod *pod, const struct priority_class *class, struct arena *a);

/* Overhead, node selector and tolerations of the pod's runtime class. -EINVAL: they contradict. */
int pod_set_runtime_class(struct pod *pod, const struct runtime_class *class, struct arena *a,
                          struct err *reterr) MUST_CHECK;

/* The pod's tolerations and these, without those that it has already. */
void pod_add_tolerations(struct pod_spec *spec, const struct toleration *more, size_t n,
                         struct arena *a);

/* A map with these entries as well; they replace those of the same key. */
void str_map_add(str_map *map, const struct str_entry *more, size_t n, struct arena *a);

#endif
