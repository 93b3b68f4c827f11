/* SPDX-License-Identifier: Apache-2.0 */
/* Binds claims to volumes (upstream: the PV controller), and protects both while they are used. */
#include "api/selector.h"
#include "apiserver/controllers/controllers_internal.h"

/* --- volumes ---------------------------------------------------------------------------------- */

static void set_volume_phase(struct controllers *c, struct item *item, const char *phase)
{
    if (str_is(object_persistent_volume(item->object)->status.phase, phase))
        return;
    begin_patch(c, item);
    buf_add_printf(&c->body, "},\"status\":{\"phase\":\"%s\"}}", phase);
    send_patch(c, item, item, "status");
}

static bool was_provisioned(const struct persistent_volume *volume)
{
    return has_annotation(&volume->metadata, ANN_PROVISIONED_BY) &&
           str_is(volume->spec.reclaim_policy, "Delete");
}

/* Its claim is gone, or is bound to another volume. */
static void release_volume(struct controllers *c, struct item *item)
{
    const struct persistent_volume *volume = object_persistent_volume(item->object);
    if (!str_is(volume->status.phase, VOLUME_RELEASED))
        set_volume_phase(c, item, VOLUME_RELEASED);
    else if (str_is(volume->spec.reclaim_policy, "Delete") &&
             !volume->metadata.deletion_timestamp.set)
        send_delete(c, item);
}

/* The claim is bound to another volume: the next claim may have this one. */
static void unbind_volume(struct controllers *c, struct item *item)
{
    const struct persistent_volume *volume = object_persistent_volume(item->object);
    begin_patch(c, item);
    /* A user's own reference keeps its names (upstream: unbindVolume). */
    if (has_annotation(&volume->metadata, ANN_BOUND_BY_CONTROLLER))
        buf_add_cstr(&c->body, ",\"annotations\":{\"" ANN_BOUND_BY_CONTROLLER
                               "\":null}},\"spec\":{\"claimRef\":null}}");
    else
        buf_add_cstr(&c->body, "},\"spec\":{\"claimRef\":{\"uid\":null}}}");
    send_patch(c, item, item, "");
}

void volume_sync(struct controllers *c, struct item *item)
{
    const struct persistent_volume *volume = object_persistent_volume(item->object);
    const struct object_reference *ref = volume->spec.claim_ref;
    if (volume->metadata.deletion_timestamp.set && !str_is(volume->status.phase, VOLUME_BOUND) &&
        remove_finalizer(c, item, PV_PROTECTION))
        return;
    if (!ref || str_empty(ref->uid)) {
        set_volume_phase(c, item, VOLUME_AVAILABLE);
        return;
    }
    const struct object *claim =
        find_object(c, KIND_PERSISTENT_VOLUME_CLAIM, ref->namespace, ref->name);
    if (!claim || !str_eq(object_meta(claim)->uid, ref->uid)) {
        if (missing_for_long(c, item))
            release_volume(c, item);
        return;
    }
    struct str name = object_persistent_volume_claim(claim)->spec.volume_name;
    if (str_eq(name, volume->metadata.name))
        set_volume_phase(c, item, VOLUME_BOUND);
    else if (name.n && was_provisioned(volume))
        release_volume(c, item);
    else if (name.n)
        unbind_volume(c, item);
}

/* --- matching --------------------------------------------------------------------------------- */

static struct str mode_of(struct str volume_mode)
{
    return volume_mode.n ? volume_mode : STR("Filesystem");
}

static struct str or_empty(const struct str *s)
{
    return s ? *s : STR("");
}

static bool has_modes(const struct persistent_volume *volume,
                      const struct persistent_volume_claim *claim)
{
    for (size_t i = 0; i < claim->spec.access_modes.n; i++) {
        bool found = false;
        for (size_t k = 0; k < volume->spec.access_modes.n && !found; k++)
            found = str_eq(volume->spec.access_modes.v[k], claim->spec.access_modes.v[i]);
        if (!found)
            return false;
    }
    return true;
}

static const struct quantity *storage_of(const quantity_map *resources)
{
    static const struct quantity zero;
    const struct quantity *q = quantity_map_get(resources, STR("storage"));
    return q ? q : &zero;
}

/* Whether size, modes and attributes fit; class and labels do not matter here. */
static bool volume_suits(const struct persistent_volume *volume,
                         const struct persistent_volume_claim *claim)
{
    return quantity_cmp(storage_of(&volume->spec.capacity),
                        storage_of(&claim->spec.resources.requests)) >= 0 &&
           str_eq(mode_of(volume->spec.volume_mode), mode_of(claim->spec.volume_mode)) &&
           str_eq(or_empty(volume->spec.volume_attributes_class_name),
                  or_empty(claim->spec.volume_attributes_class_name)) &&
           !volume->metadata.deletion_timestamp.set;
}

