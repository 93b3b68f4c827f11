/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes and pods of the kubelets, what is due for them, and their writes. */
#include "apiserver/kubelet/kubelets_internal.h"

#define RETRY_FIRST (10 * NSEC_PER_MSEC)
#define RETRY_MAX   (10 * NSEC_PER_SEC)

struct flight {
    uint64_t id;
    struct actor *actor;
};

static struct sim_pod *pod_of(struct actor *actor)
{
    return CONTAINER_OF(actor, struct sim_pod, actor);
}

static struct sim_node *node_of(struct actor *actor)
{
    return CONTAINER_OF(actor, struct sim_node, actor);
}

void kubelet_add_time(struct buf *out, int64_t at)
{
    buf_add_char(out, '"');
    timestamp_format(timestamp_of(at), 0, out);
    buf_add_char(out, '"');
}

/* --- the queue -------------------------------------------------------------------------------- */

static bool due_before(const struct heap_node *a, const struct heap_node *b, void *ctx UNUSED)
{
    return CONTAINER_OF(a, struct actor, timer)->due < CONTAINER_OF(b, struct actor, timer)->due;
}

static void mark(struct kubelets *k, struct actor *actor)
{
    if (actor->queued)
        return;
    actor->queued = true;
    vec_push(&k->queue, actor);
}

void kubelet_actor_due(struct kubelets *k, struct actor *actor, int64_t at)
{
    if (heap_contains(&actor->timer))
        heap_remove(&k->timers, &actor->timer);
    actor->due = at;
    if (at != INT64_MAX)
        heap_push(&k->timers, &actor->timer);
}

void kubelet_actor_write(struct kubelets *k, struct actor *actor,
                         const struct writer_request *request)
{
    struct flight *flight = xnew(struct flight);
    *flight = (struct flight){.id = ++k->next_id, .actor = actor};
    map_put(&k->flights, map_number_key(&flight->id), flight);
    actor->n_writes++;
    struct writer_request r = *request;
    r.id = flight->id;
    r.body = buf_str(&k->body);
    k->options.writer.write(k->options.writer.ctx, &r);
}

/* --- nodes and pods --------------------------------------------------------------------------- */

static struct sim_node *need_node(struct kubelets *k, struct str name)
{
    struct sim_node *node = map_get(&k->nodes, name);
    if (node)
        return node;
    node = xcalloc(1, sizeof(*node) + name.n + 1);
    memcpy(node->text, name.p, name.n);
    node->name = (struct str){node->text, name.n};
    node->actor = (struct actor){.is_node = true, .due = INT64_MAX};
    node->life = kubelet_life_default;
    map_put(&k->nodes, node->name, node);
    return node;
}

static void free_actor(struct kubelets *k, struct actor *actor)
{
    if (actor->queued || actor->n_writes)
        return; /* freed from there */
    if (actor->is_node) {
        struct sim_node *node = node_of(actor);
        revision_unref(node->rev);
        vec_release(&node->pods);
        free(node);
        return;
    }
    struct sim_pod *pod = pod_of(actor);
    for (size_t i = 0; i < pod->n_runs; i++)
        free((char *)(uintptr_t)pod->runs[i].name.p);
    free(pod->runs);
    revision_unref(pod->rev);
    free(pod);
    (void)k;
}

static void drop_node(struct kubelets *k, struct sim_node *node)
{
    if (node->rev || node->pods.n)
        return;
    map_del(&k->nodes, node->name);
    kubelet_actor_due(k, &node->actor, INT64_MAX);
    node->actor.gone = true;
    free_actor(k, &node->actor);
}

static void drop_pod(struct kubelets *k, struct sim_pod *pod)
{
    struct sim_node *node = pod->node;
    vec_swap_remove(&node->pods, pod->node_at);
    if (pod->node_at < node->pods.n)
        node->pods.v[pod->node_at]->node_at = pod->node_at;
    pod->node = NULL;
    map_del(&k->pods, pod->key);
    kubelet_actor_due(k, &pod->actor, INT64_MAX);
    pod->actor.gone = true;
    free_actor(k, &pod->actor);
    drop_node(k, node);
}

static struct sim_pod *add_pod(struct kubelets *k, struct str key, struct str node_name)
{
    struct sim_pod *pod = xcalloc(1, sizeof(*pod) + key.n + 1);
    memcpy(pod->text, key.p, key.n);
    pod->key = (struct str){pod->text, key.n};
    pod->actor = (struct actor){.due = INT64_MAX};
    pod->node = need_node(k, node_name);
    pod->node_at = pod->node->pods.n;
    vec_push(&pod->node->pods, pod);
    map_put(&k->pods, pod->key, pod);
    return pod;
}

