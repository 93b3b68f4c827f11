/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/nodes.h"

#define LABEL_HOSTNAME "kubernetes.io/hostname"
#define LABEL_ZONE     "topology.kubernetes.io/zone"
#define LABEL_REGION   "topology.kubernetes.io/region"

static const char default_node[] = "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{}}";
static const char default_resources[] =
    "{\"cpu\":\"32\",\"memory\":\"256Gi\",\"ephemeral-storage\":\"100Gi\",\"pods\":\"110\"}";

/* --- templates -------------------------------------------------------------------------------- */

void node_templates_init(struct node_templates *t)
{
    *t = (struct node_templates){0};
    arena_init(&t->arena, 4096);
}

void node_templates_release(struct node_templates *t)
{
    for (size_t i = 0; i < t->v.n; i++)
        vec_release(&t->v.v[i].parts);
    vec_release(&t->v);
    arena_release(&t->arena);
}

int node_templates_add(struct node_templates *t, const struct json_value *object,
                       struct err *reterr)
{
    struct str kind = json_get_text(object, STR("kind"));
    if (str_is(kind, "Node")) {
        vec_push(&t->v, (struct node_template){.node = json_copy(object, &t->arena)});
        return 0;
    }
    if (!str_is(kind, "CSINode") && !str_is(kind, "ResourceSlice"))
        return err_set(reterr, -EINVAL,
                       "a template consists of Node, CSINode and ResourceSlice, not \"%.*s\"",
                       STR_ARG(kind));
    if (t->v.n == 0)
        return err_set(reterr, -EINVAL, "a %.*s follows the Node that it belongs to",
                       STR_ARG(kind));
    vec_push(&vec_last(&t->v).parts, json_copy(object, &t->arena));
    return 0;
}

/* --- one node --------------------------------------------------------------------------------- */

struct node_maker {
    struct control_plane *plane;
    const struct node_set *set;
    struct arena arena; /* of one node */
    int64_t now;
};

static void set_labels(const struct node_maker *m, struct json_value *meta, struct str name,
                       size_t i, struct arena *a)
{
    struct json_value *labels = json_set_object(meta, STR("labels"), a);
    json_set(labels, STR(LABEL_HOSTNAME), json_text(name), a);
    json_set_default(labels, STR("kubernetes.io/os"), json_text(STR("linux")), a);
    json_set_default(labels, STR("kubernetes.io/arch"), json_text(STR("amd64")), a);
    if (m->set->n_zones)
        json_set_default(labels, STR(LABEL_ZONE), json_text(m->set->zones[i % m->set->n_zones]), a);
    json_set_default(labels, STR(LABEL_REGION), json_text(STR("region-1")), a);
}

/* What is missing of capacity and allocatable is taken from the other, then from the default. */
static void set_resources(struct json_value *status, struct arena *a)
{
    const struct json_value *capacity = json_get(status, STR("capacity"));
    const struct json_value *allocatable = json_get(status, STR("allocatable"));
    struct json_value either = capacity      ? *capacity
                               : allocatable ? *allocatable
                                             : json_literal(default_resources, a);
    json_set_default(status, STR("capacity"), allocatable && !capacity ? *allocatable : either, a);
    json_set_default(status, STR("allocatable"), either, a);
}

static struct json_value make_node(const struct node_maker *m, const struct json_value *template,
                                   struct str name, size_t i, struct arena *a)
{
    struct json_value node = json_copy(template, a);
    struct json_value *meta = json_set_object(&node, STR("metadata"), a);
    json_set(meta, STR("name"), json_text(name), a);
    json_remove(meta, STR("uid"));
    json_remove(meta, STR("resourceVersion"));
    json_remove(meta, STR("creationTimestamp"));
    set_labels(m, meta, name, i, a);
    set_resources(json_set_object(&node, STR("status"), a), a);
    return node;
}

