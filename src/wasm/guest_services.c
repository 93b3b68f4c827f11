/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/guest_services.h"

struct guest_request {
    struct arena arena; /* holds its texts */
    bool rejects;
    struct str uid; /* of the pod to reject */
    struct guest_event event;
    struct object *pod; /* regarding; NULL: the object that the event names */
};

void guest_services_init(struct guest_services *s, const struct berth_host *host,
                         struct berth_handle *h)
{
    *s = (struct guest_services){.host = host, .handle = h};
    pthread_mutex_init(&s->lock, NULL);
}

static void request_free(struct guest_request *r)
{
    object_unref(r->pod);
    arena_release(&r->arena);
    free(r);
}

void guest_services_release(struct guest_services *s)
{
    for (size_t i = 0; i < s->waiting.n; i++)
        request_free(s->waiting.v[i]);
    vec_release(&s->waiting);
    pthread_mutex_destroy(&s->lock);
}

/* --- on the engine's thread ------------------------------------------------------------------- */

static void reject(struct guest_services *s, struct str uid)
{
    struct berth_waiting_pod *w = s->host->waiting_pod_get(s->handle, abi_str(uid));
    if (w)
        s->host->waiting_reject(s->handle, w, BERTH_STR("removed"));
}

/* An object with nothing but its names; NULL if berth does not know the kind. */
static struct object *object_named(const struct guest_reference *ref)
{
    const struct kind *kind =
        kind_find(ref->api_version.n ? ref->api_version : STR("v1"), ref->kind);
    if (!kind || !kind->has_metadata || kind_is_custom(kind->id))
        return NULL;
    struct object *o = object_new(kind->id);
    struct arena *a = object_arena(o);
    struct object_meta *meta = object_body_mut(o);
    meta->name = arena_dup(a, ref->name);
    meta->namespace = arena_dup(a, ref->namespace);
    meta->uid = arena_dup(a, ref->uid);
    meta->resource_version = arena_dup(a, ref->resource_version);
    return o;
}

/* Upstream's recorder drops events of other types than Normal and Warning. */
static void record(struct guest_services *s, const struct guest_request *r)
{
    const struct guest_event *e = &r->event;
    if (!str_is(e->type, "Normal") && !str_is(e->type, "Warning")) {
        s->host->log(s->handle, BERTH_LOG_ERROR, BERTH_STR("Unsupported event type"),
                     (const struct berth_kv[]){BERTH_KV_STR("eventType", abi_str(e->type))}, 1);
        return;
    }
    struct object *regarding = r->pod ? object_ref(r->pod) : object_named(&e->regarding);
    struct object *related = e->related.name.n ? object_named(&e->related) : NULL;
    const struct berth_event event = {.struct_size = sizeof(event),
                                      .object = object_abi(regarding),
                                      .related = related ? object_abi(related) : NULL,
                                      .warning = str_is(e->type, "Warning"),
                                      .reason = abi_str(e->reason),
                                      .action = abi_str(e->action),
                                      .note = abi_str(e->note)};
    if (regarding)
        s->host->event(s->handle, &event);
    else
        s->host->log(s->handle, BERTH_LOG_ERROR,
                     BERTH_STR("A guest's event regards a kind that berth does not know: dropped"),
                     (const struct berth_kv[]){BERTH_KV_STR("kind", abi_str(e->regarding.kind)),
                                               BERTH_KV_STR("reason", abi_str(e->reason))},
                     2);
    object_unref(regarding);
    object_unref(related);
}

static void work(void *ctx)
{
    struct guest_services *s = ctx;
    pthread_mutex_lock(&s->lock);
    __typeof__(s->waiting) list = s->waiting;
    size_t dropped = s->dropped;
    memset(&s->waiting, 0, sizeof(s->waiting));
    s->dropped = 0;
    pthread_mutex_unlock(&s->lock);
    if (dropped)
        s->host->log(s->handle, BERTH_LOG_ERROR, BERTH_STR("Dropped requests of guests: too many"),
                     (const struct berth_kv[]){BERTH_KV_INT("dropped", (int64_t)dropped)}, 1);
    for (size_t i = 0; i < list.n; i++) {
        if (list.v[i]->rejects)
            reject(s, list.v[i]->uid);
        else
            record(s, list.v[i]);
        request_free(list.v[i]);
    }
    vec_release(&list);
}

/* --- on any thread ---------------------------------------------------------------------------- */

/* Takes the request over. */
static void add(struct guest_services *s, struct guest_request *r)
{
    pthread_mutex_lock(&s->lock);
    bool first = s->waiting.n == 0, room = s->waiting.n < GUEST_SERVICES_MAX;
    if (room)
        vec_push(&s->waiting, r);
    else
        s->dropped++;
    pthread_mutex_unlock(&s->lock);
    if (!room)
        request_free(r);
    else if (first)
        s->host->post(s->handle, work, s);
}

static struct guest_reference copy_reference(const struct guest_reference *ref, struct arena *a)
{
    return (struct guest_reference){.kind = arena_dup(a, ref->kind),
                                    .api_version = arena_dup(a, ref->api_version),
                                    .name = arena_dup(a, ref->name),
                                    .namespace = arena_dup(a, ref->namespace),
                                    .uid = arena_dup(a, ref->uid),
                                    .resource_version = arena_dup(a, ref->resource_version)};
}

void guest_services_event(struct guest_services *s, const struct guest_event *event,
                          const struct berth_pod *pod)
{
    struct guest_request *r = xnew(struct guest_request);
    struct arena *a = &r->arena;
    arena_init(a, 0);
    if (pod && event->regarding.uid.n && str_eq(pod_info_key(pod), event->regarding.uid))
        r->pod = object_ref(pod->object);
    r->event = (struct guest_event){.regarding = copy_reference(&event->regarding, a),
                                    .related = copy_reference(&event->related, a),
                                    .type = arena_dup(a, event->type),
                                    .reason = arena_dup(a, event->reason),
                                    .action = arena_dup(a, event->action),
                                    .note = arena_dup(a, event->note)};
    add(s, r);
}

const struct berth_pod *guest_services_waiting(const struct guest_services *s, struct str uid)
{
    const struct berth_waiting_pod *w = s->host->waiting_pod_get(s->handle, abi_str(uid));
    return w ? s->host->waiting_pod(w) : NULL;
}

bool guest_services_reject(struct guest_services *s, struct str uid)
{
    if (!guest_services_waiting(s, uid))
        return false;
    struct guest_request *r = xnew(struct guest_request);
    arena_init(&r->arena, 0);
    r->rejects = true;
    r->uid = arena_dup(&r->arena, uid);
    add(s, r);
    return true;
}
