/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/device_capacity.h"

#include "apiserver/strategies/resource_names.h"

#define MAX_OPTIONS 10

static struct json_value shown_quantity(const struct quantity *q, struct arena *a)
{
    struct buf text = BUF_INIT;
    struct str copy;

    quantity_write(q, &text);
    copy = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return json_text(copy);
}

void device_refuse_quantity(const struct spot *at, const struct quantity *shown, const char *text,
                            const struct quantity *limit)
{
    struct arena *a = at->errors->arena;
    struct json_value value = shown_quantity(shown, a);
    struct spot copy = *at;

    copy.v = &value;
    if (limit)
        spot_invalid(&copy, "%s: %.*s", text, STR_ARG(shown_quantity(limit, a).text));
    else
        spot_invalid(&copy, "%s", text);
}

static void check_options(const struct spot *policy, const struct quantity *capacity,
                          const struct quantity *fallback)
{
    struct spot list = spot_get(policy, "validValues");
    struct arena *a = policy->errors->arena;
    struct map seen = MAP_INIT;
    size_t n = spot_count(&list);
    struct quantity *v = arena_array(a, struct quantity, n);
    bool found = false;

    for (size_t i = 0; i < n; i++)
        v[i] = quantity_at(&list.v->items[i], a);
    for (size_t i = 1; i < n; i++) {
        struct spot item = spot_item(&list, i);

        if (quantity_cmp(&v[i - 1], &v[i]) > 0)
            device_refuse_quantity(&item, &v[i], "values must be sorted in ascending order", NULL);
    }
    if (!spot_too_many(&list, MAX_OPTIONS)) {
        for (size_t i = 0; i < n; i++) {
            struct spot item = spot_item(&list, i);

            if (quantity_cmp(&v[i], capacity) > 0)
                device_refuse_quantity(&item, &v[i], "option is larger than capacity value",
                                       capacity);
            found = found || quantity_cmp(&v[i], fallback) == 0;
        }
        for (size_t i = 0; i < n; i++) {
            struct spot item = spot_item(&list, i);
            struct json_value key =
                json_text(arena_printf(a, "%lld", (long long)quantity_value(&v[i])));

            item.v = &key;
            if (map_put(&seen, key.text, a))
                spot_duplicate(&item);
        }
    }
    map_release(&seen);
    if (!found)
        device_refuse_quantity(&list, fallback,
                               "default value is not valid according to the requestPolicy", NULL);
}

static void check_step(const struct spot *at, const struct quantity *value,
                       const struct quantity *least, const struct quantity *step)
{
    struct arena *a = at->errors->arena;
    struct json_value shown = shown_quantity(value, a);
    struct spot copy = *at;
    int64_t size = quantity_value(step);

    copy.v = &shown;
    if (size != 0 && (quantity_value(value) - quantity_value(least)) % size != 0)
        spot_invalid(&copy, "value is not a multiple of a given step (%.*s) from (%.*s)",
                     STR_ARG(shown_quantity(step, a).text), STR_ARG(shown_quantity(least, a).text));
}

static void check_steps(const struct spot *range, const struct quantity *capacity,
                        const struct quantity *fallback, const struct quantity *least)
{
    struct arena *a = range->errors->arena;
    struct spot most = spot_get(range, "max"), step = spot_get(range, "step");
    struct quantity size, sum, top;
    struct json_value shown;
    struct spot copy = step;

    if (!spot_has(&step))
        return;
    size = quantity_at(step.v, a);
    sum = quantity_dup(least, a);
    quantity_add(&sum, &size);
    shown = shown_quantity(&size, a);
    copy.v = &shown;
    if (quantity_cmp(&sum, capacity) > 0)
        spot_invalid(&copy, "one step %.*s is larger than capacity value: %.*s",
                     STR_ARG(shown_quantity(&sum, a).text),
                     STR_ARG(shown_quantity(capacity, a).text));
    check_step(&step, fallback, least, &size);
    if (spot_has(&most)) {
        top = quantity_at(most.v, a);
        check_step(&step, &top, least, &size);
    }
}

static void check_range(const struct spot *policy, const struct quantity *capacity,
                        const struct quantity *fallback)
{
    struct arena *a = policy->errors->arena;
    struct spot range = spot_get(policy, "validRange"), least = spot_get(&range, "min");
    struct spot most = spot_get(&range, "max");
    struct quantity low, high;

    if (!spot_has(&least)) {
        spot_required(&least, "required when validRange is defined");
        return;
    }
    low = quantity_at(least.v, a);
    if (quantity_cmp(&low, capacity) > 0)
        device_refuse_quantity(&least, &low, "min is larger than capacity value", capacity);
    if (quantity_cmp(fallback, &low) < 0)
        device_refuse_quantity(&least, fallback, "default is less than min", &low);
    if (spot_has(&most)) {
        high = quantity_at(most.v, a);
        if (quantity_cmp(&low, &high) > 0)
            device_refuse_quantity(&most, &low, "min is larger than max", &high);
        if (quantity_cmp(&high, capacity) > 0)
            device_refuse_quantity(&most, &high, "max is larger than capacity value", capacity);
        if (quantity_cmp(fallback, &high) > 0)
            device_refuse_quantity(&most, fallback, "default is more than max", &high);
    }
    check_steps(&range, capacity, fallback, &low);
}

void device_capacity_validate(const struct spot *capacity, bool shared)
{
    struct arena *a = capacity->errors->arena;
    struct spot value = spot_get(capacity, "value"), policy = spot_get(capacity, "requestPolicy");
    struct spot options = spot_get(&policy, "validValues"), range = spot_get(&policy, "validRange");
    struct spot given = spot_get(&policy, "default");
    struct quantity total = quantity_at(value.v, a), fallback = quantity_at(given.v, a);

    if (!spot_has(&policy))
        return;
    if (!shared)
        spot_forbidden(&policy, "allowMultipleAllocations must be true");
    else if (spot_count(&options) > 0 && spot_has(&range))
        spot_forbidden(&policy, "exactly one policy can be specified, cannot specify "
                                "\"validValues\" and \"validRange\" at the same time");
    else if (spot_count(&options) > 0 && !spot_has(&given))
        spot_required(&given, "required when validValues is defined");
    else if (spot_count(&options) > 0)
        check_options(&policy, &total, &fallback);
    else if (spot_has(&range) && !spot_has(&given))
        spot_required(&given, "required when validRange is defined");
    else if (spot_has(&range))
        check_range(&policy, &total, &fallback);
}
