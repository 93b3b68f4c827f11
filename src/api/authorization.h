/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authorization.h - SubjectAccessReview.
 *
 * Purpose:   requests to authorization.k8s.io/v1 and their responses. JSON only, as in
 *            authentication.h.
 * Ownership: everything lives in the arena that it was decoded into.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_AUTHORIZATION_H
#define BERTH_API_AUTHORIZATION_H

#include "codec/desc.h"

struct non_resource_attributes {
    struct str path;
    struct str verb;
};

/* Left out: resourceAttributes; berth serves paths only. */
struct subject_access_review_spec {
    struct non_resource_attributes *non_resource_attributes;
    struct str user;
    LIST(struct str) groups;
    struct str extra; /* JSON text */
    struct str uid;
};

struct subject_access_review_status {
    bool allowed;
    bool denied;
    struct str reason;
    struct str evaluation_error;
};

/* Left out: metadata. */
struct subject_access_review {
    struct subject_access_review_spec spec;
    struct subject_access_review_status status;
};

#define SUBJECT_ACCESS_REVIEWS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"

extern const struct type non_resource_attributes_type;
extern const struct type subject_access_review_spec_type;
extern const struct type subject_access_review_status_type;
extern const struct type subject_access_review_type;

/* Appends the request; spec: its JSON text. */
void subject_access_review_write(struct str spec, struct buf *out);

#endif
