/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' semver library, version 1: semantic versions as github.com/blang/semver reads them.
 */
#include "cel/lib.h"

#include "base/log.h"
#include "base/vec.h"

const struct cel_type cel_semver_type = CEL_OBJECT_TYPE("kubernetes.Semver");

/* An identifier of a pre-release: a number, or a text. */
struct identifier {
    bool is_number;
    uint64_t number;
    struct str text;
};

struct semver_object {
    struct cel_object base;
    uint64_t part[3]; /* major, minor, patch */
    struct identifier *pre;
    size_t n_pre;
};

static const struct semver_object *semver_in(const struct cel_object *o)
{
    return (const struct semver_object *)(const void *)o;
}

/* --- order ------------------------------------------------------------------------------------ */

static int compare_identifiers(const struct identifier *a, const struct identifier *b)
{
    if (a->is_number != b->is_number)
        return a->is_number ? -1 : 1;
    if (a->is_number)
        return (a->number > b->number) - (a->number < b->number);
    int order = str_cmp(a->text, b->text);
    return (order > 0) - (order < 0);
}

static int compare(const struct semver_object *a, const struct semver_object *b)
{
    for (int i = 0; i < 3; i++) {
        if (a->part[i] != b->part[i])
            return a->part[i] < b->part[i] ? -1 : 1;
    }
    /* A version without a pre-release comes after those with one. */
    if (a->n_pre == 0 || b->n_pre == 0)
        return (a->n_pre == 0) - (b->n_pre == 0);
    for (size_t i = 0; i < a->n_pre && i < b->n_pre; i++) {
        int order = compare_identifiers(&a->pre[i], &b->pre[i]);
        if (order != 0)
            return order;
    }
    return (a->n_pre > b->n_pre) - (a->n_pre < b->n_pre);
}

static enum cel_equality semvers_equal(const struct cel_object *a, struct cel_value b)
{
    if (b.kind != CEL_OBJECT || b.object->class != a->class)
        return CEL_NOT_COMPARABLE;
    return compare(semver_in(a), semver_in(b.object)) == 0 ? CEL_EQUAL : CEL_UNEQUAL;
}

static const struct cel_object_class semver_class = {&cel_semver_type, semvers_equal, NULL};

/* --- parsing ---------------------------------------------------------------------------------- */

static bool fail(struct buf *error, const char *what, struct str text)
{
    buf_add_cstr(error, what);
    log_quote(error, text);
    return false;
}

static bool only_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return true;
}

static bool only_alphanumeric(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '-'))
            return false;
    }
    return true;
}

/* strconv.ParseUint */
static bool to_number(struct str s, uint64_t *ret_number, struct buf *error)
{
    if (s.n > 0 && str_to_u64(s, ret_number))
        return true;
    fail(error, "strconv.ParseUint: parsing ", s);
    buf_add_cstr(error, s.n == 0 ? ": invalid syntax" : ": value out of range");
    return false;
}

static bool parse_part(struct str s, const char *lower, const char *upper, uint64_t *ret_number,
                       struct buf *error)
{
    if (!only_digits(s)) {
        buf_add_cstr(error, "Invalid character(s) found in ");
        buf_add_cstr(error, lower);
        return fail(error, " number ", s);
    }
    if (s.n > 1 && s.p[0] == '0') {
        buf_add_cstr(error, upper);
        return fail(error, " number must not contain leading zeroes ", s);
    }
    return to_number(s, ret_number, error);
}

static bool parse_identifier(struct str s, struct identifier *ret, struct buf *error)
{
    *ret = (struct identifier){.text = s};
    if (s.n == 0) {
        buf_add_cstr(error, "Prerelease is empty");
        return false;
    }
    if (only_digits(s)) {
        if (s.n > 1 && s.p[0] == '0')
            return fail(error, "Numeric PreRelease version must not contain leading zeroes ", s);
        ret->is_number = true;
        return to_number(s, &ret->number, error);
    }
    return only_alphanumeric(s) || fail(error, "Invalid character(s) found in prerelease ", s);
}

