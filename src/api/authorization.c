/* SPDX-License-Identifier: Apache-2.0 */
#include "api/authorization.h"

static const struct field non_resource_attributes_fields[] = {
    F_ONE(struct non_resource_attributes, path, "path", 1, STR),
    F_ONE(struct non_resource_attributes, verb, "verb", 2, STR),
};
const struct type non_resource_attributes_type =
    TYPE("k8s.io.api.authorization.v1.NonResourceAttributes", struct non_resource_attributes,
         non_resource_attributes_fields);

static const struct field subject_access_review_spec_fields[] = {
    F_PTR_MSG(struct subject_access_review_spec, non_resource_attributes, "nonResourceAttributes",
              2, struct non_resource_attributes, &non_resource_attributes_type),
    F_ONE(struct subject_access_review_spec, user, "user", 3, STR),
    F_LIST(struct subject_access_review_spec, groups, "groups", 4, STR),
    F_ONE(struct subject_access_review_spec, extra, "extra", 5, RAW),
    F_ONE(struct subject_access_review_spec, uid, "uid", 6, STR),
};
const struct type subject_access_review_spec_type =
    TYPE("k8s.io.api.authorization.v1.SubjectAccessReviewSpec", struct subject_access_review_spec,
         subject_access_review_spec_fields);

static const struct field subject_access_review_status_fields[] = {
    F_ALWAYS(struct subject_access_review_status, allowed, "allowed", 1, BOOL),
    F_ONE(struct subject_access_review_status, reason, "reason", 2, STR),
    F_ONE(struct subject_access_review_status, evaluation_error, "evaluationError", 3, STR),
    F_ONE(struct subject_access_review_status, denied, "denied", 4, BOOL),
};
const struct type subject_access_review_status_type =
    TYPE("k8s.io.api.authorization.v1.SubjectAccessReviewStatus",
         struct subject_access_review_status, subject_access_review_status_fields);

static const struct field subject_access_review_fields[] = {
    F_MSG(struct subject_access_review, spec, "spec", 2, struct subject_access_review_spec,
          &subject_access_review_spec_type),
    F_MSG(struct subject_access_review, status, "status", 3, struct subject_access_review_status,
          &subject_access_review_status_type),
};
const struct type subject_access_review_type =
    TYPE("k8s.io.api.authorization.v1.SubjectAccessReview", struct subject_access_review,
         subject_access_review_fields);

void subject_access_review_write(struct str spec, struct buf *out)
{
    buf_add_cstr(out, "{\"kind\":\"SubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\""
                      ",\"metadata\":{},\"spec\":");
    buf_add_str(out, spec);
    buf_add_char(out, '}');
}
