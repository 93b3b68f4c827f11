/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_filter.h - what can be done for a pod that fits nowhere (upstream: PostFilter).
 *
 * Purpose:   asks the PostFilter plugins one after the other until one has the last word. A plugin
 *            of berth's own may need time, since it asks extenders or waits for writes: it answers
 *            BERTH_ASYNC, the attempt is suspended, and post_filter_answer goes on with it.
 * Ownership: what they said lives as long as the cycle.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_CYCLE_POST_FILTER_H
#define BERTH_ENGINE_CYCLE_POST_FILTER_H

#include "engine/cycle/cycle.h"

/*
 * Appends what the plugins have to say about making room to the failure's text. False: one of them
 * needs time, and *failure is not ready.
 */
bool post_filter_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                     struct cycle_failure *failure);
/* What that plugin came to, with its reasons in engine.status. False as above. */
bool post_filter_answer(struct berth_cycle *cycle, const struct berth_pod *pod,
                        struct cycle_failure *failure, enum berth_code code);

/* The filters' verdict on a node, also on one that was not looked at. */
enum berth_code post_filter_verdict(const struct berth_cycle *cycle, const struct berth_node *node);

/*
 * Appends ,"postFilter":{"plugin":NAME,"code":CODE,"reasons":[TEXT…],"nominatedNode":NODE,
 * "victims":["NAMESPACE/NAME"…],"pdbViolations":N,"candidates":N,"offset":N}, or nothing where no
 * plugin was asked. The plugin is the one that had the last word; code and reasons are those of all
 * of them, joined as upstream does. Victims are in order of importance.
 */
void post_filter_write(const struct berth_cycle *cycle, struct buf *out);

#endif