static bool parse_pre(struct str s, struct semver_object *v, struct arena *a, struct buf *error)
{
    size_t n = 1;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '.';
    v->pre = arena_array(a, struct identifier, n);
    for (struct str rest = s, one; v->n_pre < n; v->n_pre++) {
        if (!str_split(&rest, '.', &one))
            one = STR("");
        if (!parse_identifier(one, &v->pre[v->n_pre], error))
            return false;
    }
    return true;
}

static bool parse_build(struct str s, struct buf *error)
{
    for (size_t at = 0; at <= s.n;) {
        struct str rest = str_slice(s, at, s.n);
        struct str one = str_slice(rest, 0, str_find(rest, '.'));
        if (one.n == 0) {
            buf_add_cstr(error, "Build meta data is empty");
            return false;
        }
        if (!only_alphanumeric(one))
            return fail(error, "Invalid character(s) found in build meta data ", one);
        at += one.n + 1;
    }
    return true;
}

static bool parse(struct str text, struct semver_object *v, struct arena *a, struct buf *error)
{
    size_t first = str_find(text, '.');
    struct str rest = str_slice(text, first + 1, text.n);
    size_t second = str_find(rest, '.');
    if (text.n == 0) {
        buf_add_cstr(error, "Version string empty");
        return false;
    }
    if (first == text.n || second == rest.n) {
        buf_add_cstr(error, "No Major.Minor.Patch elements found");
        return false;
    }
    struct str patch = str_slice(rest, second + 1, rest.n);
    size_t plus = str_find(patch, '+');
    struct str build = str_slice(patch, plus + 1, patch.n);
    bool has_build = plus < patch.n;
    patch = str_slice(patch, 0, plus);
    size_t minus = str_find(patch, '-');
    struct str pre = str_slice(patch, minus + 1, patch.n);
    bool has_pre = minus < patch.n;
    patch = str_slice(patch, 0, minus);
    return parse_part(str_slice(text, 0, first), "major", "Major", &v->part[0], error) &&
           parse_part(str_slice(rest, 0, second), "minor", "Minor", &v->part[1], error) &&
           parse_part(patch, "patch", "Patch", &v->part[2], error) &&
           (!has_pre || parse_pre(pre, v, a, error)) && (!has_build || parse_build(build, error));
}

/* Appends a part without leading zeros; "0" is put before what does not begin with a digit. */
static void add_part(struct buf *out, struct str part)
{
    if (part.n > 1) {
        while (part.n > 0 && part.p[0] == '0')
            part = str_slice(part, 1, part.n);
        if (part.n == 0 || part.p[0] < '0' || part.p[0] > '9')
            buf_add_char(out, '0');
    }
    buf_add_str(out, part);
}

/* "v1.02" is 1.2.0. False: a short version with a suffix. */
static bool normalize(struct str text, struct buf *out, struct buf *error)
{
    if (text.n > 0 && text.p[0] == 'v')
        text = str_slice(text, 1, text.n);
    for (int n = 1;; n++) {
        size_t dot = n == 3 ? text.n : str_find(text, '.');
        struct str part = str_slice(text, 0, dot);
        add_part(out, part);
        if (dot < text.n) {
            buf_add_char(out, '.');
            text = str_slice(text, dot + 1, text.n);
            continue;
        }
        if (n < 3 && (str_find(part, '+') < part.n || str_find(part, '-') < part.n)) {
            buf_add_cstr(error, "short version cannot contain PreRelease/Build meta data");
            return false;
        }
        for (; n < 3; n++)
            buf_add_cstr(out, ".0");
        return true;
    }
}

