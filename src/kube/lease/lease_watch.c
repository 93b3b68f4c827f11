/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease/lease_watch.h"

#include "base/log.h"

void lease_watch_init(struct lease_watch *w, struct rest_client *client, lease_watch_fn *fn,
                      void *ctx)
{
    *w = (struct lease_watch){.client = client, .fn = fn, .ctx = ctx};
}

static void on_event(void *ctx, const struct watch_event *event)
{
    struct lease_watch *w = ctx;

    if (event->type == WATCH_ADDED || event->type == WATCH_MODIFIED)
        w->fn(w->ctx, event->object);
    else if (event->type == WATCH_DELETED)
        w->fn(w->ctx, NULL);
    else if (event->type == WATCH_ERROR)
        lease_watch_stop(w);
}

static void on_end(void *ctx, const struct rest_result *result)
{
    struct lease_watch *w = ctx;

    w->call = NULL;
    /* Roles from before 1.31 only allow get and update of the lease. */
    w->refused = result->status >= 400 && result->status < 500 && result->status != 410 &&
                 result->status != 429;
    if (w->refused)
        log_info(4, "Failed to watch the lease; polling it instead", KV_ERR(&result->err));
}

static const struct rest_watch_handlers handlers = {.on_event = on_event, .on_end = on_end};

void lease_watch_follow(struct lease_watch *w, const struct object *lease)
{
    const struct object_meta *meta = object_meta(lease);
    struct buf query = BUF_INIT;

    if (w->call || w->refused)
        return;
    buf_add_printf(&query, "fieldSelector=metadata.name%%3D%.*s&resourceVersion=%.*s",
                   STR_ARG(meta->name), STR_ARG(meta->resource_version));
    w->call = rest_watch(w->client,
                         &(struct rest_request){.verb = REST_LIST,
                                                .kind = kind_get(KIND_LEASE),
                                                .namespace = meta->namespace,
                                                .query = buf_str(&query)},
                         &handlers, w);
    buf_release(&query);
}

void lease_watch_stop(struct lease_watch *w)
{
    w->call = rest_cancel(w->call);
}
