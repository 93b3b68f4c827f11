/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/extended_classes.h"

#include "api/resources.h"
#include "engine/framework/framework.h"

struct extended_class {
    char *resource, *class_name;
    struct timestamp created;
};

static void class_free(struct extended_class *c)
{
    if (!c)
        return;
    free(c->resource);
    free(c->class_name);
    free(c);
}

bool resource_may_be_devices(struct str name)
{
    return resource_is_extended(name) || str_starts(name, STR(DEVICE_CLASS_RESOURCE_PREFIX));
}

struct str extended_classes_find(const struct extended_classes *e, struct str resource)
{
    const struct extended_class *c = e ? map_get(&e->by_resource, resource) : NULL;
    return c ? str_of(c->class_name) : STR("");
}

static struct str implicit_name(struct extended_classes *e, const struct device_class *class)
{
    buf_clear(&e->key);
    buf_add_cstr(&e->key, DEVICE_CLASS_RESOURCE_PREFIX);
    buf_add_str(&e->key, class->metadata.name);
    return buf_str(&e->key);
}

static void drop(struct extended_classes *e, struct str resource)
{
    class_free(map_del(&e->by_resource, resource));
}

static void set(struct extended_classes *e, struct str resource, const struct device_class *class)
{
    struct extended_class *c = xnew(struct extended_class);
    c->resource = str_dup(resource);
    c->class_name = str_dup(class->metadata.name);
    c->created = class->metadata.creation_timestamp;
    drop(e, resource);
    map_put(&e->by_resource, str_of(c->resource), c);
}

/* Upstream removes the explicit name even if another class has taken it over. */
static void drop_both(struct extended_classes *e, const struct device_class *class)
{
    drop(e, implicit_name(e, class));
    if (!str_empty(class->spec.extended_resource_name))
        drop(e, class->spec.extended_resource_name);
}

/* Does the class that has the resource now keep it? Also true for an unchanged class. */
static bool keeps(const struct extended_classes *e, const struct device_class *class)
{
    const struct extended_class *c =
        str_empty(class->spec.extended_resource_name)
            ? NULL
            : map_get(&e->by_resource, class->spec.extended_resource_name);
    if (!c)
        return false;
    int newer = timestamp_cmp(class->metadata.creation_timestamp, c->created);
    return newer < 0 || (newer == 0 && str_cmp(class->metadata.name, str_of(c->class_name)) >= 0);
}

static void class_changed(struct extended_classes *e, const struct device_class *before,
                          const struct device_class *after)
{
    if (!after) {
        drop_both(e, before);
        return;
    }
    if (keeps(e, after))
        return; /* upstream then adds the implicit name neither */
    if (before)
        drop_both(e, before);
    if (!str_empty(after->spec.extended_resource_name))
        set(e, after->spec.extended_resource_name, after);
    set(e, implicit_name(e, after), after);
}

/* --- shared state ----------------------------------------------------------------------------- */

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    (void)host, (void)h;
    return xnew(struct extended_classes);
}

static void free_classes(void *data)
{
    struct extended_classes *e = data;
    map_each (entry, &e->by_resource)
        class_free(entry->value);
    map_release(&e->by_resource);
    buf_release(&e->key);
    free(e);
}

static const struct device_class *class_of(const struct berth_object *o)
{
    return o ? object_device_class(object_of_abi(o)) : NULL;
}

static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    if (resource == BERTH_RESOURCE_DEVICE_CLASS)
        class_changed(data, class_of(before), class_of(after));
}

static const struct berth_shared_type shared_type = {
    .struct_size = sizeof(struct berth_shared_type),
    .name = "ExtendedResourceCache",
    .make = make,
    .free = free_classes,
    .changed = changed,
};

const struct extended_classes *extended_classes_shared(const struct berth_host *host,
                                                       struct berth_handle *h)
{
    return handle_feature(h, FEATURE_DRA_EXTENDED_RESOURCE) ? host->shared(h, &shared_type) : NULL;
}