/* Whether the volume's claimRef names the claim (upstream: IsVolumeBoundToClaim). */
static bool is_reserved_for(const struct persistent_volume *volume,
                            const struct persistent_volume_claim *claim)
{
    const struct object_reference *ref = volume->spec.claim_ref;
    return ref && str_eq(ref->name, claim->metadata.name) &&
           str_eq(ref->namespace, claim->metadata.namespace) &&
           (str_empty(ref->uid) || str_eq(ref->uid, claim->metadata.uid));
}

static bool is_better(const struct item *item, const struct item *than)
{
    if (!than)
        return true;
    const struct persistent_volume *a = object_persistent_volume(item->object);
    const struct persistent_volume *b = object_persistent_volume(than->object);
    int cmp = quantity_cmp(storage_of(&a->spec.capacity), storage_of(&b->spec.capacity));
    return cmp ? cmp < 0 : str_cmp(a->metadata.name, b->metadata.name) < 0;
}

/* The volume that is reserved for the claim; NULL: none. */
static struct item *find_reserved(const struct controllers *c,
                                  const struct persistent_volume_claim *claim)
{
    const struct bucket *bucket =
        find_bucket(&c->volumes_of_claim, claim->metadata.namespace, claim->metadata.name);
    struct item *best = NULL;
    for (size_t i = 0; bucket && i < bucket->items.n; i++) {
        struct item *item = bucket->items.v[i];
        const struct persistent_volume *volume = object_persistent_volume(item->object);
        if (is_reserved_for(volume, claim) && volume_suits(volume, claim) && is_better(item, best))
            best = item;
    }
    return best;
}

/* The smallest available volume of the claim's class; NULL: none. */
static struct item *find_available(struct controllers *c,
                                   const struct persistent_volume_claim *claim)
{
    const struct bucket *bucket = find_bucket(&c->volumes_of_class, STR(""), claim_class(claim));
    struct selector selector;
    struct item *best = NULL;
    if (claim->spec.selector &&
        selector_compile(claim->spec.selector, &c->scratch, &selector, NULL) < 0)
        return NULL;
    for (size_t i = 0; bucket && i < bucket->items.n; i++) {
        struct item *item = bucket->items.v[i];
        const struct persistent_volume *volume = object_persistent_volume(item->object);
        if (!is_better(item, best) || !volume_suits(volume, claim) || !has_modes(volume, claim) ||
            (claim->spec.selector && !selector_matches(&selector, &volume->metadata.labels)))
            continue;
        if (item->n_writes)
            item->wanted = true;
        else if (str_is(volume->status.phase, VOLUME_AVAILABLE))
            best = item;
    }
    return best;
}

/* --- claims ----------------------------------------------------------------------------------- */

static void set_claim_phase(struct controllers *c, struct item *item, const char *phase)
{
    if (str_is(object_persistent_volume_claim(item->object)->status.phase, phase))
        return;
    begin_patch(c, item);
    buf_add_printf(&c->body, "},\"status\":{\"phase\":\"%s\"}}", phase);
    send_patch(c, item, item, "status");
}

static void write_texts(struct controllers *c, const struct str *v, size_t n)
{
    buf_add_char(&c->body, '[');
    for (size_t i = 0; i < n; i++)
        buf_add_printf(&c->body, "%s%s", i ? "," : "", quoted(c, v[i]));
    buf_add_char(&c->body, ']');
}

/* Completes the status of a claim that has its volume. */
static void set_claim_bound(struct controllers *c, struct item *item,
                            const struct persistent_volume *volume)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    struct buf size = BUF_INIT;
    if (str_is(claim->status.phase, CLAIM_BOUND))
        return;
    quantity_write(storage_of(&volume->spec.capacity), &size);
    begin_patch(c, item);
    buf_add_cstr(&c->body, "},\"status\":{\"phase\":\"" CLAIM_BOUND "\",\"accessModes\":");
    write_texts(c, volume->spec.access_modes.v, volume->spec.access_modes.n);
    buf_add_printf(&c->body, ",\"capacity\":{\"storage\":%s}}}", quoted(c, buf_str(&size)));
    send_patch(c, item, item, "status");
    buf_release(&size);
}

