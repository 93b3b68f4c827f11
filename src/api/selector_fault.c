/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apimachinery's error texts for label selectors: they appear in events of pods, where tools search
 * for them.
 */
#include "api/selector_fault.h"

#include "codec/json.h"

#define NAME_RULE                                                                               \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric character"
#define NAME_RE "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define NAME_EXAMPLES \
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '" NAME_RE "')"
#define VALUE_RULE                                                                           \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' " \
    "or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "    \
    "'my_value',  or '12345', regex used for validation is '(" NAME_RE ")?')"
#define SUBDOMAIN_RULE                                                                            \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "  \
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used " \
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

#define NAME_MAX      63
#define SUBDOMAIN_MAX 253

/* --- texts ------------------------------------------------------------------------------------ */

/* Starts a new entry after the existing ones. */
static void next_fault(struct faults *f, const char *separator)
{
    if (f->n++)
        buf_add_cstr(&f->text, separator);
}

/* Characters beyond ASCII that Go escapes; rare ones are not covered. */
static bool prints(uint32_t rune)
{
    return rune >= 0xa1 && rune != 0xad && !(rune >= 0x2000 && rune <= 0x200f) &&
           !(rune >= 0x2028 && rune <= 0x202f) && !(rune >= 0x205f && rune <= 0x206f) &&
           rune != 0x3000 && rune != 0xfeff && !(rune >= 0xe000 && rune <= 0xf8ff) &&
           !(rune >= 0xfff0 && rune <= 0xfffb) && (rune & 0xfffe) != 0xfffe;
}

static void quote_ascii(struct buf *out, unsigned char c)
{
    static const char *const names[] = {
        ['\a'] = "\\a", ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r",
        ['\t'] = "\\t", ['\v'] = "\\v", ['"'] = "\\\"", ['\\'] = "\\\\"};
    if (c < ARRAY_LEN(names) && names[c])
        buf_add_cstr(out, names[c]);
    else if (c < 0x20 || c == 0x7f)
        buf_add_printf(out, "\\x%02x", c);
    else
        buf_add_char(out, (char)c);
}

void fault_quote(struct buf *out, struct str s)
{
    buf_add_char(out, '"');
    while (s.n) {
        struct str at = s;
        uint32_t rune = str_next_rune(&s);
        if (rune == STR_BAD_RUNE)
            buf_add_printf(out, "\\x%02x", (unsigned char)at.p[0]);
        else if (rune < 0x80)
            quote_ascii(out, (unsigned char)rune);
        else if (prints(rune))
            buf_add(out, at.p, at.n - s.n);
        else
            buf_add_printf(out, rune < 0x10000 ? "\\u%04x" : "\\U%08x", rune);
    }
    buf_add_char(out, '"');
}

/* --- keys and values -------------------------------------------------------------------------- */

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

/* At least one character: `edge` at both ends, `others` also allowed between them. */
static bool well_formed(struct str s, bool edge(char c), const char *others)
{
    if (s.n == 0 || !edge(s.p[0]) || !edge(s.p[s.n - 1]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!edge(s.p[i]) && (!s.p[i] || !strchr(others, s.p[i])))
            return false;
    return true;
}

static bool is_subdomain(struct str s)
{
    struct str part;
    bool ok = s.n > 0;
    while (ok && str_split(&s, '.', &part))
        ok = well_formed(part, is_lower_alnum, "-");
    return ok;
}

static void check_prefix(struct faults *f, struct str prefix)
{
    if (prefix.n == 0) {
        next_fault(f, "; ");
        buf_add_cstr(&f->text, "prefix part must be non-empty");
        return;
    }
    if (prefix.n > SUBDOMAIN_MAX) {
        next_fault(f, "; ");
        buf_add_printf(&f->text, "prefix part must be no more than %d bytes", SUBDOMAIN_MAX);
    }
    if (!is_subdomain(prefix)) {
        next_fault(f, "; ");
        buf_add_cstr(&f->text, "prefix part " SUBDOMAIN_RULE);
    }
}

static void check_name(struct faults *f, struct str name)
{
    if (name.n == 0 || name.n > NAME_MAX) {
        next_fault(f, "; ");
        if (name.n)
            buf_add_printf(&f->text, "name part must be no more than %d bytes", NAME_MAX);
        else
            buf_add_cstr(&f->text, "name part must be non-empty");
    }
    if (!well_formed(name, is_alnum, "-_.")) {
        next_fault(f, "; ");
        buf_add_cstr(&f->text, "name part " NAME_RULE NAME_EXAMPLES);
    }
}

static void check_key(struct faults *f, struct str key)
{
    size_t slash = str_find(key, '/');
    struct str name = str_slice(key, slash + 1, key.n);
    if (slash == key.n) {
        check_name(f, key);
    } else if (str_find(name, '/') < name.n) {
        next_fault(f, "; ");
        buf_add_cstr(&f->text, "a valid label key " NAME_RULE NAME_EXAMPLES
                               " with an optional DNS subdomain prefix and '/' (e.g. "
                               "'example.com/MyName')");
    } else {
        check_prefix(f, str_slice(key, 0, slash));
        check_name(f, name);
    }
}

static void check_value(struct faults *f, struct str value)
{
    if (value.n > NAME_MAX) {
        next_fault(f, "; ");
        buf_add_printf(&f->text, "must be no more than %d bytes", NAME_MAX);
    }
    if (value.n && !well_formed(value, is_alnum, "-_.")) {
        next_fault(f, "; ");
        buf_add_cstr(&f->text, VALUE_RULE);
    }
}

/* --- requirements ----------------------------------------------------------------------------- */

void faults_add(struct faults *all, const char *fmt, ...)
{
    va_list ap;
    next_fault(all, ", ");
    va_start(ap, fmt);
    buf_add_vprintf(&all->text, fmt, ap);
    va_end(ap);
}

/* "field: Invalid value: "text": why; and why" where there is a why. */
static void add_invalid(struct faults *all, const char *field, struct str text, struct faults *why)
{
    if (why->n) {
        faults_add(all, "%s: Invalid value: ", field);
        fault_quote(&all->text, text);
        buf_add_cstr(&all->text, ": ");
        buf_add_str(&all->text, buf_str(&why->text));
    }
    buf_release(&why->text);
}

void faults_add_values(struct faults *all, const char *path, const struct str *v, size_t n,
                       const char *why)
{
    faults_add(all, "%svalues: Invalid value: %s", path, v ? "[" : "null");
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(&all->text, ',');
        json_write_str(&all->text, v[i]);
    }
    buf_add_printf(&all->text, "%s: %s", v ? "]" : "", why);
}

