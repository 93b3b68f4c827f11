/* SPDX-License-Identifier: Apache-2.0 */
/* What a registry shows: disabled and deprecated families, allowed label values. */
#include "base/metrics_internal.h"

struct metrics_filter {
    struct arena arena; /* of the rules */
    struct metrics_rules rules;
    struct metric_family *registered;
    struct metric *hidden, *unexpected;
};

enum own { OWN_REGISTERED, OWN_DISABLED, OWN_HIDDEN, OWN_UNEXPECTED, OWN_COUNT };

static const struct metric_desc own[OWN_COUNT] = {
    [OWN_REGISTERED] = {.name = "registered_metrics_total",
                        .help = "The count of registered metrics broken by stability level and "
                                "deprecation version.",
                        .stability = "BETA",
                        .kind = METRIC_COUNTER,
                        .labels = {"stability_level", "deprecated_version"}},
    [OWN_DISABLED] = {.name = "disabled_metrics_total",
                      .help = "The count of disabled metrics.",
                      .stability = "BETA",
                      .kind = METRIC_COUNTER},
    [OWN_HIDDEN] = {.name = "hidden_metrics_total",
                    .help = "The count of hidden metrics.",
                    .stability = "BETA",
                    .kind = METRIC_COUNTER},
    [OWN_UNEXPECTED] = {.name = "cardinality_enforcement_unexpected_categorizations_total",
                        .help = "The count of unexpected categorizations during cardinality "
                                "enforcement.",
                        .stability = "ALPHA",
                        .kind = METRIC_COUNTER},
};

/* --- families --------------------------------------------------------------------------------- */

static bool is_disabled(const struct metrics_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->n_disabled; i++)
        if (str_is(rules->disabled[i], name))
            return true;
    return false;
}

/*
 * Upstream's deprecation policy: a stable family is shown for three more versions, a beta one for
 * one, others not at all.
 */
static bool is_past(const struct metric_desc *desc, unsigned minor)
{
    struct str rest = str_of(desc->deprecated ? desc->deprecated : ""), major, of_major;
    uint64_t since;
    if (!str_split(&rest, '.', &major) || !str_split(&rest, '.', &of_major) ||
        !str_to_u64(of_major, &since))
        return false;
    unsigned grace = !strcmp(desc->stability, "STABLE") ? 3 : !strcmp(desc->stability, "BETA");
    return since + grace <= minor;
}

static bool is_restricted(const struct metrics_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->n_allowed; i++)
        if (str_is(rules->allowed[i].family, name))
            return true;
    return false;
}

void metrics_filter_admit(struct metrics_filter *filter, struct metric_family *f)
{
    const struct metric_desc *desc = f->desc;
    f->hidden = is_disabled(&filter->rules, desc->name) ||
                (!filter->rules.show_hidden && is_past(desc, filter->rules.minor));
    if (is_restricted(&filter->rules, desc->name))
        f->filter = filter;
    if (f->hidden) {
        metric_add(filter->hidden, 1);
        return;
    }
    struct str values[] = {str_of(desc->stability),
                           str_of(desc->deprecated ? desc->deprecated : "")};
    metric_add(metric_with(filter->registered, values), 1);
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_listed(struct str list, struct str value)
{
    struct str rest = list, one;
    while (str_split(&rest, ',', &one))
        if (str_eq(one, value))
            return true;
    return false;
}

struct str metrics_filter_value(const struct metrics_filter *filter, const struct metric_desc *desc,
                                size_t label, struct str value)
{
    for (size_t i = 0; i < filter->rules.n_allowed; i++) {
        const struct metric_allow *allow = &filter->rules.allowed[i];
        if (!str_is(allow->family, desc->name) || !str_is(allow->label, desc->labels[label]) ||
            is_listed(allow->values, value))
            continue;
        metric_add(filter->unexpected, 1);
        return STR("unexpected");
    }
    return value;
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void copy_rules(struct metrics_filter *filter, const struct metrics_rules *rules)
{
    struct arena *a = &filter->arena;
    struct str *disabled = arena_array(a, struct str, rules->n_disabled);
    struct metric_allow *allowed = arena_array(a, struct metric_allow, rules->n_allowed);
    for (size_t i = 0; i < rules->n_disabled; i++)
        disabled[i] = arena_dup(a, rules->disabled[i]);
    for (size_t i = 0; i < rules->n_allowed; i++)
        allowed[i] = (struct metric_allow){arena_dup(a, rules->allowed[i].family),
                                           arena_dup(a, rules->allowed[i].label),
                                           arena_dup(a, rules->allowed[i].values)};
    filter->rules = *rules;
    filter->rules.disabled = disabled;
    filter->rules.allowed = allowed;
}

/* Number of disabled names, each counted once. */
static size_t count_disabled(const struct metrics_rules *rules)
{
    size_t n = 0;
    for (size_t i = 0; i < rules->n_disabled; i++) {
        size_t k = 0;
        while (k < i && !str_eq(rules->disabled[k], rules->disabled[i]))
            k++;
        n += k == i;
    }
    return n;
}

void metrics_govern(struct metrics *m, const struct metrics_rules *rules)
{
    assert(!m->filter && !m->families.n);
    struct metrics_filter *filter = xnew(struct metrics_filter);
    struct metric_family *families[OWN_COUNT];
    arena_init(&filter->arena, 0);
    copy_rules(filter, rules);
    metrics_add_all(m, own, OWN_COUNT, families);
    filter->registered = families[OWN_REGISTERED];
    filter->hidden = metric_with(families[OWN_HIDDEN], NULL);
    filter->unexpected = metric_with(families[OWN_UNEXPECTED], NULL);
    metric_add(metric_with(families[OWN_DISABLED], NULL), (double)count_disabled(rules));
    for (size_t i = 0; i < OWN_COUNT; i++)
        metrics_filter_admit(filter, families[i]);
    m->filter = filter;
}

void metrics_filter_free(struct metrics_filter *filter)
{
    if (!filter)
        return;
    arena_release(&filter->arena);
    free(filter);
}
