/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeLabel (releases up to 1.22): the arguments list labels that nodes must or should have or
 * lack, for all pods alike.
 */
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

typedef LIST(struct str) label_list;

struct node_label_args {
    struct args_meta meta;
    label_list present, absent;
    label_list present_preference, absent_preference;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct node_label_args),
    F_LIST(struct node_label_args, present, "presentLabels", 0, STR),
    F_LIST(struct node_label_args, absent, "absentLabels", 0, STR),
    F_LIST(struct node_label_args, present_preference, "presentLabelsPreference", 0, STR),
    F_LIST(struct node_label_args, absent_preference, "absentLabelsPreference", 0, STR),
};
static const struct type args_type = TYPE("NodeLabelArgs", struct node_label_args, args_fields);

struct node_label {
    const struct berth_host *host;
    struct node_memos *memos;
    struct arena arena; /* of what follows */
    struct node_label_args args;
    struct str key; /* of both node_memo questions */
    berth_reason mismatch;
};

/* --- arguments -------------------------------------------------------------------------------- */

/* A label may not be both present and absent. The last index of a repeated label is reported. */
static void check(const label_list *present, const label_list *absent, const char *present_name,
                  const char *absent_name, struct error_list *c)
{
    for (size_t i = 0; i < absent->n; i++)
        for (size_t k = present->n; k-- > 0;)
            if (str_eq(present->v[k], absent->v[i])) {
                error_list_add(c, "%s[%zu]: Invalid value: \"%.*s\": conflict with %s[%zu]",
                               present_name, k, STR_ARG(absent->v[i]), absent_name, i);
                break;
            }
}

static void check_args(const void *ctx, struct error_list *c)
{
    const struct node_label_args *args = ctx;
    check(&args->present, &args->absent, "presentLabels", "absentLabels", c);
    check(&args->present_preference, &args->absent_preference, "presentLabelsPreference",
          "absentLabelsPreference", c);
}

const struct args_kind node_label_args_kind = {.plugin = "NodeLabel",
                                               .name = "NodeLabelArgs",
                                               .type = &args_type,
                                               .check = check_args,
                                               .legacy = true};

static void key_add_labels(struct buf *key, const label_list *labels)
{
    key_add_number(key, (int64_t)labels->n);
    for (size_t i = 0; i < labels->n; i++)
        key_add(key, labels->v[i]);
}

static struct str make_key(const struct node_label_args *args, struct arena *a)
{
    struct buf key = BUF_INIT;
    key_begin(&key, STR("NodeLabel"));
    key_add_labels(&key, &args->present);
    key_add_labels(&key, &args->absent);
    key_add_labels(&key, &args->present_preference);
    key_add_labels(&key, &args->absent_preference);
    struct str copy = arena_dup(a, buf_str(&key));
    buf_release(&key);
    return copy;
}

static void destroy(void *ctx)
{
    struct node_label *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct node_label *self = xnew(struct node_label);
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&node_label_args_kind, args, &self->arena, &self->args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->host = host;
    self->memos = &handle_cluster(h)->memos;
    self->key = make_key(&self->args, &self->arena);
    self->mismatch = host->reason(h, BERTH_STR("node(s) didn't have the requested labels"));
    *ret_self = self;
    return 0;
}

static void events(void *ctx, struct berth_registrar *r)
{
    ((struct node_label *)ctx)
        ->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL, NULL);
}

/* --- filter ----------------------------------------------------------------------------------- */

/* The number of these labels that the node has. */
static size_t count_labels(const label_list *labels, const struct berth_node *node)
{
    size_t n = 0;
    for (size_t i = 0; i < labels->n; i++)
        n += str_map_get(&node->node->metadata.labels, labels->v[i]) != NULL;
    return n;
}

static int64_t ask_fits(const void *ask, const struct berth_node *node)
{
    const struct node_label_args *args = ask;
    return count_labels(&args->present, node) == args->present.n &&
           count_labels(&args->absent, node) == 0;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    const struct node_label *self = ctx;
    if (ask_fits(&self->args, node))
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->mismatch);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    (void)status;
    const struct node_label *self = ctx;
    batch_refuse_others(batch, node_memo_set(self->memos, self->key, ask_fits, &self->args),
                        BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, self->mismatch);
    return BERTH_SUCCESS;
}

/* --- score ------------------------------------------------------------------------------------ */

static int64_t ask_score(const void *ask, const struct berth_node *node)
{
    const struct node_label_args *args = ask;
    size_t n = args->present_preference.n + args->absent_preference.n;
    if (n == 0)
        return 0;
    size_t good = count_labels(&args->present_preference, node) + args->absent_preference.n -
                  count_labels(&args->absent_preference, node);
    return (int64_t)(MAX_NODE_SCORE * good / n);
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    (void)status;
    *ret_score = ask_score(&((struct node_label *)ctx)->args, node);
    return BERTH_SUCCESS;
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    (void)status;
    const struct node_label *self = ctx;
    const int64_t *column = node_memo_column(self->memos, self->key, ask_score, &self->args);
    for (size_t i = 0; i < batch->n; i++)
        batch->scores[i] = column[batch->slots[i]];
    return BERTH_SUCCESS;
}

const struct berth_plugin node_label_plugin = {
    PLUGIN_HEAD("NodeLabel"), .create = create,         .destroy = destroy,
    .events = events,         .filter = filter,         .filter_many = filter_many,
    .score = score,           .score_many = score_many,
};
