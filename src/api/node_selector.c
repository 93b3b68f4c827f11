/* SPDX-License-Identifier: Apache-2.0 */
#include "api/node_selector.h"

static int compile_label(const struct node_selector_requirement *from, struct arena *a,
                         struct requirement *r, struct err *reterr)
{
    *r = (struct requirement){.key = from->key, .values = {from->values.v, from->values.n}};
    if (!selector_op_parse(from->operator, & r->op))
        return err_set(reterr, -EINVAL, "key \"%.*s\": unsupported operator \"%.*s\"",
                       STR_ARG(from->key), STR_ARG(from->operator));
    return requirement_compile(r, a, reterr);
}

/* Any field may be named, but all except metadata.name are empty. */
static int compile_field(const struct node_selector_requirement *from, struct field_requirement *r,
                         struct err *reterr)
{
    enum selector_op op;
    if (!selector_op_parse(from->operator, & op) || (op != SELECTOR_IN && op != SELECTOR_NOT_IN))
        return err_set(reterr, -EINVAL, "field \"%.*s\": unsupported operator \"%.*s\"",
                       STR_ARG(from->key), STR_ARG(from->operator));
    if (from->values.n != 1)
        return err_set(reterr, -EINVAL, "field \"%.*s\": exactly one value is required",
                       STR_ARG(from->key));
    *r = (struct field_requirement){from->key, from->values.v[0], op == SELECTOR_NOT_IN};
    return 0;
}

static bool is_empty(const struct node_selector_term *term)
{
    return term->match_expressions.n == 0 && term->match_fields.n == 0;
}

static int compile_term(const struct node_selector_term *from, struct arena *a,
                        struct node_term *term, struct err *reterr)
{
    size_t n = from->match_expressions.n;
    struct requirement *labels = arena_array(a, struct requirement, n);
    for (size_t i = 0; i < n; i++) {
        int r = compile_label(&from->match_expressions.v[i], a, &labels[i], reterr);
        if (r < 0)
            return err_prefix(reterr, r, "matchExpressions[%zu]", i);
    }
    requirements_sort(labels, n);
    term->labels = (struct selector){.requirements = {labels, n}};

    n = from->match_fields.n;
    struct field_requirement *fields = arena_array(a, struct field_requirement, n);
    for (size_t i = 0; i < n; i++) {
        int r = compile_field(&from->match_fields.v[i], &fields[i], reterr);
        if (r < 0)
            return err_prefix(reterr, r, "matchFields[%zu]", i);
    }
    term->fields.v = fields;
    term->fields.n = n;
    return 0;
}

void node_terms_compile(const struct node_selector *ns, struct arena *a,
                        struct node_terms *ret_terms)
{
    struct node_term *terms = arena_array(a, struct node_term, ns->node_selector_terms.n);
    size_t n = 0;
    for (size_t i = 0; i < ns->node_selector_terms.n; i++) {
        const struct node_selector_term *from = &ns->node_selector_terms.v[i];
        struct err e;
        if (is_empty(from))
            continue;
        if (compile_term(from, a, &terms[n], &e) < 0)
            terms[n].broken = arena_printf(a, "nodeSelectorTerms[%zu]: %s", i, e.msg);
        n++;
    }
    *ret_terms = (struct node_terms){.v = {terms, n}};
}

struct str node_terms_fault(const struct node_terms *terms)
{
    for (size_t i = 0; i < terms->v.n; i++)
        if (!str_empty(terms->v.v[i].broken))
            return terms->v.v[i].broken;
    return STR("");
}

int node_preferences_compile(const struct node_affinity *affinity, struct arena *a,
                             struct node_terms *ret_terms, struct err *reterr)
{
    size_t n = 0, n_preferred = affinity ? affinity->preferred.n : 0;
    struct node_term *terms = arena_array(a, struct node_term, n_preferred);
    for (size_t i = 0; i < n_preferred; i++) {
        const struct preferred_scheduling_term *from = &affinity->preferred.v[i];
        if (from->weight == 0 || is_empty(&from->preference))
            continue;
        int r = compile_term(&from->preference, a, &terms[n], reterr);
        if (r < 0)
            return err_prefix(reterr, r, "[%zu]", i);
        terms[n++].weight = from->weight;
    }
    *ret_terms = (struct node_terms){.v = {terms, n}};
    return 0;
}

static bool term_matches(const struct node_term *term, const str_map *labels, struct str node_name)
{
    if (!str_empty(term->broken) || !selector_matches(&term->labels, labels))
        return false;
    /* As upstream, fields are not checked if the node has no name. */
    for (size_t i = 0; i < term->fields.n && node_name.n > 0; i++) {
        const struct field_requirement *f = &term->fields.v[i];
        struct str value = str_eq(f->field, NODE_FIELD_NAME) ? node_name : STR("");
        if (str_eq(value, f->value) == f->negated)
            return false;
    }
    return true;
}

bool node_terms_match(const struct node_terms *terms, const str_map *labels, struct str node_name)
{
    for (size_t i = 0; i < terms->v.n; i++)
        if (term_matches(&terms->v.v[i], labels, node_name))
            return true;
    return false;
}

int64_t node_preferences_score(const struct node_terms *terms, const str_map *labels,
                               struct str node_name)
{
    int64_t score = 0;
    for (size_t i = 0; i < terms->v.n; i++)
        if (term_matches(&terms->v.v[i], labels, node_name))
            score += terms->v.v[i].weight;
    return score;
}

void required_node_affinity_compile(const str_map *node_selector,
                                    const struct node_affinity *affinity, struct arena *a,
                                    struct required_node_affinity *ret_affinity)
{
    const struct node_selector *required = affinity ? affinity->required : NULL;
    *ret_affinity = (struct required_node_affinity){.has_terms = required};
    selector_from_set(node_selector, a, &ret_affinity->node_selector);
    if (required)
        node_terms_compile(required, a, &ret_affinity->terms);
}

bool required_node_affinity_matches(const struct required_node_affinity *affinity,
                                    const str_map *labels, struct str node_name)
{
    return selector_matches(&affinity->node_selector, labels) &&
           (!affinity->has_terms || node_terms_match(&affinity->terms, labels, node_name));
}
