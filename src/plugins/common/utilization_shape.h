/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utilization_shape.h - a score as a function of utilization, given by points.
 *
 * Purpose:   the shape in the arguments of RequestedToCapacityRatio and VolumeBinding.
 * Ownership: decoded points are in the caller's arena.
 * Threading: pure functions; any thread.
 */
#ifndef BERTH_PLUGINS_COMMON_UTILIZATION_SHAPE_H
#define BERTH_PLUGINS_COMMON_UTILIZATION_SHAPE_H

#include "plugins/common/plugin_args.h"

struct shape_point {
    int32_t utilization; /* 0 … 100 */
    int32_t score;       /* 0 … 10 */
};
typedef LIST(struct shape_point) shape_list;
extern const struct type shape_point_type;

/* Points must exist, in order and in range. path: of the shape, for errors. */
void shape_check(const shape_list *shape, const char *path, struct error_list *c);
/*
 * The score, 0 … 100: linear between points, constant outside (upstream:
 * BuildBrokenLinearFunction). There must be a point.
 */
uint8_t shape_at(const shape_list *shape, int32_t utilization);

#endif
