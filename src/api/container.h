/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container.h - containers of a pod, as far as scheduling reads them.
 *
 * Purpose:   images, host ports, resources, and what makes an init container a sidecar.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_CONTAINER_H
#define BERTH_API_CONTAINER_H

#include "api/quantity.h"

/* Left out: name. */
struct container_port {
    struct str protocol;
    struct str host_ip;
    int32_t host_port;
    int32_t container_port;
};

/* Upstream: core/v1 ResourceClaim; a claim of the pod that the container uses. */
struct container_resource_claim {
    struct str name;
    struct str request;
};

struct resource_requirements {
    quantity_map limits;
    quantity_map requests;
    LIST(struct container_resource_claim) claims;
};

struct container_restart_rule_on_exit_codes {
    struct str operator;
    LIST(int32_t) values;
};

struct container_restart_rule {
    struct str action;
    struct container_restart_rule_on_exit_codes *exit_codes;
};

/*
 * Left out: command, args, workingDir, envFrom, env, resizePolicy, volumeMounts, volumeDevices,
 * livenessProbe, readinessProbe, startupProbe, lifecycle, terminationMessagePath,
 * terminationMessagePolicy, imagePullPolicy, securityContext, stdin, stdinOnce, tty.
 */
struct container {
    struct str name;
    struct str image;
    LIST(struct container_port) ports;
    struct resource_requirements resources;
    struct str restart_policy; /* "Always" makes an init container a sidecar */
    LIST(struct container_restart_rule) restart_policy_rules;
};

/*
 * Left out: state, lastState, ready, restartCount, image, imageID, containerID, started,
 * volumeMounts, user, allocatedResourcesStatus, stopSignal.
 */
struct container_status {
    struct str name;
    quantity_map allocated_resources;
    struct resource_requirements *resources;
};

extern const struct type container_port_type;
extern const struct type container_resource_claim_type;
extern const struct type resource_requirements_type;
extern const struct type container_restart_rule_on_exit_codes_type;
extern const struct type container_restart_rule_type;
extern const struct type container_type;
extern const struct type container_status_type;

#endif
