/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/common/required_nodes.h"

#include "plugins/common/plugin_base.h"

static void key_add_requirements(struct buf *key, const struct node_selector_requirement *v,
                                 size_t n)
{
    key_add_number(key, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        key_add(key, v[i].key);
        key_add(key, v[i].operator);
        key_add_number(key, (int64_t)v[i].values.n);
        for (size_t k = 0; k < v[i].values.n; k++)
            key_add(key, v[i].values.v[k]);
    }
}

void key_add_node_term(struct buf *key, const struct node_selector_term *term)
{
    key_add_requirements(key, term->match_expressions.v, term->match_expressions.n);
    key_add_requirements(key, term->match_fields.v, term->match_fields.n);
}

/* NULL differs from a selector without terms, which matches no node. */
void key_add_node_selector(struct buf *key, const struct node_selector *selector)
{
    key_add_number(key, selector ? (int64_t)selector->node_selector_terms.n : -1);
    for (size_t i = 0; selector && i < selector->node_selector_terms.n; i++)
        key_add_node_term(key, &selector->node_selector_terms.v[i]);
}

void key_add_required_nodes(struct buf *key, const struct pod *pod)
{
    key_add_number(key, (int64_t)pod->spec.node_selector.n);
    for (size_t i = 0; i < pod->spec.node_selector.n; i++) {
        key_add(key, pod->spec.node_selector.v[i].key);
        key_add(key, pod->spec.node_selector.v[i].value);
    }
    key_add_node_selector(key, pod_required_nodes(pod));
}
