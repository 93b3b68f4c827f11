/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h - credential plugins: programs that print an ExecCredential.
 *
 * Purpose:   runs the command of a kubeconfig's user.exec without blocking the loop: environment
 *            KUBERNETES_EXEC_INFO, output through a pipe, exit through a pidfd. Time and output are
 *            limited. Standard error is inherited, so that the plugin can talk to the user.
 * Ownership: the caller owns the run until it is done or cancelled. The credential passed to the
 *            callback is valid until that returns.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_AUTH_EXEC_H
#define BERTH_KUBE_AUTH_EXEC_H

#include "base/time.h"
#include "kube/auth/client.h"
#include "kube/rest_metrics.h"
#include "net/loop.h"

#define EXEC_MAX_OUTPUT          ((size_t)1 << 20)
#define EXEC_TIMEOUT             (60 * NSEC_PER_SEC)
/* The user may have to find a second factor first. */
#define EXEC_TIMEOUT_INTERACTIVE (600 * NSEC_PER_SEC)

struct exec_credential {
    struct str token;
    struct str cert_pem, key_pem;
    struct timestamp expiration;
};

/* Decodes and checks the output of a plugin. api_version: the one that the kubeconfig requires. */
int exec_credential_parse(struct str text, struct str api_version, struct arena *a,
                          struct exec_credential *ret_credential, struct err *reterr) MUST_CHECK;

/* code 0 with a credential, or a negative errno with an error that names the command. */
typedef void exec_done_fn(void *ctx, int code, const struct exec_credential *credential,
                          const struct err *err);

struct exec_run;

/*
 * config->exec must be set. timeout 0: the defaults above. Returns NULL and sets reterr if it
 * cannot start.
 */
struct exec_run *exec_start(struct loop *loop, const struct kube_config *config, int64_t timeout,
                            exec_done_fn *fn, void *ctx, struct err *reterr);
/* Counts how the plugin ends. NULL is allowed. */
void exec_count(struct exec_run *run, struct metrics *metrics);
/* Kills the plugin; no callback follows. NULL is allowed. Returns NULL. */
struct exec_run *exec_cancel(struct exec_run *run);

#endif
