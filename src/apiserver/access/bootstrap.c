/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of a new cluster, from tables and templates. */
#include "apiserver/access/bootstrap.h"
#include "apiserver/access/bootstrap_internal.h"
#include "base/vec.h"
#include "codec/json_edit.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

struct builder {
    struct arena *arena;
    VEC(struct bootstrap_object) list;
};

/* Adds an object with metadata; the pointer is valid until the next call. */
static struct json_value *add(struct builder *b, struct bootstrap_object where, const char *kind)
{
    struct arena *a = b->arena;
    struct json_value object = json_object();
    json_set(&object, STR("apiVersion"),
             json_text(where.group.n ? arena_printf(a, "%.*s/%.*s", STR_ARG(where.group),
                                                    STR_ARG(where.version))
                                     : where.version),
             a);
    json_set(&object, STR("kind"), json_text(str_of(kind)), a);
    json_set_at(&object, "metadata.name", json_text(where.name), a);
    if (where.namespace.n)
        json_set_at(&object, "metadata.namespace", json_text(where.namespace), a);
    where.object = object;
    vec_push(&b->list, where);
    return &vec_last(&b->list).object;
}

/* Members from constant text. */
static void set_json(struct json_value *object, struct str key, struct str text, struct arena *a)
{
    struct json_value v;
    int r = json_parse(text, 0, a, &v, NULL);
    assert(r == 0);
    (void)r;
    json_set(object, key, v, a);
}

/* --- roles ------------------------------------------------------------------------------------ */

static struct json_value words(struct str text, struct arena *a)
{
    struct json_value list = json_array();
    struct str word;
    while (str_split(&text, ',', &word))
        json_append(&list, json_text(str_is(word, "core") ? STR("") : word), a);
    return list;
}

static struct json_value rule_of(struct str line, struct arena *a)
{
    struct json_value rule = json_object();
    struct str verbs, groups, what, names;
    (void)str_split(&line, ' ', &verbs);
    (void)str_split(&line, ' ', &groups);
    (void)str_split(&line, ' ', &what);
    if (str_is(groups, "-")) {
        json_set(&rule, STR("nonResourceURLs"), words(what, a), a);
    } else {
        json_set(&rule, STR("apiGroups"), words(groups, a), a);
        if (str_split(&line, ' ', &names))
            json_set(&rule, STR("resourceNames"), words(names, a), a);
        json_set(&rule, STR("resources"), words(what, a), a);
    }
    json_set(&rule, STR("verbs"), words(verbs, a), a);
    return rule;
}

static void set_defaults_metadata(struct json_value *object, struct arena *a)
{
    struct json_value *meta = json_member(object, STR("metadata"));
    json_set(json_set_object(meta, STR("annotations"), a),
             STR("rbac.authorization.kubernetes.io/autoupdate"), json_text(STR("true")), a);
    json_set(json_set_object(meta, STR("labels"), a), STR("kubernetes.io/bootstrapping"),
             json_text(STR("rbac-defaults")), a);
}

static struct bootstrap_object rbac_place(const struct bootstrap_role *row, const char *plural,
                                          const char *cluster_plural, const char *name)
{
    return (struct bootstrap_object){
        .group = STR(RBAC_GROUP),
        .version = STR("v1"),
        .plural = str_of(row->namespace ? plural : cluster_plural),
        .namespace = row->namespace ? str_of(row->namespace) : STR(""),
        .name = str_of(name),
    };
}

static void add_role(struct builder *b, const struct bootstrap_role *row)
{
    struct arena *a = b->arena;
    struct json_value *role = add(b, rbac_place(row, "roles", "clusterroles", row->name),
                                  row->namespace ? "Role" : "ClusterRole");
    set_defaults_metadata(role, a);
    if (row->part_of)
        json_set(json_member(json_member(role, STR("metadata")), STR("labels")),
                 arena_printf(a, RBAC_GROUP "/aggregate-to-%s", row->part_of),
                 json_text(STR("true")), a);
    if (row->sum_of)
        set_json(role, STR("aggregationRule"),
                 arena_printf(a,
                              "{\"clusterRoleSelectors\":[{\"matchLabels\":{\"" RBAC_GROUP
                              "/aggregate-to-%s\":\"true\"}}]}",
                              row->sum_of),
                 a);
    if (!row->rules) {
        json_set(role, STR("rules"), json_null(), a);
        return;
    }
    struct json_value *rules = json_set(role, STR("rules"), json_array(), a);
    struct str rest = str_of(row->rules), line;
    while (str_split(&rest, '\n', &line))
        if (line.n)
            json_append(rules, rule_of(line, a), a);
}

