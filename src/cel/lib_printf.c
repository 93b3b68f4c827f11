/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/lib_printf.h"

#include <inttypes.h>
#include <math.h>

#include "base/log.h"
#include "base/num.h"
#include "base/time.h"
#include "base/vec.h"
#include "cel/lib.h"

#define DEFAULT_PRECISION 6
#define PRECISION_MAX     1000000 /* as Go's fmt */

/* --- reading clauses -------------------------------------------------------------------------- */

static int bad_clause(struct buf *error, const char *what)
{
    buf_add_cstr(error, "could not parse formatting clause: ");
    buf_add_cstr(error, what);
    return -1;
}

/* strconv.Atoi of the digits after the dot. */
static int parse_precision(struct cel_printf_reader *r, struct buf *error)
{
    size_t n = 1;
    int64_t value = 0;
    bool too_large = false;
    for (; n < r->rest.n && r->rest.p[n] >= '0' && r->rest.p[n] <= '9'; n++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, r->rest.p[n] - '0', &value))
            too_large = true;
    }
    if (n == r->rest.n)
        return bad_clause(
            error, "error while parsing precision: could not find end of precision specifier");
    if (n == 1 || too_large) {
        (void)bad_clause(error, "error while parsing precision: error while converting precision "
                                "to integer: strconv.Atoi: parsing ");
        log_quote(error, str_slice(r->rest, 1, n));
        buf_add_cstr(error, too_large ? ": value out of range" : ": invalid syntax");
        return -1;
    }
    r->precision = value;
    r->rest = str_slice(r->rest, n, r->rest.n);
    return 0;
}

int cel_printf_next(struct cel_printf_reader *r, struct buf *text, struct buf *error)
{
    r->precision = -1;
    for (;;) {
        size_t at = str_find(r->rest, '%');
        if (text)
            buf_add_str(text, str_slice(r->rest, 0, at));
        if (at == r->rest.n)
            return 0;
        r->rest = str_slice(r->rest, at + 1, r->rest.n);
        if (r->rest.n == 0 || r->rest.p[0] != '%')
            break;
        if (text)
            buf_add_char(text, '%');
        r->rest = str_slice(r->rest, 1, r->rest.n);
    }
    if (r->rest.n == 0) {
        buf_add_cstr(error, "unexpected end of string");
        return -1;
    }
    if (r->rest.p[0] == '.' && parse_precision(r, error) < 0)
        return -1;
    r->clause = r->rest.p[0];
    r->rest = str_slice(r->rest, 1, r->rest.n);
    if (r->clause != '\0' && strchr("sdfebxXo", r->clause))
        return 1;
    /* Go writes the byte as a character of that number. */
    (void)bad_clause(error, "unrecognized formatting clause \"");
    unsigned char c = (unsigned char)r->clause;
    if (c < 0x80) {
        buf_add_char(error, r->clause);
    } else {
        buf_add_char(error, (char)(0xC0 | c >> 6));
        buf_add_char(error, (char)(0x80 | (c & 0x3F)));
    }
    buf_add_char(error, '"');
    return -1;
}

void cel_printf_mismatch(char clause, struct str type_name, struct buf *error)
{
    static const struct {
        char clause;
        const char *text;
    } texts[] = {
        {'s', "string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
              "lists, types, durations, and timestamps"},
        {'d', "decimal clause can only be used on integers"},
        {'f', "fixed-point clause can only be used on doubles"},
        {'e', "scientific clause can only be used on doubles"},
        {'b', "only integers and bools can be formatted as binary"},
        {'x', "only integers, byte buffers, and strings can be formatted as hex"},
        {'X', "only integers, byte buffers, and strings can be formatted as hex"},
        {'o', "octal clause can only be used on integers"},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].clause == clause)
            buf_add_cstr(error, texts[i].text);
    }
    buf_add_cstr(error, ", was given ");
    buf_add_str(error, type_name);
}

/* --- values ----------------------------------------------------------------------------------- */

