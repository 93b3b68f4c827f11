/* SPDX-License-Identifier: Apache-2.0 */
/*
 * services.h - a service with the pods that it selects.
 *
 * Purpose:   what Endpoints and EndpointSlices are made of.
 * Ownership: a state belongs to the service's task; a look lives in scratch memory.
 * Threading: as lifecycle.h.
 */
#ifndef BERTH_APISERVER_LIFECYCLE_SERVICES_H
#define BERTH_APISERVER_LIFECYCLE_SERVICES_H

#include "apiserver/lifecycle/pods.h"

struct service_state {
    struct chooser *chooser;
    bool deleted;       /* the service was there */
    VEC(char *) slices; /* names of those with its label */
};

/* One look at a service. */
struct service_look {
    struct named_task *task;
    const struct revision *rev;
    const struct json_value *service;
    struct json_items ports;
    bool headless, publish_not_ready;
    struct pod_entry **pods; /* that have an address and have not ended */
    size_t n;
};

/*
 * The ports of a pod for this service, as Endpoints and EndpointSlices have them. Ports by name
 * that the pod does not have are left out.
 */
struct json_value service_ports(struct lifecycle *l, const struct service_look *look,
                                const struct pod_facts *pod);
bool service_sets_hostname(const struct service_look *look, const struct pod_facts *pod);
/* {"kind":"Pod",…} */
struct json_value service_target(struct lifecycle *l, const struct pod_entry *pod);
/* The labels of the service with those that every object made for it has. */
struct json_value service_labels(struct lifecycle *l, const struct service_look *look);

void endpoints_sync(struct lifecycle *l, const struct service_look *look);
void slices_sync(struct lifecycle *l, const struct service_look *look);

#endif
