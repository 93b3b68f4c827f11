/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/plugin_calls.h"
#include "engine/framework/call_mark.h"

struct plugin_request {
    uint64_t id;
    const struct berth_handle *handle;
    berth_api_done_fn *done;
    berth_http_done_fn *got; /* of an HTTP GET; otherwise NULL */
    void *ctx;
};

struct plugin_timer {
    uint64_t id;
    const struct berth_handle *handle;
    struct heap_node node;
    int64_t at;
    berth_fn *fn;
    void *ctx;
};

static struct plugin_timer *timer_of(const struct heap_node *node)
{
    return CONTAINER_OF(node, struct plugin_timer, node);
}

/* Timers of the same time run in the order in which they were added. */
static bool earlier(const struct heap_node *a, const struct heap_node *b, void *ctx)
{
    (void)ctx;
    const struct plugin_timer *x = timer_of(a), *y = timer_of(b);
    return x->at != y->at ? x->at < y->at : x->id < y->id;
}

void plugin_calls_init(struct plugin_calls *calls)
{
    *calls = (struct plugin_calls){0};
    heap_init(&calls->by_time, earlier, NULL);
}

void plugin_calls_release(struct plugin_calls *calls)
{
    map_each (e, &calls->requests)
        free(e->value);
    map_each (e, &calls->timers)
        free(e->value);
    map_release(&calls->requests);
    map_release(&calls->timers);
    heap_release(&calls->by_time);
    vec_release(&calls->failed);
}

void plugin_calls_forget(struct plugin_calls *calls, const struct berth_handle *h)
{
    VEC(uint64_t) ids = {0};
    map_each (e, &calls->requests) {
        const struct plugin_request *request = e->value;
        if (request->handle == h)
            vec_push(&ids, request->id);
    }
    for (size_t i = 0; i < ids.n; i++)
        plugin_calls_cancel_request(calls, ids.v[i]);
    vec_clear(&ids);
    map_each (e, &calls->timers) {
        const struct plugin_timer *timer = e->value;
        if (timer->handle == h)
            vec_push(&ids, timer->id);
    }
    for (size_t i = 0; i < ids.n; i++)
        plugin_calls_cancel_timer(calls, ids.v[i]);
    vec_release(&ids);
}

/* --- requests --------------------------------------------------------------------------------- */

static uint64_t add_request(struct plugin_calls *calls, const struct plugin_request *from)
{
    struct plugin_request *request = xnew(struct plugin_request);
    *request = *from;
    request->id = ++calls->last_id;
    map_put(&calls->requests, map_number_key(&request->id), request);
    return request->id;
}

uint64_t plugin_calls_get(struct plugin_calls *calls, const struct ports *ports,
                          const struct berth_handle *h, const struct berth_http_get *get,
                          berth_http_done_fn *done, void *ctx)
{
    uint64_t id =
        add_request(calls, &(struct plugin_request){.handle = h, .got = done, .ctx = ctx});
    if (ports->http_get)
        ports->http_get(ports->ctx, id, get);
    else
        vec_push(&calls->failed, id);
    return id;
}

uint64_t plugin_calls_send(struct plugin_calls *calls, const struct ports *ports,
                           const struct berth_handle *h, const struct berth_api_call *call,
                           berth_api_done_fn *done, void *ctx)
{
    uint64_t id =
        add_request(calls, &(struct plugin_request){.handle = h, .done = done, .ctx = ctx});
    if (ports->call_api)
        ports->call_api(ports->ctx, id, call);
    else
        vec_push(&calls->failed, id);
    return id;
}

void plugin_calls_cancel_request(struct plugin_calls *calls, uint64_t id)
{
    free(map_del(&calls->requests, map_number_key(&id)));
}

static bool take_request(struct plugin_calls *calls, uint64_t id, struct plugin_request *ret)
{
    struct plugin_request *request = map_del(&calls->requests, map_number_key(&id));
    if (!request)
        return false;
    *ret = *request;
    free(request);
    return true;
}

void plugin_calls_done(struct plugin_calls *calls, uint64_t id,
                       const struct berth_api_result *result)
{
    struct plugin_request ended;
    if (!take_request(calls, id, &ended) || !ended.done)
        return;
    struct call_mark outer = call_begin(ended.handle, "the answer to a request", NULL);
    ended.done(ended.ctx, result);
    call_end(outer);
}

void plugin_calls_got(struct plugin_calls *calls, uint64_t id,
                      const struct berth_http_result *result)
{
    struct plugin_request ended;
    if (!take_request(calls, id, &ended) || !ended.got)
        return;
    struct call_mark outer = call_begin(ended.handle, "the answer to a request", NULL);
    ended.got(ended.ctx, result);
    call_end(outer);
}

/* --- timers ----------------------------------------------------------------------------------- */

uint64_t plugin_calls_add_timer(struct plugin_calls *calls, const struct berth_handle *h,
                                int64_t at, berth_fn *fn, void *ctx)
{
    struct plugin_timer *timer = xnew(struct plugin_timer);
    *timer =
        (struct plugin_timer){.id = ++calls->last_id, .handle = h, .at = at, .fn = fn, .ctx = ctx};
    map_put(&calls->timers, map_number_key(&timer->id), timer);
    heap_push(&calls->by_time, &timer->node);
    return timer->id;
}

void plugin_calls_cancel_timer(struct plugin_calls *calls, uint64_t id)
{
    struct plugin_timer *timer = map_del(&calls->timers, map_number_key(&id));
    if (!timer)
        return;
    heap_remove(&calls->by_time, &timer->node);
    free(timer);
}

static void fail_unsent(struct plugin_calls *calls)
{
    struct berth_str message = BERTH_STR("requests are not supported here");
    struct berth_api_result result = {.struct_size = sizeof(result), .message = message};
    struct berth_http_result nothing = {.struct_size = sizeof(nothing), .message = message};
    while (calls->failed.n) {
        uint64_t id = calls->failed.v[0];
        const struct plugin_request *request = map_get(&calls->requests, map_number_key(&id));
        vec_remove(&calls->failed, 0);
        if (request && request->got)
            plugin_calls_got(calls, id, &nothing);
        else
            plugin_calls_done(calls, id, &result);
    }
}

void plugin_calls_run(struct plugin_calls *calls, int64_t now)
{
    uint64_t last = calls->last_id; /* a timer that a timer adds waits for the next run */
    struct heap_node *first;
    fail_unsent(calls);
    while ((first = heap_peek(&calls->by_time)) && timer_of(first)->at <= now &&
           timer_of(first)->id <= last) {
        struct plugin_timer due = *timer_of(first);
        plugin_calls_cancel_timer(calls, due.id);
        struct call_mark outer = call_begin(due.handle, "a timer", NULL);
        due.fn(due.ctx);
        call_end(outer);
    }
}

int64_t plugin_calls_next(const struct plugin_calls *calls)
{
    if (calls->failed.n)
        return INT64_MIN;
    const struct heap_node *first = heap_peek(&calls->by_time);
    return first ? timer_of(first)->at : INT64_MAX;
}
