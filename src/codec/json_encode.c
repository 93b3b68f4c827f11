/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "base/num.h"
#include "codec/base64.h"
#include "codec/decode.h"
#include "codec/json_private.h"
#include "codec/json_reader.h"
#include "codec/utf8.h"

/* --- strings ---------------------------------------------------------------------------------- */

/* Bytes that are written unchanged. Bytes from 0x80 are handled as code points. */
static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

static void write_escape(struct buf *out, uint32_t c)
{
    static const char hex[] = "0123456789abcdef";
    static const char named[][2] = {['\b'] = "b", ['\t'] = "t", ['\n'] = "n", ['\f'] = "f",
                                    ['\r'] = "r", ['"'] = "\"", ['\\'] = "\\"};
    char text[6] = {'\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};
    if (c < ARRAY_LEN(named) && named[c][0]) {
        text[1] = named[c][0];
        buf_add(out, text, 2);
    } else {
        buf_add(out, text, sizeof(text));
    }
}

/* Writes the code point at p, n bytes long (0: not UTF-8). */
static void write_special(struct buf *out, const char *p, size_t n)
{
    /* U+2028 and U+2029 end a line in JavaScript; Go escapes them for that reason. */
    if (n == 0)
        write_escape(out, UTF8_REPLACEMENT);
    else if (n == 1)
        write_escape(out, (unsigned char)*p);
    else if (n == 3 && (memcmp(p, "\xE2\x80\xA8", 3) == 0 || memcmp(p, "\xE2\x80\xA9", 3) == 0))
        write_escape(out, 0x2000u | ((unsigned char)p[2] & 0x3F));
    else
        buf_add(out, p, n);
}

void json_write_str(struct buf *out, struct str s)
{
    const char *p = s.n ? s.p : "", *end = p + s.n;
    buf_add_char(out, '"');
    while (p < end) {
        const char *plain = p;
        while (p < end && is_plain((unsigned char)*p))
            p++;
        buf_add(out, plain, (size_t)(p - plain));
        if (p == end)
            break;
        size_t n = utf8_length(p, end);
        write_special(out, p, n);
        p += MAX(n, (size_t)1);
    }
    buf_add_char(out, '"');
}

/* --- scalars ---------------------------------------------------------------------------------- */

void json_write_double(struct buf *out, double value)
{
    if (isfinite(value))
        num_format(value, NUM_STYLE_JSON, out);
    else
        buf_add_cstr(out, "null");
}

static void write_bytes(struct buf *out, struct str bytes)
{
    buf_add_char(out, '"');
    base64_encode(bytes, out);
    buf_add_char(out, '"');
}

/* Raw text from protobuf may not be JSON; it must not break the surrounding text. */
static void write_raw(struct buf *out, struct str text)
{
    struct json_reader r;
    json_reader_init(&r, text, 0);
    buf_add_str(out, json_skip(&r) && json_finish(&r) ? text : STR("null"));
}

/* --- objects ---------------------------------------------------------------------------------- */

static bool write_fields(struct buf *out, const struct type *type, const char *value, bool first);

static bool write_object(struct buf *out, const struct type *type, const void *value)
{
    buf_add_char(out, '{');
    bool empty = write_fields(out, type, value, true);
    buf_add_char(out, '}');
    return !empty;
}

/* Writes one value. Returns false if it is an object without fields. */
static bool write_item(struct buf *out, const struct field *f, const void *item)
{
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
        json_write_str(out, *(const struct str *)item);
        break;
    case FIELD_BYTES:
        write_bytes(out, *(const struct str *)item);
        break;
    case FIELD_BOOL:
        buf_add_cstr(out, *(const bool *)item ? "true" : "false");
        break;
    case FIELD_INT32:
        buf_add_printf(out, "%" PRId32, *(const int32_t *)item);
        break;
    case FIELD_INT64:
        buf_add_printf(out, "%" PRId64, *(const int64_t *)item);
        break;
    case FIELD_DOUBLE:
        json_write_double(out, *(const double *)item);
        break;
    case FIELD_RAW:
        write_raw(out, *(const struct str *)item);
        break;
    case FIELD_CUSTOM:
        f->custom->to_json(item, out);
        break;
    case FIELD_MESSAGE:
        return write_object(out, f->type, item);
    }
    return true;
}

static void write_list(struct buf *out, const struct field *f, const struct any_list *list)
{
    size_t size = field_item_size(f);
    for (size_t i = 0; i < list->n; i++) {
        buf_add_char(out, i ? ',' : '[');
        write_item(out, f, (const char *)list->v + i * size);
    }
    buf_add_char(out, ']');
}

static void write_member(struct buf *out, const struct field *f, const void *member);

static void write_map(struct buf *out, const struct type *entry, const struct any_list *map)
{
    const struct field *key = entry_key(entry), *value = entry_value(entry);
    for (size_t i = 0; i < map->n; i++) {
        const char *e = (const char *)map->v + i * entry->size;
        buf_add_char(out, i ? ',' : '{');
        json_write_str(out, *(const struct str *)(const void *)(e + key->offset));
        buf_add_char(out, ':');
        write_member(out, value, e + value->offset);
    }
    buf_add_char(out, '}');
}

/* A member that is written even if it is zero: the value in a map. */
static void write_member(struct buf *out, const struct field *f, const void *member)
{
    const struct any_list *list = member;
    const void *item = f->shape == SHAPE_PTR ? *(const void *const *)member : member;
    if (f->shape == SHAPE_ONE || (f->shape == SHAPE_PTR && item))
        write_item(out, f, item);
    else if (f->shape == SHAPE_LIST && list->n)
        write_list(out, f, list);
    else if (f->shape == SHAPE_MAP && list->n)
        write_map(out, f->type, list);
    else
        buf_add_cstr(out, "null");
}

static bool is_absent(const struct field *f, const void *member)
{
    switch ((enum field_shape)f->shape) {
    case SHAPE_ONE:
        return !(f->flags & FIELD_ALWAYS) && field_item_is_zero(f, member);
    case SHAPE_PTR:
        return !(f->flags & FIELD_ALWAYS) && !*(const void *const *)member;
    default:
        return ((const struct any_list *)member)->n == 0;
    }
}

/* Writes one field with its name. Returns false, with nothing written, if it is empty. */
static bool write_field(struct buf *out, const struct field *f, const void *member, bool first)
{
    if (is_absent(f, member))
        return false;
    size_t before = out->n;
    if (!first)
        buf_add_char(out, ',');
    buf_add_char(out, '"');
    buf_add(out, f->json, f->json_len);
    buf_add(out, "\":", 2);
    if (f->shape != SHAPE_ONE) {
        write_member(out, f, member);
    } else if (!write_item(out, f, member) && !(f->flags & FIELD_ALWAYS)) {
        out->n = before;
        return false;
    }
    return true;
}

/* Returns whether the object still has no field. */
static bool write_fields(struct buf *out, const struct type *type, const char *value, bool first)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];
        if (f->flags & FIELD_INLINE)
            first = write_fields(out, f->type, value + f->offset, first);
        else
            first = !write_field(out, f, value + f->offset, first) && first;
    }
    return first;
}

void json_encode(const struct type *type, const void *value, struct buf *out)
{
    write_object(out, type, value);
}
