/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/world.h"

#include <pthread.h>
#include <unistd.h>

#include "api/pod.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "kube/events.h"
#include "kube/extender.h"
#include "kube/informers.h"
#include "kube/lease.h"
#include "kube/pod_binding.h"
#include "kube/pod_writes.h"

/* Pods tried before the engine's thread looks at its mail again. */
#define SCHEDULE_BATCH  32
/*
 * Bindings written and not answered before the engine's thread waits for the API server. That gives
 * a scheduler about a hundred seats; what is beyond them only waits there, and costs memory here.
 */
#define MAX_BINDINGS    128
/* How long a leader may be stuck before health checks say so. */
#define LEASE_TOLERANCE (20 * NSEC_PER_SEC)

/* Somebody wants to know why; goes to the engine's thread and comes back with the answer. */
struct question {
    struct world *world;
    char *namespace, *name; /* of one pod; name NULL: of all */
    world_explain_fn *fn;
    void *ctx;
    struct buf json;
    size_t attempts;
};

/* What the engine's thread is told. */
enum letter_kind {
    LETTER_OBJECT,
    LETTER_WRITE_DONE,
    LETTER_EXTENDER_DONE,
    LETTER_SCHEDULE,
    LETTER_EXPLAIN
};

struct letter {
    struct mail mail;
    struct letter *next; /* those of one round of the loop travel together, behind the first */
    enum letter_kind kind;
    struct object *before, *after; /* LETTER_OBJECT */
    uint64_t id;                   /* LETTER_WRITE_DONE */
    int status;
    char *reason, *message;
    struct extender_answer *answer; /* LETTER_EXTENDER_DONE */
    struct question *question;      /* LETTER_EXPLAIN */
};

/* What the loop's thread is told to write. */
struct errand {
    struct errand *next;
    struct world *world;
    struct write write; /* texts and the pod's reference are owned */
    struct pod_binding *binding;
    struct pod_status_write *status_write;
    struct errand **prev_open; /* in world.open */
    struct errand *next_open;
};

struct errand_batch {
    struct world *world;
    struct errand *first;
};

struct world {
    struct loop *loop;
    const struct scheduler_config *config;
    const struct world_callbacks *callbacks;
    void *ctx;
    struct rest_client *client, *event_client;
    struct informers *informers;
    struct event_recorder *recorder;
    struct extenders *extenders;               /* NULL: there are none */
    struct lease_elector *elector;             /* NULL: no election */
    struct errand *open;                       /* writes under way */
    struct letter *letters_out, **letters_end; /* of this round, not posted yet */
    struct loop_task post_letters;
    bool leading, scheduling, stopping;

    /* The engine's thread. */
    pthread_t thread;
    bool started, thread_runs;
    struct mailbox letters;
    struct pool *pool; /* helps the engine's thread to filter and score */
    struct engine *engine;
    /* Engine's thread only. */
    bool may_schedule;
    size_t bindings; /* written and not answered */
    struct errand *outbox, **outbox_end;
};

/* --- the engine's thread: out ----------------------------------------------------------------- */

static int64_t port_now(void *ctx)
{
    (void)ctx;
    return time_mono();
}

static struct str keep(struct str s)
{
    return s.n ? (struct str){str_dup(s), s.n} : STR("");
}

static void free_kept(struct str s)
{
    if (s.n)
        free((char *)s.p);
}

static void port_submit(void *ctx, const struct write *write)
{
    struct world *w = ctx;
    struct errand *e = xnew(struct errand);
    e->world = w;
    e->write = *write;
    e->write.pod = object_ref(write->pod);
    e->write.scheduler_name = keep(write->scheduler_name);
    e->write.node_name = keep(write->node_name);
    e->write.reason = keep(write->reason);
    e->write.message = keep(write->message);
    e->write.action = keep(write->action);
    w->bindings += write->kind == WRITE_BINDING;
    *w->outbox_end = e;
    w->outbox_end = &e->next;
}

static void port_call_extender(void *ctx, const struct extender_call *call)
{
    struct world *w = ctx;
    w->bindings += call->verb == EXTENDER_BIND;
    extenders_call(w->extenders, call);
}

static void free_errand(struct errand *e)
{
    if (e->prev_open) {
        *e->prev_open = e->next_open;
        if (e->next_open)
            e->next_open->prev_open = e->prev_open;
    }
    object_unref(e->write.pod);
    free_kept(e->write.scheduler_name);
    free_kept(e->write.node_name);
    free_kept(e->write.reason);
    free_kept(e->write.message);
    free_kept(e->write.action);
    free(e);
}

