/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MyCustomPluginA and MyCustomPluginB: two plugins in one shared object. A prefers nodes with the
 * label side=a, B those with side=b; which of them counts, and how much, is up to the profile.
 */
#include <berth/plugin.h>
#include <stdlib.h>
#include <string.h>

struct side {
    const struct berth_host *host;
    const char *value;
};

static int create(const struct berth_host *host, const char *value, void **ret_self)
{
    struct side *self = malloc(sizeof(*self));
    if (!self)
        return 1;
    *self = (struct side){host, value};
    *ret_self = self;
    return 0;
}

static int create_a(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                    void **ret_self, struct berth_error *error)
{
    (void)h;
    (void)args;
    (void)error;
    return create(host, "a", ret_self);
}

static int create_b(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                    void **ret_self, struct berth_error *error)
{
    (void)h;
    (void)args;
    (void)error;
    return create(host, "b", ret_self);
}

static void destroy(void *self)
{
    free(self);
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    const struct side *self = ctx;
    struct berth_str side;
    (void)cycle;
    (void)pod;
    (void)status;
    bool same = self->host->node_label(node, BERTH_STR("side"), &side) &&
                side.n == strlen(self->value) && memcmp(side.p, self->value, side.n) == 0;
    *ret_score = same ? 100 : 0;
    return BERTH_SUCCESS;
}

static const struct berth_plugin plugin_a = {
    BERTH_PLUGIN_HEAD("MyCustomPluginA", "1.0"),
    .create = create_a,
    .destroy = destroy,
    .score = score,
};
static const struct berth_plugin plugin_b = {
    BERTH_PLUGIN_HEAD("MyCustomPluginB", "1.0"),
    .create = create_b,
    .destroy = destroy,
    .score = score,
};
BERTH_EXPORT_PLUGINS(&plugin_a, &plugin_b);
