/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of plugins: the engine's thread copies one, the loop's thread sends it, and the answer
 * goes back as a message. They are not queued with the engine's own writes: few are made, and each
 * one is what a pod waits for.
 */
#include "engine/cache/pod_info.h"
#include "live/world_internal.h"

struct api_call {
    struct world *world;
    uint64_t id;
    struct rest_request request; /* texts are in text */
    struct rest_call *call;      /* NULL: not sent */
    struct api_call **prev;      /* in world.calls */
    struct api_call *next;
    char text[];
};

static enum rest_verb verb_of(const struct berth_api_call *call)
{
    static const enum rest_verb patches[] = {
        [BERTH_PATCH_MERGE] = REST_PATCH_MERGE,
        [BERTH_PATCH_STRATEGIC] = REST_PATCH_STRATEGIC,
        [BERTH_PATCH_JSON] = REST_PATCH_JSON,
    };
    switch (call->verb) {
    case BERTH_API_CREATE:
        return REST_CREATE;
    case BERTH_API_PATCH:
        return patches[call->patch];
    case BERTH_API_DELETE:
        return REST_DELETE;
    case BERTH_API_GET:
        break;
    }
    return REST_GET;
}

static struct api_call *api_call_new(struct world *w, uint64_t id,
                                     const struct berth_api_call *from)
{
    size_t n = from->namespace_name.n + from->name.n + from->subresource.n + from->body.n;
    struct api_call *c = xcalloc(1, sizeof(*c) + n);
    struct str version = str_abi(from->api_version);
    size_t slash = str_find(version, '/');
    char *at = c->text;
    c->world = w;
    c->id = id;
    c->request = (struct rest_request){
        .verb = verb_of(from),
        .kind = kind_find_resource(slash < version.n ? str_slice(version, 0, slash) : STR(""),
                                   str_abi(from->resource)),
        .namespace = str_abi(from->namespace_name),
        .name = str_abi(from->name),
        .subresource = str_abi(from->subresource),
        .text = str_abi(from->body),
    };
    world_move_text(&c->request.namespace, &at);
    world_move_text(&c->request.name, &at);
    world_move_text(&c->request.subresource, &at);
    world_move_text(&c->request.text, &at);
    return c;
}

static void api_call_free(struct api_call *c)
{
    if (c->prev) {
        *c->prev = c->next;
        if (c->next)
            c->next->prev = c->prev;
        c->world->n_calls--;
    }
    free(c);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void on_done(void *ctx, const struct rest_result *result)
{
    struct api_call *c = ctx;
    struct engine_msg msg = {.kind = ENGINE_MSG_API_DONE, .id = c->id, .status = result->status};
    if (!str_empty(result->reason))
        msg.reason = str_dup(result->reason);
    if (result->code < 0) {
        if (result->status < 300)
            msg.status = 0;
        msg.message = xstrdup(result->err.msg);
    } else if (result->body.n && rest_result_object(result, &msg.after, NULL) < 0) {
        msg.after = NULL; /* a Status: the answer to a deletion */
    }
    world_post_msg(c->world, &msg);
    api_call_free(c);
}

void world_answer_api_call(struct world *w, const struct engine_msg *msg)
{
    struct berth_api_result result = {
        .struct_size = sizeof(result),
        .status = msg->status,
        .reason = abi_str(str_of(msg->reason)),
        .message = abi_str(str_of(msg->message)),
        .object = msg->after ? object_abi(msg->after) : NULL,
    };
    w->n_requests--;
    engine_api_done(w->engine, msg->id, &result);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void send_call(void *ctx)
{
    struct api_call *c = ctx;
    struct world *w = c->world;
    if (w->ending >= ENDING_RELEASE) {
        free(c);
        return;
    }
    c->next = w->calls;
    c->prev = &w->calls;
    if (c->next)
        c->next->prev = &c->next;
    w->calls = c;
    w->n_calls++;
    if (!c->request.kind) {
        struct rest_result unknown = {.code = -EINVAL};
        err_set(&unknown.err, -EINVAL, "berth does not know this resource");
        on_done(c, &unknown);
        return;
    }
    c->call = rest_send(w->client, &c->request, on_done, c);
}

void world_call_api(void *world, uint64_t id, const struct berth_api_call *call)
{
    struct world *w = world;
    w->n_requests++;
    loop_post(w->loop, send_call, api_call_new(w, id, call));
}

void world_cancel_api_calls(struct world *w)
{
    while (w->calls) {
        struct api_call *c = w->calls;
        rest_cancel(c->call);
        api_call_free(c);
    }
}