static struct json_value subject_of(struct str text, struct arena *a)
{
    struct json_value subject = json_object();
    struct str type;
    (void)str_split(&text, ' ', &type);
    bool account = str_is(type, "account");
    json_set(&subject, STR("kind"),
             json_text(account                 ? STR("ServiceAccount")
                       : str_is(type, "group") ? STR("Group")
                                               : STR("User")),
             a);
    json_set(&subject, STR("name"), json_text(text), a);
    if (account)
        json_set(&subject, STR("namespace"), json_text(STR("kube-system")), a);
    else
        json_set(&subject, STR("apiGroup"), json_text(STR(RBAC_GROUP)), a);
    return subject;
}

static void add_binding(struct builder *b, const struct bootstrap_role *row)
{
    if (!row->subjects)
        return;
    struct arena *a = b->arena;
    struct json_value *binding = add(b,
                                     rbac_place(row, "rolebindings", "clusterrolebindings",
                                                row->binding ? row->binding : row->name),
                                     row->namespace ? "RoleBinding" : "ClusterRoleBinding");
    set_defaults_metadata(binding, a);
    json_set_at(binding, "roleRef.apiGroup", json_text(STR(RBAC_GROUP)), a);
    json_set_at(binding, "roleRef.kind",
                json_text(row->namespace ? STR("Role") : STR("ClusterRole")), a);
    json_set_at(binding, "roleRef.name", json_text(str_of(row->name)), a);
    if (!row->subjects[0])
        return;
    struct json_value *subjects = json_set(binding, STR("subjects"), json_array(), a);
    struct str rest = str_of(row->subjects), one;
    while (str_split(&rest, ',', &one))
        json_append(subjects, subject_of(one, a), a);
}

static void add_roles(struct builder *b, const struct bootstrap_role *rows)
{
    for (const struct bootstrap_role *row = rows; row->name; row++)
        add_role(b, row);
    for (const struct bootstrap_role *row = rows; row->name; row++)
        add_binding(b, row);
}

/* --- others ----------------------------------------------------------------------------------- */

static void add_namespaces(struct builder *b)
{
    static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        add(b,
            (struct bootstrap_object){
                .version = STR("v1"), .plural = STR("namespaces"), .name = str_of(names[i])},
            "Namespace");
}

static void add_priority_class(struct builder *b, const char *name, int64_t value,
                               const char *description)
{
    struct json_value *class = add(b,
                                   (struct bootstrap_object){.group = STR("scheduling.k8s.io"),
                                                             .version = STR("v1"),
                                                             .plural = STR("priorityclasses"),
                                                             .name = str_of(name)},
                                   "PriorityClass");
    json_set(class, STR("value"), json_int(value, b->arena), b->arena);
    json_set(class, STR("description"), json_text(str_of(description)), b->arena);
    json_set(class, STR("preemptionPolicy"), json_text(STR("PreemptLowerPriority")), b->arena);
}

static struct json_value *add_kubernetes(struct builder *b, const char *group, const char *plural,
                                         const char *kind)
{
    return add(b,
               (struct bootstrap_object){.group = str_of(group),
                                         .version = STR("v1"),
                                         .plural = str_of(plural),
                                         .namespace = STR("default"),
                                         .name = STR("kubernetes")},
               kind);
}

