/* SPDX-License-Identifier: Apache-2.0 */
#include "api/events.h"

static const struct field event_series_fields[] = {
    F_ALWAYS(struct event_series, count, "count", 1, INT32),
    F_ALWAYS_CUSTOM(struct event_series, last_observed_time, "lastObservedTime", 2,
                    struct timestamp, &micro_time_custom),
};
const struct type event_series_type =
    TYPE("k8s.io.api.events.v1.EventSeries", struct event_series, event_series_fields);

static const struct field event_fields[] = {
    F_ALWAYS_MSG(struct event, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_CUSTOM(struct event, event_time, "eventTime", 2, struct timestamp, &micro_time_custom),
    F_PTR_MSG(struct event, series, "series", 3, struct event_series, &event_series_type),
    F_ONE(struct event, reporting_controller, "reportingController", 4, STR),
    F_ONE(struct event, reporting_instance, "reportingInstance", 5, STR),
    F_ONE(struct event, action, "action", 6, STR),
    F_ONE(struct event, reason, "reason", 7, STR),
    F_MSG(struct event, regarding, "regarding", 8, struct object_reference, &object_reference_type),
    F_PTR_MSG(struct event, related, "related", 9, struct object_reference, &object_reference_type),
    F_ONE(struct event, note, "note", 10, STR),
    F_ONE(struct event, type, "type", 11, STR),
};
const struct type event_type = TYPE("k8s.io.api.events.v1.Event", struct event, event_fields);

static const struct field event_source_fields[] = {
    F_ONE(struct event_source, component, "component", 1, STR),
    F_ONE(struct event_source, host, "host", 2, STR),
};
const struct type event_source_type =
    TYPE("k8s.io.api.core.v1.EventSource", struct event_source, event_source_fields);

static const struct field core_event_fields[] = {
    F_ALWAYS_MSG(struct core_event, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_ALWAYS_MSG(struct core_event, involved_object, "involvedObject", 2, struct object_reference,
                 &object_reference_type),
    F_ONE(struct core_event, reason, "reason", 3, STR),
    F_ONE(struct core_event, message, "message", 4, STR),
    F_MSG(struct core_event, source, "source", 5, struct event_source, &event_source_type),
    F_ALWAYS_CUSTOM(struct core_event, first_timestamp, "firstTimestamp", 6, struct timestamp,
                    &time_custom),
    F_ALWAYS_CUSTOM(struct core_event, last_timestamp, "lastTimestamp", 7, struct timestamp,
                    &time_custom),
    F_ONE(struct core_event, count, "count", 8, INT32),
    F_ONE(struct core_event, type, "type", 9, STR),
    F_ALWAYS(struct core_event, reporting_component, "reportingComponent", 14, STR),
};
const struct type core_event_type =
    TYPE("k8s.io.api.core.v1.Event", struct core_event, core_event_fields);
