/* SPDX-License-Identifier: Apache-2.0 */
/* pod_claims.c - the claims of a pod (upstream: podHasPVCs, GetPodVolumeClaims). */
#include "engine/cache/object_key.h"
#include "engine/cycle/cycle.h"
#include "plugins/common/claims.h"
#include "plugins/common/plugin_base.h"
#include "plugins/volume_binding/claim_binding.h"

static char *not_owner(const struct pod *pod, const struct object_meta *claim)
{
    return xasprintf("PVC %.*s/%.*s was not created for pod %.*s/%.*s (pod is not owner)",
                     STR_ARG(claim->namespace), STR_ARG(claim->name),
                     STR_ARG(pod->metadata.namespace), STR_ARG(pod->metadata.name));
}

/* Why the claim cannot be used; NULL: it can. */
static char *fault_of(struct volumes *v, const struct pod *pod, const struct volume *volume,
                      struct str name)
{
    const struct object *object = claim_get(v, pod->metadata.namespace, name);
    if (!object)
        return volume->source.persistent_volume_claim
                   ? xasprintf("persistentvolumeclaim \"%.*s\" not found", STR_ARG(name))
                   : xasprintf("waiting for ephemeral volume controller to create the "
                               "persistentvolumeclaim \"%.*s\"",
                               STR_ARG(name));
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(object);
    if (str_is(claim->status.phase, "Lost"))
        return xasprintf("persistentvolumeclaim \"%.*s\" bound to non-existent persistentvolume "
                         "\"%.*s\"",
                         STR_ARG(name), STR_ARG(claim->spec.volume_name));
    if (claim->metadata.deletion_timestamp.set)
        return xasprintf("persistentvolumeclaim \"%.*s\" is being deleted", STR_ARG(name));
    if (!volume->source.persistent_volume_claim && !claim_is_for_pod(claim, pod))
        return not_owner(pod, &claim->metadata);
    return NULL;
}

bool pod_has_claims(struct volumes *v, const struct berth_pod *pod, char **ret_fault)
{
    const struct pod *p = pod->pod;
    struct buf scratch = BUF_INIT;
    bool any = false;
    *ret_fault = NULL;
    for (size_t i = 0; !*ret_fault && i < p->spec.volumes.n; i++) {
        const struct volume *volume = &p->spec.volumes.v[i];
        struct str name;
        if (!pod_volume_claim(p, volume, &scratch, &name))
            continue;
        any = true;
        *ret_fault = fault_of(v, p, volume, name);
    }
    buf_release(&scratch);
    return any;
}

bool pod_volumes_are_bound(struct volumes *v, const struct berth_pod *pod)
{
    const struct pod *p = pod->pod;
    struct buf scratch = BUF_INIT;
    bool bound = true;
    for (size_t i = 0; bound && i < p->spec.volumes.n; i++) {
        const struct volume *volume = &p->spec.volumes.v[i];
        struct str name;
        if (!pod_volume_claim(p, volume, &scratch, &name))
            continue;
        const struct persistent_volume_claim *claim =
            claim_lookup(&v->cluster->objects, p->metadata.namespace, name);
        bound = claim && claim_is_bound(claim) &&
                (volume->source.persistent_volume_claim || claim_is_for_pod(claim, p));
    }
    buf_release(&scratch);
    return bound;
}

/* --- unbound claims --------------------------------------------------------------------------- */

/* As node terms: both match if one term does, and all of its requirements do. */
static void compile_topologies(struct pod_claim *c, struct arena *a)
{
    const struct storage_class *class = c->class;
    size_t n = class->allowed_topologies.n;
    if (n == 0)
        return;
    struct node_selector s = {
        .node_selector_terms = {arena_array(a, struct node_selector_term, n), n}};
    for (size_t i = 0; i < n; i++) {
        const struct topology_selector_term *from = &class->allowed_topologies.v[i];
        size_t n_labels = from->match_label_expressions.n;
        struct node_selector_requirement *to =
            arena_array(a, struct node_selector_requirement, n_labels);
        for (size_t k = 0; k < n_labels; k++)
            to[k] = (struct node_selector_requirement){
                .key = from->match_label_expressions.v[k].key,
                .operator= STR("In"),
                .values = {from->match_label_expressions.v[k].values.v,
                           from->match_label_expressions.v[k].values.n}};
        s.node_selector_terms.v[i].match_expressions.v = to;
        s.node_selector_terms.v[i].match_expressions.n = n_labels;
    }
    c->topologies = arena_new(a, struct node_terms);
    node_terms_compile(&s, a, c->topologies);
}

static void compile_selector(struct pod_claim *c, struct arena *a)
{
    struct err err;
    if (!c->pvc->spec.selector)
        return;
    c->selector = arena_new(a, struct selector);
    if (selector_compile(c->pvc->spec.selector, a, c->selector, &err) == 0)
        return;
    struct buf text = BUF_INIT;
    buf_add_printf(&text,
                   "error creating internal label selector for claim: %.*s: ", STR_ARG(c->key));
    selector_write_fault(c->pvc->spec.selector, &text);
    c->fault = arena_dup(a, buf_str(&text));
    buf_release(&text);
}

