/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/strategies/workload_checks.h"

#include "apiserver/strategies/internal_form.h"

bool selector_parses(const struct json_value *selector)
{
    struct arena a;
    struct field_errors errors = {.arena = &a};
    struct field_path path = field_child(NULL, "selector");

    arena_init(&a, 0);
    field_check_label_selector(&errors, &path, selector);
    arena_release(&a);
    return errors.n == 0;
}

void check_template_labels(const struct spot *spec)
{
    struct spot template = spot_get(spec, "template");
    struct spot metadata = spot_get(&template, "metadata");
    struct spot labels = spot_get(&metadata, "labels");
    const struct json_value *selector = json_get(spec->v, STR("selector"));
    struct json_value shown;

    if (label_selector_matches(selector, labels.v))
        return;
    if (labels.v) {
        shown = internal_map(labels.v, spec->errors->arena);
        labels.v = &shown;
    }
    spot_invalid(&labels, "`selector` does not match template `labels`");
}

void check_template_runs_forever(const struct spot *spec, const char *what)
{
    static const char *const always[] = {"Always", NULL};
    struct spot template = spot_get(spec, "template");
    struct spot pod = spot_get(&template, "spec");
    struct spot policy = spot_text(&pod, "restartPolicy");
    struct spot deadline = spot_get(&pod, "activeDeadlineSeconds");

    spot_check_one_of(&policy, always);
    if (spot_has(&deadline))
        spot_forbidden(&deadline, "activeDeadlineSeconds in %s is not Supported", what);
}

void check_required_selector(const struct spot *spec, const char *what)
{
    struct spot selector = spot_get(spec, "selector");

    if (!spot_has(&selector)) {
        spot_required(&selector, "");
        return;
    }
    spot_check_selector(&selector);
    if (label_selector_empty(selector.v))
        spot_invalid_selector(&selector, "empty selector is invalid for %s", what);
}

void check_counters(const struct spot *s, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        struct spot count = spot_get(s, names[i]);

        spot_check_nonnegative(&count);
    }
}

void check_counter_limit(const struct spot *s, const char *name, const char *limit,
                         const char *text)
{
    struct spot count = spot_number(s, name), most = spot_number(s, limit);

    if (spot_int(&count) > spot_int(&most))
        spot_invalid(&count, "cannot be greater than %s", text);
}

void check_collision_count(const struct spot *status, const struct json_value *old)
{
    struct spot count = spot_number(status, "collisionCount");
    const struct json_value *before = json_at(old, "status.collisionCount");

    if (before && (!json_get(status->v, STR("collisionCount")) ||
                   spot_int(&count) < json_int_at(old, "status.collisionCount", 0)))
        spot_invalid(&count, "cannot be decremented");
}

int64_t int_or_percent(const struct json_value *v)
{
    int64_t n = percent_of(v);

    if (n >= 0)
        return n;
    /* Upstream takes the number of a text, too. */
    return v && (v->kind == JSON_NUMBER || v->kind == JSON_STRING) && str_to_i64(v->text, &n) ? n
                                                                                              : 0;
}

bool object_is_new(const struct json_value *object)
{
    return str_empty(json_text_at(object, "metadata.resourceVersion"));
}

void warn_of_name(const struct json_value *object, struct buf *warnings, const char *used_in)
{
    struct str name = json_text_at(object, "metadata.name");
    struct arena a;
    struct field_errors errors = {.arena = &a};
    struct field_path path = field_child(NULL, "name");

    arena_init(&a, 0);
    if (!field_check_name(&errors, &path, name, NAME_DNS_LABEL)) {
        buf_add_printf(warnings,
                       "metadata.name: this is used in %s, which can result in surprising "
                       "behavior; a DNS label is recommended: [",
                       used_in);
        for (size_t i = 0; i < errors.n; i++) {
            struct str text = errors.v[i].message;
            size_t at = str_search(text, STR("\": "));

            buf_add_printf(warnings, "%s%.*s", i ? " " : "",
                           STR_ARG(str_slice(text, at + 3, text.n)));
        }
        buf_add_cstr(warnings, "]\n");
    }
    arena_release(&a);
}
