/* SPDX-License-Identifier: Apache-2.0 */
/* Makes volumes for claims, as the PV controller and an external provisioner do together. */
#include "api/node.h"
#include "apiserver/controllers/controllers_internal.h"

/* The PV controller asks the provisioner by an annotation (upstream: provisionClaimOperation). */
static void ask(struct controllers *c, struct item *item, const struct storage_class *class)
{
    const char *name = quoted(c, class->provisioner);
    begin_patch(c, item);
    buf_add_printf(&c->body,
                   ",\"annotations\":{\"" ANN_BETA_STORAGE_PROVISIONER
                   "\":%s,\"" ANN_STORAGE_PROVISIONER "\":%s}}}",
                   name, name);
    send_patch(c, item, item, "");
}

/* A provisioner that cannot serve the node lets the scheduler choose again. */
static void give_back(struct controllers *c, struct item *item)
{
    begin_patch(c, item);
    buf_add_cstr(&c->body, ",\"annotations\":{\"" ANN_SELECTED_NODE "\":null}}}");
    send_patch(c, item, item, "");
}

static bool fails_on(const struct controllers *c, struct str node)
{
    for (size_t i = 0; i < c->options.provisioner.n_failing_nodes; i++)
        if (str_eq(c->options.provisioner.failing_nodes[i], node))
            return true;
    return false;
}

/* --- topology --------------------------------------------------------------------------------- */

static void add_expression(struct node_selector_term *term, struct str key,
                           const struct str *values, size_t n)
{
    struct node_selector_requirement *r = &term->match_expressions.v[term->match_expressions.n++];
    r->key = key;
    r->operator= STR("In");
    r->values.v = (struct str *)values;
    r->values.n = n;
}

static const struct csi_node_driver *driver_on(const struct controllers *c, struct str node,
                                               struct str driver)
{
    const struct object *o = find_object(c, KIND_CSI_NODE, STR(""), node);
    const struct csi_node *csi = o ? object_csi_node(o) : NULL;
    for (size_t i = 0; csi && i < csi->spec.drivers.n; i++)
        if (str_eq(csi->spec.drivers.v[i].name, driver))
            return &csi->spec.drivers.v[i];
    return NULL;
}

/* Requires the node's values of the labels that the driver names on it. */
static void topology_of_node(struct controllers *c, const struct storage_class *class,
                             struct str node, struct arena *a, struct node_selector_term *term)
{
    const struct object *o = find_object(c, KIND_NODE, STR(""), node);
    const struct csi_node_driver *driver = driver_on(c, node, class->provisioner);
    const struct str *keys = &c->options.provisioner.topology_key;
    size_t n = keys->n ? 1 : 0;
    if (driver && driver->topology_keys.n) {
        keys = driver->topology_keys.v;
        n = driver->topology_keys.n;
    }
    if (!o || !n)
        return;
    term->match_expressions.v = arena_array(a, struct node_selector_requirement, n);
    for (size_t i = 0; i < n; i++) {
        const struct str *value = str_map_get(&object_meta(o)->labels, keys[i]);
        if (value)
            add_expression(term, keys[i], value, 1);
    }
}

static bool term_allows(const struct topology_selector_term *term, const str_map *labels)
{
    for (size_t i = 0; i < term->match_label_expressions.n; i++) {
        const struct topology_selector_label_requirement *r = &term->match_label_expressions.v[i];
        const struct str *value = str_map_get(labels, r->key);
        bool found = false;
        for (size_t k = 0; value && k < r->values.n && !found; k++)
            found = str_eq(r->values.v[k], *value);
        if (!found)
            return false;
    }
    return true;
}

/* The first of the class's terms, or the first that allows the node. */
static void topology_of_class(struct controllers *c, const struct storage_class *class,
                              struct str node, struct arena *a, struct node_selector_term *term)
{
    const struct object *o = node.n ? find_object(c, KIND_NODE, STR(""), node) : NULL;
    for (size_t i = 0; i < class->allowed_topologies.n; i++) {
        const struct topology_selector_term *allowed = &class->allowed_topologies.v[i];
        size_t n = allowed->match_label_expressions.n;
        if (o && !term_allows(allowed, &object_meta(o)->labels))
            continue;
        term->match_expressions.v = arena_array(a, struct node_selector_requirement, n);
        for (size_t k = 0; k < n; k++)
            add_expression(term, allowed->match_label_expressions.v[k].key,
                           allowed->match_label_expressions.v[k].values.v,
                           allowed->match_label_expressions.v[k].values.n);
        return;
    }
}

