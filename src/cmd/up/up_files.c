/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/up/up_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/http/pki.h"

static int make_temporary(struct up_files *f, struct err *reterr)
{
    const char *parent = getenv("TMPDIR");
    f->directory = xasprintf("%s/berth-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(f->directory))
        return err_set(reterr, -errno, "%s: %s", f->directory, strerror(errno));
    f->temporary = true;
    return 0;
}

static int make_directory(struct up_files *f, const char *data_dir, struct err *reterr)
{
    if (!*data_dir)
        return make_temporary(f, reterr);
    f->directory = str_dup(str_of(data_dir));
    if (mkdir(data_dir, 0700) < 0 && errno != EEXIST)
        return err_set(reterr, -errno, "%s: %s", data_dir, strerror(errno));
    return 0;
}

int up_files_init(struct up_files *f, const char *data_dir, const char *kubeconfig,
                  struct err *reterr)
{
    *f = (struct up_files){0};
    int r = make_directory(f, data_dir, reterr);
    if (r < 0) {
        up_files_release(f);
        return r;
    }
    f->kubeconfig =
        *kubeconfig ? str_dup(str_of(kubeconfig)) : xasprintf("%s/kubeconfig", f->directory);
    f->scheduler_kubeconfig = xasprintf("%s/scheduler.kubeconfig", f->directory);
    return 0;
}

int up_files_write_config(struct up_files *f, const struct json_value *config, struct err *reterr)
{
    struct buf text = BUF_INIT;
    f->config = xasprintf("%s/scheduler-config.json", f->directory);
    json_write(config, &text);
    int r = pki_write_file(f->config, buf_str(&text), reterr);
    buf_release(&text);
    return r;
}

int up_files_open_log(struct up_files *f, struct err *reterr)
{
    f->log = xasprintf("%s/berth.log", f->directory);
    int fd = open(f->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return fd < 0 ? err_set(reterr, -errno, "%s: %s", f->log, strerror(errno)) : fd;
}

static int write_kubeconfig(const struct cluster_host *host, const char *path, const char *user,
                            const char *groups, struct err *reterr)
{
    struct buf text = BUF_INIT;
    int r = cluster_host_kubeconfig(host, user, groups, &text, reterr);
    if (r == 0)
        r = pki_write_file(path, buf_str(&text), reterr);
    buf_release(&text);
    return r;
}

int up_files_write_kubeconfigs(const struct up_files *f, const struct cluster_host *host,
                               struct err *reterr)
{
    int r = write_kubeconfig(host, f->kubeconfig, "kubernetes-admin", "system:masters", reterr);
    if (r == 0)
        r = write_kubeconfig(host, f->scheduler_kubeconfig, "system:kube-scheduler", NULL, reterr);
    return r;
}

void up_files_release(struct up_files *f)
{
    if (f->temporary) {
        const char *const files[] = {f->kubeconfig, f->scheduler_kubeconfig, f->config, f->log};
        for (size_t i = 0; i < ARRAY_LEN(files); i++)
            if (files[i] && str_starts(str_of(files[i]), str_of(f->directory)))
                (void)unlink(files[i]);
        (void)rmdir(f->directory);
    }
    free(f->directory);
    free(f->kubeconfig);
    free(f->scheduler_kubeconfig);
    free(f->config);
    free(f->log);
    *f = (struct up_files){0};
}
