/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include "api/pod.h"
#include "base/time.h"
#include "engine/ports/abi.h"
#include "sim/sim_volumes.h"

#define DEFAULT_MAX_ATTEMPTS 3

enum sim_writer { WRITER_ENGINE, WRITER_PLUGIN, WRITER_CONTROLLER, WRITER_WEB };

/* A write that changes an object, or whose result is waited for. They are applied in order. */
struct sim_write {
    enum sim_writer writer;
    uint64_t id;
    /* the engine's */
    enum write_kind kind;
    struct object *pod;
    bool sets_node;
    char *node; /* to bind or nominate */
    /* of plugins and controllers; its texts are in text */
    struct sim_request request;
    char *text;
    /* requests for what is outside of the simulation; NULL: there is no response */
    const struct sim_response *response;
};

/* --- ports ------------------------------------------------------------------------------------ */

/* Real time for which the end waits for an answer from a plugin's own thread. */
#define POST_PATIENCE (10 * NSEC_PER_SEC)

struct sim_post {
    struct mail mail;
    struct engine_post *post;
};

/* The address of a thread's own variable tells threads apart. */
static _Thread_local char self;

static bool port_is_engine_thread(void *ctx)
{
    return ((const struct sim *)ctx)->thread == &self;
}

static void port_post(void *ctx, struct engine_post *post)
{
    struct sim *sim = ctx;
    struct sim_post *p = xnew(struct sim_post);
    p->post = post;
    mailbox_post(&sim->posts, &p->mail);
}

static int64_t port_now(void *ctx)
{
    return ((struct sim *)ctx)->now;
}

static void note_eviction(struct sim *sim, const struct write *write)
{
    struct sim_pod *pod = map_get(&sim->by_uid, object_meta(write->object)->uid);
    vec_push(&sim->evictions,
             (struct sim_eviction){object_ref(write->object), object_ref(write->related)});
    if (pod)
        pod->preempted = true;
}

static void port_submit(void *ctx, const struct write *write)
{
    struct sim *sim = ctx;
    if (write->kind == WRITE_EVENT && write->related)
        note_eviction(sim, write);
    if (write->kind == WRITE_EVENT || write->kind == WRITE_POD_GROUP_STATUS ||
        (write->kind == WRITE_POD_STATUS && !write->sets_nomination && !write->id))
        return;
    struct sim_write *w = xnew(struct sim_write);
    w->kind = write->kind;
    w->id = write->id;
    w->pod = object_ref(write->object);
    w->sets_node = write->kind == WRITE_BINDING || write->sets_nomination;
    w->node = str_dup(write->node_name);
    vec_push(&sim->writes, w);
}

static struct str keep(char **at, struct str s)
{
    char *p = *at;
    if (s.n)
        memcpy(p, s.p, s.n);
    *at += s.n;
    return (struct str){p, s.n};
}

static void push_request(struct sim *sim, enum sim_writer writer, uint64_t id,
                         const struct sim_request *request)
{
    struct sim_write *w = xnew(struct sim_write);
    size_t n = request->subresource.n + request->namespace.n + request->name.n + request->body.n;
    char *at = w->text = xmalloc(n + 1);
    w->writer = writer;
    w->id = id;
    w->request = *request;
    w->request.subresource = keep(&at, request->subresource);
    w->request.namespace = keep(&at, request->namespace);
    w->request.name = keep(&at, request->name);
    w->request.body = keep(&at, request->body);
    vec_push(&sim->writes, w);
}

static enum sim_verb verb_of(const struct berth_api_call *call)
{
    static const enum sim_verb patches[] = {
        [BERTH_PATCH_MERGE] = SIM_PATCH_MERGE,
        [BERTH_PATCH_STRATEGIC] = SIM_PATCH_STRATEGIC,
        [BERTH_PATCH_JSON] = SIM_PATCH_JSON,
    };
    switch (call->verb) {
    case BERTH_API_CREATE:
        return SIM_CREATE;
    case BERTH_API_PATCH:
        return patches[call->patch];
    case BERTH_API_DELETE:
        return SIM_DELETE;
    default:
        return SIM_GET;
    }
}

