/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_quota.c - ResourceQuota: what a request adds must fit into all quotas of the namespace,
 * and is charged to them.
 *
 * A quota limits what its status.hard says; the quota controller copies that from the spec and
 * corrects status.used when objects go away.
 */
#include "apiserver/admission/admission_internal.h"
#include "apiserver/types/quota.h"
#include "base/vec.h"

/* --- which requests can change usage ---------------------------------------------------------- */

/* The classes of attributes and the size that a claim's status has. */
static bool claim_status_changes(const struct json_value *claim, const struct json_value *old)
{
    static const char *const paths[] = {
        "status.allocatedResources.storage",
        "status.currentVolumeAttributesClassName",
        "status.modifyVolumeStatus.targetVolumeAttributesClassName",
    };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        if (!str_eq(json_text_at(claim, paths[i]), json_text_at(old, paths[i])))
            return true;
    return false;
}

static bool is_relevant(const struct admission *adm)
{
    bool create = adm->operation == ADMIT_CREATE, update = adm->operation == ADMIT_UPDATE;
    bool plain = str_empty(adm->subresource);
    if (!adm->object || str_empty(adm->namespace) || admission_is(adm, "", "namespaces") ||
        !quota_counts(adm->resource->group, adm->resource->plural))
        return false;
    if (admission_is(adm, "", "pods"))
        return (plain && create) || (update && str_is(adm->subresource, "resize")) ||
               (plain && update &&
                quota_pod_is_terminating(adm->object) != quota_pod_is_terminating(adm->old));
    if (admission_is(adm, "", "persistentvolumeclaims") && str_is(adm->subresource, "status"))
        return update && claim_status_changes(adm->object, adm->old);
    if (admission_is(adm, "", "persistentvolumeclaims") || admission_is(adm, "", "services") ||
        admission_is(adm, "resource.k8s.io", "resourceclaims"))
        return plain && (create || update);
    return plain && create;
}

/* --- containers without requests -------------------------------------------------------------- */

/* What a quota of cpu or memory requires of every container, and where it is. */
static const struct {
    const char *name, *member, *resource;
} required[] = {
    {"cpu", "resources.requests", "cpu"},
    {"limits.cpu", "resources.limits", "cpu"},
    {"limits.memory", "resources.limits", "memory"},
    {"memory", "resources.requests", "memory"},
    {"requests.cpu", "resources.requests", "cpu"},
    {"requests.memory", "resources.requests", "memory"},
};

static int cmp_str(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* "cpu for: a,b": the containers that do not have it. */
static void write_missing(const struct json_value *pod, size_t which, struct buf *text)
{
    static const char *const lists[] = {"spec.containers", "spec.initContainers"};
    VEC(struct str) names = {0};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct json_items containers = json_items_at(pod, lists[i]);
        for (size_t j = 0; j < containers.n; j++)
            if (!json_get(json_at(&containers.v[j], required[which].member),
                          str_of(required[which].resource)))
                vec_push(&names, json_text_at(&containers.v[j], "name"));
    }
    if (names.n > 0) {
        qsort(names.v, names.n, sizeof(*names.v), cmp_str);
        buf_add_printf(text, "%s%s for: ", text->n ? "; " : "", required[which].name);
        for (size_t i = 0; i < names.n; i++)
            if (i == 0 || !str_eq(names.v[i], names.v[i - 1]))
                buf_add_printf(text, "%s%.*s", i ? "," : "", STR_ARG(names.v[i]));
    }
    vec_release(&names);
}

static bool has_pod_level(const struct json_value *pod)
{
    static const char *const lists[] = {"spec.resources.requests", "spec.resources.limits"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct json_members members = json_members_at(pod, lists[i]);
        for (size_t j = 0; j < members.n; j++)
            if (str_is(members.v[j].key, "cpu") || str_is(members.v[j].key, "memory") ||
                str_starts(members.v[j].key, STR("hugepages-")))
                return true;
    }
    return false;
}