static void pod_changed(struct kubelets *k, const struct store_event *event)
{
    struct revision *rev = event->after;
    char small[128];
    int n =
        snprintf(small, sizeof(small), "%.*s/%.*s", STR_ARG(rev->namespace), STR_ARG(rev->name));
    char *large = n >= (int)sizeof(small)
                      ? xasprintf("%.*s/%.*s", STR_ARG(rev->namespace), STR_ARG(rev->name))
                      : NULL;
    struct str key = {large ? large : small, (size_t)n};
    struct str node_name = revision_field(rev, STR("spec.nodeName"));
    struct sim_pod *pod = map_get(&k->pods, key);
    if (event->change == STORE_DELETED) {
        if (pod)
            drop_pod(k, pod);
    } else if (!str_empty(node_name)) {
        if (!pod)
            pod = add_pod(k, key, node_name);
        revision_unref(pod->rev);
        pod->rev = revision_ref(rev);
        mark(k, &pod->actor);
    }
    free(large);
}

static void mark_pods(struct kubelets *k, struct sim_node *node)
{
    for (size_t i = 0; i < node->pods.n; i++)
        mark(k, &node->pods.v[i]->actor);
}

static void node_changed(struct kubelets *k, const struct store_event *event)
{
    struct sim_node *node = map_get(&k->nodes, event->after->name);
    if (event->change == STORE_DELETED) {
        if (!node)
            return;
        node->rev = revision_unref(node->rev);
        node->lease_known = false;
        node->lease_due = node->status_due = 0;
        drop_node(k, node);
        return;
    }
    if (!node)
        node = need_node(k, event->after->name);
    bool could_run = node->rev && !node->killed;
    revision_unref(node->rev);
    node->rev = revision_ref(event->after);
    kubelet_node_read(k, node);
    if (!could_run && !node->killed)
        mark_pods(k, node);
    mark(k, &node->actor);
}

void kubelets_changed(struct kubelets *k, const struct store_event *event)
{
    const struct resource *r = event->after->resource;
    if (!str_empty(r->group))
        return;
    if (str_is(r->plural, "pods"))
        pod_changed(k, event);
    else if (str_is(r->plural, "nodes"))
        node_changed(k, event);
}

/* --- the work on a pod ------------------------------------------------------------------------ */

static void send_delete(struct kubelets *k, struct sim_pod *pod, const struct json_value *object)
{
    buf_clear(&k->body);
    buf_add_cstr(&k->body, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                           "\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":");
    json_write_str(&k->body, json_text_at(object, "metadata.uid"));
    buf_add_cstr(&k->body, "}}");
    pod->delete_sent = true;
    kubelet_actor_write(k, &pod->actor,
                        &(struct writer_request){.verb = WRITER_DELETE,
                                                 .plural = STR("pods"),
                                                 .namespace = pod->rev->namespace,
                                                 .name = pod->rev->name});
}

/* Reports the status unless it was reported. Returns whether it did. */
static bool report(struct kubelets *k, struct sim_pod *pod, const struct json_value *object)
{
    kubelet_pod_status_write(k, pod, object);
    uint64_t hash = str_hash(buf_str(&k->body)) | 1;
    if (hash == pod->reported)
        return false;
    struct str status = arena_dup(&k->scratch, buf_str(&k->body));
    buf_clear(&k->body);
    buf_add_printf(&k->body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},",
                   (unsigned long long)pod->rev->version);
    buf_add_str(&k->body, status);
    buf_add_char(&k->body, '}');
    pod->reporting = hash;
    kubelet_actor_write(k, &pod->actor,
                        &(struct writer_request){.verb = WRITER_PATCH_MERGE,
                                                 .plural = STR("pods"),
                                                 .subresource = STR("status"),
                                                 .namespace = pod->rev->namespace,
                                                 .name = pod->rev->name});
    return true;
}

static void begin_pod(struct kubelets *k, struct sim_pod *pod, const struct json_value *object)
{
    struct str phase = json_text_at(object, "status.phase");
    kubelet_pod_admit(k, pod, object);
    if (str_is(phase, "Succeeded") || str_is(phase, "Failed")) {
        pod->phase = str_is(phase, "Failed") ? POD_PHASE_FAILED : POD_PHASE_SUCCEEDED;
        pod->ended = pod->was_ended = true;
    }
}

