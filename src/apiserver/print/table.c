/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/print/table.h"

#include <inttypes.h>

#include "apiserver/print/table_custom.h"
#include "apiserver/types/convert.h"

/* --- printers --------------------------------------------------------------------------------- */

static void created_at(struct cells *c, const struct column *col, struct buf *out)
{
    struct timestamp t = cell_time(json_at(c->object, col->path));
    if (t.set)
        timestamp_format(t, 0, out);
    else
        buf_add_cstr(out, "0001-01-01T00:00:00Z");
}

/* Kinds without a printer, as upstream's default. */
static const struct printer default_printer = PRINTER("", "", NAME_COLUMN,
                                                      {.name = "Created At",
                                                       .type = "date",
                                                       .description = "Time of creation.",
                                                       .text = created_at,
                                                       .path = "metadata.creationTimestamp"});

static const struct printer *find(const struct printer *printers, size_t n,
                                  const struct resource *r)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(r->plural, printers[i].plural) && str_is(r->group, printers[i].group))
            return &printers[i];
    return NULL;
}

/* Two resources with the same objects have the same table. */
static const struct printer *printer_of(const struct resource *resource)
{
    const struct resource *r = resource_stored(resource);
    const struct printer *p = find(&table_pod_printer, 1, r);
    if (!p)
        p = find(table_core_printers, n_table_core_printers, r);
    if (!p)
        p = find(table_workload_printers, n_table_workload_printers, r);
    if (!p)
        p = find(table_cluster_printers, n_table_cluster_printers, r);
    return p ? p : &default_printer;
}

/* --- heads ------------------------------------------------------------------------------------ */

static void write_head(const struct column *col, struct buf *out)
{
    buf_add_cstr(out, "{\"name\":");
    json_write_str(out, str_of(col->name));
    buf_add_printf(out, ",\"type\":\"%s\",\"format\":\"%s\",\"description\":", col->type,
                   col->format ? col->format : "");
    json_write_str(out, str_of(col->description));
    buf_add_printf(out, ",\"priority\":%d}", col->priority);
}

static void write_heads(const struct resource *r, struct buf *out)
{
    static const struct column name = NAME_COLUMN;
    const struct printer *p = printer_of(r);
    if (r->custom || r->columns) {
        write_head(&name, out);
        table_custom_heads(r, out);
        return;
    }
    for (size_t i = 0; i < p->n_columns; i++) {
        if (p->columns[i].headless)
            continue;
        if (i)
            buf_add_char(out, ',');
        write_head(&p->columns[i], out);
    }
}

static void write_list_meta(struct str resource_version, struct str continue_token,
                            int64_t remaining, struct buf *out)
{
    const char *separator = "";
    buf_add_cstr(out, "{");
    if (resource_version.n) {
        buf_add_cstr(out, "\"resourceVersion\":");
        json_write_str(out, resource_version);
        separator = ",";
    }
    if (continue_token.n) {
        buf_add_printf(out, "%s\"continue\":", separator);
        json_write_str(out, continue_token);
        separator = ",";
    }
    if (remaining >= 0)
        buf_add_printf(out, "%s\"remainingItemCount\":%" PRId64, separator, remaining);
    buf_add_cstr(out, "}");
}

void table_begin(const struct resource *r, bool with_columns, struct str resource_version,
                 struct str continue_token, int64_t remaining, struct buf *out)
{
    buf_add_cstr(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
    write_list_meta(resource_version, continue_token, remaining, out);
    buf_add_cstr(out, ",\"columnDefinitions\":");
    if (with_columns) {
        buf_add_char(out, '[');
        write_heads(r, out);
        buf_add_char(out, ']');
    } else {
        buf_add_cstr(out, "null");
    }
    buf_add_cstr(out, ",\"rows\":[");
}

void table_end(struct buf *out)
{
    buf_add_cstr(out, "]}");
}

/* --- rows ------------------------------------------------------------------------------------- */

static void write_cells(struct cells *c, const struct printer *p, struct buf *out)
{
    for (size_t i = 0; i < p->n_columns; i++) {
        const struct column *col = &p->columns[i];
        if (i)
            buf_add_char(out, ',');
        if (col->json) {
            col->json(c, col, out);
            continue;
        }
        buf_clear(&c->text);
        col->text(c, col, &c->text);
        json_write_str(out, buf_str(&c->text));
    }
}

static void write_object(const struct json_value *object, enum table_object what, struct buf *out)
{
    const struct json_value *metadata = json_get(object, STR("metadata"));
    switch (what) {
    case TABLE_OBJECT_NONE:
        buf_add_cstr(out, "null");
        break;
    case TABLE_OBJECT_FULL:
        json_write(object, out);
        break;
    case TABLE_OBJECT_METADATA:
        buf_add_cstr(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                          "\"metadata\":");
        if (metadata)
            json_write(metadata, out);
        else
            buf_add_cstr(out, "{}");
        buf_add_char(out, '}');
        break;
    }
}

void table_row(const struct resource *r, const struct json_value *object, enum table_object what,
               int64_t now, struct buf *out)
{
    const struct printer *p = printer_of(r);
    struct cells c = {.object = object, .now = now};
    struct json_value converted;
    arena_init(&c.arena, 0);
    if (r->stored && !r->custom) {
        converted = convert_object(r, r->stored, object, &c.arena);
        c.object = &converted;
    }
    buf_add_cstr(out, "{\"cells\":[");
    if (r->custom || r->columns)
        table_custom_cells(&c, r, out);
    else
        write_cells(&c, p, out);
    buf_add_char(out, ']');
    if (p->conditions) {
        buf_clear(&c.text);
        p->conditions(&c, NULL, &c.text);
        if (c.text.n)
            buf_add_cstr(out, ",\"conditions\":");
        buf_add_str(out, buf_str(&c.text));
    }
    buf_add_cstr(out, ",\"object\":");
    write_object(object, what, out);
    buf_add_char(out, '}');
    buf_release(&c.text);
    arena_release(&c.arena);
}