static int check_required(const struct admission *adm, struct str quota, const struct amounts *hard,
                          struct api_status *ret_status)
{
    if (!admission_is(adm, "", "pods") || has_pod_level(adm->object))
        return 0;
    struct buf missing = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(required); i++)
        if (amounts_get(hard, str_of(required[i].name)))
            write_missing(adm->object, i, &missing);
    int code = 0;
    if (missing.n > 0)
        code = admission_forbid(adm, ret_status, "failed quota: %.*s: must specify %.*s",
                                STR_ARG(quota), STR_ARG(buf_str(&missing)));
    buf_release(&missing);
    return code;
}

/* --- one quota -------------------------------------------------------------------------------- */

struct quota {
    const struct json_value *object;
    struct str name;
    struct amounts hard, used; /* hard: what objects of the resource can use of it */
};

static struct quota_object object_of(const struct admission *adm, const struct json_value *object)
{
    return (struct quota_object){adm->resource->group, adm->resource->plural, object, adm->now};
}

/* False: the quota does not concern the object. */
static bool read_quota(const struct admission *adm, const struct revision *rev,
                       struct quota *ret_quota)
{
    struct quota_object o = object_of(adm, adm->object);
    const struct json_value *object = admission_parse(adm, rev);
    struct amounts all = amounts_of(json_at(object, "status.hard"), adm->arena), hard = {0};
    for (size_t i = 0; i < all.n; i++)
        if (quota_tracks(o.group, o.plural, all.v[i].key))
            amounts_push(&hard, all.v[i].key, &all.v[i].value, adm->arena);
    if (hard.n == 0 || !quota_in_scope(object, &o, adm->arena))
        return false;
    *ret_quota = (struct quota){object, rev->name, hard,
                                amounts_of(json_at(object, "status.used"), adm->arena)};
    return true;
}

static void write_names(struct buf *out, struct str name)
{
    buf_add_printf(out, "%s%.*s", out->n ? "," : "", STR_ARG(name));
}

/* All names if one has no usage: the quota controller has not looked at it. */
static int check_known(const struct admission *adm, const struct quota *q,
                       struct api_status *ret_status)
{
    bool known = true;
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < q->hard.n; i++) {
        known = known && amounts_get(&q->used, q->hard.v[i].key);
        write_names(&names, q->hard.v[i].key);
    }
    int code = 0;
    if (!known)
        code = admission_forbid(adm, ret_status, "status unknown for quota: %.*s, resources: %.*s",
                                STR_ARG(q->name), STR_ARG(buf_str(&names)));
    buf_release(&names);
    return code;
}

static void write_amount(struct buf *out, const struct quantity_entry *entry,
                         const struct quantity *value)
{
    buf_add_printf(out, "%s%.*s=", out->n ? "," : "", STR_ARG(entry->key));
    quantity_write(value, out);
}

/* What the request adds, of what the quota limits. */
static struct amounts requested_of(const struct quota *q, const struct amounts *delta,
                                   struct arena *a)
{
    struct amounts requested = {0};
    for (size_t i = 0; i < delta->n; i++)
        if (!quantity_is_zero(&delta->v[i].value) && amounts_get(&q->hard, delta->v[i].key))
            amounts_push(&requested, delta->v[i].key, &delta->v[i].value, a);
    return requested;
}

