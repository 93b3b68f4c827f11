/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of devices: from templates, and their end (upstream: the ResourceClaim controller). */
#include "apiserver/controllers/controllers_internal.h"

/* --- claims of pods --------------------------------------------------------------------------- */

#define MAX_BASE 57 /* leaves room for a hyphen and five characters in a label of 63 bytes */

static uint64_t add_hash(uint64_t hash, struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        hash = (hash ^ (unsigned char)s.p[i]) * 0x100000001b3ULL;
    return (hash ^ 0xff) * 0x100000001b3ULL;
}

/*
 * "<pod>-<claim>-x7k2p": upstream's generateName with a suffix that depends on the pod's uid, so
 * that a claim is never created twice.
 */
static struct str claim_name_of(struct arena *a, const struct pod *pod, struct str claim)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    struct str base = pod->metadata.name;
    size_t whole = base.n + claim.n + 2;
    char suffix[6] = {0};
    uint64_t hash = add_hash(add_hash(0xcbf29ce484222325ULL, pod->metadata.uid), claim);
    for (size_t i = 0; i < 5; i++, hash /= sizeof(letters) - 1)
        suffix[i] = letters[hash % (sizeof(letters) - 1)];
    if (whole > MAX_BASE) {
        base = str_slice(base, 0, base.n * MAX_BASE / whole);
        claim = str_slice(claim, 0, claim.n * MAX_BASE / whole);
    }
    return arena_printf(a, "%.*s-%.*s-%s", STR_ARG(base), STR_ARG(claim), suffix);
}

static struct str status_of(const struct pod *pod, struct str name)
{
    for (size_t i = 0; i < pod->status.resource_claim_statuses.n; i++)
        if (str_eq(pod->status.resource_claim_statuses.v[i].name, name))
            return pod->status.resource_claim_statuses.v[i].resource_claim_name;
    return STR("");
}

static bool is_owned_by(const struct object *claim, const struct pod *pod)
{
    const struct owner_reference *owner = object_meta_controller(object_meta(claim));
    return owner && str_eq(owner->uid, pod->metadata.uid);
}

/* The template's annotations and the name of the claim in the pod's spec, sorted. */
static void set_annotations(struct object_meta *meta, const str_map *from, struct str name,
                            struct arena *a)
{
    struct str key = STR(ANN_POD_CLAIM_NAME);
    struct str_entry *v = arena_array(a, struct str_entry, from->n + 1);
    size_t n = 0, i = 0;
    for (; i < from->n && str_cmp(from->v[i].key, key) < 0; i++)
        v[n++] = from->v[i];
    v[n++] = (struct str_entry){key, name};
    for (; i < from->n; i++)
        if (!str_eq(from->v[i].key, key))
            v[n++] = from->v[i];
    meta->annotations.v = v;
    meta->annotations.n = n;
}

/* Parts belong to the pod and the template, which outlive the object. */
static struct object *make_claim(const struct pod *pod, struct str claim_name,
                                 const struct resource_claim_template *template, struct str name)
{
    struct object *o = object_new(KIND_RESOURCE_CLAIM);
    struct arena *a = object_arena(o);
    struct resource_claim *claim = object_body_mut(o);
    struct owner_reference *owner = arena_new(a, struct owner_reference);
    *owner = (struct owner_reference){STR("v1"),         STR("Pod"), pod->metadata.name,
                                      pod->metadata.uid, true,       true};
    claim->metadata.name = arena_dup(a, name);
    claim->metadata.namespace = pod->metadata.namespace;
    claim->metadata.owner_references.v = owner;
    claim->metadata.owner_references.n = 1;
    claim->metadata.labels = template->spec.metadata.labels;
    set_annotations(&claim->metadata, &template->spec.metadata.annotations, claim_name, a);
    claim->spec = template->spec.spec;
    return o;
}

/* Creates the claim if it does not exist. Returns its name if it does, else empty. */
static struct str ensure_claim(struct controllers *c, struct item *item,
                               const struct pod_resource_claim *entry)
{
    const struct pod *pod = object_pod(item->object);
    struct str ns = pod->metadata.namespace;
    struct str name = status_of(pod, entry->name);
    const struct object *there = name.n ? find_object(c, KIND_RESOURCE_CLAIM, ns, name) : NULL;
    if (there && is_owned_by(there, pod))
        return name;
    name = claim_name_of(&c->scratch, pod, entry->name);
    there = find_object(c, KIND_RESOURCE_CLAIM, ns, name);
    if (there)
        return is_owned_by(there, pod) ? name : STR("");
    const struct object *template =
        find_object(c, KIND_RESOURCE_CLAIM_TEMPLATE, ns, entry->resource_claim_template_name);
    if (!template) {
        set_home(item, &c->pods_of_template, ns, entry->resource_claim_template_name);
        return STR("");
    }
    struct object *o = make_claim(pod, entry->name, object_resource_claim_template(template), name);
    send_create(c, o, item);
    object_unref(o);
    return STR("");
}

