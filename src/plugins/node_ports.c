/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodePorts: rejects nodes on which a host port of the pod is in use. A port is used for an address
 * and a protocol; 0.0.0.0 is every address (upstream: HostPortInfo.CheckConflict).
 */
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

#define EVERY_ADDRESS STR("0.0.0.0")

struct node_ports {
    const struct berth_host *host;
    const struct engine_log *log;
    struct node_memos *memos;
    berth_reason taken;
    berth_state_key wanted; /* PreFilter has run */
    struct buf key;         /* scratch */
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct node_ports *self = xnew(struct node_ports);
    self->host = host;
    self->log = handle_log(h);
    self->memos = &handle_cluster(h)->memos;
    self->taken =
        host->reason(h, BERTH_STR("node(s) didn't have free ports for the requested pod ports"));
    self->wanted = host->state_key(h, BERTH_STR("PreFilterNodePorts"));
    *ret_self = self;
    return 0;
}

static void destroy(void *ctx)
{
    struct node_ports *self = ctx;
    buf_release(&self->key);
    free(self);
}

static void key_add_ports(struct buf *key, const struct berth_pod *pod)
{
    for (size_t i = 0; i < pod->ports.n; i++) {
        key_add(key, intern_text(pod->names, pod->ports.v[i].ip));
        key_add(key, intern_text(pod->names, pod->ports.v[i].protocol));
        key_add_number(key, pod->ports.v[i].port);
    }
}

/* --- queueing hints --------------------------------------------------------------------------- */

static struct str or_default(struct str s, struct str fallback)
{
    return str_empty(s) ? fallback : s;
}

/* The index of the first port that is not before this one. */
static size_t find_port(const struct host_port *ports, size_t n, const struct host_port *port)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (host_port_cmp(&ports[mid], port) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static bool has_port(const struct host_port *ports, size_t n, struct host_port port)
{
    size_t i = find_port(ports, n, &port);
    return i < n && host_port_cmp(&ports[i], &port) == 0;
}

/* A port of one address or of every address; an unused address has no atom. */
struct wanted_port {
    struct host_port port;
    bool every_address;
};

/* Does a port of the sorted list conflict? every: the atom of EVERY_ADDRESS, or 0. */
static bool collides(const struct host_port *ports, size_t n, struct wanted_port want, atom_t every)
{
    struct host_port port = want.port;
    if (want.every_address) {
        port.ip = 0; /* before every address */
        size_t i = find_port(ports, n, &port);
        return i < n && ports[i].port == port.port && ports[i].protocol == port.protocol;
    }
    if (port.ip && has_port(ports, n, port))
        return true;
    port.ip = every;
    return every && has_port(ports, n, port);
}

/* Does a port of the container conflict with one of the pod? */
static bool container_held(const struct container *c, const struct berth_pod *pod)
{
    atom_t every = intern_find(pod->names, EVERY_ADDRESS);
    for (size_t i = 0; pod->ports.n && i < c->ports.n; i++) {
        const struct container_port *held = &c->ports.v[i];
        struct str ip = or_default(held->host_ip, EVERY_ADDRESS);
        struct wanted_port port = {
            .port = {.ip = intern_find(pod->names, ip),
                     .protocol = intern_find(pod->names, or_default(held->protocol, STR("TCP"))),
                     .port = held->host_port},
            .every_address = str_eq(ip, EVERY_ADDRESS),
        };
        if (held->host_port > 0 && collides(pod->ports.v, pod->ports.n, port, every))
            return true;
    }
    return false;
}

/* Did the removed pod use a port of the pending pod? Of init containers, only sidecars count. */
static bool held_any(const struct pod *gone, const struct berth_pod *pod)
{
    for (size_t i = 0; i < gone->spec.containers.n; i++)
        if (container_held(&gone->spec.containers.v[i], pod))
            return true;
    for (size_t i = 0; i < gone->spec.init_containers.n; i++)
        if (str_is(gone->spec.init_containers.v[i].restart_policy, "Always") &&
            container_held(&gone->spec.init_containers.v[i], pod))
            return true;
    return false;
}

static bool has_host_ports(const struct pod *pod)
{
    for (size_t i = 0; i < pod->spec.containers.n; i++)
        for (size_t k = 0; k < pod->spec.containers.v[i].ports.n; k++)
            if (pod->spec.containers.v[i].ports.v[k].host_port > 0)
                return true;
    return false;
}

static enum berth_hint after_pod_deleted(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)after;
    const struct node_ports *self = ctx;
    const struct pod *gone = hint_pod(before);
    if (!gone)
        return BERTH_QUEUE_SKIP;
    bool unscheduled =
        str_empty(gone->spec.node_name) && str_empty(gone->status.nominated_node_name);
    bool helps = !unscheduled && held_any(gone, pod);
    if (engine_log_on(self->log, 4) && !unscheduled && !helps && !has_host_ports(gone))
        return BERTH_QUEUE_SKIP;
    engine_log(self->log, 4,
               helps
                   ? "the deleted pod and the target pod have any common port(s), returning Queue "
                     "as deleting this Pod may make the Pod schedulable"
               : unscheduled
                   ? "the deleted pod is unscheduled and it doesn't make the target pod "
                     "schedulable"
                   : "the deleted pod and the target pod don't have any common port(s), returning "
                     "QueueSkip as deleting this Pod won't make the Pod schedulable",
               KV_POD(pod), KV_HINT_POD("deletedPod", gone));
    return hint_if(helps);
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((struct node_ports *)ctx)->host;
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, after_pod_deleted);
    host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, NULL);
}

