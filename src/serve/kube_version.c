/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/kube_version.h"

#include <sys/utsname.h>

#include "base/log.h"

#define NUMBERS_MAX 8

struct numbers {
    uint64_t v[NUMBERS_MAX];
    size_t n;
    struct str rest; /* the text after the last number */
};

static int fail(struct err *reterr, const char *before, struct str text, const char *after)
{
    struct buf quoted = BUF_INIT;
    log_quote(&quoted, text);
    int r = err_set(reterr, -EINVAL, "%s%s%s", before, buf_cstr(&quoted), after);
    buf_release(&quoted);
    return r;
}

/* Numbers separated by dots, after optional white space and an optional 'v'. */
static int read_numbers(struct str text, struct numbers *ret, struct err *reterr)
{
    struct numbers numbers = {.rest = text};
    while (numbers.rest.n && strchr(" \t\n\f\r", numbers.rest.p[0]))
        numbers.rest = str_slice(numbers.rest, 1, numbers.rest.n);
    if (numbers.rest.n && numbers.rest.p[0] == 'v')
        numbers.rest = str_slice(numbers.rest, 1, numbers.rest.n);
    for (;;) {
        size_t digits = 0;
        while (digits < numbers.rest.n && numbers.rest.p[digits] >= '0' &&
               numbers.rest.p[digits] <= '9')
            digits++;
        uint64_t value;
        if (numbers.n == NUMBERS_MAX || !str_to_u64(str_slice(numbers.rest, 0, digits), &value))
            return fail(reterr, "could not parse ", text, " as version");
        numbers.v[numbers.n++] = value;
        numbers.rest = str_slice(numbers.rest, digits, numbers.rest.n);
        bool more = numbers.rest.n > 1 && numbers.rest.p[0] == '.' && numbers.rest.p[1] >= '0' &&
                    numbers.rest.p[1] <= '9';
        if (!more)
            break;
        numbers.rest = str_slice(numbers.rest, 1, numbers.rest.n);
    }
    *ret = numbers;
    return 0;
}

/* --- --version -------------------------------------------------------------------------------- */

static bool is_word(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-.", s.p[i]) ||
            (s.p[i] == '.' && (i == 0 || i + 1 == s.n || s.p[i - 1] == '.')))
            return false;
    return s.n > 0;
}

/* "-alpha.1", "+build", both, or empty. */
static bool is_semantic_tail(struct str s)
{
    size_t plus = str_find(s, '+');
    struct str before = str_slice(s, 0, plus);
    return (plus == s.n || is_word(str_slice(s, plus + 1, s.n))) &&
           (before.n == 0 || (before.p[0] == '-' && is_word(str_slice(before, 1, before.n))));
}

static int check_reported(struct str text, struct err *reterr)
{
    struct numbers ours, theirs;
    int r = read_numbers(text, &theirs, reterr);
    if (r < 0 || str_is(text, KUBE_GIT_VERSION))
        return r;
    if (theirs.n != 3)
        return fail(reterr, "illegal version string ", text, "");
    if (!is_semantic_tail(theirs.rest))
        return err_set(reterr, -EINVAL,
                       "could not parse pre-release/metadata (%.*s) in version \"%.*s\"",
                       STR_ARG(theirs.rest), STR_ARG(text));
    r = read_numbers(STR(KUBE_GIT_VERSION), &ours, reterr);
    if (r == 0 && memcmp(ours.v, theirs.v, 3 * sizeof(ours.v[0])) != 0)
        r = fail(reterr, "version ", text,
                 " must match major/minor/patch of default version \"" KUBE_GIT_VERSION "\"");
    return r;
}

int version_flag_set(struct version_flag *flag, struct str text, struct err *reterr)
{
    bool asked;
    int r;
    if (str_is(text, "raw")) {
        flag->asked = VERSION_RAW;
        return 0;
    }
    if (str_starts(text, STR("v"))) {
        r = check_reported(text, reterr);
        if (r == 0)
            *flag = (struct version_flag){VERSION_SET, text};
        return r;
    }
    r = go_parse_bool(text, &asked, reterr);
    if (r == 0)
        flag->asked = asked ? VERSION_ASKED : VERSION_NOT_ASKED;
    return r;
}

