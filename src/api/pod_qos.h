/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_qos.h - the quality of service class of a pod.
 *
 * Purpose:   the class that the API server stored in the pod's status, or the one that it would
 *            compute from the resources (upstream: qos.GetPodQOS).
 * Ownership: nothing is kept.
 * Threading: any thread.
 */
#ifndef BERTH_API_POD_QOS_H
#define BERTH_API_POD_QOS_H

#include "api/pod.h"

/* In order of precedence. POD_QOS_UNKNOWN: the status has a text that is none of the others. */
enum pod_qos { POD_QOS_UNKNOWN, POD_QOS_BEST_EFFORT, POD_QOS_BURSTABLE, POD_QOS_GUARANTEED };

/* Pod-level resources count, as with upstream's default of the gate PodLevelResources. */
enum pod_qos pod_qos_of(const struct pod *pod);

#endif