static struct str pod_name(const struct object *pod, struct buf *out)
{
    const struct object_meta *meta = object_meta(pod);
    buf_add_printf(out, "%.*s/%.*s", STR_ARG(meta->namespace), STR_ARG(meta->name));
    return buf_str(out);
}

static void port_decided(void *ctx, const struct decision *d)
{
    (void)ctx;
    if (!log_on(2) && !d->error)
        return;
    struct buf name = BUF_INIT;
    struct str pod = pod_name(d->pod, &name);
    if (d->bound)
        log_info(2, "Successfully bound pod to node", KV_STR("pod", pod),
                 KV_STR("node", d->node_name), KV_INT("evaluatedNodes", d->evaluated_nodes),
                 KV_INT("feasibleNodes", d->feasible_nodes));
    else if (d->error)
        log_error("Error scheduling pod; retrying", KV_STR("err", d->message), KV_STR("pod", pod));
    else
        log_info(2, "Unable to schedule pod; no fit; waiting", KV_STR("pod", pod),
                 KV_STR("err", d->message));
    buf_release(&name);
}

static void port_log(void *ctx, int level, struct str plugin, struct str message)
{
    (void)ctx;
    if (!log_on(level))
        return;
    char *text = str_dup(message);
    log_info(level, text, KV_STR("plugin", plugin));
    free(text);
}

static void run_batch(void *ctx);

static void flush_outbox(struct world *w)
{
    if (!w->outbox)
        return;
    struct errand_batch *batch = xnew(struct errand_batch);
    batch->world = w;
    batch->first = TAKE(w->outbox);
    w->outbox_end = &w->outbox;
    loop_post(w->loop, run_batch, batch);
}

static void free_question(struct question *q)
{
    if (!q)
        return;
    buf_release(&q->json);
    free(q->namespace);
    free(q->name);
    free(q);
}

static void tell_answer(void *ctx)
{
    struct question *q = ctx;
    if (!q->world->stopping)
        q->fn(q->ctx, buf_str(&q->json), q->attempts);
    free_question(q);
}

/* --- the engine's thread: in ------------------------------------------------------------------ */

static void free_letter(struct letter *l)
{
    object_unref(l->before);
    object_unref(l->after);
    free(l->reason);
    free(l->message);
    extender_answer_free(l->answer);
    free_question(l->question);
    free(l);
}

static void free_letters(struct letter *l)
{
    while (l) {
        struct letter *next = l->next;
        free_letter(l);
        l = next;
    }
}

static void read_letter(struct world *w, struct letter *l)
{
    switch (l->kind) {
    case LETTER_OBJECT:
        engine_object_changed(w->engine, l->before, l->after);
        break;
    case LETTER_WRITE_DONE: {
        struct write_result result = {
            .status = l->status, .reason = str_of(l->reason), .message = str_of(l->message)};
        w->bindings--;
        engine_write_done(w->engine, l->id, &result);
        break;
    }
    case LETTER_EXTENDER_DONE:
        w->bindings -= l->answer->verb == EXTENDER_BIND;
        engine_extender_done(w->engine, l->answer->id, &l->answer->result);
        break;
    case LETTER_SCHEDULE:
        w->may_schedule = true;
        break;
    case LETTER_EXPLAIN:
        l->question->attempts = engine_explain(w->engine, str_of(l->question->namespace),
                                               str_of(l->question->name), &l->question->json);
        loop_post(w->loop, tell_answer, TAKE(l->question));
        break;
    }
}

static void read_letters(struct world *w, struct mail *mail)
{
    while (mail) {
        struct letter *l = CONTAINER_OF(mail, struct letter, mail);
        mail = mail->next;
        while (l) {
            struct letter *next = l->next;
            read_letter(w, l);
            free_letter(l);
            l = next;
        }
    }
}

/* True where it stopped for want of pods and not for want of patience. */
static bool schedule_some(struct world *w)
{
    if (!w->may_schedule)
        return true;
    if (time_mono() >= engine_next_wake(w->engine))
        engine_tick(w->engine);
    for (int i = 0; i < SCHEDULE_BATCH; i++)
        if (w->bindings >= MAX_BINDINGS || !engine_schedule_one(w->engine))
            return true;
    return false;
}

