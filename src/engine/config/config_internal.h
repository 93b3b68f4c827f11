/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_internal.h - internals of the configuration.
 *
 * Purpose:   strict decoding, errors of form, readers of other versions. Private to
 *            src/engine/config.
 * Ownership: everything is in the caller's arena.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_CONFIG_CONFIG_INTERNAL_H
#define BERTH_ENGINE_CONFIG_CONFIG_INTERNAL_H

#include "base/map.h"
#include "engine/config/args_kind.h"
#include "engine/config/config.h"

#define CONFIG_KIND "KubeSchedulerConfiguration"

/* Errors of form in the file that is being read. */
struct config_problems {
    struct arena *a;
    const char *file;
    struct config_problem *v; /* the first ERROR_LIST_MAX */
    size_t n, left_out;
};

/*
 * Adds an error at the field `path`. line 0: that of the field. meant: the name that was probably
 * meant; empty if unknown.
 */
void config_problem_add(struct config_problems *p, uint32_t line, struct str path, struct str meant,
                        const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Adds "did you mean …?" to the last problem, unless `meant` is empty. */
void config_problem_suggest(struct config_problems *p, struct str meant);

/*
 * Decodes a tree strictly. Invalid fields are added to the problems and left out. Negative if the
 * rest cannot be decoded either.
 */
int config_decode(struct json_value *doc, const struct type *type, unsigned flags,
                  struct config_problems *problems, void *out) MUST_CHECK;

/* Converts a tree of kubescheduler.config.k8s.io/VERSION to v1; the tree may be modified. */
int config_from_v1beta1(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems) MUST_CHECK;
int config_from_v1beta2(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems) MUST_CHECK;
int config_from_v1beta3(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems) MUST_CHECK;
/* Converts a tree of Policy v1. */
int config_from_policy(struct json_value *doc, struct scheduler_config *out,
                       struct config_problems *problems) MUST_CHECK;

/* What a configuration is checked against. */
struct config_rules {
    const struct registry *registry;
    const struct args_kind *const *kinds;
    const struct features *features;
};

/*
 * Adds errors of profiles that cannot be built. first_only: stop at the first error, as upstream,
 * which builds one profile after the other.
 */
void config_check_plans(const struct scheduler_config *config, const struct config_rules *rules,
                        bool first_only, struct error_list *out);

/* Decodes the arguments of an entry into the arena; NULL with *reterr if they are invalid. */
void *config_read_args(const struct args_kind *kind, const struct features *features,
                       const struct plugin_args *entry, struct arena *a, struct err *reterr);

/* Appends the plugins of a profile as JSON. */
void config_write_plugins(const struct plugins_config *plugins, struct buf *out);

static inline struct str config_profile_name(const struct profile_config *p)
{
    return p->scheduler_name ? *p->scheduler_name : STR("");
}

/* False if the set has the name already. */
static inline bool config_set_add(struct map *set, struct str name)
{
    return !map_put(set, name, set);
}

/* Appends a plugin to a section whose list has room; weight 0: none. */
void plugin_section_push(struct plugin_section *section, struct str name, int32_t weight,
                         struct arena *a);
/* The plugins of a profile without defaults: multiPoint disables "*". */
struct plugins_config *plugins_without_defaults(struct arena *a);

#endif
