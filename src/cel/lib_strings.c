/* SPDX-License-Identifier: Apache-2.0 */
/* cel-go's strings extension, version 2. Positions count characters. format is in lib_printf.c. */
#include <inttypes.h>
#include <math.h>

#include "base/vec.h"
#include "cel/lib.h"
#include "cel/lib_printf.h"

static struct cel_value out_of_range(const struct cel_call *call, int64_t at)
{
    return cel_error(call->eval->arena, "index out of range: %" PRId64, at);
}

/* The byte at which character n begins; s.n if there are n characters or fewer. */
static size_t rune_offset(struct str s, uint64_t n)
{
    struct str rest = s;
    for (; n > 0 && rest.n > 0; n--)
        (void)str_next_rune(&rest);
    return s.n - rest.n;
}

static struct cel_value char_at(const struct cel_call *call)
{
    struct str s = call->args[0].s;
    int64_t i = call->args[1].i, n = (int64_t)cel_runes(s);
    if (i < 0 || i > n)
        return out_of_range(call, i);
    size_t from = rune_offset(s, (uint64_t)i);
    struct str rest = str_slice(s, from, s.n);
    return cel_string(str_slice(rest, 0, rune_offset(rest, 1)));
}

static struct cel_value substring(const struct cel_call *call)
{
    struct str s = call->args[0].s;
    int64_t n = (int64_t)cel_runes(s), from = call->args[1].i;
    int64_t to = call->n > 2 ? call->args[2].i : n;
    if (call->n > 2 && from > to)
        return cel_error(call->eval->arena,
                         "invalid substring range. start: %" PRId64 ", end: %" PRId64, from, to);
    if (from < 0 || from > n)
        return out_of_range(call, from);
    if (to < 0 || to > n)
        return out_of_range(call, to);
    size_t begin = rune_offset(s, (uint64_t)from);
    struct str rest = str_slice(s, begin, s.n);
    return cel_string(str_slice(rest, 0, rune_offset(rest, (uint64_t)(to - from))));
}

/* --- searching -------------------------------------------------------------------------------- */

/* The character number of the first `needle` that begins at character `from` or later; -1: none. */
static int64_t find_rune(struct str s, struct str needle, uint64_t from)
{
    size_t begin = rune_offset(s, from);
    struct str rest = str_slice(s, begin, s.n);
    size_t at = str_search(rest, needle);
    if (needle.n > rest.n || (at == rest.n && needle.n > 0))
        return -1;
    return (int64_t)cel_runes(str_slice(s, 0, begin + at));
}

static struct cel_value index_of(const struct cel_call *call)
{
    struct str s = call->args[0].s, needle = call->args[1].s;
    int64_t from = call->n > 2 ? call->args[2].i : 0;
    if (needle.n == 0)
        return cel_int(from);
    if (from < 0)
        return out_of_range(call, from);
    if (from >= (int64_t)cel_runes(s))
        return cel_int(-1);
    return cel_int(find_rune(s, needle, (uint64_t)from));
}

static struct cel_value last_index_of(const struct cel_call *call)
{
    struct str s = call->args[0].s, needle = call->args[1].s;
    int64_t n = (int64_t)cel_runes(s), m = (int64_t)cel_runes(needle);
    int64_t from = n - 1;
    if (call->n > 2)
        from = call->args[2].i;
    if (needle.n == 0)
        return cel_int(call->n > 2 ? from : n);
    if (call->n == 2 && s.n < needle.n)
        return cel_int(-1);
    if (from < 0)
        return out_of_range(call, from);
    if (from >= n)
        return cel_int(-1);
    from = MIN(from, n - m);
    if (from < 0)
        return cel_int(-1);
    /* UTF-8 of one character is never part of another's: bytes can be compared. */
    for (size_t at = rune_offset(s, (uint64_t)from) + 1; at-- > 0;) {
        if (needle.n <= s.n - at && memcmp(s.p + at, needle.p, needle.n) == 0)
            return cel_int((int64_t)cel_runes(str_slice(s, 0, at)));
    }
    return cel_int(-1);
}