static void *engine_main(void *arg)
{
    struct world *w = arg;
    bool idle = true;
    while (!mailbox_closed(&w->letters)) {
        int64_t until = w->may_schedule ? engine_next_wake(w->engine) : INT64_MAX;
        read_letters(w, idle ? mailbox_wait(&w->letters, until) : mailbox_take(&w->letters));
        idle = schedule_some(w);
        flush_outbox(w);
    }
    return NULL;
}

/* --- the loop's thread: writes ---------------------------------------------------------------- */

static void on_post_letters(struct loop_task *task)
{
    struct world *w = CONTAINER_OF(task, struct world, post_letters);
    mailbox_post(&w->letters, &TAKE(w->letters_out)->mail);
    w->letters_end = &w->letters_out;
}

/* The engine's thread is woken once a round, however much the round has brought. */
static void post_letter(struct world *w, struct letter letter)
{
    struct letter *l = xnew(struct letter);
    *l = letter;
    *w->letters_end = l;
    w->letters_end = &l->next;
    loop_task_schedule(w->loop, &w->post_letters);
}

static void binding_done(void *ctx, const struct rest_result *result)
{
    struct errand *e = ctx;
    post_letter(e->world, (struct letter){
                              .kind = LETTER_WRITE_DONE,
                              .id = e->write.id,
                              .status = result->code == 0       ? result->status
                                        : result->status >= 300 ? result->status
                                                                : 0,
                              .reason = str_dup(result->reason),
                              .message = xstrdup(result->code ? result->err.msg : ""),
                          });
    free_errand(e);
}

static void extender_done(void *ctx, struct extender_answer *answer)
{
    post_letter(ctx, (struct letter){.kind = LETTER_EXTENDER_DONE, .answer = answer});
}

static void status_done(void *ctx, const struct rest_result *result)
{
    struct errand *e = ctx;
    if (result->code && result->status != 404) {
        struct buf name = BUF_INIT;
        log_error("Error updating pod", KV_STR("pod", pod_name(e->write.pod, &name)),
                  KV_ERR(&result->err));
        buf_release(&name);
    }
    free_errand(e);
}

static void write_status(struct world *w, struct errand *e)
{
    const struct pod *pod = object_pod(e->write.pod);
    struct pod_condition condition = {
        .type = STR(POD_SCHEDULED),
        .observed_generation = pod->metadata.generation,
        .status = STR("False"),
        .reason = e->write.reason,
        .message = e->write.message,
    };
    struct pod_status_change change = {
        .pod = pod,
        .condition = e->write.sets_condition ? &condition : NULL,
        .nominated_node_name = e->write.sets_nomination ? &e->write.node_name : NULL,
    };
    e->status_write = pod_status_write(w->client, &change, status_done, e);
}

static void write_event(struct world *w, struct errand *e)
{
    const struct object_meta *meta = object_meta(e->write.pod);
    struct event_info info = {
        .regarding = {.kind = STR("Pod"),
                      .api_version = STR("v1"),
                      .namespace = meta->namespace,
                      .name = meta->name,
                      .uid = meta->uid,
                      .resource_version = meta->resource_version},
        .type = e->write.warning ? STR("Warning") : STR("Normal"),
        .reason = e->write.reason,
        .action = e->write.action,
        .note = e->write.message,
        .reporting_controller = e->write.scheduler_name,
    };
    event_emit(w->recorder, &info);
}

static void run_errand(struct world *w, struct errand *e)
{
    if (e->write.kind == WRITE_EVENT) {
        write_event(w, e);
        free_errand(e);
        return;
    }
    e->next_open = w->open;
    e->prev_open = &w->open;
    if (w->open)
        w->open->prev_open = &e->next_open;
    w->open = e;
    if (e->write.kind == WRITE_BINDING)
        e->binding = pod_binding_start(w->client, object_meta(e->write.pod), e->write.node_name,
                                       binding_done, e);
    else
        write_status(w, e);
}

static void run_batch(void *ctx)
{
    struct errand_batch *batch = ctx;
    struct world *w = batch->world;
    struct errand *e = batch->first;
    free(batch);
    while (e) {
        struct errand *next = e->next;
        /* A leader that is no more writes nothing. */
        if (w->stopping)
            free_errand(e);
        else
            run_errand(w, e);
        e = next;
    }
}

/* --- the loop's thread: what is seen ---------------------------------------------------------- */