/* NULL if there is none. */
static const struct sim_response *find_response(struct sim *sim, struct str url)
{
    for (size_t i = 0; i < sim->n_responses; i++)
        if (str_eq(sim->responses[i].url, url))
            return &sim->responses[i];
    if (!sim->unanswered)
        sim->unanswered = str_dup(url);
    return NULL;
}

static void port_http_get(void *ctx, uint64_t id, const struct berth_http_get *get)
{
    struct sim *sim = ctx;
    struct sim_write *w = xnew(struct sim_write);
    w->writer = WRITER_WEB;
    w->id = id;
    w->response = find_response(sim, str_abi(get->url));
    vec_push(&sim->writes, w);
}

/* A list that the simulation does not have: of an API server behind the API server. */
static void push_list(struct sim *sim, uint64_t id, const struct berth_api_call *call,
                      const struct kind *kind)
{
    struct buf path = BUF_INIT;
    struct sim_write *w = xnew(struct sim_write);
    buf_add_printf(&path, "/apis/%.*s/%.*s", BERTH_STR_ARG(call->api_version),
                   BERTH_STR_ARG(call->resource));
    w->writer = WRITER_PLUGIN;
    w->id = id;
    w->request.kind = kind;
    w->response = find_response(sim, buf_str(&path));
    vec_push(&sim->writes, w);
    buf_release(&path);
}

static void port_call_api(void *ctx, uint64_t id, const struct berth_api_call *call)
{
    struct str version = str_abi(call->api_version);
    size_t slash = str_find(version, '/');
    struct sim_request request = {
        .verb = verb_of(call),
        .kind = kind_find_resource(slash < version.n ? str_slice(version, 0, slash) : STR(""),
                                   str_abi(call->resource)),
        .subresource = str_abi(call->subresource),
        .namespace = str_abi(call->namespace_name),
        .name = str_abi(call->name),
        .body = str_abi(call->body),
    };
    if (call->verb == BERTH_API_GET && !call->name.n)
        push_list(ctx, id, call, request.kind);
    else
        push_request(ctx, WRITER_PLUGIN, id, &request);
}

static void on_controllers_write(void *ctx, const struct controllers_write *write)
{
    static const enum sim_verb verbs[] = {
        [CONTROLLERS_CREATE] = SIM_CREATE,
        [CONTROLLERS_PATCH] = SIM_PATCH_MERGE,
        [CONTROLLERS_DELETE] = SIM_DELETE,
    };
    struct sim_request request = {
        .verb = verbs[write->verb],
        .kind = write->kind,
        .subresource = write->subresource,
        .namespace = write->namespace,
        .name = write->name,
        .body = write->body,
    };
    push_request(ctx, WRITER_CONTROLLER, write->id, &request);
}

/* Neither scheduled nor out of attempts. */
static bool is_open(const struct sim *sim, const struct sim_pod *pod)
{
    return !pod->node && pod->attempts < sim->max_attempts;
}

static void port_decided(void *ctx, const struct decision *d)
{
    struct sim *sim = ctx;
    struct sim_pod *pod = map_get(&sim->by_uid, object_meta(d->pod)->uid);
    if (!pod)
        return;
    bool was_open = is_open(sim, pod);
    sim->n_idle = was_open ? 0 : sim->n_idle + 1;
    pod->attempts = d->attempt;
    free(pod->message);
    pod->message = d->bound ? NULL : str_dup(d->message);
    if (d->bound)
        pod->node = str_dup(d->node_name);
    sim->n_open -= was_open && !is_open(sim, pod);
}

static bool is_pending(const struct object *o)
{
    return object_kind(o)->id == KIND_POD && str_empty(object_pod(o)->spec.node_name);
}

static void note_pending(struct sim *sim, struct object *o)
{
    struct sim_pod *pod = xnew(struct sim_pod);
    pod->object = object_ref(o);
    vec_push(&sim->pods, pod);
    map_put(&sim->by_uid, object_meta(o)->uid, pod);
}

/* The watch of the engine and of the controllers. */
static void on_changed(void *ctx, struct object *before, struct object *after)
{
    struct sim *sim = ctx;
    if (!before && is_pending(after))
        note_pending(sim, after);
    if (sim->controllers)
        controllers_object_changed(sim->controllers, before, after);
    engine_object_changed(sim->engine, before, after);
}

