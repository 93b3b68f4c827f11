/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_server.h - how the server of berth/extender.h works.
 *
 * Purpose:   one thread runs the loop: it accepts connections, reads requests, answers health and
 *            metrics, sends answers and creates bindings. Worker threads decode requests, call the
 *            verb functions and encode answers, so that a slow function delays no health probe.
 * Ownership: a job belongs to the worker while it runs, and to the loop's thread otherwise.
 * Threading: as berth/extender.h says.
 *
 * Limits: a request is refused before its body is read if max_calls are under way (503), if it
 * announces too many bytes (413) or has no certificate (401). Bodies count for the HTTP server's
 * max_memory. A call needs memory in proportion to its body, and at most max_calls exist.
 */
#ifndef BERTH_EXTENDER_EXTENDER_SERVER_H
#define BERTH_EXTENDER_EXTENDER_SERVER_H

#include "base/mailbox.h"
#include "base/metrics.h"
#include "extender/extender_call.h"
#include "kube/rest/rest.h"
#include "live/pod_binding.h"
#include "net/http_server.h"
#include "serve/serving_tls.h"

/* A call, from the end of its body to its answer. */
struct extender_job {
    struct mail mail;
    struct berth_extender_server *server;
    struct http_exchange *exchange;
    enum extender_call_verb verb;
    int64_t begin;
    struct berth_extender_call call;
    struct object_meta pod; /* of a binding */
    struct pod_binding *binding;
    struct buf answer;
    int status;
    struct extender_job *next_binding, **prev_binding; /* bindings under way */
};

struct berth_extender_server {
    struct berth_extender extender;
    struct berth_extender_options options;
    struct arena arena; /* strings of options */
    struct loop *loop;
    struct http_server *http;
    struct serving_tls *tls;
    struct tls_trust *trust; /* NULL: any client is served */
    char trusted[65];        /* fingerprint of the certificate that was verified last */
    int64_t trusted_until;
    struct metrics *metrics;
    struct metric_family *requests, *durations;
    struct metric *in_flight;
    struct kube_config kube;
    bool kube_loaded;
    struct rest_client *client; /* NULL: no API server is known, see client_problem */
    struct err client_problem;
    size_t calls; /* jobs that exist */
    struct extender_job *bindings;
    bool stopping;
    pthread_t thread;
    struct mailbox jobs;
    pthread_t *workers;
    unsigned n_workers;
};

#endif
