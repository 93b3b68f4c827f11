/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_origin.h - the target of a client's requests and the route to it.
 *
 * Purpose:   the parsed and checked URLs of the origin and the proxy, with the TLS configuration of
 *            each. Included by http_client.c and http_origin.c only.
 * Ownership: owns its strings and a reference on each configuration; options are not kept.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_HTTP_ORIGIN_H
#define BERTH_NET_HTTP_ORIGIN_H

#include "net/http_client.h"
#include "net/url.h"

struct http_origin {
    char *text;        /* as in the options, for messages */
    struct str scheme; /* "http" or "https" */
    char *host, *authority;
    uint16_t port;
    struct tls_config *tls; /* NULL: plain http */

    char *proxy_text; /* NULL: no proxy */
    struct url proxy; /* points into proxy_text */
    struct tls_config *proxy_tls;
};

/* On failure there is nothing to release. */
int http_origin_init(struct http_origin *origin, const struct http_client_options *options,
                     struct err *reterr) MUST_CHECK;
void http_origin_release(struct http_origin *origin);

#endif
