/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_log.h - log lines about requests to the API server, as client-go writes them.
 *
 * Purpose:   -v 6 logs one line per response, 7 and 8 also requests and headers, 9 and above a curl
 *            command and the duration of each phase. From 8 on bodies are logged as well: the first
 *            1024 bytes, at 9 the first 10240, at 10 all. Credentials are masked (client-go:
 *            transport.DebugWrappers).
 * Ownership: borrows everything for the duration of the call.
 * Threading: any thread.
 */
#ifndef BERTH_KUBE_REST_HTTP_LOG_H
#define BERTH_KUBE_REST_HTTP_LOG_H

#include "base/log.h"
#include "net/http_client.h"

#define HTTP_LOG_LEVEL 6

/* False if no such line would be logged. */
static inline bool http_log_on(void)
{
    return log_on(HTTP_LOG_LEVEL);
}

struct http_log_exchange {
    const char *verb;
    struct str url;
    /* The pod that the request is about; pod_name empty: none. */
    struct str pod_namespace, pod_name;
    const char *logger; /* NULL: none */
    /* Of the response. */
    int status; /* 0: no response */
    const struct http_timing *timing;
    int64_t now; /* loop_now */
};

void http_log_request(const struct http_log_exchange *x, const struct http_header *headers,
                      size_t n);
/* headers NULL: no response; err has the reason. */
void http_log_response(const struct http_log_exchange *x, const struct http_headers *headers,
                       const struct err *err);
/* confidential: only the length is logged. */
void http_log_body(const struct http_log_exchange *x, const char *message, struct str body,
                   bool confidential);
/* Sets the logger and the pod as the first values of a line. Returns their number, up to 2. */
size_t http_log_context(const struct http_log_exchange *x, struct log_kv kvs[2]);

#endif
