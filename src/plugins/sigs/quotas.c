/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/quotas.h"

#include "plugins/common/plugin_base.h"
#include "plugins/sigs/quota_status.h"

struct quota_pod {
    struct str uid; /* owned */
    struct resource amounts;
    bool running;
};

/* --- a namespace ------------------------------------------------------------------------------ */

static struct quota *find(const struct quotas *self, struct str namespace)
{
    return map_get(&self->by_namespace, namespace);
}

static struct quota *add_quota(struct quotas *self, struct str namespace)
{
    struct quota *q = xnew(struct quota);
    arena_init(&q->arena, 0);
    q->namespace = str_of(str_dup(namespace));
    q->uncounted = self->uncounted = true;
    map_put(&self->by_namespace, q->namespace, q);
    return q;
}

static void count(struct quotas *self, struct quota *q, const struct resource *amounts,
                  int64_t sign)
{
    resource_add(&q->used, self->names, amounts, sign);
    resource_add(&self->used, self->names, amounts, sign);
}

static void free_pod(struct quotas *self, struct quota_pod *pod)
{
    resource_release(&pod->amounts, self->names);
    free((char *)pod->uid.p);
    free(pod);
}

static void free_quota(struct quotas *self, struct quota *q)
{
    quota_status_forget(self, q);
    map_each (entry, &q->pods) {
        struct quota_pod *pod = entry->value;
        count(self, q, &pod->amounts, -1);
        free_pod(self, pod);
    }
    resource_add(&self->min, self->names, &q->min, -1);
    resource_release(&q->min, self->names);
    resource_release(&q->used, self->names);
    resource_release(&q->running, self->names);
    for (size_t i = 0; i < q->objects.n; i++)
        self->host->object_unref(q->objects.v[i]);
    vec_release(&q->objects);
    map_release(&q->pods);
    arena_release(&q->arena);
    free((char *)q->namespace.p);
    free(q);
}

/* --- limits ----------------------------------------------------------------------------------- */

/* Upstream: only one ElasticQuota per namespace is supported. Here the oldest counts. */
const struct berth_object *quota_object(const struct quota *q)
{
    const struct berth_object *best = q->objects.v[0];
    for (size_t i = 1; i < q->objects.n; i++) {
        const struct object_meta *a = hint_meta(q->objects.v[i]), *b = hint_meta(best);
        int order = timestamp_cmp(a->creation_timestamp, b->creation_timestamp);
        if (order < 0 || (order == 0 && str_cmp(a->name, b->name) < 0))
            best = q->objects.v[i];
    }
    return best;
}

/* Without max nothing is limited; a max that does not list cpu, say, allows none. */
static void set_limits(struct quotas *self, struct quota *q)
{
    const struct berth_object *object = quota_object(q);
    struct resources min;
    quantity_map list;
    resource_add(&self->min, self->names, &q->min, -1);
    arena_reset(&q->arena);
    if (quota_read_list(self, object, "spec.max", &q->arena, &list))
        resources_from_map(&list, &q->arena, &q->max);
    else
        q->max = (struct resources){INT64_MAX, INT64_MAX, INT64_MAX, 0, {0}};
    quota_read_list(self, object, "spec.min", &q->arena, &list);
    resources_from_map(&list, &q->arena, &min);
    resource_set(&q->min, self->names, &min);
    resource_add(&self->min, self->names, &q->min, 1);
}

static void quota_changed(struct quotas *self, const struct berth_object *before,
                          const struct berth_object *after)
{
    struct str namespace = hint_meta(after ? after : before)->namespace;
    struct str name = hint_meta(after ? after : before)->name;
    struct quota *q = find(self, namespace);
    if (!q && !after)
        return;
    if (!q)
        q = add_quota(self, namespace);
    for (size_t i = 0; i < q->objects.n; i++)
        if (str_eq(hint_meta(q->objects.v[i])->name, name)) {
            self->host->object_unref(q->objects.v[i]);
            vec_remove(&q->objects, i);
            break;
        }
    if (after)
        vec_push(&q->objects, self->host->object_ref(after));
    if (q->objects.n) {
        set_limits(self, q);
        quota_status_changed(self, q);
    } else {
        map_del(&self->by_namespace, q->namespace);
        free_quota(self, q);
    }
}

