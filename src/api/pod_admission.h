/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_admission.h - what an API server adds to a new pod.
 *
 * Purpose:   upstream's defaults and admission plugins that change what scheduling reads: requests
 *            from limits, host ports, matchLabelKeys, DefaultTolerationSeconds, Priority,
 *            RuntimeClass. LimitRanger and webhooks are not included.
 * Ownership: additions live in the given arena, or belong to the class.
 * Threading: one thread; the pod is not shared yet.
 */
#ifndef BERTH_API_POD_ADMISSION_H
#define BERTH_API_POD_ADMISSION_H

#include "api/pod.h"
#include "api/runtime_class.h"
#include "api/scheduling.h"

/* API defaults and DefaultTolerationSeconds. */
void pod_set_defaults(struct pod *pod, struct arena *a);

/*
 * Finds the class of a name: one of classes[n], or one of the two built-in ones. Without a name the
 * global default, of several the one of the lowest value; NULL: none.
 */
const struct priority_class *priority_class_find(const struct priority_class *const *classes,
                                                 size_t n, struct str name);
/* class: NULL for pods without one. An existing priority is kept. */
void pod_set_priority(struct pod *pod, const struct priority_class *class, struct arena *a);

/*
 * Adds overhead, node selector and tolerations of the pod's runtime class. -EINVAL: conflict with
 * the pod.
 */
int pod_set_runtime_class(struct pod *pod, const struct runtime_class *class, struct arena *a,
                          struct err *reterr) MUST_CHECK;

/* Adds the tolerations that the pod does not have. */
void pod_add_tolerations(struct pod_spec *spec, const struct toleration *more, size_t n,
                         struct arena *a);

/* Adds entries to the map; they replace entries with the same key. */
void str_map_add(str_map *map, const struct str_entry *more, size_t n, struct arena *a);

#endif
