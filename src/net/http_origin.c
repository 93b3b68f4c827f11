/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_origin.h"

#include "net/proxy.h"

/* The copy of the text outlives the parts that point into it. */
static int parse_origin(struct http_origin *origin, const char *text, struct err *reterr)
{
    struct url url;
    origin->text = xstrdup(text ? text : "");
    int r = url_parse(str_of(origin->text), &url, reterr);
    if (r < 0)
        return r;
    bool https = str_eq_fold(url.scheme, STR("https"));
    if (!https && !str_eq_fold(url.scheme, STR("http")))
        return err_set(reterr, -EINVAL, "%s: scheme is not supported; use http or https",
                       origin->text);
    origin->scheme = https ? STR("https") : STR("http");
    origin->host = str_dup(url.host);
    origin->port = url.port;
    struct buf authority = BUF_INIT;
    url_add_authority(&authority, url.host, url.port);
    if (url.port == url_default_port(url.scheme))
        authority.n = authority.n - (https ? 4 : 3); /* ":443", ":80" */
    origin->authority = buf_take(&authority);
    return 0;
}

static int parse_proxy(struct http_origin *origin, const char *text, struct err *reterr)
{
    if (!text || !*text)
        return 0;
    origin->proxy_text = xstrdup(text);
    int r = url_parse(str_of(origin->proxy_text), &origin->proxy, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "proxy");
    if (!proxy_scheme_known(origin->proxy.scheme))
        return err_set(reterr, -EINVAL, "proxy scheme \"%.*s\" is not http, https or socks5",
                       STR_ARG(origin->proxy.scheme));
    return 0;
}

static int set_up_tls(struct http_origin *origin, const struct http_client_options *options,
                      struct err *reterr)
{
    static const struct tls_options system_roots = {0};
    static const struct tls_options proxy_default = {.alpn = "http/1.1"};
    int r = 0;
    if (str_is(origin->scheme, "https")) {
        if (options->tls)
            origin->tls = tls_config_ref(options->tls);
        else
            r = tls_config_new_client(&system_roots, &origin->tls, reterr);
    }
    if (r == 0 && origin->proxy_text && str_eq_fold(origin->proxy.scheme, STR("https"))) {
        if (options->proxy_tls)
            origin->proxy_tls = tls_config_ref(options->proxy_tls);
        else
            r = tls_config_new_client(&proxy_default, &origin->proxy_tls, reterr);
    }
    return r;
}

void http_origin_release(struct http_origin *origin)
{
    tls_config_unref(origin->tls);
    tls_config_unref(origin->proxy_tls);
    free(origin->text);
    free(origin->proxy_text);
    free(origin->host);
    free(origin->authority);
}

int http_origin_init(struct http_origin *origin, const struct http_client_options *options,
                     struct err *reterr)
{
    *origin = (struct http_origin){0};
    int r = parse_origin(origin, options->origin, reterr);
    if (r == 0)
        r = parse_proxy(origin, options->proxy, reterr);
    if (r == 0)
        r = set_up_tls(origin, options, reterr);
    if (r < 0)
        http_origin_release(origin);
    return r;
}