/* --- making and ending ------------------------------------------------------------------------ */

static struct controllers *make_controllers(struct sim *sim, const struct sim_options *options)
{
    struct controllers_options controllers = {
        .ctx = sim, .write = on_controllers_write, .provisioner = options->provisioner};
    controllers.provisioner.enabled = true;
    return controllers_new(&controllers);
}

int sim_new(const struct sim_options *options, struct sim **ret_sim, struct err *reterr)
{
    struct sim *sim = xnew(struct sim);
    struct engine_options engine = {
        .config = options->config,
        .registry = options->registry,
        .features = options->features,
        .seed = options->seed,
        .explain_bytes = options->explain_bytes,
        .surveys = options->surveys,
        .ports = {.ctx = sim,
                  .now = port_now,
                  .submit = port_submit,
                  .call_api = port_call_api,
                  .http_get = port_http_get,
                  .post = port_post,
                  .is_engine_thread = port_is_engine_thread,
                  .decided = port_decided},
    };
    sim->thread = &self;
    sim->responses = options->responses;
    sim->n_responses = options->n_responses;
    int r = mailbox_init(&sim->posts, false);
    if (r < 0) {
        free(sim);
        return err_set(reterr, r, "mailbox: %s", strerror(-r));
    }
    r = engine_new(&engine, &sim->engine, reterr);
    if (r < 0) {
        mailbox_release(&sim->posts);
        free(sim);
        return r;
    }
    sim_api_init(&sim->api, on_changed, sim);
    if (!options->no_controllers)
        sim->controllers = make_controllers(sim, options);
    sim->max_attempts = options->max_attempts ? options->max_attempts : DEFAULT_MAX_ATTEMPTS;
    *ret_sim = sim;
    return 0;
}

static void free_write(struct sim_write *w)
{
    object_unref(w->pod);
    free(w->node);
    free(w->text);
    free(w);
}

struct sim *sim_free(struct sim *sim)
{
    if (!sim)
        return NULL;
    engine_free(sim->engine);
    for (struct mail *mail = mailbox_take(&sim->posts); mail;) {
        struct sim_post *p = CONTAINER_OF(mail, struct sim_post, mail);
        mail = mail->next;
        engine_post_free(p->post);
        free(p);
    }
    mailbox_release(&sim->posts);
    controllers_free(sim->controllers);
    for (size_t i = 0; i < sim->pods.n; i++) {
        struct sim_pod *pod = sim->pods.v[i];
        object_unref(pod->object);
        free(pod->node);
        free(pod->message);
        free(pod);
    }
    sim_api_release(&sim->api);
    for (size_t i = 0; i < sim->evictions.n; i++) {
        object_unref(sim->evictions.v[i].victim);
        object_unref(sim->evictions.v[i].preemptor);
    }
    vec_release(&sim->pods);
    while (sim->writes.n)
        free_write(vec_pop(&sim->writes));
    vec_release(&sim->writes);
    vec_release(&sim->leaving);
    vec_release(&sim->evictions);
    map_release(&sim->by_uid);
    free(sim->unanswered);
    free(sim);
    return NULL;
}

/* The order of loading: everything that an attempt depends on before the pending pods. */
enum load_rank { LOAD_OBJECTS, LOAD_NODES, LOAD_BOUND_PODS, LOAD_PENDING_PODS, LOAD_RANKS };

static enum load_rank rank_of(const struct object *o)
{
    switch (object_kind(o)->id) {
    case KIND_NODE:
        return LOAD_NODES;
    case KIND_POD:
        return is_pending(o) ? LOAD_PENDING_PODS : LOAD_BOUND_PODS;
    default:
        return LOAD_OBJECTS;
    }
}

static void load(struct sim *sim, const struct scenario_item *item)
{
    if (item->what == SCENARIO_DELETED)
        sim_api_remove(&sim->api, item->object);
    else
        sim_api_put(&sim->api, item->object);
    /* No two events have the same time, so that pods are tried in the order of the files. */
    sim->now++;
}

