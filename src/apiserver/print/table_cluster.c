/* SPDX-License-Identifier: Apache-2.0 */
/* Networking, access, storage, devices and leases. */
#include <inttypes.h>

#include "apiserver/print/table_internal.h"

#define MAX_LISTED 3

static bool is_set(const struct json_value *v)
{
    return v && v->kind != JSON_NULL;
}

static bool annotated(const struct json_value *object, const char *annotation)
{
    return str_is(json_get_text(json_at(object, "metadata.annotations"), str_of(annotation)),
                  "true");
}

/* --- networking ------------------------------------------------------------------------------- */

static void ingress_hosts(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items rules = json_items_at(c->object, "spec.rules");
    size_t listed = 0;
    bool more = false;
    (void)col;
    for (size_t i = 0; i < rules.n && !more; i++) {
        struct str host = json_text_at(&rules.v[i], "host");
        more = listed == MAX_LISTED;
        if (!more && host.n && ++listed)
            cell_join(out, ",", host);
    }
    if (!listed)
        buf_add_char(out, '*');
    if (more)
        buf_add_printf(out, " + %zu more...", rules.n - MAX_LISTED);
}

static void ingress_ports(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_cstr(out, json_items_at(c->object, "spec.tls").n ? "80, 443" : "80");
}

/* "NAME (default)" */
static void ingress_class_name(struct cells *c, const struct column *col, struct buf *out)
{
    cell_text_at(c, col, out);
    if (annotated(c->object, "ingressclass.kubernetes.io/is-default-class"))
        buf_add_cstr(out, " (default)");
}

static void ingress_class_parameters(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *parameters = json_at(c->object, "spec.parameters");
    const struct json_value *group = json_at(parameters, "apiGroup");
    if (!is_set(parameters)) {
        buf_add_cstr(out, col->otherwise);
        return;
    }
    buf_add_str(out, json_text_at(parameters, "kind"));
    if (is_set(group))
        buf_add_printf(out, ".%.*s", STR_ARG(json_text_at(parameters, "apiGroup")));
    buf_add_printf(out, "/%.*s", STR_ARG(json_text_at(parameters, "name")));
}

static void address_parent(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *ref = json_at(c->object, "spec.parentRef");
    if (!is_set(ref)) {
        buf_add_cstr(out, col->otherwise);
        return;
    }
    struct str group = json_text_at(ref, "group"), ns = json_text_at(ref, "namespace");
    cell_lower(out, json_text_at(ref, "resource"));
    if (group.n) {
        buf_add_char(out, '.');
        cell_lower(out, group);
    }
    if (ns.n)
        buf_add_printf(out, "/%.*s", STR_ARG(ns));
    buf_add_printf(out, "/%.*s", STR_ARG(json_text_at(ref, "name")));
}

/* The end of a list of at most MAX_LISTED of n. */
static void finish_list(size_t n, struct buf *out)
{
    if (n > MAX_LISTED)
        buf_add_printf(out, " + %zu more...", n - MAX_LISTED);
    else if (!out->n)
        buf_add_cstr(out, "<unset>");
}

static void slice_ports(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items ports = json_items_at(c->object, "ports");
    (void)col;
    for (size_t i = 0; i < ports.n && i < MAX_LISTED; i++) {
        const struct json_value *port = json_at(&ports.v[i], "port");
        const struct json_value *name = json_at(&ports.v[i], "name");
        struct str text = STR("*");
        if (port && port->kind == JSON_NUMBER)
            text = port->text;
        else if (name && name->kind == JSON_STRING)
            text = name->text;
        if (i)
            buf_add_char(out, ',');
        buf_add_str(out, text);
    }
    finish_list(ports.n, out);
}

static void slice_endpoints(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items endpoints = json_items_at(c->object, "endpoints");
    size_t n = 0;
    (void)col;
    for (size_t i = 0; i < endpoints.n; i++) {
        struct json_items addresses = json_items_at(&endpoints.v[i], "addresses");
        for (size_t j = 0; j < addresses.n && n + j < MAX_LISTED; j++)
            cell_join(out, ",", addresses.v[j].kind == JSON_STRING ? addresses.v[j].text : STR(""));
        n += addresses.n;
    }
    finish_list(n, out);
}

