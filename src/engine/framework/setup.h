/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - what an engine has made of one configuration: profiles, plugin instances, extenders.
 *
 * Purpose:   all that a reload replaces, in one piece, so that the old and the new can stand side
 *            by side: attempts and bindings under way end with what they began with.
 * Ownership: an engine has one that is current and any number that have been replaced and are
 *            still in use by cycles; those go with their last cycle (reload.h). A setup owns its
 *            profiles.
 * Threading: the engine's thread; constant once it is made.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_SETUP_H
#define BERTH_ENGINE_FRAMEWORK_SETUP_H

#include "engine/engine.h"

/* An extender, in its place among the others. */
struct engine_extender {
    struct extender spec;
    size_t given; /* its index in engine_options.extenders */
    uint16_t id;  /* its name's, as if it were a plugin: for verdicts and scores */
};

struct setup {
    struct engine *engine;
    const struct scheduler_config *config;
    void *owner; /* of config and extenders: see engine_options */
    VEC(struct profile *) profiles;
    const struct berth_handle *handles[FRAMEWORK_MAX_PLUGINS]; /* any instance, by plugin id */
    VEC(struct engine_extender) extenders;                     /* ignorable ones last */
    uint16_t extender_plugin;                                  /* id of EXTENDER_PLUGIN */
    size_t n_cycles;                                           /* that run with it */
    struct setup *older; /* among those that have been replaced */
};

/* Makes the instances; the engine does not know them yet. */
int setup_new(struct engine *engine, const struct engine_options *options, struct setup **ret_setup,
              struct err *reterr) MUST_CHECK;
struct setup *setup_free(struct setup *setup);
/* NULL where no profile has that name. */
struct profile *setup_profile(const struct setup *setup, struct str scheduler_name);

#endif
