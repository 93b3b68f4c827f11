/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/up/up_scheduler.h"

#include <pthread.h>

#include "cmd/config/config_file.h"
#include "cmd/scheduler/scheduler_instance.h"

struct up_scheduler {
    struct up_scheduler_options options;
    struct scheduler_options flags; /* those of `berth scheduler` */
    struct arena arena;             /* of its command line */
    struct scheduler_instance is;
    struct loop *loop; /* of the thread */
    pthread_t thread;
    bool running; /* the thread was started and not joined */
    bool ended;   /* on the thread: the world is gone */
};

/* --- the command line ------------------------------------------------------------------------- */

typedef VEC(char *) arg_list;

static void add_arg(struct up_scheduler *s, arg_list *args, const char *name, const char *value)
{
    struct str arg = arena_printf(&s->arena, "--%s=%s", name, value);
    vec_push(args, (char *)(uintptr_t)arg.p);
}

/* A scheduler that is alone, listens nowhere and writes as fast as the server takes it. */
static int parse_flags(struct up_scheduler *s, struct err *reterr)
{
    const struct plugin_sources *sources = &s->options.plugins->sources;
    arg_list args = {0};
    int n;
    vec_push(&args, (char *)(uintptr_t)"scheduler");
    add_arg(s, &args, "leader-elect", "false");
    add_arg(s, &args, "secure-port", "0");
    if (*s->options.config_file)
        add_arg(s, &args, "config", s->options.config_file);
    if (*s->options.feature_gates)
        add_arg(s, &args, "feature-gates", s->options.feature_gates);
    for (size_t i = 0; i < sources->files.n; i++)
        add_arg(s, &args, "plugin", sources->files.v[i]);
    for (size_t i = 0; i < sources->dirs.n; i++)
        add_arg(s, &args, "plugin-dir", sources->dirs.v[i]);
    int r = flags_parse(s->flags.flags, s->flags.n_flags, (int)args.n, args.v, &n, reterr);
    vec_release(&args);
    return r;
}

int up_scheduler_new(const struct up_scheduler_options *options,
                     struct up_scheduler **ret_scheduler, struct err *reterr)
{
    struct up_scheduler *s = xnew(struct up_scheduler);
    s->options = *options;
    arena_init(&s->arena, 0);
    scheduler_options_init(&s->flags);
    s->is.options = &s->flags;
    s->is.ctx = s;
    int r = parse_flags(s, reterr);
    if (r == 0) {
        s->flags.config_path = config_path_split(s->flags.config_file, &s->flags.arena).file;
        r = scheduler_options_features(&s->flags, &s->is.features, reterr);
    }
    if (r == 0)
        r = scheduler_instance_load(&s->is, reterr);
    if (r == 0 && !scheduler_instance_check(&s->is))
        r = err_set(reterr, -EINVAL, "%s", "");
    if (r < 0)
        up_scheduler_free(s);
    else
        *ret_scheduler = s;
    return r;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void post_stopped(void *ctx)
{
    const struct up_scheduler *s = ctx;
    s->options.on_stopped(s->options.ctx);
}

static void on_stopped(void *ctx)
{
    struct up_scheduler *s = ctx;
    loop_stop(s->loop);
    loop_post(s->options.loop, post_stopped, s);
}

static void *run(void *ctx)
{
    struct up_scheduler *s = ctx;
    world_start(s->is.world);
    loop_run(s->loop);
    scheduler_instance_end(&s->is);
    s->ended = true;
    return NULL;
}

int up_scheduler_start(struct up_scheduler *s, const char *kubeconfig, struct err *reterr)
{
    int r = scheduler_instance_connect_to(&s->is, kubeconfig, reterr);
    if (r < 0)
        return r;
    r = loop_new(&s->loop);
    if (r < 0)
        return err_set(reterr, r, "event loop: %s", strerror(-r));
    s->is.on_lost = on_stopped;
    s->is.on_stopped = on_stopped;
    r = scheduler_instance_start(&s->is, s->loop, reterr);
    if (r < 0)
        return r;
    r = -pthread_create(&s->thread, NULL, run, s);
    if (r < 0)
        return err_set(reterr, r, "thread: %s", strerror(-r));
    s->running = true;
    return 0;
}

static void stop_world(void *ctx)
{
    struct up_scheduler *s = ctx;
    reloader_stop(s->is.reloader);
    world_stop(s->is.world);
}

void up_scheduler_stop(struct up_scheduler *s)
{
    loop_post(s->loop, stop_world, s);
}

struct up_scheduler *up_scheduler_free(struct up_scheduler *s)
{
    if (!s)
        return NULL;
    if (s->running) {
        loop_stop(s->loop);
        pthread_join(s->thread, NULL);
    }
    if (!s->ended)
        scheduler_instance_end(&s->is);
    loop_free(s->loop);
    scheduler_instance_release(&s->is);
    scheduler_options_release(&s->flags);
    arena_release(&s->arena);
    free(s);
    return NULL;
}

/* --- explanations ----------------------------------------------------------------------------- */

struct up_question {
    struct up_scheduler *scheduler;
    struct str namespace, name;
    up_explain_fn *fn;
    void *ctx;
    struct buf answer;
    struct arena arena;
};

static void give_answer(void *ctx)
{
    struct up_question *q = ctx;
    q->fn(q->ctx, buf_str(&q->answer));
    buf_release(&q->answer);
    arena_release(&q->arena);
    free(q);
}

static void on_explained(void *ctx, struct str json, size_t attempts UNUSED)
{
    struct up_question *q = ctx;
    buf_add_str(&q->answer, json);
    loop_post(q->scheduler->options.loop, give_answer, q);
}

static void ask(void *ctx)
{
    struct up_question *q = ctx;
    world_explain_pod(q->scheduler->is.world, q->namespace, q->name, on_explained, q);
}

void up_scheduler_explain(struct up_scheduler *s, struct str namespace, struct str name,
                          up_explain_fn *fn, void *ctx)
{
    struct up_question *q = xnew(struct up_question);
    arena_init(&q->arena, 0);
    q->scheduler = s;
    q->namespace = arena_dup(&q->arena, namespace);
    q->name = arena_dup(&q->arena, name);
    q->fn = fn;
    q->ctx = ctx;
    loop_post(s->loop, ask, q);
}
