/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matchAttribute and distinctAttribute. What upstream forgets and keeps when a device is taken back
 * decides which devices are found next, so that it is the same here: distinct values are kept by
 * request, one for each; the common values of lists stay narrowed until no device is left.
 */
#include "plugins/dynamic_resources/allocator_internal.h"

/* --- attributes ------------------------------------------------------------------------------- */

static const struct device_attribute *find(const struct device *device, struct str name)
{
    size_t from = 0, to = device->attributes.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = str_cmp(device->attributes.v[mid].key, name);
        if (c == 0)
            return &device->attributes.v[mid].value;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

/* By its full name, or by its short name in the domain of the driver. */
static const struct device_attribute *lookup(const struct constraint_plan *plan,
                                             const struct slice_device *device)
{
    const struct device_attribute *a = find(device->device, plan->attribute);
    if (a || plan->domain.p == NULL || !str_eq(plan->domain, device->id->driver))
        return a;
    return find(device->device, plan->id);
}

/* The type of the value and its equality with the same type of another. */
enum comparison { COMPARE_UNKNOWN, COMPARE_DIFFERENT_TYPE, COMPARE_EQUAL, COMPARE_DIFFERENT };

static enum comparison compare(const struct device_attribute *a, const struct device_attribute *b)
{
    bool same;
    if (a->string_value) {
        if (!b->string_value)
            return COMPARE_DIFFERENT_TYPE;
        same = str_eq(*a->string_value, *b->string_value);
    } else if (a->int_value) {
        if (!b->int_value)
            return COMPARE_DIFFERENT_TYPE;
        same = *a->int_value == *b->int_value;
    } else if (a->bool_value) {
        if (!b->bool_value)
            return COMPARE_DIFFERENT_TYPE;
        same = *a->bool_value == *b->bool_value;
    } else if (a->version_value) {
        if (!b->version_value)
            return COMPARE_DIFFERENT_TYPE;
        same = str_eq(*a->version_value, *b->version_value);
    } else {
        return COMPARE_UNKNOWN;
    }
    return same ? COMPARE_EQUAL : COMPARE_DIFFERENT;
}

/* --- sets of values --------------------------------------------------------------------------- */

enum set_type { SET_NONE, SET_INT, SET_BOOL, SET_STRING, SET_VERSION };

union set_value {
    int64_t number; /* also of a boolean */
    struct str text;
};

struct attribute_set {
    enum set_type type;
    union set_value *v;
    size_t n;
};

static union set_value *set_room(struct attribute_set *set, enum set_type type, size_t n,
                                 struct arena *a)
{
    set->type = type;
    set->n = n;
    return set->v = arena_array(a, union set_value, n);
}

static void set_numbers(struct attribute_set *set, enum set_type type,
                        const struct device_attribute *from, struct arena *a)
{
    size_t n = type == SET_INT ? from->int_values.n : from->bool_values.n;
    union set_value *v = set_room(set, type, n, a);
    for (size_t i = 0; i < n; i++)
        v[i].number = type == SET_INT ? from->int_values.v[i] : from->bool_values.v[i];
}

static void set_texts(struct attribute_set *set, enum set_type type, const struct str *from,
                      size_t n, struct arena *a)
{
    union set_value *v = set_room(set, type, n, a);
    for (size_t i = 0; i < n; i++)
        v[i].text = from[i];
}

/* A list is the set of its values, a single value a set of one. SET_NONE: there is no value. */
static struct attribute_set set_of(const struct device_attribute *from, struct arena *a)
{
    struct attribute_set set = {0};
    if (from->int_values.n > 0)
        set_numbers(&set, SET_INT, from, a);
    else if (from->bool_values.n > 0)
        set_numbers(&set, SET_BOOL, from, a);
    else if (from->string_values.n > 0)
        set_texts(&set, SET_STRING, from->string_values.v, from->string_values.n, a);
    else if (from->version_values.n > 0)
        set_texts(&set, SET_VERSION, from->version_values.v, from->version_values.n, a);
    else if (from->int_value)
        set_room(&set, SET_INT, 1, a)->number = *from->int_value;
    else if (from->bool_value)
        set_room(&set, SET_BOOL, 1, a)->number = *from->bool_value;
    else if (from->string_value)
        set_texts(&set, SET_STRING, from->string_value, 1, a);
    else if (from->version_value)
        set_texts(&set, SET_VERSION, from->version_value, 1, a);
    return set;
}

static bool set_has(const struct attribute_set *set, const union set_value *value)
{
    bool text = set->type == SET_STRING || set->type == SET_VERSION;
    for (size_t i = 0; i < set->n; i++)
        if (text ? str_eq(set->v[i].text, value->text) : set->v[i].number == value->number)
            return true;
    return false;
}

/* Keeps of `set` what is in `other`; if that is nothing, changes nothing and returns false. */
static bool set_intersect(struct attribute_set *set, const struct attribute_set *other, bool keep)
{
    size_t n = 0;
    if (set->type != other->type)
        return false;
    for (size_t i = 0; i < set->n; i++)
        n += set_has(other, &set->v[i]);
    if (n == 0 || !keep)
        return n > 0;
    n = 0;
    for (size_t i = 0; i < set->n; i++)
        if (set_has(other, &set->v[i]))
            set->v[n++] = set->v[i];
    set->n = n;
    return true;
}

/* --- constraints ------------------------------------------------------------------------------ */

static bool applies(const struct search *s, const struct constraint_plan *plan,
                    const struct position *at)
{
    if (plan->requests.n == 0)
        return true;
    const struct request_group *group = &s->claims[at->claim]->groups.v[at->group];
    const struct request_plan *request = &group->plans[at->alternative];
    if (str_sorted_has(plan->requests.v, plan->requests.n, group->name))
        return true;
    if (str_empty(request->parent))
        return false;
    for (size_t i = 0; i < plan->requests.n; i++) {
        struct str r = plan->requests.v[i];
        if (r.n == group->name.n + 1 + request->name.n && r.p[group->name.n] == '/' &&
            str_starts(r, group->name) && str_ends(r, request->name))
            return true;
    }
    return false;
}

static bool match_add(struct search *s, struct constraint_state *state,
                      const struct device_attribute *a)
{
    bool lists = s->d->features.list_constraints;
    struct attribute_set set = lists ? set_of(a, &s->arena) : (struct attribute_set){0};
    if (lists && set.type == SET_NONE)
        return false;
    if (state->n_devices == 0) {
        state->first = a;
        if (lists) {
            state->common = arena_new(&s->arena, struct attribute_set);
            *state->common = set;
        }
        state->n_devices = 1;
        return true;
    }
    bool ok = lists ? set_intersect(state->common, &set, true)
                    : compare(a, state->first) == COMPARE_EQUAL;
    state->n_devices += ok;
    return ok;
}

/* Does the value differ from those of all devices that are remembered? */
static bool is_distinct(struct search *s, const struct constraint_state *state, size_t n_groups,
                        const struct device_attribute *a)
{
    bool lists = s->d->features.list_constraints;
    struct attribute_set set = lists ? set_of(a, &s->arena) : (struct attribute_set){0};
    if (lists && set.type == SET_NONE)
        return false;
    for (size_t i = 0; i < n_groups; i++) {
        const struct device_attribute *other = state->by_group[i];
        if (!other)
            continue;
        if (lists) {
            struct attribute_set others = set_of(other, &s->arena);
            if (others.type != SET_NONE && set_intersect(&set, &others, false))
                return false;
            continue;
        }
        enum comparison c = compare(a, other);
        if (c == COMPARE_EQUAL || c == COMPARE_UNKNOWN)
            return false;
    }
    return true;
}

bool constraint_add(struct search *s, const struct constraint_plan *plan,
                    struct constraint_state *state, const struct position *at,
                    const struct slice_device *device)
{
    if (!applies(s, plan, at))
        return true;
    const struct device_attribute *a = lookup(plan, device);
    if (!a)
        return false;
    if (!plan->distinct)
        return match_add(s, state, a);
    size_t n_groups = s->claims[at->claim]->groups.n;
    if (!state->by_group)
        state->by_group = arena_array(&s->arena, const struct device_attribute *, n_groups);
    if (state->n_devices > 0 && !is_distinct(s, state, n_groups, a))
        return false;
    state->by_group[at->group] = a;
    state->n_devices++;
    return true;
}

void constraint_remove(struct search *s, const struct constraint_plan *plan,
                       struct constraint_state *state, const struct position *at)
{
    if (!applies(s, plan, at))
        return;
    if (plan->distinct)
        state->by_group[at->group] = NULL;
    state->n_devices--;
}
