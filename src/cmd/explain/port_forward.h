/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_forward.h - forwards a local port to a pod with `kubectl port-forward`.
 *
 * Purpose:   reaches a scheduler that listens on its node's loopback or in the cluster network
 *            only. The API server tunnels the connection unchanged, including credentials, which
 *            its proxy to pods does not.
 * Ownership: port_forward_stop ends the child process; the child also ends with this process.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_EXPLAIN_PORT_FORWARD_H
#define BERTH_CMD_EXPLAIN_PORT_FORWARD_H

#include <sys/types.h>

#include "base/err.h"

struct port_forward_options {
    const char *kubeconfig, *context; /* "": kubectl's default */
    const char *namespace, *pod;
    int64_t port;    /* of the pod */
    int64_t timeout; /* until it is ready, ns */
};

struct port_forward {
    pid_t pid;     /* 0: none */
    int output;    /* kubectl's stdout; kept open because it prints a line per connection */
    uint16_t port; /* on 127.0.0.1 */
};

/* kubectl's own error messages go to standard error. */
int port_forward_start(struct port_forward *forward, const struct port_forward_options *options,
                       struct err *reterr) MUST_CHECK;
/* Does nothing if none was started. */
void port_forward_stop(struct port_forward *forward);

#endif
