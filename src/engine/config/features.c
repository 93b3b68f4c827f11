/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/features.h"

#include "engine/config/error_list.h"

static const char *const names[FEATURE_COUNT] = {
    [FEATURE_DRA_ADMIN_ACCESS] = "DRAAdminAccess",
    [FEATURE_DRA_CONSUMABLE_CAPACITY] = "DRAConsumableCapacity",
    [FEATURE_DRA_DEVICE_BINDING_CONDITIONS] = "DRADeviceBindingConditions",
    [FEATURE_DRA_DEVICE_TAINT_RULES] = "DRADeviceTaintRules",
    [FEATURE_DRA_DEVICE_TAINTS] = "DRADeviceTaints",
    [FEATURE_DRA_EXTENDED_RESOURCE] = "DRAExtendedResource",
    [FEATURE_DRA_LIST_TYPE_ATTRIBUTES] = "DRAListTypeAttributes",
    [FEATURE_DRA_NODE_ALLOCATABLE_RESOURCES] = "DRANodeAllocatableResources",
    [FEATURE_DRA_PARTITIONABLE_DEVICES] = "DRAPartitionableDevices",
    [FEATURE_DRA_PRIORITIZED_LIST] = "DRAPrioritizedList",
    [FEATURE_DRA_RESOURCE_CLAIM_DEVICE_STATUS] = "DRAResourceClaimDeviceStatus",
    [FEATURE_DRA_SCHEDULER_FILTER_TIMEOUT] = "DRASchedulerFilterTimeout",
    [FEATURE_DRA_WORKLOAD_RESOURCE_CLAIMS] = "DRAWorkloadResourceClaims",
    [FEATURE_DYNAMIC_RESOURCE_ALLOCATION] = "DynamicResourceAllocation",
    [FEATURE_GANG_SCHEDULING] = "GangScheduling",
    [FEATURE_MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD] = "MatchLabelKeysInPodTopologySpread",
    [FEATURE_NODE_DECLARED_FEATURES] = "NodeDeclaredFeatures",
    [FEATURE_POD_LEVEL_RESOURCES] = "PodLevelResources",
    [FEATURE_STORAGE_CAPACITY_SCORING] = "StorageCapacityScoring",
    [FEATURE_SCHEDULER_ASYNC_PREEMPTION] = "SchedulerAsyncPreemption",
    [FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS] = "TaintTolerationComparisonOperators",
    [FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING] = "TopologyAwareWorkloadScheduling",
    [FEATURE_VOLUME_LIMIT_SCALING] = "VolumeLimitScaling",
    [FEATURE_WORKLOAD_AWARE_PREEMPTION] = "WorkloadAwarePreemption",
    [FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS] = "BerthExactNamespaceSelectors",
    [FEATURE_BERTH_GANG_PREEMPTION] = "BerthGangPreemption",
    [FEATURE_BERTH_GANGS_HOLD_NOTHING] = "BerthGangsHoldNothing",
    [FEATURE_BERTH_RANDOM_TIES] = "BerthRandomTies",
    [FEATURE_BERTH_SANE_SCORES] = "BerthSaneScores",
    [FEATURE_BERTH_VICTIMS_CAN_MOVE] = "BerthVictimsCanMove",
    [FEATURE_BERTH_WIDE_PREEMPTION] = "BerthWidePreemption",
};

/* A gate at one version. */
struct stage {
    char letter; /* as in the table; 'p': pre-alpha, it does not exist yet */
    bool on, locked;
};

/* --- table ------------------------------------------------------------------------------------ */

static int find(struct str name)
{
    size_t from = 0, to = FEATURE_GATE_COUNT;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = str_cmp(name, feature_gates[middle].name);
        if (order == 0)
            return (int)middle;
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return -1;
}

static struct stage stage_at(size_t gate, struct kube_version v)
{
    struct stage stage = {.letter = 'p'};
    struct str rest = str_of(feature_gates[gate].stages), one;
    while (str_split(&rest, ' ', &one)) {
        size_t digits = 0;
        unsigned minor = 0;
        while (one.p[digits] >= '0' && one.p[digits] <= '9')
            minor = minor * 10 + (unsigned)(one.p[digits++] - '0');
        if (v.major < 1 ? minor > 0 : v.major == 1 && v.minor < minor)
            break;
        stage = (struct stage){one.p[digits], one.p[digits + 1] == '+', digits + 2 < one.n};
    }
    return stage;
}

