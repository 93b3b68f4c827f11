/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream's default table: name and time of creation. */
#include "apiserver/print/table.h"

#include "codec/json_edit.h"

void table_begin(const struct resource *r, bool with_columns, struct str resource_version,
                 struct str continue_token, int64_t remaining, struct buf *out)
{
    (void)r;
    buf_add_cstr(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{");
    buf_add_printf(out, "\"resourceVersion\":\"%.*s\"", STR_ARG(resource_version));
    if (!str_empty(continue_token))
        buf_add_printf(out, ",\"continue\":\"%.*s\"", STR_ARG(continue_token));
    if (remaining >= 0)
        buf_add_printf(out, ",\"remainingItemCount\":%lld", (long long)remaining);
    buf_add_cstr(out, "},\"columnDefinitions\":[");
    if (with_columns)
        buf_add_cstr(out, "{\"name\":\"Name\",\"type\":\"string\",\"format\":\"name\","
                          "\"description\":\"\",\"priority\":0},{\"name\":\"Created At\","
                          "\"type\":\"date\",\"format\":\"\",\"description\":\"\",\"priority\":0}");
    buf_add_cstr(out, "],\"rows\":[");
}

void table_row(const struct resource *r, const struct json_value *object, enum table_object what,
               int64_t now, struct buf *out)
{
    const struct json_value *meta = json_get(object, STR("metadata"));

    (void)r, (void)now;
    buf_add_cstr(out, "{\"cells\":[");
    json_write_str(out, json_text_at(object, "metadata.name"));
    buf_add_char(out, ',');
    json_write_str(out, json_text_at(object, "metadata.creationTimestamp"));
    buf_add_char(out, ']');
    if (what != TABLE_OBJECT_NONE)
        buf_add_cstr(out, ",\"object\":");
    if (what == TABLE_OBJECT_FULL) {
        json_write(object, out);
    } else if (what == TABLE_OBJECT_METADATA && meta) {
        buf_add_cstr(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                          "\"metadata\":");
        json_write(meta, out);
        buf_add_char(out, '}');
    }
    buf_add_char(out, '}');
}

void table_end(struct buf *out)
{
    buf_add_cstr(out, "]}");
}