/* First step of binding: the volume's claimRef, with the claim's uid. */
static void reserve_volume(struct controllers *c, struct item *volume, struct item *claim_item)
{
    const struct persistent_volume *pv = object_persistent_volume(volume->object);
    const struct object_meta *claim = object_meta(claim_item->object);
    if (volume->n_writes) {
        volume->wanted = true;
        return;
    }
    begin_patch(c, volume);
    if (!pv->spec.claim_ref)
        buf_add_cstr(&c->body, ",\"annotations\":{\"" ANN_BOUND_BY_CONTROLLER "\":\"yes\"}");
    buf_add_printf(&c->body,
                   "},\"spec\":{\"claimRef\":{\"kind\":\"PersistentVolumeClaim\","
                   "\"apiVersion\":\"v1\",\"namespace\":%s,\"name\":%s,\"uid\":%s,"
                   "\"resourceVersion\":%s}}}",
                   quoted(c, claim->namespace), quoted(c, claim->name), quoted(c, claim->uid),
                   quoted(c, claim->resource_version));
    send_patch(c, volume, claim_item, "");
}

/* The next step of binding the claim to the volume (upstream: bind). */
static void bind_claim(struct controllers *c, struct item *item, struct item *volume_item)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    const struct persistent_volume *volume = object_persistent_volume(volume_item->object);
    bool completed = has_annotation(&claim->metadata, ANN_BIND_COMPLETED);
    if (!volume->spec.claim_ref || !str_eq(volume->spec.claim_ref->uid, claim->metadata.uid)) {
        reserve_volume(c, volume_item, item);
    } else if (!completed || str_empty(claim->spec.volume_name)) {
        begin_patch(c, item);
        buf_add_cstr(&c->body, ",\"annotations\":{\"" ANN_BIND_COMPLETED "\":\"yes\"");
        if (str_empty(claim->spec.volume_name))
            buf_add_printf(&c->body,
                           ",\"" ANN_BOUND_BY_CONTROLLER
                           "\":\"yes\"}},\"spec\":{\"volumeName\":%s}}",
                           quoted(c, volume->metadata.name));
        else
            buf_add_cstr(&c->body, "}}}");
        send_patch(c, item, item, "");
    } else {
        set_claim_bound(c, item, volume);
    }
}

/* A claim that was bound before: its volume may be gone (upstream: syncBoundClaim). */
static void sync_bound(struct controllers *c, struct item *item)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    struct item *volume = find_item(c, KIND_PERSISTENT_VOLUME, STR(""), claim->spec.volume_name);
    if (!volume || str_empty(claim->spec.volume_name)) {
        if (missing_for_long(c, item))
            set_claim_phase(c, item, CLAIM_LOST);
        return;
    }
    const struct persistent_volume *pv = object_persistent_volume(volume->object);
    if (!pv->spec.claim_ref || is_reserved_for(pv, claim))
        bind_claim(c, item, volume);
    else
        set_claim_phase(c, item, CLAIM_LOST);
}

/* The newest default class, then by name (upstream: GetDefaultClass). */
static const struct object *default_class(const struct controllers *c)
{
    const struct object *best = NULL;
    for (size_t i = 0; i < c->classes.n; i++) {
        const struct object *o = c->classes.v[i]->object;
        const struct object_meta *meta = object_meta(o);
        if (!str_is(annotation(meta, ANN_IS_DEFAULT_CLASS), "true"))
            continue;
        int cmp =
            best ? timestamp_cmp(meta->creation_timestamp, object_meta(best)->creation_timestamp)
                 : 1;
        if (cmp > 0 || (cmp == 0 && str_cmp(meta->name, object_meta(best)->name) < 0))
            best = o;
    }
    return best;
}

static bool assign_default_class(struct controllers *c, struct item *item)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    const struct object *class = default_class(c);
    if (!class || claim->spec.storage_class_name ||
        has_annotation(&claim->metadata, ANN_BETA_STORAGE_CLASS))
        return false;
    begin_patch(c, item);
    buf_add_printf(&c->body, "},\"spec\":{\"storageClassName\":%s}}",
                   quoted(c, object_meta(class)->name));
    send_patch(c, item, item, "");
    return true;
}

