/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the rules of aggregated ClusterRoles to their objects, one role after the other. */
#include "apiserver/component.h"
#include "base/time.h"
#include "codec/json_edit.h"

#define RETRY (1 * NSEC_PER_SEC)

struct aggregation {
    struct writer writer;
    const struct rbac *rbac;
    bool flight;
    int64_t due; /* 0: now */
    uint64_t n_writes;
};

static void *make(const struct component_options *options)
{
    struct aggregation *self = xnew(struct aggregation);
    self->writer = options->writer;
    self->rbac = options->rbac;
    return self;
}

static void end(void *ctx)
{
    free(ctx);
}

static void changed(void *ctx, const struct store_event *event)
{
    struct aggregation *self = ctx;
    const struct resource *r = event->after->resource;
    if (str_is(r->group, RBAC_GROUP) && str_is(r->plural, "clusterroles"))
        self->due = 0;
}

static void run(void *ctx, int64_t now)
{
    struct aggregation *self = ctx;
    struct str name, rules;
    struct arena a;
    struct buf body = BUF_INIT;
    if (self->flight || self->due > now)
        return;
    arena_init(&a, 4096);
    self->due = INT64_MAX;
    if (rbac_stale_role(self->rbac, &a, &name, &rules)) {
        buf_add_printf(&body, "{\"rules\":%.*s}", STR_ARG(rules));
        self->flight = true;
        self->writer.write(self->writer.ctx, &(struct writer_request){
                                                 .id = ++self->n_writes,
                                                 .verb = WRITER_PATCH_MERGE,
                                                 .group = STR(RBAC_GROUP),
                                                 .plural = STR("clusterroles"),
                                                 .name = name,
                                                 .body = buf_str(&body),
                                             });
    }
    buf_release(&body);
    arena_release(&a);
}

static void write_done(void *ctx, uint64_t id UNUSED, int status, int64_t now)
{
    struct aggregation *self = ctx;
    self->flight = false;
    self->due = status >= 200 && status < 300 ? 0 : now + RETRY;
}

static int64_t next(const void *ctx)
{
    const struct aggregation *self = ctx;
    return self->flight ? INT64_MAX : self->due;
}

const struct component aggregation_component = {
    .name = "clusterrole-aggregation-controller",
    .user = "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
    .is_controller = true,
    .make = make,
    .free = end,
    .changed = changed,
    .run = run,
    .write_done = write_done,
    .next = next,
};
