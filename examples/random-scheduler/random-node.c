/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RandomNode: the same idea as a plugin. It scores nodes at random, so that a pod goes to any of
 * those where it fits; queue, filters, binding and retries are berth's.
 */
#include <berth/plugin.h>
#include <stdlib.h>

struct random_node {
    const struct berth_host *host;
    struct berth_handle *handle;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct random_node *self = malloc(sizeof(*self));
    (void)args;
    (void)error;
    if (!self)
        return 1;
    *self = (struct random_node){host, h};
    *ret_self = self;
    return 0;
}

static void destroy(void *self)
{
    free(self);
}

/* FNV-1a. */
static uint64_t hash(uint64_t seed, struct berth_str s)
{
    for (size_t i = 0; i < s.n; i++)
        seed = (seed ^ (unsigned char)s.p[i]) * 1099511628211u;
    return seed;
}

/*
 * A hash of pod and node instead of rand(): score runs on several threads, and the simulator gives
 * the same result each time.
 */
static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    const struct random_node *self = ctx;
    uint64_t h = hash(14695981039346656037u, self->host->pod_uid(pod));
    (void)cycle;
    (void)status;
    h = hash(h, self->host->node_name(node));
    *ret_score = (int64_t)((h ^ h >> 32) % 101);
    return BERTH_SUCCESS;
}

static const struct berth_plugin random_node_plugin = {
    BERTH_PLUGIN_HEAD("RandomNode", "1.0"),
    .create = create,
    .destroy = destroy,
    .score = score,
};
BERTH_EXPORT_PLUGINS(&random_node_plugin);
