/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multipoint-communicating-plugin: Reserve leaves a note in the cycle state, PreBind reads it, and
 * Unreserve removes it. The pod "my-test-pod" is never bound.
 */
#include <berth/plugin.h>
#include <stdlib.h>
#include <string.h>

struct communicating {
    const struct berth_host *host;
    berth_state_key key;
};

/* What Reserve writes. */
struct note {
    bool never_bind;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct communicating *self = malloc(sizeof(*self));
    (void)args;
    (void)error;
    if (!self)
        return 1;
    *self = (struct communicating){
        host, host->state_key(h, BERTH_STR("multipoint-communicating-plugin"))};
    *ret_self = self;
    return 0;
}

static void destroy(void *self)
{
    free(self);
}

static bool is_test_pod(const struct communicating *self, const struct berth_pod *pod)
{
    struct berth_str name = self->host->pod_name(pod);
    return name.n == strlen("my-test-pod") && memcmp(name.p, "my-test-pod", name.n) == 0;
}

static void *clone_note(const void *data)
{
    struct note *copy = malloc(sizeof(*copy));
    if (copy)
        memcpy(copy, data, sizeof(*copy));
    return copy;
}

static enum berth_code reserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    const struct communicating *self = ctx;
    (void)node_name;
    if (!is_test_pod(self, pod))
        return BERTH_SUCCESS;
    struct note *note = malloc(sizeof(*note));
    if (!note) {
        self->host->status_text(status, BERTH_STR("out of memory"));
        return BERTH_ERROR;
    }
    note->never_bind = true;
    self->host->state_write(cycle, self->key, note, clone_note, free);
    return BERTH_SUCCESS;
}

/* Called if anything fails after Reserve. */
static void unreserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    const struct communicating *self = ctx;
    (void)node_name;
    if (is_test_pod(self, pod))
        self->host->state_delete(cycle, self->key);
}

static enum berth_code pre_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    const struct communicating *self = ctx;
    const struct note *note = self->host->state_read(cycle, self->key);
    (void)pod;
    (void)node_name;
    (void)op;
    if (!note || !note->never_bind)
        return BERTH_SUCCESS;
    self->host->status_text(status, BERTH_STR("pod is not permitted"));
    return BERTH_UNSCHEDULABLE;
}

static const struct berth_plugin communicating_plugin = {
    BERTH_PLUGIN_HEAD("multipoint-communicating-plugin", "1.0"),
    .flags = BERTH_PLUGIN_NONBLOCKING,
    .create = create,
    .destroy = destroy,
    .reserve = reserve,
    .unreserve = unreserve,
    .pre_bind = pre_bind,
};
BERTH_EXPORT_PLUGINS(&communicating_plugin);
