/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth-load - the clients of `make bench` beside the schedulers.
 *
 *   berth-load post KUBECONFIG RESOURCE NAMESPACE IN_FLIGHT RATE    creates the objects of stdin,
 *                                                                   one JSON object per line; RATE
 *                                                                   per second, 0: no limit
 *   berth-load unfinalize KUBECONFIG RESOURCE NAMESPACE IN_FLIGHT   removes all finalizers
 *   berth-load watch KUBECONFIG NAMESPACE PODS SECONDS              watches pods until bound
 *   berth-load bind KUBECONFIG NAMESPACE IN_FLIGHT WRITES           binds all pods, round robin
 *   berth-load bind-events KUBECONFIG NAMESPACE IN_FLIGHT WRITES    the same, one event per pod
 *
 * NAMESPACE "-" is none. RESOURCE is "pods" or "resourceclaims.resource.k8s.io". WRITES is what is
 * written before each binding: "volumes" the selected node of the pod's volume claims, after which
 * the binding waits until they are bound; "devices" finalizer and allocation of its resource
 * claims; "-" nothing. `watch` writes lines of JSON:
 * {"ready": N} once it sees the N existing pods, {"bound": N} every second, and at the end its
 * result, with times in nanoseconds of CLOCK_MONOTONIC: a pod's time is when the event that shows
 * it bound was decoded.
 */
#include <unistd.h>

#include "api/events.h"
#include "api/node.h"
#include "api/persistent_volume.h"
#include "api/pod.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/watch/reflector.h"
#include "live/pod_writes.h"

struct load {
    struct loop *loop;
    struct kube_config config;
    struct rest_client *client;
    struct str namespace;
    struct arena arena;
    size_t in_flight, max_in_flight, sent, done;
    int64_t began;
    bool failed;
};

static void fail(struct load *l, const char *what, const struct err *err)
{
    if (!l->failed)
        fprintf(stderr, "berth-load: %s: %s\n", what, err->msg);
    l->failed = true;
    loop_stop(l->loop);
}

/* --- post ------------------------------------------------------------------------------------- */

struct poster {
    struct load *load;
    const struct kind *kind;
    VEC(struct str) bodies;
    struct buf text;
    int64_t rate;
    struct loop_timer timer;
};

static void post_some(struct poster *p);

static void on_posted(void *ctx, const struct rest_result *result)
{
    struct poster *p = ctx;
    struct load *l = p->load;
    l->in_flight--;
    l->done++;
    if (result->code < 0)
        fail(l, "create", &result->err);
    else if (l->done == p->bodies.n)
        loop_stop(l->loop);
    else
        post_some(p);
}

static bool is_due(const struct poster *p)
{
    int64_t since = time_mono() - p->load->began;
    return p->rate == 0 || (int64_t)p->load->sent * NSEC_PER_SEC <= since * p->rate;
}

static void post_some(struct poster *p)
{
    struct load *l = p->load;
    while (l->in_flight < l->max_in_flight && l->sent < p->bodies.n && is_due(p)) {
        struct rest_request request = {.verb = REST_CREATE,
                                       .kind = p->kind,
                                       .namespace = l->namespace,
                                       .text = p->bodies.v[l->sent++]};
        l->in_flight++;
        (void)rest_send(l->client, &request, on_posted, p);
    }
    if (p->rate && l->sent < p->bodies.n)
        loop_timer_set(&p->timer, NSEC_PER_MSEC);
}

static void on_due(struct loop_timer *timer)
{
    post_some(CONTAINER_OF(timer, struct poster, timer));
}

static void read_bodies(struct poster *p)
{
    char chunk[65536];
    ssize_t n;
    p->text.max = (size_t)1 << 32;
    while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
        buf_add(&p->text, chunk, (size_t)n);
    struct str rest = buf_str(&p->text);
    while (rest.n) {
        size_t end = str_find(rest, '\n');
        if (end)
            vec_push(&p->bodies, str_slice(rest, 0, end));
        rest = str_slice(rest, MIN(end + 1, rest.n), rest.n);
    }
}

/* "pods", "resourceclaims.resource.k8s.io" */
static const struct kind *find_kind(const char *resource)
{
    struct str text = str_of(resource);
    size_t dot = str_find(text, '.');
    const struct kind *kind =
        kind_find_resource(str_slice(text, MIN(dot + 1, text.n), text.n), str_slice(text, 0, dot));
    if (kind)
        return kind;
    fprintf(stderr, "berth-load: no such resource: %s\n", resource);
    exit(2);
}

