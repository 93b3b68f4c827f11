# SPDX-License-Identifier: Apache-2.0
"""Shared objects for tests of plugins, built with the compiler of this machine."""

import os
import subprocess

from berth import ROOT
from tap import check

INCLUDE = os.path.join(ROOT, "include")

# A Filter plugin that lets only nodes of one name pass, and says so at each attempt.
ONLY = r'''
#include <berth/plugin.h>
#include <stdlib.h>
#include <string.h>
struct self { const struct berth_host *host; struct berth_handle *h; };
static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret, struct berth_error *error)
{
    struct self *self = malloc(sizeof(*self));
    (void)args; (void)error;
    *self = (struct self){host, h};
    *ret = self;
    @CREATE@
    return 0;
}
static void destroy(void *self) { free(self); }
static enum berth_code filter(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                              const struct berth_node *node, struct berth_status *status)
{
    const struct self *self = ctx;
    struct berth_str name = self->host->node_name(node);
    (void)cycle; (void)pod;
    if (name.n == strlen("@NODE@") && memcmp(name.p, "@NODE@", name.n) == 0)
        return BERTH_SUCCESS;
    self->host->status_text(status, BERTH_STR("not @NODE@"));
    return BERTH_UNSCHEDULABLE;
}
static const struct berth_plugin plugin = {
    BERTH_PLUGIN_HEAD("@NAME@", "@NODE@"), .create = create, .destroy = destroy, .filter = filter,
};
BERTH_EXPORT_PLUGINS(&plugin);
'''


def only(node, name="Only", create=""):
    return ONLY.replace("@NODE@", node).replace("@NAME@", name).replace("@CREATE@", create)


def build(directory, name, source, *flags, whole=False):
    """Compiles source to directory/name, replacing the file at once. Returns its path."""
    path = os.path.join(directory, name)
    done = subprocess.run(
        ["cc", "-std=gnu11", "-x", "c", "-", "-I", INCLUDE, "-o", path + ".new"]
        + ([] if whole else ["-shared", "-fPIC"]) + ["-x", "none", *flags],
        input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check(done.returncode == 0, done.stdout)
    os.rename(path + ".new", path)
    return path


# Permit holds the pod "held" until a pod "go" comes. PreBind takes @SECONDS@ seconds, on a worker.
HOLD = r'''
#include <berth/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct self { const struct berth_host *host; struct berth_handle *h; };
static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret, struct berth_error *error)
{
    struct self *self = malloc(sizeof(*self));
    (void)args; (void)error;
    *self = (struct self){host, h};
    *ret = self;
    return 0;
}
static void destroy(void *ctx)
{
    struct self *self = ctx;
    self->host->log(self->h, 0, BERTH_STR("Hold @VERSION@ ends"), NULL, 0);
    free(self);
}
static bool is(const struct self *self, const struct berth_pod *pod, const char *name)
{
    struct berth_str s = self->host->pod_name(pod);
    return s.n == strlen(name) && memcmp(s.p, name, s.n) == 0;
}
static void allow(void *ctx, struct berth_waiting_pod *w)
{
    const struct self *self = ctx;
    self->host->waiting_allow(self->h, w);
}
static enum berth_code permit(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node, int64_t *ret_timeout, struct berth_status *status)
{
    struct self *self = ctx;
    (void)cycle; (void)node; (void)status;
    if (is(self, pod, "go"))
        self->host->waiting_pods(self->h, allow, self);
    *ret_timeout = 600000000000;
    return is(self, pod, "held") ? BERTH_WAIT : BERTH_SUCCESS;
}
static enum berth_code pre_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node, berth_op op, struct berth_status *status)
{
    struct self *self = ctx;
    const struct berth_kv kv[] = {BERTH_KV_POD("pod", pod)};
    (void)cycle; (void)node; (void)op; (void)status;
    self->host->log(self->h, 0, BERTH_STR("Hold @VERSION@ begins PreBind"), kv, 1);
    sleep(@SECONDS@);
    self->host->log(self->h, 0, BERTH_STR("Hold @VERSION@ ends PreBind"), kv, 1);
    return BERTH_SUCCESS;
}
static const struct berth_plugin plugin = {
    BERTH_PLUGIN_HEAD("Hold", "@VERSION@"), .create = create, .destroy = destroy, .permit = permit,
    .pre_bind = pre_bind,
};
BERTH_EXPORT_PLUGINS(&plugin);
'''


def hold(version, seconds=0):
    return HOLD.replace("@VERSION@", str(version)).replace("@SECONDS@", str(seconds))
