/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url.h - URLs as Go's net/url reads and writes them.
 *
 * Purpose:   the libraries url and format. Errors are Go's, without its `parse "...": `.
 * Ownership: parts borrow from the text or are in the arena.
 * Threading: any thread.
 */
#ifndef BERTH_CEL_URL_H
#define BERTH_CEL_URL_H

#include "base/arena.h"
#include "base/buf.h"

struct go_url {
    struct str scheme, opaque, host, path, raw_path, raw_query, fragment, raw_fragment;
    struct str user; /* escaped, with its password */
    bool has_user, force_query, omit_host;
};

/* url.ParseRequestURI, or url.Parse. False: *error has the message, `parse "x": empty url`. */
bool go_url_parse(struct str text, bool request, struct arena *a, struct go_url *ret_url,
                  struct buf *error);
void go_url_write(const struct go_url *url, struct arena *a, struct buf *out);
/* The path with its escapes, as written if that is valid. */
struct str go_url_escaped_path(const struct go_url *url, struct arena *a);
void go_url_split_host(const struct go_url *url, struct str *ret_name, struct str *ret_port);
/* Decodes a key or a value of a query; false if an escape is not valid. */
bool go_url_query_unescape(struct str text, struct arena *a, struct str *ret_text);

#endif
