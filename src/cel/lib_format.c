/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' named formats: format.dns1123Label().validate("x"). */
#include "base/vec.h"
#include "cel/lib.h"
#include "cel/regex/regex.h"

const struct cel_type cel_format_type = CEL_OBJECT_TYPE("kubernetes.NamedFormat");

#define MAX_NAME_REGEX 128 /* for estimates */

#define LABEL     "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN LABEL "(\\." LABEL ")*"
#define LABEL1035 "[a-z]([-a-z0-9]*[a-z0-9])?"
#define KEY       "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define KEY_TEXT                                                                                \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "      \
    "validation is '" KEY "')"
#define LABEL_TEXT                                                                               \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "   \
    "used for validation is '" LABEL "')"
#define SUBDOMAIN_TEXT                                                                            \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "  \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used " \
    "for validation is '" SUBDOMAIN "')"
#define LABEL1035_TEXT                                                                           \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "         \
    "'abc-123', regex used for validation is '" LABEL1035 "')"
#define VALUE_TEXT                                                                              \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or " \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "          \
    "'my_value',  or '12345', regex used for validation is '(" KEY ")?')"

struct problems {
    struct arena *a;
    VEC(struct cel_value) v;
};

struct format {
    struct cel_object base;
    const char *name; /* as format.named knows it */
    const char *kind; /* compared */
    void (*validate)(const struct format *f, struct str s, struct problems *p);
    uint64_t regex_size;
    bool prefix; /* a name that something is appended to may end with a dash */
};

/* --- validation ------------------------------------------------------------------------------- */

static void add(struct problems *p, const char *before, const char *text)
{
    vec_push(&p->v, cel_string(arena_printf(p->a, "%s%s", before, text)));
}

static bool matches(struct str s, const char *expression)
{
    struct arena a;
    const struct regex *re;
    struct regex_error error;
    arena_init(&a, 0);
    bool yes = regex_new(str_of(expression), &a, &re, &error) == 0 && regex_match(re, s);
    arena_release(&a);
    return yes;
}

static struct str without_dash(const struct format *f, struct str s, struct arena *a)
{
    if (!f->prefix || s.n < 2 || s.p[s.n - 1] != '-')
        return s;
    return arena_printf(a, "%.*sa", (int)(s.n - 2), s.p);
}

static void label(const struct format *f, struct str s, struct problems *p)
{
    s = without_dash(f, s, p->a);
    if (s.n > 63)
        add(p, "", "must be no more than 63 characters");
    if (!matches(s, "^" LABEL "$"))
        add(p, "", matches(s, "^" SUBDOMAIN "$") ? "must not contain dots" : LABEL_TEXT);
}

static void subdomain(const struct format *f, struct str s, struct problems *p)
{
    s = without_dash(f, s, p->a);
    if (s.n > 253)
        add(p, "", "must be no more than 253 characters");
    if (!matches(s, "^" SUBDOMAIN "$"))
        add(p, "", SUBDOMAIN_TEXT);
}

static void label1035(const struct format *f, struct str s, struct problems *p)
{
    s = without_dash(f, s, p->a);
    if (s.n > 63)
        add(p, "", "must be no more than 63 characters");
    if (!matches(s, "^" LABEL1035 "$"))
        add(p, "", LABEL1035_TEXT);
}

static void qualified_name(const struct format *f UNUSED, struct str s, struct problems *p)
{
    size_t slash = str_find(s, '/');
    struct str name = s;
    if (slash < s.n) {
        struct str prefix = str_slice(s, 0, slash);
        name = str_slice(s, slash + 1, s.n);
        if (str_find(name, '/') < name.n) {
            add(p, "a valid label key ",
                KEY_TEXT " with an optional DNS subdomain prefix and '/' (e.g. "
                         "'example.com/MyName')");
            return;
        }
        if (prefix.n == 0)
            add(p, "prefix part ", "must be non-empty");
        if (prefix.n > 253)
            add(p, "prefix part ", "must be no more than 253 bytes");
        if (prefix.n > 0 && !matches(prefix, "^" SUBDOMAIN "$"))
            add(p, "prefix part ", SUBDOMAIN_TEXT);
    }
    if (name.n == 0)
        add(p, "name part ", "must be non-empty");
    if (name.n > 63)
        add(p, "name part ", "must be no more than 63 bytes");
    if (!matches(name, "^" KEY "$"))
        add(p, "name part ", KEY_TEXT);
}