struct printer {
    struct cel_eval *e;
    struct buf *out, *error;
};

static int write_value(struct printer *p, struct cel_value v);

static int mismatch(struct printer *p, char clause, struct cel_value v)
{
    cel_printf_mismatch(clause, cel_type_of(v)->name, p->error);
    return -1;
}

/* string(v). */
static int write_converted(struct printer *p, struct cel_value v)
{
    switch (v.kind) {
    case CEL_BYTES: {
        struct str rest = v.s;
        while (rest.n > 0) {
            if (str_next_rune(&rest) == STR_BAD_RUNE) {
                buf_add_cstr(p->error, "could not convert argument \"invalid UTF-8 in bytes, "
                                       "cannot convert to string\" to string");
                return -1;
            }
        }
        buf_add_str(p->out, v.s);
        return 0;
    }
    case CEL_DURATION:
        cel_duration_write(v, p->out);
        return 0;
    case CEL_TIMESTAMP:
        cel_timestamp_write(v, p->out);
        return 0;
    case CEL_NULL:
        buf_add_cstr(p->out, "null");
        return 0;
    case CEL_TYPE:
        buf_add_str(p->out, v.type->name);
        return 0;
    default:
        cel_value_write(v, p->out);
        return 0;
    }
}

/* An element of a list or map: strings are quoted, times say what they are. */
static int write_element(struct printer *p, struct cel_value v)
{
    struct buf text = BUF_INIT;
    struct printer inner = {p->e, &text, p->error};
    int r = 0;
    if (!cel_room(p->e, p->out->n))
        return 0;
    switch (v.kind) {
    case CEL_DOUBLE:
        if (isnan(v.d))
            buf_add_cstr(p->out, "\"NaN\"");
        else if (isinf(v.d))
            buf_add_cstr(p->out, v.d > 0 ? "\"+Inf\"" : "\"-Inf\"");
        else
            buf_add_printf(p->out, "%.6f", v.d);
        break;
    case CEL_OPTIONAL:
    case CEL_OBJECT:
        buf_add_cstr(p->error, "no formatting function for ");
        buf_add_str(p->error, cel_type_of(v)->name);
        r = -1;
        break;
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_TIMESTAMP:
    case CEL_DURATION:
        r = write_converted(&inner, v);
        if (r < 0)
            break;
        buf_add_cstr(p->out, v.kind == CEL_BYTES       ? "b"
                             : v.kind == CEL_TIMESTAMP ? "timestamp("
                             : v.kind == CEL_DURATION  ? "duration("
                                                       : "");
        log_quote(p->out, buf_str(&text));
        if (v.kind == CEL_TIMESTAMP || v.kind == CEL_DURATION)
            buf_add_char(p->out, ')');
        break;
    default:
        r = write_value(p, v);
    }
    buf_release(&text);
    return r;
}

static int write_list(struct printer *p, const struct cel_list *list)
{
    const struct cel_value *items = cel_list_items(p->e, list);
    buf_add_char(p->out, '[');
    for (uint64_t i = 0; items && i < list->n; i++) {
        if (i > 0)
            buf_add_cstr(p->out, ", ");
        if (write_element(p, items[i]) < 0)
            return -1;
    }
    buf_add_char(p->out, ']');
    return 0;
}

struct pair {
    struct str key, value;
};

