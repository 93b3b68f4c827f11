/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args_kind.h - the arguments of a plugin: pluginConfig[].args.
 *
 * Purpose:   one description per kind of arguments: table, defaults, validation. Plugins decode
 *            their arguments with it; validation, conversion and printing of configurations use it
 *            without creating plugins.
 * Ownership: kinds are constant data. Decoded arguments are in the caller's arena.
 * Threading: any thread.
 */
#ifndef BERTH_ENGINE_CONFIG_ARGS_KIND_H
#define BERTH_ENGINE_CONFIG_ARGS_KIND_H

#include "codec/desc.h"
#include "engine/config/error_list.h"
#include "engine/config/features.h"

#define CONFIG_GROUP       "kubescheduler.config.k8s.io"
#define CONFIG_API_VERSION CONFIG_GROUP "/v1"

/* The first member of every kind of arguments. */
struct args_meta {
    struct str kind, api_version;
    const struct features *features; /* gates that defaults and rules may depend on */
};
#define ARGS_META_FIELDS(C) \
    F_ONE(C, meta.kind, "kind", 0, STR), F_ONE(C, meta.api_version, "apiVersion", 0, STR)

struct args_kind {
    const char *plugin;      /* "NodeAffinity" */
    const char *name;        /* "NodeAffinityArgs" */
    const struct type *type; /* of a struct that begins with struct args_meta */
    /* Sets defaults; NULL: none. */
    void (*fill)(void *args, struct arena *a);
    /* Adds the errors of arguments with defaults set; NULL: none. */
    void (*check)(const void *args, struct error_list *c);
    /* Upstream validates these only when it creates the plugin, not with the file. */
    bool checked_late;
    /* Releases up to 1.22; the apiVersion may be v1beta1. */
    bool legacy;
};

/*
 * Decodes JSON text into out (kind->type->size bytes) with defaults, not validated. Empty text: all
 * defaults. features NULL: default gates; else they must outlive out. -EINVAL if the text is not of
 * this kind.
 */
int args_read(const struct args_kind *kind, const struct features *features, struct str text,
              struct arena *a, void *out, struct err *reterr) MUST_CHECK;
/* The arguments as JSON of kubescheduler.config.k8s.io/v1, kind and apiVersion included. */
struct str args_write(const struct args_kind *kind, void *args, struct arena *a);

/* The kind for the plugin of this name; NULL if unknown. kinds: NULL-terminated, or NULL. */
const struct args_kind *args_kind_of(const struct args_kind *const *kinds, struct str plugin);

#endif