static void label_value(const struct format *f UNUSED, struct str s, struct problems *p)
{
    if (s.n > 63)
        add(p, "", "must be no more than 63 bytes");
    if (!matches(s, "^(" KEY ")?$"))
        add(p, "", VALUE_TEXT);
}

static void uri(const struct format *f UNUSED, struct str s, struct problems *p)
{
    struct buf error = BUF_INIT;
    if (!cel_is_request_uri(s, &error))
        vec_push(&p->v, cel_string(arena_dup(p->a, buf_str(&error))));
    buf_release(&error);
}

static void uuid(const struct format *f UNUSED, struct str s, struct problems *p)
{
    if (!matches(s, "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"))
        add(p, "", "does not match the UUID format");
}

static void base64(const struct format *f UNUSED, struct str s, struct problems *p)
{
    if (!matches(s, "^(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|"
                    "[A-Za-z0-9+\\/]{4})$"))
        add(p, "", "invalid base64");
}

/* 2006-01-02, a day that exists. */
static bool is_date(struct str s)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (!matches(s, "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"))
        return false;
    int year = (s.p[0] - '0') * 1000 + (s.p[1] - '0') * 100 + (s.p[2] - '0') * 10 + s.p[3] - '0';
    int month = (s.p[5] - '0') * 10 + s.p[6] - '0', day = (s.p[8] - '0') * 10 + s.p[9] - '0';
    if (month < 1 || month > 12 || day < 1)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= days[month - 1] + (month == 2 && leap);
}

static void date(const struct format *f UNUSED, struct str s, struct problems *p)
{
    if (!is_date(s))
        add(p, "", "invalid date");
}

static size_t find_t(struct str s)
{
    return MIN(str_find(s, 't'), str_find(s, 'T'));
}

static void datetime(const struct format *f UNUSED, struct str s, struct problems *p)
{
    size_t t = find_t(s);
    struct str time = str_slice(s, t + 1, s.n);
    time = str_slice(time, 0, find_t(time));
    bool valid = t < s.n && is_date(str_slice(s, 0, t)) &&
                 matches(time, "^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?([zZ]|([+-][0-9]{2}:"
                               "[0-9]{2}))$");
    if (!valid || str_cmp(str_slice(time, 0, 2), STR("23")) > 0 ||
        str_cmp(str_slice(time, 3, 5), STR("59")) > 0 ||
        str_cmp(str_slice(time, 6, 8), STR("59")) > 0)
        add(p, "", "invalid datetime");
}

/* --- values ----------------------------------------------------------------------------------- */

static const struct format *format_in(const struct cel_object *o)
{
    return (const struct format *)(const void *)o;
}

static enum cel_equality formats_equal(const struct cel_object *a, struct cel_value b)
{
    if (b.kind != CEL_OBJECT || b.object->class != a->class)
        return CEL_NOT_COMPARABLE;
    return strcmp(format_in(a)->kind, format_in(b.object)->kind) == 0 ? CEL_EQUAL : CEL_UNEQUAL;
}

static const struct cel_object_class format_class = {&cel_format_type, formats_equal, NULL};

#define FORMAT(name, kind, validate, size, prefix) \
    {{&format_class}, name, kind, validate, size, prefix}

