/* SPDX-License-Identifier: Apache-2.0 */
/* /debug/pprof/profile?seconds=N. */
#include "serve/serving_internal.h"
#include "serve/serving_sampler.h"

#define SECONDS_DEFAULT 30
#define SECONDS_MAX     3600

struct serving_profile {
    struct serving_request *request;
    struct loop_timer timer;
    int64_t began;
};

void serving_profile_cancel(struct serving_profile *p)
{
    if (!p)
        return;
    loop_timer_stop(&p->timer);
    sampler_end();
    sampler_clear();
    free(p);
}

static void on_end(struct loop_timer *timer)
{
    struct serving_profile *p = CONTAINER_OF(timer, struct serving_profile, timer);
    struct serving_request *r = p->request;
    struct buf out = BUF_INIT;
    sampler_end();
    sampler_write(time_mono() - p->began, &out);
    sampler_clear();
    r->profile = NULL;
    free(p);
    serving_respond(r, 200, "application/octet-stream", RESPOND_NOSNIFF, buf_str(&out));
    buf_release(&out);
}

void serve_profile(struct serving_request *r)
{
    struct str text;
    int64_t seconds = 0;
    struct err err;
    if (serving_query(r, "seconds", &text) && !str_to_i64(text, &seconds))
        seconds = 0;
    if (seconds <= 0)
        seconds = SECONDS_DEFAULT;
    if (sampler_begin(&err) < 0) {
        struct str why = arena_printf(&r->arena, "Could not enable CPU profiling: %s\n", err.msg);
        serving_respond(r, 500, PLAIN_TEXT, RESPOND_NOSNIFF, why);
        return;
    }
    struct serving_profile *p = xnew(struct serving_profile);
    p->request = r;
    p->began = time_mono();
    loop_timer_init(&p->timer, r->serving->loop, on_end);
    loop_timer_set(&p->timer, MIN(seconds, SECONDS_MAX) * NSEC_PER_SEC);
    r->profile = p;
}
