/* SPDX-License-Identifier: Apache-2.0 */
/* The controllers of volumes and devices (controllers/controllers.h), which work on decoded
 * objects. */
#include "apiserver/component.h"
#include "apiserver/controllers/controllers.h"

struct volume_controllers {
    struct controllers *controllers;
    struct writer writer;
};

static void write(void *ctx, const struct controllers_write *w)
{
    static const enum writer_verb verbs[] = {
        [CONTROLLERS_CREATE] = WRITER_CREATE,
        [CONTROLLERS_PATCH] = WRITER_PATCH_MERGE,
        [CONTROLLERS_DELETE] = WRITER_DELETE,
    };
    const struct volume_controllers *self = ctx;
    self->writer.write(self->writer.ctx, &(struct writer_request){
                                             .id = w->id,
                                             .verb = verbs[w->verb],
                                             .group = w->kind->group,
                                             .plural = w->kind->resource,
                                             .subresource = w->subresource,
                                             .namespace = w->namespace,
                                             .name = w->name,
                                             .body = w->body,
                                         });
}

static void *make(const struct component_options *options)
{
    struct volume_controllers *self = xnew(struct volume_controllers);
    self->writer = options->writer;
    self->controllers = controllers_new(&(struct controllers_options){
        .ctx = self,
        .write = write,
        .provisioner = {.enabled = true},
    });
    return self;
}

static void end(void *ctx)
{
    struct volume_controllers *self = ctx;
    controllers_free(self->controllers);
    free(self);
}

/* Pods without volumes of claims and without devices are most, and of no interest. */
static bool is_of_interest(const struct kind *kind, struct str text)
{
    static const struct str members[] = {STR_INIT("\"persistentVolumeClaim\""),
                                         STR_INIT("\"ephemeral\""), STR_INIT("\"resourceClaims\"")};
    if (kind->id != KIND_POD)
        return controllers_read_kind(kind->id);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (str_search(text, members[i]) < text.n)
            return true;
    return false;
}

static void changed(void *ctx, const struct store_event *event)
{
    struct volume_controllers *self = ctx;
    const struct resource *r = event->after->resource;
    const struct kind *kind = kind_find_resource(r->group, r->plural);
    struct object *object;
    if (!kind || !is_of_interest(kind, event->after->text))
        return;
    struct wire wire = {.kind = kind, .encoding = ENCODING_JSON};
    if (object_decode(&wire, event->after->text, &object, NULL) < 0)
        return; /* validation has let something through that api/ cannot read */
    if (event->change == STORE_DELETED)
        controllers_object_changed(self->controllers, object, NULL);
    else
        controllers_object_changed(self->controllers, NULL, object);
    object_unref(object);
}

static void run(void *ctx, int64_t now)
{
    controllers_run(((struct volume_controllers *)ctx)->controllers, now);
}

static void write_done(void *ctx, uint64_t id, int status, int64_t now)
{
    controllers_write_done(((struct volume_controllers *)ctx)->controllers, id, status, now);
}

static int64_t next(const void *ctx)
{
    return controllers_next(((const struct volume_controllers *)ctx)->controllers);
}

const struct component volume_component = {
    .name = "kube-controller-manager",
    .user = "system:kube-controller-manager",
    .is_controller = true,
    .make = make,
    .free = end,
    .changed = changed,
    .run = run,
    .write_done = write_done,
    .next = next,
};
