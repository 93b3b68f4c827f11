/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_base.h - helpers of in-tree plugins.
 *
 * Purpose:   the head of a struct berth_plugin, objects of queueing hints, normalization of scores,
 *            rejection of nodes of a batch, and keys for cached questions.
 * Ownership: see each.
 * Threading: see include/berth/plugin.h.
 */
#ifndef BERTH_PLUGINS_COMMON_PLUGIN_BASE_H
#define BERTH_PLUGINS_COMMON_PLUGIN_BASE_H

#include "api/toleration.h"
#include "base/bitset.h"
#include "base/buf.h"
#include "engine/cache/node_info.h"
#include "engine/config/point.h"
#include "engine/ports/engine_log.h"

#define PLUGIN_HEAD(plugin_name) BERTH_PLUGIN_HEAD(plugin_name, BERTH_VERSION)

/* A plugin without arguments and state; destroyed by free. */
struct plain_plugin {
    const struct berth_host *host;
    struct berth_handle *handle;
    const struct engine_log *log;
};
int plain_plugin_create(const struct berth_host *host, struct berth_handle *h,
                        struct berth_str args, void **ret_self, struct berth_error *error);

/*
 * Scales scores so that the highest becomes max; reverse: the lowest is best, 0 becomes max. If all
 * are 0 they stay 0, or with reverse become max (upstream: DefaultNormalizeScore).
 */
void normalize_scores(int64_t *scores, size_t n, int64_t max, bool reverse);

/* Both as a plugin's normalize. */
enum berth_code normalize_highest_best(void *self, const struct berth_cycle *cycle,
                                       const struct berth_pod *pod, const uint32_t *slots,
                                       int64_t *scores, size_t n, struct berth_status *status);
enum berth_code normalize_lowest_best(void *self, const struct berth_cycle *cycle,
                                      const struct berth_pod *pod, const uint32_t *slots,
                                      int64_t *scores, size_t n, struct berth_status *status);

/* Rejects the feasible nodes in `bits` of the 64 nodes of `word`. */
void batch_refuse(struct berth_filter_batch *batch, size_t word, uint64_t bits,
                  enum berth_code code, berth_reason reason);

/* Rejects the feasible nodes in the set, or all that are not in it. */
void batch_refuse_set(struct berth_filter_batch *batch, const uint64_t *set, enum berth_code code,
                      berth_reason reason);
void batch_refuse_others(struct berth_filter_batch *batch, const uint64_t *set,
                         enum berth_code code, berth_reason reason);
/* Do two sets over n slots have a node in common? */
bool sets_meet(const uint64_t *a, const uint64_t *b, size_t n);

/*
 * Keys: texts of length-prefixed parts, so that different lists of parts have different texts. They
 * identify the questions of node_memo.h.
 */
void key_add(struct buf *key, struct str part);
void key_add_number(struct buf *key, int64_t number);
/* Clears the key and adds the plugin's name and question. */
static inline void key_begin(struct buf *key, struct str whose)
{
    buf_clear(key);
    key_add(key, whose);
}
/* The pod's tolerations of any of these effects. */
void key_add_tolerations(struct buf *key, const struct pod *pod, unsigned effects);

static inline struct toleration_list pod_tolerations(const struct pod *pod)
{
    return (struct toleration_list){pod->spec.tolerations.v, pod->spec.tolerations.n};
}

/* printf to the host's status_text. */
void status_printf(const struct berth_host *host, struct berth_status *status, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* For plugins that never reject: registers no events. */
void no_events(void *self, struct berth_registrar *r);

/* A hint: queues if the pending pod itself changed. */
enum berth_hint hint_own_pod(void *self, const struct berth_pod *pod,
                             const struct berth_object *before, const struct berth_object *after);

/* The node or pod of a hint; NULL if the object is NULL. */
static inline const struct node *hint_node(const struct berth_object *o)
{
    return o ? object_node(object_of_abi(o)) : NULL;
}
static inline const struct pod *hint_pod(const struct berth_object *o)
{
    return o ? object_pod(object_of_abi(o)) : NULL;
}

/* Objects of other kinds. */
static inline const struct object_meta *hint_meta(const struct berth_object *o)
{
    return o ? object_meta(object_of_abi(o)) : NULL;
}
static inline const void *hint_body(const struct berth_object *o)
{
    return o ? object_body(object_of_abi(o)) : NULL;
}

/* A pod of a hint in a log message; NULL is an empty name. */
#define KV_HINT_POD(k, p) \
    KV_REF(k, (p) ? (p)->metadata.namespace : STR(""), (p) ? (p)->metadata.name : STR(""))

static inline enum berth_hint hint_if(bool helps)
{
    return helps ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

/* Is the changed pod the pending pod itself? */
static inline bool hint_about(const struct berth_pod *pod, const struct pod *changed)
{
    return str_eq(pod->pod->metadata.uid, changed->metadata.uid);
}

#endif