static const struct format formats[] = {
    FORMAT("dns1123Label", "DNS1123Label", label, 30, false),
    FORMAT("dns1123Subdomain", "DNS1123Subdomain", subdomain, 60, false),
    FORMAT("dns1035Label", "DNS1035Label", label1035, 30, false),
    FORMAT("qualifiedName", "QualifiedName", qualified_name, 60, false),
    FORMAT("dns1123LabelPrefix", "DNS1123LabelPrefix", label, 30, true),
    FORMAT("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", subdomain, 60, true),
    FORMAT("dns1035LabelPrefix", "DNS1035LabelPrefix", label1035, 30, true),
    FORMAT("labelValue", "LabelValue", label_value, 40, false),
    FORMAT("uri", "URI", uri, 1103, false),
    FORMAT("uuid", "uuid", uuid, 70, false),
    FORMAT("byte", "byte", base64, 84, false),
    FORMAT("date", "date", date, 71, false),
    FORMAT("datetime", "datetime", datetime, 71, false),
};

static const struct format *find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        if (str_is(name, formats[i].name))
            return &formats[i];
    }
    return NULL;
}

static struct cel_value constant(const struct cel_call *call)
{
    struct str name = str_of(call->overload->function + strlen("format."));
    return cel_object(&find(name)->base);
}

static struct cel_value named(const struct cel_call *call)
{
    const struct format *f = find(call->args[0].s);
    return f ? cel_optional_of(call->eval->arena, cel_object(&f->base)) : cel_none();
}

static struct cel_value validate(const struct cel_call *call)
{
    const struct format *f = format_in(call->args[0].object);
    struct problems p = {.a = call->eval->arena};
    f->validate(f, call->args[1].s, &p);
    struct cel_value result = cel_none();
    if (p.v.n > 0) {
        struct cel_value *items = arena_array(p.a, struct cel_value, p.v.n);
        memcpy(items, p.v.v, p.v.n * sizeof(*items));
        result = cel_optional_of(p.a, cel_list_of(p.a, items, p.v.n));
    }
    vec_release(&p.v);
    return result;
}

static uint64_t cost_validate(const struct cel_call *call, struct cel_value result UNUSED)
{
    if (call->args[0].kind != CEL_OBJECT || call->args[0].object->class != &format_class)
        return 1;
    return cel_cost_scaled(1 + cel_size_of(call->args[1]), CEL_TRAVERSAL) *
           cel_cost_scaled(format_in(call->args[0].object)->regex_size, CEL_REGEX_UNIT);
}

static bool estimate_validate(const struct cel_estimate_call *call, struct cel_estimate *ret)
{
    ret->cost = cel_range_scale(cel_range_scale(call->args[0].size, CEL_TRAVERSAL),
                                MAX_NAME_REGEX * CEL_REGEX_UNIT);
    return true;
}

/* --- table ------------------------------------------------------------------------------------ */

static const struct cel_type optional_strings = CEL_OPTIONAL_OF(&cel_list_string_type);
static const struct cel_type optional_format = CEL_OPTIONAL_OF(&cel_format_type);

#define CONSTANT(name) \
    {.function = "format." name, .id = "format." name, .result = &cel_format_type, .fn = constant}

static const struct cel_overload overloads[] = {
    {.function = "validate",
     .id = "format-validate",
     .flags = CEL_MEMBER | CEL_COST_BY_NAME,
     .n_args = 2,
     .args = {&cel_format_type, &cel_string_type},
     .result = &optional_strings,
     .fn = validate,
     .cost = cost_validate,
     .estimate = estimate_validate},
    {.function = "format.named",
     .id = "format-named",
     .n_args = 1,
     .args = {&cel_string_type},
     .result = &optional_format,
     .fn = named},
    CONSTANT("dns1123Label"),
    CONSTANT("dns1123Subdomain"),
    CONSTANT("dns1035Label"),
    CONSTANT("qualifiedName"),
    CONSTANT("dns1123LabelPrefix"),
    CONSTANT("dns1123SubdomainPrefix"),
    CONSTANT("dns1035LabelPrefix"),
    CONSTANT("labelValue"),
    CONSTANT("uri"),
    CONSTANT("uuid"),
    CONSTANT("byte"),
    CONSTANT("date"),
    CONSTANT("datetime"),
};
const struct cel_library cel_lib_format = {overloads, ARRAY_LEN(overloads), NULL, 0};