static void run_post(struct load *l, const char *resource, int64_t rate)
{
    struct poster p = {.load = l, .kind = find_kind(resource), .rate = rate, .text = BUF_INIT};
    read_bodies(&p);
    loop_timer_init(&p.timer, l->loop, on_due);
    l->began = time_mono();
    if (p.bodies.n) {
        post_some(&p);
        loop_run(l->loop);
    }
    printf("{\"created\": %zu, \"ns\": %lld}\n", l->done, (long long)(time_mono() - l->began));
    loop_timer_stop(&p.timer);
    vec_release(&p.bodies);
    buf_release(&p.text);
}

/* --- unfinalize ------------------------------------------------------------------------------- */

struct cleaner {
    struct load *load;
    const struct kind *kind;
    VEC(struct object *) objects;
};

static void clean_some(struct cleaner *c);

static void on_cleaned(void *ctx, const struct rest_result *result)
{
    struct cleaner *c = ctx;
    struct load *l = c->load;
    l->in_flight--;
    if (result->code < 0 && result->status != 404)
        fail(l, "finalizers", &result->err);
    else if (++l->done == c->objects.n)
        loop_stop(l->loop);
    else
        clean_some(c);
}

static void clean_some(struct cleaner *c)
{
    struct load *l = c->load;
    while (l->in_flight < l->max_in_flight && l->sent < c->objects.n) {
        const struct object_meta *meta = object_meta(c->objects.v[l->sent++]);
        struct rest_request request = {.verb = REST_PATCH_MERGE,
                                       .kind = c->kind,
                                       .namespace = meta->namespace,
                                       .name = meta->name,
                                       .text = STR_INIT("{\"metadata\":{\"finalizers\":null}}")};
        l->in_flight++;
        (void)rest_send(l->client, &request, on_cleaned, c);
    }
}

static int keep_to_clean(void *ctx, struct object *object)
{
    struct cleaner *c = ctx;
    vec_push(&c->objects, object);
    return 0;
}

static void on_listed_to_clean(void *ctx, const struct rest_result *result)
{
    struct cleaner *c = ctx;
    struct object_list list;
    struct err err = result->err;
    if (result->code < 0 || rest_result_list(result, keep_to_clean, c, &list, &err) < 0) {
        fail(c->load, "list", &err);
        return;
    }
    object_list_release(&list);
    if (c->objects.n)
        clean_some(c);
    else
        loop_stop(c->load->loop);
}

static void run_unfinalize(struct load *l, const char *resource)
{
    struct cleaner c = {.load = l, .kind = find_kind(resource)};
    struct rest_request request = {.verb = REST_LIST, .kind = c.kind, .namespace = l->namespace};
    (void)rest_send(l->client, &request, on_listed_to_clean, &c);
    loop_run(l->loop);
    printf("{\"done\": %zu}\n", l->done);
    for (size_t i = 0; i < c.objects.n; i++)
        object_unref(c.objects.v[i]);
    vec_release(&c.objects);
}

/* --- watch ------------------------------------------------------------------------------------ */

struct seen {
    struct str name;
    int64_t came, bound; /* 0: not yet */
};

struct watcher {
    struct load *load;
    struct map pods; /* of struct seen */
    size_t expected, bound;
    int64_t first, last;
    struct loop_timer second;
    int64_t until;
};

static void engine_log(const char *name, size_t n)
{
    printf("{\"%s\": %zu}\n", name, n);
    fflush(stdout);
}

static void on_pod(struct watcher *w, const struct pod *pod)
{
    struct seen *s = map_get(&w->pods, pod->metadata.name);
    int64_t now = time_mono();
    if (!s) {
        s = arena_alloc(&w->load->arena, sizeof(*s), _Alignof(struct seen));
        s->name = arena_dup(&w->load->arena, pod->metadata.name);
        s->came = now;
        map_put(&w->pods, s->name, s);
    }
    if (s->bound || str_empty(pod->spec.node_name))
        return;
    s->bound = now;
    w->first = w->first ? w->first : now;
    w->last = now;
    if (++w->bound == w->expected)
        loop_stop(w->load->loop);
}

