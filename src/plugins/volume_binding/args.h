/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - VolumeBindingArgs.
 *
 * Purpose:   how long PreBind waits, and the scores of StorageCapacityScoring.
 * Ownership: a decoded value lives in the caller's arena.
 * Threading: any thread.
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_ARGS_H
#define BERTH_PLUGINS_VOLUME_BINDING_ARGS_H

#include "plugins/common/in_tree.h"
#include "plugins/common/utilization_shape.h"

struct volume_binding_args {
    struct args_meta meta;
    int64_t *bind_timeout_seconds;
    shape_list shape; /* v NULL: absent */
};

/* scores: the gate StorageCapacityScoring is on. -EINVAL with *error set. */
int volume_binding_args_read(struct berth_str text, bool scores, struct arena *a,
                             struct volume_binding_args *ret_args,
                             struct berth_error *error) MUST_CHECK;

#endif
