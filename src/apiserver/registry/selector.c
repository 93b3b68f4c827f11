/* SPDX-License-Identifier: Apache-2.0 */
/* Label and field selectors on revisions. */
#include "apiserver/registry/registry_internal.h"

struct revision_selector {
    struct selector labels;
    struct field_selector fields;
};

/* --- parsing ---------------------------------------------------------------------------------- */

static bool field_known(const struct resource *r, const struct strategy *strategy, struct str field)
{
    if (str_is(field, "metadata.name") || (r->namespaced && str_is(field, "metadata.namespace")))
        return true;
    for (size_t i = 0; strategy && strategy->fields && strategy->fields[i]; i++)
        if (str_is(field, strategy->fields[i]))
            return true;
    return false;
}

/* Kinds with fields of their own have a shorter message upstream. */
static int refuse_field(const struct resource *r, const struct strategy *strategy, struct str field,
                        struct arena *a, struct api_status *ret_status)
{
    if (str_is(r->group, "batch") && str_is(r->plural, "jobs"))
        return status_bad_request(ret_status, a, "field label %.*s not supported for Job",
                                  STR_ARG(arena_quoted(a, field)));
    if (strategy && strategy->fields)
        return status_bad_request(ret_status, a, "field label not supported: %.*s", STR_ARG(field));
    if (r->custom)
        return status_bad_request(ret_status, a, "field label not supported: %.*s", STR_ARG(field));
    return status_bad_request(ret_status, a,
                              "%.*s is not a known field selector: only \"metadata.name\", "
                              "\"metadata.namespace\"",
                              STR_ARG(arena_quoted(a, field)));
}

struct revision_selector *revision_selector_parse(const struct resource *r, struct str labels,
                                                  struct str fields, struct arena *a,
                                                  struct api_status *ret_status)
{
    struct revision_selector *s = arena_new(a, struct revision_selector);
    const struct strategy *strategy;
    struct err err;

    if (!str_empty(labels) && selector_parse(labels, a, &s->labels, &err) < 0) {
        status_bad_request(ret_status, a, "%s", err.msg);
        return NULL;
    }
    if (str_empty(fields))
        return s;
    if (field_selector_parse(fields, a, &s->fields, &err) < 0) {
        status_bad_request(ret_status, a, "%s", err.msg);
        return NULL;
    }
    strategy = strategy_find(r);
    for (size_t i = 0; i < s->fields.requirements.n; i++) {
        struct field_requirement *q = &s->fields.requirements.v[i];

        /* The old name of the field. */
        if (str_is(q->field, "spec.host") && str_is(r->plural, "pods"))
            q->field = STR("spec.nodeName");
        if (!field_known(r, strategy, q->field)) {
            refuse_field(r, strategy, q->field, a, ret_status);
            return NULL;
        }
        /* Its name in the object. */
        if (str_is(q->field, "status.successful") && str_is(r->plural, "jobs"))
            q->field = STR("status.succeeded");
    }
    return s;
}

bool revision_selector_name(const struct revision_selector *s, struct str *ret_name)
{
    for (size_t i = 0; i < s->fields.requirements.n; i++) {
        const struct field_requirement *q = &s->fields.requirements.v[i];

        if (!q->negated && str_is(q->field, "metadata.name")) {
            *ret_name = q->value;
            return true;
        }
    }
    return false;
}

/* --- matching --------------------------------------------------------------------------------- */

static struct str field_value(const struct revision *rev, struct str field)
{
    if (str_is(field, "metadata.name"))
        return rev->name;
    if (str_is(field, "metadata.namespace"))
        return rev->namespace;
    return revision_field(rev, field);
}

bool revision_selector_matches(const struct revision_selector *s, const struct revision *rev)
{
    if (!selector_matches_revision(&s->labels, rev))
        return false;
    for (size_t i = 0; i < s->fields.requirements.n; i++) {
        const struct field_requirement *q = &s->fields.requirements.v[i];

        if (str_eq(field_value(rev, q->field), q->value) == q->negated)
            return false;
    }
    return true;
}
