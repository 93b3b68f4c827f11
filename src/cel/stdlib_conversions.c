/* SPDX-License-Identifier: Apache-2.0 */
/* type() dyn() bool() bytes() double() int() string() uint() duration() timestamp(), and contains,
 * startsWith, endsWith. */
#include <ctype.h>
#include <math.h>

#include "base/go_text.h"
#include "base/num.h"
#include "base/time.h"
#include "cel/literal.h"
#include "cel/stdlib.h"
#include "codec/utf8.h"

static struct cel_value text_error(const char *text)
{
    return (struct cel_value){.kind = CEL_ERROR, .s = str_of(text)};
}

static struct cel_value not_convertible(const struct cel_call *call)
{
    struct str from = cel_type_of(call->args[0])->name, to = call->overload->result->name;
    return cel_error(call->eval->arena, "type conversion error from '%.*s' to '%.*s'",
                     STR_ARG(from), STR_ARG(to));
}

static struct cel_value identity(const struct cel_call *call)
{
    return call->args[0];
}

static struct cel_value type_of(const struct cel_call *call)
{
    return cel_type_value(cel_type_of(call->args[0]));
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Go's ParseUint(s, 10, 64): digits only. */
static bool parse_digits(struct str s, uint64_t *ret)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!isdigit((unsigned char)s.p[i]))
            return false;
    }
    return s.n > 0 && cel_parse_uint(s, ret);
}

