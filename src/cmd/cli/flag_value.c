/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of flags: how to parse and format a value, and the name of its type in help. */
#include <arpa/inet.h>

#include "base/log.h"
#include "base/time.h"
#include "cmd/cli/flags.h"

/* --- parsing ---------------------------------------------------------------------------------- */

static int set_str(void *value, const char *text, struct err *reterr)
{
    (void)reterr;
    *(const char **)value = text;
    return 0;
}

static int set_bool(void *value, const char *text, struct err *reterr)
{
    return go_parse_bool(str_of(text), value, reterr);
}

static int set_int(void *value, const char *text, struct err *reterr)
{
    return go_parse_int(str_of(text), 64, value, reterr);
}

static int set_int32(void *value, const char *text, struct err *reterr)
{
    int64_t wide;
    int r = go_parse_int(str_of(text), 32, &wide, reterr);
    if (r == 0)
        *(int32_t *)value = (int32_t)wide;
    return r;
}

static int set_float(void *value, const char *text, struct err *reterr)
{
    return go_parse_float32(str_of(text), value, reterr);
}

static int set_duration(void *value, const char *text, struct err *reterr)
{
    return go_parse_duration(str_of(text), value, reterr);
}

static int set_ip(void *value, const char *text, struct err *reterr)
{
    unsigned char address[sizeof(struct in6_addr)];
    if (!*text) /* upstream keeps the default */
        return 0;
    if (inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1)
        return set_str(value, text, reterr);
    struct buf quoted = BUF_INIT;
    log_quote(&quoted, str_of(text));
    int r = err_set(reterr, -EINVAL, "failed to parse IP: %s", buf_cstr(&quoted));
    buf_release(&quoted);
    return r;
}

static int set_strings(void *value, const char *text, struct err *reterr)
{
    struct flag_strings *strings = value;
    struct go_strings list = strings->changed ? strings->list : (struct go_strings){0};
    int r = go_parse_csv(str_of(text), strings->arena, &list, reterr);
    if (r < 0)
        return r;
    strings->list = list;
    strings->changed = true;
    return 0;
}

static int set_int32s(void *value, const char *text, struct err *reterr)
{
    struct flag_int32s *list = value;
    struct str rest = str_of(text), one;
    size_t kept = list->changed ? list->n : 0, more = 1;
    for (size_t i = 0; i < rest.n; i++)
        more += rest.p[i] == ',';
    int32_t *v = arena_array(list->arena, int32_t, kept + more);
    if (kept)
        memcpy(v, list->v, kept * sizeof(*v));
    for (size_t n = kept; str_split(&rest, ',', &one); n++) {
        int64_t wide;
        int r = go_parse_int(one, 32, &wide, reterr);
        if (r < 0)
            return r;
        v[n] = (int32_t)wide;
    }
    list->v = v;
    list->n = kept + more;
    list->changed = true;
    return 0;
}

/* Moves the last element to index `at`. */
static void move_last(struct go_strings *list, size_t at)
{
    struct str last = list->v[list->n - 1];
    memmove(&list->v[at + 1], &list->v[at], (list->n - 1 - at) * sizeof(*list->v));
    list->v[at] = last;
}

static void map_put(struct flag_map *map, struct str key, struct str value)
{
    size_t at = 0;
    while (at < map->keys.n && str_cmp(map->keys.v[at], key) < 0)
        at++;
    if (at < map->keys.n && str_eq(map->keys.v[at], key)) {
        map->values.v[at] = arena_dup(map->arena, value);
        return;
    }
    go_strings_push(&map->keys, map->arena, key);
    go_strings_push(&map->values, map->arena, value);
    move_last(&map->keys, at);
    move_last(&map->values, at);
}

/* As pflag: commas separate pairs only if there are several '='; else they belong to the value. */
static int set_map(void *value, const char *text, struct err *reterr)
{
    struct flag_map *map = value, next = {.arena = map->arena};
    struct go_strings pairs = {0};
    const char *equals = strchr(text, '=');
    if (map->changed)
        next = *map;
    struct str one = str_of(text);
    if (equals && strchr(equals + 1, '=')) {
        int r = go_parse_csv(one, map->arena, &pairs, reterr);
        if (r < 0)
            return r;
    } else {
        while (equals && one.n && one.p[0] == '"')
            one = str_slice(one, 1, one.n);
        while (equals && one.n && one.p[one.n - 1] == '"')
            one = str_slice(one, 0, one.n - 1);
        go_strings_push(&pairs, map->arena, one);
    }
    for (size_t i = 0; i < pairs.n; i++) {
        struct str pair = pairs.v[i];
        size_t at = str_find(pair, '=');
        if (at == pair.n)
            return err_set(reterr, -EINVAL, "%.*s must be formatted as key=value", STR_ARG(pair));
        map_put(&next, str_slice(pair, 0, at), str_slice(pair, at + 1, pair.n));
    }
    next.changed = true;
    *map = next;
    return 0;
}