/* --- access ----------------------------------------------------------------------------------- */

static void binding_role(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_printf(out, "%.*s/%.*s", STR_ARG(json_text_at(c->object, "roleRef.kind")),
                   STR_ARG(json_text_at(c->object, "roleRef.name")));
}

/* path: the kind of the subjects. */
static void binding_subjects(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items subjects = json_items_at(c->object, "subjects");
    bool first = true, account = str_is(STR("ServiceAccount"), col->path);
    for (size_t i = 0; i < subjects.n; i++) {
        if (!str_is(json_text_at(&subjects.v[i], "kind"), col->path))
            continue;
        if (!first)
            buf_add_cstr(out, ", ");
        first = false;
        if (account)
            buf_add_printf(out, "%.*s/", STR_ARG(json_text_at(&subjects.v[i], "namespace")));
        buf_add_str(out, json_text_at(&subjects.v[i], "name"));
    }
}

static void request_duration(struct cells *c, const struct column *col, struct buf *out)
{
    int64_t seconds = json_int_at(c->object, col->path, INT64_MIN);
    if (seconds == INT64_MIN)
        buf_add_cstr(out, col->otherwise);
    else
        duration_format_human((int32_t)seconds * NSEC_PER_SEC, out);
}

static void request_condition(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_cstr(out, cell_condition(c->object, "Denied")     ? "Denied"
                      : cell_condition(c->object, "Approved") ? "Approved"
                                                              : "Pending");
    if (cell_condition(c->object, "Failed"))
        buf_add_cstr(out, ",Failed");
    if (json_text_at(c->object, "status.certificate").n)
        buf_add_cstr(out, ",Issued");
}

/* --- storage and devices ---------------------------------------------------------------------- */

static void storage_class_name(struct cells *c, const struct column *col, struct buf *out)
{
    cell_text_at(c, col, out);
    if (annotated(c->object, "storageclass.kubernetes.io/is-default-class") ||
        annotated(c->object, "storageclass.beta.kubernetes.io/is-default-class"))
        buf_add_cstr(out, " (default)");
}

static void driver_tokens(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *requests = json_at(c->object, "spec.tokenRequests");
    if (!requests || requests->kind != JSON_ARRAY) {
        buf_add_cstr(out, col->otherwise);
        return;
    }
    for (size_t i = 0; i < requests->n; i++) {
        if (i)
            buf_add_char(out, ',');
        buf_add_str(out, json_text_at(&requests->items[i], "audience"));
    }
}

static void claim_state(struct cells *c, const struct column *col, struct buf *out)
{
    bool deleted = json_text_at(c->object, "metadata.deletionTimestamp").n > 0;
    (void)col;
    if (deleted)
        buf_add_cstr(out, "deleted");
    if (is_set(json_at(c->object, "status.allocation"))) {
        cell_join(out, ",", STR("allocated"));
        if (json_items_at(c->object, "status.reservedFor").n)
            buf_add_cstr(out, ",reserved");
    } else if (!deleted) {
        buf_add_cstr(out, "pending");
    }
}

/* --- the table -------------------------------------------------------------------------------- */

#define BINDING_COLUMNS                                                                     \
    NAME_COLUMN, CELL_COLUMN("Role", "The role that it grants.", binding_role), AGE_COLUMN, \
        CELL_COLUMN("Users", "Users that get it.", binding_subjects, .path = "User",        \
                    .priority = 1),                                                         \
        CELL_COLUMN("Groups", "Groups that get it.", binding_subjects, .path = "Group",     \
                    .priority = 1),                                                         \
        CELL_COLUMN("ServiceAccounts", "Service accounts that get it.", binding_subjects,   \
                    .path = "ServiceAccount", .priority = 1)