static void add_service(struct builder *b, const struct bootstrap_options *options)
{
    struct arena *a = b->arena;
    struct str ip = options->service_ip.n ? options->service_ip : STR("10.0.0.1");
    struct json_value *service = add_kubernetes(b, "", "services", "Service");
    set_json(service, STR("metadata"),
             STR("{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":{"
                 "\"component\":\"apiserver\",\"provider\":\"kubernetes\"}}"),
             a);
    const char *family = str_find(ip, ':') < ip.n ? "IPv6" : "IPv4";
    set_json(service, STR("spec"),
             arena_printf(a,
                          "{\"clusterIP\":\"%.*s\",\"clusterIPs\":[\"%.*s\"],"
                          "\"internalTrafficPolicy\":\"Cluster\",\"ipFamilies\":[\"%s\"],"
                          "\"ipFamilyPolicy\":\"SingleStack\",\"ports\":[{\"name\":\"https\","
                          "\"port\":443,\"protocol\":\"TCP\",\"targetPort\":%u}],"
                          "\"sessionAffinity\":\"None\",\"type\":\"ClusterIP\"}",
                          STR_ARG(ip), STR_ARG(ip), family, options->port),
             a);
}

/* Endpoints have no loopback or unspecified addresses: other hosts could not reach them. */
static bool may_be_endpoint(struct str address)
{
    return address.n && !str_starts(address, STR("127.")) && !str_is(address, "::1") &&
           !str_is(address, "0.0.0.0") && !str_is(address, "::");
}

static void add_endpoints(struct builder *b, const struct bootstrap_options *options)
{
    struct arena *a = b->arena;
    bool v6 = str_find(options->address, ':') < options->address.n;
    struct json_value *endpoints = add_kubernetes(b, "", "endpoints", "Endpoints");
    json_set_at(endpoints, "metadata.labels", json_object(), a);
    json_set(json_member(json_member(endpoints, STR("metadata")), STR("labels")),
             STR("endpointslice.kubernetes.io/skip-mirror"), json_text(STR("true")), a);
    set_json(endpoints, STR("subsets"),
             arena_printf(a,
                          "[{\"addresses\":[{\"ip\":\"%.*s\"}],\"ports\":[{\"name\":\"https\","
                          "\"port\":%u,\"protocol\":\"TCP\"}]}]",
                          STR_ARG(options->address), options->port),
             a);
    struct json_value *slice =
        add_kubernetes(b, "discovery.k8s.io", "endpointslices", "EndpointSlice");
    json_set_at(slice, "metadata.labels", json_object(), a);
    json_set(json_member(json_member(slice, STR("metadata")), STR("labels")),
             STR("kubernetes.io/service-name"), json_text(STR("kubernetes")), a);
    json_set(slice, STR("addressType"), json_text(v6 ? STR("IPv6") : STR("IPv4")), a);
    set_json(slice, STR("endpoints"),
             arena_printf(a, "[{\"addresses\":[\"%.*s\"],\"conditions\":{\"ready\":true}}]",
                          STR_ARG(options->address)),
             a);
    set_json(
        slice, STR("ports"),
        arena_printf(a, "[{\"name\":\"https\",\"port\":%u,\"protocol\":\"TCP\"}]", options->port),
        a);
}

/* Where schedulers and controllers find the CA of client certificates. */
static void add_client_ca(struct builder *b, const struct bootstrap_options *options)
{
    struct json_value *map =
        add(b,
            (struct bootstrap_object){.version = STR("v1"),
                                      .plural = STR("configmaps"),
                                      .namespace = STR("kube-system"),
                                      .name = STR("extension-apiserver-authentication")},
            "ConfigMap");
    json_set(json_set_object(map, STR("data"), b->arena), STR("client-ca-file"),
             json_text(options->ca_pem), b->arena);
}

void bootstrap_objects(const struct bootstrap_options *options, struct arena *a,
                       struct bootstrap_list *ret_list)
{
    struct builder b = {.arena = a};
    add_namespaces(&b);
    add_priority_class(&b, "system-node-critical", 2000001000,
                       "For system pods that must stay on their node.");
    add_priority_class(&b, "system-cluster-critical", 2000000000,
                       "For system pods that the cluster needs, on any node.");
    add_roles(&b, bootstrap_cluster_roles);
    add_roles(&b, bootstrap_controller_roles);
    if (options->address.n)
        add_service(&b, options);
    if (may_be_endpoint(options->address))
        add_endpoints(&b, options);
    if (options->ca_pem.n)
        add_client_ca(&b, options);
    ret_list->v = arena_array(a, struct bootstrap_object, b.list.n);
    memcpy(ret_list->v, b.list.v, b.list.n * sizeof(*b.list.v));
    ret_list->n = b.list.n;
    vec_release(&b.list);
}