/* berth's gates change placements: AllAlpha and AllBeta do not include them. */
static bool is_ours(size_t gate)
{
    return str_starts(feature_gates[gate].name, STR("Berth"));
}

static bool is_all(struct str name)
{
    return str_is(name, "AllAlpha") || str_is(name, "AllBeta");
}

static int8_t given_all(const struct features *f, struct stage stage)
{
    if (stage.letter == 'a')
        return f->given[find(STR("AllAlpha"))];
    return stage.letter == 'b' ? f->given[find(STR("AllBeta"))] : 0;
}

static bool enabled(const struct features *f, size_t gate)
{
    struct stage stage = stage_at(gate, f->emulated);
    int8_t given = f->given[gate];
    if (!given && !is_ours(gate) && !is_all(feature_gates[gate].name))
        given = given_all(f, stage);
    return given ? given > 0 : stage.on;
}

bool features_enabled(const struct features *f, const char *name)
{
    int gate = find(str_of(name));
    assert(gate >= 0);
    return enabled(f, (size_t)gate);
}

bool features_group_pods(const struct features *f)
{
    return f->given[find(STR("GenericWorkload"))] >= 0 &&
           f->given[find(STR("GangScheduling"))] >= 0;
}

static void resolve(struct features *f)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        f->on[i] = features_enabled(f, names[i]);
}

void features_default(struct features *f)
{
    *f = (struct features){.emulated = KUBE_VERSION,
                           .min_compatible = {KUBE_VERSION.major, KUBE_VERSION.minor - 1}};
    resolve(f);
}

void features_emulate(struct features *f, struct kube_version emulated,
                      struct kube_version min_compatible)
{
    f->emulated = emulated;
    f->min_compatible = min_compatible;
    resolve(f);
}

/* --- parsing ---------------------------------------------------------------------------------- */

/* Removes "kube:". *components: bit 0, an entry without it; bit 1, an entry with it. */
static int take_component(struct str *pair, unsigned *components, struct err *reterr)
{
    size_t colon = str_find(*pair, ':');
    struct str component = colon < pair->n ? str_trim(str_slice(*pair, 0, colon)) : STR("");
    if (colon < pair->n)
        *pair = str_trim(str_slice(*pair, colon + 1, pair->n));
    if (!str_empty(component) && !str_is(component, "kube"))
        return err_set(reterr, -EINVAL, "component not registered: %.*s", STR_ARG(component));
    *components |= str_empty(component) ? 1U : 2U;
    return *components == 3 ? err_set(reterr, -EINVAL,
                                      "set kube feature gates with default empty prefix or kube: "
                                      "prefix consistently, do not mix use")
                            : 0;
}

/* f NULL: checks the form only. */
static int parse_one(struct features *f, struct str pair, struct err *reterr)
{
    size_t equals = str_find(pair, '=');
    struct str name = str_trim(str_slice(pair, 0, equals));
    if (equals == pair.n)
        return err_set(reterr, -EINVAL, "missing bool value for %.*s", STR_ARG(name));
    struct str value = str_trim(str_slice(pair, equals + 1, pair.n));
    bool on;
    if (!str_to_bool(value, &on))
        return err_set(reterr, -EINVAL,
                       "invalid value of %.*s=%.*s, err: strconv.ParseBool: parsing \"%.*s\": "
                       "invalid syntax",
                       STR_ARG(name), STR_ARG(value), STR_ARG(value));
    int gate = f ? find(name) : 0;
    if (gate < 0)
        return err_set(reterr, -EINVAL, "unrecognized feature gate: %.*s", STR_ARG(name));
    if (f)
        f->given[gate] = on ? 1 : -1;
    return 0;
}

static void check_given(const struct features *f, size_t gate, struct error_list *out)
{
    struct stage stage = stage_at(gate, f->emulated);
    const char *name = feature_gates[gate].name.p, *value = f->given[gate] > 0 ? "true" : "false";
    if (!f->given[gate])
        return;
    if (stage.locked && stage.on != (f->given[gate] > 0))
        error_list_add(out, "cannot set feature gate %s to %s, feature is locked to %s", name,
                       value, stage.on ? "true" : "false");
    else if (stage.letter == 'p')
        error_list_add(out,
                       "cannot set feature gate %s to %s, feature is PreAlpha at emulated version "
                       "%u.%u, min compatibility version %u.%u",
                       name, value, f->emulated.major, f->emulated.minor, f->min_compatible.major,
                       f->min_compatible.minor);
}

