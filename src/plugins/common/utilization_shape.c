/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/utilization_shape.h"

#define MAX_UTILIZATION 100
#define MAX_SHAPE_SCORE 10
#define SHAPE_SCALE     10 /* from scores of points to scores of nodes */

static const struct field shape_point_fields[] = {
    F_ALWAYS(struct shape_point, utilization, "utilization", 0, INT32),
    F_ALWAYS(struct shape_point, score, "score", 0, INT32),
};
const struct type shape_point_type =
    TYPE("UtilizationShapePoint", struct shape_point, shape_point_fields);

static void check_range(const char *path, size_t i, const char *member, int32_t value, int32_t max,
                        struct error_list *c)
{
    if (value < 0 || value > max)
        error_list_add(c, "%s[%zu].%s: Invalid value: %d: not in valid range [0, %d]", path, i,
                       member, value, max);
}

void shape_check(const shape_list *shape, const char *path, struct error_list *c)
{
    if (shape->n == 0)
        error_list_add(c, "%s: Required value: at least one point must be specified", path);
    for (size_t i = 1; i < shape->n; i++)
        if (shape->v[i - 1].utilization >= shape->v[i].utilization) {
            error_list_add(c,
                           "%s[%zu].utilization: Invalid value: %d: values must be sorted in "
                           "increasing order",
                           path, i, shape->v[i].utilization);
            break;
        }
    for (size_t i = 0; i < shape->n; i++) {
        check_range(path, i, "utilization", shape->v[i].utilization, MAX_UTILIZATION, c);
        check_range(path, i, "score", shape->v[i].score, MAX_SHAPE_SCORE, c);
    }
}

uint8_t shape_at(const shape_list *shape, int32_t utilization)
{
    const struct shape_point *v = shape->v;
    size_t i = 0;
    while (i < shape->n && utilization > v[i].utilization)
        i++;
    if (i == 0)
        return (uint8_t)(v[0].score * SHAPE_SCALE);
    if (i == shape->n)
        return (uint8_t)(v[i - 1].score * SHAPE_SCALE);
    int32_t from = v[i - 1].score * SHAPE_SCALE, to = v[i].score * SHAPE_SCALE;
    return (uint8_t)(from + (to - from) * (utilization - v[i - 1].utilization) /
                                (v[i].utilization - v[i - 1].utilization));
}