static int compare_pairs(const void *a, const void *b)
{
    return str_cmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static int write_pairs(struct printer *p, const struct cel_map *map, struct pair *pairs)
{
    for (size_t i = 0; i < map->n; i++) {
        struct cel_value parts[2] = {map->entries[i].key, map->entries[i].value};
        struct str *texts[2] = {&pairs[i].key, &pairs[i].value};
        for (size_t k = 0; k < 2; k++) {
            struct buf text = BUF_INIT;
            struct printer inner = {p->e, &text, p->error};
            int r = -1;
            if (k == 0 && parts[0].kind == CEL_DOUBLE)
                buf_add_cstr(p->error, "no formatting function for map key of type double");
            else
                r = write_element(&inner, parts[k]);
            *texts[k] = arena_dup(p->e->arena, buf_str(&text));
            buf_release(&text);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* In the order of the keys' texts. */
static int write_map(struct printer *p, const struct cel_map *map)
{
    struct pair *pairs = arena_array(p->e->arena, struct pair, map->n);
    if (write_pairs(p, map, pairs) < 0)
        return -1;
    if (map->n > 1)
        qsort(pairs, map->n, sizeof(*pairs), compare_pairs);
    buf_add_char(p->out, '{');
    for (size_t i = 0; i < map->n; i++) {
        if (i > 0)
            buf_add_cstr(p->out, ", ");
        buf_add_str(p->out, pairs[i].key);
        buf_add_char(p->out, ':');
        buf_add_str(p->out, pairs[i].value);
    }
    buf_add_char(p->out, '}');
    return 0;
}

/* The depth of values is limited by that of expressions. */
static int write_value(struct printer *p, struct cel_value v)
{
    switch (v.kind) {
    case CEL_LIST:
        return write_list(p, v.list);
    case CEL_MAP:
        return write_map(p, v.map);
    case CEL_OPTIONAL:
    case CEL_OBJECT:
    case CEL_ERROR:
        return mismatch(p, 's', v);
    default:
        return write_converted(p, v);
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* b: also booleans; x: also texts. */
static int write_in_base(struct printer *p, char clause, struct cel_value v)
{
    uint64_t u = v.kind == CEL_INT && v.i < 0 ? -(uint64_t)v.i : v.u;
    if (clause == 'b' && v.kind == CEL_BOOL) {
        buf_add_char(p->out, v.b ? '1' : '0');
        return 0;
    }
    if ((clause == 'x' || clause == 'X') && (v.kind == CEL_STRING || v.kind == CEL_BYTES)) {
        for (size_t i = 0; i < v.s.n; i++)
            buf_add_printf(p->out, clause == 'x' ? "%02x" : "%02X", (unsigned char)v.s.p[i]);
        return 0;
    }
    if (v.kind != CEL_INT && v.kind != CEL_UINT)
        return mismatch(p, clause, v);
    if (v.kind == CEL_INT && v.i < 0)
        buf_add_char(p->out, '-');
    switch (clause) {
    case 'd':
        buf_add_printf(p->out, "%" PRIu64, u);
        break;
    case 'o':
        buf_add_printf(p->out, "%" PRIo64, u);
        break;
    case 'x':
        buf_add_printf(p->out, "%" PRIx64, u);
        break;
    case 'X':
        buf_add_printf(p->out, "%" PRIX64, u);
        break;
    default:
        for (int bit = 63; bit >= 0; bit--) {
            if (u >> bit != 0 || bit == 0)
                buf_add_char(p->out, (char)('0' + (u >> bit & 1)));
        }
    }
    return 0;
}

/* With commas between thousands, as golang.org/x/text writes English numbers. */
static void write_fixed(struct buf *out, double d, int precision)
{
    char *digits = xasprintf("%.*f", precision, fabs(d));
    size_t n = strcspn(digits, ".");
    if (d < 0)
        buf_add_char(out, '-');
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            buf_add_char(out, ',');
        buf_add_char(out, digits[i]);
    }
    buf_add_cstr(out, digits + n);
    free(digits);
}

static void write_superscript(struct buf *out, const char *exponent)
{
    static const char *const digits[] = {"\u2070", "\u00B9", "\u00B2", "\u00B3", "\u2074",
                                         "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    for (; *exponent; exponent++) {
        if (*exponent == '-')
            buf_add_cstr(out, "\u207B");
        else if (*exponent != '+')
            buf_add_cstr(out, digits[*exponent - '0']);
    }
}

/* Six digits always: upstream takes the precision for the width. */
static void write_scientific(struct buf *out, double d)
{
    char *text = xasprintf("%.6e", fabs(d));
    char *exponent = strchr(text, 'e');
    if (d < 0)
        buf_add_char(out, '-');
    buf_add(out, text, (size_t)(exponent - text));
    buf_add_cstr(out, "\u00D710");
    write_superscript(out, exponent + 1);
    free(text);
}

static int write_double(struct printer *p, const struct cel_printf_reader *r, struct cel_value v)
{
    int64_t precision = r->precision < 0 ? DEFAULT_PRECISION : r->precision;
    double d = v.d;
    if (v.kind == CEL_STRING && str_is(v.s, "NaN"))
        d = NAN;
    else if (v.kind == CEL_STRING && (str_is(v.s, "Infinity") || str_is(v.s, "-Infinity")))
        d = v.s.p[0] == '-' ? -INFINITY : INFINITY;
    else if (v.kind != CEL_DOUBLE)
        return mismatch(p, r->clause, v);
    if (precision > PRECISION_MAX || !cel_room(p->e, (uint64_t)precision)) {
        p->e->exceeded = true;
        return 0;
    }
    struct buf text = BUF_INIT;
    if (isnan(d))
        buf_add_cstr(&text, "NaN");
    else if (isinf(d))
        buf_add_cstr(&text, d < 0 ? "-\u221E" : "\u221E");
    else if (r->clause == 'f')
        write_fixed(&text, d, (int)precision);
    else
        write_scientific(&text, d);
    if (r->clause == 'e') {
        for (int64_t n = (int64_t)cel_runes(buf_str(&text)); n < precision; n++)
            buf_add_char(p->out, ' ');
    }
    buf_add_str(p->out, buf_str(&text));
    buf_release(&text);
    return 0;
}

/* --- format ----------------------------------------------------------------------------------- */

static int write_clause(struct printer *p, const struct cel_printf_reader *r, struct cel_value v)
{
    switch (r->clause) {
    case 's':
        return write_value(p, v);
    case 'f':
    case 'e':
        return write_double(p, r, v);
    default:
        return write_in_base(p, r->clause, v);
    }
}

static int print_all(struct printer *p, struct str format, const struct cel_list *args)
{
    struct cel_printf_reader r = {.rest = format};
    for (uint64_t i = 0;; i++) {
        struct buf problem = BUF_INIT;
        int next = cel_printf_next(&r, p->out, &problem);
        if (next != 0 && i >= args->n) {
            buf_add_printf(p->error, "index %" PRIu64 " out of range", i);
            next = -1;
        } else if (next < 0) {
            buf_add_str(p->error, buf_str(&problem));
        }
        buf_release(&problem);
        if (next <= 0)
            return next;
        struct buf why = BUF_INIT;
        struct printer one = {p->e, p->out, &why};
        int ok = write_clause(&one, &r, cel_list_at(args, i));
        if (ok < 0) {
            buf_add_cstr(p->error, "error during formatting: ");
            buf_add_str(p->error, buf_str(&why));
        }
        buf_release(&why);
        if (ok < 0)
            return ok;
        if (!cel_room(p->e, p->out->n))
            return 0;
    }
}

struct cel_value cel_printf(struct cel_eval *e, struct str format, const struct cel_list *args)
{
    struct buf out = BUF_INIT, error = BUF_INIT;
    struct printer p = {e, &out, &error};
    struct cel_value result = print_all(&p, format, args) < 0
                                  ? cel_error_text(e->arena, &error)
                                  : cel_string(arena_dup(e->arena, buf_str(&out)));
    buf_release(&out);
    buf_release(&error);
    return result;
}

struct cel_value cel_printf_value_error(struct cel_eval *e, const char *before,
                                        struct cel_value value)
{
    struct buf b;
    buf_init(&b, 4096);
    buf_add_cstr(&b, before);
    cel_value_write(value, &b);
    struct cel_value error = cel_error_text(e->arena, &b);
    buf_release(&b);
    return error;
}
