/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.h - credential plugins: programs that print an ExecCredential.
 *
 * Purpose:   runs the command of a kubeconfig's user.exec beside the loop, without blocking it:
 *            environment KUBERNETES_EXEC_INFO, output read through a pipe, exit seen through a
 *            pidfd. Time and output are bounded; standard error is the plugin's own way to the
 *            person and is passed on.
 * Ownership: a run belongs to its starter until it is done or cancelled; the credential handed to
 *            the callback lives until that returns.
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
/* A person may have to find a second factor first. */
#define EXEC_TIMEOUT_INTERACTIVE (600 * NSEC_PER_SEC)

struct exec_credential {
    struct str token;
    struct str cert_pem, key_pem;
    struct timestamp expiration;
};

/* Reads and checks what a plugin printed. api_version: the one the kubeconfig asks for. */
int exec_credential_parse(struct str text, struct str api_version, struct arena *a,
                          struct exec_credential *ret_credential, struct err *reterr) MUST_CHECK;

/* code 0 with a credential, or a negative errno with one line that names the command. */
typedef void exec_done_fn(void *ctx, int code, const struct exec_credential *credential,
                          const struct err *err);

struct exec_run;

/* config->exec must be set. timeout 0: the defaults above. NULL and reterr where it cannot start.
 */
struct exec_run *exec_start(struct loop *loop, const struct kube_config *config, int64_t timeout,
                            exec_done_fn *fn, void *ctx, struct err *reterr);
/* Counts how the plugin ends. NULL is fine. */
void exec_count(struct exec_run *run, struct metrics *metrics);
/* Kills the plugin; no callback. NULL is fine; returns NULL. */
struct exec_run *exec_cancel(struct exec_run *run);

#endif
