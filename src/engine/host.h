/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - the functions of struct berth_host that host.c does not define itself.
 *
 * Purpose:   host_read.c reads pods, nodes and other objects; host_services.c has the log, reasons,
 *            arguments, metrics, requests, timers and threads. include/berth/plugin.h describes
 *            each function.
 * Ownership: see there.
 * Threading: see there.
 */
#ifndef BERTH_ENGINE_HOST_H
#define BERTH_ENGINE_HOST_H

#include "engine/rooms.h"

/* Copies a struct that begins with struct_size, of the caller's size, into one of this size. */
#define HOST_COPY(to, from)                                          \
    do {                                                             \
        (to) = (__typeof__(to)){0};                                  \
        memcpy(&(to), (from), MIN((from)->struct_size, sizeof(to))); \
    } while (0)

/* --- host_read.c ------------------------------------------------------------------------------ */

struct berth_str host_pod_namespace(const struct berth_pod *pod);
struct berth_str host_pod_name(const struct berth_pod *pod);
struct berth_str host_pod_uid(const struct berth_pod *pod);
struct berth_str host_pod_node_name(const struct berth_pod *pod);
int32_t host_pod_priority(const struct berth_pod *pod);
bool host_pod_label(const struct berth_pod *pod, struct berth_str key, struct berth_str *ret);
int64_t host_pod_request(const struct berth_pod *pod, struct berth_str resource);
bool host_pod_field(const struct berth_pod *pod, struct berth_str path, struct berth_value *ret);
const struct berth_object *host_pod_object(const struct berth_pod *pod);
struct berth_str host_node_name(const struct berth_node *node);
bool host_node_label(const struct berth_node *node, struct berth_str key, struct berth_str *ret);
int64_t host_node_allocatable(const struct berth_node *node, struct berth_str resource);
int64_t host_node_requested(const struct berth_node *node, struct berth_str resource);
size_t host_node_pod_count(const struct berth_node *node);
const struct berth_pod *host_node_pod(const struct berth_node *node, size_t i);
bool host_node_field(const struct berth_node *node, struct berth_str path, struct berth_value *ret);
const struct berth_object *host_node_object(const struct berth_node *node);
bool host_object_field(const struct berth_object *object, struct berth_str path,
                       struct berth_value *ret);
bool host_value_get(const struct berth_value *value, struct berth_str path,
                    struct berth_value *ret);
bool host_value_at(const struct berth_value *value, size_t i, struct berth_str *ret_key,
                   struct berth_value *ret);
size_t host_value_json(const struct berth_value *value, char *buf, size_t size);
bool host_parse_quantity(struct berth_str text, int64_t *ret_thousandths);
struct berth_str host_object_namespace(const struct berth_object *object);
struct berth_str host_object_name(const struct berth_object *object);
struct berth_str host_object_uid(const struct berth_object *object);
bool host_object_label(const struct berth_object *object, struct berth_str key,
                       struct berth_str *ret);
const struct berth_object *host_object_ref(const struct berth_object *object);
void host_object_unref(const struct berth_object *object);
struct berth_lister *host_watch(struct berth_handle *h, const struct berth_watch *watch);
bool host_lister_synced(const struct berth_lister *lister);
const struct berth_object *host_lister_get(const struct berth_lister *lister,
                                           struct berth_str namespace_name, struct berth_str name);
void host_lister_each(const struct berth_lister *lister, struct berth_str namespace_name,
                      bool (*fn)(void *ctx, const struct berth_object *object), void *ctx);
enum berth_resource host_lister_resource(const struct berth_lister *lister);

/* --- host_services.c -------------------------------------------------------------------------- */

void host_log(struct berth_handle *h, int level, struct berth_str message,
              const struct berth_kv *kv, size_t n);
bool host_log_enabled(struct berth_handle *h, int level);
berth_reason host_reason(struct berth_handle *h, struct berth_str text);
berth_reason host_reason_list(struct berth_handle *h, const berth_reason *reasons, size_t n);
void host_status_text(struct berth_status *status, struct berth_str text);
uint64_t host_api_call(struct berth_handle *h, const struct berth_api_call *call,
                       berth_api_done_fn *done, void *ctx);
void host_api_forget(struct berth_handle *h, uint64_t id);
uint64_t host_http_get(struct berth_handle *h, const struct berth_http_get *get,
                       berth_http_done_fn *done, void *ctx);
int64_t host_now(const struct berth_handle *h);
uint64_t host_timer(struct berth_handle *h, int64_t delay_ns, berth_fn *fn, void *ctx);
void host_timer_cancel(struct berth_handle *h, uint64_t id);
void host_event(struct berth_handle *h, const struct berth_event *event);
void *host_shared(struct berth_handle *h, const struct berth_shared_type *type);
void host_post(struct berth_handle *h, berth_fn *fn, void *ctx);
void host_parallel(struct berth_handle *h, size_t n,
                   void (*fn)(void *ctx, size_t begin, size_t end), void *ctx);
int host_args(struct berth_handle *h, struct berth_str args, const struct berth_arg *table,
              void *ret_args, struct berth_error *error);
struct berth_metric *host_metric(struct berth_handle *h, const struct berth_metric_desc *desc);
void host_metric_add(struct berth_metric *metric, const struct berth_str *labels, double value);
void host_metric_set(struct berth_metric *metric, const struct berth_str *labels, double value);
void host_metric_observe(struct berth_metric *metric, const struct berth_str *labels, double value);

#endif
