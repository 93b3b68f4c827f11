/* SPDX-License-Identifier: Apache-2.0 */
/* counts.c - how many devices of a class a node has, for scores (upstream:
 * calculateDRAResourceTotals). All slices count, also those of older generations. */
#include "plugins/dynamic_resources/devices_internal.h"

/* Does the class select the device? An error counts as none at all: -EINVAL. */
static int selects(const struct devices *d, const struct class_entry *class,
                   const struct slice_device *device)
{
    for (size_t i = 0; i < class->selectors.n; i++) {
        if (!class->selectors.v[i])
            continue;
        struct buf error = BUF_INIT;
        enum selector_result result =
            selector_matches_device(d, class->selectors.v[i], device, &error);
        buf_release(&error);
        if (result == SELECTOR_FAILS)
            return -EINVAL;
        if (result != SELECTOR_YES)
            return 0;
    }
    return 1;
}

/* Feature gates play no part here. -EINVAL: its node selector cannot be parsed. */
static int reaches(const struct slice *slice, const struct node *node)
{
    const struct resource_slice_spec *spec = &slice->api->spec;
    if (spec->all_nodes || str_eq(spec->node_name, node->metadata.name))
        return 1;
    if (!spec->node_selector)
        return str_empty(spec->node_name);
    if (!str_empty(slice->fault))
        return -EINVAL;
    return node_terms_match(&slice->terms, &node->metadata.labels, node->metadata.name);
}

static int count_slice(const struct devices *d, const struct class_entry *class,
                       const struct slice *slice, const struct node *node,
                       struct device_count *count)
{
    const struct resource_slice_spec *spec = &slice->api->spec;
    int r = spec->per_device_node_selection ? 1 : reaches(slice, node);
    if (r <= 0)
        return r;
    for (size_t i = 0; i < spec->devices.n; i++) {
        const struct slice_device *device = &slice->devices[i];
        bool here = true;
        if (spec->per_device_node_selection && slice_device_reaches(device, node, &here) < 0)
            return -EINVAL;
        if (!here)
            continue;
        r = selects(d, class, device);
        if (r < 0)
            return r;
        count->devices += r;
        count->allocated += r && device_id_is_allocated(device->id);
    }
    return 0;
}

static int count_pool(const struct devices *d, const struct class_entry *class,
                      const struct device_pool *pool, const struct node *node,
                      struct device_count *count)
{
    for (size_t i = 0; i < pool->slices.n; i++) {
        int r = count_slice(d, class, pool->slices.v[i], node, count);
        if (r < 0)
            return r;
    }
    return 0;
}

struct device_count devices_count(const struct devices *d, struct str class_name,
                                  const struct node *node)
{
    struct device_count count = {0};
    const struct class_entry *class = map_get(&d->classes, class_name);
    const struct device_node *known = map_get(&d->nodes, node->metadata.name);
    int r = 0;
    if (!class)
        return count;
    for (size_t i = 0; r == 0 && known && i < known->pools.n; i++)
        if (!known->pools.v[i]->wide)
            r = count_pool(d, class, known->pools.v[i], node, &count);
    for (size_t i = 0; r == 0 && i < d->wide.n; i++)
        r = count_pool(d, class, d->wide.v[i], node, &count);
    return r < 0 ? (struct device_count){0} : count;
}