/* clang-format off */
const struct printer table_cluster_printers[] = {
    PRINTER("networking.k8s.io", "ingresses", NAME_COLUMN,
        TEXT_COLUMN("Class", "Its IngressClass.", "spec.ingressClassName",
            .otherwise = "<none>"),
        CELL_COLUMN("Hosts", "Hosts of its rules.", ingress_hosts),
        CELL_COLUMN("Address", "Addresses of the load balancer.", cell_balancer_addresses),
        CELL_COLUMN("Ports", "Ports that are open.", ingress_ports), AGE_COLUMN),
    PRINTER("networking.k8s.io", "ingressclasses",
        {.name = "Name", .type = "string", .format = "name",
         .description = "Name of the class; one is the default.", .text = ingress_class_name,
         .path = "metadata.name"},
        TEXT_COLUMN("Controller", "The controller of its ingresses.", "spec.controller"),
        CELL_COLUMN("Parameters", "An object with its parameters.", ingress_class_parameters,
            .otherwise = "<none>"),
        AGE_COLUMN),
    PRINTER("networking.k8s.io", "ipaddresses", NAME_COLUMN,
        CELL_COLUMN("ParentRef", "The object that uses the address.", address_parent,
            .otherwise = "<none>"),
        {.text = cell_age_at, .path = "metadata.creationTimestamp", .headless = true}),
    PRINTER("networking.k8s.io", "networkpolicies", NAME_COLUMN,
        CELL_COLUMN("Pod-Selector", "Selects the pods that it is about.", cell_selector_at,
            .path = "spec.podSelector"),
        AGE_COLUMN),
    PRINTER("networking.k8s.io", "servicecidrs", NAME_COLUMN,
        CELL_COLUMN("CIDRs", "Ranges of cluster IPs.", cell_list_at, .path = "spec.cidrs"),
            AGE_COLUMN),
    PRINTER("discovery.k8s.io", "endpointslices", NAME_COLUMN,
        TEXT_COLUMN("AddressType", "IPv4, IPv6 or FQDN.", "addressType"),
        CELL_COLUMN("Ports", "Ports of the endpoints.", slice_ports),
        CELL_COLUMN("Endpoints", "Addresses of the endpoints.", slice_endpoints), AGE_COLUMN),
    PRINTER("rbac.authorization.k8s.io", "rolebindings", BINDING_COLUMNS),
    PRINTER("rbac.authorization.k8s.io", "clusterrolebindings", BINDING_COLUMNS),
    PRINTER("certificates.k8s.io", "certificatesigningrequests", NAME_COLUMN, AGE_COLUMN,
        CELL_COLUMN("SignerName", "The signer that is asked.", cell_text_or,
            .path = "spec.signerName", .otherwise = "<none>"),
        TEXT_COLUMN("Requestor", "The user that asks.", "spec.username"),
        CELL_COLUMN("RequestedDuration", "How long the certificate should be valid.",
            request_duration, .path = "spec.expirationSeconds", .otherwise = "<none>"),
        CELL_COLUMN("Condition", "State of the request.", request_condition)),
    PRINTER("coordination.k8s.io", "leases", NAME_COLUMN,
        TEXT_COLUMN("Holder", "Identity of the holder.", "spec.holderIdentity"), AGE_COLUMN),
    PRINTER("coordination.k8s.io", "leasecandidates", NAME_COLUMN,
        TEXT_COLUMN("LeaseName", "The lease that it wants.", "spec.leaseName"),
        TEXT_COLUMN("BinaryVersion", "Version of the binary.", "spec.binaryVersion"),
        TEXT_COLUMN("EmulationVersion", "Version that it emulates.", "spec.emulationVersion"),
        AGE_COLUMN),
    PRINTER("storage.k8s.io", "storageclasses",
        {.name = "Name", .type = "string", .format = "name",
         .description = "Name of the class; one is the default.", .text = storage_class_name,
         .path = "metadata.name"},
        TEXT_COLUMN("Provisioner", "What makes volumes of the class.", "provisioner"),
        TEXT_COLUMN("ReclaimPolicy", "What happens to a volume after its claim.",
            "reclaimPolicy", .otherwise = "Delete"),
        TEXT_COLUMN("VolumeBindingMode", "When a claim gets its volume.", "volumeBindingMode",
            .otherwise = "Immediate"),
        {.name = "AllowVolumeExpansion", .type = "string",
         .description = "Whether volumes can grow.", .json = cell_bool_at,
         .path = "allowVolumeExpansion"},
        AGE_COLUMN),
    PRINTER("storage.k8s.io", "volumeattributesclasses", NAME_COLUMN,
        TEXT_COLUMN("DriverName", "The CSI driver.", "driverName"), AGE_COLUMN),
    PRINTER("storage.k8s.io", "volumeattachments", NAME_COLUMN,
        TEXT_COLUMN("Attacher", "The driver that attaches it.", "spec.attacher",
            .format = "name"),
        TEXT_COLUMN("PV", "The volume.", "spec.source.persistentVolumeName"),
        TEXT_COLUMN("Node", "The node.", "spec.nodeName"),
        BOOL_COLUMN("Attached", "Whether it is attached.", "status.attached"), AGE_COLUMN),
    PRINTER("storage.k8s.io", "csinodes", NAME_COLUMN,
        {.name = "Drivers", .type = "integer", .description = "CSI drivers on the node.",
         .json = cell_count_at, .path = "spec.drivers"},
        AGE_COLUMN),
    PRINTER("storage.k8s.io", "csidrivers", NAME_COLUMN,
        BOOL_COLUMN("AttachRequired", "Whether volumes are attached.", "spec.attachRequired",
            .otherwise = "true"),
        BOOL_COLUMN("PodInfoOnMount", "Whether mounts get the pod's names.",
            "spec.podInfoOnMount"),
        BOOL_COLUMN("StorageCapacity", "Whether it publishes free capacity.",
            "spec.storageCapacity"),
        CELL_COLUMN("TokenRequests", "Audiences of the tokens that it gets.", driver_tokens,
            .otherwise = "<unset>"),
        BOOL_COLUMN("RequiresRepublish", "Whether volumes are mounted again and again.",
            "spec.requiresRepublish"),
        CELL_COLUMN("Modes", "Lifecycles of volumes.", cell_list_at,
            .path = "spec.volumeLifecycleModes", .otherwise = "<none>"),
        AGE_COLUMN),
    PRINTER("storage.k8s.io", "csistoragecapacities", NAME_COLUMN,
        TEXT_COLUMN("StorageClassName", "The storage class.", "storageClassName"),
        CELL_COLUMN("Capacity", "Free capacity.", cell_quantity_at, .path = "capacity",
            .otherwise = "<unset>")),
    PRINTER("node.k8s.io", "runtimeclasses", NAME_COLUMN,
        TEXT_COLUMN("Handler", "Handler of the container runtime.", "handler"), AGE_COLUMN),
    PRINTER("resource.k8s.io", "deviceclasses", NAME_COLUMN, AGE_COLUMN),
    PRINTER("resource.k8s.io", "resourceclaims", NAME_COLUMN,
        CELL_COLUMN("State", "Whether it is allocated and reserved.", claim_state), AGE_COLUMN),
    PRINTER("resource.k8s.io", "resourceclaimtemplates", NAME_COLUMN, AGE_COLUMN),
    PRINTER("resource.k8s.io", "resourceslices", NAME_COLUMN,
        TEXT_COLUMN("Node", "The node of the devices.", "spec.nodeName"),
        TEXT_COLUMN("Driver", "The driver of the devices.", "spec.driver"),
        TEXT_COLUMN("Pool", "The pool that it is part of.", "spec.pool.name"), AGE_COLUMN),
    PRINTER("resource.k8s.io", "devicetaintrules", NAME_COLUMN,
        TEXT_COLUMN("Key", "Key of the taint.", "spec.taint.key"),
        TEXT_COLUMN("Value", "Value of the taint.", "spec.taint.value"),
        TEXT_COLUMN("Effect", "Effect of the taint.", "spec.taint.effect"),
        CELL_COLUMN("TimeAdded", "Time since the taint was added.", cell_age_at,
            .path = "spec.taint.timeAdded", .otherwise = ""),
        AGE_COLUMN),
};
const size_t n_table_cluster_printers = ARRAY_LEN(table_cluster_printers);
/* clang-format on */
