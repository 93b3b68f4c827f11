/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_trial.h - one plugin, one pod, and the plugin's verdicts on the nodes.
 *
 * Purpose:   runs PreFilter and PreScore of a plugin for a pod, then Filter and Score by node or
 *            for all nodes at once; trial_batches_agree compares both forms.
 * Ownership: the trial owns its pod and its cycle state; the fixture is the test's.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_PLUGIN_TRIAL_H
#define BERTH_TESTS_PLUGIN_TRIAL_H

#include "engine/rooms.h"
#include "engine_fixture.h"

struct trial {
    struct engine *engine;
    const struct berth_handle *handle;
    struct berth_cycle *cycle;
    struct berth_pod *pod;
    enum berth_code pre_filter, pre_score; /* BERTH_SUCCESS if the plugin does not have it */
    char text[512];                        /* reasons of the last Filter */
};

/* The instance of a plugin in the first profile. Fails the test if there is none. */
struct berth_handle *trial_instance(const struct fixture *f, const char *plugin);

/* Takes ownership of the pod. */
void trial_begin(struct trial *t, const struct fixture *f, const char *plugin, struct object *pod);
void trial_end(struct trial *t);

enum berth_code trial_filter(struct trial *t, const char *node);
/* The plugin's raw score; fails the test on an error. */
int64_t trial_score(struct trial *t, const char *node);
/* trial_begin, trial_score and trial_end in one. */
int64_t trial_score_of(const struct fixture *f, const char *plugin, struct object *pod,
                       const char *node);

/* Returns whether the plugin's batch functions return for every node what the single ones
 * return. */
bool trial_batches_agree(struct trial *t);

/* The error of create for these arguments, JSON in single quotes; "" if it accepts them. */
const char *trial_args_error(const struct fixture *f, const char *plugin, const char *args,
                             struct berth_error *error);

/* A change that may make a waiting pod schedulable; before or after may be NULL. */
struct trial_change {
    enum berth_resource resource;
    unsigned action;
    struct object *before, *after;
};
/* The plugin's queueing hint; BERTH_QUEUE if it has none. Fails the test if the plugin did not
 * register for the change. Takes ownership of the objects. */
enum berth_hint trial_hint(const struct fixture *f, const char *plugin, struct object *waiting,
                           struct trial_change change);
/* Returns whether the plugin registered for such changes. */
bool trial_is_told(const struct fixture *f, const char *plugin, enum berth_resource resource,
                   unsigned action);

#endif
