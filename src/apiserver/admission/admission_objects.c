/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_objects.c - what admission plugins use: refusals, other objects, parts of trees.
 */
#include <stdarg.h>

#include "apiserver/admission/admission_internal.h"

/* --- requests --------------------------------------------------------------------------------- */

bool admission_is(const struct admission *adm, const char *group, const char *plural)
{
    return str_is(adm->resource->plural, plural) && str_is(adm->resource->group, group);
}

bool admission_is_pod(const struct admission *adm)
{
    return str_empty(adm->subresource) && admission_is(adm, "", "pods");
}

int admission_forbid(const struct admission *adm, struct api_status *ret_status, const char *fmt,
                     ...)
{
    struct buf why = BUF_INIT;
    va_list args;
    va_start(args, fmt);
    buf_add_vprintf(&why, fmt, args);
    va_end(args);
    /* Before a name is generated there is only its beginning. */
    struct str name = adm->name;
    if (str_empty(name))
        name = json_text_at(adm->object, "metadata.name");
    if (str_empty(name))
        name = json_text_at(adm->object, "metadata.generateName");
    if (str_empty(name))
        name = STR("Unknown");
    int code = status_forbidden(ret_status, adm->resource, name,
                                arena_dup(adm->arena, buf_str(&why)), adm->arena);
    buf_release(&why);
    return code;
}

/* --- other objects ---------------------------------------------------------------------------- */

const struct resource *admission_resource(const struct admission *adm, const char *group,
                                          const char *plural)
{
    const struct resource *r = resources_named(adm->resources, str_of(group), str_of(plural));
    return r ? resource_stored(r) : NULL;
}

static const struct revision *find(const struct admission *adm, const char *group,
                                   const char *plural, struct str namespace, struct str name)
{
    const struct resource *r = admission_resource(adm, group, plural);
    return r ? snapshot_get(adm->snapshot, r, namespace, name) : NULL;
}

const struct json_value *admission_parse(const struct admission *adm, const struct revision *rev)
{
    struct json_value *v = arena_new(adm->arena, struct json_value);
    if (json_parse(rev->text, 0, adm->arena, v, NULL) < 0)
        *v = json_object();
    return v;
}

const struct json_value *admission_get(const struct admission *adm, const char *group,
                                       const char *plural, struct str namespace, struct str name)
{
    const struct revision *rev = find(adm, group, plural, namespace, name);
    return rev ? admission_parse(adm, rev) : NULL;
}

void admission_range_init(struct admission_range *range, const struct admission *adm,
                          const char *group, const char *plural, struct str namespace,
                          struct str with)
{
    const struct resource *r = admission_resource(adm, group, plural);
    range->adm = adm;
    range->with = with;
    range->served = r != NULL;
    if (r)
        store_range_init(&range->range, adm->snapshot, r, namespace, NULL);
}

const struct revision *admission_range_next(struct admission_range *range)
{
    const struct revision *rev = range->served ? store_range_next(&range->range) : NULL;
    while (rev && str_search(rev->text, range->with) == rev->text.n)
        rev = store_range_next(&range->range);
    return rev;
}

/* --- trees ------------------------------------------------------------------------------------ */

struct str json_annotation(const struct json_value *object, const char *name)
{
    const struct json_value *v = json_get(json_at(object, "metadata.annotations"), str_of(name));
    if (!v || v->kind != JSON_STRING)
        return (struct str){0};
    return v->text.p ? v->text : STR("");
}
