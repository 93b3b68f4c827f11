/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample2: Filter refuses nodes without the label cpu=true and names them in the event; PreScore
 * logs how many are left. A pod that was refused is tried again when a label changes.
 */
#include <berth/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sample2 {
    const struct berth_host *host;
    struct berth_handle *handle;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct sample2 *self = malloc(sizeof(*self));
    (void)args;
    (void)error;
    if (!self)
        return 1;
    *self = (struct sample2){host, h};
    *ret_self = self;
    return 0;
}

static void destroy(void *self)
{
    free(self);
}

static bool is_true(struct berth_str s)
{
    return s.n == 4 && memcmp(s.p, "true", 4) == 0;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct sample2 *self = ctx;
    struct berth_str value;
    char text[300];
    (void)cycle;
    (void)pod;
    if (self->host->node_label(node, BERTH_STR("cpu"), &value) && is_true(value))
        return BERTH_SUCCESS;
    int n = snprintf(text, sizeof(text), "Node: %.*s", BERTH_STR_ARG(self->host->node_name(node)));
    self->host->status_text(status, (struct berth_str){text, (size_t)n});
    return BERTH_UNSCHEDULABLE;
}

static enum berth_code pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    const struct sample2 *self = ctx;
    const struct berth_kv kv[] = {BERTH_KV_POD("pod", pod), BERTH_KV_INT("nodes", (int64_t)n)};
    (void)cycle;
    (void)slots;
    (void)status;
    self->host->log(self->handle, 0, BERTH_STR("sample2: PreScore"), kv, 2);
    return BERTH_SUCCESS;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct sample2 *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL, NULL);
}

static const struct berth_plugin sample2_plugin = {
    BERTH_PLUGIN_HEAD("sample2", "1.0"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .filter = filter,
    .pre_score = pre_score,
};
BERTH_EXPORT_PLUGINS(&sample2_plugin);