/* --- pods ------------------------------------------------------------------------------------- */

static void set_running(struct quotas *self, struct quota *q, struct quota_pod *pod, bool running)
{
    if (pod->running == running)
        return;
    pod->running = running;
    resource_add(&q->running, self->names, &pod->amounts, running ? 1 : -1);
    quota_status_changed(self, q);
}

static void add_to(struct quotas *self, struct quota *q, const struct pod *pod)
{
    struct resources request;
    struct arena arena;
    if (map_get(&q->pods, pod->metadata.uid))
        return;
    struct quota_pod *record = xnew(struct quota_pod);
    record->uid = str_of(str_dup(pod->metadata.uid));
    arena_init(&arena, 0);
    quota_request(pod, &arena, &request);
    resource_set(&record->amounts, self->names, &request);
    arena_release(&arena);
    map_put(&q->pods, record->uid, record);
    count(self, q, &record->amounts, 1);
    set_running(self, q, record, str_is(pod->status.phase, POD_PHASE_RUNNING));
}

void quotas_add_pod(struct quotas *self, const struct pod *pod)
{
    struct quota *q = find(self, pod->metadata.namespace);
    if (q)
        add_to(self, q, pod);
}

void quotas_remove_pod(struct quotas *self, const struct pod *pod)
{
    struct quota *q = find(self, pod->metadata.namespace);
    struct quota_pod *record = q ? map_del(&q->pods, pod->metadata.uid) : NULL;
    if (!record)
        return;
    set_running(self, q, record, false);
    count(self, q, &record->amounts, -1);
    free_pod(self, record);
}

/* The requests of a running pod may change: it is counted anew. */
static void pod_changed(struct quotas *self, const struct pod *before, const struct pod *after)
{
    if (before)
        quotas_remove_pod(self, before);
    if (after && !str_empty(after->spec.node_name) && !pod_is_terminal(after)) {
        quotas_remove_pod(self, after);
        quotas_add_pod(self, after);
    }
}

void quotas_refresh(struct quotas *self)
{
    if (!self->uncounted)
        return;
    self->uncounted = false;
    map_each (entry, &self->cache->pods) {
        const struct berth_pod *pod = ((const struct cache_pod *)entry->value)->pod;
        struct quota *q = find(self, pod->pod->metadata.namespace);
        if (q && q->uncounted)
            add_to(self, q, pod->pod);
    }
    map_each (entry, &self->by_namespace)
        ((struct quota *)entry->value)->uncounted = false;
}

/* --- lookups ---------------------------------------------------------------------------------- */

const struct quota *quotas_find(const struct quotas *self, struct str namespace)
{
    return self->by_namespace.n ? find(self, namespace) : NULL;
}

const struct resource *quota_pod_amounts(const struct quota *q, struct str uid)
{
    const struct quota_pod *record = map_get(&q->pods, uid);
    return record ? &record->amounts : NULL;
}

/* --- shared state ----------------------------------------------------------------------------- */

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    struct quotas *self = xnew(struct quotas);
    self->host = host;
    self->handle = h;
    self->cache = h->framework->cache;
    self->names = self->cache->names;
    self->lister = host->watch(
        h, &(struct berth_watch){.struct_size = sizeof(struct berth_watch),
                                 .api_version = BERTH_STR("scheduling.x-k8s.io/v1alpha1"),
                                 .kind = BERTH_STR("ElasticQuota"),
                                 .resource = BERTH_STR("elasticquotas")});
    return self;
}

static void release(void *data)
{
    struct quotas *self = data;
    map_each (entry, &self->by_namespace)
        free_quota(self, entry->value);
    map_release(&self->by_namespace);
    resource_release(&self->min, self->names);
    resource_release(&self->used, self->names);
    free(self);
}

static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    struct quotas *self = data;
    if (resource == self->host->lister_resource(self->lister))
        quota_changed(self, before, after);
    else if (resource == BERTH_RESOURCE_ASSIGNED_POD)
        pod_changed(self, hint_pod(before), hint_pod(after));
}

const struct berth_shared_type quotas_type = {
    .struct_size = sizeof(quotas_type),
    .name = "CapacityScheduling",
    .make = make,
    .free = release,
    .changed = changed,
};