static void on_event(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object)
{
    struct world *w = ctx;
    struct letter letter = {.kind = LETTER_OBJECT, .before = old ? object_ref(old) : NULL};
    if (type == WATCH_DELETED) {
        if (!letter.before)
            letter.before = object_ref(object);
    } else {
        letter.after = object_ref(object);
    }
    post_letter(w, letter);
}

static void start_if_ready(struct world *w)
{
    if (w->scheduling || w->stopping || !informers_have_synced(w->informers) ||
        (w->elector && !w->leading))
        return;
    w->scheduling = true;
    log_info(1, "Scheduling begins");
    post_letter(w, (struct letter){.kind = LETTER_SCHEDULE});
}

static void on_synced(void *ctx)
{
    log_info(2, "All kinds have synced");
    start_if_ready(ctx);
}

static const struct informers_sink informers_sink = {.on_event = on_event, .on_synced = on_synced};

/*
 * What the engine looks at. Pods that have ended hold nothing any more. Behind nodes and pods:
 * whose labels a namespace selector reads, and which selectors a pod's default spreading goes by.
 */
static const struct informer_row informer_rows[] = {
    {.kind = KIND_NODE},
    {.kind = KIND_POD, .field_selector = "status.phase!=Succeeded,status.phase!=Failed"},
    {.kind = KIND_NAMESPACE},
    {.kind = KIND_SERVICE},
    {.kind = KIND_REPLICATION_CONTROLLER},
    {.kind = KIND_REPLICA_SET},
    {.kind = KIND_STATEFUL_SET},
};

/* --- leader election -------------------------------------------------------------------------- */

static void on_started_leading(void *ctx)
{
    struct world *w = ctx;
    w->leading = true;
    start_if_ready(w);
}

static void end_thread(struct world *w)
{
    if (!w->thread_runs)
        return;
    mailbox_close(&w->letters);
    pthread_join(w->thread, NULL);
    w->thread_runs = false;
}

static void on_stopped_leading(void *ctx, bool lost)
{
    struct world *w = ctx;
    w->leading = false;
    if (lost) {
        w->stopping = true;
        w->callbacks->on_lost(w->ctx);
    } else {
        w->callbacks->on_stopped(w->ctx);
    }
}

static const struct lease_callbacks lease_callbacks = {
    .on_started_leading = on_started_leading,
    .on_stopped_leading = on_stopped_leading,
};

static int make_elector(struct world *w, struct err *reterr)
{
    const struct leader_election_config *le = &w->config->leader_election;
    if (!*le->leader_elect)
        return 0;
    struct lease_options options = {
        .namespace = le->resource_namespace,
        .name = le->resource_name,
        .lease_duration = le->lease_duration,
        .renew_deadline = le->renew_deadline,
        .retry_period = le->retry_period,
    };
    return lease_elector_new(w->client, &options, &lease_callbacks, w, &w->elector, reterr);
}

/* --- making and ending ------------------------------------------------------------------------ */

/* As many threads as the configuration wants and the machine has. */
static struct pool *make_pool(const struct scheduler_config *config)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return pool_new((size_t)MAX(1, MIN((long)*config->parallelism, cores)));
}

/* Objects that extenders are sent are kept as they came. */
static struct informers *make_informers(struct world *w)
{
    struct informer_row rows[ARRAY_LEN(informer_rows)];
    memcpy(rows, informer_rows, sizeof(rows));
    for (size_t i = 0; w->extenders && i < ARRAY_LEN(rows); i++)
        rows[i].object_flags = extenders_object_flags(w->extenders, rows[i].kind);
    return informers_new(w->client, rows, ARRAY_LEN(rows), NULL, &informers_sink, w);
}

static int make_extenders(struct world *w, struct engine_options *engine, struct err *reterr)
{
    struct extenders_options options = {.configs = w->config->extenders.v,
                                        .n = w->config->extenders.n};
    if (!options.n)
        return 0;
    int r = extenders_new(w->loop, &options, extender_done, w, &w->extenders, reterr);
    if (r < 0)
        return r;
    engine->extenders = extenders_specs(w->extenders);
    engine->n_extenders = options.n;
    engine->ports.call_extender = port_call_extender;
    return 0;
}

