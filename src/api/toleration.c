/* SPDX-License-Identifier: Apache-2.0 */
#include "api/toleration.h"

unsigned taint_effect(const struct taint *taint)
{
    if (str_is(taint->effect, TAINT_EFFECT_NO_SCHEDULE))
        return TAINT_NO_SCHEDULE;
    if (str_is(taint->effect, TAINT_EFFECT_PREFER_NO_SCHEDULE))
        return TAINT_PREFER_NO_SCHEDULE;
    if (str_is(taint->effect, TAINT_EFFECT_NO_EXECUTE))
        return TAINT_NO_EXECUTE;
    return 0;
}

/* A canonical integer: no plus, no leading zeros, no -0. */
static bool to_number(struct str s, int64_t *ret_number)
{
    bool negative = str_starts(s, STR("-"));
    struct str digits = str_slice(s, negative ? 1 : 0, s.n);
    if (str_starts(digits, STR("0")) && (negative || digits.n > 1))
        return false;
    return str_to_i64(s, ret_number);
}

/* The taint's number must be below (Lt) or above (Gt) the toleration's. */
static bool compare(const struct toleration *t, const struct taint *taint, bool less)
{
    int64_t bound, value;
    if (!to_number(t->value, &bound) || !to_number(taint->value, &value))
        return false;
    return less ? value < bound : value > bound;
}

bool toleration_tolerates(const struct toleration *t, const struct taint *taint, bool comparison)
{
    if (!str_empty(t->effect) && !str_eq(t->effect, taint->effect))
        return false;
    if (!str_empty(t->key) && !str_eq(t->key, taint->key))
        return false;
    if (str_empty(t->operator) || str_is(t->operator, "Equal"))
        return str_eq(t->value, taint->value);
    if (str_is(t->operator, "Exists"))
        return true;
    if (comparison && str_is(t->operator, "Lt"))
        return compare(t, taint, true);
    if (comparison && str_is(t->operator, "Gt"))
        return compare(t, taint, false);
    return false;
}

bool tolerations_tolerate(struct toleration_list tolerations, const struct taint *taint,
                          bool comparison)
{
    for (size_t i = 0; i < tolerations.n; i++)
        if (toleration_tolerates(&tolerations.v[i], taint, comparison))
            return true;
    return false;
}

const struct taint *taints_find_untolerated(struct taint_list taints,
                                            struct toleration_list tolerations, unsigned effects,
                                            bool comparison)
{
    for (size_t i = 0; i < taints.n; i++) {
        const struct taint *taint = &taints.v[i];
        if ((taint_effect(taint) & effects) &&
            !tolerations_tolerate(tolerations, taint, comparison))
            return taint;
    }
    return NULL;
}

size_t taints_count_intolerable(struct taint_list taints, struct toleration_list tolerations,
                                bool comparison)
{
    size_t count = 0;
    for (size_t i = 0; i < taints.n; i++)
        count += taint_effect(&taints.v[i]) == TAINT_PREFER_NO_SCHEDULE &&
                 !tolerations_tolerate(tolerations, &taints.v[i], comparison);
    return count;
}
