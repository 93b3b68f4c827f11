/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_event.h - records a change of leadership as an Event about the Lease.
 *
 * Purpose:   "host_1b4e28ba became leader". As in upstream's leader election, these are core/v1
 *            Events, never part of a series.
 * Ownership: nothing is kept.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_EVENT_H
#define BERTH_KUBE_LEASE_LEASE_EVENT_H

#include "kube/rest/rest.h"

/* component: the reporting component, the scheduler's name. */
struct rest_call *lease_event_send(struct rest_client *client, const struct object_meta *lease,
                                   struct str component, struct str message, rest_done_fn *fn,
                                   void *ctx);

#endif