void sim_load(struct sim *sim, const struct scenario *scenario)
{
    for (int rank = 0; rank < LOAD_RANKS; rank++)
        for (size_t i = 0; i < scenario->items.n; i++) {
            const struct scenario_item *item = &scenario->items.v[i];
            if (item->what == SCENARIO_THERE && (int)rank_of(item->object) == rank)
                load(sim, item);
        }
    for (size_t i = 0; i < scenario->items.n; i++)
        if (scenario->items.v[i].what != SCENARIO_THERE)
            load(sim, &scenario->items.v[i]);
}

/* --- running ---------------------------------------------------------------------------------- */

/* A reference to the pod's current object; NULL if it is deleted or replaced by another pod. */
static struct object *current(const struct sim *sim, const struct object *pod)
{
    const struct object_meta *meta = object_meta(pod);
    struct object *o = sim_api_get(&sim->api, object_kind(pod), meta->namespace, meta->name);
    return o && str_eq(object_meta(o)->uid, meta->uid) ? object_ref(o) : NULL;
}

static void answer(struct sim *sim, const struct sim_write *w, int status, const char *message)
{
    struct write_result result = {.status = status, .message = str_of(message)};
    if (w->id)
        engine_write_done(sim->engine, w->id, &result);
}

/* Applies a binding or a nomination, and sends the updated pod to the engine. */
static void change_pod(struct sim *sim, const struct sim_write *w, struct object *before)
{
    bool binds = w->kind == WRITE_BINDING;
    if (!binds &&
        (!w->sets_node || str_is(object_pod(before)->status.nominated_node_name, w->node))) {
        answer(sim, w, 200, "");
        return;
    }
    struct object *after = sim_api_copy(&sim->api, before);
    if (!after) {
        answer(sim, w, 500, "failed to encode the pod");
        return;
    }
    struct pod *body = object_body_mut(after);
    struct str node = arena_dup(object_arena(after), str_of(w->node));
    if (binds)
        body->spec.node_name = node;
    else
        body->status.nominated_node_name = node;
    answer(sim, w, 201, "");
    sim_api_put(&sim->api, after);
    object_unref(after);
}

/* Victims terminate immediately, but only after all writes are done. */
static void evict_pod(struct sim *sim, const struct sim_write *w, struct object *pod)
{
    vec_push(&sim->leaving, object_ref(pod));
    answer(sim, w, 200, "");
}

static void remove_pod(struct sim *sim, const struct object *pod)
{
    struct object *before = current(sim, pod);
    if (before)
        sim_api_remove(&sim->api, before);
    object_unref(before);
}

static void apply_engine_write(struct sim *sim, const struct sim_write *w)
{
    struct object *before = current(sim, w->pod);
    if (!before)
        answer(sim, w, 404, "pod not found");
    else if (w->kind == WRITE_EVICTION)
        evict_pod(sim, w, before);
    else
        change_pod(sim, w, before);
    object_unref(before);
}

static void answer_web(struct sim *sim, const struct sim_write *w)
{
    struct berth_http_result result = {.struct_size = sizeof(result),
                                       .message = BERTH_STR("no response is given")};
    if (w->response) {
        result.status = 200;
        result.body = abi_str(w->response->body);
    }
    engine_http_done(sim->engine, w->id, &result);
}

static void serve_list(const struct sim_write *w, struct sim_reply *ret_reply)
{
    struct wire wire = {.kind = w->request.kind, .encoding = ENCODING_JSON};
    *ret_reply = (struct sim_reply){.status = 200, .reason = ""};
    if (!w->response || !wire.kind) {
        ret_reply->status = 404;
        ret_reply->reason = "NotFound";
    } else if (object_decode(&wire, w->response->body, &ret_reply->object, &ret_reply->err) < 0) {
        ret_reply->status = 0;
    }
}