static const char *wrong_count(const struct requirement *r)
{
    switch (r->op) {
    case SELECTOR_IN:
    case SELECTOR_NOT_IN:
        return r->values.n ? NULL : "for 'in', 'notin' operators, values set can't be empty";
    case SELECTOR_EXISTS:
    case SELECTOR_DOES_NOT_EXIST:
        return r->values.n ? "values set must be empty for exists and does not exist" : NULL;
    case SELECTOR_GT:
    case SELECTOR_LT:
        return r->values.n == 1 ? NULL : "for 'Gt', 'Lt' operators, exactly one value is required";
    case SELECTOR_EQUALS:
    case SELECTOR_DOUBLE_EQUALS:
    case SELECTOR_NOT_EQUALS:
        return r->values.n == 1 ? NULL : "exact-match compatibility requires one single value";
    }
    return NULL;
}

static void check_numbers(struct faults *all, const char *path, const struct requirement *r)
{
    for (size_t i = 0; i < r->values.n; i++) {
        int64_t number;
        if (selector_number(r->values.v[i], &number))
            continue;
        faults_add(all, "%svalues[%zu]: Invalid value: ", path, i);
        fault_quote(&all->text, r->values.v[i]);
        buf_add_cstr(&all->text, ": for 'Gt', 'Lt' operators, the value must be an integer");
    }
}

void faults_check(struct faults *all, const char *path, const struct requirement *r)
{
    struct faults why = {0};
    check_key(&why, r->key);
    char *field = xasprintf("%skey", path);
    add_invalid(all, field, r->key, &why);
    free(field);
    if (wrong_count(r))
        faults_add_values(all, path, r->values.v, r->values.n, wrong_count(r));
    if (r->op == SELECTOR_GT || r->op == SELECTOR_LT)
        check_numbers(all, path, r);
    for (size_t i = 0; i < r->values.n; i++) {
        why = (struct faults){0};
        check_value(&why, r->values.v[i]);
        field = xasprintf("%svalues[%zu][%.*s]", path, i, STR_ARG(r->key));
        add_invalid(all, field, r->values.v[i], &why);
        free(field);
    }
}

void faults_check_name(struct faults *all, const char *field, struct str name)
{
    struct faults why = {0};
    struct str separator = STR("; ");
    check_key(&why, name);
    struct str rest = buf_str(&why.text);
    while (rest.n) {
        size_t end = str_search(rest, separator);
        faults_add(all, "%s: Invalid value: ", field);
        fault_quote(&all->text, name);
        buf_add_printf(&all->text, ": %.*s", STR_ARG(str_slice(rest, 0, end)));
        rest = str_slice(rest, end + separator.n, rest.n);
    }
    buf_release(&why.text);
}

bool faults_write(struct faults *all, struct buf *out)
{
    bool any = all->n > 0;
    if (all->n > 1)
        buf_add_char(out, '[');
    buf_add_str(out, buf_str(&all->text));
    if (all->n > 1)
        buf_add_char(out, ']');
    buf_release(&all->text);
    all->n = 0;
    return any;
}

/* Only the first invalid expression is reported. */
static bool write_expression_fault(const struct label_selector_requirement *from, struct buf *out)
{
    struct faults all = {0};
    struct requirement r = {.key = from->key, .values = {from->values.v, from->values.n}};
    if (selector_op_parse(from->operator, & r.op) && r.op != SELECTOR_GT && r.op != SELECTOR_LT) {
        faults_check(&all, "", &r);
        return faults_write(&all, out);
    }
    fault_quote(out, from->operator);
    buf_add_cstr(out, " is not a valid label selector operator");
    return true;
}

bool selector_write_fault(const struct label_selector *ls, struct buf *out)
{
    for (size_t i = 0; ls && i < ls->match_labels.n; i++) {
        struct faults all = {0};
        struct str_entry *label = &ls->match_labels.v[i];
        struct requirement r = {
            .key = label->key, .op = SELECTOR_EQUALS, .values = {&label->value, 1}};
        faults_check(&all, "", &r);
        if (faults_write(&all, out))
            return true;
    }
    for (size_t i = 0; ls && i < ls->match_expressions.n; i++)
        if (write_expression_fault(&ls->match_expressions.v[i], out))
            return true;
    return false;
}
