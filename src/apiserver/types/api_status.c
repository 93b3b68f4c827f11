/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/types/api_status.h"

/* --- the Status object ------------------------------------------------------------------------ */

static void add_member(struct buf *out, const char *name, struct str value)
{
    if (str_empty(value))
        return;
    if (out->n > 0 && out->p[out->n - 1] != '{')
        buf_add_char(out, ',');
    buf_add_printf(out, "\"%s\":", name);
    json_write_str(out, value);
}

static bool has_details(const struct api_status *s)
{
    return s->n_causes > 0 || s->retry_after > 0 || !str_empty(s->name) || !str_empty(s->group) ||
           !str_empty(s->kind) || !str_empty(s->uid);
}

static void write_causes(const struct api_status *s, struct buf *out)
{
    buf_add_cstr(out, out->p[out->n - 1] == '{' ? "\"causes\":[" : ",\"causes\":[");
    for (size_t i = 0; i < s->n_causes; i++) {
        buf_add_cstr(out, i ? ",{" : "{");
        add_member(out, "reason", s->causes[i].reason);
        add_member(out, "message", s->causes[i].message);
        add_member(out, "field", s->causes[i].field);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

void api_status_write(const struct api_status *status, struct buf *out)
{
    bool failed = status->code >= 400;

    buf_add_cstr(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{");
    add_member(out, "continue", status->continue_token);
    buf_add_printf(out, "},\"status\":\"%s\"", failed ? "Failure" : "Success");
    add_member(out, "message", status->message);
    add_member(out, "reason", str_of(status->reason));
    if (has_details(status)) {
        buf_add_cstr(out, ",\"details\":{");
        add_member(out, "name", status->name);
        add_member(out, "group", status->group);
        add_member(out, "kind", status->kind);
        add_member(out, "uid", status->uid);
        if (status->n_causes > 0)
            write_causes(status, out);
        if (status->retry_after > 0)
            buf_add_printf(out, "%s\"retryAfterSeconds\":%d", out->p[out->n - 1] == '{' ? "" : ",",
                           status->retry_after);
        buf_add_char(out, '}');
    }
    if (status->code > 0)
        buf_add_printf(out, ",\"code\":%d", status->code);
    buf_add_char(out, '}');
}

/* --- text ------------------------------------------------------------------------------------- */

static bool rune_prints(uint32_t rune)
{
    /* C0, C1, surrogates' replacements and the spaces that Go's %q escapes. */
    return rune >= 0x20 && rune != 0x7f && (rune < 0x80 || rune > 0xa0) && rune != 0xad &&
           rune != 0xfeff && (rune < 0x2000 || rune > 0x200f) && (rune < 0x2028 || rune > 0x202f);
}

static void quote_rune(struct buf *out, uint32_t rune, struct str bytes)
{
    static const char escaped[] = "\a\b\f\n\r\t\v", letters[] = "abfnrtv";
    const char *at = rune && rune < 0x20 ? strchr(escaped, (int)rune) : NULL;

    if (rune == '"' || rune == '\\')
        buf_add_printf(out, "\\%c", (int)rune);
    else if (at)
        buf_add_printf(out, "\\%c", letters[at - escaped]);
    else if (rune == STR_BAD_RUNE || rune < 0x20 || rune == 0x7f)
        buf_add_printf(out, "\\x%02x", (unsigned char)bytes.p[0]);
    else if (rune_prints(rune))
        buf_add_str(out, bytes);
    else
        buf_add_printf(out, rune > 0xffff ? "\\U%08x" : "\\u%04x", rune);
}

void go_quote(struct buf *out, struct str s)
{
    buf_add_char(out, '"');
    while (s.n > 0) {
        struct str before = s;
        uint32_t rune = str_next_rune(&s);

        quote_rune(out, rune, str_slice(before, 0, before.n - s.n));
    }
    buf_add_char(out, '"');
}

/* The text of a buffer in the arena; releases the buffer. */
static struct str keep(struct buf *b, struct arena *a)
{
    struct str text = arena_dup(a, buf_str(b));

    buf_release(b);
    return text;
}

struct str arena_quoted(struct arena *a, struct str s)
{
    struct buf b = BUF_INIT;

    go_quote(&b, s);
    return keep(&b, a);
}

struct str resource_qualified(const struct resource *r, struct arena *a)
{
    if (str_empty(r->group))
        return r->plural;
    return arena_printf(a, "%.*s.%.*s", STR_ARG(r->plural), STR_ARG(r->group));
}

/* --- upstream's errors ------------------------------------------------------------------------ */

static int about_resource(struct api_status *s, int code, const char *reason,
                          const struct resource *r, struct str name)
{
    *s = (struct api_status){
        .code = code, .reason = reason, .group = r->group, .kind = r->plural, .name = name};
    return code;
}

int status_not_found(struct api_status *s, const struct resource *r, struct str name,
                     struct arena *a)
{
    about_resource(s, 404, "NotFound", r, name);
    s->message = arena_printf(a, "%.*s %.*s not found", STR_ARG(resource_qualified(r, a)),
                              STR_ARG(arena_quoted(a, name)));
    return s->code;
}

int status_already_exists(struct api_status *s, const struct resource *r, struct str name,
                          struct arena *a)
{
    about_resource(s, 409, "AlreadyExists", r, name);
    s->message = arena_printf(a, "%.*s %.*s already exists", STR_ARG(resource_qualified(r, a)),
                              STR_ARG(arena_quoted(a, name)));
    return s->code;
}

int status_conflict(struct api_status *s, const struct resource *r, struct str name, struct str why,
                    struct arena *a)
{
    about_resource(s, 409, "Conflict", r, name);
    s->message = arena_printf(a, "Operation cannot be fulfilled on %.*s %.*s: %.*s",
                              STR_ARG(resource_qualified(r, a)), STR_ARG(arena_quoted(a, name)),
                              STR_ARG(why));
    return s->code;
}

int status_forbidden(struct api_status *s, const struct resource *r, struct str name,
                     struct str why, struct arena *a)
{
    about_resource(s, 403, "Forbidden", r, name);
    if (str_empty(r->plural))
        s->message = arena_printf(a, "forbidden: %.*s", STR_ARG(why));
    else if (str_empty(name))
        s->message = arena_printf(a, "%.*s is forbidden: %.*s", STR_ARG(resource_qualified(r, a)),
                                  STR_ARG(why));
    else
        s->message =
            arena_printf(a, "%.*s %.*s is forbidden: %.*s", STR_ARG(resource_qualified(r, a)),
                         STR_ARG(arena_quoted(a, name)), STR_ARG(why));
    return s->code;
}

static struct str vprint(struct arena *a, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static struct str vprint(struct arena *a, const char *fmt, va_list ap)
{
    struct buf b = BUF_INIT;

    buf_add_vprintf(&b, fmt, ap);
    return keep(&b, a);
}

int status_bad_request(struct api_status *s, struct arena *a, const char *fmt, ...)
{
    va_list ap;

    *s = (struct api_status){.code = 400, .reason = "BadRequest"};
    va_start(ap, fmt);
    s->message = vprint(a, fmt, ap);
    va_end(ap);
    return s->code;
}

static const struct {
    int code;
    const char *reason, *prefix;
} usual[] = {
    {400, "BadRequest", ""},
    {401, "Unauthorized", ""},
    {403, "Forbidden", ""},
    {404, "NotFound", ""},
    {405, "MethodNotAllowed", ""},
    {406, "NotAcceptable", ""},
    {409, "Conflict", ""},
    {410, "Expired", ""},
    {413, "RequestEntityTooLarge", "Request entity too large: "},
    {415, "UnsupportedMediaType", ""},
    {422, "Invalid", ""},
    {429, "TooManyRequests", ""},
    {500, "InternalError", "Internal error occurred: "},
    {503, "ServiceUnavailable", ""},
    {504, "Timeout", "Timeout: "},
};

int status_of(struct api_status *s, int code, struct arena *a, const char *fmt, ...)
{
    const char *prefix = "";
    struct str text;
    va_list ap;

    *s = (struct api_status){.code = code, .reason = ""};
    for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
        if (usual[i].code == code) {
            s->reason = usual[i].reason;
            prefix = usual[i].prefix;
        }
    }
    va_start(ap, fmt);
    text = vprint(a, fmt, ap);
    va_end(ap);
    s->message = *prefix ? arena_printf(a, "%s%.*s", prefix, STR_ARG(text)) : text;
    if (code == 500) {
        struct api_cause *cause = arena_new(a, struct api_cause);

        cause->message = text;
        s->causes = cause;
        s->n_causes = 1;
    }
    return code;
}

/* --- field errors ----------------------------------------------------------------------------- */

struct field_path field_child(const struct field_path *parent, const char *name)
{
    return (struct field_path){.parent = parent, .name = str_of(name), .index = SIZE_MAX};
}

struct field_path field_index(const struct field_path *parent, size_t i)
{
    return (struct field_path){.parent = parent, .index = i};
}

struct field_path field_key(const struct field_path *parent, struct str key)
{
    return (struct field_path){.parent = parent, .key = key, .index = SIZE_MAX};
}

/* Paths are as deep as the code that walks an object: a few dozen at most. */
static void write_path(const struct field_path *path, struct buf *out)
{
    if (path->parent)
        write_path(path->parent, out);
    if (!str_empty(path->name)) {
        if (path->parent)
            buf_add_char(out, '.');
        buf_add_str(out, path->name);
    } else if (path->index != SIZE_MAX) {
        buf_add_printf(out, "[%zu]", path->index);
    } else {
        buf_add_printf(out, "[%.*s]", STR_ARG(path->key));
    }
}

static const struct {
    const char *reason, *text;
    bool has_value;
} error_types[] = {
    [FIELD_REQUIRED] = {"FieldValueRequired", "Required value", false},
    [FIELD_INVALID] = {"FieldValueInvalid", "Invalid value", true},
    [FIELD_NOT_SUPPORTED] = {"FieldValueNotSupported", "Unsupported value", true},
    [FIELD_DUPLICATE] = {"FieldValueDuplicate", "Duplicate value", true},
    [FIELD_FORBIDDEN] = {"FieldValueForbidden", "Forbidden", false},
    [FIELD_TOO_LONG] = {"FieldValueTooLong", "Too long", false},
    [FIELD_TOO_MANY] = {"FieldValueTooMany", "Too many", true},
    [FIELD_NOT_FOUND] = {"FieldValueNotFound", "Not found", true},
    [FIELD_INTERNAL] = {"InternalError", "Internal error", false},
    [FIELD_TYPE_INVALID] = {"FieldValueTypeInvalid", "Invalid value", true},
    [FIELD_TOO_FEW] = {"FieldValueTooFew", "Too few", true},
    [FIELD_TOO_SHORT] = {"FieldValueTooShort", "Too short", false},
};

const struct json_value field_value_omitted = {.kind = JSON_NULL};

static void write_value(enum field_error_type type, const struct json_value *value, struct buf *out)
{
    if (value == &field_value_omitted)
        return;
    if (!value) {
        if (type != FIELD_TOO_MANY && type != FIELD_TOO_FEW)
            buf_add_cstr(out, ": null");
        return;
    }
    buf_add_cstr(out, ": ");
    if (value->kind == JSON_STRING)
        go_quote(out, value->text);
    else
        json_write(value, out);
}

void field_errors_add(struct field_errors *errors, struct api_cause cause)
{
    if (errors->n == errors->cap) {
        size_t cap = errors->cap ? errors->cap * 2 : 4;
        struct api_cause *v = arena_array(errors->arena, struct api_cause, cap);

        if (errors->n > 0)
            memcpy(v, errors->v, errors->n * sizeof(*v));
        errors->v = v;
        errors->cap = cap;
    }
    errors->v[errors->n++] = cause;
}

static void add_field_error(struct field_errors *errors, enum field_error_type type,
                            const struct field_path *path, const struct json_value *value,
                            struct str detail)
{
    struct buf field = BUF_INIT, message = BUF_INIT;

    if (path)
        write_path(path, &field);
    else
        buf_add_cstr(&field, "<nil>");
    buf_add_cstr(&message, error_types[type].text);
    if (error_types[type].has_value)
        write_value(type, value, &message);
    if (!str_empty(detail))
        buf_add_printf(&message, ": %.*s", STR_ARG(detail));
    field_errors_add(errors, (struct api_cause){str_of(error_types[type].reason),
                                                keep(&message, errors->arena),
                                                keep(&field, errors->arena)});
}

void field_error(struct field_errors *errors, enum field_error_type type,
                 const struct field_path *path, const struct json_value *value, const char *fmt,
                 ...)
{
    struct buf detail = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_add_vprintf(&detail, fmt, ap);
    va_end(ap);
    add_field_error(errors, type, path, value, buf_str(&detail));
    buf_release(&detail);
}

void field_not_supported(struct field_errors *errors, const struct field_path *path,
                         const struct json_value *value, const char *const *supported)
{
    struct buf detail = BUF_INIT;

    for (size_t i = 0; supported[i]; i++) {
        buf_add_cstr(&detail, i ? ", " : "supported values: ");
        go_quote(&detail, str_of(supported[i]));
    }
    add_field_error(errors, FIELD_NOT_SUPPORTED, path, value, buf_str(&detail));
    buf_release(&detail);
}

/*
 * The same error is written once. A client chooses how many errors there are, so they are looked up
 * in a map.
 */
static void write_errors(const struct field_errors *errors, struct buf *out)
{
    struct map seen = MAP_INIT;

    if (errors->n > 1)
        buf_add_char(out, '[');
    for (size_t i = 0; i < errors->n; i++) {
        struct str line = arena_printf(errors->arena, "%.*s: %.*s", STR_ARG(errors->v[i].field),
                                       STR_ARG(errors->v[i].message));

        if (map_get(&seen, line))
            continue;
        if (seen.n > 0)
            buf_add_cstr(out, ", ");
        map_put(&seen, line, &errors->v[i]);
        buf_add_str(out, line);
    }
    if (errors->n > 1)
        buf_add_char(out, ']');
    /* Upstream writes brackets only around several. */
    if (errors->n > 1 && seen.n == 1) {
        buf_clear(out);
        buf_add_printf(out, "%.*s: %.*s", STR_ARG(errors->v[0].field),
                       STR_ARG(errors->v[0].message));
    }
    map_release(&seen);
}

int status_invalid(struct api_status *s, struct str group, struct str kind, struct str name,
                   const struct field_errors *errors)
{
    struct arena *a = errors->arena;
    struct buf text = BUF_INIT;
    struct str quoted = arena_quoted(a, name);

    *s = (struct api_status){.code = 422,
                             .reason = "Invalid",
                             .group = group,
                             .kind = kind,
                             .name = name,
                             .causes = errors->v,
                             .n_causes = errors->n};
    write_errors(errors, &text);
    s->message = arena_printf(a, "%.*s%s%.*s %.*s is invalid%s%.*s", STR_ARG(kind),
                              str_empty(group) ? "" : ".", STR_ARG(group), STR_ARG(quoted),
                              errors->n ? ": " : "", STR_ARG(buf_str(&text)));
    buf_release(&text);
    return s->code;
}
