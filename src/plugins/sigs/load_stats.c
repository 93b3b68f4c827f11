/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/load_stats.h"

#include <math.h>

#define PER_BYTE (1.0 / 1024 / 1024)

bool load_stats_of(const struct node_load *load, const struct node *node, int64_t request,
                   enum load_resource resource, struct load_stats *ret_stats)
{
    const struct load_usage *usage = &load->usage[resource];
    if (!usage->found)
        return false;
    double unit = resource == LOAD_CPU ? 1 : PER_BYTE;
    double capacity = (double)quantity_map_amount(&node->status.allocatable, resource) * unit;
    *ret_stats = (struct load_stats){
        .used = usage->average * capacity / 100,
        .deviation = usage->deviation * capacity / 100,
        .request = fmax((double)request * unit, 0),
        .capacity = capacity,
    };
    return true;
}

static double within_one(double x)
{
    return fmax(fmin(x, 1), 0);
}

struct load_moments load_moments_of(const struct load_stats *stats)
{
    if (stats->capacity <= 0)
        return (struct load_moments){0};
    return (struct load_moments){
        .mu = within_one((stats->used + stats->request) / stats->capacity),
        .sigma = within_one(stats->deviation / stats->capacity),
    };
}
