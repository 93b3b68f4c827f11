/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/json_fields.h"

const struct json_value *json_get_list(const struct json_value *v, struct str key)
{
    static const struct json_value none = {.kind = JSON_ARRAY};
    const struct json_value *found = json_get(v, key);
    return found && found->kind == JSON_ARRAY ? found : &none;
}

int64_t json_get_int(const struct json_value *v, struct str key)
{
    const struct json_value *found = json_get(v, key);
    uint64_t number;
    if (!found || found->kind != JSON_NUMBER || !str_to_u64(found->text, &number))
        return 0;
    return (int64_t)MIN(number, (uint64_t)INT32_MAX);
}
