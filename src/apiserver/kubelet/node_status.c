/* SPDX-License-Identifier: Apache-2.0 */
/* What kubelets report of their nodes: conditions, addresses, capacity, and the lease. */
#include "apiserver/kubelet/kubelets_internal.h"

/* As upstream's nodeStatusReportFrequency. */
#define STATUS_PERIOD   (300 * NSEC_PER_SEC)
#define LEASE_NAMESPACE "kube-node-lease"
#define CAPACITY \
    "{\"cpu\":\"8\",\"memory\":\"32Gi\",\"ephemeral-storage\":\"100Gi\",\"pods\":\"110\"}"

static const struct condition_text {
    const char *type, *status, *reason, *message;
} conditions[] = {
    {"MemoryPressure", "False", "KubeletHasSufficientMemory",
     "kubelet has sufficient memory available"},
    {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
    {"Ready", "True", "KubeletReady", "kubelet is posting ready status"},
};

/* --- reading ---------------------------------------------------------------------------------- */

void kubelet_node_read(struct kubelets *k, struct sim_node *node)
{
    struct json_value object;
    arena_reset(&k->scratch);
    if (json_parse(node->rev->text, 0, &k->scratch, &object, NULL) < 0)
        return;
    const struct json_value *annotations = json_at(&object, "metadata.annotations");
    node->life = kubelet_life_default;
    kubelet_life_read(&node->life, annotations, STR(""), &k->scratch);
    node->killed = str_is(json_get_text(annotations, STR("berth.dev/killed")), "true");
    struct str uid = json_text_at(&object, "metadata.uid");
    snprintf(node->uid_text, sizeof(node->uid_text), "%.*s", STR_ARG(uid));
    node->uid = str_of(node->uid_text);
    const struct json_value *addresses = json_at(&object, "status.addresses");
    for (size_t i = 0; addresses && addresses->kind == JSON_ARRAY && i < addresses->n; i++)
        if (str_is(json_get_text(&addresses->items[i], STR("type")), "InternalIP"))
            snprintf(node->ip, sizeof(node->ip), "%.*s",
                     STR_ARG(json_get_text(&addresses->items[i], STR("address"))));
    if (!node->ip[0]) {
        uint32_t n = 1 + k->next_node_ip++ % ((1U << 20) - 2);
        snprintf(node->ip, sizeof(node->ip), "172.%u.%u.%u", 16 + (n >> 16), n >> 8 & 255, n & 255);
    }
}

/* --- the status ------------------------------------------------------------------------------- */

static const struct json_value *find_condition(const struct json_value *list, const char *type)
{
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (str_is(json_get_text(&list->items[i], STR("type")), type))
            return &list->items[i];
    return NULL;
}

/* A condition that says False was set by hand: a node that is made to fail. It stays. */
static bool keeps(const struct json_value *before)
{
    struct str status = json_get_text(before, STR("status"));
    return str_is(status, "True") || str_is(status, "False");
}

static void add_condition(struct kubelets *k, const struct condition_text *c,
                          const struct json_value *old)
{
    struct buf *out = &k->body;
    const struct json_value *before = find_condition(old, c->type);
    bool kept = keeps(before);
    struct str status = kept ? json_get_text(before, STR("status")) : str_of(c->status);
    struct str reason = kept ? json_get_text(before, STR("reason")) : str_of(c->reason);
    struct str message = kept ? json_get_text(before, STR("message")) : str_of(c->message);
    struct str since = kept ? json_get_text(before, STR("lastTransitionTime")) : STR("");
    buf_add_printf(out, "{\"type\":\"%s\",\"status\":", c->type);
    json_write_str(out, status);
    buf_add_cstr(out, ",\"lastHeartbeatTime\":");
    kubelet_add_time(out, k->now);
    buf_add_cstr(out, ",\"lastTransitionTime\":");
    if (str_empty(since))
        kubelet_add_time(out, k->now);
    else
        json_write_str(out, since);
    buf_add_cstr(out, ",\"reason\":");
    json_write_str(out, reason);
    buf_add_cstr(out, ",\"message\":");
    json_write_str(out, message);
    buf_add_char(out, '}');
}

static void add_conditions(struct kubelets *k, const struct json_value *old)
{
    bool first = true;
    buf_add_cstr(&k->body, "\"conditions\":[");
    for (size_t i = 0; old && old->kind == JSON_ARRAY && i < old->n; i++) {
        bool own = false;
        for (size_t j = 0; j < ARRAY_LEN(conditions); j++)
            own = own || str_is(json_get_text(&old->items[i], STR("type")), conditions[j].type);
        if (own)
            continue;
        if (!first)
            buf_add_char(&k->body, ',');
        first = false;
        json_write(&old->items[i], &k->body);
    }
    for (size_t j = 0; j < ARRAY_LEN(conditions); j++) {
        if (!first)
            buf_add_char(&k->body, ',');
        first = false;
        add_condition(k, &conditions[j], old);
    }
    buf_add_char(&k->body, ']');
}

static bool is_empty(const struct json_value *v)
{
    return !v || (v->kind == JSON_OBJECT && v->n_members == 0) ||
           (v->kind == JSON_ARRAY && v->n == 0) || v->kind == JSON_NULL;
}

static void add_resources(struct kubelets *k, const struct json_value *object)
{
    const struct json_value *capacity = json_at(object, "status.capacity");
    const struct json_value *allocatable = json_at(object, "status.allocatable");
    if (is_empty(capacity)) {
        buf_add_cstr(&k->body, ",\"capacity\":");
        if (is_empty(allocatable))
            buf_add_cstr(&k->body, CAPACITY);
        else
            json_write(allocatable, &k->body);
    }
    if (is_empty(allocatable)) {
        buf_add_cstr(&k->body, ",\"allocatable\":");
        if (is_empty(capacity))
            buf_add_cstr(&k->body, CAPACITY);
        else
            json_write(capacity, &k->body);
    }
}

static void add_identity(struct kubelets *k, struct sim_node *node, const struct json_value *object)
{
    struct buf *out = &k->body;
    if (is_empty(json_at(object, "status.addresses"))) {
        buf_add_printf(out, ",\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"%s\"},",
                       node->ip);
        buf_add_cstr(out, "{\"type\":\"Hostname\",\"address\":");
        json_write_str(out, node->name);
        buf_add_cstr(out, "}]");
    }
    if (str_empty(json_text_at(object, "status.nodeInfo.kubeletVersion"))) {
        buf_add_cstr(out, ",\"nodeInfo\":{\"machineID\":");
        json_write_str(out, node->uid);
        buf_add_cstr(out, ",\"systemUUID\":");
        json_write_str(out, node->uid);
        buf_add_cstr(out, ",\"bootID\":");
        json_write_str(out, node->uid);
        buf_add_cstr(out, ",\"kernelVersion\":\"6.1.0\",\"osImage\":\"berth simulated node\","
                          "\"containerRuntimeVersion\":\"berth://" BERTH_VERSION "\","
                          "\"kubeletVersion\":\"v1.36.3\",\"kubeProxyVersion\":\"\","
                          "\"operatingSystem\":\"linux\",\"architecture\":\"amd64\"}");
    }
    if (json_int_at(object, "status.daemonEndpoints.kubeletEndpoint.Port", 0) == 0)
        buf_add_cstr(out, ",\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":10250}}");
}

