/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch/informers.h"

#define REPORT_INTERVAL (5 * NSEC_PER_SEC)

struct informers {
    const struct informers_sink *sink;
    void *ctx;
    size_t n, n_synced;
    bool started;
    struct rest_client *client;
    struct reflector_options defaults;
    struct loop *loop;
    int last_code; /* last connection error that was reported; 0: none */
    int64_t reported_at;
    struct reflector **reflectors;
};

static void on_event(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object)
{
    struct informers *in = ctx;

    in->sink->on_event(in->ctx, type, old, object);
}

static void on_synced(void *ctx, const struct kind *kind)
{
    struct informers *in = ctx;

    in->n_synced++;
    if (in->sink->on_kind_synced)
        in->sink->on_kind_synced(in->ctx, kind);
    if (in->n_synced == in->n && in->sink->on_synced)
        in->sink->on_synced(in->ctx);
}

/* An error that all reflectors share is reported by one of them, once per REPORT_INTERVAL. */
static bool is_reported(void *ctx, const struct rest_result *result)
{
    struct informers *in = ctx;

    if (in->last_code == result->code && loop_now(in->loop) - in->reported_at < REPORT_INTERVAL)
        return true;
    in->last_code = result->code;
    in->reported_at = loop_now(in->loop);
    return false;
}

static void on_contact(void *ctx, struct reflector *reflector)
{
    struct informers *in = ctx;

    in->last_code = 0;
    for (size_t i = 0; i < in->n; i++) {
        if (in->reflectors[i] != reflector)
            reflector_kick(in->reflectors[i]);
    }
}

static void on_refetched(void *ctx, struct reflector *reflector)
{
    struct informers *in = ctx;

    (void)reflector;
    if (!informers_are_refetching(in) && in->sink->on_refetched)
        in->sink->on_refetched(in->ctx);
}

static const struct reflector_sink reflector_sink = {on_event, on_synced, on_contact, is_reported,
                                                     on_refetched};

struct informers *informers_new(struct rest_client *client, const struct informer_row *rows,
                                size_t n, const struct reflector_options *defaults,
                                const struct informers_sink *sink, void *ctx)
{
    struct informers *in = xnew(struct informers);

    in->sink = sink;
    in->ctx = ctx;
    in->client = client;
    in->defaults = defaults ? *defaults : (struct reflector_options){0};
    in->loop = rest_client_loop(client);
    for (size_t i = 0; i < n; i++)
        informers_add(in, &rows[i]);
    return in;
}

void informers_add(struct informers *in, const struct informer_row *row)
{
    struct reflector_options options = in->defaults;

    if (informers_get(in, row->kind))
        return;
    options.kind = kind_get(row->kind);
    options.field_selector = str_of(row->field_selector);
    options.optional = row->optional;
    options.object_flags = row->object_flags;
    in->reflectors = xreallocarray(in->reflectors, in->n + 1, sizeof(struct reflector *));
    in->reflectors[in->n++] = reflector_new(in->client, &options, &reflector_sink, in);
    if (in->started)
        reflector_start(in->reflectors[in->n - 1]);
}

void informers_start(struct informers *in)
{
    in->started = true;
    for (size_t i = 0; i < in->n; i++)
        reflector_start(in->reflectors[i]);
}

struct informers *informers_free(struct informers *in)
{
    if (!in)
        return NULL;
    for (size_t i = 0; i < in->n; i++)
        reflector_free(in->reflectors[i]);
    free(in->reflectors);
    free(in);
    return NULL;
}

bool informers_have_synced(const struct informers *in)
{
    return in->n_synced == in->n;
}

bool informers_are_refetching(const struct informers *in)
{
    for (size_t i = 0; i < in->n; i++) {
        if (reflector_is_refetching(in->reflectors[i]))
            return true;
    }
    return false;
}

struct reflector *informers_get(const struct informers *in, enum kind_id kind)
{
    for (size_t i = 0; i < in->n; i++) {
        if (reflector_kind(in->reflectors[i])->id == kind)
            return in->reflectors[i];
    }
    return NULL;
}
