/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dynamic_resources/pod_claims.h"

#include "engine/index/pod_groups.h"

#define NOT_SUPPORTED "none of the supported fields are set"
/* Up to this many statuses are searched one by one. */
#define FEW_STATUSES  8

/* --- names ------------------------------------------------------------------------------------ */

/* Names of generated claims, by the name in the pod's spec. */
struct generated_names {
    const struct pod *pod;
    struct map by_name; /* only if there are many; the first of equal names */
};

static void generated_init(struct generated_names *g, const struct pod *pod)
{
    *g = (struct generated_names){.pod = pod};
    size_t n = pod->status.resource_claim_statuses.n;
    for (size_t i = n > FEW_STATUSES ? n : 0; i-- > 0;) {
        struct pod_resource_claim_status *s = &pod->status.resource_claim_statuses.v[i];
        map_put(&g->by_name, s->name, s);
    }
}

static const struct pod_resource_claim_status *generated_find(const struct generated_names *g,
                                                              struct str name)
{
    const struct pod_status *status = &g->pod->status;
    if (g->by_name.n)
        return map_get(&g->by_name, name);
    for (size_t i = 0; i < status->resource_claim_statuses.n; i++)
        if (str_eq(status->resource_claim_statuses.v[i].name, name))
            return &status->resource_claim_statuses.v[i];
    return NULL;
}

/* An empty name: no claim was needed. */
static bool claim_name(const struct generated_names *g, const struct pod_resource_claim *entry,
                       struct str *ret_name, struct buf *why)
{
    const struct object_meta *pod = &g->pod->metadata;
    *ret_name = entry->resource_claim_name;
    if (!str_empty(*ret_name))
        return true;
    if (str_empty(entry->resource_claim_template_name)) {
        buf_add_printf(why, "pod \"%.*s/%.*s\", spec.resourceClaim \"%.*s\": " NOT_SUPPORTED,
                       STR_ARG(pod->namespace), STR_ARG(pod->name), STR_ARG(entry->name));
        return false;
    }
    const struct pod_resource_claim_status *status = generated_find(g, entry->name);
    if (!status) {
        buf_add_printf(why, "pod \"%.*s/%.*s\": ResourceClaim not created yet",
                       STR_ARG(pod->namespace), STR_ARG(pod->name));
        return false;
    }
    *ret_name = status->resource_claim_name;
    return true;
}

/* --- owners ----------------------------------------------------------------------------------- */

/* The claim of the pod's PodGroup. Pods do not know the UID of their group. */
static bool is_of_group(const struct resource_claim *claim, const struct pod *pod)
{
    const struct owner_reference *owner = object_meta_controller(&claim->metadata);
    return owner && !str_empty(pod_group_of(pod)) && str_eq(owner->name, pod_group_of(pod)) &&
           str_is(owner->kind, "PodGroup") &&
           str_starts(owner->api_version, STR(SCHEDULING_GROUP "/"));
}

static bool check_owner(const struct pod_claim_rules *rules, const struct resource_claim *claim,
                        const struct pod *pod, struct buf *why)
{
    const struct owner_reference *owner = object_meta_controller(&claim->metadata);
    if ((owner && str_eq(owner->uid, pod->metadata.uid)) ||
        (rules->of_groups && is_of_group(claim, pod)))
        return true;
    buf_add_printf(why, "ResourceClaim %.*s/%.*s was not created for Pod %.*s/%.*s ",
                   STR_ARG(claim->metadata.namespace), STR_ARG(claim->metadata.name),
                   STR_ARG(pod->metadata.namespace), STR_ARG(pod->metadata.name));
    if (rules->of_groups)
        buf_add_printf(why, "(neither Pod nor PodGroup %.*s is the owner)",
                       STR_ARG(pod_group_of(pod)));
    else
        buf_add_cstr(why, "(Pod is not owner)");
    return false;
}

/* --- claims ----------------------------------------------------------------------------------- */

static bool check(const struct pod_claim_rules *rules, const struct pod *pod, struct str name,
                  bool generated, struct object **ret_claim, struct buf *why)
{
    struct object *o = claim_cache_get(rules->claims, pod->metadata.namespace, name);
    if (!o) {
        buf_add_printf(why, "could not find ResourceClaim \"%.*s/%.*s\"",
                       STR_ARG(pod->metadata.namespace), STR_ARG(name));
        return false;
    }
    const struct resource_claim *claim = object_resource_claim(o);
    if (claim->metadata.deletion_timestamp.set) {
        buf_add_printf(why, "resourceclaim \"%.*s\" is being deleted", STR_ARG(name));
        return false;
    }
    *ret_claim = o;
    return !generated || check_owner(rules, claim, pod, why);
}