static int make_parts(struct world *w, const struct world_options *o, struct err *reterr)
{
    w->pool = make_pool(o->config);
    struct engine_options engine = {
        .config = o->config,
        .registry = o->registry,
        .features = o->features,
        .seed = o->seed,
        .max_in_unschedulable = o->max_in_unschedulable,
        .ports = {.ctx = w,
                  .now = port_now,
                  .submit = port_submit,
                  .decided = port_decided,
                  .log = port_log,
                  .pool = w->pool},
    };
    int r = mailbox_init(&w->letters, false);
    if (r < 0)
        return err_set(reterr, r, "mailbox: %s", strerror(-r));
    r = make_extenders(w, &engine, reterr);
    if (r == 0)
        r = engine_new(&engine, &w->engine, reterr);
    if (r == 0)
        r = rest_client_new(w->loop, o->kube, NULL, &w->client, reterr);
    /* Events have a client, and so a rate limit, of their own: they never delay a binding. */
    if (r == 0)
        r = rest_client_new(w->loop, o->kube, NULL, &w->event_client, reterr);
    if (r == 0)
        r = make_elector(w, reterr);
    if (r < 0)
        return r;
    w->recorder = event_recorder_new(w->event_client, NULL);
    w->informers = make_informers(w);
    return 0;
}

int world_new(const struct world_options *options, const struct world_callbacks *callbacks,
              void *ctx, struct world **ret_world, struct err *reterr)
{
    struct world *w = xnew(struct world);
    w->loop = options->loop;
    w->config = options->config;
    w->callbacks = callbacks;
    w->ctx = ctx;
    w->outbox_end = &w->outbox;
    w->letters_end = &w->letters_out;
    loop_task_init(&w->post_letters, on_post_letters);
    int r = make_parts(w, options, reterr);
    if (r < 0) {
        world_free(w);
        return r;
    }
    *ret_world = w;
    return 0;
}

void world_start(struct world *w)
{
    int r = pthread_create(&w->thread, NULL, engine_main, w);
    if (r != 0) {
        log_error("The engine's thread could not be started", KV_CSTR("err", strerror(r)));
        abort();
    }
    pthread_setname_np(w->thread, "berth-engine");
    w->started = w->thread_runs = true;
    informers_start(w->informers);
    if (w->elector)
        lease_elector_start(w->elector);
}

static void stopped_without_election(void *ctx)
{
    struct world *w = ctx;
    w->callbacks->on_stopped(w->ctx);
}

void world_stop(struct world *w)
{
    if (w->stopping)
        return;
    w->stopping = true;
    end_thread(w);
    if (w->elector)
        lease_elector_stop(w->elector);
    else
        loop_post(w->loop, stopped_without_election, w);
}

void world_explain(struct world *w, world_explain_fn *fn, void *ctx)
{
    struct question *q = xnew(struct question);
    *q = (struct question){.world = w, .fn = fn, .ctx = ctx};
    post_letter(w, (struct letter){.kind = LETTER_EXPLAIN, .question = q});
}

void world_explain_pod(struct world *w, struct str namespace, struct str name, world_explain_fn *fn,
                       void *ctx)
{
    struct question *q = xnew(struct question);
    *q = (struct question){
        .world = w, .namespace = str_dup(namespace), .name = str_dup(name), .fn = fn, .ctx = ctx};
    post_letter(w, (struct letter){.kind = LETTER_EXPLAIN, .question = q});
}

struct world *world_free(struct world *w)
{
    if (!w)
        return NULL;
    w->stopping = true;
    end_thread(w);
    /* What the engine's thread posted last is still addressed to us. */
    if (w->started)
        loop_step(w->loop, 0);
    while (w->open) {
        pod_binding_cancel(w->open->binding);
        pod_status_write_cancel(w->open->status_write);
        free_errand(w->open);
    }
    extenders_free(w->extenders);
    informers_free(w->informers);
    event_recorder_free(w->recorder);
    lease_elector_free(w->elector);
    rest_client_free(w->event_client);
    rest_client_free(w->client);
    loop_task_cancel(w->loop, &w->post_letters);
    free_letters(w->letters_out);
    for (struct mail *mail = mailbox_take(&w->letters); mail;) {
        struct letter *l = CONTAINER_OF(mail, struct letter, mail);
        mail = mail->next;
        free_letters(l);
    }
    for (struct errand *e = w->outbox; e;) {
        struct errand *next = e->next;
        free_errand(e);
        e = next;
    }
    engine_free(w->engine);
    pool_free(w->pool);
    mailbox_release(&w->letters);
    free(w);
    return NULL;
}

bool world_has_synced(const struct world *w)
{
    return informers_have_synced(w->informers);
}

bool world_is_healthy(const struct world *w)
{
    return !w->elector || lease_elector_is_healthy(w->elector, LEASE_TOLERANCE);
}
