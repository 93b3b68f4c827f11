/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/metrics/scheduler_families.h"

/* Each bound is twice the previous; in the last list 1.5 times, with upstream's rounding. */
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
                   "Duration of writes to the API server, by call type and result."),
         "SchedulerAsyncAPICalls"},
    [FAMILY_ASYNC_API_CALLS] = {COUNTER(
                                    "async_api_call_execution_total", "ALPHA",
                                    LABELS("call_type", "result"),
                                    "Completed writes to the API server, by call type and result."),
                                "SchedulerAsyncAPICalls"},
    [FAMILY_BATCH_ATTEMPTS] = {COUNTER("batch_attempts_total", "ALPHA", LABELS("profile", "result"),
                                       "Attempts to reuse the result of an identical pod."),
                               NULL},
    [FAMILY_BATCH_CACHE_FLUSHED] = {COUNTER(
                                        "batch_cache_flushed_total", "ALPHA",
                                        LABELS("profile", "reason"),
                                        "Flushes of results shared by identical pods, by reason."),
                                    NULL},
    [FAMILY_CACHE_SIZE] = {GAUGE("cache_size", "ALPHA", LABELS("type"),
                                 "Nodes, pods and assumed pods in the scheduler's cache."),
                           NULL},
    [FAMILY_DRA_BINDING_CONDITIONS_ALLOCATIONS] =
        {COUNTER("dra_bindingconditions_allocations_total", "ALPHA",
                 LABELS("profile", "driver", "status"),
                 "Allocations of devices with binding conditions, by driver and result."),
         "DRADeviceBindingConditions"},
    [FAMILY_DRA_BINDING_CONDITIONS_WAIT] =
        {HISTOGRAM("dra_bindingconditions_wait_duration_seconds", "ALPHA",
                   LABELS("profile", "driver", "status"), from_100ms,
                   "Time that PreBind waited for binding conditions of devices."),
         "DRADeviceBindingConditions"},
    [FAMILY_EVENT_HANDLING] = {HISTOGRAM("event_handling_duration_seconds", "ALPHA",
                                         LABELS("event"), from_100us,
                                         "Duration of handling an event of the API server."),
                               NULL},
    [FAMILY_EXTENSION_POINT] = {HISTOGRAM("framework_extension_point_duration_seconds", "STABLE",
                                          LABELS("extension_point", "status", "profile"),
                                          from_100us,
                                          "Duration of all plugins of an extension point."),
                                NULL},
    [FAMILY_GET_NODE_HINT] = {HISTOGRAM("get_node_hint_duration_seconds", "ALPHA",
                                        LABELS("hinted", "profile"), from_10us,
                                        "Duration of finding the node hint of an identical pod."),
                              NULL},
    [FAMILY_GOROUTINES] = {GAUGE("goroutines", "BETA", LABELS("operation"),
                                 "Operations in progress, by operation."),
                           NULL},
    [FAMILY_INFLIGHT_EVENTS] = {GAUGE("inflight_events", "ALPHA", LABELS("event"),
                                      "Events kept for pods in flight, and these pods."),
                                "SchedulerQueueingHints"},
    [FAMILY_PENDING_ASYNC_API_CALLS] = {GAUGE("pending_async_api_calls", "ALPHA",
                                              LABELS("call_type"),
                                              "Writes to the API server that wait to be sent."),
                                        "SchedulerAsyncAPICalls"},
    [FAMILY_PENDING_PODS] = {GAUGE(
                                 "pending_pods", "STABLE", LABELS("queue"),
                                 "Pending pods: in 'active' and 'backoff' queues, "
                                 "'unschedulable' after a failed attempt, 'gated' by PreEnqueue."),
                             NULL},
    [FAMILY_PERMIT_WAIT] = {HISTOGRAM("permit_wait_duration_seconds", "BETA", LABELS("result"),
                                      from_1ms, "Time that pods waited in Permit."),
                            NULL},
    [FAMILY_PLUGIN_EVALUATION] = {COUNTER(
                                      "plugin_evaluation_total", "BETA",
                                      LABELS("plugin", "extension_point", "profile"),
                                      "Calls of plugins at PreFilter, Filter, PreScore and Score."),
                                  NULL},
    [FAMILY_PLUGIN_EXECUTION] =
        {HISTOGRAM(
             "plugin_execution_duration_seconds", "ALPHA",
             LABELS("plugin", "extension_point", "status"), fine_from_10us,
             "Duration of a plugin at an extension point, sampled in a tenth of the attempts."),
         NULL},
    [FAMILY_POD_SCHEDULED_AFTER_FLUSH] =
        {COUNTER(
             "pod_scheduled_after_flush_total", "ALPHA", NO_LABELS,
             "Pods scheduled after the unschedulable timeout requeued them: a queueing hint may "
             "have missed an event."),
         NULL},
    [FAMILY_POD_SCHEDULING_ATTEMPTS] = {HISTOGRAM("pod_scheduling_attempts", "STABLE", NO_LABELS,
                                                  from_1_to_16,
                                                  "Attempts needed to schedule a pod."),
                                        NULL},
    [FAMILY_POD_SCHEDULING_SLI] = {HISTOGRAM(
                                       "pod_scheduling_sli_duration_seconds", "BETA",
                                       LABELS("attempts"), from_10ms,
                                       "Time from a pod's first enqueue until it is bound, over "
                                       "all attempts."),
                                   NULL},
    [FAMILY_POD_GROUP_ALGORITHM] = {HISTOGRAM(
                                        "podgroup_scheduling_algorithm_duration_seconds", "ALPHA",
                                        NO_LABELS, from_1ms,
                                        "Duration of the scheduling algorithm for a pod group."),
                                    "GenericWorkload"},
    [FAMILY_POD_GROUP_ATTEMPT_DURATION] =
        {HISTOGRAM("podgroup_scheduling_attempt_duration_seconds", "ALPHA",
                   LABELS("result", "profile"), from_1ms,
                   "Duration of attempts to schedule pod groups, without binding."),
         "GenericWorkload"},
    [FAMILY_POD_GROUP_ATTEMPTS] =
        {COUNTER(
             "podgroup_schedule_attempts_total", "ALPHA", LABELS("result", "profile"),
             "Attempts to schedule pod groups; 'unschedulable': the group does not fit, 'error': "
             "internal error."),
         "GenericWorkload"},
    [FAMILY_PREEMPTION_ATTEMPTS] = {COUNTER("preemption_attempts_total", "STABLE", NO_LABELS,
                                            "Attempts to preempt pods."),
                                    NULL},
    [FAMILY_PREEMPTION_GOROUTINES_DURATION] =
        {HISTOGRAM("preemption_goroutines_duration_seconds", "ALPHA", LABELS("result"), from_10ms,
                   "Duration of evicting the victims of a preemption."),
         "SchedulerAsyncPreemption"},
    [FAMILY_PREEMPTION_GOROUTINES] = {COUNTER("preemption_goroutines_execution_total", "ALPHA",
                                              LABELS("result"),
                                              "Completed preemptions, by result."),
                                      "SchedulerAsyncPreemption"},
    [FAMILY_PREEMPTION_VICTIMS] = {HISTOGRAM("preemption_victims", "STABLE", NO_LABELS,
                                             from_1_to_64, "Victims selected for a preemptor."),
                                   NULL},
    [FAMILY_QUEUE_INCOMING_PODS] = {COUNTER("queue_incoming_pods_total", "STABLE",
                                            LABELS("queue", "event"),
                                            "Pods added to a queue, by event."),
                                    NULL},
    [FAMILY_QUEUEING_HINT] = {HISTOGRAM("queueing_hint_execution_duration_seconds", "ALPHA",
                                        LABELS("plugin", "event", "hint"), fine_from_10us,
                                        "Duration of a plugin's queueing hint."),
                              "SchedulerQueueingHints"},
    [FAMILY_RESOURCE_CLAIM_CREATES] = {COUNTER("resourceclaim_creates_total", "ALPHA",
                                               LABELS("status"),
                                               "ResourceClaims created by the scheduler."),
                                       "DRAExtendedResource"},
    [FAMILY_SCHEDULE_ATTEMPTS] =
        {COUNTER(
             "schedule_attempts_total", "STABLE", LABELS("result", "profile"),
             "Attempts to schedule pods; 'unschedulable': the pod fits no node, 'error': internal "
             "error."),
         NULL},
    [FAMILY_ALGORITHM] = {HISTOGRAM("scheduling_algorithm_duration_seconds", "ALPHA", NO_LABELS,
                                    from_1ms, "Duration of the scheduling algorithm for a pod."),
                          NULL},
    [FAMILY_ATTEMPT_DURATION] = {HISTOGRAM(
                                     "scheduling_attempt_duration_seconds", "STABLE",
                                     LABELS("result", "profile"), from_1ms,
                                     "Duration of attempts to schedule pods, without binding."),
                                 NULL},
    [FAMILY_STORE_SCHEDULE_RESULTS] = {HISTOGRAM(
                                           "store_schedule_results_duration_seconds", "ALPHA",
                                           LABELS("profile"), from_10us,
                                           "Duration of storing the result for identical pods."),
                                       NULL},
    [FAMILY_UNSCHEDULABLE_PODS] =
        {GAUGE("unschedulable_pods", "BETA", LABELS("plugin", "profile"),
               "Pods that this plugin rejected; a pod counts for each plugin that rejected it."),
         NULL},
    [FAMILY_VOLUME_BINDER_CACHE] = {COUNTER("volume_binder_cache_requests_total", "ALPHA",
                                            LABELS("operation"),
                                            "Requests to the cache of volume bindings."),
                                    NULL},
    [FAMILY_VOLUME_STAGE_ERRORS] = {COUNTER("volume_scheduling_stage_error_total", "ALPHA",
                                            LABELS("operation"),
                                            "Errors of volume scheduling, by stage."),
                                    NULL},
};
