/* @PLUGIN@: pods and nodes with the same label belong together. */
#include <berth/plugin.h>
#include <stdlib.h>
#include <string.h>

/* pluginConfig[].args of this plugin. */
struct @IDENT@_args {
    struct berth_str label;
};

static const struct berth_arg args_table[] = {
    {.name = "label",
     .kind = BERTH_ARG_STRING,
     .flags = BERTH_ARG_NOT_EMPTY,
     .offset = offsetof(struct @IDENT@_args, label),
     .value = "\"disk\""},
    {.name = NULL},
};

/* An instance: one for each profile that enables the plugin. */
struct @IDENT@ {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct @IDENT@_args args;
    berth_reason mismatch;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct @IDENT@ *self = calloc(1, sizeof(*self));
    if (!self)
        return 1;
    self->host = host;
    self->handle = h;
    if (host->args(h, args, args_table, &self->args, error) != 0) {
        free(self);
        return 1;
    }
    self->mismatch = host->reason(h, BERTH_STR("node(s) had another label"));
    *ret_self = self;
    return 0;
}

static void destroy(void *self)
{
    free(self);
}

static bool same(struct berth_str a, struct berth_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Runs for each node, on several threads at once: change nothing in here. */
static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct @IDENT@ *self = ctx;
    struct berth_str wanted, found;
    (void)cycle;
    if (!self->host->pod_label(pod, self->args.label, &wanted))
        return BERTH_SUCCESS;
    if (self->host->node_label(node, self->args.label, &found) && same(wanted, found))
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->mismatch);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/* 0 to 100. Nodes without the label are best for pods without it. */
static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    const struct @IDENT@ *self = ctx;
    struct berth_str value;
    (void)cycle;
    (void)status;
    bool pod_has = self->host->pod_label(pod, self->args.label, &value);
    bool node_has = self->host->node_label(node, self->args.label, &value);
    *ret_score = pod_has == node_has ? 100 : 0;
    return BERTH_SUCCESS;
}

/* What may make a pod schedulable that filter refused: new nodes, and changed labels. */
static void events(void *ctx, struct berth_registrar *r)
{
    const struct @IDENT@ *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL, NULL);
    self->host->register_event(r, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_UPDATE_POD_LABEL,
                               NULL);
}

static const struct berth_plugin @IDENT@_plugin = {
    BERTH_PLUGIN_HEAD("@PLUGIN@", "0.1"),
    .args = args_table,
    .create = create,
    .destroy = destroy,
    .events = events,
    .filter = filter,
    .score = score,
};
BERTH_EXPORT_PLUGINS(&@IDENT@_plugin);