static void set_topology(struct controllers *c, const struct storage_class *class, struct str node,
                         struct arena *a, struct persistent_volume *volume)
{
    struct node_selector_term *term = arena_new(a, struct node_selector_term);
    if (node.n)
        topology_of_node(c, class, node, a, term);
    if (!term->match_expressions.n)
        topology_of_class(c, class, node, a, term);
    if (!term->match_expressions.n)
        return;
    volume->spec.node_affinity = arena_new(a, struct volume_node_affinity);
    volume->spec.node_affinity->required = arena_new(a, struct node_selector);
    volume->spec.node_affinity->required->node_selector_terms.v = term;
    volume->spec.node_affinity->required->node_selector_terms.n = 1;
}

/* --- volumes ---------------------------------------------------------------------------------- */

static void set_claim_ref(struct persistent_volume *volume, struct arena *a,
                          const struct object_meta *claim)
{
    volume->spec.claim_ref = arena_new(a, struct object_reference);
    *volume->spec.claim_ref =
        (struct object_reference){.kind = STR("PersistentVolumeClaim"),
                                  .namespace = claim->namespace,
                                  .name = claim->name,
                                  .uid = claim->uid,
                                  .api_version = STR("v1"),
                                  .resource_version = claim->resource_version};
}

/* Parts belong to the claim and the class, which outlive the object. */
static struct object *make_volume(struct controllers *c,
                                  const struct persistent_volume_claim *claim,
                                  const struct storage_class *class)
{
    struct object *o = object_new(KIND_PERSISTENT_VOLUME);
    struct arena *a = object_arena(o);
    struct persistent_volume *volume = object_body_mut(o);
    struct str_entry *note = arena_new(a, struct str_entry);
    *note = (struct str_entry){STR(ANN_PROVISIONED_BY), class->provisioner};
    volume->metadata.name = arena_printf(a, "pvc-%.*s", STR_ARG(claim->metadata.uid));
    volume->metadata.annotations.v = note;
    volume->metadata.annotations.n = 1;
    volume->spec.capacity = claim->spec.resources.requests;
    volume->spec.access_modes.v = claim->spec.access_modes.v;
    volume->spec.access_modes.n = claim->spec.access_modes.n;
    volume->spec.volume_mode = claim->spec.volume_mode;
    volume->spec.volume_attributes_class_name = claim->spec.volume_attributes_class_name;
    volume->spec.storage_class_name = class->metadata.name;
    volume->spec.reclaim_policy = class->reclaim_policy.n ? class->reclaim_policy : STR("Delete");
    volume->spec.source.csi = arena_new(a, struct csi_persistent_volume_source);
    volume->spec.source.csi->driver = class->provisioner;
    volume->spec.source.csi->volume_handle = volume->metadata.name;
    set_claim_ref(volume, a, &claim->metadata);
    set_topology(c, class, annotation(&claim->metadata, ANN_SELECTED_NODE), a, volume);
    return o;
}

static bool serves(const struct provisioner_options *p, struct str provisioner)
{
    return p->enabled && !p->silent && (!p->only.n || str_eq(p->only, provisioner));
}

void provision(struct controllers *c, struct item *item, const struct storage_class *class)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    const struct provisioner_options *p = &c->options.provisioner;
    if (!str_eq(annotation(&claim->metadata, ANN_STORAGE_PROVISIONER), class->provisioner)) {
        ask(c, item, class);
        return;
    }
    if (!serves(p, class->provisioner))
        return;
    int64_t answers_at = waits_since(c, item) + p->delay;
    if (c->now < answers_at && p->delay) {
        look_again(c, item, answers_at);
        return;
    }
    if (fails_on(c, annotation(&claim->metadata, ANN_SELECTED_NODE))) {
        give_back(c, item);
        return;
    }
    struct object *o = make_volume(c, claim, class);
    send_create(c, o, item);
    object_unref(o);
}