/* No volume has been chosen yet. */
static void sync_unbound(struct controllers *c, struct item *item)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    const struct object *object = find_object(c, KIND_STORAGE_CLASS, STR(""), claim_class(claim));
    const struct storage_class *class = object ? object_storage_class(object) : NULL;
    bool waits =
        class && str_is(class->volume_binding_mode, VOLUME_BINDING_WAIT_FOR_FIRST_CONSUMER);
    struct item *volume = find_reserved(c, claim);
    if (!volume && !waits)
        volume = find_available(c, claim);
    if (volume) {
        bind_claim(c, item, volume);
        return;
    }
    if (assign_default_class(c, item))
        return;
    set_claim_phase(c, item, CLAIM_PENDING);
    if (class && !item->n_writes && !str_is(class->provisioner, NO_PROVISIONER) &&
        (!waits || has_annotation(&claim->metadata, ANN_SELECTED_NODE)))
        provision(c, item, class);
}

/* The claim names its volume itself. */
static void sync_requested(struct controllers *c, struct item *item)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    struct item *volume = find_item(c, KIND_PERSISTENT_VOLUME, STR(""), claim->spec.volume_name);
    const struct persistent_volume *pv = volume ? object_persistent_volume(volume->object) : NULL;
    bool free_one = pv && !pv->spec.claim_ref && volume_suits(pv, claim) &&
                    str_eq(volume_class(pv), claim_class(claim)) && has_modes(pv, claim);
    if (free_one || (pv && is_reserved_for(pv, claim)))
        bind_claim(c, item, volume);
    else
        set_claim_phase(c, item, CLAIM_PENDING);
}

/* Deletes the claim of an ephemeral volume whose pod is gone (upstream: the garbage collector). */
static bool delete_orphan(struct controllers *c, struct item *item)
{
    const struct object_meta *meta = object_meta(item->object);
    const struct owner_reference *owner = object_meta_controller(meta);
    if (!owner || !str_is(owner->kind, "Pod") || meta->deletion_timestamp.set)
        return false;
    const struct object *pod = find_object(c, KIND_POD, meta->namespace, owner->name);
    if (pod && str_eq(object_meta(pod)->uid, owner->uid))
        return false;
    if (missing_for_long(c, item))
        send_delete(c, item);
    return true;
}

void claim_sync(struct controllers *c, struct item *item)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(item->object);
    const struct object_meta *meta = &claim->metadata;
    const struct bucket *users = find_bucket(&c->users_of_claim, meta->namespace, meta->name);
    if (meta->deletion_timestamp.set) {
        if (!users || !users->n_users)
            remove_finalizer(c, item, PVC_PROTECTION);
        return;
    }
    if (delete_orphan(c, item))
        return;
    if (has_annotation(meta, ANN_BIND_COMPLETED))
        sync_bound(c, item);
    else if (str_empty(claim->spec.volume_name))
        sync_unbound(c, item);
    else
        sync_requested(c, item);
}

/* --- ephemeral volumes ------------------------------------------------------------------------ */

static struct object *ephemeral_claim(const struct pod *pod, const struct volume *volume)
{
    const struct persistent_volume_claim_template *template =
        volume->source.ephemeral->volume_claim_template;
    struct object *o = object_new(KIND_PERSISTENT_VOLUME_CLAIM);
    struct arena *a = object_arena(o);
    struct persistent_volume_claim *claim = object_body_mut(o);
    struct owner_reference *owner = arena_new(a, struct owner_reference);
    *owner = (struct owner_reference){STR("v1"),         STR("Pod"), pod->metadata.name,
                                      pod->metadata.uid, true,       true};
    claim->metadata.name =
        arena_printf(a, "%.*s-%.*s", STR_ARG(pod->metadata.name), STR_ARG(volume->name));
    claim->metadata.namespace = pod->metadata.namespace;
    claim->metadata.owner_references.v = owner;
    claim->metadata.owner_references.n = 1;
    if (template) {
        claim->metadata.labels = template->metadata.labels;
        claim->metadata.annotations = template->metadata.annotations;
        claim->spec = template->spec;
    }
    return o;
}

/*
 * Creates the claims of the pod's ephemeral volumes. A claim of that name that belongs to someone
 * else is left alone: the scheduler reports it.
 */
void pod_volumes_sync(struct controllers *c, struct item *item)
{
    const struct pod *pod = object_pod(item->object);
    if (pod->metadata.deletion_timestamp.set || pod_is_terminal(pod))
        return;
    for (size_t i = 0; i < pod->spec.volumes.n; i++) {
        if (!pod->spec.volumes.v[i].source.ephemeral)
            continue;
        /* The parts belong to the pod, which outlives this object. */
        struct object *o = ephemeral_claim(pod, &pod->spec.volumes.v[i]);
        if (!find_item(c, KIND_PERSISTENT_VOLUME_CLAIM, pod->metadata.namespace,
                       object_meta(o)->name))
            send_create(c, o, item);
        object_unref(o);
    }
}