/* --- making strings --------------------------------------------------------------------------- */

static struct cel_value change_case(const struct cel_call *call, char from, char to)
{
    struct str s = arena_dup(call->eval->arena, call->args[0].s);
    char *p = (char *)s.p;
    for (size_t i = 0; i < s.n; i++) {
        if (p[i] >= from && p[i] <= from + 25)
            p[i] = (char)(p[i] - from + to);
    }
    return cel_string(s);
}

static struct cel_value lower_ascii(const struct cel_call *call)
{
    return change_case(call, 'A', 'a');
}

static struct cel_value upper_ascii(const struct cel_call *call)
{
    return change_case(call, 'a', 'A');
}

/* unicode.IsSpace */
static bool is_space(uint32_t c)
{
    return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

static struct cel_value trim(const struct cel_call *call)
{
    struct str s = call->args[0].s, rest = s;
    size_t from = SIZE_MAX, to = 0;
    while (rest.n > 0) {
        size_t at = s.n - rest.n;
        if (!is_space(str_next_rune(&rest))) {
            from = MIN(from, at);
            to = s.n - rest.n;
        }
    }
    return cel_string(from < to ? str_slice(s, from, to) : STR(""));
}

/* strings.Replace: at most n times; n < 0: all. An empty `old` matches before every character. */
static struct cel_value replace(const struct cel_call *call)
{
    struct str s = call->args[0].s, old = call->args[1].s, new = call->args[2].s;
    int64_t n = call->n > 3 ? call->args[3].i : -1;
    struct buf b = BUF_INIT;
    size_t at = 0;
    bool first = true;
    while (n != 0) {
        size_t next;
        if (old.n == 0) {
            if (!first && at >= s.n)
                break;
            next = at + (first ? 0 : rune_offset(str_slice(s, at, s.n), 1));
        } else {
            struct str rest = str_slice(s, at, s.n);
            next = at + str_search(rest, old);
            if (old.n > rest.n || next == s.n)
                break;
        }
        first = false;
        /* The cost is that of the text, not of the result: a long one may come many times. */
        if (!cel_room(call->eval, b.n + next - at + new.n))
            break;
        buf_add_str(&b, str_slice(s, at, next));
        buf_add_str(&b, new);
        at = next + old.n;
        if (n > 0)
            n--;
    }
    buf_add_str(&b, str_slice(s, at, s.n));
    return cel_string_take(call->eval->arena, &b);
}

static struct cel_value list_of_strings(const struct cel_call *call, const struct cel_value *v,
                                        size_t n)
{
    struct cel_value *items = arena_array(call->eval->arena, struct cel_value, n);
    if (n > 0)
        memcpy(items, v, n * sizeof(*v));
    return cel_list_of(call->eval->arena, items, n);
}

/* strings.SplitN: at most n parts, the last one is the rest; n < 0: all. */
static struct cel_value split(const struct cel_call *call)
{
    struct str rest = call->args[0].s, separator = call->args[1].s;
    int64_t n = call->n > 2 ? call->args[2].i : -1;
    VEC(struct cel_value) parts = {0};
    while (n < 0 || (int64_t)parts.n + 1 < n) {
        size_t at = separator.n == 0 ? rune_offset(rest, 1) : str_search(rest, separator);
        if (separator.n == 0 ? at == rest.n : separator.n > rest.n || at == rest.n)
            break;
        vec_push(&parts, cel_string(str_slice(rest, 0, at)));
        rest = str_slice(rest, at + separator.n, rest.n);
    }
    /* The parts of nothing by nothing: none. */
    if (n != 0 && (separator.n > 0 || rest.n > 0))
        vec_push(&parts, cel_string(rest));
    struct cel_value list = list_of_strings(call, parts.v, parts.n);
    vec_release(&parts);
    return list;
}

static struct cel_value join(const struct cel_call *call)
{
    const struct cel_list *list = call->args[0].list;
    struct str separator = call->n > 1 ? call->args[1].s : STR("");
    const struct cel_value *items = cel_list_items(call->eval, list);
    struct buf b = BUF_INIT;
    for (uint64_t i = 0; items && i < list->n; i++) {
        if (items[i].kind != CEL_STRING) {
            buf_release(&b);
            return cel_printf_value_error(call->eval, "join: invalid input: ", items[i]);
        }
        if (!cel_room(call->eval, b.n + separator.n + items[i].s.n))
            break;
        if (i > 0)
            buf_add_str(&b, separator);
        buf_add_str(&b, items[i].s);
    }
    return cel_string_take(call->eval->arena, &b);
}

static struct cel_value quote(const struct cel_call *call)
{
    static const char special[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
    struct str s = call->args[0].s;
    struct buf b = BUF_INIT;
    buf_add_char(&b, '"');
    while (s.n > 0) {
        struct str before = s;
        uint32_t c = str_next_rune(&s);
        const char *at = c > 0 && c < 128 ? strchr(special, (int)c) : NULL;
        if (at) {
            buf_add_char(&b, '\\');
            buf_add_char(&b, letters[at - special]);
        } else if (c == STR_BAD_RUNE) {
            buf_add_cstr(&b, "\xEF\xBF\xBD");
        } else {
            buf_add_str(&b, str_slice(before, 0, before.n - s.n));
        }
    }
    buf_add_char(&b, '"');
    return cel_string_take(call->eval->arena, &b);
}

static struct cel_value format(const struct cel_call *call)
{
    return cel_printf(call->eval, call->args[0].s, call->args[1].list);
}

/* --- costs ------------------------------------------------------------------------------------ */

static uint64_t cost_join(const struct cel_call *call UNUSED, struct cel_value result)
{
    return cel_cost_scaled(cel_size_of(result), 2 * CEL_TRAVERSAL);
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
    double n = ceil((double)a / (double)b);
    return n >= 0x1p64 ? (uint64_t)1 << 63 : (uint64_t)n; /* as Go converts it */
}

/* The size of the result between the shortest and the longest replacement. */
static bool estimate_replace(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target || call->n < 2)
        return false;
    struct cel_range size = call->target->size, old = call->args[0].size, new = call->args[1].size;
    struct cel_range count = {0}, kept = {0};
    if (old.min == 0) {
        count.max = size.max < UINT64_MAX ? size.max + 1 : size.max;
        kept.max = size.max;
    } else if (new.max <= old.min) {
        kept.max = size.max;
    } else {
        count.max = div_up(size.max, old.min);
    }
    if (old.max == 0) {
        count.min = size.min < UINT64_MAX ? size.min + 1 : size.min;
        kept.min = size.min;
    } else if (old.max <= new.min) {
        kept.min = size.min;
    } else {
        count.min = div_up(size.min, old.max);
    }
    ret->cost = cel_range_scale(size, 2 * CEL_TRAVERSAL);
    ret->sized = true;
    ret->size = cel_range_add(cel_range_multiply(count, new), kept);
    return true;
}

static bool estimate_split(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target)
        return false;
    uint64_t max = call->target->size.max;
    if (call->n > 1 && call->args[1].literal && call->args[1].literal->kind == CEL_INT)
        max = (uint64_t)call->args[1].literal->i;
    ret->cost = cel_range_scale(call->target->size, 2 * CEL_TRAVERSAL);
    ret->sized = true;
    ret->size = (struct cel_range){0, max};
    return true;
}

