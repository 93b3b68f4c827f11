/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_file.h - tokens of users from a file, upstream's --token-auth-file.
 *
 * Purpose:   reads lines of CSV: token, name of the user, uid, and groups in one field that are
 *            separated by commas.
 * Ownership: the caller releases the list, which holds copies of all texts.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_HTTP_TOKEN_FILE_H
#define BERTH_APISERVER_HTTP_TOKEN_FILE_H

#include "apiserver/http/api_server.h"

struct token_file {
    struct arena arena;
    struct api_token *v;
    size_t n;
};

/* -EINVAL: reterr names the line. */
int token_file_parse(struct str text, struct token_file *ret_file, struct err *reterr) MUST_CHECK;
void token_file_release(struct token_file *file);

#endif