static int check_fits(const struct admission *adm, const struct quota *q,
                      const struct amounts *requested, const struct amounts *new_usage,
                      struct api_status *ret_status)
{
    static const struct quantity zero;
    struct buf texts[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    for (size_t i = 0; i < requested->n; i++) {
        const struct quantity_entry *entry = &requested->v[i];
        const struct quantity *hard = amounts_get(&q->hard, entry->key);
        const struct quantity *used = amounts_get(&q->used, entry->key);
        if (quantity_cmp(amounts_get(new_usage, entry->key), hard) <= 0)
            continue;
        write_amount(&texts[0], entry, &entry->value);
        write_amount(&texts[1], entry, used ? used : &zero);
        write_amount(&texts[2], entry, hard);
    }
    int code = 0;
    if (texts[0].n > 0)
        code = admission_forbid(adm, ret_status,
                                "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s",
                                STR_ARG(q->name), STR_ARG(buf_str(&texts[0])),
                                STR_ARG(buf_str(&texts[1])), STR_ARG(buf_str(&texts[2])));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        buf_release(&texts[i]);
    return code;
}

static void add_effect(struct admission *adm, const struct quota *q, const struct amounts *used)
{
    struct admission_effect *effects =
        arena_array(adm->arena, struct admission_effect, adm->n_effects + 1);
    if (adm->n_effects)
        memcpy(effects, adm->effects, adm->n_effects * sizeof(*effects));
    struct json_value changed = *q->object;
    json_set_at(&changed, "status.used", amounts_json(used, adm->arena), adm->arena);
    effects[adm->n_effects++] = (struct admission_effect){
        admission_resource(adm, "", "resourcequotas"), adm->namespace, q->name, changed};
    adm->effects = effects;
}

/* usage: of the object; delta: less what it used before. */
static int charge(struct admission *adm, const struct quota *q, const struct amounts *usage,
                  const struct amounts *delta, struct api_status *ret_status)
{
    struct quota_object old = object_of(adm, adm->old);
    bool counted = adm->old && quota_in_scope(q->object, &old, adm->arena);
    struct amounts requested = requested_of(q, counted ? delta : usage, adm->arena);
    if (requested.n == 0)
        return 0;
    struct amounts new_usage = amounts_add(&q->used, &requested, adm->arena);
    int code = 0;
    if (!str_is(adm->subresource, "status"))
        code = check_fits(adm, q, &requested, &new_usage, ret_status);
    if (!code && !adm->dry_run)
        add_effect(adm, q, &new_usage);
    return code;
}

/* --- the plugin ------------------------------------------------------------------------------- */

static int check_negative(const struct admission *adm, const struct amounts *usage,
                          struct api_status *ret_status)
{
    struct buf names = BUF_INIT;
    for (size_t i = 0; i < usage->n; i++)
        if (quantity_sign(&usage->v[i].value) < 0)
            write_names(&names, usage->v[i].key);
    int code = 0;
    if (names.n > 0)
        code = admission_forbid(adm, ret_status, "quota usage is negative for resource(s): %.*s",
                                STR_ARG(buf_str(&names)));
    buf_release(&names);
    return code;
}

int resource_quota_validate(struct admission *adm, struct api_status *ret_status)
{
    if (!is_relevant(adm))
        return 0;
    VEC(struct quota) quotas = {0};
    struct admission_range range;
    const struct revision *rev;
    int code = 0;
    admission_range_init(&range, adm, "", "resourcequotas", adm->namespace, STR(""));
    while (!code && (rev = admission_range_next(&range))) {
        struct quota q;
        if (!read_quota(adm, rev, &q))
            continue;
        code = check_required(adm, q.name, &q.hard, ret_status);
        if (!code)
            code = check_known(adm, &q, ret_status);
        vec_push(&quotas, q);
    }
    if (!code && quotas.n > 0) {
        struct quota_object now = object_of(adm, adm->object), old = object_of(adm, adm->old);
        struct amounts usage = quota_usage(&now, adm->arena), before = {0};
        if (adm->old)
            before = quota_usage(&old, adm->arena);
        struct amounts delta = amounts_sub(&usage, &before, adm->arena);
        code = check_negative(adm, &usage, ret_status);
        for (size_t i = 0; i < quotas.n && !code; i++)
            code = charge(adm, &quotas.v[i], &usage, &delta, ret_status);
    }
    vec_release(&quotas);
    if (code)
        adm->n_effects = 0;
    return code;
}
