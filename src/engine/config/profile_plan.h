/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_plan.h - the plugins of a profile by extension point, in order.
 *
 * Purpose:   merges a profile's configuration with the defaults and expands multiPoint, by names
 *            only: the framework creates instances from it; validation, printing and comparison of
 *            configurations need no engine.
 * Ownership: the plan owns its lists and borrows names from the configuration and the defaults.
 * Threading: any thread; constant after init.
 */
#ifndef BERTH_ENGINE_CONFIG_PROFILE_PLAN_H
#define BERTH_ENGINE_CONFIG_PROFILE_PLAN_H

#include "base/vec.h"
#include "engine/config/registry.h"

struct planned_plugin {
    struct str name;
    int64_t weight; /* of its scores at Score points; 1 elsewhere */
};
typedef VEC(struct planned_plugin) plan_list;

struct profile_plan {
    struct arena arena;
    struct plugin_section multi_point; /* merged with the defaults */
    VEC(struct str) needed;            /* every plugin once, in the order of the configuration */
    plan_list at[POINT_COUNT];
};

/*
 * Computes the plan and adds an error for every plugin that is unknown, cannot run at its point or
 * is listed twice, "plugins.score.enabled[0]: what". Release the plan in any case.
 */
void profile_plan_make(struct profile_plan *plan, const struct registry *registry,
                       const struct features *features, const struct profile_config *profile,
                       struct error_list *out);
/* The same for a validated profile: -EINVAL with the first error, without its path. */
int profile_plan_init(struct profile_plan *plan, const struct registry *registry,
                      const struct features *features, const struct profile_config *profile,
                      struct err *reterr) MUST_CHECK;
void profile_plan_release(struct profile_plan *plan);

/*
 * Upstream: mergePluginSet. The defaults that are not disabled, replaced in place if the user
 * enables them again, then the user's other plugins. The user's disabled plugins are copied.
 */
void plugin_section_merge(const struct plugin_ref *defaults, size_t n,
                          const struct plugin_section *user, struct arena *a,
                          struct plugin_section *ret_section);
/* Does the section's disabled list have exactly this name? "*" is a name. */
bool plugin_section_disables(const struct plugin_section *section, struct str name);
/* Does it list the plugin as enabled? */
bool plugin_section_enables(const struct plugin_section *section, struct str name);

#endif
