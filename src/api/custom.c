/* SPDX-License-Identifier: Apache-2.0 */
#include "api/custom.h"

static const struct field custom_object_fields[] = {
    F_MSG(struct custom_object, metadata, "metadata", 1, struct object_meta, &object_meta_type),
};
const struct type custom_object_type =
    TYPE("CustomObject", struct custom_object, custom_object_fields);

void custom_object_write(const struct custom_object *o, struct buf *out)
{
    buf_add_cstr(out, "{\"metadata\":");
    json_encode(&object_meta_type, &o->metadata, out);
    for (size_t i = 0; i < o->value.n_members; i++) {
        const struct json_member *m = &o->value.members[i];
        if (str_is(m->key, "metadata"))
            continue;
        buf_add_char(out, ',');
        json_write_str(out, m->key);
        buf_add_char(out, ':');
        json_write(&m->value, out);
    }
    buf_add_char(out, '}');
}
