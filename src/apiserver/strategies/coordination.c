/* SPDX-License-Identifier: Apache-2.0 */
/* coordination.k8s.io: leases and their candidates. */
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

/* Upstream's path has the name of the member twice. */
static void check_strategy(const struct spot *strategy)
{
    static const char *const known[] = {"OldestEmulationVersion", NULL};
    struct str text = spot_str(strategy);
    struct spot twice = spot_get(strategy, "strategy");

    twice.v = strategy->v;
    if (str_find(text, '/') == text.n)
        spot_check_one_of(&twice, known);
    else
        spot_check_name(&twice, NAME_QUALIFIED);
}

static void validate_lease(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot duration = spot_get(&spec, "leaseDurationSeconds");
    struct spot transitions = spot_get(&spec, "leaseTransitions");
    struct spot strategy = spot_get(&spec, "strategy");
    struct spot preferred = spot_get(&spec, "preferredHolder");

    if (spot_has(&duration) && spot_int(&duration) <= 0)
        spot_invalid(&duration, "must be greater than 0");
    if (spot_has(&transitions))
        spot_check_nonnegative(&transitions);
    if (spot_has(&strategy))
        check_strategy(&strategy);
    if (!spot_empty(&preferred) && spot_empty(&strategy))
        spot_forbidden(&preferred, "may only be specified if `strategy` is defined");
}

/* --- candidates ------------------------------------------------------------------------------- */

struct version {
    uint64_t v[3];
    struct str pre; /* "alpha.1"; a version without one is later */
};

static bool parse_number(struct str s, uint64_t *ret_number)
{
    return !(s.n > 1 && s.p[0] == '0') && str_to_u64(s, ret_number);
}

static bool identifiers_valid(struct str s)
{
    struct str part;

    while (str_split(&s, '.', &part)) {
        if (part.n == 0)
            return false;
        for (size_t i = 0; i < part.n; i++) {
            char c = part.p[i];

            if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-'))
                return false;
        }
    }
    return true;
}

/* MAJOR.MINOR.PATCH[-PRE][+BUILD] */
static bool parse_version(struct str s, struct version *ret_version)
{
    struct version v = {0};
    size_t plus = str_find(s, '+'), dash;
    struct str build = str_slice(s, plus + 1, s.n), part;

    if (plus < s.n && !identifiers_valid(build.n ? build : STR(".")))
        return false;
    s = str_slice(s, 0, plus);
    dash = str_find(s, '-');
    if (dash < s.n) {
        v.pre = str_slice(s, dash + 1, s.n);
        if (v.pre.n == 0 || !identifiers_valid(v.pre))
            return false;
        s = str_slice(s, 0, dash);
    }
    for (int i = 0; i < 3; i++)
        if (!str_split(&s, '.', &part) || !parse_number(part, &v.v[i]))
            return false;
    *ret_version = v;
    return s.p == NULL;
}

static int compare_pre(struct str a, struct str b)
{
    struct str x, y;

    if (a.n == 0 || b.n == 0)
        return (a.n == 0) - (b.n == 0);
    for (;;) {
        bool more_a = str_split(&a, '.', &x), more_b = str_split(&b, '.', &y);
        uint64_t n, m;
        bool number_x, number_y;
        int order;

        if (!more_a || !more_b)
            return more_a - more_b;
        number_x = str_to_u64(x, &n);
        number_y = str_to_u64(y, &m);
        if (number_x && number_y)
            order = (n > m) - (n < m);
        else if (number_x != number_y)
            order = number_x ? -1 : 1;
        else
            order = str_cmp(x, y);
        if (order)
            return order;
    }
}

static int compare_versions(const struct version *a, const struct version *b)
{
    for (int i = 0; i < 3; i++)
        if (a->v[i] != b->v[i])
            return a->v[i] < b->v[i] ? -1 : 1;
    return compare_pre(a->pre, b->pre);
}

static void check_versions(const struct spot *spec, struct version *emulation)
{
    struct spot binary = spot_text(spec, "binaryVersion");
    struct spot emulated = spot_text(spec, "emulationVersion");
    struct version version = {0};

    if (!spot_empty(&emulated) && !parse_version(spot_str(&emulated), emulation))
        spot_invalid(&emulated, "must be a valid semantic version");
    if (spot_empty(&binary))
        spot_required(&binary, "");
    else if (!parse_version(spot_str(&binary), &version))
        spot_invalid(&binary, "must be a valid semantic version");
    if (!spot_empty(&binary) && !spot_empty(&emulated) && compare_versions(&version, emulation) < 0)
        spot_invalid(&binary, "must be greater than or equal to `emulationVersion`");
}

static void validate_candidate(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot lease = spot_text(&spec, "leaseName"), strategy = spot_text(&spec, "strategy");
    struct spot emulated = spot_text(&spec, "emulationVersion");
    struct version emulation = {0}, zero = {0};

    if (spot_empty(&lease))
        spot_required(&lease, "");
    check_versions(&spec, &emulation);
    if (spot_empty(&strategy)) {
        spot_required(&strategy, "");
        return;
    }
    if (spot_is(&strategy, "OldestEmulationVersion") && compare_versions(&emulation, &zero) == 0)
        spot_required(&emulated, "must be specified when `strategy` is 'OldestEmulationVersion'");
    check_strategy(&strategy);
}

static void validate_candidate_update(const struct json_value *object, const struct json_value *old,
                                      struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");

    spot_check_same_text(&spec, json_get(old, STR("spec")), "leaseName");
}

const struct strategy coordination_strategies[] = {
    {
        .group = STR_INIT("coordination.k8s.io"),
        .plural = STR_INIT("leases"),
        .validate = validate_lease,
        .no_status = true,
        .allow_create_on_update = true,
    },
    {
        .group = STR_INIT("coordination.k8s.io"),
        .plural = STR_INIT("leasecandidates"),
        .validate = validate_candidate,
        .validate_update = validate_candidate_update,
        .no_status = true,
        .allow_create_on_update = true,
    },
    {.plural = STR_INIT("")},
};
