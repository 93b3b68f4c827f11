/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics, /metrics/resources and /configz. */
#include "serve/serving_internal.h"

/* --- metrics ---------------------------------------------------------------------------------- */

void serve_metrics(struct serving_request *r)
{
    struct metrics *metrics = r->serving->options.metrics;
    struct buf text = BUF_INIT;
    if (str_is(r->x->method, "DELETE")) {
        if (metrics)
            metrics_reset(metrics);
        serving_respond(r, 200, PLAIN_TEXT, 0, STR("metrics reset\n"));
        return;
    }
    if (metrics)
        metrics_write(metrics, &text);
    serving_respond_metrics(r, buf_str(&text));
    buf_release(&text);
}

static struct serving_request *find_waiting(const struct serving *s)
{
    struct serving_request *r = s->requests;
    while (r && !r->wants_resources)
        r = r->next;
    return r;
}

static void on_resources(void *ctx, struct str text)
{
    struct serving *s = ctx;
    struct serving_request *r;
    s->resources = NULL;
    /* Restart the search every time: a failed write may free other requests of the connection. */
    while ((r = find_waiting(s)))
        serving_respond_metrics(r, text);
}

/* Requests that arrive while the page is being written share it. */
void serve_resource_metrics(struct serving_request *r)
{
    struct serving *s = r->serving;
    if (!s->options.world) {
        serving_respond_metrics(r, STR(""));
        return;
    }
    r->wants_resources = true;
    if (!s->resources)
        s->resources = resource_metrics_start(s->loop, s->options.world, on_resources, s);
}

/* --- configuration ---------------------------------------------------------------------------- */

void serve_configz(struct serving_request *r)
{
    const struct serving_options *o = &r->serving->options;
    struct buf text = BUF_INIT;
    buf_add_cstr(&text, "{\"componentconfig\":");
    if (o->write_config)
        o->write_config(o->page_ctx, &text);
    else
        buf_add_cstr(&text, "null");
    buf_add_char(&text, '}');
    serving_respond(r, 200, JSON_TEXT, RESPOND_NOSNIFF, buf_str(&text));
    buf_release(&text);
}
