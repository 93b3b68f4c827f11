/* SPDX-License-Identifier: Apache-2.0 */
#include "api/schema.h"

#include "base/nearest.h"

const struct schema_kind *schema_kind_find(struct str api_version, struct str kind)
{
    for (size_t i = 0; i < n_schema_kinds; i++)
        if (str_eq(schema_kinds[i].kind, kind) && str_eq(schema_kinds[i].api_version, api_version))
            return &schema_kinds[i];
    return NULL;
}

const struct schema_kind *schema_kind_named(struct str kind)
{
    const struct schema_kind *found = NULL;
    for (size_t i = 0; i < n_schema_kinds; i++)
        if (str_eq(schema_kinds[i].kind, kind) &&
            (!found || (schema_kinds[i].type && !found->type)))
            found = &schema_kinds[i];
    return found;
}

const struct schema_kind *schema_kind_near(struct str api_version, struct str kind)
{
    struct nearest near;
    nearest_init(&near, kind);
    for (size_t i = 0; i < n_schema_kinds; i++)
        if (str_eq(schema_kinds[i].api_version, api_version))
            nearest_consider(&near, schema_kinds[i].kind);
    struct str meant = nearest_suggestion(&near);
    return meant.n ? schema_kind_find(api_version, meant) : NULL;
}
