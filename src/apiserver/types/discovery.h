/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discovery.h - which groups, versions and resources are served, as clients ask for it.
 *
 * Purpose:   the documents of /api, /apis and below, and the aggregated ones
 *            (apidiscovery.k8s.io/v2), which kubectl and client-go prefer. Compared with upstream's
 *            documents in unit/discovery.
 * Ownership: everything is appended to the caller's buffer.
 * Threading: any thread while the resources do not change.
 */
#ifndef BERTH_APISERVER_TYPES_DISCOVERY_H
#define BERTH_APISERVER_TYPES_DISCOVERY_H

#include "apiserver/types/resource.h"
#include "base/buf.h"

/* /api: APIVersions. server: "127.0.0.1:6443", under which clients reach this server. */
void discovery_versions(struct str server, struct buf *out);
/* /apis: APIGroupList. */
void discovery_groups(const struct resources *rs, struct buf *out);
/* /apis/GROUP: APIGroup. False: the group is not served, nothing is written. */
bool discovery_group(const struct resources *rs, struct str group, struct buf *out);
/* /api/v1, /apis/GROUP/VERSION: APIResourceList. False: it is not served. */
bool discovery_resources(const struct resources *rs, struct str group, struct str version,
                         struct buf *out);
/* /api (core) or /apis in the aggregated form: APIGroupDiscoveryList. */
void discovery_aggregated(const struct resources *rs, bool core, struct buf *out);

/*
 * The groups in the order of discovery, and the versions of a group, the preferred one first, in
 * the arena. The core group is "". For OpenAPI, too.
 */
struct discovery_group {
    struct str name;
    struct str *versions;
    size_t n_versions;
};
struct discovery_group *discovery_group_list(const struct resources *rs, struct arena *a,
                                             size_t *ret_n);

#endif
