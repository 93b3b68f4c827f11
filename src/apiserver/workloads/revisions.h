/* SPDX-License-Identifier: Apache-2.0 */
/*
 * revisions.h - ControllerRevisions of StatefulSets and DaemonSets.
 *
 * Purpose:   one revision per template that the workload has had, numbered; the newest number is
 *            the template it has now. kubectl rollout history and undo read them.
 * Ownership: in scratch memory.
 * Threading: as workloads.h.
 */
#ifndef BERTH_APISERVER_WORKLOADS_REVISIONS_H
#define BERTH_APISERVER_WORKLOADS_REVISIONS_H

#include "apiserver/workloads/workloads_internal.h"

#define REVISION_LABEL "controller-revision-hash"

struct revision_view {
    struct member *member;
    const struct json_value *template;
    int64_t number;
};

struct history {
    struct revision_view *v; /* by number */
    size_t n;
    struct revision_view *update; /* of the template; NULL: not written yet */
};

void history_read(struct workloads *w, struct workload *o, const struct json_value *object,
                  struct history *ret_history);
/*
 * Writes the revision of the template, or gives it the highest number. Returns whether it wrote:
 * the look ends.
 */
bool history_sync(struct workloads *w, struct workload *o, const struct json_value *object,
                  struct history *h);
/* The revision of that name; NULL if there is none. */
struct revision_view *history_find(struct history *h, struct str name);
/* The hash of a revision's name. */
struct str revision_hash(const struct workload *o, const struct revision_view *v);
/* Deletes the oldest that no pod has, beyond spec.revisionHistoryLimit. */
typedef bool revision_is_live_fn(void *ctx, const struct revision_view *v);
void history_truncate(struct workloads *w, struct workload *o, const struct json_value *object,
                      struct history *h, revision_is_live_fn *is_live, void *ctx);

#endif
