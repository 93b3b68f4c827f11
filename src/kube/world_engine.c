/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's thread: letters in, pods scheduled, errands out. */
#include "base/log.h"
#include "kube/world_internal.h"

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
    struct errand *e = world_errand_new(w, write);
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
    struct errand_batch *batch = xnew(struct errand_batch);
    batch->world = w;
    batch->first = TAKE(w->outbox);
    w->outbox_end = &w->outbox;
    loop_post(w->loop, world_run_errands, batch);
}

/* --- letters ---------------------------------------------------------------------------------- */

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

static void free_letter(struct letter *l)
{
    object_unref(l->before);
    object_unref(l->after);
    free(l->reason);
    free(l->message);
    extender_answer_free(l->answer);
    free_question(l->question);
    world_census_free(l->census);
    free(l);
}

void world_free_letters(struct letter *l)
{
    while (l) {
        struct letter *next = l->next;
        free_letter(l);
        l = next;
    }
}

void world_on_post_letters(struct loop_task *task)
{
    struct world *w = CONTAINER_OF(task, struct world, post_letters);
    mailbox_post(&w->letters, &TAKE(w->letters_out)->mail);
    w->letters_end = &w->letters_out;
}

/* The engine's thread is woken once a round, however much the round has brought. */
void world_post_letter(struct world *w, const struct letter *letter)
{
    struct letter *l = xmalloc(sizeof(*l));
    *l = *letter;
    *w->letters_end = l;
    w->letters_end = &l->next;
    loop_task_schedule(w->loop, &w->post_letters);
}

/* --- the thread ------------------------------------------------------------------------------- */

static void read_letter(struct world *w, struct letter *l)
{
    switch (l->kind) {
    case LETTER_OBJECT:
        engine_object_changed(w->engine, l->before, l->after);
        break;
    case LETTER_WRITE_DONE: {
        struct write_result result = {
            .status = l->status, .reason = str_of(l->reason), .message = str_of(l->message)};
        w->bindings -= l->of_binding;
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
    case LETTER_CLOSE:
        w->may_schedule = false;
        w->closed = true;
        break;
    case LETTER_DUMP:
        world_write_dump(w->engine, l->census);
        break;
    case LETTER_RELOAD:
        world_switch(w, l->setup);
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
    while (!mailbox_closed(&w->letters)) {
        int64_t until = w->may_schedule ? engine_next_wake(w->engine) : INT64_MAX;
        until = MIN(until, engine_publish_metrics(w->engine));
        struct mail *mail = idle ? mailbox_wait(&w->letters, until) : mailbox_take(&w->letters);
        /* Somebody may have changed it meanwhile. */
        engine_set_verbosity(w->engine, log_threshold());
        read_letters(w, mail);
        idle = schedule_some(w);
        flush_outbox(w);
        if (w->closed && !w->told_drained && is_drained(w)) {
            w->told_drained = true;
            loop_post(w->loop, world_on_drained, w);
        }
    }
    return NULL;
}
