/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's thread: receives messages, schedules pods, submits writes. */
#include "base/log.h"
#include "live/world_internal.h"

/* Pods attempted before the mailbox is read again. */
#define SCHEDULE_BATCH 32
/*
 * Limit of unanswered bindings and requests of plugins, after which the thread waits for the API
 * server: pods that are being bound come before others. It is about the number of seats that API
 * Priority and Fairness gives a scheduler. With half of it, bindings are an eighth slower while
 * events are written, and half a megabyte is saved.
 */
#define MAX_UNANSWERED 128

/* --- ports ------------------------------------------------------------------------------------ */

static int64_t port_now(void *ctx)
{
    (void)ctx;
    return time_mono();
}

static void port_submit(void *ctx, const struct write *write)
{
    struct world *w = ctx;
    struct api_write *e = world_api_write_new(w, write);
    w->bindings += write->kind == WRITE_BINDING;
    *w->outbox_end = e;
    w->outbox_end = &e->next;
}

static void port_call_extender(void *ctx, const struct extender_call *call)
{
    struct world *w = ctx;
    w->bindings += call->verb == EXTENDER_BIND;
    const struct world_setup *setup = call->owner;
    extenders_call(setup->extenders, call);
}

static void port_log(void *ctx, const struct log_site *site, const char *message,
                     const struct log_kv *kvs, size_t n)
{
    (void)ctx;
    log_write(site, message, kvs, n);
}

static int64_t port_wall(void *ctx)
{
    (void)ctx;
    return time_wall();
}

static bool port_leads(void *ctx)
{
    const struct world *w = ctx;
    return w->may_schedule;
}

struct ports world_ports(struct world *w)
{
    return (struct ports){.ctx = w,
                          .now = port_now,
                          .wall = port_wall,
                          .submit = port_submit,
                          .call_extender = port_call_extender,
                          .call_api = world_call_api,
                          .http_get = world_http_get,
                          .watch = world_watch,
                          .watch_finished_pods = world_watch_finished_pods,
                          .leads = port_leads,
                          .post = world_post,
                          .is_engine_thread = world_is_engine_thread,
                          .work = world_work,
                          .retired = world_retire,
                          .log = port_log,
                          .pool = w->pool};
}

static void flush_outbox(struct world *w)
{
    if (!w->outbox)
        return;
    struct api_write_batch *batch = xnew(struct api_write_batch);
    batch->world = w;
    batch->first = TAKE(w->outbox);
    w->outbox_end = &w->outbox;
    loop_post(w->loop, world_run_api_writes, batch);
}

/* --- messages --------------------------------------------------------------------------------- */

static void free_explain_request(struct explain_request *q)
{
    if (!q)
        return;
    buf_release(&q->json);
    free(q->namespace);
    free(q->name);
    free(q);
}

static void deliver_answer(void *ctx)
{
    struct explain_request *q = ctx;
    if (q->world->ending < ENDING_RELEASE)
        q->fn(q->ctx, buf_str(&q->json), q->attempts);
    free_explain_request(q);
}

static void free_msg(struct engine_msg *msg)
{
    object_unref(msg->before);
    object_unref(msg->after);
    free(msg->reason);
    free(msg->message);
    extender_answer_free(msg->answer);
    free_explain_request(msg->explain);
    world_dump_snapshot_free(msg->snapshot);
    if (msg->post)
        engine_post_free(msg->post);
    if (msg->work)
        engine_work_drop(msg->work);
    free(msg->body);
    free(msg);
}

void world_free_msgs(struct engine_msg *msg)
{
    while (msg) {
        struct engine_msg *next = msg->next;
        free_msg(msg);
        msg = next;
    }
}

/* --- watch events ----------------------------------------------------------------------------- */