static int set_custom(void *value, const char *text, struct err *reterr)
{
    const struct flag_custom *custom = value;
    return custom->set(custom->to, str_of(text), reterr);
}

/* --- formatting ------------------------------------------------------------------------------- */

static void write_str(const void *value, struct buf *out)
{
    buf_add_cstr(out, *(const char *const *)value ? *(const char *const *)value : "");
}

static void write_bool(const void *value, struct buf *out)
{
    buf_add_cstr(out, *(const bool *)value ? "true" : "false");
}

static void write_int(const void *value, struct buf *out)
{
    buf_add_printf(out, "%lld", (long long)*(const int64_t *)value);
}

static void write_int32(const void *value, struct buf *out)
{
    buf_add_printf(out, "%d", *(const int32_t *)value);
}

static void write_float(const void *value, struct buf *out)
{
    go_format_float32(*(const float *)value, out);
}

static void write_duration(const void *value, struct buf *out)
{
    duration_format(*(const int64_t *)value, out);
}

static void write_strings(const void *value, struct buf *out)
{
    buf_add_char(out, '[');
    go_format_csv(&((const struct flag_strings *)value)->list, out);
    buf_add_char(out, ']');
}

static void write_int32s(const void *value, struct buf *out)
{
    const struct flag_int32s *list = value;
    buf_add_char(out, '[');
    for (size_t i = 0; i < list->n; i++)
        buf_add_printf(out, "%s%d", i ? "," : "", list->v[i]);
    buf_add_char(out, ']');
}

static void write_map(const void *value, struct buf *out)
{
    const struct flag_map *map = value;
    struct arena arena;
    struct go_strings pairs = {0};
    arena_init(&arena, 0);
    for (size_t i = 0; i < map->keys.n; i++)
        go_strings_push(
            &pairs, &arena,
            arena_printf(&arena, "%.*s=%.*s", STR_ARG(map->keys.v[i]), STR_ARG(map->values.v[i])));
    buf_add_char(out, '[');
    go_format_csv(&pairs, out);
    buf_add_char(out, ']');
    arena_release(&arena);
}

static void write_custom(const void *value, struct buf *out)
{
    const struct flag_custom *custom = value;
    if (custom->write)
        custom->write(custom->to, out);
}

/* --- the kinds -------------------------------------------------------------------------------- */

static const struct {
    const char *type; /* in help; NULL: none */
    int (*set)(void *value, const char *text, struct err *reterr);
    void (*write)(const void *value, struct buf *out);
    const char *zero; /* a default that help does not show */
} kinds[FLAG_KINDS] = {
    [FLAG_STR] = {"string", set_str, write_str, ""},
    [FLAG_BOOL] = {NULL, set_bool, write_bool, "false"},
    [FLAG_INT] = {"int", set_int, write_int, "0"},
    [FLAG_INT32] = {"int32", set_int32, write_int32, "0"},
    [FLAG_FLOAT] = {"float32", set_float, write_float, "0"},
    [FLAG_DURATION] = {"duration", set_duration, write_duration, "0s"},
    [FLAG_IP] = {"ip", set_ip, write_str, ""},
    [FLAG_STRINGS] = {"strings", set_strings, write_strings, "[]"},
    [FLAG_INT32S] = {"int32Slice", set_int32s, write_int32s, ""},
    [FLAG_MAP] = {"stringToString", set_map, write_map, ""},
    [FLAG_CUSTOM] = {"value", set_custom, write_custom, ""},
};

const char *flag_type(const struct flag *flag)
{
    return flag->metavar ? flag->metavar : kinds[flag->kind].type;
}

int flag_set_value(const struct flag *flag, const char *text, struct err *reterr)
{
    return kinds[flag->kind].set(flag->value, text, reterr);
}

void flag_write_value(const struct flag *flag, struct buf *out)
{
    kinds[flag->kind].write(flag->value, out);
}

bool flag_is_zero(const struct flag *flag)
{
    struct buf text = BUF_INIT;
    flag_write_value(flag, &text);
    bool zero = str_is(buf_str(&text), kinds[flag->kind].zero) || text.n == 0 ||
                (flag->kind == FLAG_CUSTOM &&
                 (str_is(buf_str(&text), "0") || str_is(buf_str(&text), "false")));
    buf_release(&text);
    return zero;
}
