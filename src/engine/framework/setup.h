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

#include "engine/framework/framework.h"

/* An extender, in its place among the others. */
struct engine_extender {
    struct extender spec;
    size_t given; /* its index in engine_options.extenders */
    uint16_t id;  /* its name's, as if it were a plugin: for verdicts and scores */
};

struct setup {
    struct framework *framework;
    const struct scheduler_config *config;
    void *owner; /* of config and extenders: see engine_options */
    VEC(struct profile *) profiles;
    const struct berth_handle *handles[FRAMEWORK_MAX_PLUGINS]; /* any instance, by plugin id */
    VEC(struct engine_extender) extenders;                     /* ignorable ones last */
    uint16_t extender_plugin;                                  /* id of EXTENDER_PLUGIN */
    size_t n_cycles;                                           /* that run with it */
    struct setup *older; /* among those that have been replaced */
};

/* What a setup is made of. */
struct setup_options {
    const struct scheduler_config *config; /* outlives the setup */
    const struct registry *registry;
    const struct extender *extenders; /* copied; their texts are not */
    size_t n_extenders;
    void *owner; /* of config and extenders: passed to extender calls and to ports.retired */
};

/* Makes profiles and instances. The framework does not use the setup yet: see framework.setup. */
int setup_new(struct framework *fw, const struct setup_options *options, struct setup **ret_setup,
              struct err *reterr) MUST_CHECK;
struct setup *setup_free(struct setup *setup);
/* NULL where no profile has that name. */
struct profile *setup_profile(const struct setup *setup, struct str scheduler_name);
/* Calls an extender of the setup. call->id is set by the caller. */
void setup_call_extender(const struct setup *setup, const struct engine_extender *extender,
                         struct extender_call *call);
/* Logs which plugins the profiles run, as upstream does at start. */
void setup_log_plugins(const struct setup *setup);

#endif