bool pod_claims_each(const struct pod_claim_rules *rules, const struct pod *pod, pod_claim_fn *fn,
                     void *ctx, struct buf *why)
{
    if (!pod->spec.resource_claims.n)
        return true;
    struct generated_names generated;
    bool ok = true;
    generated_init(&generated, pod);
    for (size_t i = 0; ok && i < pod->spec.resource_claims.n; i++) {
        const struct pod_resource_claim *entry = &pod->spec.resource_claims.v[i];
        struct object *claim = NULL;
        struct str name;
        ok = claim_name(&generated, entry, &name, why);
        if (!ok || str_empty(name))
            continue;
        ok = check(rules, pod, name, str_empty(entry->resource_claim_name), &claim, why);
        if (ok && fn)
            fn(ctx, entry, claim);
    }
    map_release(&generated.by_name);
    return ok;
}

bool claim_is_reserved_for(const struct resource_claim *claim, const struct pod *pod, bool by_group)
{
    struct str group = by_group ? pod_group_of(pod) : STR("");
    for (size_t i = 0; i < claim->status.reserved_for.n; i++) {
        const struct resource_claim_consumer_reference *r = &claim->status.reserved_for.v[i];
        if (str_eq(r->uid, pod->metadata.uid))
            return true;
        if (!str_empty(group) && str_is(r->api_group, SCHEDULING_GROUP) &&
            str_is(r->resource, "podgroups") && str_eq(r->name, group))
            return true;
    }
    return false;
}

/* --- consumers -------------------------------------------------------------------------------- */

void pod_as_consumer(const struct pod *pod, struct resource_claim_consumer_reference *ret)
{
    *ret = (struct resource_claim_consumer_reference){
        .resource = STR("pods"), .name = pod->metadata.name, .uid = pod->metadata.uid};
}

bool pod_claim_consumer(const struct pod *pod, const struct pod_group *group,
                        const struct pod_resource_claim *entry,
                        struct resource_claim_consumer_reference *ret, struct buf *why)
{
    pod_as_consumer(pod, ret);
    for (size_t i = 0; group && i < group->spec.resource_claims.n; i++) {
        const struct pod_group_resource_claim *c = &group->spec.resource_claims.v[i];
        if (str_empty(c->resource_claim_name) && str_empty(c->resource_claim_template_name)) {
            buf_add_printf(why, "PodGroup %.*s/%.*s claim %.*s: " NOT_SUPPORTED,
                           STR_ARG(group->metadata.namespace), STR_ARG(group->metadata.name),
                           STR_ARG(c->name));
            return false;
        }
        if (!str_eq(c->name, entry->name) ||
            !str_eq(c->resource_claim_name, entry->resource_claim_name) ||
            !str_eq(c->resource_claim_template_name, entry->resource_claim_template_name))
            continue;
        *ret = (struct resource_claim_consumer_reference){.api_group = STR(SCHEDULING_GROUP),
                                                          .resource = STR("podgroups"),
                                                          .name = group->metadata.name,
                                                          .uid = group->metadata.uid};
        return true;
    }
    return true;
}

struct object *pod_group_claim(struct claim_cache *claims, const struct pod_group *group, size_t i)
{
    const struct pod_group_resource_claim *entry = &group->spec.resource_claims.v[i];
    bool generated = str_empty(entry->resource_claim_name);
    struct str name = entry->resource_claim_name;
    for (size_t k = 0; generated && k < group->status.resource_claim_statuses.n; k++)
        if (str_eq(group->status.resource_claim_statuses.v[k].name, entry->name)) {
            name = group->status.resource_claim_statuses.v[k].resource_claim_name;
            break;
        }
    struct object *claim =
        str_empty(name) ? NULL : claim_cache_get(claims, group->metadata.namespace, name);
    if (!claim || !generated)
        return claim;
    const struct owner_reference *owner = object_meta_controller(object_meta(claim));
    return owner && str_eq(owner->uid, group->metadata.uid) ? claim : NULL;
}
