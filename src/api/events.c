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
