/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload.h - replaces the configuration of a running engine.
 *
 * Purpose:   builds profiles, plugin instances and extenders of a new configuration and puts them
 *            in place of the current ones, between two attempts. Cache and queue stay:
 *
 *            - Attempts and bindings under way, Permit included, end with the instances that they
 *              began with. A pod held in Permit may be allowed by the new instance of a plugin as
 *              well as by the old one.
 *            - Queued pods are ordered by the new QueueSort. A pod is tried again (EVENT_RELOAD) if
 *              a plugin that rejected it was removed, or has other arguments or other extension
 *              points. PreEnqueue runs again for pods whose gate has changed. A reload without a
 *              change decides nothing.
 *            - Pods whose profile was removed leave the queue. Pods whose profile is new are not
 *              known to the engine: the caller passes them to engine_object_changed as additions.
 *
 *            All or nothing: if it fails, nothing has changed.
 * Ownership: config, its texts and the extenders must live until ports.retired is called with
 *            their owner: a later reload has replaced them and their last cycle has ended.
 *            engine_free ends all of them without that call.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_RELOAD_H
#define BERTH_ENGINE_RELOAD_H

#include "engine/engine.h"

struct reload_result {
    size_t moved; /* pods moved out of unschedulablePods */
    size_t gone;  /* pods whose profile was removed */
    size_t come;  /* pods whose profile is new; set by the caller, which adds them */
};

/*
 * Reads config, registry, extenders, owner and ports.pool of the options; the others are ignored.
 * The engine no longer uses the previous pool when this returns.
 */
int engine_reload(struct engine *engine, const struct engine_options *options,
                  struct reload_result *ret_result, struct err *reterr) MUST_CHECK;

#endif
