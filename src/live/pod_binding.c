/* SPDX-License-Identifier: Apache-2.0 */
#include "live/pod_binding.h"

#include "api/pod.h"
#include "base/log.h"
#include "kube/backoff.h"
#include "live/pod_writes.h"

/*
 * Refused reads after which the binding counts as failed: about 30 s, the time that new RBAC rules
 * may take to be loaded.
 */
#define MAX_REFUSALS 10

struct pod_binding {
    struct rest_client *client;
    rest_done_fn *fn;
    void *ctx;
    struct arena arena;     /* strings of first */
    struct object_meta pod; /* namespace, name and uid */
    struct str node;
    struct rest_call *call;
    struct loop_timer timer;
    struct backoff backoff;
    struct rest_result first; /* result of the POST, if it left the outcome unknown */
    int refusals;             /* of the read */
};

static void binding_free(struct pod_binding *b)
{
    rest_cancel(b->call);
    loop_timer_stop(&b->timer);
    arena_release(&b->arena);
    free(b);
}

struct pod_binding *pod_binding_cancel(struct pod_binding *b)
{
    if (b)
        binding_free(b);
    return NULL;
}

static void finish(struct pod_binding *b, const struct rest_result *result)
{
    b->fn(b->ctx, result);
    binding_free(b);
}

/*
 * No response, a server error, or a conflict: "already assigned" may result from our own attempt.
 */
static bool is_unknown(const struct rest_result *result)
{
    return result->code < 0 &&
           (result->status == 0 || result->status == 409 || result->status >= 500);
}

/* The server responds but refuses the read: waiting alone does not help. */
static bool is_refusal(const struct rest_result *result)
{
    return result->code < 0 && result->status >= 400 && result->status < 500 &&
           result->status != 429;
}

static void get_later(struct pod_binding *b)
{
    loop_timer_set(&b->timer, backoff_next(&b->backoff, loop_now(rest_client_loop(b->client))));
}

/* The pod was read: it is on our node, or the binding failed as the POST reported. */
static void on_seen(struct pod_binding *b, const struct pod *pod)
{
    if (str_eq(pod->metadata.uid, b->pod.uid) && str_eq(pod->spec.node_name, b->node))
        finish(b, &(struct rest_result){.kind = kind_get(KIND_POD), .status = 201});
    else
        finish(b, &b->first);
}

static void on_got(void *ctx, const struct rest_result *result)
{
    struct pod_binding *b = ctx;
    struct object *pod;

    b->call = NULL;
    if (result->status == 404) {
        finish(b, result);
        return;
    }
    if (is_refusal(result) && ++b->refusals >= MAX_REFUSALS) {
        log_error("Unable to read the outcome of a binding; treating it as failed",
                  KV_STR("pod", b->pod.name), KV_STR("node", b->node), KV_ERR(&result->err));
        finish(b, &b->first);
        return;
    }
    if (result->code < 0 || rest_result_object(result, &pod, NULL) < 0) {
        get_later(b);
        return;
    }
    on_seen(b, object_pod(pod));
    object_unref(pod);
}

static void on_timer(struct loop_timer *timer)
{
    struct pod_binding *b = CONTAINER_OF(timer, struct pod_binding, timer);
    struct rest_request request = {.verb = REST_GET,
                                   .kind = kind_get(KIND_POD),
                                   .namespace = b->pod.namespace,
                                   .name = b->pod.name};

    b->call = rest_send(b->client, &request, on_got, b);
}

static void on_posted(void *ctx, const struct rest_result *result)
{
    struct pod_binding *b = ctx;

    b->call = NULL;
    if (!is_unknown(result)) {
        finish(b, result);
        return;
    }
    log_info(2, "Binding outcome unknown; reading the pod", KV_STR("pod", b->pod.name),
             KV_STR("node", b->node), KV_ERR(&result->err));
    b->first = *result;
    b->first.reason = arena_dup(&b->arena, result->reason);
    b->first.body = (struct str){0};
    get_later(b);
}

struct pod_binding *pod_binding_start(struct rest_client *client, const struct object_meta *pod,
                                      struct str node, rest_done_fn *fn, void *ctx)
{
    /* The first pause gives a request whose connection broke time to complete in the server. */
    int64_t second = rest_client_retry_unit(client);
    struct backoff_options pauses = {second / 2, 5 * second, 2, 0.5, 0};
    struct pod_binding *b = xnew(struct pod_binding);

    b->client = client;
    b->fn = fn;
    b->ctx = ctx;
    arena_init(&b->arena, 0);
    b->pod.namespace = pod->namespace;
    b->pod.name = pod->name;
    b->pod.uid = pod->uid;
    b->node = node;
    backoff_init(&b->backoff, &pauses, str_hash(b->pod.uid));
    loop_timer_init(&b->timer, rest_client_loop(client), on_timer);
    b->call = pod_bind(client, &b->pod, b->node, on_posted, b);
    return b;
}
