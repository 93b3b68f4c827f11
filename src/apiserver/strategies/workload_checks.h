/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_checks.h - checks that Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs
 * share.
 *
 * Purpose:   selectors that must match the template, the pods' restart policy, counters of status.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_WORKLOAD_CHECKS_H
#define BERTH_APISERVER_STRATEGIES_WORKLOAD_CHECKS_H

#include "apiserver/strategies/spot.h"

/* Upstream can use the selector: it has no errors. */
bool selector_parses(const struct json_value *selector);
/* "`selector` does not match template `labels`", at the labels of the template. */
void check_template_labels(const struct spot *spec);
/*
 * Restart policy Always, no deadline; what: "ReplicaSet" in the message. The path of the template
 * is spec.template.
 */
void check_template_runs_forever(const struct spot *spec, const char *what);
/* The selector of Deployments, ReplicaSets and StatefulSets: required and not empty. */
void check_required_selector(const struct spot *spec, const char *what);

/* Each member of the list, which ends with NULL, is not negative. */
void check_counters(const struct spot *s, const char *const *names);
/* `name` is not greater than `limit`; text: "status.replicas" in the message. */
void check_counter_limit(const struct spot *s, const char *name, const char *limit,
                         const char *text);
/* status.collisionCount does not decrease. */
void check_collision_count(const struct spot *status, const struct json_value *old);
/* The number of "30%" or 30. */
int64_t int_or_percent(const struct json_value *v);
/* The object is being created: it has no resourceVersion yet. */
bool object_is_new(const struct json_value *object);
/* A warning line, if the name of the object is no DNS label: it becomes part of pod names. */
void warn_of_name(const struct json_value *object, struct buf *warnings, const char *used_in);

#endif
