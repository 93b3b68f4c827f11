/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/claims.h"

#include "codec/json.h"
#include "plugins/common/plugin_base.h"

bool pod_volume_claim(const struct pod *pod, const struct volume *volume, struct buf *scratch,
                      struct str *ret_name)
{
    if (volume->source.persistent_volume_claim) {
        *ret_name = volume->source.persistent_volume_claim->claim_name;
        return true;
    }
    if (!volume->source.ephemeral)
        return false;
    buf_clear(scratch);
    buf_add_str(scratch, pod->metadata.name);
    buf_add_char(scratch, '-');
    buf_add_str(scratch, volume->name);
    *ret_name = buf_str(scratch);
    return true;
}

bool claim_is_for_pod(const struct persistent_volume_claim *claim, const struct pod *pod)
{
    if (!str_eq(claim->metadata.namespace, pod->metadata.namespace))
        return false;
    for (size_t i = 0; i < claim->metadata.owner_references.n; i++) {
        const struct owner_reference *ref = &claim->metadata.owner_references.v[i];
        if (ref->controller)
            return str_eq(ref->uid, pod->metadata.uid);
    }
    return false;
}

struct str class_of_claim(const struct persistent_volume_claim *claim)
{
    /* The annotation of before Kubernetes 1.6 has precedence. */
    const struct str *beta = str_map_get(&claim->metadata.annotations, STR(ANN_BETA_STORAGE_CLASS));
    return beta                             ? *beta
           : claim->spec.storage_class_name ? *claim->spec.storage_class_name
                                            : STR("");
}

bool claim_has_mode(const struct persistent_volume_claim *claim, struct str mode)
{
    for (size_t i = 0; i < claim->spec.access_modes.n; i++)
        if (str_eq(claim->spec.access_modes.v[i], mode))
            return true;
    return false;
}

static const void *body_of(const struct objects *objects, enum kind_id kind, struct str namespace,
                           struct str name)
{
    const struct object *o = objects_get(objects, kind, namespace, name);
    return o ? object_body(o) : NULL;
}

const struct persistent_volume_claim *claim_lookup(const struct objects *objects,
                                                   struct str namespace, struct str name)
{
    return body_of(objects, KIND_PERSISTENT_VOLUME_CLAIM, namespace, name);
}

const struct persistent_volume *pv_lookup(const struct objects *objects, struct str name)
{
    return body_of(objects, KIND_PERSISTENT_VOLUME, STR(""), name);
}

const struct storage_class *class_lookup(const struct objects *objects, struct str name)
{
    return body_of(objects, KIND_STORAGE_CLASS, STR(""), name);
}

bool pod_names_claim(const struct pod *pod, const struct object_meta *claim, bool ephemeral)
{
    struct buf scratch = BUF_INIT;
    bool found = false;
    for (size_t i = 0; !found && i < pod->spec.volumes.n; i++) {
        const struct volume *v = &pod->spec.volumes.v[i];
        struct str name;
        found = (v->source.persistent_volume_claim || ephemeral) &&
                pod_volume_claim(pod, v, &scratch, &name) && str_eq(name, claim->name);
    }
    buf_release(&scratch);
    return found && str_eq(pod->metadata.namespace, claim->namespace);
}

/* The order of volumes does not matter, but equal pods have equal orders. */
void key_add_volumes(struct buf *key, const struct pod *pod)
{
    struct buf text = BUF_INIT;
    size_t ephemeral = 0;
    for (size_t i = 0; i < pod->spec.volumes.n; i++) {
        const struct volume_source *source = &pod->spec.volumes.v[i].source;
        buf_clear(&text);
        json_encode(&volume_source_type, source, &text);
        /* Volumes that no plugin reads (config maps, secrets) have no fields. */
        if (!str_is(buf_str(&text), "{}"))
            key_add(key, buf_str(&text));
        ephemeral += source->ephemeral != NULL;
    }
    key_add_number(key, (int64_t)ephemeral);
    if (pod->spec.volumes.n)
        key_add(key, pod->metadata.namespace);
    if (ephemeral) /* its claim has the pod's name */
        key_add(key, pod->metadata.name);
    buf_release(&text);
}