static struct cel_value string_to_int(const struct cel_call *call)
{
    struct str s = call->args[0].s;
    bool negative = s.n > 0 && s.p[0] == '-';
    uint64_t magnitude;
    if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_slice(s, 1, s.n);
    if (!parse_digits(s, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return not_convertible(call);
    return cel_int((int64_t)(negative ? -magnitude : magnitude));
}

static struct cel_value string_to_uint(const struct cel_call *call)
{
    uint64_t u;
    return parse_digits(call->args[0].s, &u) ? cel_uint(u) : not_convertible(call);
}

static struct cel_value string_to_double(const struct cel_call *call)
{
    double d;
    return cel_parse_go_float(call->args[0].s, &d) ? cel_double(d) : not_convertible(call);
}

static struct cel_value string_to_bool(const struct cel_call *call)
{
    bool b;
    return str_to_bool(call->args[0].s, &b) ? cel_bool(b) : not_convertible(call);
}

static struct cel_value double_to_int(const struct cel_call *call)
{
    double d = call->args[0].d;
    return d > -0x1p63 && d < 0x1p63 ? cel_int((int64_t)d) : text_error("integer overflow");
}

static struct cel_value double_to_uint(const struct cel_call *call)
{
    double d = call->args[0].d;
    return d >= 0 && d < 0x1p64 ? cel_uint((uint64_t)d) : text_error("unsigned integer overflow");
}

static struct cel_value uint_to_int(const struct cel_call *call)
{
    uint64_t u = call->args[0].u;
    return u <= INT64_MAX ? cel_int((int64_t)u) : text_error("integer overflow");
}

static struct cel_value int_to_uint(const struct cel_call *call)
{
    int64_t i = call->args[0].i;
    return i >= 0 ? cel_uint((uint64_t)i) : text_error("unsigned integer overflow");
}

static struct cel_value int_to_double(const struct cel_call *call)
{
    return cel_double((double)call->args[0].i);
}

static struct cel_value uint_to_double(const struct cel_call *call)
{
    return cel_double((double)call->args[0].u);
}

static struct cel_value duration_to_int(const struct cel_call *call)
{
    return cel_int(call->args[0].i);
}

static struct cel_value timestamp_to_int(const struct cel_call *call)
{
    return cel_int(call->args[0].sec);
}

/* --- texts ------------------------------------------------------------------------------------ */

static struct cel_value string_to_bytes(const struct cel_call *call)
{
    return cel_bytes(call->args[0].s);
}

static struct cel_value bytes_to_string(const struct cel_call *call)
{
    struct str s = call->args[0].s;
    return utf8_valid(s) ? cel_string(s)
                         : text_error("invalid UTF-8 in bytes, cannot convert to string");
}

static struct cel_value to_string(const struct cel_call *call)
{
    struct cel_value v = call->args[0];
    struct buf text = BUF_INIT;
    if (v.kind == CEL_DURATION)
        cel_duration_write(v, &text);
    else if (v.kind == CEL_TIMESTAMP)
        cel_timestamp_write(v, &text);
    else
        cel_value_write(v, &text);
    struct cel_value s = cel_string(arena_dup(call->eval->arena, buf_str(&text)));
    buf_release(&text);
    return s;
}

/* --- times ------------------------------------------------------------------------------------ */

static struct cel_value string_to_duration(const struct cel_call *call)
{
    int64_t ns;
    return duration_parse(call->args[0].s, &ns) ? cel_duration(ns) : not_convertible(call);
}

#define UNIX_MIN (-62135596800)
#define UNIX_MAX 253402300799

static struct cel_value string_to_timestamp(const struct cel_call *call)
{
    struct timestamp t;
    struct str s = call->args[0].s;
    if (!timestamp_parse(s, &t))
        return not_convertible(call);
    if (t.sec < UNIX_MIN || t.sec > UNIX_MAX)
        return text_error("timestamp overflow");
    struct cel_value v = cel_timestamp(t.sec, t.nsec);
    if (s.p[s.n - 1] != 'Z' && s.n > 6) {
        const char *zone = s.p + s.n - 6; /* +hh:mm */
        int32_t seconds = ((zone[1] - '0') * 10 + zone[2] - '0') * 3600 +
                          ((zone[4] - '0') * 10 + zone[5] - '0') * 60;
        v.zone = zone[0] == '-' ? -seconds : seconds;
    }
    return v;
}

static struct cel_value int_to_timestamp(const struct cel_call *call)
{
    int64_t i = call->args[0].i;
    return i < UNIX_MIN || i > UNIX_MAX ? text_error("timestamp overflow") : cel_timestamp(i, 0);
}

/* --- contains, startsWith, endsWith ----------------------------------------------------------- */

static bool both_strings(const struct cel_call *call)
{
    return call->args[0].kind == CEL_STRING && call->args[1].kind == CEL_STRING;
}

static struct cel_value contains(const struct cel_call *call)
{
    if (!both_strings(call))
        return cel_no_such_overload();
    struct str s = call->args[0].s, part = call->args[1].s;
    return cel_bool(part.n == 0 || (s.n > 0 && memmem(s.p, s.n, part.p, part.n) != NULL));
}

static struct cel_value starts_with(const struct cel_call *call)
{
    return both_strings(call) ? cel_bool(str_starts(call->args[0].s, call->args[1].s))
                              : cel_no_such_overload();
}

static struct cel_value ends_with(const struct cel_call *call)
{
    return both_strings(call) ? cel_bool(str_ends(call->args[0].s, call->args[1].s))
                              : cel_no_such_overload();
}

/* --- costs ------------------------------------------------------------------------------------ */

static uint64_t cost_first(const struct cel_call *call, struct cel_value result)
{
    (void)result;
    return cel_cost_scaled(cel_size_of(call->args[0]), CEL_TRAVERSAL);
}

static uint64_t cost_contains(const struct cel_call *call, struct cel_value result)
{
    return cost_first(call, result) * cel_cost_scaled(cel_size_of(call->args[1]), CEL_TRAVERSAL);
}

/* The static estimate goes by the prefix, not by the string. */
static bool estimate_affix(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    *ret = (struct cel_estimate){.cost = cel_range_scale(call->args[0].size, CEL_TRAVERSAL)};
    return true;
}

static bool estimate_contains(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    *ret = (struct cel_estimate){
        .cost = cel_range_multiply(cel_range_scale(call->target->size, CEL_TRAVERSAL),
                                   cel_range_scale(call->args[0].size, CEL_TRAVERSAL))};
    return true;
}

/* A character is one to four bytes. */
static bool estimate_to_bytes(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    struct cel_range size = call->args[0].size;
    *ret = (struct cel_estimate){.cost = cel_range_scale(size, CEL_TRAVERSAL),
                                 .sized = true,
                                 .size = {size.min, size.max * 4}};
    return true;
}

static bool estimate_to_string(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    struct cel_range size = call->args[0].size;
    *ret = (struct cel_estimate){.cost = cel_range_scale(size, CEL_TRAVERSAL),
                                 .sized = true,
                                 .size = {size.min / 4, size.max}};
    return true;
}

/* --- the table -------------------------------------------------------------------------------- */

#define TO(r, id_, a, fn_)      \
    {.function = #r,            \
     .id = (id_),               \
     .n_args = 1,               \
     .args = {&cel_##a##_type}, \
     .result = &cel_##r##_type, \
     .fn = (fn_)}
#define AFFIX(name, id_, fn_, cost_, estimate_)    \
    {.function = (name),                           \
     .id = (id_),                                  \
     .flags = CEL_MEMBER | CEL_ANY_ARGS,           \
     .n_args = 2,                                  \
     .args = {&cel_string_type, &cel_string_type}, \
     .result = &cel_bool_type,                     \
     .fn = (fn_),                                  \
     .cost = (cost_),                              \
     .estimate = (estimate_)}

static const struct cel_type type_of_a = {
    .kind = CEL_T_TYPE, .name = STR_INIT("type"), .n_params = 1, .params = {&cel_param_a}};

static const struct cel_overload overloads[] = {
    {.function = "type",
     .id = "type",
     .flags = CEL_ANY_ARGS,
     .n_args = 1,
     .args = {&cel_param_a},
     .result = &type_of_a,
     .fn = type_of},
    TO(bool, "bool_to_bool", bool, identity),
    TO(bool, "string_to_bool", string, string_to_bool),
    TO(bytes, "bytes_to_bytes", bytes, identity),
    {.function = "bytes",
     .id = "string_to_bytes",
     .n_args = 1,
     .args = {&cel_string_type},
     .result = &cel_bytes_type,
     .fn = string_to_bytes,
     .cost = cost_first,
     .estimate = estimate_to_bytes},
    TO(double, "double_to_double", double, identity),
    TO(double, "int64_to_double", int, int_to_double),
    TO(double, "string_to_double", string, string_to_double),
    TO(double, "uint64_to_double", uint, uint_to_double),
    TO(duration, "duration_to_duration", duration, identity),
    /* Upstream declares it, but the conversion always fails. */
    TO(duration, "int64_to_duration", int, not_convertible),
    TO(duration, "string_to_duration", string, string_to_duration),
    {.function = "dyn",
     .id = "to_dyn",
     .flags = CEL_ANY_ARGS,
     .n_args = 1,
     .args = {&cel_param_a},
     .result = &cel_dyn_type,
     .fn = identity},
    TO(int, "int64_to_int64", int, identity),
    TO(int, "double_to_int64", double, double_to_int),
    TO(int, "duration_to_int64", duration, duration_to_int),
    TO(int, "string_to_int64", string, string_to_int),
    TO(int, "timestamp_to_int64", timestamp, timestamp_to_int),
    TO(int, "uint64_to_int64", uint, uint_to_int),
    TO(string, "string_to_string", string, identity),
    TO(string, "bool_to_string", bool, to_string),
    {.function = "string",
     .id = "bytes_to_string",
     .n_args = 1,
     .args = {&cel_bytes_type},
     .result = &cel_string_type,
     .fn = bytes_to_string,
     .cost = cost_first,
     .estimate = estimate_to_string},
    TO(string, "double_to_string", double, to_string),
    TO(string, "duration_to_string", duration, to_string),
    TO(string, "int64_to_string", int, to_string),
    TO(string, "timestamp_to_string", timestamp, to_string),
    TO(string, "uint64_to_string", uint, to_string),
    TO(timestamp, "timestamp_to_timestamp", timestamp, identity),
    TO(timestamp, "int64_to_timestamp", int, int_to_timestamp),
    TO(timestamp, "string_to_timestamp", string, string_to_timestamp),
    TO(uint, "uint64_to_uint64", uint, identity),
    TO(uint, "double_to_uint64", double, double_to_uint),
    TO(uint, "int64_to_uint64", int, int_to_uint),
    TO(uint, "string_to_uint64", string, string_to_uint),
    AFFIX("contains", "contains_string", contains, cost_contains, estimate_contains),
    AFFIX("endsWith", "ends_with_string", ends_with, cost_first, estimate_affix),
    AFFIX("startsWith", "starts_with_string", starts_with, cost_first, estimate_affix),
};

const struct cel_library cel_lib_conversions = {.overloads = overloads, .n = ARRAY_LEN(overloads)};
