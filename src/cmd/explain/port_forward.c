/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/explain/port_forward.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/time.h"

#define READY    "Forwarding from 127.0.0.1:"
#define MAX_LINE ((size_t)4096)
#define NO_EXEC  127 /* a shell's exit code for "command not found" */

static _Noreturn void run_kubectl(const struct port_forward_options *o, int output, pid_t parent)
{
    char ports[32];
    const char *argv[16];
    size_t n = 0;
    argv[n++] = "kubectl";
    if (*o->kubeconfig) {
        argv[n++] = "--kubeconfig";
        argv[n++] = o->kubeconfig;
    }
    if (*o->context) {
        argv[n++] = "--context";
        argv[n++] = o->context;
    }
    snprintf(ports, sizeof(ports), ":%lld", (long long)o->port);
    argv[n++] = "--namespace";
    argv[n++] = o->namespace;
    argv[n++] = "port-forward";
    argv[n++] = "--address";
    argv[n++] = "127.0.0.1";
    argv[n++] = "--";
    argv[n++] = o->pod;
    argv[n++] = ports;
    argv[n] = NULL;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent &&
        dup2(output, STDOUT_FILENO) >= 0)
        execvp(argv[0], (char *const *)argv);
    _exit(NO_EXEC);
}

/* The port in the first line; 0: the line is not complete; -1: unexpected text. */
static long port_in(struct str text)
{
    uint64_t port;
    size_t end = str_find(text, '\n');
    if (end == text.n)
        return text.n < MAX_LINE ? 0 : -1;
    if (!str_starts(text, STR(READY)))
        return -1;
    text = str_slice(text, sizeof(READY) - 1, end);
    if (!str_to_u64(str_slice(text, 0, str_find(text, ' ')), &port) || port < 1 || port > 65535)
        return -1;
    return (long)port;
}

/* -EPIPE if kubectl has exited, -ETIMEDOUT if it prints nothing, -EPROTO if it prints other text.
 */
static int wait_ready(struct port_forward *f, int64_t timeout)
{
    char text[MAX_LINE];
    size_t n = 0;
    int64_t end = time_mono() + timeout;
    for (long port = 0; port == 0;) {
        int64_t left = (end - time_mono()) / NSEC_PER_MSEC;
        struct pollfd fd = {.fd = f->output, .events = POLLIN};
        int r = left > 0 ? poll(&fd, 1, (int)MIN(left, (int64_t)INT32_MAX)) : 0;
        if (r == 0)
            return -ETIMEDOUT;
        ssize_t got = r > 0 ? read(f->output, text + n, sizeof(text) - n) : -1;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -EPIPE;
        n += (size_t)got;
        port = port_in((struct str){text, n});
        if (port < 0)
            return -EPROTO;
        f->port = (uint16_t)port;
    }
    return 0;
}

static int fail(struct port_forward *f, int code, struct err *reterr)
{
    int status = 0;
    if (code == -EPIPE)
        waitpid(f->pid, &status, 0);
    else
        port_forward_stop(f);
    bool missing = code == -EPIPE && WIFEXITED(status) && WEXITSTATUS(status) == NO_EXEC;
    if (code == -EPIPE) {
        close(f->output);
        f->pid = 0;
    }
    if (missing)
        return err_set(reterr, -ENOENT, "--port-forward: kubectl not found in PATH");
    return err_set(reterr, code, "--port-forward: `kubectl port-forward` %s",
                   code == -EPIPE       ? "failed"
                   : code == -ETIMEDOUT ? "timed out"
                                        : "printed unexpected output");
}

int port_forward_start(struct port_forward *f, const struct port_forward_options *o,
                       struct err *reterr)
{
    int ends[2];
    pid_t parent = getpid();
    *f = (struct port_forward){0};
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_set(reterr, -errno, "--port-forward: pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        run_kubectl(o, ends[1], parent);
    int code = -errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_set(reterr, code, "--port-forward: fork: %s", strerror(-code));
    }
    *f = (struct port_forward){.pid = pid, .output = ends[0]};
    code = wait_ready(f, o->timeout);
    return code < 0 ? fail(f, code, reterr) : 0;
}

void port_forward_stop(struct port_forward *f)
{
    if (!f->pid)
        return;
    kill(f->pid, SIGTERM);
    close(f->output);
    while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    f->pid = 0;
}
