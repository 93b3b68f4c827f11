/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubelets.h - simulated nodes: what kubelets do to their pods and nodes.
 *
 * Purpose:   pods that are bound become Running, restart, finish and are deleted with grace, with
 *            init containers and sidecars in their order; nodes renew their leases and report
 *            conditions. A state machine: objects and answers in, writes out, time is an argument.
 * Ownership: keeps what it needs of the objects that it is told of. Writes are borrowed for the
 *            call.
 * Threading: one thread.
 *
 * Annotations say how pods live. On a pod they are for all its containers, or with ".CONTAINER" at
 * the end of the name for one; on a node they are the defaults of its pods.
 *
 *   berth.dev/start-delay     duration until the first container starts; 0s
 *   berth.dev/init-run-time   how long each init container runs; 0s
 *   berth.dev/init-exit-code  its exit code; 0
 *   berth.dev/run-time        how long each container runs; for ever, and 1s in pods of a Job
 *   berth.dev/exit-code       its exit code; 0
 *   berth.dev/ready-delay     duration from the start of a container until it is ready; 0s
 *   berth.dev/stop-delay      how long the containers take to end after the pod was deleted, at
 * most its grace period; "grace": all of it; 0s
 *
 * On nodes only:
 *
 *   berth.dev/killed          "true": the kubelet has stopped. It renews no lease and does nothing
 *                             to the node's pods.
 *
 * Durations are written as in Go, "1m30s". Values that cannot be read are ignored.
 */
#ifndef BERTH_APISERVER_KUBELET_KUBELETS_H
#define BERTH_APISERVER_KUBELET_KUBELETS_H

#include "apiserver/controllers/writer.h"
#include "apiserver/store/store.h"

struct kubelets;

struct kubelets_options {
    struct writer writer;
    int64_t lease_duration; /* ns; 0: 40 s. Leases are renewed after a quarter of it. */
    bool without_leases;
    uint64_t seed; /* of container IDs */
};

struct kubelets *kubelets_new(const struct kubelets_options *options)
    __attribute__((returns_nonnull));
struct kubelets *kubelets_free(struct kubelets *k);

void kubelets_changed(struct kubelets *k, const struct store_event *event);
void kubelets_write_done(struct kubelets *k, uint64_t id, int status, int64_t now);
/* Does what is due and makes the writes. */
void kubelets_run(struct kubelets *k, int64_t now);
/* When to run next: 0: now; INT64_MAX: after the next change only. */
int64_t kubelets_next(const struct kubelets *k);

#endif