/* --- filter ----------------------------------------------------------------------------------- */

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)status;
    struct node_ports *self = ctx;
    if (pod->ports.n == 0)
        return BERTH_SKIP;
    self->host->state_write(cycle, self->wanted, self, NULL, NULL);
    return BERTH_SUCCESS;
}

/* Upstream returns an error if Filter is enabled without PreFilter. */
static bool is_prepared(const struct node_ports *self, const struct berth_cycle *cycle,
                        struct berth_status *status)
{
    if (self->host->state_read(cycle, self->wanted))
        return true;
    self->host->status_text(status,
                            BERTH_STR("reading \"PreFilterNodePorts\" from cycleState: not found"));
    return false;
}

static bool conflict(const struct berth_pod *pod, const struct berth_node *node)
{
    if (node->used_ports.n == 0 || pod->ports.n == 0)
        return false;
    atom_t every = intern_find(pod->names, EVERY_ADDRESS);
    for (size_t i = 0; i < pod->ports.n; i++) {
        struct wanted_port want = {pod->ports.v[i], every && pod->ports.v[i].ip == every};
        if (collides(node->used_ports.v, node->used_ports.n, want, every))
            return true;
    }
    return false;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct node_ports *self = ctx;
    if (!is_prepared(self, cycle, status))
        return BERTH_ERROR;
    if (!conflict(pod, node))
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->taken);
    return BERTH_UNSCHEDULABLE;
}

static int64_t ask_conflict(const void *ask, const struct berth_node *node)
{
    return conflict(ask, node);
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    struct node_ports *self = ctx;
    if (!is_prepared(self, cycle, status))
        return BERTH_ERROR;
    key_begin(&self->key, STR("NodePorts"));
    key_add_ports(&self->key, pod);
    const uint64_t *taken = node_memo_pod_set(self->memos, buf_str(&self->key), ask_conflict, pod);
    batch_refuse_set(batch, taken, BERTH_UNSCHEDULABLE, self->taken);
    return BERTH_SUCCESS;
}

const struct berth_plugin node_ports_plugin = {
    PLUGIN_HEAD("NodePorts"), .create = create, .destroy = destroy,         .events = events,
    .pre_filter = pre_filter, .filter = filter, .filter_many = filter_many,
};
