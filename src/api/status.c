/* SPDX-License-Identifier: Apache-2.0 */
#include "api/status.h"

static const struct field status_cause_fields[] = {
    F_ONE(struct status_cause, reason, "reason", 1, STR),
    F_ONE(struct status_cause, message, "message", 2, STR),
    F_ONE(struct status_cause, field, "field", 3, STR),
};
const struct type status_cause_type = TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.StatusCause",
                                           struct status_cause, status_cause_fields);

static const struct field status_details_fields[] = {
    F_ONE(struct status_details, name, "name", 1, STR),
    F_ONE(struct status_details, group, "group", 2, STR),
    F_ONE(struct status_details, kind, "kind", 3, STR),
    F_ONE(struct status_details, uid, "uid", 6, STR),
    F_LIST_MSG(struct status_details, causes, "causes", 4, struct status_cause, &status_cause_type),
    F_ONE(struct status_details, retry_after_seconds, "retryAfterSeconds", 5, INT32),
};
const struct type status_details_type = TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.StatusDetails",
                                             struct status_details, status_details_fields);

static const struct field status_fields[] = {
    F_ONE(struct status, status, "status", 2, STR),
    F_ONE(struct status, message, "message", 3, STR),
    F_ONE(struct status, reason, "reason", 4, STR),
    F_PTR_MSG(struct status, details, "details", 5, struct status_details, &status_details_type),
    F_ONE(struct status, code, "code", 6, INT32),
};
const struct type status_type =
    TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.Status", struct status, status_fields);
