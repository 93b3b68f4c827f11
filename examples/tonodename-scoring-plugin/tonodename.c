/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tonodename-scoring-plugin: 80 for the node "piworknode001", 20 for all others; normalized to 100
 * and 25.
 */
#include <berth/plugin.h>
#include <stdlib.h>
#include <string.h>

#define FAVOURITE "piworknode001"
#define MAX_SCORE 100

struct tonodename {
    const struct berth_host *host;
    struct berth_handle *handle;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct tonodename *self = malloc(sizeof(*self));
    (void)args;
    (void)error;
    if (!self)
        return 1;
    *self = (struct tonodename){host, h};
    *ret_self = self;
    return 0;
}

static void destroy(void *self)
{
    free(self);
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    const struct tonodename *self = ctx;
    struct berth_str name = self->host->node_name(node);
    (void)cycle;
    (void)pod;
    (void)status;
    bool is_favourite =
        name.n == strlen(FAVOURITE) && memcmp(name.p, FAVOURITE, strlen(FAVOURITE)) == 0;
    *ret_score = is_favourite ? 80 : 20;
    return BERTH_SUCCESS;
}

/* The highest score becomes 100; the lowest possible one is 0. */
static enum berth_code normalize(void *ctx, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    const struct tonodename *self = ctx;
    const struct berth_columns *columns = self->host->columns(cycle);
    int64_t max = 1;
    (void)status;
    for (size_t i = 0; i < n; i++)
        if (scores[i] > max)
            max = scores[i];
    for (size_t i = 0; i < n; i++) {
        scores[i] = scores[i] * MAX_SCORE / max;
        const struct berth_kv kv[] = {
            BERTH_KV_STR("node", self->host->node_name(columns->nodes[slots[i]])),
            BERTH_KV_INT("score", scores[i]),
            BERTH_KV_POD("pod", pod),
        };
        self->host->log(self->handle, 0, BERTH_STR("Normalized"), kv, 3);
    }
    return BERTH_SUCCESS;
}

static const struct berth_plugin tonodename_plugin = {
    BERTH_PLUGIN_HEAD("tonodename-scoring-plugin", "1.0"),
    .create = create,
    .destroy = destroy,
    .score = score,
    .normalize = normalize,
};
BERTH_EXPORT_PLUGINS(&tonodename_plugin);
