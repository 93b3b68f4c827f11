/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodePreferAvoidPods (releases up to 1.22): an annotation of a node lists the
 * ReplicationControllers and ReplicaSets whose pods should avoid it.
 */
#include "codec/json.h"
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

#define AVOID_ANNOTATION STR("scheduler.alpha.kubernetes.io/preferAvoidPods")

/* --- annotation ------------------------------------------------------------------------------- */

/* Not decoded: evictionTime, reason, message. */
struct avoid_entry {
    struct pod_signature {
        struct owner_reference *pod_controller;
    } pod_signature;
};
struct avoid_pods {
    LIST(struct avoid_entry) prefer_avoid_pods;
};

static const struct field signature_fields[] = {
    F_PTR_MSG(struct pod_signature, pod_controller, "podController", 1, struct owner_reference,
              &owner_reference_type),
};
static const struct type signature_type =
    TYPE("PodSignature", struct pod_signature, signature_fields);

static const struct field entry_fields[] = {
    F_MSG(struct avoid_entry, pod_signature, "podSignature", 1, struct pod_signature,
          &signature_type),
};
static const struct type entry_type =
    TYPE("PreferAvoidPodsEntry", struct avoid_entry, entry_fields);

static const struct field avoid_fields[] = {
    F_LIST_MSG(struct avoid_pods, prefer_avoid_pods, "preferAvoidPods", 1, struct avoid_entry,
               &entry_type),
};
static const struct type avoid_type = TYPE("AvoidPods", struct avoid_pods, avoid_fields);

/* Does the annotation list the controller? An invalid annotation lists none. */
static bool names_controller(struct str annotation, const struct owner_reference *controller)
{
    struct avoid_pods avoid;
    struct arena a;
    struct err err;
    bool found = false;
    arena_init(&a, 0);
    if (json_decode(annotation, &avoid_type, JSON_FOLD_CASE, &a, &avoid, &err) == 0)
        for (size_t i = 0; !found && i < avoid.prefer_avoid_pods.n; i++) {
            const struct owner_reference *to =
                avoid.prefer_avoid_pods.v[i].pod_signature.pod_controller;
            found = to && str_eq(to->kind, controller->kind) && str_eq(to->uid, controller->uid);
        }
    arena_release(&a);
    return found;
}

/* --- score ------------------------------------------------------------------------------------ */

struct avoid_plugin {
    struct node_memos *memos;
    struct buf key; /* scratch */
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)host;
    (void)args;
    (void)error;
    struct avoid_plugin *self = xnew(struct avoid_plugin);
    self->memos = &handle_cluster(h)->memos;
    *ret_self = self;
    return 0;
}

static void destroy(void *ctx)
{
    struct avoid_plugin *self = ctx;
    buf_release(&self->key);
    free(self);
}

/* The controller that nodes may avoid; NULL if none. */
static const struct owner_reference *controller_of(const struct pod *pod)
{
    const struct owner_reference *c = object_meta_controller(&pod->metadata);
    return c && (str_is(c->kind, "ReplicationController") || str_is(c->kind, "ReplicaSet")) ? c
                                                                                            : NULL;
}

static void key_add_controller(struct buf *key, const struct owner_reference *controller)
{
    key_add(key, controller ? controller->kind : STR(""));
    key_add(key, controller ? controller->uid : STR(""));
}

static int64_t ask_avoids(const void *ask, const struct berth_node *node)
{
    const struct str *text = str_map_get(&node->node->metadata.annotations, AVOID_ANNOTATION);
    return text && !str_empty(*text) && names_controller(*text, ask);
}

static int64_t ask_avoids_anybody(const void *ask, const struct berth_node *node)
{
    (void)ask;
    return str_map_get(&node->node->metadata.annotations, AVOID_ANNOTATION) != NULL;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)ctx;
    (void)cycle;
    (void)status;
    const struct owner_reference *controller = controller_of(pod->pod);
    *ret_score = controller && ask_avoids(controller, node) ? 0 : MAX_NODE_SCORE;
    return BERTH_SUCCESS;
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    (void)cycle;
    (void)status;
    struct avoid_plugin *self = ctx;
    const struct owner_reference *controller = controller_of(pod->pod);
    const uint64_t *avoiding = NULL;
    /* Hardly any node has the annotation: it is parsed only if a node has one. */
    if (controller && sets_meet(node_memo_set(self->memos, STR("NodePreferAvoidPods/any"),
                                              ask_avoids_anybody, NULL),
                                batch->columns->present, batch->columns->n)) {
        key_begin(&self->key, STR("NodePreferAvoidPods"));
        key_add_controller(&self->key, controller);
        avoiding = node_memo_set(self->memos, buf_str(&self->key), ask_avoids, controller);
    }
    for (size_t i = 0; i < batch->n; i++) {
        uint32_t slot = batch->slots[i];
        bool avoids = avoiding && (avoiding[slot / 64] >> (slot % 64) & 1);
        batch->scores[i] = avoids ? 0 : MAX_NODE_SCORE;
    }
    return BERTH_SUCCESS;
}

const struct berth_plugin node_prefer_avoid_pods_plugin = {
    PLUGIN_HEAD("NodePreferAvoidPods"),
    .create = create,
    .destroy = destroy,
    .events = no_events,
    .score = score,
    .score_many = score_many,
};
