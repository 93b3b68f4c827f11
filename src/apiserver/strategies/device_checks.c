/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/device_checks.h"

#include "apiserver/strategies/volume_sources.h"

#define MAX_POOL_NAME  253
#define MAX_ID         32
#define MAX_SELECTORS  32
#define MAX_CONDITIONS 4
#define MAX_OPAQUE     (10 << 10)
#define UUID_LENGTH    36

#define IDENTIFIER_TEXT                                                                          \
    "a valid C identifier must start with alphabetic character or '_', followed by a string of " \
    "alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used "   \
    "for validation is '[A-Za-z_][A-Za-z0-9_]*')"

/* --- names ------------------------------------------------------------------------------------ */

void check_driver_name(const struct spot *name)
{
    csi_driver_name_validate(spot_str(name), &name->path, name->errors);
}

void check_pool_name(const struct spot *name)
{
    struct str rest = spot_str(name), part;
    struct json_value shown;
    struct spot segment = *name;

    if (str_empty(rest)) {
        spot_required(name, "");
        return;
    }
    if (rest.n > MAX_POOL_NAME)
        spot_too_long(name, MAX_POOL_NAME);
    segment.v = &shown;
    while (str_split(&rest, '/', &part)) {
        shown = json_text(part);
        spot_check_name(&segment, NAME_DNS_SUBDOMAIN);
    }
}

static bool hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

void check_share_id(const struct spot *id)
{
    struct str s = spot_str(id);
    bool valid = s.n == UUID_LENGTH, lower = true;

    if (s.n != UUID_LENGTH) {
        spot_invalid(id, "error validating uid: invalid UUID length: %zu", s.n);
        return;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        valid = valid && (dash ? s.p[i] == '-' : hex(s.p[i]));
        lower = lower && !(s.p[i] >= 'A' && s.p[i] <= 'F');
    }
    if (!valid)
        spot_invalid(id, "error validating uid: invalid UUID format");
    else if (!lower)
        spot_invalid(id, "uid must be in RFC 4122 normalized form, "
                         "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
                         "characters");
}

static void check_identifier(const struct spot *id)
{
    struct str s = spot_str(id);
    bool valid = s.n > 0 && !(s.p[0] >= '0' && s.p[0] <= '9');

    if (s.n > MAX_ID)
        spot_too_long(id, MAX_ID);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        valid = valid && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '_');
    }
    if (!valid)
        spot_invalid(id, IDENTIFIER_TEXT);
}

/* Upstream does not check names with more than one slash further. */
void check_attribute_name(const struct spot *name, bool full)
{
    struct str text = spot_str(name), rest;
    size_t slash = str_find(text, '/');
    struct json_value shown = json_text(str_slice(text, 0, slash)), none = json_text(STR(""));
    struct spot part = *name, empty = *name;

    part.v = &shown;
    empty.v = &none;
    rest = str_slice(text, slash + 1, text.n);
    if (slash == text.n) {
        check_identifier(&part);
    } else if (str_find(rest, '/') == rest.n) {
        if (slash == 0)
            spot_invalid(&empty, "the domain must not be empty");
        else
            check_driver_name(&part);
        shown = json_text(rest);
        if (str_empty(rest))
            spot_invalid(&empty, "the name must not be empty");
        else
            check_identifier(&part);
    }
    if (full && slash == text.n)
        spot_invalid(name,
                     "a fully qualified name must be a domain and a name separated by a slash");
}

void check_required_label(const struct spot *name)
{
    if (spot_empty(name))
        spot_required(name, "");
    else
        spot_check_name(name, NAME_DNS_LABEL);
}

void check_duplicates(const struct spot *list, const char *key)
{
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot item = spot_item(list, i), name = key ? spot_text(&item, key) : item;
        struct spot shown = item;

        shown.v = name.v;
        if (map_put(&seen, spot_str(&name), list->errors))
            spot_duplicate(&shown);
    }
    map_release(&seen);
}

/* --- selectors -------------------------------------------------------------------------------- */

void device_cel_release(struct device_cel *cel)
{
    if (cel->env)
        cel_env_free(cel->env);
    cel->env = NULL;
}

static void check_expression(const struct spot *expression, struct device_cel *cel)
{
    struct cel_features features = {.consumable_capacity = true, .list_type_attributes = true};
    struct cel_program *program = NULL;
    struct buf error = BUF_INIT;

    if (spot_str(expression).n > CEL_EXPRESSION_MAX_BYTES) {
        spot_too_long(expression, CEL_EXPRESSION_MAX_BYTES);
        return;
    }
    if (!cel->env)
        cel->env = cel_env_new(features);
    if (cel_compile_text(spot_str(expression), cel->env, &program, &error))
        spot_invalid(expression, "%.*s", STR_ARG(buf_str(&error)));
    else if (cel_program_max_cost(program) > CEL_COST_LIMIT)
        spot_forbidden(expression, "too complex, exceeds cost limit");
    if (program)
        cel_program_free(program);
    buf_release(&error);
}