/* All names at once, when all claims exist. */
static void write_statuses(struct controllers *c, struct item *item, const struct str *names)
{
    const struct pod *pod = object_pod(item->object);
    bool first = true;
    begin_patch(c, item);
    buf_add_cstr(&c->body, "},\"status\":{\"resourceClaimStatuses\":[");
    for (size_t i = 0; i < pod->spec.resource_claims.n; i++) {
        const struct pod_resource_claim *entry = &pod->spec.resource_claims.v[i];
        if (!entry->resource_claim_template_name.n)
            continue;
        buf_add_printf(&c->body, "%s{\"name\":%s,\"resourceClaimName\":%s}", first ? "" : ",",
                       quoted(c, entry->name), quoted(c, names[i]));
        first = false;
    }
    buf_add_cstr(&c->body, "]}}");
    send_patch(c, item, item, "status");
}

void pod_devices_sync(struct controllers *c, struct item *item)
{
    const struct pod *pod = object_pod(item->object);
    size_t n = pod->spec.resource_claims.n;
    bool complete = true, changed = false;
    if (pod->metadata.deletion_timestamp.set || pod_is_terminal(pod) || !n)
        return;
    struct str *names = arena_array(&c->scratch, struct str, n);
    leave_home(item);
    for (size_t i = 0; i < n; i++) {
        const struct pod_resource_claim *entry = &pod->spec.resource_claims.v[i];
        if (!entry->resource_claim_template_name.n)
            continue;
        names[i] = ensure_claim(c, item, entry);
        complete &= names[i].n > 0;
        changed |= !str_eq(names[i], status_of(pod, entry->name));
    }
    if (complete && changed)
        write_statuses(c, item, names);
}

/* --- the end of claims ------------------------------------------------------------------------ */

/* Whether the consumer will not run any more. Consumers that are not pods are kept. */
static bool is_gone(struct controllers *c, struct item *item,
                    const struct resource_claim_consumer_reference *ref)
{
    if (ref->api_group.n || !str_is(ref->resource, "pods"))
        return false;
    const struct object *pod =
        find_object(c, KIND_POD, object_meta(item->object)->namespace, ref->name);
    if (!pod)
        return missing_for_long(c, item);
    return !str_eq(object_meta(pod)->uid, ref->uid) || pod_is_done(object_pod(pod));
}

static void write_consumers(struct controllers *c, struct item *item, const bool *gone,
                            bool deallocate)
{
    const struct resource_claim *claim = object_resource_claim(item->object);
    bool first = true;
    begin_patch(c, item);
    buf_add_cstr(&c->body, "},\"status\":{\"reservedFor\":");
    for (size_t i = 0; i < claim->status.reserved_for.n; i++) {
        const struct resource_claim_consumer_reference *ref = &claim->status.reserved_for.v[i];
        if (gone[i])
            continue;
        buf_add_cstr(&c->body, first ? "[" : ",");
        json_encode(&resource_claim_consumer_reference_type, ref, &c->body);
        first = false;
    }
    buf_add_cstr(&c->body, first ? "null" : "]");
    buf_add_cstr(&c->body, deallocate ? ",\"allocation\":null,\"devices\":null}}" : "}}");
    send_patch(c, item, item, "status");
}

static bool is_finished(struct controllers *c, struct item *item)
{
    const struct object_meta *meta = object_meta(item->object);
    const struct owner_reference *owner = object_meta_controller(meta);
    if (!owner || !str_is(owner->kind, "Pod"))
        return false;
    const struct object *pod = find_object(c, KIND_POD, meta->namespace, owner->name);
    if (!pod)
        return missing_for_long(c, item);
    return !str_eq(object_meta(pod)->uid, owner->uid) || pod_is_done(object_pod(pod));
}

void resource_claim_sync(struct controllers *c, struct item *item)
{
    const struct resource_claim *claim = object_resource_claim(item->object);
    const struct object_meta *meta = &claim->metadata;
    size_t n = claim->status.reserved_for.n, n_gone = 0;
    bool *gone = arena_array(&c->scratch, bool, n);
    for (size_t i = 0; i < n; i++) {
        gone[i] = is_gone(c, item, &claim->status.reserved_for.v[i]);
        n_gone += gone[i];
    }
    bool unused = n == n_gone, final = has_finalizer(meta, RESOURCE_CLAIM_FINALIZER);
    if (n_gone || (unused && final && meta->deletion_timestamp.set && claim->status.allocation)) {
        write_consumers(c, item, gone, unused && final);
        return;
    }
    /* The scheduler sets the finalizer before it allocates: while the claim lives, keep it. */
    if (unused && !claim->status.allocation && meta->deletion_timestamp.set &&
        remove_finalizer(c, item, RESOURCE_CLAIM_FINALIZER))
        return;
    if (!unused || meta->deletion_timestamp.set)
        return;
    if (is_finished(c, item))
        send_delete(c, item);
}
