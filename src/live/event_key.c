/* SPDX-License-Identifier: Apache-2.0 */
#include "live/event_key.h"

/*
 * Plugins choose some of these strings. A string is cut at a NUL, so that the parts stay aligned.
 */
static void add_part(struct buf *key, struct str part)
{
    buf_add_str(key, str_slice(part, 0, str_find(part, '\0')));
    buf_add_char(key, '\0');
}

static void add_reference(struct buf *key, const struct object_reference *ref)
{
    add_part(key, ref->kind);
    add_part(key, ref->namespace);
    add_part(key, ref->name);
    add_part(key, ref->uid);
    add_part(key, ref->api_version);
    add_part(key, ref->resource_version);
    add_part(key, ref->field_path);
}

void event_key_make(const struct event_info *info, struct buf *key)
{
    add_part(key, info->type);
    add_part(key, info->action);
    add_part(key, info->reason);
    add_part(key, info->reporting_controller);
    add_reference(key, &info->regarding);
    if (info->related)
        add_reference(key, info->related);
}

static struct str take_part(struct str *key)
{
    size_t end = str_find(*key, '\0');
    struct str part = str_slice(*key, 0, end);
    *key = str_slice(*key, MIN(end + 1, key->n), key->n);
    return part;
}

static struct object_reference take_reference(struct str *key)
{
    struct object_reference ref;
    ref.kind = take_part(key);
    ref.namespace = take_part(key);
    ref.name = take_part(key);
    ref.uid = take_part(key);
    ref.api_version = take_part(key);
    ref.resource_version = take_part(key);
    ref.field_path = take_part(key);
    return ref;
}

void event_key_read(struct str key, struct event *event, struct object_reference *ret_related)
{
    event->type = take_part(&key);
    event->action = take_part(&key);
    event->reason = take_part(&key);
    event->reporting_controller = take_part(&key);
    event->regarding = take_reference(&key);
    if (key.n) {
        *ret_related = take_reference(&key);
        event->related = ret_related;
    }
}
