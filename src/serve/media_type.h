/* SPDX-License-Identifier: Apache-2.0 */
/*
 * media_type.h - which form of an answer a client prefers (the header Accept).
 *
 * Purpose:   reads the header as upstream's API machinery does and picks the first of its clauses
 *            that the page can write: clauses with a higher q first, then those that name a type
 *            before those with "*". The parameters as, g and v ask for an object of that kind,
 *            group and version; sv and stream are refused where the page does not have them.
 * Ownership: the texts of a choice are those of the header.
 * Threading: any.
 */
#ifndef BERTH_SERVE_MEDIA_TYPE_H
#define BERTH_SERVE_MEDIA_TYPE_H

#include "base/arena.h"

struct media_type {
    struct str type, subtype; /* "application", "json" */
    bool streams;             /* takes stream=watch where the page does */
};

/* What a clause asks for. */
struct media_choice {
    size_t index; /* of the media type */
    bool converts, pretty;
    struct str group, version, kind; /* of converts */
};

/* May the answer have this form? */
typedef bool media_allows_fn(const void *ctx, const struct media_type *type,
                             const struct media_choice *choice);

struct media_page {
    const struct media_type *types; /* in the order of preference */
    size_t n;
    media_allows_fn *allows;
    const void *ctx;
    bool watches; /* stream=watch is fine */
};

/* False: none of the clauses can be served. An empty header takes the first type. */
bool media_negotiate(struct str accept, const struct media_page *page, struct arena *a,
                     struct media_choice *ret_choice);

#endif
