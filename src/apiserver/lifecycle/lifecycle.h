/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle.h - the controllers of a cluster other than those of workloads and volumes.
 *
 * Purpose:   garbage collection in all modes, deletion of namespaces, service accounts and root
 *            CA, disruption budgets, health and taints of nodes with evictions, pods that no
 *            kubelet removes, Endpoints and EndpointSlices, usage of quotas. A state machine:
 *            changes and answers in, writes out, time is an argument. Controllers read the current
 *            objects from the store and keep indexes of their own, so that a change costs work in
 *            proportion to what it concerns.
 * Ownership: the store, the resources and the texts of the options are borrowed. Writes are
 *            borrowed for the call.
 * Threading: one thread.
 *
 * Every object is looked at again when something around it has changed, at most one round of writes
 * for it is under way, and each write has a precondition on the version that was looked at. A write
 * that is refused is made again later, from newer objects.
 */
#ifndef BERTH_APISERVER_LIFECYCLE_LIFECYCLE_H
#define BERTH_APISERVER_LIFECYCLE_LIFECYCLE_H

#include "apiserver/controllers/writer.h"
#include "apiserver/store/store.h"

struct lifecycle;

struct lifecycle_options {
    struct writer writer;
    struct store *store; /* is read only */
    const struct resources *resources;
    struct str root_ca; /* PEM, for the ConfigMaps kube-root-ca.crt; empty: none are made */
};

struct lifecycle *lifecycle_new(const struct lifecycle_options *options)
    __attribute__((returns_nonnull));
struct lifecycle *lifecycle_free(struct lifecycle *l);

/* After the change of the store. Objects that exist before the first run are told as added. */
void lifecycle_changed(struct lifecycle *l, const struct store_event *event);
/* status: of HTTP; 0: no response. */
void lifecycle_write_done(struct lifecycle *l, uint64_t id, int status, int64_t now);
/* Looks at everything that changed or is due, and makes the writes. */
void lifecycle_run(struct lifecycle *l, int64_t now);
/* When to run next: 0: now; INT64_MAX: after the next change only. */
int64_t lifecycle_next(const struct lifecycle *l);

#endif