static void on_watch_event(void *ctx, enum watch_event_type type, struct object *old,
                           struct object *object)
{
    (void)old;
    if (type != WATCH_DELETED)
        on_pod(ctx, object_pod(object));
}

static void on_watch_synced(void *ctx, const struct kind *kind)
{
    const struct watcher *w = ctx;
    (void)kind;
    engine_log("ready", w->pods.n);
}

static void on_second(struct loop_timer *timer)
{
    struct watcher *w = CONTAINER_OF(timer, struct watcher, second);
    engine_log("bound", w->bound);
    if (time_mono() >= w->until)
        loop_stop(w->load->loop);
    loop_timer_set(timer, NSEC_PER_SEC);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void tell_result(const struct watcher *w)
{
    VEC(int64_t) took = {0};
    map_each (e, &w->pods) {
        const struct seen *s = e->value;
        if (s->bound)
            vec_push(&took, s->bound - s->came);
    }
    qsort(took.v, took.n, sizeof(took.v[0]), by_value);
    int64_t p50 = took.n ? took.v[took.n / 2] : 0;
    int64_t p99 = took.n ? took.v[MIN(took.n * 99 / 100, took.n - 1)] : 0;
    printf("{\"result\": {\"pods\": %zu, \"bound\": %zu, \"first_ns\": %lld, \"last_ns\": %lld, "
           "\"p50_ns\": %lld, \"p99_ns\": %lld}}\n",
           w->pods.n, w->bound, (long long)w->first, (long long)w->last, (long long)p50,
           (long long)p99);
    vec_release(&took);
}

/* A reflector, not a bare watch: a busy API server ends watches that it cannot serve in time. */
static struct reflector_options reflect(const struct load *l, enum kind_id kind)
{
    return (struct reflector_options){
        .kind = kind_get(kind),
        .namespace = l->namespace,
        .healthy = NSEC_PER_MSEC,
        .backoff = {10 * NSEC_PER_MSEC, NSEC_PER_SEC, 2, 0, NSEC_PER_SEC}};
}

static void run_watch(struct load *l, size_t expected, int64_t seconds)
{
    static const struct reflector_sink sink = {.on_event = on_watch_event,
                                               .on_synced = on_watch_synced};
    struct watcher w = {.load = l, .expected = expected};
    struct reflector_options options = reflect(l, KIND_POD);
    w.until = time_mono() + seconds * NSEC_PER_SEC;
    struct reflector *reflector = reflector_new(l->client, &options, &sink, &w);
    reflector_start(reflector);
    loop_timer_init(&w.second, l->loop, on_second);
    loop_timer_set(&w.second, NSEC_PER_SEC);
    loop_run(l->loop);
    tell_result(&w);
    loop_timer_stop(&w.second);
    reflector_free(reflector);
    map_release(&w.pods);
}

/* --- bind ------------------------------------------------------------------------------------- */

struct binder {
    struct load *load;
    VEC(struct object *) pods;
    VEC(struct str) nodes;
    bool events;
    enum { WRITES_NOTHING, WRITES_VOLUMES, WRITES_DEVICES } writes;
    int lists;
    struct map claims; /* of struct claim_state: volume claims that are bound or waited for */
};

struct bind_job;

struct claim_state {
    struct str name;
    bool bound;
    struct bind_job *job; /* waits for it; NULL: none */
};

/* One pod in flight. */
struct bind_job {
    struct binder *binder;
    const struct pod *pod;
    struct str node;
    size_t number;
    size_t claim; /* the next of its claims to write */
    bool nominated;
    bool finalizer_written;
};

static void bind_some(struct binder *b);

static void job_done(struct bind_job *job)
{
    struct binder *b = job->binder;
    struct load *l = b->load;
    free(job);
    l->in_flight--;
    if (++l->done == b->pods.n)
        loop_stop(l->loop);
    else
        bind_some(b);
}

static void on_event_written(void *ctx, const struct rest_result *result)
{
    struct bind_job *job = ctx;
    if (result->code < 0)
        fail(job->binder->load, "event", &result->err);
    job_done(job);
}

static void send_event(struct bind_job *job)
{
    const struct object_meta *meta = &job->pod->metadata;
    char name[300], note[600];
    int name_n = snprintf(name, sizeof(name), "%.*s.%llx", STR_ARG(meta->name),
                          (unsigned long long)time_wall());
    int note_n = snprintf(note, sizeof(note), "Successfully assigned %.*s/%.*s to %.*s",
                          STR_ARG(meta->namespace), STR_ARG(meta->name), STR_ARG(job->node));
    struct event event = {
        .metadata = {.name = {name, (size_t)name_n}, .namespace = meta->namespace},
        .event_time = timestamp_of(time_wall()),
        .reporting_controller = STR_INIT("default-scheduler"),
        .reporting_instance = STR_INIT("default-scheduler-bench"),
        .action = STR_INIT("Binding"),
        .reason = STR_INIT("Scheduled"),
        .regarding = {.kind = STR_INIT("Pod"),
                      .api_version = STR_INIT("v1"),
                      .namespace = meta->namespace,
                      .name = meta->name,
                      .uid = meta->uid,
                      .resource_version = meta->resource_version},
        .note = {note, (size_t)note_n},
        .type = STR_INIT("Normal"),
    };
    struct rest_request request = {.verb = REST_CREATE,
                                   .kind = kind_get(KIND_EVENT),
                                   .namespace = meta->namespace,
                                   .body_kind = kind_get(KIND_EVENT),
                                   .body = &event};
    (void)rest_send(job->binder->load->client, &request, on_event_written, job);
}

static void on_bound(void *ctx, const struct rest_result *result)
{
    struct bind_job *job = ctx;
    if (result->code < 0)
        fail(job->binder->load, "binding", &result->err);
    if (job->binder->events)
        send_event(job);
    else
        job_done(job);
}

static void next_write(struct bind_job *job);

static void on_written(void *ctx, const struct rest_result *result)
{
    struct bind_job *job = ctx;
    if (result->code < 0)
        fail(job->binder->load, "claim", &result->err);
    next_write(job);
}

static void write_claim(struct bind_job *job, enum kind_id kind, struct str name,
                        const char *subresource, const struct buf *body)
{
    struct rest_request request = {.verb = REST_PATCH_MERGE,
                                   .kind = kind_get(kind),
                                   .namespace = job->pod->metadata.namespace,
                                   .name = name,
                                   .subresource = str_of(subresource),
                                   .text = buf_str(body)};
    (void)rest_send(job->binder->load->client, &request, on_written, job);
}

static struct claim_state *claim_state(struct binder *b, struct str name)
{
    struct claim_state *c = map_get(&b->claims, name);
    if (c)
        return c;
    c = arena_new(&b->load->arena, struct claim_state);
    *c = (struct claim_state){.name = arena_dup(&b->load->arena, name)};
    map_put(&b->claims, c->name, c);
    return c;
}

static void on_claim(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object)
{
    const struct persistent_volume_claim *claim = object_persistent_volume_claim(object);
    struct claim_state *c = claim_state(ctx, claim->metadata.name);
    (void)old;
    c->bound = type != WATCH_DELETED && str_eq(claim->status.phase, STR("Bound"));
    if (c->bound && c->job)
        next_write(TAKE(c->job));
}

/* Returns false if all volume claims of the pod are bound. */
static bool wait_for_volumes(struct bind_job *job)
{
    const struct pod_spec *spec = &job->pod->spec;
    for (size_t i = 0; i < spec->volumes.n; i++) {
        const struct persistent_volume_claim_volume_source *source =
            spec->volumes.v[i].source.persistent_volume_claim;
        struct claim_state *c = source ? claim_state(job->binder, source->claim_name) : NULL;
        if (c && !c->bound) {
            c->job = job;
            return true;
        }
    }
    return false;
}

/* Returns false if the pod has no further volume claim. */
static bool select_node(struct bind_job *job)
{
    const struct pod_spec *spec = &job->pod->spec;
    while (job->claim < spec->volumes.n) {
        const struct persistent_volume_claim_volume_source *source =
            spec->volumes.v[job->claim++].source.persistent_volume_claim;
        if (!source)
            continue;
        struct buf body = BUF_INIT;
        buf_add_printf(&body, "{\"metadata\":{\"annotations\":{\"%s\":\"%.*s\"}}}",
                       ANN_SELECTED_NODE, STR_ARG(job->node));
        write_claim(job, KIND_PERSISTENT_VOLUME_CLAIM, source->claim_name, "", &body);
        buf_release(&body);
        return true;
    }
    return false;
}

/* An allocation as a scheduler would write it, of a device that may not exist. */
static void add_allocation(const struct bind_job *job, struct buf *body)
{
    const struct object_meta *meta = &job->pod->metadata;
    buf_add_printf(body,
                   "{\"status\":{\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\","
                   "\"driver\":\"gpu.example.com\",\"pool\":\"%.*s\",\"device\":\"d-%zu\"}]},"
                   "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":"
                   "\"metadata.name\",\"operator\":\"In\",\"values\":[\"%.*s\"]}]}]}},"
                   "\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"%.*s\","
                   "\"uid\":\"%.*s\"}]}}",
                   STR_ARG(job->node), job->number, STR_ARG(job->node), STR_ARG(meta->name),
                   STR_ARG(meta->uid));
}

/* The name of its next resource claim; one from a template is in the status. */
static struct str claim_name(const struct bind_job *job)
{
    const struct pod_resource_claim *claim = &job->pod->spec.resource_claims.v[job->claim];
    for (size_t i = 0; i < job->pod->status.resource_claim_statuses.n; i++)
        if (str_eq(job->pod->status.resource_claim_statuses.v[i].name, claim->name))
            return job->pod->status.resource_claim_statuses.v[i].resource_claim_name;
    return claim->resource_claim_name;
}

/* Returns false if the pod has no further resource claim. */
static bool allocate(struct bind_job *job)
{
    const struct pod_spec *spec = &job->pod->spec;
    if (job->claim >= spec->resource_claims.n)
        return false;
    struct str name = claim_name(job);
    struct buf body = BUF_INIT;
    if (job->finalizer_written) {
        add_allocation(job, &body);
        write_claim(job, KIND_RESOURCE_CLAIM, name, "status", &body);
        job->claim++;
    } else {
        buf_add_cstr(&body, "{\"metadata\":{\"finalizers\":"
                            "[\"resource.kubernetes.io/delete-protection\"]}}");
        write_claim(job, KIND_RESOURCE_CLAIM, name, "", &body);
    }
    job->finalizer_written = !job->finalizer_written;
    buf_release(&body);
    return true;
}

/*
 * A scheduler nominates the node of a pod whose PreBind has something to write
 * (NominatedNodeNameForExpectation). Returns false if that was done.
 */
static bool nominate(struct bind_job *job)
{
    const struct object_meta *meta = &job->pod->metadata;
    struct buf body = BUF_INIT;
    if (job->nominated)
        return false;
    job->nominated = true;
    buf_add_printf(&body, "{\"status\":{\"nominatedNodeName\":\"%.*s\"}}", STR_ARG(job->node));
    struct rest_request request = {.verb = REST_PATCH_STRATEGIC,
                                   .kind = kind_get(KIND_POD),
                                   .namespace = meta->namespace,
                                   .name = meta->name,
                                   .subresource = STR("status"),
                                   .text = buf_str(&body)};
    (void)rest_send(job->binder->load->client, &request, on_written, job);
    buf_release(&body);
    return true;
}

static void next_write(struct bind_job *job)
{
    const struct binder *b = job->binder;
    if (b->writes != WRITES_NOTHING && nominate(job))
        return;
    if ((b->writes == WRITES_VOLUMES && (select_node(job) || wait_for_volumes(job))) ||
        (b->writes == WRITES_DEVICES && allocate(job)))
        return;
    (void)pod_bind(b->load->client, &job->pod->metadata, job->node, on_bound, job);
}

static void bind_some(struct binder *b)
{
    struct load *l = b->load;
    while (l->in_flight < l->max_in_flight && l->sent < b->pods.n) {
        struct bind_job *job = xnew(struct bind_job);
        *job = (struct bind_job){.binder = b,
                                 .pod = object_pod(b->pods.v[l->sent]),
                                 .node = b->nodes.v[l->sent % b->nodes.n],
                                 .number = l->sent};
        l->sent++;
        l->in_flight++;
        next_write(job);
    }
}

static int keep_listed(void *ctx, struct object *object)
{
    struct binder *b = ctx;
    if (object_kind(object)->id == KIND_POD) {
        vec_push(&b->pods, object);
        return 0;
    }
    vec_push(&b->nodes, arena_dup(&b->load->arena, object_meta(object)->name));
    object_unref(object);
    return 0;
}

static void on_listed(void *ctx, const struct rest_result *result)
{
    struct binder *b = ctx;
    struct object_list list;
    struct err err = result->err;
    if (result->code < 0 || rest_result_list(result, keep_listed, b, &list, &err) < 0) {
        fail(b->load, "list", &err);
        return;
    }
    object_list_release(&list);
    if (++b->lists < 2)
        return;
    if (b->nodes.n && b->pods.n)
        bind_some(b);
    else
        loop_stop(b->load->loop);
}

static void run_bind(struct load *l, bool events, const char *writes)
{
    struct binder b = {.load = l,
                       .events = events,
                       .writes = strcmp(writes, "volumes") == 0   ? WRITES_VOLUMES
                                 : strcmp(writes, "devices") == 0 ? WRITES_DEVICES
                                                                  : WRITES_NOTHING};
    struct rest_request nodes = {
        .verb = REST_LIST, .kind = kind_get(KIND_NODE), .query = STR_INIT("resourceVersion=0")};
    struct rest_request pods = {
        .verb = REST_LIST, .kind = kind_get(KIND_POD), .namespace = l->namespace};
    static const struct reflector_sink sink = {.on_event = on_claim};
    struct reflector_options options = reflect(l, KIND_PERSISTENT_VOLUME_CLAIM);
    struct reflector *claims = NULL;
    if (b.writes == WRITES_VOLUMES) {
        claims = reflector_new(l->client, &options, &sink, &b);
        reflector_start(claims);
    }
    (void)rest_send(l->client, &nodes, on_listed, &b);
    (void)rest_send(l->client, &pods, on_listed, &b);
    loop_run(l->loop);
    printf("{\"done\": %zu}\n", l->done);
    reflector_free(claims);
    map_release(&b.claims);
    for (size_t i = 0; i < b.pods.n; i++)
        object_unref(b.pods.v[i]);
    vec_release(&b.pods);
    vec_release(&b.nodes);
}

/* --- main ------------------------------------------------------------------------------------- */

static int64_t number(const char *text)
{
    int64_t n;
    if (str_to_i64(str_of(text), &n) && n >= 0)
        return n;
    fprintf(stderr, "berth-load: \"%s\" is no number\n", text);
    exit(2);
}

static bool open_load(struct load *l, const char *kubeconfig, const char *namespace)
{
    struct kube_config_options options = {.kubeconfig = kubeconfig, .program = "berth-load"};
    struct err err;
    arena_init(&l->arena, 0);
    l->namespace = strcmp(namespace, "-") == 0 ? STR("") : str_of(namespace);
    if (loop_new(&l->loop) < 0)
        return false;
    if (kube_config_load(&l->config, &options, &err) == 0) {
        if (rest_client_new(l->loop, &l->config, NULL, &l->client, &err) == 0)
            return true;
        kube_config_release(&l->config);
    }
    fprintf(stderr, "berth-load: %s\n", err.msg);
    return false;
}

static void close_load(struct load *l)
{
    rest_client_free(l->client);
    kube_config_release(&l->config);
    loop_free(l->loop);
    arena_release(&l->arena);
}

static bool run(struct load *l, int argc, char **argv)
{
    const char *what = argv[1];
    if (strcmp(what, "post") == 0 && argc == 7) {
        l->max_in_flight = (size_t)number(argv[5]);
        run_post(l, argv[3], number(argv[6]));
    } else if (strcmp(what, "watch") == 0 && argc == 6) {
        run_watch(l, (size_t)number(argv[4]), number(argv[5]));
    } else if (strcmp(what, "unfinalize") == 0 && argc == 6) {
        l->max_in_flight = (size_t)number(argv[5]);
        run_unfinalize(l, argv[3]);
    } else if (strncmp(what, "bind", 4) == 0 && argc == 6) {
        l->max_in_flight = (size_t)number(argv[4]);
        run_bind(l, strcmp(what, "bind-events") == 0, argv[5]);
    } else {
        fprintf(stderr, "berth-load: see the top of load.c\n");
        return false;
    }
    return !l->failed;
}

int main(int argc, char **argv)
{
    struct load l = {0};
    if (argc < 5) {
        fprintf(stderr,
                "usage: berth-load post|unfinalize|watch|bind|bind-events KUBECONFIG ...\n");
        return 2;
    }
    bool of_resource = strcmp(argv[1], "post") == 0 || strcmp(argv[1], "unfinalize") == 0;
    if (!open_load(&l, argv[2], of_resource ? argv[4] : argv[3]))
        return 1;
    bool ok = run(&l, argc, argv);
    close_load(&l);
    return ok ? 0 : 1;
}
