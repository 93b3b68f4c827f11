/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/post.h"
#include "engine/framework/call_mark.h"

struct engine_post {
    enum post_kind kind;
    uint64_t serial; /* of the instance */
    berth_fn *fn;
    void *ctx;
    berth_op op;
    enum berth_code code;
    char *text;
};

static void post(const struct framework *fw, const struct engine_post *from)
{
    if (!fw->ports.post) {
        engine_log_error(&fw->log, "A plugin called from a thread of its own: ignored");
        free(from->text);
        return;
    }
    struct engine_post *p = xnew(struct engine_post);
    *p = *from;
    fw->ports.post(fw->ports.ctx, p);
}

void engine_post_op(const struct framework *fw, const struct berth_handle *h, enum post_kind kind,
                    berth_op op, enum berth_code code, struct str text)
{
    post(fw, &(struct engine_post){
                 .kind = kind, .serial = h->serial, .op = op, .code = code, .text = str_dup(text)});
}

/* On the engine's thread it is a timer that is due now. */
void engine_post_fn(struct framework *fw, const struct berth_handle *h, berth_fn *fn, void *ctx)
{
    if (framework_is_engine_thread(fw))
        plugin_calls_add_timer(&fw->calls, h, framework_now(fw), fn, ctx);
    else
        post(fw, &(struct engine_post){.kind = POST_FN, .serial = h->serial, .fn = fn, .ctx = ctx});
}

void engine_post_free(struct engine_post *p)
{
    free(p->text);
    free(p);
}

void engine_posted(struct engine *e, struct engine_post *p)
{
    const struct berth_handle *h = map_get(&e->framework.handles, map_number_key(&p->serial));
    if (h && p->kind == POST_FN) {
        struct call_mark outer = call_begin(h, "a post", NULL);
        p->fn(p->ctx);
        call_end(outer);
    } else if (h && p->kind == POST_OP_DONE)
        bindings_op_done(&e->bindings, h, p->op, p->code, str_of(p->text));
    else if (h)
        bindings_write(&e->bindings, h, p->op, str_of(p->text));
    engine_post_free(p);
    engine_settle(e);
}

void engine_work_done(struct engine *e, struct engine_work *work)
{
    work->done(work, false);
    engine_settle(e);
}

void engine_work_drop(struct engine_work *work)
{
    work->done(work, true);
}