static struct cel_value new_semver(struct arena *a, struct str text, bool normalized)
{
    struct buf error = BUF_INIT, normal = BUF_INIT;
    struct semver_object *v = arena_new(a, struct semver_object);
    v->base.class = &semver_class;
    bool valid = true;
    if (normalized) {
        valid = normalize(text, &normal, &error);
        text = arena_dup(a, buf_str(&normal));
    }
    valid = valid && parse(text, v, a, &error);
    struct cel_value result = valid ? cel_object(&v->base) : cel_error_text(a, &error);
    buf_release(&error);
    buf_release(&normal);
    return result;
}

struct cel_value cel_semver(struct arena *a, struct str text)
{
    return new_semver(a, text, false);
}

/* --- functions -------------------------------------------------------------------------------- */

static struct cel_value to_semver(const struct cel_call *call)
{
    return new_semver(call->eval->arena, call->args[0].s, call->n > 1 && call->args[1].b);
}

static struct cel_value is_semver(const struct cel_call *call)
{
    return cel_bool(!cel_is_error(to_semver(call)));
}

static int compare_args(const struct cel_call *call)
{
    return compare(semver_in(call->args[0].object), semver_in(call->args[1].object));
}

static struct cel_value is_greater(const struct cel_call *call)
{
    return cel_bool(compare_args(call) > 0);
}

static struct cel_value is_less(const struct cel_call *call)
{
    return cel_bool(compare_args(call) < 0);
}

static struct cel_value compare_to(const struct cel_call *call)
{
    return cel_int(compare_args(call));
}

static struct cel_value major(const struct cel_call *call)
{
    return cel_int((int64_t)semver_in(call->args[0].object)->part[0]);
}

static struct cel_value minor(const struct cel_call *call)
{
    return cel_int((int64_t)semver_in(call->args[0].object)->part[1]);
}

static struct cel_value patch(const struct cel_call *call)
{
    return cel_int((int64_t)semver_in(call->args[0].object)->part[2]);
}

#define V &cel_semver_type
#define ROW(name, row_id, count, type, function_, ...) \
    {.function = name,                                 \
     .id = row_id,                                     \
     .flags = CEL_MEMBER,                              \
     .n_args = (count),                                \
     .args = {__VA_ARGS__},                            \
     .result = &(type),                                \
     .fn = (function_)}
#define READ_ROW(name, row_id, count, type, function_, ...) \
    {.function = name,                                      \
     .id = row_id,                                          \
     .flags = CEL_COST_BY_NAME,                             \
     .n_args = (count),                                     \
     .args = {__VA_ARGS__},                                 \
     .result = &(type),                                     \
     .fn = (function_),                                     \
     .cost = cel_cost_read,                                 \
     .estimate = cel_estimate_read_arg}

static const struct cel_overload overloads[] = {
    READ_ROW("semver", "string_to_semver", 1, cel_semver_type, to_semver, &cel_string_type),
    READ_ROW("semver", "string_bool_to_semver", 2, cel_semver_type, to_semver, &cel_string_type,
             &cel_bool_type),
    READ_ROW("isSemver", "is_semver_string", 1, cel_bool_type, is_semver, &cel_string_type),
    READ_ROW("isSemver", "is_semver_string_bool", 2, cel_bool_type, is_semver, &cel_string_type,
             &cel_bool_type),
    ROW("isGreaterThan", "semver_is_greater_than", 2, cel_bool_type, is_greater, V, V),
    ROW("isLessThan", "semver_is_less_than", 2, cel_bool_type, is_less, V, V),
    ROW("compareTo", "semver_compare_to", 2, cel_int_type, compare_to, V, V),
    ROW("major", "semver_major", 1, cel_int_type, major, V),
    ROW("minor", "semver_minor", 1, cel_int_type, minor, V),
    ROW("patch", "semver_patch", 1, cel_int_type, patch, V),
};
const struct cel_library cel_lib_semver = {overloads, ARRAY_LEN(overloads), NULL, 0};
