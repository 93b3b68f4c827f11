/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of the core group except pods, and events of both groups. */
#include <inttypes.h>

#include "apiserver/print/table_internal.h"

/* --- nodes ------------------------------------------------------------------------------------ */

static void node_status(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items conditions = json_items_at(c->object, "status.conditions");
    const char *status = "Unknown";
    (void)col;
    for (size_t i = 0; i < conditions.n; i++)
        if (str_is(json_text_at(&conditions.v[i], "type"), "Ready"))
            status =
                str_is(json_text_at(&conditions.v[i], "status"), "True") ? "Ready" : "NotReady";
    buf_add_cstr(out, status);
    if (json_bool_at(c->object, "spec.unschedulable", false))
        buf_add_cstr(out, ",SchedulingDisabled");
}

static int compare_texts(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* node-role.kubernetes.io/ROLE, or the value of kubernetes.io/role. */
static void node_roles(struct cells *c, const struct column *col, struct buf *out)
{
    static const struct str prefix = STR_INIT("node-role.kubernetes.io/");
    struct json_members labels = json_members_at(c->object, "metadata.labels");
    struct str *roles = arena_array(&c->arena, struct str, labels.n);
    size_t n = 0;
    (void)col;
    for (size_t i = 0; i < labels.n; i++) {
        const struct json_member *label = &labels.v[i];
        if (str_starts(label->key, prefix) && label->key.n > prefix.n)
            roles[n++] = str_slice(label->key, prefix.n, label->key.n);
        else if (str_is(label->key, "kubernetes.io/role") && label->value.kind == JSON_STRING &&
                 label->value.text.n)
            roles[n++] = label->value.text;
    }
    if (n)
        qsort(roles, n, sizeof(*roles), compare_texts);
    for (size_t i = 0; i < n; i++)
        if (!i || !str_eq(roles[i], roles[i - 1]))
            cell_join(out, ",", roles[i]);
    if (!n)
        buf_add_cstr(out, "<none>");
}

/* path: the type of the address. */
static void node_address(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items addresses = json_items_at(c->object, "status.addresses");
    for (size_t i = 0; i < addresses.n; i++)
        if (str_is(json_text_at(&addresses.v[i], "type"), col->path)) {
            buf_add_str(out, json_text_at(&addresses.v[i], "address"));
            return;
        }
    buf_add_cstr(out, "<none>");
}

static void node_kernel(struct cells *c, const struct column *col, struct buf *out)
{
    struct str architecture = json_text_at(c->object, "status.nodeInfo.architecture");
    cell_text_or(c, col, out);
    if (architecture.n)
        buf_add_printf(out, " (%.*s)", STR_ARG(architecture));
}

/* --- services and endpoints ------------------------------------------------------------------- */

static void service_cluster_ip(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items ips = json_items_at(c->object, "spec.clusterIPs");
    (void)col;
    if (!ips.n)
        buf_add_cstr(out, "<none>");
    else if (ips.v[0].kind == JSON_STRING)
        buf_add_str(out, ips.v[0].text);
}

static void service_external_ip(struct cells *c, const struct column *col, struct buf *out)
{
    struct str type = json_text_at(c->object, "spec.type");
    struct json_items external = json_items_at(c->object, "spec.externalIPs");
    bool balanced = str_is(type, "LoadBalancer");
    if (str_is(type, "ExternalName")) {
        buf_add_str(out, json_text_at(c->object, "spec.externalName"));
        return;
    }
    if (!balanced && !str_is(type, "ClusterIP") && !str_is(type, "NodePort")) {
        buf_add_cstr(out, "<unknown>");
        return;
    }
    if (balanced)
        cell_balancer_addresses(c, col, out);
    for (size_t i = 0; i < external.n; i++)
        if (external.v[i].kind == JSON_STRING)
            cell_join(out, ",", external.v[i].text);
    if (!out->n && !external.n)
        buf_add_cstr(out, balanced ? "<pending>" : "<none>");
}

static void service_ports(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items ports = json_items_at(c->object, "spec.ports");
    (void)col;
    for (size_t i = 0; i < ports.n; i++) {
        int64_t node_port = json_int_at(&ports.v[i], "nodePort", 0);
        buf_add_printf(out, "%s%" PRId64, i ? "," : "", json_int_at(&ports.v[i], "port", 0));
        if (node_port > 0)
            buf_add_printf(out, ":%" PRId64, node_port);
        buf_add_printf(out, "/%.*s", STR_ARG(json_text_at(&ports.v[i], "protocol")));
    }
    if (!ports.n)
        buf_add_cstr(out, "<none>");
}

#define MAX_ENDPOINTS 3

static void write_endpoint(struct str ip, const struct json_value *port, struct buf *out)
{
    bool v6 = str_find(ip, ':') < ip.n;
    if (port)
        buf_add_printf(out, v6 ? "[%.*s]:%" PRId64 : "%.*s:%" PRId64, STR_ARG(ip),
                       json_int_at(port, "port", 0));
    else
        buf_add_str(out, ip);
}

static void write_subset(const struct json_value *subset, const struct json_value *port,
                         size_t *count, struct buf *out)
{
    struct json_items addresses = json_items_at(subset, "addresses");
    for (size_t i = 0; i < addresses.n && *count + i < MAX_ENDPOINTS; i++) {
        if (*count + i)
            buf_add_char(out, ',');
        write_endpoint(json_text_at(&addresses.v[i], "ip"), port, out);
    }
    *count += addresses.n;
}

static void endpoints_list(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items subsets = json_items_at(c->object, "subsets");
    size_t count = 0;
    (void)col;
    if (!subsets.n)
        buf_add_cstr(out, "<none>");
    for (size_t i = 0; i < subsets.n; i++) {
        struct json_items ports = json_items_at(&subsets.v[i], "ports");
        if (!ports.n)
            write_subset(&subsets.v[i], NULL, &count, out);
        for (size_t j = 0; j < ports.n; j++)
            write_subset(&subsets.v[i], &ports.v[j], &count, out);
    }
    if (count > MAX_ENDPOINTS)
        buf_add_printf(out, " + %zu more...", count - MAX_ENDPOINTS);
}

/* --- events ----------------------------------------------------------------------------------- */

static void event_first(struct cells *c, const struct column *col, struct buf *out)
{
    struct timestamp first = cell_time(json_at(c->object, "firstTimestamp"));
    (void)col;
    cell_since(c, first.set ? first : cell_time(json_at(c->object, "eventTime")), out);
}

static bool has_series(const struct cells *c)
{
    const struct json_value *series = json_at(c->object, "series");
    return series && series->kind == JSON_OBJECT;
}

static void event_last(struct cells *c, const struct column *col, struct buf *out)
{
    struct timestamp last = cell_time(json_at(c->object, "lastTimestamp"));
    if (has_series(c))
        cell_age(c, json_at(c->object, "series.lastObservedTime"), out);
    else if (last.set)
        cell_since(c, last, out);
    else
        event_first(c, col, out);
}

static void event_count(struct cells *c, const struct column *col, struct buf *out)
{
    int64_t count = json_int_at(c->object, "count", 0);
    (void)col;
    if (has_series(c))
        count = json_int_at(c->object, "series.count", 0);
    else if (count == 0)
        count = 1;
    buf_add_printf(out, "%" PRId64, count);
}

static void event_object(struct cells *c, const struct column *col, struct buf *out)
{
    struct str name = json_text_at(c->object, "involvedObject.name");
    (void)col;
    cell_lower(out, json_text_at(c->object, "involvedObject.kind"));
    if (name.n)
        buf_add_printf(out, "/%.*s", STR_ARG(name));
}

static void event_source(struct cells *c, const struct column *col, struct buf *out)
{
    struct str component = json_text_at(c->object, "source.component");
    struct str host = json_text_at(c->object, "source.host");
    (void)col;
    if (!component.n)
        component = json_text_at(c->object, "reportingComponent");
    if (!host.n)
        host = json_text_at(c->object, "reportingInstance");
    buf_add_str(out, component);
    if (host.n)
        buf_add_printf(out, ", %.*s", STR_ARG(host));
}

static void event_message(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_str(out, str_trim(json_text_at(c->object, "message")));
}

/* --- volumes ---------------------------------------------------------------------------------- */

static void volume_phase(struct cells *c, const struct column *col, struct buf *out)
{
    if (json_text_at(c->object, "metadata.deletionTimestamp").n)
        buf_add_cstr(out, "Terminating");
    else
        cell_text_at(c, col, out);
}

/* The beta annotation wins over spec.storageClassName. */
static void volume_class(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *beta = json_get(json_at(c->object, "metadata.annotations"),
                                             STR("volume.beta.kubernetes.io/storage-class"));
    if (beta && beta->kind == JSON_STRING)
        buf_add_str(out, beta->text);
    else
        cell_text_at(c, col, out);
}

static void volume_claim(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *ref = json_at(c->object, "spec.claimRef");
    (void)col;
    if (ref && ref->kind == JSON_OBJECT)
        buf_add_printf(out, "%.*s/%.*s", STR_ARG(json_text_at(ref, "namespace")),
                       STR_ARG(json_text_at(ref, "name")));
}

/* Of a claim that has a volume only. */
static void claim_capacity(struct cells *c, const struct column *col, struct buf *out)
{
    if (json_text_at(c->object, "spec.volumeName").n)
        cell_quantity_at(c, col, out);
}

static void claim_modes(struct cells *c, const struct column *col, struct buf *out)
{
    if (json_text_at(c->object, "spec.volumeName").n)
        cell_access_modes_at(c, col, out);
}

/* --- the rest --------------------------------------------------------------------------------- */

static void config_map_data(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_printf(out, "%zu",
                   json_members_at(c->object, "data").n +
                       json_members_at(c->object, "binaryData").n);
}

/* path: the member of the condition; NULL: its status. */
static void component_health(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items conditions = json_items_at(c->object, "conditions");
    for (size_t i = 0; i < conditions.n; i++)
        if (str_is(json_text_at(&conditions.v[i], "type"), "Healthy")) {
            bool healthy = str_is(json_text_at(&conditions.v[i], "status"), "True");
            struct str status = healthy ? STR("Healthy") : STR("Unhealthy");
            buf_add_str(out, col->path ? json_text_at(&conditions.v[i], col->path) : status);
            return;
        }
    if (col->otherwise)
        buf_add_cstr(out, col->otherwise);
}

struct quota_line {
    struct str resource;
    const struct json_value *hard;
};

static int compare_lines(const void *a, const void *b)
{
    const struct quota_line *x = a, *y = b;
    return str_cmp(x->resource, y->resource);
}

/* path "limits": the resources that begin with "limits."; else all others. */
static void quota_amounts(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_members hard = json_members_at(c->object, "status.hard");
    struct json_members used = json_members_at(c->object, "status.used");
    struct quota_line *lines = arena_array(&c->arena, struct quota_line, hard.n);
    struct map used_by = MAP_INIT;
    size_t n = 0;
    for (size_t i = 0; i < used.n; i++)
        map_put(&used_by, used.v[i].key, (void *)&used.v[i].value);
    for (size_t i = 0; i < hard.n; i++)
        if (str_starts(hard.v[i].key, STR("limits.")) == (col->path != NULL))
            lines[n++] = (struct quota_line){hard.v[i].key, &hard.v[i].value};
    if (n)
        qsort(lines, n, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < n; i++) {
        buf_add_printf(out, "%s%.*s: ", i ? ", " : "", STR_ARG(lines[i].resource));
        cell_quantity(c, map_get(&used_by, lines[i].resource), out);
        buf_add_char(out, '/');
        cell_quantity(c, lines[i].hard, out);
    }
    map_release(&used_by);
}

/* --- the table -------------------------------------------------------------------------------- */

/* clang-format off */
const struct printer table_core_printers[] = {
    PRINTER("", "nodes", NAME_COLUMN,
        CELL_COLUMN("Status", "Whether the node is ready and may get pods.", node_status),
        CELL_COLUMN("Roles", "Roles by the labels of the node.", node_roles), AGE_COLUMN,
        TEXT_COLUMN("Version", "Version of the kubelet.", "status.nodeInfo.kubeletVersion"),
        CELL_COLUMN("Internal-IP", "First internal address.", node_address, .path = "InternalIP",
            .priority = 1),
        CELL_COLUMN("External-IP", "First external address.", node_address, .path = "ExternalIP",
            .priority = 1),
        CELL_COLUMN("OS-Image", "Operating system.", cell_text_or,
            .path = "status.nodeInfo.osImage",
            .otherwise = "<unknown>", .priority = 1),
        CELL_COLUMN("Kernel-Version", "Kernel and architecture.", node_kernel,
            .path = "status.nodeInfo.kernelVersion", .otherwise = "<unknown>", .priority = 1),
        CELL_COLUMN("Container-Runtime", "Container runtime and its version.", cell_text_or,
            .path = "status.nodeInfo.containerRuntimeVersion", .otherwise = "<unknown>",
            .priority = 1)),
    PRINTER("", "services", NAME_COLUMN,
        TEXT_COLUMN("Type", "How the service is exposed.", "spec.type"),
        CELL_COLUMN("Cluster-IP", "Address inside the cluster.", service_cluster_ip),
        CELL_COLUMN("External-IP", "Addresses or name outside.", service_external_ip),
        CELL_COLUMN("Port(s)", "Ports, with the port of nodes if any.", service_ports), AGE_COLUMN,
        CELL_COLUMN("Selector", "Labels of the pods behind it.", cell_labels_at,
            .path = "spec.selector", .priority = 1)),
    PRINTER("", "endpoints", NAME_COLUMN,
        CELL_COLUMN("Endpoints", "Addresses and ports of ready pods.", endpoints_list),
        AGE_COLUMN),
    PRINTER("", "events",
        CELL_COLUMN("Last Seen", "Time since it last happened.", event_last),
        TEXT_COLUMN("Type", "Normal or Warning.", "type"),
        TEXT_COLUMN("Reason", "Why it happened, in one word.", "reason"),
        CELL_COLUMN("Object", "The object that it is about.", event_object),
        TEXT_COLUMN("Subobject", "The part of the object.", "involvedObject.fieldPath",
            .priority = 1),
        CELL_COLUMN("Source", "The component that reports it.", event_source, .priority = 1),
        CELL_COLUMN("Message", "What happened.", event_message),
        CELL_COLUMN("First Seen", "Time since it first happened.", event_first, .priority = 1),
        {.name = "Count", .type = "string", .description = "How often it happened.",
         .json = event_count, .priority = 1},
        {.name = "Name", .type = "string", .format = "name",
         .description = "Name of the event.", .text = cell_text_at, .path = "metadata.name",
         .priority = 1}),
    PRINTER("", "namespaces", NAME_COLUMN,
        TEXT_COLUMN("Status", "Active or Terminating.", "status.phase"), AGE_COLUMN),
    PRINTER("", "secrets", NAME_COLUMN, TEXT_COLUMN("Type", "What the data is for.", "type"),
        {.name = "Data", .type = "string", .description = "Number of keys.", .json = cell_count_at,
         .path = "data"},
        AGE_COLUMN),
    PRINTER("", "serviceaccounts", NAME_COLUMN, AGE_COLUMN),
    PRINTER("", "configmaps", NAME_COLUMN,
        {.name = "Data", .type = "string", .description = "Number of keys.",
         .json = config_map_data},
        AGE_COLUMN),
    PRINTER("", "podtemplates", NAME_COLUMN,
        CELL_COLUMN("Containers", "Containers of the pods.", cell_container_names_at,
            .path = "template.spec.containers"),
        CELL_COLUMN("Images", "Images of the containers.", cell_container_images_at,
            .path = "template.spec.containers"),
        CELL_COLUMN("Pod Labels", "Labels of the pods.", cell_labels_at,
            .path = "template.metadata.labels")),
    PRINTER("", "replicationcontrollers", NAME_COLUMN,
        INT_COLUMN("Desired", "Pods wanted.", "spec.replicas"),
        INT_COLUMN("Current", "Pods that exist.", "status.replicas"),
        INT_COLUMN("Ready", "Pods that are ready.", "status.readyReplicas"), AGE_COLUMN,
        CONTAINER_COLUMNS("spec.template.spec.containers"),
        CELL_COLUMN("Selector", "Labels of its pods.", cell_labels_at, .path = "spec.selector",
            .priority = 1)),
    PRINTER("", "persistentvolumes", NAME_COLUMN,
        CELL_COLUMN("Capacity", "Size of the volume.", cell_quantity_at,
            .path = "spec.capacity.storage"),
        CELL_COLUMN("Access Modes", "How it can be mounted.", cell_access_modes_at,
            .path = "spec.accessModes"),
        TEXT_COLUMN("Reclaim Policy", "What happens to it after its claim.",
            "spec.persistentVolumeReclaimPolicy"),
        CELL_COLUMN("Status", "Phase of the volume.", volume_phase, .path = "status.phase"),
        CELL_COLUMN("Claim", "The claim that it is bound to.", volume_claim),
        CELL_COLUMN("StorageClass", "Its storage class.", volume_class,
            .path = "spec.storageClassName"),
        TEXT_COLUMN("VolumeAttributesClass", "Its volume attributes class.",
            "spec.volumeAttributesClassName", .otherwise = "<unset>"),
        TEXT_COLUMN("Reason", "Why it is in its phase.", "status.reason"), AGE_COLUMN,
        TEXT_COLUMN("VolumeMode", "Filesystem or Block.", "spec.volumeMode", .priority = 1,
            .otherwise = "<unset>")),
    PRINTER("", "persistentvolumeclaims", NAME_COLUMN,
        CELL_COLUMN("Status", "Phase of the claim.", volume_phase, .path = "status.phase"),
        TEXT_COLUMN("Volume", "The volume that it is bound to.", "spec.volumeName"),
        CELL_COLUMN("Capacity", "Size of the volume.", claim_capacity,
            .path = "status.capacity.storage"),
        CELL_COLUMN("Access Modes", "How the volume can be mounted.", claim_modes,
            .path = "status.accessModes"),
        CELL_COLUMN("StorageClass", "Its storage class.", volume_class,
            .path = "spec.storageClassName"),
        TEXT_COLUMN("VolumeAttributesClass", "Its volume attributes class.",
            "spec.volumeAttributesClassName", .otherwise = "<unset>"),
        AGE_COLUMN,
        TEXT_COLUMN("VolumeMode", "Filesystem or Block.", "spec.volumeMode", .priority = 1,
            .otherwise = "<unset>")),
    PRINTER("", "componentstatuses", NAME_COLUMN,
        CELL_COLUMN("Status", "Whether the component is healthy.", component_health,
            .otherwise = "Unknown"),
        CELL_COLUMN("Message", "Message of its health check.", component_health,
            .path = "message"),
        CELL_COLUMN("Error", "Error of its health check.", component_health, .path = "error")),
    PRINTER("", "resourcequotas", NAME_COLUMN,
        CELL_COLUMN("Request", "Requests and objects: used/hard.", quota_amounts),
        CELL_COLUMN("Limit", "Limits: used/hard.", quota_amounts, .path = "limits"), AGE_COLUMN),
};
const size_t n_table_core_printers = ARRAY_LEN(table_core_printers);
/* clang-format on */
