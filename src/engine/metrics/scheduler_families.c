/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/metrics/scheduler_families.h"

/* Each bound is the one before times two; the last list's times 1.5, rounding and all. */
static const double from_1_to_16[] = {1, 2, 4, 8, 16};
static const double from_1_to_64[] = {1, 2, 4, 8, 16, 32, 64};
static const double from_10us[] = {1e-5,    2e-5,    4e-5,    8e-5,    0.00016, 0.00032,
                                   0.00064, 0.00128, 0.00256, 0.00512, 0.01024, 0.02048};
static const double from_100us[] = {0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032,
                                    0.0064, 0.0128, 0.0256, 0.0512, 0.1024, 0.2048};
static const double from_1ms[] = {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128,
                                  0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384};
static const double from_10ms[] = {0.01,   0.02,   0.04,   0.08,    0.16,    0.32,   0.64,
                                   1.28,   2.56,   5.12,   10.24,   20.48,   40.96,  81.92,
                                   163.84, 327.68, 655.36, 1310.72, 2621.44, 5242.88};
static const double from_100ms[] = {0.1,  0.2,  0.4,  0.8,   1.6,   3.2,   6.4,
                                    12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2};
static const double fine_from_10us[] = {
    1e-05,
    1.5000000000000002e-05,
    2.2500000000000005e-05,
    3.375000000000001e-05,
    5.062500000000001e-05,
    7.593750000000002e-05,
    0.00011390625000000003,
    0.00017085937500000006,
    0.0002562890625000001,
    0.00038443359375000017,
    0.0005766503906250003,
    0.0008649755859375004,
    0.0012974633789062506,
    0.0019461950683593758,
    0.0029192926025390638,
    0.004378938903808595,
    0.006568408355712893,
    0.009852612533569338,
    0.014778918800354007,
    0.02216837820053101,
};

#define NAME(n)     "scheduler_" n
#define LABELS(...) {__VA_ARGS__}
#define NO_LABELS   LABELS(NULL)
#define COUNTER(n, level, labels_, help_) \
    {.name = NAME(n), .help = help_, .stability = level, .kind = METRIC_COUNTER, .labels = labels_}
#define GAUGE(n, level, labels_, help_) \
    {.name = NAME(n), .help = help_, .stability = level, .kind = METRIC_GAUGE, .labels = labels_}
#define HISTOGRAM(n, level, labels_, bounds, help_) \
    {.name = NAME(n),                               \
     .help = help_,                                 \
     .stability = level,                            \
     .kind = METRIC_HISTOGRAM,                      \
     .labels = labels_,                             \
     .buckets = bounds,                             \
     .n_buckets = ARRAY_LEN(bounds)}

