/* SPDX-License-Identifier: Apache-2.0 */
#include "api/selector_fault.h"

static void unsupported(struct faults *all, const char *path, struct str operator,
                        const char * supported)
{
    faults_add(all, "%soperator: Unsupported value: ", path);
    fault_quote(&all->text, operator);
    buf_add_printf(&all->text, ": supported values: %s", supported);
}

static void check_expression(struct faults *all, const char *path,
                             const struct node_selector_requirement *from)
{
    struct requirement r = {.key = from->key, .values = {from->values.v, from->values.n}};
    if (selector_op_parse(from->operator, & r.op))
        faults_check(all, path, &r);
    else
        unsupported(all, path, from->operator,
                    "\"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"");
}

static void check_field(struct faults *all, const char *path,
                        const struct node_selector_requirement *from)
{
    enum selector_op op;
    if (!selector_op_parse(from->operator, & op) || (op != SELECTOR_IN && op != SELECTOR_NOT_IN))
        unsupported(all, path, from->operator, "\"In\", \"NotIn\"");
    else if (from->values.n != 1)
        faults_add_values(all, path, from->values.v, from->values.n, "must have one element");
}

static void check_term(struct faults *all, const char *path, const struct node_selector_term *term)
{
    for (size_t i = 0; i < term->match_expressions.n; i++) {
        char *at = xasprintf("%s.matchExpressions[%zu].", path, i);
        check_expression(all, at, &term->match_expressions.v[i]);
        free(at);
    }
    for (size_t i = 0; i < term->match_fields.n; i++) {
        char *at = xasprintf("%s.matchFields[%zu].", path, i);
        check_field(all, at, &term->match_fields.v[i]);
        free(at);
    }
}

void node_selector_faults(struct faults *all, const char *path,
                          const struct node_selector *selector)
{
    for (size_t i = 0; i < selector->node_selector_terms.n; i++) {
        char *at = xasprintf("%s%snodeSelectorTerms[%zu]", path, *path ? "." : "", i);
        check_term(all, at, &selector->node_selector_terms.v[i]);
        free(at);
    }
}

void node_preferences_faults(struct faults *all, const char *path,
                             const struct node_affinity *affinity)
{
    for (size_t i = 0; i < affinity->preferred.n; i++) {
        char *at = xasprintf("%s[%zu]", path, i);
        if (affinity->preferred.v[i].weight != 0)
            check_term(all, at, &affinity->preferred.v[i].preference);
        free(at);
    }
}
