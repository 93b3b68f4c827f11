/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_args.h - the pluginConfig entry of a plugin: read strictly, checked field by field.
 *
 * Purpose:   decoding by a descriptor table, and a list of what is wrong that reads as upstream's
 *            validation does: "weight: Invalid value: 0: must be 1", several as "[a, b]".
 * Ownership: decoded text lives in the caller's arena; arg_errors_finish gives the list back.
 * Threading: one thread.
 */
#ifndef BERTH_PLUGINS_PLUGIN_ARGS_H
#define BERTH_PLUGINS_PLUGIN_ARGS_H

#include "base/buf.h"
#include "berth/plugin.h"
#include "codec/desc.h"

/* What every kind of arguments begins with. */
struct args_meta {
    struct str kind, api_version;
};
#define ARGS_META_FIELDS(C) \
    F_ONE(C, meta.kind, "kind", 0, STR), F_ONE(C, meta.api_version, "apiVersion", 0, STR)

/*
 * The arguments into out, which begins with a struct args_meta; where there are none, out is
 * zeroed. kind: what they must say they are, if they say it ("NodeAffinityArgs"). -EINVAL with
 * *error filled where they cannot be read.
 */
int plugin_args_decode(struct berth_str args, const char *kind, const struct type *type,
                       struct arena *a, void *out, struct berth_error *error) MUST_CHECK;

/* What is wrong with the arguments, in the order of finding it. Starts as {0}. */
struct arg_errors {
    struct buf text; /* joined by ", " */
    size_t n;
};

/* Adds one, "field: what: why" by printf. */
void arg_errors_add(struct arg_errors *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* 0 where there were none, else -EINVAL with *error filled. */
int arg_errors_finish(struct arg_errors *e, struct berth_error *error) MUST_CHECK;

#endif
