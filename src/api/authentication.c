/* SPDX-License-Identifier: Apache-2.0 */
#include "api/authentication.h"

#include "codec/json.h"

static const struct field user_info_fields[] = {
    F_ONE(struct user_info, username, "username", 1, STR),
    F_ONE(struct user_info, uid, "uid", 2, STR),
    F_LIST(struct user_info, groups, "groups", 3, STR),
    F_ONE(struct user_info, extra, "extra", 4, RAW),
};
const struct type user_info_type =
    TYPE("k8s.io.api.authentication.v1.UserInfo", struct user_info, user_info_fields);

static const struct field token_review_spec_fields[] = {
    F_ONE(struct token_review_spec, token, "token", 1, STR),
    F_LIST(struct token_review_spec, audiences, "audiences", 2, STR),
};
const struct type token_review_spec_type = TYPE("k8s.io.api.authentication.v1.TokenReviewSpec",
                                                struct token_review_spec, token_review_spec_fields);

static const struct field token_review_status_fields[] = {
    F_ONE(struct token_review_status, authenticated, "authenticated", 1, BOOL),
    F_MSG(struct token_review_status, user, "user", 2, struct user_info, &user_info_type),
    F_ONE(struct token_review_status, error, "error", 3, STR),
    F_LIST(struct token_review_status, audiences, "audiences", 4, STR),
};
const struct type token_review_status_type =
    TYPE("k8s.io.api.authentication.v1.TokenReviewStatus", struct token_review_status,
         token_review_status_fields);

static const struct field token_review_fields[] = {
    F_MSG(struct token_review, spec, "spec", 2, struct token_review_spec, &token_review_spec_type),
    F_MSG(struct token_review, status, "status", 3, struct token_review_status,
          &token_review_status_type),
};
const struct type token_review_type =
    TYPE("k8s.io.api.authentication.v1.TokenReview", struct token_review, token_review_fields);

void token_review_write(const struct token_review_spec *spec, struct buf *out)
{
    buf_add_cstr(out, "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\","
                      "\"metadata\":{},\"spec\":");
    json_encode(&token_review_spec_type, spec, out);
    buf_add_char(out, '}');
}