void version_flag_write(const struct version_flag *flag, struct buf *out)
{
    static const char *const texts[] = {"false", "true", "raw"};
    if (flag->asked == VERSION_SET)
        buf_add_str(out, flag->reported);
    else
        buf_add_cstr(out, texts[flag->asked]);
}

bool version_flag_answer(const struct version_flag *flag, struct buf *out)
{
    struct str version = flag->reported.n ? flag->reported : STR(KUBE_GIT_VERSION);
    if (flag->asked == VERSION_ASKED)
        buf_add_printf(out, "Kubernetes %.*s", STR_ARG(version));
    if (flag->asked != VERSION_RAW)
        return flag->asked == VERSION_ASKED;
    struct utsname machine = {0};
    uname(&machine);
    const char *arch = strcmp(machine.machine, "x86_64") == 0    ? "amd64"
                       : strcmp(machine.machine, "aarch64") == 0 ? "arm64"
                                                                 : machine.machine;
    buf_add_printf(out,
                   "version.Info{Major:\"%u\", Minor:\"%u\", EmulationMajor:\"\", "
                   "EmulationMinor:\"\", MinCompatibilityMajor:\"\", MinCompatibilityMinor:\"\", "
                   "GitVersion:\"%.*s\", GitCommit:\"berth-" BERTH_VERSION
                   "\", GitTreeState:\"clean\", BuildDate:\"1970-01-01T00:00:00Z\", "
                   "GoVersion:\"\", Compiler:\"C\", Platform:\"linux/%s\"}",
                   KUBE_VERSION.major, KUBE_VERSION.minor, STR_ARG(version), arch);
    return true;
}

/* --- emulation -------------------------------------------------------------------------------- */

static int parse_one(struct str text, struct str component, struct kube_version *ret,
                     struct err *reterr)
{
    struct numbers numbers = {0};
    int r = read_numbers(text, &numbers, reterr);
    if (r < 0)
        return r;
    if (numbers.n < 2)
        return fail(reterr, "illegal version string ", text, "");
    if (numbers.n > 2 && numbers.v[2] != 0)
        return err_set(reterr, -EINVAL, "patch version not allowed, got: %.*s=%llu.%llu.%llu",
                       STR_ARG(component), (unsigned long long)numbers.v[0],
                       (unsigned long long)numbers.v[1], (unsigned long long)numbers.v[2]);
    *ret = (struct kube_version){(unsigned)MIN(numbers.v[0], UINT16_MAX),
                                 (unsigned)MIN(numbers.v[1], UINT16_MAX)};
    return 0;
}

int kube_versions_parse(const struct go_strings *list, struct kube_version *ret_version,
                        bool *ret_given, struct err *reterr)
{
    struct kube_version version = {0};
    struct str unknown = {0};
    bool given = false;
    for (size_t i = 0; i < list->n; i++) {
        struct kube_version one = {0};
        struct str text = list->v[i], component = STR("kube");
        size_t equals = str_find(text, '=');
        if (equals < text.n) {
            component = str_trim(str_slice(text, 0, equals));
            text = str_trim(str_slice(text, equals + 1, text.n));
        }
        int r = parse_one(text, component, &one, reterr);
        if (r < 0)
            return r;
        if (!str_is(component, "kube")) {
            unknown = component;
            continue;
        }
        if (given)
            return err_set(reterr, -EINVAL, "duplicate version flag, kube=%u.%u and kube=%u.%u",
                           version.major, version.minor, one.major, one.minor);
        version = one;
        given = true;
    }
    if (unknown.p)
        return err_set(reterr, -EINVAL, "component not registered: %.*s", STR_ARG(unknown));
    *ret_version = version;
    *ret_given = given;
    return 0;
}

int kube_version_cmp(struct kube_version a, struct kube_version b)
{
    if (a.major != b.major)
        return a.major < b.major ? -1 : 1;
    return a.minor < b.minor ? -1 : a.minor > b.minor;
}
