/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/cluster_host.h"

#include <errno.h>

#include "apiserver/http/api_server.h"
#include "apiserver/http/pki.h"
#include "apiserver/http/token_file.h"
#include "apiserver/http/token_issuer.h"
#include "base/log.h"

#define SHUTDOWN_PATIENCE (2 * NSEC_PER_SEC)
/* A timer that is set further ahead may sleep through a step of the wall clock. */
#define MAX_SLEEP         (10 * NSEC_PER_SEC)

struct cluster_host {
    struct loop *loop;
    bool plain;
    struct pki pki;
    bool has_pki;
    struct tls_config *tls;
    struct token_issuer *issuer;
    struct control_plane *plane;
    struct api_server *server;
    struct loop_task step;
    struct loop_timer timer;
    bool commit_failed; /* and was logged */
};

/* --- steps ------------------------------------------------------------------------------------ */

static void on_step(struct loop_task *task)
{
    struct cluster_host *host = CONTAINER_OF(task, struct cluster_host, step);
    int64_t now = time_wall();
    int64_t next = control_plane_step(host->plane, now);
    if (next <= now)
        loop_task_schedule(host->loop, &host->step);
    else
        loop_timer_set(&host->timer, MIN(next - now, MAX_SLEEP));
}

static void on_timer(struct loop_timer *timer)
{
    struct cluster_host *host = CONTAINER_OF(timer, struct cluster_host, timer);
    loop_task_schedule(host->loop, &host->step);
}

static void on_changed(void *ctx, const struct store_event *event)
{
    struct cluster_host *host = ctx;
    if (!host->server)
        return;
    api_server_changed(host->server, event);
    loop_task_schedule(host->loop, &host->step);
}

/* A disk that is full is reported when it begins and when it ends. */
static int commit(void *ctx, struct err *reterr)
{
    struct cluster_host *host = ctx;
    int r = control_plane_commit(host->plane, reterr);
    if (r < 0 && !host->commit_failed)
        log_error("Failed to write changes to disk", KV_CSTR("err", reterr ? reterr->msg : ""));
    else if (r == 0 && host->commit_failed)
        log_info(0, "Changes are written to disk again");
    host->commit_failed = r < 0;
    return r;
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int open_pki(struct cluster_host *host, const struct cluster_host_options *options,
                    struct err *reterr)
{
    struct pki_options pki = {.directory = options->data_dir, .names = options->address};
    int r = pki_init(&pki, &host->pki, reterr);
    if (r < 0)
        return r;
    host->has_pki = true;
    r = token_issuer_new(buf_str(&host->pki.token_key), &host->issuer, reterr);
    if (r == 0 && !options->plain)
        r = pki_server_tls(&host->pki, &host->tls, reterr);
    return r;
}

static int open_plane(struct cluster_host *host, const struct cluster_host_options *options,
                      struct err *reterr)
{
    struct control_plane_options plane = {
        .data_dir = options->data_dir,
        .without_controllers = options->without_controllers,
        .disabled_admission = options->disabled_admission,
        .ca_pem = buf_str(&host->pki.ca_cert),
        .seed = options->seed,
        .changed = on_changed,
        .ctx = host,
    };
    return control_plane_new(&plane, &host->plane, reterr);
}

static int open_server(struct cluster_host *host, const struct cluster_host_options *options,
                       struct err *reterr)
{
    static const struct str groups[] = {STR_INIT("system:masters"),
                                        STR_INIT("system:authenticated")};
    const struct api_user admin = {
        .name = STR("kubernetes-admin"), .groups = groups, .n_groups = ARRAY_LEN(groups)};
    struct token_file tokens;
    int r = token_file_parse(options->tokens, &tokens, reterr);
    if (r < 0)
        return r;
    struct api_server_options server = {
        .loop = options->loop,
        .registry = control_plane_registry(host->plane),
        .rbac = control_plane_rbac(host->plane),
        .authorization = options->authorization,
        .address = options->address,
        .port = options->port,
        .tls = host->tls,
        .default_user = options->plain ? &admin : NULL,
        .issuer = host->issuer,
        .tokens = tokens.v,
        .n_tokens = tokens.n,
        .commit = commit,
        .commit_ctx = host,
        .seed = options->seed,
    };
    r = api_server_new(&server, &host->server, reterr);
    token_file_release(&tokens);
    return r;
}

static int bootstrap(struct cluster_host *host, const struct cluster_host_options *options,
                     struct err *reterr)
{
    struct bootstrap_options objects = {
        .address = str_of(options->address),
        .port = api_server_port(host->server),
        .ca_pem = buf_str(&host->pki.ca_cert),
    };
    return control_plane_bootstrap(host->plane, &objects, time_wall(), reterr);
}

int cluster_host_new(const struct cluster_host_options *options, struct cluster_host **ret_host,
                     struct err *reterr)
{
    struct cluster_host *host = xnew(struct cluster_host);
    host->loop = options->loop;
    host->plain = options->plain;
    loop_task_init(&host->step, on_step);
    loop_timer_init(&host->timer, host->loop, on_timer);
    /* The store first: another process may have the directory. */
    int r = open_pki(host, options, reterr);
    if (r == 0)
        r = open_plane(host, options, reterr);
    if (r == 0)
        r = open_server(host, options, reterr);
    if (r == 0)
        r = bootstrap(host, options, reterr);
    if (r < 0) {
        cluster_host_free(host);
        return r;
    }
    loop_task_schedule(host->loop, &host->step);
    *ret_host = host;
    return 0;
}

struct cluster_host *cluster_host_free(struct cluster_host *host)
{
    if (!host)
        return NULL;
    loop_task_cancel(host->loop, &host->step);
    loop_timer_stop(&host->timer);
    host->server = api_server_free(host->server);
    control_plane_free(host->plane);
    token_issuer_free(host->issuer);
    tls_config_unref(host->tls);
    if (host->has_pki)
        pki_release(&host->pki);
    free(host);
    return NULL;
}

void cluster_host_shutdown(struct cluster_host *host, void (*done)(void *ctx), void *ctx)
{
    api_server_shutdown(host->server, SHUTDOWN_PATIENCE, done, ctx);
}

/* --- what clients need ------------------------------------------------------------------------ */

struct control_plane *cluster_host_plane(struct cluster_host *host)
{
    return host->plane;
}

struct str cluster_host_url(const struct cluster_host *host)
{
    return api_server_url(host->server);
}

int cluster_host_kubeconfig(const struct cluster_host *host, const char *user, const char *groups,
                            struct buf *out, struct err *reterr)
{
    struct buf cert = BUF_INIT, key = BUF_INIT;
    struct kubeconfig_source source = {.server = cluster_host_url(host), .name = STR("berth")};
    int r = host->plain ? 0 : pki_client(&host->pki, user, groups, &cert, &key, reterr);
    if (r == 0) {
        source.ca_pem = host->plain ? STR("") : buf_str(&host->pki.ca_cert);
        source.cert_pem = buf_str(&cert);
        source.key_pem = buf_str(&key);
        kubeconfig_write(&source, out);
    }
    buf_release(&cert);
    buf_release(&key);
    return r;
}
