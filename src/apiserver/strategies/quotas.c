/* SPDX-License-Identifier: Apache-2.0 */
/* LimitRanges and ResourceQuotas. */
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/strategies.h"
#include "apiserver/types/amounts.h"
#include "base/map.h"

/* --- limitranges: defaults -------------------------------------------------------------------- */

/* Adds to `to` what it lacks of `from`. Both are short: names of resources. */
static void fill(struct json_value *item, const char *to, const char *from, struct arena *a)
{
    struct json_members list = {0};
    const struct json_value *source;
    struct json_value *target = json_set_object(item, str_of(to), a);
    struct map have = MAP_INIT;

    source = json_get(item, str_of(from));
    if (source && source->kind == JSON_OBJECT)
        list = (struct json_members){source->members, source->n_members};
    for (size_t i = 0; i < target->n_members; i++)
        map_put(&have, target->members[i].key, item);
    for (size_t i = 0; i < list.n; i++)
        if (!map_get(&have, list.v[i].key))
            json_set(target, list.v[i].key, list.v[i].value, a);
    map_release(&have);
}

static void default_limits(struct json_value *object, struct arena *a)
{
    static const char *const lists[] = {"max", "min", "default", "defaultRequest",
                                        "maxLimitRequestRatio"};
    struct json_value *limits = json_member(json_set_object(object, STR("spec"), a), STR("limits"));

    for (size_t i = 0; limits && limits->kind == JSON_ARRAY && i < limits->n; i++) {
        struct json_value *item = &limits->items[i];

        if (item->kind != JSON_OBJECT)
            continue;
        for (size_t l = 0; l < ARRAY_LEN(lists); l++)
            resource_list_set_defaults(json_member(item, str_of(lists[l])), a);
        if (str_is(json_get_text(item, STR("type")), "Container")) {
            fill(item, "default", "max", a);
            fill(item, "defaultRequest", "default", a);
            fill(item, "defaultRequest", "min", a);
        }
    }
}

/* --- limitranges: validation ------------------------------------------------------------------ */

enum { MIN_LIST, MAX_LIST, DEFAULT_LIST, REQUEST_LIST, RATIO_LIST, N_LISTS };
static const char *const list_names[] = {"min", "max", "default", "defaultRequest",
                                         "maxLimitRequestRatio"};

/* What one item says of one resource; the bit of a list is set if it has the resource. */
struct limit {
    struct str name;
    unsigned has;
    struct quantity q[N_LISTS];
};

struct limit_check {
    struct field_errors *errors;
    const struct field_path *path;
    struct map limits; /* by name of resource */
    struct limit *v;
    size_t n;
};

static const char *const texts[] = {"min", "max", "default", "default request", "ratio"};

/* low > high: the error is at the list `at` and shows the amount of the list `shown`. */
static void check_order(struct limit_check *c, const struct limit *l, int low, int high, int at,
                        int shown)
{
    struct arena *a = c->errors->arena;
    struct field_path list = field_child(c->path, list_names[at]);
    struct field_path path = field_key(&list, l->name);
    struct json_value value = json_text(quantity_text(&l->q[shown], a));
    unsigned both = 1U << low | 1U << high;
    bool limit = low == REQUEST_LIST && high == DEFAULT_LIST;

    if ((l->has & both) == both && quantity_cmp(&l->q[low], &l->q[high]) > 0)
        field_error(c->errors, FIELD_INVALID, &path, &value,
                    "%s value %.*s is greater than %s%s value %.*s", texts[low],
                    STR_ARG(quantity_text(&l->q[low], a)), texts[high], limit ? " limit" : "",
                    STR_ARG(quantity_text(&l->q[high], a)));
}

/* In thousandths unless one of the amounts is too large for that. */
static double ratio_limit(const struct limit *l, double *ret_ratio)
{
    int64_t bound = INT64_MAX / 1000;
    int64_t min = quantity_value(&l->q[MIN_LIST]), max = quantity_value(&l->q[MAX_LIST]);
    int64_t ratio = quantity_value(&l->q[RATIO_LIST]);

    *ret_ratio = (double)ratio;
    if (ratio < bound && min < bound && max < bound) {
        *ret_ratio = (double)quantity_milli_value(&l->q[RATIO_LIST]) / 1000;
        min = quantity_milli_value(&l->q[MIN_LIST]);
        max = quantity_milli_value(&l->q[MAX_LIST]);
    }
    return (double)max / (double)min;
}

