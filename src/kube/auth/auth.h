/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth.h - the credentials of one client, kept fresh.
 *
 * Purpose:   says what a request carries (Authorization, Impersonate-*) and by which TLS
 *            configuration connections are made. Tokens and certificates in files are read again
 *            when the files change, plugins are run again when their credential has expired or the
 *            server answered 401.
 * Ownership: belongs to its maker, who frees it after all waiters are gone.
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
    int64_t
        file_interval; /* files are looked at no more often than this; 0: 10 s; negative: always */
    int64_t exec_timeout;    /* 0: exec.h's */
    int64_t exec_retry;      /* after a failed plugin no other try for so long; 0: 1 s */
    struct metrics *metrics; /* NULL: nothing is counted */
};

/* config must outlive it. Reads the files once; -errno and one line that names the file. */
int auth_new(struct loop *loop, const struct kube_config *config,
             const struct auth_options *options, struct auth **ret_auth,
             struct err *reterr) MUST_CHECK;
struct auth *auth_free(struct auth *auth); /* NULL is fine; returns NULL */

/* --- asking ----------------------------------------------------------------------------------- */

struct auth_wait;
typedef void auth_wait_fn(struct auth_wait *wait, int code, const struct err *err);
/* Embedded in whoever waits for a plugin; zero it before first use. */
struct auth_wait {
    struct auth_wait *next, *prev; /* a ring; NULL: not waiting */
    auth_wait_fn *fn;
};

/*
 * True where credentials are at hand. Otherwise fn is called later, once, on success (code 0) or
 * when the plugin failed.
 */
bool auth_ready(struct auth *auth, struct auth_wait *wait, auth_wait_fn *fn) MUST_CHECK;
void auth_wait_cancel(struct auth_wait *wait);

typedef VEC(struct http_header) auth_headers_vec;
/* Appends the headers of a request; texts go to the arena. */
void auth_add_headers(struct auth *auth, struct arena *a, auth_headers_vec *headers);

/* Changes with every new credential. */
uint64_t auth_generation(const struct auth *auth);
/*
 * The server answered 401 to credentials of that generation. True where asking again may help:
 * others are at hand already, or a file or plugin will be asked for them.
 */
bool auth_reject(struct auth *auth, uint64_t generation) MUST_CHECK;

/* --- TLS -------------------------------------------------------------------------------------- */

/* The configuration for new connections, borrowed; NULL for http. */
struct tls_config *auth_tls(struct auth *auth);
/* on_tls is told when a file or plugin brought another certificate; one listener. */
typedef void auth_tls_fn(void *ctx, struct tls_config *tls);
void auth_set_tls_listener(struct auth *auth, auth_tls_fn *on_tls, void *ctx);

#endif
