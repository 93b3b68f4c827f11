/* SPDX-License-Identifier: Apache-2.0 */
/*
 * route.h - what a method, a path and a query ask for.
 *
 * Purpose:   upstream's RequestInfo (authorization and routing read it), and the query parameters
 *            of all verbs. No I/O; a fuzz target.
 * Ownership: results are in the arena.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_HTTP_ROUTE_H
#define BERTH_APISERVER_HTTP_ROUTE_H

#include "apiserver/registry/registry.h"

/* Query parameters. Texts are decoded; the first of several values counts. */
struct api_query {
    struct str label_selector, field_selector;
    struct str resource_version, resource_version_match, continue_token;
    struct str field_manager, field_validation, dry_run;
    struct str grace_period, propagation_policy, orphan_dependents;
    struct str include_object; /* of tables */
    int64_t limit;
    int64_t timeout; /* seconds; -1: none */
    bool watch, bookmarks, force, has_force, pretty, has_pretty, verbose;
    bool has_dry_run;
    bool has_initial_events, initial_events; /* sendInitialEvents */
    const char *bad;                         /* the first parameter that is no number or bool */
    struct str bad_value;
};

void api_query_parse(struct str query, struct arena *a, struct api_query *ret_query);
/* "a%2Fb" → "a/b". False if an escape is not valid. plus: '+' is a space. */
bool route_decode(struct str text, bool plus, struct arena *a, struct str *ret_text);

struct api_route {
    struct str path; /* decoded */
    struct str verb; /* "get", "list", "watch", "create", …; for other paths the method */
    bool is_resource;
    struct str group, version, plural, namespace, name, subresource;
    struct str rest; /* of the path, behind the subresource */
    bool is_watch;   /* ?watch or /watch/ */
    bool bad_path;   /* /watch without a resource, or an escape that is not valid */
};

/* query: of the same request; its watch parameter changes the verb. */
void api_route_parse(struct str method, struct str path, const struct api_query *query,
                     struct arena *a, struct api_route *ret_route);

#endif
