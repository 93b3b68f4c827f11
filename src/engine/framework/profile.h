/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - a profile and its plugin instances (upstream: profile, frameworkImpl).
 *
 * Purpose:   a profile is a scheduler name and, for every extension point, the plugins that run
 *            there in their order. Which plugin implements which point is read off its struct.
 * Ownership: a profile owns its instances (struct berth_handle); plugin structs are constant data
 *            of the program or of a shared object.
 * Threading: built and read by the engine's thread; constant between two configurations.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_PROFILE_H
#define BERTH_ENGINE_FRAMEWORK_PROFILE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "engine/config/config.h"
#include "engine/config/point.h"
#include "engine/config/registry.h"
#include "engine/ports/abi.h"

struct framework;
struct profile;
struct profile_metrics;
struct setup;

/* Plugins by id: which of them rejected a pod. An id is given to a name once per engine. */
#define FRAMEWORK_MAX_PLUGINS 128
struct plugin_set {
    uint64_t words[FRAMEWORK_MAX_PLUGINS / 64];
};
static inline void plugin_set_add(struct plugin_set *s, size_t id)
{
    s->words[id / 64] |= (uint64_t)1 << (id % 64);
}
static inline bool plugin_set_has(const struct plugin_set *s, size_t id)
{
    return s->words[id / 64] >> (id % 64) & 1;
}
static inline bool plugin_set_within(const struct plugin_set *s, const struct plugin_set *all)
{
    return !(s->words[0] & ~all->words[0]) && !(s->words[1] & ~all->words[1]);
}
static inline bool plugin_set_empty(const struct plugin_set *s)
{
    return !s->words[0] && !s->words[1];
}

/* An instance of a plugin in a profile; the ABI's handle. */
struct berth_handle {
    const struct berth_plugin *plugin; /* this instance's own copy: code */
    struct berth_plugin code;          /* zero where the plugin's header had no member yet */
    void *self;
    char *args;         /* JSON text of its arguments; NULL if none */
    struct arena arena; /* what lives as long as the instance: arguments, listers */
    bool creating;      /* create runs: the only time for some functions of the host */
    uint64_t serial;    /* in framework.handles; never used again */
    struct framework *framework;
    struct profile *profile;  /* NULL: the handle of a shared state */
    uint16_t id;              /* of its name: bit in plugin_set */
    int64_t weight;           /* of its scores, >= 1 */
    int64_t placement_weight; /* of its placement scores, >= 1 */
    /* Set by a plugin that preempts for whole groups; NULL otherwise. */
    const struct group_preemption_policy *group_preemption;
};

typedef VEC(struct berth_handle *) handle_list;

struct profile {
    struct setup *setup; /* that it is part of */
    struct str scheduler_name;
    int32_t percentage_of_nodes_to_score; /* 0: adaptive */
    handle_list instances;
    handle_list at[POINT_COUNT];
    struct profile_metrics *metrics; /* NULL: metrics are off */
};

/*
 * Builds a profile from its configuration: merges it with the defaults, expands multiPoint and
 * makes the instances. The texts of config must outlive the profile.
 */
int profile_new(struct setup *setup, const struct registry *registry,
                const struct profile_config *config, struct profile **ret_profile,
                struct err *reterr) MUST_CHECK;
struct profile *profile_free(struct profile *profile);

/* The registration that a plugin's events() fills. */
struct event_registration {
    enum berth_resource resource;
    unsigned actions;
    berth_hint_fn *hint; /* NULL: always queue */
    const struct berth_handle *handle;
};
struct berth_registrar {
    const struct berth_handle *handle; /* whose events() runs */
    VEC(struct event_registration) events;
};

#endif