/* The change is seen before its answer, as it may be with an API server. */
static void apply_request(struct sim *sim, const struct sim_write *w)
{
    struct sim_reply reply;
    bool is_list = w->request.verb == SIM_GET && str_empty(w->request.name);
    if (is_list)
        serve_list(w, &reply);
    else
        sim_api_serve(&sim->api, &w->request, &reply);
    if (w->writer == WRITER_CONTROLLER) {
        controllers_write_done(sim->controllers, w->id, reply.status, sim->now);
        sim->controlled = true;
    } else {
        struct berth_api_result result = {
            .struct_size = sizeof(result),
            .status = reply.status,
            .reason = abi_str(str_of(reply.reason)),
            .message = abi_str(str_of(reply.err.msg)),
            .object = (const struct berth_object *)reply.object,
        };
        engine_api_done(sim->engine, w->id, &result);
        if (!sim->controllers && reply.object)
            sim_volumes_complete(&sim->api, reply.object);
    }
    object_unref(reply.object);
}

/* The engine may submit more writes while these are applied. */
static void apply_writes(struct sim *sim)
{
    for (size_t i = 0; i < sim->writes.n; i++) {
        struct sim_write *w = sim->writes.v[i];
        if (w->writer == WRITER_ENGINE)
            apply_engine_write(sim, w);
        else if (w->writer == WRITER_WEB)
            answer_web(sim, w);
        else
            apply_request(sim, w);
        free_write(w);
    }
    vec_clear(&sim->writes);
    for (size_t i = 0; i < sim->leaving.n; i++) {
        remove_pod(sim, sim->leaving.v[i]);
        object_unref(sim->leaving.v[i]);
    }
    vec_clear(&sim->leaving);
}

static bool take_posts(struct sim *sim, struct mail *mail)
{
    bool any = mail;
    while (mail) {
        struct sim_post *p = CONTAINER_OF(mail, struct sim_post, mail);
        mail = mail->next;
        engine_posted(sim->engine, p->post);
        free(p);
    }
    return any;
}

/* Applies all writes, also those of controllers, until nothing is left to do at this time. */
static void settle(struct sim *sim)
{
    take_posts(sim, mailbox_take(&sim->posts));
    apply_writes(sim);
    while (sim->controllers && controllers_next(sim->controllers) <= sim->now) {
        controllers_run(sim->controllers, sim->now);
        apply_writes(sim);
    }
}

/*
 * Pods that are gated or belong to another scheduler are never tried: they are not waited for. A
 * controller may end their wait.
 */
static void count_open(struct sim *sim)
{
    sim->n_open = 0;
    for (size_t i = 0; i < sim->pods.n; i++) {
        const struct sim_pod *pod = sim->pods.v[i];
        sim->n_open +=
            is_open(sim, pod) && engine_pod_waits(sim->engine, object_meta(pod->object)->uid);
    }
    sim->n_idle = 0;
    sim->controlled = false;
}

/* Whether only pods that are out of attempts are tried, again and again. */
static bool is_idle(const struct sim *sim)
{
    return sim->n_idle > 2 * sim->pods.n + 16;
}

/* When something happens next; INT64_MAX: the remaining pods wait for an event, and none comes. */
static int64_t next_time(const struct sim *sim)
{
    struct engine_stats stats = engine_get_stats(sim->engine);
    int64_t at = sim->controllers ? controllers_next(sim->controllers) : INT64_MAX;
    if (stats.backoff || stats.binding > stats.held)
        at = MIN(at, engine_next_wake(sim->engine));
    return at;
}

/* Time stands still while a binding waits for a plugin's own thread. */
static bool wait_for_posts(struct sim *sim)
{
    if (sim->impatient || !engine_waits_for_threads(sim->engine))
        return false;
    sim->impatient = true; /* if nothing comes */
    if (!take_posts(sim, mailbox_wait(&sim->posts, time_mono() + POST_PATIENCE)))
        return false;
    sim->impatient = false;
    settle(sim);
    return true;
}

void sim_run(struct sim *sim)
{
    settle(sim);
    count_open(sim);
    for (;;) {
        while (sim->n_open && !is_idle(sim) && engine_schedule_one(sim->engine))
            settle(sim);
        if (!sim->n_open && sim->controlled) {
            count_open(sim);
            continue;
        }
        if (wait_for_posts(sim))
            continue;
        int64_t next = next_time(sim);
        if (next == INT64_MAX || !sim->n_open || is_idle(sim))
            return;
        sim->now = MAX(next, sim->now + NSEC_PER_MSEC);
        engine_tick(sim->engine);
        settle(sim);
    }
}
