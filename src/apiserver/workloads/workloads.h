/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workloads.h - the controllers of Deployments, ReplicaSets, ReplicationControllers, StatefulSets,
 *               DaemonSets, Jobs and CronJobs.
 *
 * Purpose:   what kube-controller-manager does for them: pods are created, replaced, adopted,
 *            released and deleted, rollouts proceed, statuses, conditions and events are written. A
 *            state machine: changes and answers in, writes out, time is an argument.
 * Ownership: holds references on the objects that it is told of. The store is borrowed.
 * Threading: one thread.
 *
 * Names and labels that upstream derives from a hash of a Go value (pod-template-hash,
 * controller-revision-hash) are derived from a hash of the template's JSON: equal templates have
 * equal hashes, but other ones than upstream's. A ReplicaSet or ControllerRevision that
 * kube-controller-manager made is recognized by its template, so that a cluster that is imported
 * does not roll out anew.
 *
 * The members of a workload that was deleted are left to the garbage collector. An answer has a
 * code and no text: messages about refused creations say no more than that. CronJobs: see cron.h
 * for time zones.
 */
#ifndef BERTH_APISERVER_WORKLOADS_WORKLOADS_H
#define BERTH_APISERVER_WORKLOADS_WORKLOADS_H

#include "apiserver/controllers/writer.h"
#include "apiserver/store/store.h"

struct workloads;

struct workloads_options {
    struct writer writer;
    /* The server's own, or a replica that changes before workloads_changed is called. */
    const struct store *store;
    uint64_t seed;
};

struct workloads *workloads_new(const struct workloads_options *options)
    __attribute__((returns_nonnull));
struct workloads *workloads_free(struct workloads *w);

/* A change of the store; those of other resources are ignored. At the start: one per object. */
void workloads_changed(struct workloads *w, const struct store_event *event);
/* status: of HTTP; 0: no answer. */
void workloads_write_done(struct workloads *w, uint64_t id, int status, int64_t now);
/* Does what is due and makes the writes. */
void workloads_run(struct workloads *w, int64_t now);
/* When to run next: 0: now; INT64_MAX: after the next change only. */
int64_t workloads_next(const struct workloads *w);

#endif
