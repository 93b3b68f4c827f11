/* SPDX-License-Identifier: Apache-2.0 */
/* Writes that ask the guard before they are sent, and those that it holds. */
#include "kube/rest/rest_internal.h"

static void hold(struct rest_call *call)
{
    struct rest_client *client = call->client;

    call->held_next = NULL;
    call->held_prev = client->held_end;
    *client->held_end = call;
    client->held_end = &call->held_next;
}

void rest_guard_release(struct rest_call *call)
{
    if (!call->held_prev)
        return;
    *call->held_prev = call->held_next;
    if (call->held_next)
        call->held_next->held_prev = call->held_prev;
    else
        call->client->held_end = call->held_prev;
    call->held_prev = NULL;
}

bool rest_guard_ask(void *ctx)
{
    struct rest_call *call = ctx;
    const struct rest_client *client = call->client;

    if (!call->guarded || client->may_write(client->guard_ctx))
        return true;
    /* The HTTP call is freed when this returns. */
    call->http = NULL;
    hold(call);
    return false;
}

void rest_client_guard_writes(struct rest_client *client, rest_may_write_fn *may_write, void *ctx)
{
    client->may_write = may_write;
    client->guard_ctx = ctx;
}

void rest_client_resume_writes(struct rest_client *client)
{
    while (client->held) {
        struct rest_call *call = client->held;

        rest_guard_release(call);
        loop_task_schedule(client->loop, &call->task);
    }
}
