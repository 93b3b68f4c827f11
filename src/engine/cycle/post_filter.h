/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_filter.h - PostFilter: make room for a pod that fits on no node.
 *
 * Purpose:   runs the PostFilter plugins until one returns a final verdict. An in-tree plugin may
 *            need time, since it calls extenders or waits for writes: it returns BERTH_ASYNC, the
 *            attempt waits, and post_filter_answer continues.
 * Ownership: results live as long as the cycle.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_POST_FILTER_H
#define BERTH_ENGINE_CYCLE_POST_FILTER_H

#include "engine/cycle/cycle.h"

/*
 * Runs the PostFilter plugins and appends their reasons to the failure's text. Returns false if one
 * of them needs time (BERTH_ASYNC): post_filter_answer follows, *failure is not complete.
 */
bool post_filter_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                     struct cycle_failure *failure);
/* The verdict of that plugin. Returns false as above. */
bool post_filter_answer(struct berth_cycle *cycle, const struct berth_pod *pod,
                        struct cycle_failure *failure, enum berth_code code,
                        const struct berth_status *status);

/* The filters' verdict on a node, also on one that was not filtered. */
enum berth_code post_filter_verdict(const struct berth_cycle *cycle, const struct berth_node *node);

/*
 * Appends ,"postFilter":{"plugin":NAME,"code":CODE,"reasons":[TEXT…],"nominatedNode":NODE,
 * "victims":["NAMESPACE/NAME"…],"pdbViolations":N,"candidates":N,"offset":N}, or nothing if
 * no plugin ran. The plugin is the one with the final verdict; code and reasons are joined as
 * upstream does. Victims are in order of importance.
 */
void post_filter_write(const struct berth_cycle *cycle, struct buf *out);

#endif
