/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_template.h - defaults and validation of pod templates and pod specs.
 *
 * Purpose:   what ReplicaSets, Jobs and the other workloads share with pods: upstream's
 *            SetDefaults_PodSpec with everything below it, and ValidatePodTemplateSpec.
 * Ownership: objects are trees in the arena of the request; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_POD_TEMPLATE_H
#define BERTH_APISERVER_STRATEGIES_POD_TEMPLATE_H

#include "apiserver/strategies/field_checks.h"

/* Defaults of a PodTemplateSpec: those of its spec. */
void pod_template_set_defaults(struct json_value *template, struct arena *a);
/* Metadata and spec of a PodTemplateSpec. Ephemeral containers are forbidden in it. */
void pod_template_validate(const struct json_value *template, const struct field_path *path,
                           struct field_errors *errors);

/*
 * Warnings about a PodTemplateSpec or a pod, one per line. path: that of the template,
 * "spec.template"; "" for a pod. Of equal ports only the first pair is compared.
 */
void pod_template_warn(const struct json_value *template, const char *path, struct buf *warnings,
                       struct arena *a);
/* The name should be a DNS label; what: "the Pod's hostname", "Pod names and hostnames". */
void warn_dns_label(struct str name, const char *what, struct buf *warnings, struct arena *a);

/* Quantities of a list are rounded up to thousandths and written in their canonical form. */
void resource_list_set_defaults(struct json_value *list, struct arena *a);
/* volumeMode and resources of a PersistentVolumeClaimSpec. */
void claim_spec_set_defaults(struct json_value *spec, struct arena *a);
/* Sets the member unless it has a text that is not empty. */
void default_text(struct json_value *object, const char *member, const char *text, struct arena *a);
/* Sets the member unless it is a number other than 0. */
void default_number(struct json_value *object, const char *member, int64_t number, struct arena *a);

#endif
