/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_origin.h - where a client's requests go, and the way there.
 *
 * Purpose:   the origin's URL and the proxy's taken apart, checked, and with the TLS configuration
 *            of each. Shared by http_client.c and http_origin.c; nobody else includes it.
 * Ownership: owns its texts and a reference on each configuration; options may go.
 * Threading: the loop's thread.
 */
#ifndef BERTH_NET_HTTP_ORIGIN_H
#define BERTH_NET_HTTP_ORIGIN_H

#include "net/http_client.h"
#include "net/url.h"

struct http_origin {
    char *text;        /* as the options had it: what messages say */
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
