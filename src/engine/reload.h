/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.h - another configuration for an engine that runs.
 *
 * Purpose:   makes profiles, plugin instances and extenders of a new configuration and puts them in
 *            place of those that are there, between two attempts. Cache and queue stay:
 *
 *              attempts and bindings that are under way, Permit included, end with the instances
 *              that they began with; a waiting pod may be allowed by the new instance of a plugin
 *              as by the old one;
 *              pods that wait are ordered by the new QueueSort; who was turned down by a plugin
 *              that is gone, has other arguments or other points, is tried again (the event is
 *              EVENT_RELOAD), as are all that a gate holds;
 *              pods whose profile is gone leave. Pods whose profile is new are not known here:
 *              whoever tells of objects tells of them once more, as additions.
 *
 *            All or nothing: where it fails, nothing has changed.
 * Ownership: config, its texts and the extenders must live until the port `retired` is called with
 *            their owner: when a later reload has replaced them and their last cycle has ended.
 *            engine_free ends all of them without calling it.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_RELOAD_H
#define BERTH_ENGINE_RELOAD_H

#include "engine/engine.h"

struct reload_result {
    size_t moved; /* pods out of unschedulablePods */
    size_t gone;  /* pods whose profile is no more */
    size_t come;  /* pods whose profile is new, for whoever tells of them to count */
};

/*
 * Of the options, config, registry, extenders, owner and ports.pool count; the pool that was used
 * before is no longer used when it returns.
 */
int engine_reload(struct engine *engine, const struct engine_options *options,
                  struct reload_result *ret_result, struct err *reterr) MUST_CHECK;

#endif
