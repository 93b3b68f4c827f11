/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/names.h"

#define LABEL_RE     "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN_RE LABEL_RE "(\\." LABEL_RE ")*"
#define KEY_RE       "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define KEY_TEXT                                                                                \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "      \
    "validation is '" KEY_RE "')"

#define SUBDOMAIN_TEXT                                                                            \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "  \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used " \
    "for validation is '" SUBDOMAIN_RE "')"
#define LABEL_TEXT                                                                               \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and " \
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "   \
    "used for validation is '" LABEL_RE "')"
#define LABEL_1035_TEXT                                                                          \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "         \
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
#define LABEL_VALUE_TEXT                                                                        \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or " \
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "          \
    "'my_value',  or '12345', regex used for validation is '(" KEY_RE ")?')"

static bool lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool alnum(char c)
{
    return lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool is_dns_label(struct str s)
{
    if (s.n == 0 || !lower_or_digit(s.p[0]) || !lower_or_digit(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!lower_or_digit(s.p[i]) && s.p[i] != '-')
            return false;
    return true;
}

static bool is_subdomain(struct str s)
{
    struct str label;

    if (str_empty(s) || s.p[s.n - 1] == '.')
        return false;
    while (str_split(&s, '.', &label))
        if (!is_dns_label(label))
            return false;
    return true;
}

static bool is_key_name(struct str s)
{
    if (s.n == 0 || !alnum(s.p[0]) || !alnum(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_' && s.p[i] != '.')
            return false;
    return true;
}

/* What is wrong with a text: at most a few constant messages. */
struct faults {
    const char *v[4];
    size_t n;
};

static void fault(struct faults *f, const char *text)
{
    assert(f->n < ARRAY_LEN(f->v));
    f->v[f->n++] = text;
}

static void check_qualified(struct str s, struct faults *f)
{
    size_t slash = str_find(s, '/');
    struct str name = slash < s.n ? str_slice(s, slash + 1, s.n) : s;
    struct str prefix = str_slice(s, 0, slash);

    if (slash < s.n && str_find(name, '/') < name.n) {
        fault(f, "a valid label key " KEY_TEXT
                 " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
        return;
    }
    if (slash < s.n) {
        if (str_empty(prefix))
            fault(f, "prefix part must be non-empty");
        else if (prefix.n > 253)
            fault(f, "prefix part must be no more than 253 bytes");
        if (!str_empty(prefix) && !is_subdomain(prefix))
            fault(f, "prefix part " SUBDOMAIN_TEXT);
    }
    if (str_empty(name))
        fault(f, "name part must be non-empty");
    else if (name.n > 63)
        fault(f, "name part must be no more than 63 bytes");
    if (!is_key_name(name))
        fault(f, "name part " KEY_TEXT);
}

static void check_path_segment(struct str s, struct faults *f)
{
    if (str_is(s, ".") || str_is(s, "..")) {
        fault(f, s.n == 1 ? "may not be '.'" : "may not be '..'");
        return;
    }
    if (str_find(s, '/') < s.n)
        fault(f, "may not contain '/'");
    if (str_find(s, '%') < s.n)
        fault(f, "may not contain '%'");
}

static void check_dots(struct str s, struct faults *f)
{
    if (str_is(s, "."))
        fault(f, "must not be '.'");
    else if (str_is(s, ".."))
        fault(f, "must not be '..'");
    else if (str_starts(s, STR("..")))
        fault(f, "must not start with '..'");
}

static void check_config_key(struct str s, struct faults *f)
{
    bool valid = s.n > 0;

    for (size_t i = 0; i < s.n; i++)
        valid = valid && (alnum(s.p[i]) || s.p[i] == '-' || s.p[i] == '_' || s.p[i] == '.');
    if (s.n > 253)
        fault(f, "must be no more than 253 characters");
    if (!valid)
        fault(f, "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
                 "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
                 "'[-._a-zA-Z0-9]+')");
    check_dots(s, f);
}

static void check_env(struct str s, struct faults *f)
{
    if (s.n == 0)
        fault(f, "environment variable name must be non-empty");
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < 0x20 || s.p[i] > 0x7e || s.p[i] == '=') {
            fault(f, "a valid environment variable name must consist only of printable ASCII "
                     "characters other than '='");
            break;
        }
    }
}

static struct faults find_faults(struct str s, enum name_format format)
{
    struct faults f = {0};

    switch (format) {
    case NAME_DNS_SUBDOMAIN:
        if (s.n > 253)
            fault(&f, "must be no more than 253 bytes");
        if (!is_subdomain(s))
            fault(&f, SUBDOMAIN_TEXT);
        break;
    case NAME_DNS_LABEL:
        if (s.n > 63)
            fault(&f, "must be no more than 63 bytes");
        if (!is_dns_label(s))
            fault(&f, is_subdomain(s) ? "must not contain dots" : LABEL_TEXT);
        break;
    case NAME_DNS_1035_LABEL:
        if (s.n > 63)
            fault(&f, "must be no more than 63 bytes");
        if (!is_dns_label(s) || (s.p[0] >= '0' && s.p[0] <= '9'))
            fault(&f, LABEL_1035_TEXT);
        break;
    case NAME_QUALIFIED:
        check_qualified(s, &f);
        break;
    case NAME_LABEL_VALUE:
        if (s.n > 63)
            fault(&f, "must be no more than 63 bytes");
        if (!str_empty(s) && !is_key_name(s))
            fault(&f, LABEL_VALUE_TEXT);
        break;
    case NAME_PATH_SEGMENT:
        check_path_segment(s, &f);
        break;
    case NAME_CONFIG_KEY:
        check_config_key(s, &f);
        break;
    case NAME_ENV:
        check_env(s, &f);
        break;
    }
    return f;
}

bool name_valid(struct str text, enum name_format format)
{
    return find_faults(text, format).n == 0;
}

bool field_check_name(struct field_errors *errors, const struct field_path *path, struct str text,
                      enum name_format format)
{
    struct faults f = find_faults(text, format);
    struct json_value value = json_text(text);

    for (size_t i = 0; i < f.n; i++)
        field_error(errors, FIELD_INVALID, path, &value, "%s", f.v[i]);
    return f.n == 0;
}

void field_check_labels(struct field_errors *errors, const struct field_path *path,
                        const struct json_value *labels)
{
    for (size_t i = 0; labels && labels->kind == JSON_OBJECT && i < labels->n_members; i++) {
        const struct json_member *m = &labels->members[i];

        field_check_name(errors, path, m->key, NAME_QUALIFIED);
        if (m->value.kind == JSON_STRING)
            field_check_name(errors, path, m->value.text, NAME_LABEL_VALUE);
    }
}

/* Keys are compared without case: only a key with capitals is copied. */
static struct faults annotation_faults(struct str key, struct arena *a)
{
    bool capitals = false;

    for (size_t i = 0; i < key.n; i++)
        capitals |= key.p[i] >= 'A' && key.p[i] <= 'Z';
    if (capitals) {
        char *lower = arena_alloc(a, key.n, 1);

        for (size_t i = 0; i < key.n; i++)
            lower[i] = (char)(key.p[i] >= 'A' && key.p[i] <= 'Z' ? key.p[i] + 32 : key.p[i]);
        key.p = lower;
    }
    return find_faults(key, NAME_QUALIFIED);
}

void field_check_annotations(struct field_errors *errors, const struct field_path *path,
                             const struct json_value *annotations)
{
    size_t total = 0;

    for (size_t i = 0;
         annotations && annotations->kind == JSON_OBJECT && i < annotations->n_members; i++) {
        const struct json_member *m = &annotations->members[i];
        struct faults f = annotation_faults(m->key, errors->arena);
        struct json_value key = json_text(m->key);

        for (size_t j = 0; j < f.n; j++)
            field_error(errors, FIELD_INVALID, path, &key, "%s", f.v[j]);
        total += m->key.n + (m->value.kind == JSON_STRING ? m->value.text.n : 0);
    }
    if (total > 256 << 10)
        field_error(errors, FIELD_TOO_LONG, path, NULL, "may not be more than %d bytes", 256 << 10);
}
