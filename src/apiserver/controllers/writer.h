/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - the port through which controllers and kubelets write.
 *
 * Purpose:   a request to the API server, without the server: the embedded cluster passes it to the
 *            registry, a test program sends it over HTTP, the simulator applies it to its objects.
 * Ownership: a write is borrowed for the call; the port copies what it keeps.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_CONTROLLERS_WRITER_H
#define BERTH_APISERVER_CONTROLLERS_WRITER_H

#include "base/str.h"

enum writer_verb {
    WRITER_CREATE,      /* the body is an object */
    WRITER_UPDATE,      /* the body is an object with its resourceVersion */
    WRITER_PATCH_MERGE, /* the body is a merge patch */
    WRITER_DELETE,      /* the body is DeleteOptions, or empty */
};

struct writer_request {
    uint64_t id; /* comes back with the answer */
    enum writer_verb verb;
    struct str group, plural; /* "apps", "replicasets" */
    struct str subresource;   /* "status"; "": none */
    struct str namespace, name;
    struct str body; /* JSON */
};

struct writer {
    void *ctx;
    /* Must return before the answer comes. */
    void (*write)(void *ctx, const struct writer_request *request);
};

#endif
