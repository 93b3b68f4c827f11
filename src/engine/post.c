/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/post.h"

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
