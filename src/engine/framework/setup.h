/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - the profiles, plugin instances and extenders of one configuration.
 *
 * Purpose:   all that a reload replaces, in one struct, so that the old and the new can exist side
 *            by side: attempts and bindings under way end with the setup that they began with.
 * Ownership: the framework owns the current setup and those that were replaced and are still used
 *            by cycles; these are freed with their last cycle (reload.h). A setup owns its
 *            profiles.
 * Threading: the engine's thread; constant once built, except n_cycles and older.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_SETUP_H
#define BERTH_ENGINE_FRAMEWORK_SETUP_H

#include "engine/framework/framework.h"

/* An extender, in the order in which extenders are called. */
struct engine_extender {
    struct extender spec;
    size_t given; /* its index in engine_options.extenders */
    uint16_t id;  /* the plugin id of its name, for verdicts and scores */
};

struct setup {
    struct framework *framework;
    const struct scheduler_config *config;
    void *owner;                    /* of config and extenders: see engine_options */
    VEC(struct profile *) profiles; /* in the order of the configuration */
    struct map by_name;             /* the same, by scheduler name */
    const struct berth_handle *handles[FRAMEWORK_MAX_PLUGINS]; /* any instance, by plugin id */
    VEC(struct engine_extender) extenders;                     /* ignorable ones last */
    uint16_t extender_plugin;                                  /* id of EXTENDER_PLUGIN */
    size_t n_cycles;                                           /* that use it */
    struct setup *older;                                       /* the next in framework.replaced */
};

/* What a setup is built from. */
struct setup_options {
    const struct scheduler_config *config; /* outlives the setup */
    const struct registry *registry;
    const struct extender *extenders; /* copied; their texts are not */
    size_t n_extenders;
    void *owner; /* of config and extenders: passed to extender calls and to ports.retired */
};

/* Builds profiles and instances. The caller puts the setup into framework.setup. */
int setup_new(struct framework *fw, const struct setup_options *options, struct setup **ret_setup,
              struct err *reterr) MUST_CHECK;
struct setup *setup_free(struct setup *setup);
/* NULL if no profile has that name. */
struct profile *setup_profile(const struct setup *setup, struct str scheduler_name);
/* Calls an extender of the setup. call->id is set by the caller. */
void setup_call_extender(const struct setup *setup, const struct engine_extender *extender,
                         struct extender_call *call);
/* Logs which plugins the profiles run, as upstream does at start. */
void setup_log_plugins(const struct setup *setup);

#endif
