/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authentication.h - TokenReview.
 *
 * Purpose:   requests to authentication.k8s.io/v1 and their responses. JSON only: `extra` is kept
 *            as text, since it is only passed on.
 * Ownership: everything lives in the arena that it was decoded into.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_AUTHENTICATION_H
#define BERTH_API_AUTHENTICATION_H

#include "codec/desc.h"

struct user_info {
    struct str username;
    struct str uid;
    LIST(struct str) groups;
    struct str extra; /* {"key": ["value", …]} as JSON text; empty: none */
};

struct token_review_spec {
    struct str token;
    LIST(struct str) audiences;
};

struct token_review_status {
    bool authenticated;
    struct user_info user;
    struct str error;
    LIST(struct str) audiences;
};

/* Left out: metadata. */
struct token_review {
    struct token_review_spec spec;
    struct token_review_status status;
};

#define USER_ANONYMOUS        "system:anonymous"
#define GROUP_AUTHENTICATED   "system:authenticated"
#define GROUP_UNAUTHENTICATED "system:unauthenticated"

#define TOKEN_REVIEWS_PATH "/apis/authentication.k8s.io/v1/tokenreviews"

extern const struct type user_info_type;
extern const struct type token_review_spec_type;
extern const struct type token_review_status_type;
extern const struct type token_review_type;

/* Appends the request to review a token. */
void token_review_write(const struct token_review_spec *spec, struct buf *out);

#endif