static void check_ratio(struct limit_check *c, const struct limit *l)
{
    struct arena *a = c->errors->arena;
    struct field_path list = field_child(c->path, "maxLimitRequestRatio");
    struct field_path path = field_key(&list, l->name);
    struct str text = quantity_text(&l->q[RATIO_LIST], a);
    struct json_value value = json_text(text);
    struct quantity one = quantity_of(1, QUANTITY_DECIMAL_SI);
    double ratio, limit;

    if (!(l->has & 1U << RATIO_LIST))
        return;
    if (quantity_cmp(&l->q[RATIO_LIST], &one) < 0)
        field_error(c->errors, FIELD_INVALID, &path, &value, "ratio %.*s is less than 1",
                    STR_ARG(text));
    if (!(l->has & 1U << MIN_LIST) || !(l->has & 1U << MAX_LIST))
        return;
    limit = ratio_limit(l, &ratio);
    if (ratio > limit)
        field_error(c->errors, FIELD_INVALID, &path, &value,
                    "ratio %.*s is greater than max/min = %f", STR_ARG(text), limit);
}

static void check_limit(struct limit_check *c, const struct limit *l)
{
    struct arena *a = c->errors->arena;
    struct field_path list = field_child(c->path, "defaultRequest");
    struct field_path path = field_key(&list, l->name);
    struct json_value value = json_text(quantity_text(&l->q[REQUEST_LIST], a));
    unsigned both = 1U << DEFAULT_LIST | 1U << REQUEST_LIST;

    check_order(c, l, MIN_LIST, MAX_LIST, MIN_LIST, MIN_LIST);
    check_order(c, l, MIN_LIST, REQUEST_LIST, REQUEST_LIST, REQUEST_LIST);
    check_order(c, l, REQUEST_LIST, MAX_LIST, REQUEST_LIST, REQUEST_LIST);
    check_order(c, l, REQUEST_LIST, DEFAULT_LIST, REQUEST_LIST, REQUEST_LIST);
    check_order(c, l, MIN_LIST, DEFAULT_LIST, DEFAULT_LIST, MIN_LIST);
    check_order(c, l, DEFAULT_LIST, MAX_LIST, DEFAULT_LIST, MAX_LIST);
    check_ratio(c, l);
    if (!resource_name_overcommits(l->name) && (l->has & both) == both &&
        quantity_cmp(&l->q[DEFAULT_LIST], &l->q[REQUEST_LIST]) != 0)
        field_error(c->errors, FIELD_INVALID, &path, &value,
                    "default value %.*s must equal to defaultRequest value %.*s in %.*s",
                    STR_ARG(quantity_text(&l->q[DEFAULT_LIST], a)), STR_ARG(value.text),
                    STR_ARG(l->name));
}

static void collect(struct limit_check *c, const struct json_value *item, int list, struct str type)
{
    const struct json_value *amounts = json_get(item, str_of(list_names[list]));
    struct field_path path = field_child(c->path, list_names[list]);
    bool container = str_is(type, "Pod") || str_is(type, "Container");

    for (size_t i = 0; amounts && amounts->kind == JSON_OBJECT && i < amounts->n_members; i++) {
        struct str name = amounts->members[i].key;
        struct field_path at = field_key(&path, name);
        struct limit *l = map_get(&c->limits, name);

        if (container)
            field_check_container_resource_name(c->errors, &at, name);
        else
            field_check_resource_name(c->errors, &at, name);
        if (!l) {
            l = &c->v[c->n++];
            l->name = name;
            map_put(&c->limits, name, l);
        }
        l->has |= 1U << list;
        l->q[list] = quantity_at(&amounts->members[i].value, c->errors->arena);
    }
}

static size_t count_amounts(const struct json_value *item)
{
    size_t n = 0;

    for (int i = 0; i < N_LISTS; i++)
        n += json_members_at(item, list_names[i]).n;
    return n;
}

static void check_limit_item(const struct json_value *item, const struct field_path *path,
                             struct field_errors *errors)
{
    static const int order[] = {MAX_LIST, MIN_LIST, DEFAULT_LIST, REQUEST_LIST};
    struct str type = json_get_text(item, STR("type"));
    struct limit_check c = {.errors = errors, .path = path};
    bool pod = str_is(type, "Pod");

    c.v = arena_array(errors->arena, struct limit, count_amounts(item));
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        if (i < 2 || !pod)
            collect(&c, item, order[i], type);
        else if (json_members_at(item, list_names[order[i]]).n > 0)
            field_error_at(errors, FIELD_FORBIDDEN, path, list_names[order[i]], NULL,
                           "may not be specified when `type` is 'Pod'");
    }
    if (str_is(type, "PersistentVolumeClaim") && !json_at(item, "min.storage") &&
        !json_at(item, "max.storage"))
        field_error_at(errors, FIELD_REQUIRED, path, "limits", NULL,
                       "either minimum or maximum storage value is required, but neither was "
                       "provided");
    collect(&c, item, RATIO_LIST, type);
    for (size_t i = 0; i < c.n; i++)
        check_limit(&c, &c.v[i]);
    map_release(&c.limits);
}

