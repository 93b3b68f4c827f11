/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_client.h - connects `berth explain` to a running scheduler.
 *
 * Purpose:   sends one GET at a time to the scheduler or the API server. Without an address, finds
 *            the scheduler through the API server: the pod has a schedulerName, its scheduler a
 *            Lease, the Lease a holder, and the holder is this machine or a pod with an address.
 * Ownership: texts live in the caller's arena; nothing else is kept.
 * Threading: one thread; every call blocks until the response.
 */
#ifndef BERTH_CMD_EXPLAIN_EXPLAIN_CLIENT_H
#define BERTH_CMD_EXPLAIN_EXPLAIN_CLIENT_H

#include "base/arena.h"
#include "kube/auth/client.h"

#define EXPLAIN_PORT           10259 /* upstream's --secure-port */
#define EXPLAIN_DEFAULT_SERVER "127.0.0.1:10259"

/* A response; see struct rest_result. */
struct explain_answer {
    int code, status;
    struct err err;
    struct str body;
};

/* Sends one GET and waits for the response. max_body: in bytes; 0: the default of rest.h. */
void explain_get(const struct kube_config *config, struct str path, int64_t timeout,
                 uint64_t max_body, struct arena *a, struct explain_answer *ret_answer);

/* Turns "HOST", "HOST:PORT" or "https://HOST:PORT" into "https://HOST:PORT". */
int explain_server_url(struct str text, struct arena *a, struct str *ret_url,
                       struct err *reterr) MUST_CHECK;

struct explain_query {
    struct str namespace, pod;
    struct str lease; /* [NAMESPACE/]NAME; "": by the pod's schedulerName */
    int64_t timeout;
};

/* The leader. */
struct explain_found {
    struct str url;
    struct str namespace, pod; /* of the pod that it runs in; "": it runs on this machine */
    int64_t port;
    bool local_only; /* listens on loopback only */
};

/* config: how to connect to the API server. */
int explain_find(const struct kube_config *config, const struct explain_query *query,
                 struct arena *a, struct explain_found *ret_found, struct err *reterr) MUST_CHECK;

#endif