/* Whether something that the kubelet reports is missing, or a controller has declared it lost. */
static bool is_unreported(const struct json_value *object)
{
    const struct json_value *old = json_at(object, "status.conditions");
    for (size_t j = 0; j < ARRAY_LEN(conditions); j++)
        if (!keeps(find_condition(old, conditions[j].type)))
            return true;
    return is_empty(json_at(object, "status.addresses")) ||
           is_empty(json_at(object, "status.capacity")) ||
           is_empty(json_at(object, "status.allocatable"));
}

static bool report(struct kubelets *k, struct sim_node *node)
{
    struct json_value object;
    arena_reset(&k->scratch);
    if (json_parse(node->rev->text, 0, &k->scratch, &object, NULL) < 0)
        return false;
    if (node->status_due > k->now && !is_unreported(&object))
        return false;
    bool first = node->status_due == 0 && !is_unreported(&object);
    /* Spread, so that nodes of one moment do not report in one moment for ever. */
    node->status_due =
        k->now + STATUS_PERIOD / 2 + (int64_t)rand_below(&k->rand, (uint64_t)STATUS_PERIOD / 2);
    if (first)
        return false; /* the status is good, and so is its last heartbeat */
    buf_clear(&k->body);
    buf_add_printf(&k->body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":{",
                   (unsigned long long)node->rev->version);
    add_conditions(k, json_at(&object, "status.conditions"));
    add_resources(k, &object);
    add_identity(k, node, &object);
    buf_add_cstr(&k->body, "}}");
    kubelet_actor_write(k, &node->actor,
                        &(struct writer_request){.verb = WRITER_PATCH_MERGE,
                                                 .plural = STR("nodes"),
                                                 .subresource = STR("status"),
                                                 .name = node->name});
    return true;
}