static bool estimate_join(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target)
        return false;
    struct cel_range list = call->target->size, size = {0};
    if (call->target->type->n_params > 0)
        size = cel_range_multiply(list, CEL_UNKNOWN_RANGE);
    if (call->n > 0) {
        struct cel_range separators = {list.min > 0 ? list.min - 1 : 0,
                                       list.max > 0 ? list.max - 1 : 0};
        size = cel_range_add(size, cel_range_multiply(call->args[0].size, separators));
    }
    ret->cost = cel_range_scale(size, CEL_TRAVERSAL);
    ret->sized = true;
    ret->size = size;
    return true;
}

/* The size of the result is not bounded by that of the format. */
static bool estimate_format(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    if (!call->target)
        return false;
    ret->cost = cel_range_scale(call->target->size, CEL_TRAVERSAL);
    return true;
}

/* At most all characters are escaped. As in upstream, an unknown size overflows. */
static bool estimate_quote(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    struct cel_range size = call->args[0].size;
    ret->cost = cel_range_scale(size, CEL_TRAVERSAL);
    ret->sized = true;
    ret->size = (struct cel_range){size.min + 2, size.max * 2 + 2};
    return true;
}

/* --- table ------------------------------------------------------------------------------------ */

#define S &cel_string_type
#define I &cel_int_type

