/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_host.h - a control plane and its API server on a loop.
 *
 * Purpose:   certificates, the HTTPS server, and the steps of the control plane between requests.
 * Ownership: the caller owns the host and its loop, which lives longer. Texts of the options are
 *            borrowed for the call.
 * Threading: the loop's thread.
 */
#ifndef BERTH_APISERVER_CLUSTER_HOST_H
#define BERTH_APISERVER_CLUSTER_HOST_H

#include "apiserver/control_plane.h"
#include "net/loop.h"

struct cluster_host;

struct cluster_host_options {
    struct loop *loop;
    const char *data_dir; /* of objects and keys; NULL: in memory only */
    const char *address;  /* "127.0.0.1" */
    uint16_t port;        /* 0: any free one */
    bool plain;           /* HTTP without credentials: every client is the administrator */
    bool without_controllers;
    unsigned authorization;      /* enum authorization_mode; 0: RBAC */
    unsigned disabled_admission; /* admission_disable */
    struct str tokens;           /* of users, as CSV: token_file.h; "": none */
    uint64_t seed;
};

/* Opens the store and the port. -EADDRINUSE, -EBUSY, …: reterr has one line. */
int cluster_host_new(const struct cluster_host_options *options, struct cluster_host **ret_host,
                     struct err *reterr) MUST_CHECK;
/* Ends all requests at once, and commits. NULL is allowed. Returns NULL. */
struct cluster_host *cluster_host_free(struct cluster_host *host);
/* Ends watches and waits some seconds for other requests; `done` may free the host. */
void cluster_host_shutdown(struct cluster_host *host, void (*done)(void *ctx), void *ctx);

struct control_plane *cluster_host_plane(struct cluster_host *host);
/* "https://127.0.0.1:6443" */
struct str cluster_host_url(const struct cluster_host *host);
/* The text of a kubeconfig for this user; groups are separated by commas. */
int cluster_host_kubeconfig(const struct cluster_host *host, const char *user, const char *groups,
                            struct buf *out, struct err *reterr) MUST_CHECK;

#endif
