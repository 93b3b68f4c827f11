/* SPDX-License-Identifier: Apache-2.0 */
/* claim_cache.c - claims and their assumed nodes. Only assumptions are kept here. */
#include "engine/cache/object_key.h"
#include "plugins/volume_binding/volumes.h"

static const struct quantity nothing;

const struct quantity *claim_request(const struct persistent_volume_claim *claim)
{
    const struct quantity *q = quantity_map_get(&claim->spec.resources.requests, STR("storage"));
    return q ? q : &nothing;
}

bool claim_is_bound(const struct persistent_volume_claim *claim)
{
    return !str_empty(claim->spec.volume_name) &&
           str_map_get(&claim->metadata.annotations, STR(ANN_BIND_COMPLETED));
}

struct object *claim_get(struct volumes *v, struct str namespace, struct str name)
{
    return objects_get(&v->cluster->objects, KIND_PERSISTENT_VOLUME_CLAIM, namespace, name);
}

static struct assumed_claim *find(struct volumes *v, const struct object_meta *claim)
{
    return map_get(&v->assumed_claims, object_key(&v->key, claim->namespace, claim->name));
}

static void end_assumption(struct volumes *v, struct assumed_claim *a)
{
    map_del(&v->assumed_claims, a->claim);
    object_unref(a->object);
    free((char *)a->claim.p);
    free((char *)a->node.p);
    free(a);
}

void claim_changed(struct volumes *v, struct object *before, struct object *after)
{
    struct assumed_claim *a = find(v, object_meta(after ? after : before));
    if (a && (!after || !same_version(object_meta(a->object), object_meta(after))))
        end_assumption(v, a);
}

struct str claim_assumed_node(struct volumes *v, const struct object *claim)
{
    const struct assumed_claim *a = find(v, object_meta(claim));
    return a && same_version(object_meta(a->object), object_meta(claim)) ? a->node
                                                                         : (struct str){0};
}

bool claim_assume(struct volumes *v, struct object *version, struct str node)
{
    const struct object_meta *meta = object_meta(version);
    struct object *now = claim_get(v, meta->namespace, meta->name);
    struct assumed_claim *a = find(v, meta);
    if (!now || !same_version(object_meta(now), meta))
        return false;
    if (a)
        end_assumption(v, a);
    a = xnew(struct assumed_claim);
    struct str key = object_key(&v->key, meta->namespace, meta->name);
    *a = (struct assumed_claim){.claim = {str_dup(key), key.n},
                                .object = object_ref(version),
                                .node = {str_dup(node), node.n}};
    map_put(&v->assumed_claims, a->claim, a);
    return true;
}

void claim_revert(struct volumes *v, const struct object_meta *version)
{
    struct assumed_claim *a = find(v, version);
    if (a && same_version(object_meta(a->object), version))
        end_assumption(v, a);
}

void claims_release(struct volumes *v)
{
    map_each (e, &v->assumed_claims) {
        struct assumed_claim *a = e->value;
        object_unref(a->object);
        free((char *)a->claim.p);
        free((char *)a->node.p);
        free(a);
    }
    map_release(&v->assumed_claims);
}
