/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a kubeconfig through all its checks, and the output of a credential plugin. */
#include <sys/mman.h>
#include <unistd.h>

#include "kube/auth/client.h"
#include "kube/auth/exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(struct str text)
{
    static char path[64];
    static int fd = -1;
    struct kube_config config;
    struct err err;

    /* kube_config_load reads a file; a file in memory needs no disk. */
    if (fd < 0) {
        fd = memfd_create("kubeconfig", MFD_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text.p, text.n, 0) != (ssize_t)text.n)
        abort();
    if (kube_config_load(&config, &(struct kube_config_options){.kubeconfig = path}, &err) == 0) {
        assert(config.server.n > 0 && config.source.n > 0);
        assert(config.tls || (str_empty(config.token) && !config.exec));
        kube_config_release(&config);
    } else {
        assert(err.code < 0 && err.msg[0]);
    }
}

static void merge_twice(struct str text)
{
    struct kubeconfig kc;
    struct err err;

    kubeconfig_init(&kc);
    if (kubeconfig_merge_text(&kc, text, "a/config", &err) == 0) {
        size_t n = kc.clusters.n + kc.users.n + kc.contexts.n;

        /* A second run changes nothing. */
        if (kubeconfig_merge_text(&kc, text, "b/config", &err) == 0)
            assert(n == kc.clusters.n + kc.users.n + kc.contexts.n);
    }
    kubeconfig_release(&kc);
}

static void parse_credential(struct str text)
{
    struct exec_credential credential;
    struct arena arena;
    struct err err;

    arena_init(&arena, 0);
    if (exec_credential_parse(text, STR("client.authentication.k8s.io/v1"), &arena, &credential,
                              &err) == 0)
        assert(!str_empty(credential.token) || !str_empty(credential.cert_pem));
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};

    load(text);
    merge_twice(text);
    parse_credential(text);
    return 0;
}
