/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bootstrap.h - the objects that a new cluster begins with.
 *
 * Purpose:   namespaces, priority classes, upstream's roles and bindings, the service of the API
 *            server and the certificates that extension servers read. The host creates those that
 *            are missing, in this order.
 * Ownership: the list and its trees are in the caller's arena.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_ACCESS_BOOTSTRAP_H
#define BERTH_APISERVER_ACCESS_BOOTSTRAP_H

#include "base/arena.h"
#include "codec/json_value.h"

struct bootstrap_object {
    struct str group, version, plural;
    struct str namespace, name; /* namespace "": cluster-scoped */
    struct json_value object;
};

struct bootstrap_options {
    struct str address;    /* of the API server; "": no service. Endpoints have it unless it is a
                              loopback or unspecified one. */
    unsigned port;         /* likewise */
    struct str service_ip; /* "": 10.0.0.1, upstream's default */
    struct str ca_pem;     /* of client certificates; "": no ConfigMap */
};

struct bootstrap_list {
    struct bootstrap_object *v;
    size_t n;
};

void bootstrap_objects(const struct bootstrap_options *options, struct arena *a,
                       struct bootstrap_list *ret_list);

#endif