static void pod_sync(struct kubelets *k, struct sim_pod *pod)
{
    struct json_value object;
    if (!pod->node->rev || pod->node->killed || pod->delete_sent)
        return;
    arena_reset(&k->scratch);
    if (json_parse(pod->rev->text, 0, &k->scratch, &object, NULL) < 0)
        return; /* the registry stores JSON only */
    if (!pod->admitted)
        begin_pod(k, pod, &object);
    bool deleting = !str_empty(json_text_at(&object, "metadata.deletionTimestamp"));
    int64_t next = kubelet_pod_advance(k, pod, &object);
    kubelet_actor_due(k, &pod->actor, next);
    const struct json_value *finalizers = json_at(&object, "metadata.finalizers");
    bool waits = finalizers && finalizers->kind == JSON_ARRAY && finalizers->n;
    /* The status of an object that the next write removes is not read by anyone. */
    if (deleting && pod->ended && !waits) {
        send_delete(k, pod, &object);
        return;
    }
    if (!pod->was_ended && report(k, pod, &object))
        return;
    if (deleting && pod->ended)
        send_delete(k, pod, &object);
}

static void pod_write_done(struct sim_pod *pod, int status)
{
    bool success = status >= 200 && status < 300;
    if (pod->reporting) {
        if (success)
            pod->reported = pod->reporting;
        pod->reporting = 0;
    } else if (pod->delete_sent && !success && status != 404) {
        pod->delete_sent = false;
    }
}

/* --- the calls of kubelets.h ------------------------------------------------------------------ */

struct kubelets *kubelets_new(const struct kubelets_options *options)
{
    struct kubelets *k = xnew(struct kubelets);
    k->options = *options;
    if (k->options.lease_duration <= 0)
        k->options.lease_duration = 40 * NSEC_PER_SEC;
    heap_init(&k->timers, due_before, NULL);
    arena_init(&k->scratch, (size_t)64 << 10);
    rand_seed(&k->rand, options->seed);
    return k;
}

struct kubelets *kubelets_free(struct kubelets *k)
{
    if (!k)
        return NULL;
    heap_release(&k->timers); /* while what is in it exists */
    for (size_t i = k->queue_at; i < k->queue.n; i++) {
        struct actor *actor = k->queue.v[i];
        actor->queued = false;
        if (actor->gone)
            free_actor(k, actor);
    }
    map_each (e, &k->flights) {
        struct flight *flight = e->value;
        flight->actor->n_writes--;
        if (flight->actor->gone)
            free_actor(k, flight->actor);
        free(flight);
    }
    map_each (e, &k->pods) {
        struct sim_pod *pod = e->value;
        pod->actor.queued = false;
        pod->actor.n_writes = 0;
        free_actor(k, &pod->actor);
    }
    map_each (e, &k->nodes) {
        struct sim_node *node = e->value;
        node->actor.queued = false;
        node->actor.n_writes = 0;
        free_actor(k, &node->actor);
    }
    map_release(&k->flights);
    map_release(&k->pods);
    map_release(&k->nodes);
    vec_release(&k->queue);
    arena_release(&k->scratch);
    buf_release(&k->body);
    free(k);
    return NULL;
}

void kubelets_write_done(struct kubelets *k, uint64_t id, int status, int64_t now)
{
    struct flight *flight = map_del(&k->flights, map_number_key(&id));
    if (!flight)
        return;
    struct actor *actor = flight->actor;
    free(flight);
    actor->n_writes--;
    if (actor->gone) {
        free_actor(k, actor);
        return;
    }
    k->now = now;
    if (actor->is_node)
        kubelet_node_write_done(k, node_of(actor), status);
    else
        pod_write_done(pod_of(actor), status);
    if (status >= 200 && status < 300) {
        actor->n_failures = 0;
        mark(k, actor);
        return;
    }
    /* Tried again from newer objects, and later each time. */
    int64_t wait = MIN(RETRY_FIRST << MIN(actor->n_failures, 16U), RETRY_MAX);
    actor->n_failures++;
    kubelet_actor_due(k, actor, MIN(actor->due, now + wait));
}

void kubelets_run(struct kubelets *k, int64_t now)
{
    struct heap_node *first;
    k->now = now;
    while ((first = heap_peek(&k->timers))) {
        struct actor *actor = CONTAINER_OF(first, struct actor, timer);
        if (actor->due > now)
            break;
        kubelet_actor_due(k, actor, INT64_MAX);
        mark(k, actor);
    }
    size_t end = k->queue.n;
    while (k->queue_at < end) {
        struct actor *actor = k->queue.v[k->queue_at++];
        actor->queued = false;
        if (actor->gone)
            free_actor(k, actor);
        else if (actor->n_writes)
            continue; /* its answer marks it */
        else if (actor->is_node)
            kubelet_node_sync(k, node_of(actor));
        else
            pod_sync(k, pod_of(actor));
    }
    if (k->queue_at == k->queue.n) {
        vec_clear(&k->queue);
        k->queue_at = 0;
    }
}

int64_t kubelets_next(const struct kubelets *k)
{
    if (k->queue_at < k->queue.n)
        return 0;
    struct heap_node *first = heap_peek(&k->timers);
    return first ? CONTAINER_OF(first, struct actor, timer)->due : INT64_MAX;
}
