/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeAffinity: nodeSelector, required and preferred node affinity. The arguments may add required
 * and preferred terms for every pod (addedAffinity).
 */
#include "api/selector_fault.h"
#include "engine/cycle/cycle.h"
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/common/required_nodes.h"
#include "plugins/node_affinity/node_affinity_args.h"

struct affinity_plugin {
    const struct berth_host *host;
    const struct engine_log *log;
    struct node_memos *memos;
    struct arena arena; /* of what follows */
    struct node_terms *added_required, *added_preferred;
    struct str added_required_key, added_preferred_key;
    berth_reason pod_mismatch, enforced_mismatch, conflict;
    berth_state_key demands, preferences;
    struct buf key; /* scratch */
};

/* The result of PreFilter. */
struct demands {
    struct required_node_affinity affinity;
    bool names_nodes; /* PreFilter returned node names: few nodes, not worth a column */
};

/* --- keys ------------------------------------------------------------------------------------- */

static void key_add_preferences(struct buf *key, const struct node_affinity *affinity)
{
    size_t n = affinity ? affinity->preferred.n : 0;
    key_add_number(key, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        key_add_number(key, affinity->preferred.v[i].weight);
        key_add_node_term(key, &affinity->preferred.v[i].preference);
    }
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void destroy(void *ctx)
{
    struct affinity_plugin *self = ctx;
    arena_release(&self->arena);
    buf_release(&self->key);
    free(self);
}

static void take_required(struct affinity_plugin *self, const struct node_selector *required)
{
    self->added_required = arena_new(&self->arena, struct node_terms);
    node_terms_compile(required, &self->arena, self->added_required);
    key_begin(&self->key, STR("NodeAffinity/added required"));
    key_add_node_selector(&self->key, required);
    self->added_required_key = arena_dup(&self->arena, buf_str(&self->key));
}

/* The terms are validated: compilation succeeds. */
static int take_preferred(struct affinity_plugin *self, const struct node_affinity *added)
{
    struct err err;
    self->added_preferred = arena_new(&self->arena, struct node_terms);
    key_begin(&self->key, STR("NodeAffinity/preferred"));
    key_add_preferences(&self->key, added);
    self->added_preferred_key = arena_dup(&self->arena, buf_str(&self->key));
    return node_preferences_compile(added, &self->arena, self->added_preferred, &err);
}

static int take_args(struct affinity_plugin *self, struct berth_str text, struct berth_error *error)
{
    const struct node_affinity *added;
    int r = node_affinity_args_read(text, &self->arena, &added, error);
    if (r < 0)
        return r;
    if (added && added->required)
        take_required(self, added->required);
    return added && added->preferred.n ? take_preferred(self, added) : 0;
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct affinity_plugin *self = xnew(struct affinity_plugin);
    self->host = host;
    self->log = handle_log(h);
    self->memos = &handle_cluster(h)->memos;
    arena_init(&self->arena, 0);
    int r = take_args(self, args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->pod_mismatch =
        host->reason(h, BERTH_STR("node(s) didn't match Pod's node affinity/selector"));
    self->enforced_mismatch =
        host->reason(h, BERTH_STR("node(s) didn't match scheduler-enforced node affinity"));
    self->conflict = host->reason(h, BERTH_STR("pod affinity terms conflict"));
    self->demands = host->state_key(h, BERTH_STR("PreFilterNodeAffinity"));
    self->preferences = host->state_key(h, BERTH_STR("PreScoreNodeAffinity"));
    *ret_self = self;
    return 0;
}

/* --- questions to nodes ----------------------------------------------------------------------- */

static int64_t ask_demands(const void *ask, const struct berth_node *node)
{
    return required_node_affinity_matches(ask, &node->node->metadata.labels, str_of(node->name));
}

static int64_t ask_terms(const void *ask, const struct berth_node *node)
{
    return node_terms_match(ask, &node->node->metadata.labels, str_of(node->name));
}

static int64_t ask_preferences(const void *ask, const struct berth_node *node)
{
    return node_preferences_score(ask, &node->node->metadata.labels, str_of(node->name));
}

/* --- queueing hint ---------------------------------------------------------------------------- */

/* Invalid terms count as a possible match, as upstream's errors in hints: the pod is retried. */
enum match { NO_MATCH, MATCH, UNKNOWN_MATCH };

static enum match match(const struct required_node_affinity *affinity, const struct node *node)
{
    const str_map *labels = &node->metadata.labels;
    if (required_node_affinity_matches(affinity, labels, node->metadata.name))
        return MATCH;
    return selector_matches(&affinity->node_selector, labels) &&
                   !str_empty(node_terms_fault(&affinity->terms))
               ? UNKNOWN_MATCH
               : NO_MATCH;
}

/* May the change help? The log message is NULL for invalid terms. */
static bool may_help(const struct pod *pod, const struct node *old, const struct node *new,
                     const char **ret_why)
{
    struct required_node_affinity affinity;
    struct arena scratch;
    arena_init(&scratch, 0);
    required_nodes_compile(pod, &scratch, &affinity);
    enum match now = match(&affinity, new);
    enum match then = old && now == MATCH ? match(&affinity, old) : NO_MATCH;
    arena_release(&scratch);
    *ret_why = now == NO_MATCH ? "node was created or updated, but the pod's NodeAffinity doesn't "
                                 "match"
               : now == UNKNOWN_MATCH || then == UNKNOWN_MATCH ? NULL
               : !old          ? "node was created, and matches with the pod's NodeAffinity"
               : then == MATCH ? "node updated, but the pod's NodeAffinity hasn't changed"
                               : "node was updated and the pod's NodeAffinity changed to matched";
    return now == UNKNOWN_MATCH || (now == MATCH && then != MATCH);
}

static enum berth_hint after_node_change(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    const struct affinity_plugin *self = ctx;
    const struct node *old = hint_node(before), *new = hint_node(after);
    const char *why;
    if (!new)
        return BERTH_QUEUE_SKIP;
    if (self->added_required &&
        !node_terms_match(self->added_required, &new->metadata.labels, new->metadata.name)) {
        engine_log(
            self->log, 4,
            "added or modified node didn't match scheduler-enforced node affinity and this event "
            "won't make the Pod schedulable",
            KV_POD(pod), KV_NODE(new));
        return BERTH_QUEUE_SKIP;
    }
    bool helps = may_help(pod->pod, old, new, &why);
    if (why)
        engine_log(self->log, 5, why, KV_POD(pod), KV_NODE(new));
    return hint_if(helps);
}

static void events(void *ctx, struct berth_registrar *r)
{
    ((struct affinity_plugin *)ctx)
        ->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL,
                               after_node_change);
}

/* --- PreFilter: affinity to nodes by name ----------------------------------------------------- */

typedef VEC(struct berth_str) name_list;

/* Removes from names[from …] those that are not among the values. */
static void intersect(name_list *names, size_t from, const struct node_selector_requirement *r)
{
    struct map values = MAP_INIT;
    size_t kept = from;
    for (size_t i = 0; i < r->values.n; i++)
        map_put(&values, r->values.v[i], &r->values.v[i]);
    for (size_t i = from; i < names->n; i++)
        if (map_get(&values, str_abi(names->v[i])))
            names->v[kept++] = names->v[i];
    names->n = kept;
    map_release(&values);
}

/* Adds the nodes that the term names by metadata.name; false if it does not. */
static bool add_term_names(const struct node_selector_term *term, name_list *names)
{
    bool by_name = false;
    size_t from = names->n;
    for (size_t i = 0; i < term->match_fields.n; i++) {
        const struct node_selector_requirement *r = &term->match_fields.v[i];
        if (!str_eq(r->key, NODE_FIELD_NAME) || !str_is(r->operator, "In"))
            continue;
        for (size_t k = 0; !by_name && k < r->values.n; k++)
            vec_push(names, abi_str(r->values.v[k]));
        if (by_name)
            intersect(names, from, r);
        by_name = true;
    }
    return by_name;
}

/* The nodes that the required terms name; false if a term does not name nodes. */
static bool find_names(const struct node_selector *required, name_list *names)
{
    if (!required || required->node_selector_terms.n == 0)
        return false;
    for (size_t i = 0; i < required->node_selector_terms.n; i++)
        if (!add_term_names(&required->node_selector_terms.v[i], names))
            return false;
    return true;
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    struct affinity_plugin *self = ctx;
    name_list names = {0};
    enum berth_code code = BERTH_SUCCESS;
    if (!pod_requires_nodes(pod->pod) && !self->added_required)
        return BERTH_SKIP;
    struct demands *demands = arena_new(&cycle->arena, struct demands);
    required_nodes_compile(pod->pod, &cycle->arena, &demands->affinity);
    demands->names_nodes = find_names(pod_required_nodes(pod->pod), &names);
    self->host->state_write(cycle, self->demands, demands, NULL, NULL);
    if (demands->names_nodes && names.n) {
        self->host->limit_nodes(cycle, names.v, names.n);
    } else if (demands->names_nodes) {
        self->host->status_reason(status, self->conflict);
        code = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    vec_release(&names);
    return code;
}

/* --- filter ----------------------------------------------------------------------------------- */

/* If the profile disables PreFilter, the terms are compiled for each call, in scratch. */
static const struct required_node_affinity *demands_of(const struct affinity_plugin *self,
                                                       const struct berth_cycle *cycle,
                                                       const struct berth_pod *pod,
                                                       struct arena *scratch)
{
    const struct demands *demands = self->host->state_read(cycle, self->demands);
    if (demands)
        return &demands->affinity;
    struct required_node_affinity *affinity = arena_new(scratch, struct required_node_affinity);
    required_nodes_compile(pod->pod, scratch, affinity);
    return affinity;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct affinity_plugin *self = ctx;
    if (self->added_required && !ask_terms(self->added_required, node)) {
        self->host->status_reason(status, self->enforced_mismatch);
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    struct arena scratch;
    arena_init(&scratch, 0);
    bool matches = ask_demands(demands_of(self, cycle, pod, &scratch), node);
    arena_release(&scratch);
    if (matches)
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->pod_mismatch);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/* Filters the feasible nodes one by one. */
static void filter_few(const struct affinity_plugin *self,
                       const struct required_node_affinity *affinity,
                       struct berth_filter_batch *batch)
{
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++)
        for (uint64_t left = batch->feasible[w]; left; left &= left - 1) {
            size_t slot = w * 64 + (size_t)__builtin_ctzll(left);
            if (!ask_demands(affinity, batch->columns->nodes[slot]))
                batch_refuse(batch, w, left & -left, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE,
                             self->pod_mismatch);
        }
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)status;
    struct affinity_plugin *self = ctx;
    const struct demands *demands = self->host->state_read(cycle, self->demands);
    if (self->added_required)
        batch_refuse_others(
            batch,
            node_memo_set(self->memos, self->added_required_key, ask_terms, self->added_required),
            BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, self->enforced_mismatch);
    if (!pod_requires_nodes(pod->pod))
        return BERTH_SUCCESS;
    if (demands && demands->names_nodes) {
        filter_few(self, &demands->affinity, batch);
        return BERTH_SUCCESS;
    }
    struct arena scratch;
    arena_init(&scratch, 0);
    key_begin(&self->key, STR("NodeAffinity/required"));
    key_add_required_nodes(&self->key, pod->pod);
    const uint64_t *matching = node_memo_set(self->memos, buf_str(&self->key), ask_demands,
                                             demands_of(self, cycle, pod, &scratch));
    batch_refuse_others(batch, matching, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, self->pod_mismatch);
    arena_release(&scratch);
    return BERTH_SUCCESS;
}

/* --- score ------------------------------------------------------------------------------------ */

static bool prefers_anything(const struct pod *pod)
{
    const struct node_affinity *affinity = pod_node_affinity(pod);
    return affinity && affinity->preferred.n > 0;
}

/* False if a term is invalid: status has the error. */
static bool compile_preferences(const struct affinity_plugin *self, const struct pod *pod,
                                struct arena *a, struct node_terms *ret_terms,
                                struct berth_status *status)
{
    struct faults faults = {0};
    struct buf text = BUF_INIT;
    struct err err;
    *ret_terms = (struct node_terms){0};
    if (!prefers_anything(pod) ||
        node_preferences_compile(pod_node_affinity(pod), a, ret_terms, &err) == 0)
        return true;
    node_preferences_faults(&faults, "", pod_node_affinity(pod));
    faults_write(&faults, &text);
    self->host->status_text(status, abi_str(buf_str(&text)));
    buf_release(&text);
    return false;
}

static enum berth_code pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)slots;
    (void)n;
    struct affinity_plugin *self = ctx;
    if (!prefers_anything(pod->pod) && !self->added_preferred)
        return BERTH_SKIP;
    struct node_terms *terms = arena_new(&cycle->arena, struct node_terms);
    if (!compile_preferences(self, pod->pod, &cycle->arena, terms, status))
        return BERTH_ERROR;
    self->host->state_write(cycle, self->preferences, terms, NULL, NULL);
    return BERTH_SUCCESS;
}