static struct json_value make_part(const struct json_value *template, struct str node,
                                   struct arena *a)
{
    struct json_value part = json_copy(template, a);
    struct json_value *meta = json_set_object(&part, STR("metadata"), a);
    json_remove(meta, STR("uid"));
    json_remove(meta, STR("resourceVersion"));
    if (str_is(json_get_text(&part, STR("kind")), "CSINode")) {
        json_set(meta, STR("name"), json_text(node), a);
        struct json_value *spec = json_set_object(&part, STR("spec"), a);
        struct json_value *drivers = json_set_array(spec, STR("drivers"), a);
        for (size_t i = 0; i < drivers->n; i++)
            json_set(&drivers->items[i], STR("nodeID"), json_text(node), a);
        return part;
    }
    struct str own = json_get_text(meta, STR("name"));
    if (str_empty(own))
        own = json_text_at(&part, "spec.driver");
    json_set(meta, STR("name"),
             json_text(arena_printf(a, "%.*s-%.*s", STR_ARG(node), STR_ARG(own))), a);
    json_set_at(&part, "spec.nodeName", json_text(node), a);
    json_set_at(&part, "spec.pool.name", json_text(node), a);
    json_set_default(json_member(json_member(&part, STR("spec")), STR("pool")),
                     STR("resourceSliceCount"), json_int(1, a), a);
    return part;
}

/* --- all nodes -------------------------------------------------------------------------------- */

/*
 * The first node of a template is validated as a client's would be; all are then stored without
 * admission, which would taint them until a controller has seen that they are ready. The rest of
 * their status is for the kubelets to report.
 */
static int store_object(struct node_maker *m, struct json_value *object, bool check,
                        struct err *reterr)
{
    struct arena *a = &m->arena;
    struct api_status status = {0};
    struct str kind = json_get_text(object, STR("kind"));
    struct str name = json_text_at(object, "metadata.name");
    int code = 0;
    if (check) {
        struct json_value copy = json_copy(object, a);
        code = control_plane_check(m->plane, &copy, m->now, a, &status);
    }
    if (!code)
        code = control_plane_import(m->plane, object, m->now, a, &status);
    return code ? err_set(reterr, -EINVAL, "%.*s \"%.*s\": %.*s", STR_ARG(kind), STR_ARG(name),
                          STR_ARG(status.message))
                : 0;
}

static int add_node(struct node_maker *m, size_t i, struct err *reterr)
{
    const struct node_templates *t = m->set->templates;
    struct arena *a = &m->arena;
    struct json_value fallback;
    const struct node_template *template = NULL;
    const struct json_value *base = &fallback;
    struct str name = arena_printf(a, "node-%zu", i);
    struct registry *reg = control_plane_registry(m->plane);
    bool check = i == 0;
    if (store_get(registry_store(reg),
                  resources_named(registry_resources(reg), STR(""), STR("nodes")), STR(""), name))
        return 0;
    if (t && t->v.n) {
        template = &t->v.v[i % t->v.n];
        base = &template->node;
        check = i < t->v.n;
    } else {
        fallback = json_literal(default_node, a);
    }
    struct json_value node = make_node(m, base, name, i, a);
    int r = store_object(m, &node, check, reterr);
    for (size_t j = 0; template && j < template->parts.n && r == 0; j++) {
        struct json_value part = make_part(&template->parts.v[j], name, a);
        r = store_object(m, &part, check, reterr);
    }
    return r;
}

int control_plane_add_nodes(struct control_plane *plane, const struct node_set *set, int64_t now,
                            struct err *reterr)
{
    struct node_maker m = {.plane = plane, .set = set, .now = now};
    int r = 0;
    arena_init(&m.arena, (size_t)32 << 10);
    for (size_t i = 0; i < set->n && r == 0; i++) {
        arena_reset(&m.arena);
        r = add_node(&m, i, reterr);
    }
    arena_release(&m.arena);
    return r;
}