const struct scheduler_family_desc scheduler_families[FAMILY_COUNT] = {
    [FAMILY_ASYNC_API_CALL_DURATION] =
        {HISTOGRAM("async_api_call_execution_duration_seconds", "ALPHA",
                   LABELS("call_type", "result"), from_1ms,
                   "How long writes to the API server took, by kind and outcome."),
         "SchedulerAsyncAPICalls"},
    [FAMILY_ASYNC_API_CALLS] =
        {COUNTER("async_api_call_execution_total", "ALPHA", LABELS("call_type", "result"),
                 "Writes to the API server that have ended, by kind and outcome."),
         "SchedulerAsyncAPICalls"},
    [FAMILY_BATCH_ATTEMPTS] = {COUNTER("batch_attempts_total", "ALPHA", LABELS("profile", "result"),
                                       "Attempts to use what an alike pod before has found."),
                               NULL},
    [FAMILY_BATCH_CACHE_FLUSHED] =
        {COUNTER("batch_cache_flushed_total", "ALPHA", LABELS("profile", "reason"),
                 "Times that what alike pods share was thrown away, by reason."),
         NULL},
    [FAMILY_CACHE_SIZE] = {GAUGE("cache_size", "ALPHA", LABELS("type"),
                                 "Nodes, pods and assumed pods that the scheduler knows of."),
                           NULL},
    [FAMILY_DRA_BINDING_CONDITIONS_ALLOCATIONS] =
        {COUNTER("dra_bindingconditions_allocations_total", "ALPHA",
                 LABELS("profile", "driver", "status"),
                 "Allocations of devices that have binding conditions, by driver and outcome."),
         "DRADeviceBindingConditions"},
    [FAMILY_DRA_BINDING_CONDITIONS_WAIT] =
        {HISTOGRAM("dra_bindingconditions_wait_duration_seconds", "ALPHA",
                   LABELS("profile", "driver", "status"), from_100ms,
                   "How long PreBind waited for devices' binding conditions."),
         "DRADeviceBindingConditions"},
    [FAMILY_EVENT_HANDLING] = {HISTOGRAM("event_handling_duration_seconds", "ALPHA",
                                         LABELS("event"), from_100us,
                                         "How long it took to take note of what happened."),
                               NULL},
    [FAMILY_EXTENSION_POINT] = {HISTOGRAM(
                                    "framework_extension_point_duration_seconds", "STABLE",
                                    LABELS("extension_point", "status", "profile"), from_100us,
                                    "How long all plugins of an extension point took together."),
                                NULL},
    [FAMILY_GET_NODE_HINT] = {HISTOGRAM("get_node_hint_duration_seconds", "ALPHA",
                                        LABELS("hinted", "profile"), from_10us,
                                        "How long it took to find the node that an alike pod "
                                        "before points to."),
                              NULL},
    [FAMILY_GOROUTINES] = {GAUGE("goroutines", "BETA", LABELS("operation"),
                                 "Pieces of work under way, by what they do."),
                           NULL},
    [FAMILY_INFLIGHT_EVENTS] =
        {GAUGE("inflight_events", "ALPHA", LABELS("event"),
               "Events kept for pods that are being scheduled, and these pods."),
         "SchedulerQueueingHints"},
    [FAMILY_PENDING_ASYNC_API_CALLS] = {GAUGE("pending_async_api_calls", "ALPHA",
                                              LABELS("call_type"),
                                              "Writes to the API server that have not begun yet."),
                                        "SchedulerAsyncAPICalls"},
    [FAMILY_PENDING_PODS] = {GAUGE("pending_pods", "STABLE", LABELS("queue"),
                                   "Pods that wait: 'active' are ready to be tried, 'backoff' wait "
                                   "for a retry, 'unschedulable' found no node, 'gated' may not be "
                                   "tried."),
                             NULL},
    [FAMILY_PERMIT_WAIT] = {HISTOGRAM("permit_wait_duration_seconds", "BETA", LABELS("result"),
                                      from_1ms, "How long Permit held pods."),
                            NULL},
    [FAMILY_PLUGIN_EVALUATION] =
        {COUNTER("plugin_evaluation_total", "BETA", LABELS("plugin", "extension_point", "profile"),
                 "How often plugins had a say in PreFilter, Filter, PreScore and Score."),
         NULL},
    [FAMILY_PLUGIN_EXECUTION] =
        {HISTOGRAM("plugin_execution_duration_seconds", "ALPHA",
                   LABELS("plugin", "extension_point", "status"), fine_from_10us,
                   "How long a plugin took at an extension point, in a tenth of the attempts."),
         NULL},
    [FAMILY_POD_SCHEDULED_AFTER_FLUSH] =
        {COUNTER("pod_scheduled_after_flush_total", "ALPHA", NO_LABELS,
                 "Pods that found a node when tried again for no reason but their long wait: a "
                 "queueing hint may have missed something."),
         NULL},
    [FAMILY_POD_SCHEDULING_ATTEMPTS] = {HISTOGRAM("pod_scheduling_attempts", "STABLE", NO_LABELS,
                                                  from_1_to_16, "Attempts it took to bind a pod."),
                                        NULL},
    [FAMILY_POD_SCHEDULING_SLI] = {HISTOGRAM("pod_scheduling_sli_duration_seconds", "BETA",
                                             LABELS("attempts"), from_10ms,
                                             "From a pod's entry into the queue until it is bound, "
                                             "over all attempts."),
                                   NULL},
    [FAMILY_POD_GROUP_ALGORITHM] = {HISTOGRAM("podgroup_scheduling_algorithm_duration_seconds",
                                              "ALPHA", NO_LABELS, from_1ms,
                                              "How long it took to decide on a pod group."),
                                    "GenericWorkload"},
    [FAMILY_POD_GROUP_ATTEMPT_DURATION] =
        {HISTOGRAM("podgroup_scheduling_attempt_duration_seconds", "ALPHA",
                   LABELS("result", "profile"), from_1ms,
                   "How long attempts to schedule pod groups took, up to the binding."),
         "GenericWorkload"},
    [FAMILY_POD_GROUP_ATTEMPTS] =
        {COUNTER("podgroup_schedule_attempts_total", "ALPHA", LABELS("result", "profile"),
                 "Attempts to schedule pod groups; 'unschedulable': no place was found, 'error': "
                 "something broke."),
         "GenericWorkload"},
    [FAMILY_PREEMPTION_ATTEMPTS] = {COUNTER("preemption_attempts_total", "STABLE", NO_LABELS,
                                            "Attempts to make room by preemption."),
                                    NULL},
    [FAMILY_PREEMPTION_GOROUTINES_DURATION] =
        {HISTOGRAM("preemption_goroutines_duration_seconds", "ALPHA", LABELS("result"), from_10ms,
                   "How long it took to evict the victims of a preemption."),
         "SchedulerAsyncPreemption"},
    [FAMILY_PREEMPTION_GOROUTINES] =
        {COUNTER("preemption_goroutines_execution_total", "ALPHA", LABELS("result"),
                 "Preemptions whose victims have been evicted, or could not be."),
         "SchedulerAsyncPreemption"},
    [FAMILY_PREEMPTION_VICTIMS] = {HISTOGRAM("preemption_victims", "STABLE", NO_LABELS,
                                             from_1_to_64, "Pods chosen to go for one preemptor."),
                                   NULL},
    [FAMILY_QUEUE_INCOMING_PODS] = {COUNTER(
                                        "queue_incoming_pods_total", "STABLE",
                                        LABELS("queue", "event"),
                                        "Pods that came to a queue, by what brought them there."),
                                    NULL},
    [FAMILY_QUEUEING_HINT] = {HISTOGRAM("queueing_hint_execution_duration_seconds", "ALPHA",
                                        LABELS("plugin", "event", "hint"), fine_from_10us,
                                        "How long a plugin's queueing hint took."),
                              "SchedulerQueueingHints"},
    [FAMILY_RESOURCE_CLAIM_CREATES] = {COUNTER("resourceclaim_creates_total", "ALPHA",
                                               LABELS("status"),
                                               "ResourceClaims that the scheduler asked for."),
                                       "DRAExtendedResource"},
    [FAMILY_SCHEDULE_ATTEMPTS] =
        {COUNTER(
             "schedule_attempts_total", "STABLE", LABELS("result", "profile"),
             "Attempts to schedule pods; 'unschedulable': no node was found, 'error': something "
             "broke."),
         NULL},
    [FAMILY_ALGORITHM] = {HISTOGRAM("scheduling_algorithm_duration_seconds", "ALPHA", NO_LABELS,
                                    from_1ms, "How long it took to decide on a pod's node."),
                          NULL},
    [FAMILY_ATTEMPT_DURATION] = {HISTOGRAM(
                                     "scheduling_attempt_duration_seconds", "STABLE",
                                     LABELS("result", "profile"), from_1ms,
                                     "How long attempts to schedule pods took, up to the binding."),
                                 NULL},
    [FAMILY_STORE_SCHEDULE_RESULTS] =
        {HISTOGRAM("store_schedule_results_duration_seconds", "ALPHA", LABELS("profile"), from_10us,
                   "How long it took to keep what was found for alike pods."),
         NULL},
    [FAMILY_UNSCHEDULABLE_PODS] =
        {GAUGE("unschedulable_pods", "BETA", LABELS("plugin", "profile"),
               "Pods that wait because this plugin turned them down; a pod counts for each such "
               "plugin."),
         NULL},
    [FAMILY_VOLUME_BINDER_CACHE] = {COUNTER("volume_binder_cache_requests_total", "ALPHA",
                                            LABELS("operation"),
                                            "Requests to the cache of volume bindings."),
                                    NULL},
    [FAMILY_VOLUME_STAGE_ERRORS] = {COUNTER("volume_scheduling_stage_error_total", "ALPHA",
                                            LABELS("operation"),
                                            "Errors while volumes were scheduled, by stage."),
                                    NULL},
};
