/* SPDX-License-Identifier: Apache-2.0 */
/* writes.c - what the controllers write: patches with the version they are based on, and objects.
 */
#include "apiserver/controllers/controllers_internal.h"

const char *quoted(struct controllers *c, struct str s)
{
    struct buf text = BUF_INIT;
    json_write_str(&text, s);
    const char *copy = arena_dup(&c->scratch, buf_str(&text)).p;
    buf_release(&text);
    return copy;
}

void begin_patch(struct controllers *c, const struct item *item)
{
    buf_clear(&c->body);
    buf_add_printf(&c->body, "{\"metadata\":{\"resourceVersion\":%s",
                   quoted(c, object_meta(item->object)->resource_version));
}

static void send(struct controllers *c, struct controllers_write *w, struct item *target,
                 struct item *by)
{
    struct flight *flight = xnew(struct flight);
    *flight = (struct flight){++c->next_id, target, by, target ? target->n_changes : 0};
    w->id = flight->id;
    w->body = buf_str(&c->body);
    map_put(&c->writes, map_number_key(&flight->id), flight);
    if (target)
        target->n_writes++;
    if (by && by != target)
        by->n_writes++;
    c->options.write(c->options.ctx, w);
}

void send_patch(struct controllers *c, struct item *target, struct item *by,
                const char *subresource)
{
    const struct object_meta *meta = object_meta(target->object);
    struct controllers_write w = {.verb = CONTROLLERS_PATCH,
                                  .kind = object_kind(target->object),
                                  .subresource = str_of(subresource),
                                  .namespace = meta->namespace,
                                  .name = meta->name};
    send(c, &w, target, by);
}

void send_create(struct controllers *c, const struct object *o, struct item *by)
{
    const struct object_meta *meta = object_meta(o);
    struct controllers_write w = {.verb = CONTROLLERS_CREATE,
                                  .kind = object_kind(o),
                                  .subresource = STR(""),
                                  .namespace = meta->namespace,
                                  .name = meta->name};
    buf_clear(&c->body);
    object_encode(object_kind(o), object_body(o), ENCODING_JSON, &c->body);
    send(c, &w, NULL, by);
}

void send_delete(struct controllers *c, struct item *target)
{
    const struct object_meta *meta = object_meta(target->object);
    struct controllers_write w = {.verb = CONTROLLERS_DELETE,
                                  .kind = object_kind(target->object),
                                  .subresource = STR(""),
                                  .namespace = meta->namespace,
                                  .name = meta->name};
    buf_clear(&c->body);
    buf_add_printf(
        &c->body,
        "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":%s}}",
        quoted(c, meta->uid));
    send(c, &w, target, target);
}

bool remove_finalizer(struct controllers *c, struct item *item, const char *finalizer)
{
    const struct object_meta *meta = object_meta(item->object);
    bool first = true;
    if (!has_finalizer(meta, finalizer))
        return false;
    begin_patch(c, item);
    buf_add_cstr(&c->body, ",\"finalizers\":[");
    for (size_t i = 0; i < meta->finalizers.n; i++) {
        if (str_is(meta->finalizers.v[i], finalizer))
            continue;
        buf_add_printf(&c->body, "%s%s", first ? "" : ",", quoted(c, meta->finalizers.v[i]));
        first = false;
    }
    buf_add_cstr(&c->body, "]}}");
    send_patch(c, item, item, "");
    return true;
}