/* --- the lease -------------------------------------------------------------------------------- */

static void renew(struct kubelets *k, struct sim_node *node)
{
    struct buf *out = &k->body;
    struct writer_request request = {.group = STR("coordination.k8s.io"),
                                     .plural = STR("leases"),
                                     .namespace = STR(LEASE_NAMESPACE),
                                     .name = node->name};
    buf_clear(out);
    if (!node->lease_known) {
        request.verb = WRITER_CREATE;
        buf_add_cstr(out, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                          "\"metadata\":{\"name\":");
        json_write_str(out, node->name);
        buf_add_cstr(out, ",\"namespace\":\"" LEASE_NAMESPACE "\",\"ownerReferences\":["
                          "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":");
        json_write_str(out, node->name);
        buf_add_cstr(out, ",\"uid\":");
        json_write_str(out, node->uid);
        buf_add_cstr(out, "}]},");
    } else {
        request.verb = WRITER_PATCH_MERGE;
        buf_add_char(out, '{');
    }
    buf_add_cstr(out, "\"spec\":{\"holderIdentity\":");
    json_write_str(out, node->name);
    buf_add_printf(out, ",\"leaseDurationSeconds\":%lld,\"renewTime\":\"",
                   (long long)(k->options.lease_duration / NSEC_PER_SEC));
    timestamp_format(timestamp_of(k->now), 6, out);
    buf_add_cstr(out, "\"}}");
    node->lease_flight = true;
    kubelet_actor_write(k, &node->actor, &request);
}

void kubelet_node_write_done(struct kubelets *k, struct sim_node *node, int status)
{
    if (!node->lease_flight) {
        if (status < 200 || status >= 300)
            node->status_due = MIN(node->status_due, k->now);
        return;
    }
    node->lease_flight = false;
    if (status == 404)
        node->lease_known = false;
    else if (status == 409 || (status >= 200 && status < 300))
        node->lease_known = true;
    if (status < 200 || status >= 300)
        return;
    int64_t period = k->options.lease_duration / 4;
    /* The first renewal comes at a moment of its own, the others after a period each. */
    if (node->lease_due == 0)
        period = (int64_t)rand_below(&k->rand, (uint64_t)period) + 1;
    node->lease_due = k->now + period;
}

void kubelet_node_sync(struct kubelets *k, struct sim_node *node)
{
    if (!node->rev || node->killed)
        return;
    if (report(k, node))
        return;
    if (!k->options.without_leases && node->lease_due <= k->now) {
        renew(k, node);
        return;
    }
    int64_t next = node->status_due;
    if (!k->options.without_leases)
        next = MIN(next, node->lease_due);
    kubelet_actor_due(k, &node->actor, next);
}