static void validate_limits(const struct json_value *object, struct field_errors *errors)
{
    static const char *const types[] = {"Pod", "Container", "PersistentVolumeClaim", NULL};
    struct json_items list = json_items_at(object, "spec.limits");
    struct field_path spec = field_child(NULL, "spec"), path = field_child(&spec, "limits");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&path, i), type_path = field_child(&at, "type");
        struct json_value type = field_text(&list.v[i], "type");

        if (field_check_name(errors, &type_path, type.text, NAME_QUALIFIED) &&
            str_find(type.text, '/') >= type.text.n && !text_is_one_of(type.text, types))
            field_error(errors, FIELD_INVALID, &type_path, &type,
                        "must be a standard limit type or fully qualified");
        if (map_put(&seen, type.text, errors))
            field_error(errors, FIELD_DUPLICATE, &type_path, &type, "%s", "");
        check_limit_item(&list.v[i], &at, errors);
    }
    map_release(&seen);
}

/* --- resourcequotas --------------------------------------------------------------------------- */

static const char *const scopes[] = {
    "Terminating",
    "NotTerminating",
    "BestEffort",
    NULL,
};
static const char *const more_scopes[] = {"NotBestEffort", "PriorityClass", "VolumeAttributesClass",
                                          "CrossNamespacePodAffinity", NULL};
static const char *const compute[] = {
    "pods",          "cpu",          "memory",          "limits.cpu",
    "limits.memory", "requests.cpu", "requests.memory", NULL};

static bool is_scope(struct str scope)
{
    return text_is_one_of(scope, scopes) || text_is_one_of(scope, more_scopes);
}

/* Upstream: IsResourceQuotaScopeValidForResource. */
static bool scope_allows(struct str scope, struct str name)
{
    if (!is_scope(scope))
        return true;
    if (str_is(scope, "BestEffort"))
        return str_is(name, "pods");
    if (str_is(scope, "VolumeAttributesClass"))
        return str_is(name, "persistentvolumeclaims") || str_is(name, "requests.storage");
    return text_is_one_of(name, compute);
}

static size_t count_refused(const struct json_value *spec, struct str scope)
{
    struct json_members hard = json_members_at(spec, "hard");
    size_t n = 0;

    for (size_t i = 0; i < hard.n; i++)
        n += resource_name_is_standard_quota(hard.v[i].key) && !scope_allows(scope, hard.v[i].key);
    return n;
}

static void default_quota(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a), *status;

    resource_list_set_defaults(json_member(spec, STR("hard")), a);
    status = json_member(object, STR("status"));
    if (!status)
        return;
    resource_list_set_defaults(json_member(status, STR("hard")), a);
    resource_list_set_defaults(json_member(status, STR("used")), a);
}

static void check_hard(const struct json_value *object, const char *in, const char *member,
                       struct field_errors *errors)
{
    const struct json_value *list = json_get(json_get(object, str_of(in)), str_of(member));
    struct field_path parent = field_child(NULL, in), path = field_child(&parent, member);

    for (size_t i = 0; list && list->kind == JSON_OBJECT && i < list->n_members; i++) {
        struct field_path at = field_key(&path, list->members[i].key);

        field_check_quota_resource_name(errors, &at, list->members[i].key);
        field_check_resource_quantity(errors, &at, list->members[i].key, &list->members[i].value);
    }
}

/* Scopes that exclude each other. */
static void check_conflicts(struct json_items list, const char *member,
                            const struct json_value *shown, const struct field_path *path,
                            struct field_errors *errors)
{
    static const char *const pairs[][2] = {{"BestEffort", "NotBestEffort"},
                                           {"Terminating", "NotTerminating"}};

    for (size_t p = 0; p < ARRAY_LEN(pairs); p++) {
        bool has[2] = {false, false};

        for (size_t i = 0; i < list.n; i++) {
            struct str scope = member ? json_get_text(&list.v[i], str_of(member)) : list.v[i].text;

            has[0] |= str_is(scope, pairs[p][0]);
            has[1] |= str_is(scope, pairs[p][1]);
        }
        if (has[0] && has[1])
            field_error(errors, FIELD_INVALID, path, shown, "conflicting scopes");
    }
}