void check_selectors(const struct spot *list, struct device_cel *cel)
{
    if (spot_too_many(list, MAX_SELECTORS))
        return;
    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot selector = spot_item(list, i), body = spot_get(&selector, "cel");
        struct spot expression = spot_text(&body, "expression");

        if (!spot_has(&body))
            spot_required(&body, "");
        else
            check_expression(&expression, cel);
    }
}

/* --- configuration ---------------------------------------------------------------------------- */

void check_raw(const struct spot *raw, size_t max)
{
    struct json_value omitted = json_text(STR("<value omitted>"));
    struct buf text = BUF_INIT;
    struct spot shown = *raw;

    shown.v = &omitted;
    if (!spot_has(raw)) {
        spot_required(raw, "");
        return;
    }
    json_write(raw->v, &text);
    if (text.n > max)
        spot_too_long(raw, max);
    else if (raw->v->kind != JSON_OBJECT)
        spot_invalid(&shown, "must be a valid JSON object");
    buf_release(&text);
}

void check_configuration(const struct spot *config)
{
    struct spot opaque = spot_get(config, "opaque"), driver = spot_text(&opaque, "driver");
    struct spot parameters = spot_get(&opaque, "parameters");

    if (!spot_has(&opaque)) {
        spot_required(&opaque, "");
        return;
    }
    check_driver_name(&driver);
    check_raw(&parameters, MAX_OPAQUE);
}

/* --- taints ----------------------------------------------------------------------------------- */

static const char *const effects[] = {"NoExecute", "NoSchedule", "None", NULL};

void check_device_taint(const struct spot *taint)
{
    struct spot key = spot_text(taint, "key"), value = spot_text(taint, "value");
    struct spot effect = spot_text(taint, "effect");

    spot_check_name(&key, NAME_QUALIFIED);
    if (!spot_empty(&value))
        spot_check_name(&value, NAME_LABEL_VALUE);
    if (spot_empty(&effect))
        spot_required(&effect, "");
    else
        spot_check_one_of(&effect, effects);
}

void check_device_toleration(const struct spot *toleration)
{
    static const char *const operators[] = {"Equal", "Exists", NULL};
    struct spot key = spot_text(toleration, "key"), value = spot_text(toleration, "value");
    struct spot operator= spot_text(toleration, "operator");
    struct spot effect = spot_text(toleration, "effect");

    if (!spot_empty(&key))
        spot_check_name(&key, NAME_QUALIFIED);
    if (spot_is(&operator, "Exists")) {
        if (!spot_empty(&value))
            spot_invalid(&value, "must be empty for operator `Exists`");
    } else if (spot_is(&operator, "Equal")) {
        spot_check_name(&value, NAME_LABEL_VALUE);
    } else if (spot_empty(&operator)) {
        spot_required(&operator, "");
    } else {
        spot_check_one_of(&operator, operators);
    }
    if (!spot_empty(&effect))
        spot_check_one_of(&effect, effects);
}

/* --- binding conditions ----------------------------------------------------------------------- */

static void check_condition_names(const struct spot *list)
{
    if (spot_too_many(list, MAX_CONDITIONS))
        return;
    for (size_t i = 0; i < spot_count(list); i++) {
        struct spot name = spot_item(list, i);

        spot_check_name(&name, NAME_QUALIFIED);
    }
}

void check_binding_conditions(const struct spot *device)
{
    struct spot wanted = spot_get(device, "bindingConditions");
    struct spot failures = spot_get(device, "bindingFailureConditions");
    struct map seen = MAP_INIT, failed = MAP_INIT;

    check_condition_names(&wanted);
    check_condition_names(&failures);
    for (size_t i = 0; i < spot_count(&wanted); i++) {
        struct spot name = spot_item(&wanted, i);

        if (map_put(&seen, spot_str(&name), device->errors))
            spot_duplicate(&name);
    }
    for (size_t i = 0; i < spot_count(&failures); i++) {
        struct spot name = spot_item(&failures, i);

        if (map_put(&failed, spot_str(&name), device->errors))
            spot_duplicate(&name);
        if (map_get(&seen, spot_str(&name)))
            spot_invalid(&name, "bindingFailureConditions must not overlap with bindingConditions");
    }
    if (seen.n == 0 && failed.n > 0)
        spot_invalid(&wanted, "bindingConditions are required to use bindingFailureConditions");
    if (failed.n == 0 && seen.n > 0)
        spot_invalid(&failures, "bindingFailureConditions are required to use bindingConditions");
    map_release(&seen);
    map_release(&failed);
}
