/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's thread: msgs in, pods scheduled, api_writes out. */
#include "base/log.h"
#include "live/world_internal.h"

/* Pods tried before the engine's thread looks at its mail again. */
#define SCHEDULE_BATCH 32
/*
 * Bindings written and not answered before it waits for the API server: about the seats that this
 * gives a scheduler. Half as many bind an eighth slower while events are being written, and save
 * half a megabyte.
 */
#define MAX_BINDINGS   128

/* --- what the engine asks for ----------------------------------------------------------------- */

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

struct ports world_ports(struct world *w)
{
    return (struct ports){.ctx = w,
                          .now = port_now,
                          .submit = port_submit,
                          .call_extender = port_call_extender,
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

/* --- msgs ---------------------------------------------------------------------------------- */

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
    if (q->world->ending < ENDING_RELEASES)
        q->fn(q->ctx, buf_str(&q->json), q->attempts);
    free_question(q);
}

static void free_msg(struct engine_msg *l)
{
    object_unref(l->before);
    object_unref(l->after);
    free(l->reason);
    free(l->message);
    extender_answer_free(l->answer);
    free_question(l->question);
    world_dump_snapshot_free(l->snapshot);
    free(l);
}

void world_free_msgs(struct engine_msg *l)
{
    while (l) {
        struct engine_msg *next = l->next;
        free_msg(l);
        l = next;
    }
}

void world_on_post_msgs(struct loop_task *task)
{
    struct world *w = CONTAINER_OF(task, struct world, post_msgs);
    mailbox_post(&w->msgs, &TAKE(w->msgs_out)->mail);
    w->msgs_end = &w->msgs_out;
}

/* The engine's thread is woken once a round, however much the round has brought. */
void world_post_msg(struct world *w, const struct engine_msg *msg)
{
    struct engine_msg *l = xmalloc(sizeof(*l));
    *l = *msg;
    *w->msgs_end = l;
    w->msgs_end = &l->next;
    loop_task_schedule(w->loop, &w->post_msgs);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void read_msg(struct world *w, struct engine_msg *l)
{
    switch (l->kind) {
    case ENGINE_MSG_OBJECT:
        engine_object_changed(w->engine, l->before, l->after);
        break;
    case ENGINE_MSG_WRITE_DONE: {
        struct write_result result = {
            .status = l->status, .reason = str_of(l->reason), .message = str_of(l->message)};
        w->bindings -= l->of_binding;
        engine_write_done(w->engine, l->id, &result);
        break;
    }
    case ENGINE_MSG_EXTENDER_DONE:
        w->bindings -= l->answer->verb == EXTENDER_BIND;
        engine_extender_done(w->engine, l->answer->id, &l->answer->result);
        break;
    case ENGINE_MSG_SCHEDULE:
        w->may_schedule = true;
        break;
    case ENGINE_MSG_CLOSE:
        w->may_schedule = false;
        w->closed = true;
        break;
    case ENGINE_MSG_DUMP:
        world_write_dump(w->engine, l->snapshot);
        break;
    case ENGINE_MSG_RELOAD:
        world_switch(w, l->setup);
        break;
    case ENGINE_MSG_EXPLAIN:
        l->question->attempts = engine_explain(w->engine, str_of(l->question->namespace),
                                               str_of(l->question->name), &l->question->json);
        loop_post(w->loop, tell_answer, TAKE(l->question));
        break;
    }
}

static void read_msgs(struct world *w, struct mail *mail)
{
    while (mail) {
        struct engine_msg *l = CONTAINER_OF(mail, struct engine_msg, mail);
        mail = mail->next;
        while (l) {
            struct engine_msg *next = l->next;
            read_msg(w, l);
            free_msg(l);
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

/* Pods that Permit holds may be held for long: they are not waited for. */
static bool is_drained(const struct world *w)
{
    struct engine_stats stats = engine_get_stats(w->engine);
    return w->bindings == 0 && stats.binding == stats.held;
}

void *world_engine_main(void *arg)
{
    struct world *w = arg;
    bool idle = true;
    while (!mailbox_closed(&w->msgs)) {
        int64_t until = w->may_schedule ? engine_next_wake(w->engine) : INT64_MAX;
        until = MIN(until, engine_publish_metrics(w->engine));
        struct mail *mail = idle ? mailbox_wait(&w->msgs, until) : mailbox_take(&w->msgs);
        /* Somebody may have changed it meanwhile. */
        engine_set_verbosity(w->engine, log_threshold());
        read_msgs(w, mail);
        idle = schedule_some(w);
        flush_outbox(w);
        if (w->closed && !w->told_drained && is_drained(w)) {
            w->told_drained = true;
            loop_post(w->loop, world_on_drained, w);
        }
    }
    return NULL;
}
