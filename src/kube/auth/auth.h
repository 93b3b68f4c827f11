/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth.h - the credentials of one client, kept up to date.
 *
 * Purpose:   provides the headers of a request (Authorization, Impersonate-*) and the TLS
 *            configuration of new connections. Token and certificate files are read again when they
 *            change; plugins are run again when their credential has expired or the server answered
 *            401.
 * Ownership: the caller owns it and frees it after all waiters are gone.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_AUTH_AUTH_H
#define BERTH_KUBE_AUTH_AUTH_H

#include "base/vec.h"
#include "kube/auth/client.h"
#include "net/http.h"
#include "net/loop.h"
#include "net/tls.h"

struct auth;

struct auth_options {
    int64_t file_interval;   /* minimum time between checks of the files; 0: 10 s; negative: check
                                always */
    int64_t exec_timeout;    /* 0: the default of exec.h */
    int64_t exec_retry;      /* pause after a failed plugin; 0: 1 s */
    struct metrics *metrics; /* NULL: no metrics */
};

/* config must outlive it. Reads the files once; fails with an error that names the file. */
int auth_new(struct loop *loop, const struct kube_config *config,
             const struct auth_options *options, struct auth **ret_auth,
             struct err *reterr) MUST_CHECK;
struct auth *auth_free(struct auth *auth); /* NULL is allowed; returns NULL */

/* --- requests --------------------------------------------------------------------------------- */

struct auth_wait;
typedef void auth_wait_fn(struct auth_wait *wait, int code, const struct err *err);
/* Embedded in the struct that waits for a plugin; must be zero before the first use. */
struct auth_wait {
    struct auth_wait *next, *prev; /* a ring; NULL: not waiting */
    auth_wait_fn *fn;
};

/*
 * Returns true if credentials are available. Otherwise fn is called later, once, with code 0 or the
 * plugin's error.
 */
bool auth_ready(struct auth *auth, struct auth_wait *wait, auth_wait_fn *fn) MUST_CHECK;
void auth_wait_cancel(struct auth_wait *wait);

typedef VEC(struct http_header) auth_headers_vec;
/* Appends the headers of a request; strings go to the arena. */
void auth_add_headers(struct auth *auth, struct arena *a, auth_headers_vec *headers);

/* Changes with every new credential. */
uint64_t auth_generation(const struct auth *auth);
/*
 * The server answered 401 to credentials of that generation. Returns true if a retry may help:
 * newer ones are available, or a file or plugin will provide them.
 */
bool auth_reject(struct auth *auth, uint64_t generation) MUST_CHECK;

/* --- TLS -------------------------------------------------------------------------------------- */

/* The configuration for new connections, borrowed; NULL for http. */
struct tls_config *auth_tls(struct auth *auth);
/* Calls on_tls when a file or plugin has provided another certificate. One listener. */
typedef void auth_tls_fn(void *ctx, struct tls_config *tls);
void auth_set_tls_listener(struct auth *auth, auth_tls_fn *on_tls, void *ctx);

#endif
