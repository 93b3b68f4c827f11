/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_internal.h - what the files of the configuration share.
 *
 * Purpose:   reading of other versions, defaults. Private to src/engine/config*.c.
 * Ownership: everything is in the arena given.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_CONFIG_CONFIG_INTERNAL_H
#define BERTH_ENGINE_CONFIG_CONFIG_INTERNAL_H

#include "base/map.h"
#include "engine/config/args_kind.h"
#include "engine/config/config.h"

#define CONFIG_KIND "KubeSchedulerConfiguration"

/* What is wrong with the form of a file that is being read. */
struct config_problems {
    struct arena *a;
    const char *file;
    struct config_problem *v; /* the first ERROR_LIST_MAX */
    size_t n, left_out;
};

/*
 * The field at path, which is not empty, and what is wrong with it. line: 0, where the field is.
 * meant: the name that was probably meant, empty: none.
 */
void config_problem_add(struct config_problems *p, uint32_t line, struct str path, struct str meant,
                        const char *fmt, ...) PRINTF_LIKE(5, 6);

/* The problem added last is probably a misspelt value: this was meant, where it is not empty. */
void config_problem_suggest(struct config_problems *p, struct str meant);

/*
 * Decodes a tree strictly. What is wrong is added to the problems and left out; negative where that
 * does not help.
 */
int config_decode(struct json_value *doc, const struct type *type, unsigned flags,
                  struct config_problems *problems, void *out) MUST_CHECK;

/* A tree of kubescheduler.config.k8s.io/VERSION, which may be changed, into v1. */
int config_from_v1beta1(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems) MUST_CHECK;
int config_from_v1beta2(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems) MUST_CHECK;
int config_from_v1beta3(struct json_value *doc, struct scheduler_config *out,
                        struct config_problems *problems) MUST_CHECK;
/* A tree of Policy v1. */
int config_from_policy(struct json_value *doc, struct scheduler_config *out,
                       struct config_problems *problems) MUST_CHECK;

/* What a configuration is checked against. */
struct config_rules {
    const struct registry *registry;
    const struct args_kind *const *kinds;
    const struct features *features;
};

/*
 * Complains of profiles whose plugins cannot be made. first_only: as upstream, which makes one
 * after the other until one cannot be made.
 */
void config_check_plans(const struct scheduler_config *config, const struct config_rules *rules,
                        bool first_only, struct error_list *out);

/* The arguments at this place, decoded into memory of the arena; NULL where they cannot be read. */
void *config_read_args(const struct args_kind *kind, const struct features *features,
                       const struct plugin_args *entry, struct arena *a, struct err *reterr);

/* Appends the plugins of a profile as JSON. */
void config_write_plugins(const struct plugins_config *plugins, struct buf *out);

static inline struct str config_profile_name(const struct profile_config *p)
{
    return p->scheduler_name ? *p->scheduler_name : STR("");
}

/* Whether the name is new to the set. */
static inline bool config_set_add(struct map *set, struct str name)
{
    return !map_put(set, name, set);
}

/* One more plugin at the end of a section, whose list has room; weight 0: none. */
void plugin_section_push(struct plugin_section *section, struct str name, int32_t weight,
                         struct arena *a);
/* A profile's plugins with nothing but what its points name: multiPoint disables "*". */
struct plugins_config *plugins_without_defaults(struct arena *a);

#endif