static void check_scopes(const struct json_value *spec, struct field_errors *errors)
{
    const struct json_value *all = json_get(spec, STR("scopes"));
    struct json_items list = json_items_at(spec, "scopes");
    struct field_path parent = field_child(NULL, "spec"), path = field_child(&parent, "scopes");

    for (size_t i = 0; i < list.n; i++) {
        if (!is_scope(list.v[i].text))
            field_error(errors, FIELD_INVALID, &path, all, "unsupported scope");
        for (size_t n = count_refused(spec, list.v[i].text); n > 0; n--)
            field_error(errors, FIELD_INVALID, &path, all, "unsupported scope applied to resource");
    }
    check_conflicts(list, NULL, all, &path, errors);
}

#define EXISTS_TEXT                                                         \
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, " \
    "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "      \
    "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"

static void check_scope_operator(const struct json_value *e, const struct field_path *path,
                                 struct field_errors *errors)
{
    struct json_value operator= field_text(e, "operator");
    struct str scope = json_get_text(e, STR("scopeName"));
    size_t n = json_items_at(e, "values").n;

    if (is_scope(scope) && !str_is(scope, "PriorityClass") &&
        !str_is(scope, "VolumeAttributesClass") && !str_is(operator.text, "Exists"))
        field_error_at(errors, FIELD_INVALID, path, "operator", &operator, EXISTS_TEXT);
    if (str_is(operator.text, "In") || str_is(operator.text, "NotIn")) {
        if (n == 0)
            field_error_at(errors, FIELD_REQUIRED, path, "values", NULL,
                           "must be at least one value when `operator` is 'In' or 'NotIn' for "
                           "scope selector");
    } else if (str_is(operator.text, "Exists") || str_is(operator.text, "DoesNotExist")) {
        if (n != 0)
            field_error_at(errors, FIELD_INVALID, path, "values", json_get(e, STR("values")),
                           "must be no value when `operator` is 'Exist' or 'DoesNotExist' for "
                           "scope selector");
    } else {
        field_error_at(errors, FIELD_INVALID, path, "operator", &operator,
                       "not a valid selector operator");
    }
}

static void check_scope_selector(const struct json_value *spec, struct field_errors *errors)
{
    struct json_items list = json_items_at(spec, "scopeSelector.matchExpressions");
    struct field_path parent = field_child(NULL, "spec");
    struct field_path selector = field_child(&parent, "scopeSelector");
    struct field_path path = field_child(&selector, "matchExpressions");

    for (size_t i = 0; i < list.n; i++) {
        struct json_value scope = field_text(&list.v[i], "scopeName");

        if (!is_scope(scope.text))
            field_error_at(errors, FIELD_INVALID, &path, "scopeName", &scope, "unsupported scope");
        for (size_t n = count_refused(spec, scope.text); n > 0; n--)
            field_error(errors, FIELD_INVALID, &path, json_get(spec, STR("scopeSelector")),
                        "unsupported scope applied to resource");
        check_scope_operator(&list.v[i], &path, errors);
    }
    check_conflicts(list, "scopeName", json_get(spec, STR("scopes")), &path, errors);
}

static void validate_quota(const struct json_value *object, struct field_errors *errors)
{
    const struct json_value *spec = json_get(object, STR("spec"));

    check_hard(object, "spec", "hard", errors);
    check_scopes(spec, errors);
    check_scope_selector(spec, errors);
}

static void validate_quota_update(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    const struct json_value *now = json_at(object, "spec.scopes");
    const struct json_value *before = json_at(old, "spec.scopes");
    struct json_items list = json_items_at(object, "spec.scopes");
    struct json_items was = json_items_at(old, "spec.scopes");
    struct field_path spec = field_child(NULL, "spec");
    bool equal = true;

    /* As sets; what is no scope was refused before. */
    for (size_t i = 0; i < list.n && equal; i++)
        equal = list_has_string(before, list.v[i].text);
    for (size_t i = 0; i < was.n && equal; i++)
        equal = list_has_string(now, was.v[i].text);
    if (!equal)
        field_error_at(errors, FIELD_INVALID, &spec, "scopes", now, FIELD_IMMUTABLE_TEXT);
}

static void validate_quota_status(const struct json_value *object, const struct json_value *old,
                                  struct field_errors *errors)
{
    (void)old;
    check_hard(object, "status", "hard", errors);
    check_hard(object, "status", "used", errors);
}

const struct strategy quota_strategies[] = {
    {
        .plural = STR_INIT("limitranges"),
        .set_defaults = default_limits,
        .validate = validate_limits,
        .no_status = true,
        .allow_create_on_update = true,
        .unconditional_update = true,
    },
    {
        .plural = STR_INIT("resourcequotas"),
        .set_defaults = default_quota,
        .validate = validate_quota,
        .validate_update = validate_quota_update,
        .validate_status = validate_quota_status,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
