/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubelets.h - simulated nodes: what kubelets do to their pods and nodes.
 *
 * Purpose:   pods that are bound become Running, restart, finish and are deleted with grace, with
 *            init containers and sidecars in their order; nodes renew their leases and report
 *            conditions. Start delay, run time, exit codes and failures come from annotations of
 *            the pod (kubelets.c lists them) or from the node's template. A state machine: objects
 *            and answers in, writes out, time is an argument.
 * Ownership: keeps what it needs of the objects that it is told of. Writes are borrowed for the
 *            call.
 * Threading: one thread.
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
    uint64_t seed;
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