/* A member of strings: name, id, number of arguments, result, function, cost, estimate, types. */
#define ROW(name, row_id, count, type, function_, cost_, estimate_, ...) \
    {.function = name,                                                   \
     .id = row_id,                                                       \
     .flags = CEL_MEMBER | CEL_COST_BY_NAME,                             \
     .n_args = (count),                                                  \
     .args = {__VA_ARGS__},                                              \
     .result = (type),                                                   \
     .fn = (function_),                                                  \
     .cost = (cost_),                                                    \
     .estimate = (estimate_)}

static const struct cel_overload overloads[] = {
    ROW("charAt", "string_char_at_int", 2, S, char_at, NULL, NULL, S, I),
    ROW("indexOf", "string_index_of_string", 2, I, index_of, cel_cost_elements,
        cel_estimate_elements, S, S),
    ROW("indexOf", "string_index_of_string_int", 3, I, index_of, cel_cost_elements,
        cel_estimate_elements, S, S, I),
    ROW("lastIndexOf", "string_last_index_of_string", 2, I, last_index_of, cel_cost_elements,
        cel_estimate_elements, S, S),
    ROW("lastIndexOf", "string_last_index_of_string_int", 3, I, last_index_of, cel_cost_elements,
        cel_estimate_elements, S, S, I),
    ROW("lowerAscii", "string_lower_ascii", 1, S, lower_ascii, cel_cost_read,
        cel_estimate_read_target, S),
    ROW("replace", "string_replace_string_string", 3, S, replace, cel_cost_read_twice,
        estimate_replace, S, S, S),
    ROW("replace", "string_replace_string_string_int", 4, S, replace, cel_cost_read_twice,
        estimate_replace, S, S, S, I),
    ROW("split", "string_split_string", 2, &cel_list_string_type, split, cel_cost_read_twice,
        estimate_split, S, S),
    ROW("split", "string_split_string_int", 3, &cel_list_string_type, split, cel_cost_read_twice,
        estimate_split, S, S, I),
    ROW("substring", "string_substring_int", 2, S, substring, cel_cost_read,
        cel_estimate_read_target, S, I),
    ROW("substring", "string_substring_int_int", 3, S, substring, cel_cost_read,
        cel_estimate_read_target, S, I, I),
    ROW("trim", "string_trim", 1, S, trim, cel_cost_read, cel_estimate_read_target, S),
    ROW("upperAscii", "string_upper_ascii", 1, S, upper_ascii, cel_cost_read,
        cel_estimate_read_target, S),
    {.function = "format",
     .id = "string_format",
     .flags = CEL_MEMBER,
     .n_args = 2,
     .args = {S, &cel_list_dyn_type},
     .result = S,
     .fn = format,
     .cost = cel_cost_read,
     .estimate = estimate_format},
    {.function = "strings.quote",
     .id = "strings_quote",
     .n_args = 1,
     .args = {S},
     .result = S,
     .fn = quote,
     .cost = cel_cost_read,
     .estimate = estimate_quote},
    ROW("join", "list_join", 1, S, join, cost_join, estimate_join, &cel_list_string_type),
    ROW("join", "list_join_string", 2, S, join, cost_join, estimate_join, &cel_list_string_type, S),
};
const struct cel_library cel_lib_strings = {overloads, ARRAY_LEN(overloads), NULL, 0};
