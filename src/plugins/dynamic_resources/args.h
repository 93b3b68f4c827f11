/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - the arguments of DynamicResources.
 *
 * Purpose:   filterTimeout and bindingTimeout; each exists only if its feature gates are on.
 * Ownership: decoded arguments are in the caller's arena.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_ARGS_H
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_ARGS_H

#include "base/time.h"
#include "engine/config/args_kind.h"

#define BINDING_TIMEOUT_DEFAULT (600 * NSEC_PER_SEC)

struct dynamic_resources_args {
    struct args_meta meta;
    int64_t *filter_timeout, *binding_timeout; /* ns */
};

#endif
