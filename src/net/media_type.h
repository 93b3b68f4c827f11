/* SPDX-License-Identifier: Apache-2.0 */
/*
 * media_type.h - content negotiation with the header Accept.
 *
 * Purpose:   parses the header as upstream's API machinery does, and chooses the first clause that
 *            the page supports. Clauses with a higher q come first, then clauses without "*". The
 *            parameters as, g and v request an object of that kind, group and version; clauses with
 *            sv, or a stream that the page does not support, are skipped.
 * Ownership: the texts of a choice point into the header.
 * Threading: any.
 */
#ifndef BERTH_NET_MEDIA_TYPE_H
#define BERTH_NET_MEDIA_TYPE_H

#include "base/arena.h"

struct media_type {
    struct str type, subtype; /* "application", "json" */
    bool streams;             /* supports stream=watch, if the page does */
};

/* What a clause requests. */
struct media_choice {
    size_t index; /* of the media type */
    bool converts, pretty;
    struct str group, version, kind; /* with converts */
};

/* Whether the page supports this form. */
typedef bool media_allows_fn(const void *ctx, const struct media_type *type,
                             const struct media_choice *choice);

struct media_page {
    const struct media_type *types; /* in order of preference */
    size_t n;
    media_allows_fn *allows;
    const void *ctx;
    bool watches; /* supports stream=watch */
};

/* False if the page supports none of the clauses. An empty header selects the first type. */
bool media_negotiate(struct str accept, const struct media_page *page, struct arena *a,
                     struct media_choice *ret_choice);

#endif
