/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth-controllers - the controllers of src/apiserver/controllers on a real API server.
 *
 *   berth-controllers KUBECONFIG [NAME=VALUE]...
 *
 * The clusters of the tests have no kube-controller-manager and no storage provisioner. Names:
 *
 *   provisioner=NAME     serve the classes of this provisioner; "any": all. Without it nothing is
 *                        provisioned
 *   silent=true          the provisioner never answers
 *   delay=MILLISECONDS   until the provisioner answers
 *   fail=NODE            provisioning for this node fails; can be repeated
 *   topology=LABEL       volumes depend on this label of the node
 *
 * Prints "ready" when it knows all objects. SIGTERM ends it.
 */
#include <signal.h>
#include <unistd.h>

#include "apiserver/controllers/controllers.h"
#include "base/time.h"
#include "base/vec.h"
#include "kube/watch/informers.h"

struct host {
    struct loop *loop;
    struct kube_config config;
    struct rest_client *client;
    struct informers *informers;
    struct controllers *controllers;
    struct loop_timer timer;
    VEC(struct str) failing;
    bool synced;
    struct job *first, **end; /* writes that wait */
    size_t in_flight;
};

/*
 * Writes under way at a time: kube-controller-manager and provisioners have a number of workers
 * too. More would only queue up in the API server, which then drops watches that are too slow.
 */
#define MAX_IN_FLIGHT 32

/* One write. Its texts follow in memory. */
struct job {
    struct host *host;
    struct job *next;
    uint64_t id;
    struct rest_request request;
    char text[];
};

static const struct informer_row rows[] = {
    {.kind = KIND_POD},
    {.kind = KIND_NODE},
    {.kind = KIND_PERSISTENT_VOLUME},
    {.kind = KIND_PERSISTENT_VOLUME_CLAIM},
    {.kind = KIND_STORAGE_CLASS},
    {.kind = KIND_CSI_NODE},
    {.kind = KIND_RESOURCE_CLAIM, .optional = true},
    {.kind = KIND_RESOURCE_CLAIM_TEMPLATE, .optional = true},
};

/* Everything that arrived in this iteration of the loop is looked at together. */
static void wake(struct host *h)
{
    int64_t next = controllers_next(h->controllers), now = time_mono();
    if (h->synced && next != INT64_MAX)
        loop_timer_set(&h->timer, MAX(next - now, (int64_t)0));
}

static void on_timer(struct loop_timer *timer)
{
    struct host *h = CONTAINER_OF(timer, struct host, timer);
    controllers_run(h->controllers, time_mono());
    wake(h);
}

static void send_some(struct host *h);

static void on_done(void *ctx, const struct rest_result *result)
{
    struct job *job = ctx;
    struct host *h = job->host;
    if (result->code < 0 && result->status != 409 && result->status != 404)
        fprintf(stderr, "berth-controllers: %s\n", result->err.msg);
    h->in_flight--;
    controllers_write_done(h->controllers, job->id, result->status, time_mono());
    free(job);
    send_some(h);
    wake(h);
}

static void send_some(struct host *h)
{
    while (h->first && h->in_flight < MAX_IN_FLIGHT) {
        struct job *job = h->first;

        h->first = job->next;
        if (!h->first)
            h->end = &h->first;
        h->in_flight++;
        (void)rest_send(h->client, &job->request, on_done, job);
    }
}

static struct str keep(char **at, struct str s)
{
    struct str kept = {*at, s.n};

    if (s.n)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return kept;
}

static void on_write(void *ctx, const struct controllers_write *w)
{
    static const enum rest_verb verbs[] = {
        [CONTROLLERS_CREATE] = REST_CREATE,
        [CONTROLLERS_PATCH] = REST_PATCH_MERGE,
        [CONTROLLERS_DELETE] = REST_DELETE,
    };
    struct host *h = ctx;
    struct job *job =
        xcalloc(1, sizeof(*job) + w->namespace.n + w->name.n + w->subresource.n + w->body.n);
    char *at = job->text;
    job->host = h;
    job->id = w->id;
    job->request = (struct rest_request){
        .verb = verbs[w->verb],
        .kind = w->kind,
        .namespace = keep(&at, w->namespace),
        .name = w->verb == CONTROLLERS_CREATE ? STR("") : keep(&at, w->name),
        .subresource = keep(&at, w->subresource),
        .text = keep(&at, w->body),
    };
    *h->end = job;
    h->end = &job->next;
    send_some(h);
}

static void on_event(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object)
{
    struct host *h = ctx;
    bool gone = type == WATCH_DELETED;
    controllers_object_changed(h->controllers, gone ? object : old, gone ? NULL : object);
    wake(h);
}

static void on_synced(void *ctx)
{
    struct host *h = ctx;
    h->synced = true;
    puts("ready");
    fflush(stdout);
    wake(h);
}

/* --- main ------------------------------------------------------------------------------------- */

static bool take(struct host *h, struct provisioner_options *p, struct str arg)
{
    size_t equals = str_find(arg, '=');
    struct str name = str_slice(arg, 0, equals), value = str_slice(arg, equals + 1, arg.n);
    int64_t number;
    if (str_is(name, "provisioner")) {
        p->enabled = true;
        p->only = str_is(value, "any") ? STR("") : value;
    } else if (str_is(name, "silent")) {
        p->silent = true;
    } else if (str_is(name, "delay") && str_to_i64(value, &number)) {
        p->delay = number * NSEC_PER_MSEC;
    } else if (str_is(name, "fail")) {
        vec_push(&h->failing, value);
    } else if (str_is(name, "topology")) {
        p->topology_key = value;
    } else {
        return false;
    }
    return true;
}

static bool open_host(struct host *h, const char *kubeconfig)
{
    struct kube_config_options options = {.kubeconfig = kubeconfig, .program = "berth-controllers"};
    struct err err;
    if (loop_new(&h->loop) < 0)
        return false;
    if (kube_config_load(&h->config, &options, &err) == 0 &&
        rest_client_new(h->loop, &h->config, NULL, &h->client, &err) == 0)
        return true;
    fprintf(stderr, "berth-controllers: %s\n", err.msg);
    return false;
}

static void on_signal(int number)
{
    (void)number;
    _exit(0);
}

int main(int argc, char **argv)
{
    static const struct informers_sink sink = {.on_event = on_event, .on_synced = on_synced};
    struct host h = {0};
    h.end = &h.first;
    struct controllers_options options = {.ctx = &h, .write = on_write};
    for (int i = 2; i < argc; i++)
        if (!take(&h, &options.provisioner, str_of(argv[i])))
            argc = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: berth-controllers KUBECONFIG [NAME=VALUE]...\n");
        return 2;
    }
    if (!open_host(&h, argv[1]))
        return 1;
    options.provisioner.failing_nodes = h.failing.v;
    options.provisioner.n_failing_nodes = h.failing.n;
    signal(SIGTERM, on_signal);
    h.controllers = controllers_new(&options);
    loop_timer_init(&h.timer, h.loop, on_timer);
    h.informers = informers_new(h.client, rows, ARRAY_LEN(rows), NULL, &sink, &h);
    informers_start(h.informers);
    loop_run(h.loop);
    return 1;
}
