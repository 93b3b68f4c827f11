/* SPDX-License-Identifier: Apache-2.0 */
#include "loader/guest_fetch.h"

#include "net/http_client.h"
#include "net/loop.h"
#include "net/proxy_env.h"

struct fetch {
    struct loop *loop;
    struct str url;
    struct buf *out;
    int r;
    struct err *reterr;
};

static void on_done(void *ctx, int code, struct http_response *response, const struct err *err,
                    bool retryable)
{
    struct fetch *f = ctx;
    (void)retryable;
    if (code < 0)
        f->r = err_set(f->reterr, code, "%s", err->msg);
    else if (response->status != 200)
        f->r = err_set(f->reterr, -EINVAL, "received %d status code from \"%.*s\"",
                       response->status, STR_ARG(f->url));
    else
        buf_add_str(f->out, buf_str(&response->body));
    loop_stop(f->loop);
}

static int get(struct fetch *f, const struct url *url, size_t max)
{
    struct buf origin = BUF_INIT, target = BUF_INIT, proxy = BUF_INIT;
    struct http_client *client = NULL;
    buf_add_printf(&origin, "%.*s://", STR_ARG(url->scheme));
    url_add_authority(&origin, url->host, url->port);
    buf_add_str(&target, str_empty(url->path) ? STR("/") : url->path);
    if (url->query.n)
        buf_add_printf(&target, "?%.*s", STR_ARG(url->query));
    struct http_client_options options = {.origin = buf_cstr(&origin)};
    if (proxy_env_find(url, &proxy))
        options.proxy = buf_cstr(&proxy);
    const struct http_request request = {.method = STR("GET"),
                                         .target = buf_str(&target),
                                         .total_timeout = GUEST_FETCH_TIMEOUT,
                                         .max_body = max};
    int r = http_client_new(f->loop, &options, &client, f->reterr);
    if (r == 0) {
        http_client_fetch(client, &request, on_done, f);
        loop_run(f->loop);
        r = f->r;
    }
    http_client_free(client);
    buf_release(&origin);
    buf_release(&target);
    buf_release(&proxy);
    return r;
}

int guest_fetch(struct str text, size_t max, struct buf *out, struct err *reterr)
{
    struct fetch f = {.url = text, .out = out, .reterr = reterr};
    struct url url;
    int r = url_parse(text, &url, reterr);
    if (r < 0)
        return r;
    r = loop_new(&f.loop);
    if (r < 0)
        return err_set(reterr, r, "event loop: %s", strerror(-r));
    r = get(&f, &url, max);
    loop_free(f.loop);
    return r;
}