/* NULL with status set if they are invalid. scratch is used if PreScore is disabled. */
static const struct node_terms *preferences_of(const struct affinity_plugin *self,
                                               const struct berth_cycle *cycle,
                                               const struct berth_pod *pod, struct arena *scratch,
                                               struct berth_status *status)
{
    const struct node_terms *prepared = self->host->state_read(cycle, self->preferences);
    if (prepared)
        return prepared;
    struct node_terms *terms = arena_new(scratch, struct node_terms);
    return compile_preferences(self, pod->pod, scratch, terms, status) ? terms : NULL;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    const struct affinity_plugin *self = ctx;
    struct arena scratch;
    arena_init(&scratch, 0);
    const struct node_terms *terms = preferences_of(self, cycle, pod, &scratch, status);
    if (terms)
        *ret_score = ask_preferences(terms, node) +
                     (self->added_preferred ? ask_preferences(self->added_preferred, node) : 0);
    arena_release(&scratch);
    return terms ? BERTH_SUCCESS : BERTH_ERROR;
}

static void add_column(struct berth_score_batch *batch, const int64_t *column)
{
    for (size_t i = 0; i < batch->n; i++)
        batch->scores[i] += column[batch->slots[i]];
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    struct affinity_plugin *self = ctx;
    struct arena scratch;
    arena_init(&scratch, 0);
    const struct node_terms *terms = preferences_of(self, cycle, pod, &scratch, status);
    memset(batch->scores, 0, batch->n * sizeof(int64_t));
    if (terms && terms->v.n) {
        key_begin(&self->key, STR("NodeAffinity/preferred"));
        key_add_preferences(&self->key, pod_node_affinity(pod->pod));
        add_column(batch,
                   node_memo_column(self->memos, buf_str(&self->key), ask_preferences, terms));
    }
    if (terms && self->added_preferred)
        add_column(batch, node_memo_column(self->memos, self->added_preferred_key, ask_preferences,
                                           self->added_preferred));
    arena_release(&scratch);
    return terms ? BERTH_SUCCESS : BERTH_ERROR;
}

const struct berth_plugin node_affinity_plugin = {
    PLUGIN_HEAD("NodeAffinity"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_filter = pre_filter,
    .filter = filter,
    .filter_many = filter_many,
    .pre_score = pre_score,
    .score = score,
    .score_many = score_many,
    .normalize = normalize_highest_best,
};