static void look_up_driver(struct volumes *v, struct pod_claim *c)
{
    const struct quantity *size =
        quantity_map_get(&c->pvc->spec.resources.requests, STR("storage"));
    struct str provisioner = c->class->provisioner;
    c->provisionable = !str_empty(provisioner) && !str_is(provisioner, NO_PROVISIONER);
    if (!size || !c->provisionable)
        return;
    const struct object *driver =
        objects_get(&v->cluster->objects, KIND_CSI_DRIVER, STR(""), provisioner);
    const bool *tracked = driver ? object_csi_driver(driver)->spec.storage_capacity : NULL;
    c->tracks_capacity = tracked && *tracked;
    c->size = quantity_value(size);
}

/* Everything about a claim that does not depend on the node. */
static void prepare(struct volumes *v, struct pod_claim *c, struct arena *a)
{
    const struct object_meta *meta = &c->pvc->metadata;
    const struct str *selected = str_map_get(&meta->annotations, STR(ANN_SELECTED_NODE));
    struct str assumed = claim_assumed_node(v, c->object);
    c->key = arena_dup(a, object_key(&v->key, meta->namespace, meta->name));
    c->request = claim_request(c->pvc);
    if (assumed.p)
        c->selected = arena_dup(a, assumed);
    else if (selected)
        c->selected = (struct str){selected->p ? selected->p : "", selected->n};
    compile_selector(c, a);
    compile_topologies(c, a);
    look_up_driver(v, c);
}

/* --- sorting ---------------------------------------------------------------------------------- */

/* Sorts one claim. */
static void add(struct pod_volumes *p, struct object *object, struct arena *a, bool *ret_waits)
{
    const struct persistent_volume_claim *pvc = object_persistent_volume_claim(object);
    struct str name = class_of_claim(pvc);
    if (claim_is_bound(pvc)) {
        p->bound.v[p->bound.n++] = (struct pod_claim){.object = object_ref(object), .pvc = pvc};
        return;
    }
    struct object *class = str_empty(name) ? NULL
                                           : objects_get(&p->volumes->cluster->objects,
                                                         KIND_STORAGE_CLASS, STR(""), name);
    /* The API server defaults the mode to Immediate. */
    bool delayed = class && str_is(object_storage_class(class)->volume_binding_mode,
                                   VOLUME_BINDING_WAIT_FOR_FIRST_CONSUMER);
    /* A claim that names its volume is bound by the volume controller. */
    if (!delayed || !str_empty(pvc->spec.volume_name)) {
        *ret_waits = true;
        return;
    }
    struct pod_claim *c = &p->unbound.v[p->unbound.n++];
    *c = (struct pod_claim){.object = object_ref(object),
                            .pvc = pvc,
                            .class_object = object_ref(class),
                            .class = object_storage_class(class)};
    prepare(p->volumes, c, a);
}

/* By size, then in the pod's order: the smallest claims take the smallest volumes. */
static int order_by_size(const void *a, const void *b)
{
    const struct pod_claim *x = *(struct pod_claim *const *)a, *y = *(struct pod_claim *const *)b;
    int by_size = quantity_cmp(x->request, y->request);
    return by_size ? by_size : x < y ? -1 : x > y;
}

static void split(struct pod_volumes *p, struct arena *a)
{
    struct map classes = MAP_INIT;
    p->to_match = arena_array(a, struct pod_claim *, p->unbound.n);
    p->selected = arena_array(a, struct pod_claim *, p->unbound.n);
    for (size_t i = 0; i < p->unbound.n; i++) {
        struct pod_claim *c = &p->unbound.v[i];
        if (c->selected.p) {
            p->selected[p->n_selected++] = c;
            continue;
        }
        p->share_class |= map_put(&classes, c->class->metadata.name, c) != NULL;
        p->to_match[p->n_to_match++] = c;
    }
    map_release(&classes);
    qsort(p->to_match, p->n_to_match, sizeof(struct pod_claim *), order_by_size);
}

struct pod_volumes *pod_volumes_new(struct volumes *v, struct berth_cycle *cycle,
                                    const struct berth_pod *pod)
{
    const struct pod *spec = pod->pod;
    struct arena *a = &cycle->arena;
    struct pod_volumes *p = xnew(struct pod_volumes);
    struct buf scratch = BUF_INIT;
    bool waits = false;
    p->volumes = v;
    p->bound.v = arena_array(a, struct pod_claim, spec->spec.volumes.n);
    p->unbound.v = arena_array(a, struct pod_claim, spec->spec.volumes.n);
    for (size_t i = 0; i < spec->spec.volumes.n; i++) {
        struct str name;
        bool any = pod_volume_claim(spec, &spec->spec.volumes.v[i], &scratch, &name);
        struct object *claim = any ? claim_get(v, spec->metadata.namespace, name) : NULL;
        if (claim)
            add(p, claim, a, &waits);
    }
    buf_release(&scratch);
    if (waits) {
        pod_volumes_free(p);
        return NULL;
    }
    split(p, a);
    return p;
}

static void free_claims(struct claim_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        object_unref(list->v[i].object);
        object_unref(list->v[i].class_object);
    }
}

void pod_volumes_free(struct pod_volumes *p)
{
    claim_binding_free(p->binding);
    free_claims(&p->bound);
    free_claims(&p->unbound);
    free(p);
}