static void check_needs(const struct features *f, size_t gate, struct error_list *out)
{
    struct str rest = str_of(feature_gates[gate].needs), one;
    struct buf missing = BUF_INIT;
    if (rest.p && enabled(f, gate))
        while (str_split(&rest, ' ', &one))
            if (!enabled(f, (size_t)find(one)))
                buf_add_printf(&missing, "%s%.*s", missing.n ? " " : "", STR_ARG(one));
    if (missing.n)
        error_list_add(out, "%s is enabled, but depends on features that are disabled: [%s]",
                       feature_gates[gate].name.p, buf_cstr(&missing));
    buf_release(&missing);
}

static int check(const struct features *f, struct err *reterr)
{
    struct error_list errors = {0};
    for (size_t i = 0; i < FEATURE_GATE_COUNT; i++)
        check_given(f, i, &errors);
    bool settable = errors.n == 0;
    for (size_t i = 0; settable && i < FEATURE_GATE_COUNT; i++)
        check_needs(f, i, &errors);
    int r = 0;
    if (errors.n) {
        struct buf text = BUF_INIT;
        error_list_write(&errors, &text);
        r = err_set(reterr, -EINVAL, "%s", buf_cstr(&text));
        buf_release(&text);
    }
    error_list_release(&errors);
    return r;
}

int features_parse(struct features *f, struct str text, struct err *reterr)
{
    struct features next = *f;
    unsigned components = 0;
    /* In upstream's order: all prefixes, then all forms, then the gates. */
    for (int pass = 0; pass < 3; pass++) {
        struct str rest = text, pair;
        while (!str_empty(text) && str_split(&rest, ',', &pair)) {
            pair = str_trim(pair);
            if (str_empty(pair))
                continue;
            int r = take_component(&pair, &components, reterr);
            if (r == 0 && pass > 0 && !str_empty(pair))
                r = parse_one(pass == 2 ? &next : NULL, pair, reterr);
            if (r < 0)
                return r;
        }
    }
    int r = check(&next, reterr);
    if (r < 0)
        return r;
    resolve(&next);
    *f = next;
    return 0;
}

/* --- output ----------------------------------------------------------------------------------- */

static void write_help(size_t gate, struct buf *out)
{
    struct stage stage = stage_at(gate, KUBE_VERSION);
    if (stage.letter == 'a' || stage.letter == 'b')
        buf_add_printf(out, "kube:%s=true|false (%s - default=%s)\n", feature_gates[gate].name.p,
                       stage.letter == 'a' ? "ALPHA" : "BETA", stage.on ? "true" : "false");
}

void features_write_help(struct buf *out)
{
    for (size_t i = 0; i < FEATURE_GATE_COUNT; i++)
        write_help(i, out);
}

void features_write_own_help(struct buf *out)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++)
        write_help((size_t)find(str_of(names[i])), out);
}

void features_each_notice(const struct features *f, features_notice_fn *fn, void *ctx)
{
    for (size_t i = 0; i < FEATURE_GATE_COUNT; i++) {
        char letter = stage_at(i, f->emulated).letter;
        if (f->given[i] && (letter == 'g' || letter == 'd'))
            fn(ctx, feature_gates[i].name.p, letter == 'd', f->given[i] > 0);
    }
}

void features_write_alpha(const struct features *f, struct buf *out)
{
    for (size_t i = 0; i < FEATURE_GATE_COUNT; i++)
        if (stage_at(i, f->emulated).letter == 'a' && enabled(f, i))
            buf_add_printf(out, "%s%s", out->n ? " " : "", feature_gates[i].name.p);
}

void features_each(const struct features *f, features_fn *fn, void *ctx)
{
    for (size_t i = 0; i < FEATURE_GATE_COUNT; i++) {
        char letter = stage_at(i, f->emulated).letter;
        const char *stage = letter == 'a'   ? "ALPHA"
                            : letter == 'b' ? "BETA"
                            : letter == 'd' ? "DEPRECATED"
                                            : "";
        if (letter != 'p')
            fn(ctx, feature_gates[i].name, stage, enabled(f, i));
    }
}
