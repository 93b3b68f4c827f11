/* SPDX-License-Identifier: Apache-2.0 */
/* Values in messages, as Go's fmt shows upstream's. */
#include "base/num.h"
#include "base/time.h"
#include "cel/value.h"

/* Lists and maps in a message are cut after so many elements; the message is cut as well. */
#define SHOWN_MAX 1000u

static void write_list(const struct cel_list *list, struct buf *out)
{
    buf_add_char(out, '[');
    for (uint64_t i = 0; i < list->n && i < SHOWN_MAX && !out->overflow; i++) {
        if (i > 0)
            buf_add_cstr(out, ", ");
        cel_value_write(cel_list_at(list, i), out);
    }
    buf_add_char(out, ']');
}

static void write_map(const struct cel_map *map, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < map->n && i < SHOWN_MAX && !out->overflow; i++) {
        if (i > 0)
            buf_add_cstr(out, ", ");
        cel_value_write(map->entries[i].key, out);
        buf_add_cstr(out, ": ");
        cel_value_write(map->entries[i].value, out);
    }
    buf_add_char(out, '}');
}

static void write_bytes(struct str s, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < s.n && !out->overflow; i++)
        buf_add_printf(out, "%s%u", i > 0 ? " " : "", (unsigned char)s.p[i]);
    buf_add_char(out, ']');
}

void cel_value_write(struct cel_value v, struct buf *out)
{
    switch (v.kind) {
    case CEL_NULL:
        buf_add_cstr(out, "0"); /* of an enum in Go */
        return;
    case CEL_BOOL:
        buf_add_cstr(out, v.b ? "true" : "false");
        return;
    case CEL_INT:
        buf_add_printf(out, "%lld", (long long)v.i);
        return;
    case CEL_UINT:
        buf_add_printf(out, "%llu", (unsigned long long)v.u);
        return;
    case CEL_DOUBLE:
        num_format(v.d, NUM_STYLE_G, out);
        return;
    case CEL_STRING:
    case CEL_ERROR:
        buf_add_str(out, v.s);
        return;
    case CEL_BYTES:
        write_bytes(v.s, out);
        return;
    case CEL_DURATION:
        duration_format(v.i, out);
        return;
    case CEL_TIMESTAMP:
        timestamp_format((struct timestamp){v.sec, v.nsec, true}, 0, out);
        return;
    case CEL_LIST:
        write_list(v.list, out);
        return;
    case CEL_MAP:
        write_map(v.map, out);
        return;
    case CEL_TYPE:
        cel_type_write_declared(v.type, out);
        return;
    case CEL_OPTIONAL:
        buf_add_cstr(out, v.optional ? "optional(" : "optional.none()");
        if (v.optional) {
            cel_value_write(*v.optional, out);
            buf_add_char(out, ')');
        }
        return;
    case CEL_OBJECT:
        buf_add_str(out, v.object->class->type->name);
    }
}

static void write_offset(int32_t zone, struct buf *out)
{
    if (zone == 0) {
        buf_add_char(out, 'Z');
        return;
    }
    int32_t minutes = (zone < 0 ? -zone : zone) / 60;
    buf_add_printf(out, "%c%02d:%02d", zone < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

void cel_timestamp_write(struct cel_value v, struct buf *out)
{
    struct timestamp t = {v.sec + v.zone, v.nsec, true};
    size_t from = out->n;
    timestamp_format(t, v.nsec ? 9 : 0, out);
    out->n--; /* Z */
    if (v.nsec) {
        while (out->n > from && out->p[out->n - 1] == '0')
            out->n--;
    }
    write_offset(v.zone, out);
}

void cel_duration_write(struct cel_value v, struct buf *out)
{
    int64_t seconds = v.i / NSEC_PER_SEC, rest = v.i % NSEC_PER_SEC;
    num_format((double)seconds + (double)rest / 1e9, NUM_STYLE_F, out);
    buf_add_char(out, 's');
}

/* The Go types of the objects of Kubernetes. */
static struct str object_type(const struct cel_type *type)
{
    static const struct {
        const char *name;
        struct str go;
    } types[] = {
        {"kubernetes.Quantity", STR_INIT("cel.Quantity")},
        {"kubernetes.Semver", STR_INIT("cel.Semver")},
        {"kubernetes.URL", STR_INIT("cel.URL")},
        {"net.IP", STR_INIT("cel.IP")},
        {"net.CIDR", STR_INIT("cel.CIDR")},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_is(type->name, types[i].name))
            return types[i].go;
    }
    return STR("*cel.Format");
}

/* cel.Semver; kubernetes.NamedFormat is cel.Format there. */
static struct str go_type_of_object(const struct cel_object *o)
{
    static const struct {
        const char *name, *go;
    } types[] = {
        {"kubernetes.Quantity", "cel.Quantity"},
        {"kubernetes.Semver", "cel.Semver"},
        {"kubernetes.URL", "cel.URL"},
        {"kubernetes.NamedFormat", "cel.Format"},
        {"net.IP", "cel.IP"},
        {"net.CIDR", "cel.CIDR"},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_is(o->class->type->name, types[i].name))
            return str_of(types[i].go);
    }
    return STR("cel.Object");
}

struct str cel_go_type(struct cel_value v)
{
    if (v.kind == CEL_OBJECT)
        return go_type_of_object(v.object);
    if (v.kind == CEL_OBJECT)
        return object_type(v.object->class->type);
    static const struct str names[] = {
        [CEL_NULL] = STR_INIT("types.Null"),
        [CEL_BOOL] = STR_INIT("types.Bool"),
        [CEL_INT] = STR_INIT("types.Int"),
        [CEL_UINT] = STR_INIT("types.Uint"),
        [CEL_DOUBLE] = STR_INIT("types.Double"),
        [CEL_STRING] = STR_INIT("types.String"),
        [CEL_BYTES] = STR_INIT("types.Bytes"),
        [CEL_DURATION] = STR_INIT("types.Duration"),
        [CEL_TIMESTAMP] = STR_INIT("types.Timestamp"),
        [CEL_LIST] = STR_INIT("*types.baseList"),
        [CEL_MAP] = STR_INIT("*types.baseMap"),
        [CEL_TYPE] = STR_INIT("*types.Type"),
        [CEL_OPTIONAL] = STR_INIT("*types.Optional"),

        [CEL_ERROR] = STR_INIT("*types.Err"),
    };
    return names[v.kind];
}
