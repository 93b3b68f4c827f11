/* SPDX-License-Identifier: Apache-2.0 */
/* constraints.c - the constraints of a pod, or the defaults (upstream: common.go). */
#include "plugins/common/default_selector.h"
#include "plugins/pod_topology_spread/spread.h"

static const char *const actions[] = {
    [SPREAD_DO_NOT_SCHEDULE] = "DoNotSchedule",
    [SPREAD_SCHEDULE_ANYWAY] = "ScheduleAnyway",
};

/* --- matchLabelKeys --------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Requires the pod's own labels under matchLabelKeys (upstream: mergeLabelSetWithSelector). */
static void require_own_labels(const struct topology_spread_constraint *from, const struct pod *pod,
                               struct arena *a, struct selector *selector)
{
    size_t n_keys = from->match_label_keys.n, n = 0;
    if (n_keys == 0 || selector->nothing)
        return;
    struct str *keys = arena_array(a, struct str, n_keys);
    memcpy(keys, from->match_label_keys.v, n_keys * sizeof(*keys));
    qsort(keys, n_keys, sizeof(*keys), by_text);
    struct requirement *rs = arena_array(a, struct requirement, n_keys + selector->requirements.n);
    for (size_t i = 0; i < n_keys; i++) {
        const struct str *value = str_map_get(&pod->metadata.labels, keys[i]);
        if (value && (i == 0 || !str_eq(keys[i - 1], keys[i])))
            rs[n++] = (struct requirement){
                .key = keys[i],
                .op = SELECTOR_EQUALS,
                .values = {(struct str *)value, 1}, /* only read */
            };
    }
    for (size_t i = 0; i < selector->requirements.n; i++)
        rs[n++] = selector->requirements.v[i];
    requirements_sort(rs, n);
    *selector = (struct selector){.requirements = {rs, n}};
}

/* --- compilation ------------------------------------------------------------------------------ */

static bool honors(struct str policy, bool fallback)
{
    return str_empty(policy) ? fallback : str_is(policy, "Honor");
}

/* What is compiled, and where to. */
struct compilation {
    struct spread *self;
    const struct pod *pod;
    enum spread_action action;
    struct arena *arena;
    struct buf *why;
};

static int compile(const struct compilation *r, const struct topology_spread_constraint *from,
                   struct spread_constraint *c)
{
    *c = (struct spread_constraint){
        .topology_key = from->topology_key,
        .max_skew = from->max_skew,
        .min_domains = from->min_domains ? *from->min_domains : 1,
        .honor_affinity = honors(from->node_affinity_policy, true),
        .honor_taints = honors(from->node_taints_policy, false),
    };
    int code = selector_compile(from->label_selector, r->arena, &c->selector, NULL);
    if (code == 0 && r->self->match_label_keys)
        require_own_labels(from, r->pod, r->arena, &c->selector);
    return code;
}

static int compile_list(const struct compilation *r, const struct topology_spread_constraint *from,
                        size_t n, struct spread_constraints *out)
{
    struct str action = str_of(actions[r->action]);
    size_t n_meant = 0;
    for (size_t i = 0; i < n; i++)
        n_meant += str_eq(from[i].when_unsatisfiable, action);
    *out = (struct spread_constraints){0};
    if (n_meant)
        out->list.v = arena_array(r->arena, struct spread_constraint, n_meant);
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(from[i].when_unsatisfiable, action))
            continue;
        int code = compile(r, &from[i], &out->list.v[out->list.n++]);
        if (code == 0)
            continue;
        buf_add_printf(r->why, "obtaining pod's %s topology spread constraints: ",
                       r->action == SPREAD_DO_NOT_SCHEDULE ? "hard" : "soft");
        selector_write_fault(from[i].label_selector, r->why);
        return code;
    }
    return 0;
}

/* Upstream: buildDefaultConstraints. Without a selector from the pod's owners there are none. */
static int compile_defaults(const struct compilation *r, struct spread_constraints *out)
{
    struct selector selector;
    int code = compile_list(r, r->self->defaults.v, r->self->defaults.n, out);
    if (code < 0 || out->list.n == 0)
        return code;
    default_selector(&r->self->cluster->objects, r->pod, r->arena, &selector);
    if (selector.requirements.n == 0)
        out->list.n = 0;
    for (size_t i = 0; i < out->list.n; i++)
        out->list.v[i].selector = selector;
    return 0;
}

int spread_constraints_compile(struct spread *self, const struct pod *pod,
                               enum spread_action action, struct arena *a,
                               struct spread_constraints *ret_constraints, struct buf *why)
{
    struct compilation r = {self, pod, action, a, why};
    const struct pod_spec *spec = &pod->spec;
    if (spec->topology_spread_constraints.n == 0)
        return compile_defaults(&r, ret_constraints);
    return compile_list(&r, spec->topology_spread_constraints.v,
                        spec->topology_spread_constraints.n, ret_constraints);
}

enum berth_code spread_fail(const struct spread *self, struct berth_status *status,
                            const char *doing, const struct buf *why)
{
    char *text = xasprintf("%s: %.*s", doing, STR_ARG(buf_str(why)));
    self->host->status_text(status, abi_str(str_of(text)));
    free(text);
    return BERTH_ERROR;
}
