/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - Event, of events.k8s.io and of core.
 *
 * Purpose:   events.k8s.io/v1, and core/v1, which leader election still uses.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_EVENTS_H
#define BERTH_API_EVENTS_H

#include "api/core.h"

struct event_series {
    struct timestamp last_observed_time;
    int32_t count;
};

/*
 * Left out: deprecatedSource, deprecatedFirstTimestamp, deprecatedLastTimestamp, deprecatedCount.
 */
struct event {
    struct object_meta metadata;
    struct timestamp event_time;
    struct event_series *series;
    struct str reporting_controller;
    struct str reporting_instance;
    struct str action;
    struct str reason;
    struct object_reference regarding;
    struct object_reference *related;
    struct str note;
    struct str type;
};

struct event_source {
    struct str component;
    struct str host;
};

/* Left out: eventTime, series, action, related, reportingInstance. */
struct core_event {
    struct object_meta metadata;
    struct object_reference involved_object;
    struct str reason;
    struct str message;
    struct event_source source;
    struct timestamp first_timestamp;
    struct timestamp last_timestamp;
    int32_t count;
    struct str type;
    struct str reporting_component;
};

extern const struct type event_source_type;
extern const struct type core_event_type;
extern const struct type event_series_type;
extern const struct type event_type;

#endif
