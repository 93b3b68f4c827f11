/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_forward.h - a port of a pod on this machine, by `kubectl port-forward`.
 *
 * Purpose:   a scheduler in a pod often listens where only its node, or only the cluster, can reach
 *            it. The API server has a way to it that keeps the connection as it is, credentials
 *            included, and kubectl speaks that protocol.
 * Ownership: port_forward_stop ends the child process; it also ends with this one.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_EXPLAIN_PORT_FORWARD_H
#define BERTH_CMD_EXPLAIN_PORT_FORWARD_H

#include <sys/types.h>

#include "base/err.h"

struct port_forward_options {
    const char *kubeconfig, *context; /* "": kubectl's own choice */
    const char *namespace, *pod;
    int64_t port;    /* of the pod */
    int64_t timeout; /* until it is ready, ns */
};

struct port_forward {
    pid_t pid;     /* 0: none */
    int output;    /* kubectl's; open as long as it runs, since it writes for every connection */
    uint16_t port; /* on 127.0.0.1 */
};

/* What kubectl says when it fails is on standard error before this returns. */
int port_forward_start(struct port_forward *forward, const struct port_forward_options *options,
                       struct err *reterr) MUST_CHECK;
/* Does nothing where none was started. */
void port_forward_stop(struct port_forward *forward);

#endif
