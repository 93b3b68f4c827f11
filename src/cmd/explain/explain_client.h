/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain_client.h - how `berth explain` reaches a running scheduler.
 *
 * Purpose:   one GET at a time, from the scheduler or from the API server. Where no address is
 *            given the scheduler is found through the API server: the pod says which scheduler it
 *            asked for, that one's Lease says who leads, and the leader is this machine or a pod
 *            with an address.
 * Ownership: a client owns its loop and connections; texts live in the caller's arena.
 * Threading: one thread; every call waits for its answer.
 */
#ifndef BERTH_CMD_EXPLAIN_EXPLAIN_CLIENT_H
#define BERTH_CMD_EXPLAIN_EXPLAIN_CLIENT_H

#include "base/arena.h"
#include "kube/auth/client.h"

#define EXPLAIN_PORT           10259 /* upstream's --secure-port */
#define EXPLAIN_DEFAULT_SERVER "127.0.0.1:10259"

/* An answer; body and err as in struct rest_result. */
struct explain_answer {
    int code, status;
    struct err err;
    struct str body;
};

/* Waits for the answer to one GET. max_body: 0: rest.h's. */
void explain_get(const struct kube_config *config, struct str path, int64_t timeout,
                 uint64_t max_body, struct arena *a, struct explain_answer *ret_answer);

/* "HOST", "HOST:PORT" or "https://HOST:PORT" as "https://HOST:PORT". */
int explain_server_url(struct str text, struct arena *a, struct str *ret_url,
                       struct err *reterr) MUST_CHECK;

struct explain_query {
    struct str namespace, pod;
    struct str lease; /* NAMESPACE/NAME; "": by the pod's schedulerName */
    int64_t timeout;
};

/* Where the leader is. */
struct explain_found {
    struct str url;
    /* The pod that it runs in, for `kubectl port-forward`; "": it runs on this machine. */
    struct str namespace, pod;
    int64_t port;
    bool local_only; /* it listens on loopback of its own node */
};

/* config: of the API server. */
int explain_find(const struct kube_config *config, const struct explain_query *query,
                 struct arena *a, struct explain_found *ret_found, struct err *reterr) MUST_CHECK;

#endif
