/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_plan.h - which plugins a profile runs, where and in which order.
 *
 * Purpose:   a profile's configuration is merged with the defaults and multiPoint is expanded, by
 *            names alone: the framework makes instances after it, and whoever validates, prints or
 *            compares configurations needs no engine.
 * Ownership: the plan owns its lists; names are those of the configuration and of the defaults.
 * Threading: any; constant once made.
 */
#ifndef BERTH_ENGINE_CONFIG_PROFILE_PLAN_H
#define BERTH_ENGINE_CONFIG_PROFILE_PLAN_H

#include "base/vec.h"
#include "engine/config/registry.h"

struct planned_plugin {
    struct str name;
    int64_t weight; /* of its scores, where the point is one of score; 1 elsewhere */
};
typedef VEC(struct planned_plugin) plan_list;

struct profile_plan {
    struct arena arena;
    struct plugin_section multi_point; /* merged with the defaults */
    VEC(struct str) needed;            /* every plugin once, in the order of being named */
    plan_list at[POINT_COUNT];
};

/*
 * Plans what can be planned and complains of every plugin that is unknown, cannot run where it is
 * named or is there twice, "plugins.score.enabled[0]: what". Always to be released.
 */
void profile_plan_make(struct profile_plan *plan, const struct registry *registry,
                       const struct features *features, const struct profile_config *profile,
                       struct error_list *out);
/* The same for a profile that should be right: -EINVAL with the first fault, without its place. */
int profile_plan_init(struct profile_plan *plan, const struct registry *registry,
                      const struct features *features, const struct profile_config *profile,
                      struct err *reterr) MUST_CHECK;
void profile_plan_release(struct profile_plan *plan);

/*
 * What is enabled at a point: defaults that are not disabled, those enabled again replaced in
 * place, then the user's others. The user's disabled ones are carried along.
 */
void plugin_section_merge(const struct plugin_ref *defaults, size_t n,
                          const struct plugin_section *user, struct arena *a,
                          struct plugin_section *ret_section);
/* Whether the section's disabled list has that very name; "*" is one. */
bool plugin_section_disables(const struct plugin_section *section, struct str name);

#endif