/* The write queue sees an event before the engine, so that it knows the server's version. */
void world_on_object(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object)
{
    struct world *w = ctx;
    struct engine_msg msg = {.kind = ENGINE_MSG_OBJECT, .before = old ? object_ref(old) : NULL};
    write_queue_observed(w->writes, object, type == WATCH_DELETED);
    if (type == WATCH_DELETED) {
        if (!msg.before)
            msg.before = object_ref(object);
    } else {
        msg.after = object_ref(object);
    }
    world_post_msg(w, &msg);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void read_msg(struct world *w, struct engine_msg *msg)
{
    switch (msg->kind) {
    case ENGINE_MSG_OBJECT:
        engine_object_changed(w->engine, msg->before, msg->after);
        break;
    case ENGINE_MSG_WRITE_DONE: {
        struct write_result result = {
            .status = msg->status, .reason = str_of(msg->reason), .message = str_of(msg->message)};
        w->bindings -= msg->of_binding;
        engine_write_done(w->engine, msg->id, &result);
        break;
    }
    case ENGINE_MSG_EXTENDER_DONE:
        w->bindings -= msg->answer->verb == EXTENDER_BIND;
        engine_extender_done(w->engine, msg->answer->id, &msg->answer->result);
        break;
    case ENGINE_MSG_API_DONE:
        world_answer_api_call(w, msg);
        break;
    case ENGINE_MSG_LISTED:
        engine_end_listing(w->engine);
        break;
    case ENGINE_MSG_SCHEDULE:
        w->may_schedule = true;
        break;
    case ENGINE_MSG_CLOSE:
        w->may_schedule = false;
        w->closed = true;
        break;
    case ENGINE_MSG_DUMP:
        world_write_dump(w->engine, msg->snapshot);
        break;
    case ENGINE_MSG_RELOAD:
        world_switch(w, msg->setup);
        break;
    case ENGINE_MSG_POSTED:
        engine_posted(w->engine, TAKE(msg->post));
        break;
    case ENGINE_MSG_WORK_DONE:
        engine_work_done(w->engine, TAKE(msg->work));
        break;
    case ENGINE_MSG_HTTP_DONE:
        world_answer_http(w, msg);
        break;
    case ENGINE_MSG_KIND_SYNCED:
        engine_kind_synced(w->engine, msg->synced);
        break;
    case ENGINE_MSG_EXPLAIN:
        msg->explain->attempts = engine_explain(w->engine, str_of(msg->explain->namespace),
                                                str_of(msg->explain->name), &msg->explain->json);
        loop_post(w->loop, deliver_answer, TAKE(msg->explain));
        break;
    }
}

static void read_msgs(struct world *w, struct mail *mail)
{
    while (mail) {
        struct engine_msg *msg = CONTAINER_OF(mail, struct engine_msg, mail);
        mail = mail->next;
        while (msg) {
            struct engine_msg *next = msg->next;
            read_msg(w, msg);
            free_msg(msg);
            msg = next;
        }
    }
}

/* Returns false if the batch was used up and more pods may be ready. */
static bool schedule_some(struct world *w)
{
    if (!w->may_schedule)
        return true;
    if (time_mono() >= engine_next_wake(w->engine))
        engine_tick(w->engine);
    for (int i = 0; i < SCHEDULE_BATCH; i++)
        if (w->bindings + w->n_requests >= MAX_UNANSWERED || !engine_schedule_one(w->engine))
            return true;
    return false;
}

/* Pods waiting in Permit may wait for long: they do not delay the end. */
static bool is_drained(const struct world *w)
{
    struct engine_stats stats = engine_get_stats(w->engine);
    return w->bindings == 0 && stats.binding == stats.held;
}

void *world_engine_main(void *arg)
{
    struct world *w = arg;
    bool idle = true;
    world_is_engine_thread_now(w);
    world_watch_calls(w);
    while (!mailbox_closed(&w->msgs)) {
        int64_t until = w->may_schedule ? engine_next_wake(w->engine) : INT64_MAX;
        until = MIN(until, engine_publish_metrics(w->engine));
        struct mail *mail = idle ? mailbox_wait(&w->msgs, until) : mailbox_take(&w->msgs);
        /* The verbosity can be changed at run time. */
        engine_set_verbosity(w->engine, log_threshold());
        read_msgs(w, mail);
        idle = schedule_some(w);
        flush_outbox(w);
        if (w->closed && !w->reported_drained && is_drained(w)) {
            w->reported_drained = true;
            loop_post(w->loop, world_on_drained, w);
        }
    }
    return NULL;
}
