/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes.h - the nodes that a cluster is started with.
 *
 * Purpose:   makes nodes by number, from templates or from the default: 32 CPUs, 256 GiB, 110 pods.
 *            A template is a Node with the CSINode and ResourceSlices that follow it; several
 *            templates take turns. Nodes are node-0, node-1, …; zones take turns, too.
 * Ownership: templates own copies of their objects.
 * Threading: that of the control plane.
 */
#ifndef BERTH_APISERVER_NODES_H
#define BERTH_APISERVER_NODES_H

#include "apiserver/control_plane.h"
#include "base/vec.h"

struct node_template {
    struct json_value node;
    VEC(struct json_value) parts; /* CSINode, ResourceSlice */
};

struct node_templates {
    struct arena arena;
    VEC(struct node_template) v;
};

void node_templates_init(struct node_templates *t);
void node_templates_release(struct node_templates *t);
/* Adds an object of a file. -EINVAL: not a Node, or not a part of one. */
int node_templates_add(struct node_templates *t, const struct json_value *object,
                       struct err *reterr) MUST_CHECK;

struct node_set {
    size_t n;
    const struct node_templates *templates; /* NULL or empty: the default */
    const struct str *zones;
    size_t n_zones;
};

/*
 * Makes the nodes that do not exist; the kubelets report them ready in the next steps. -EINVAL: the
 * API refuses a template, and reterr says why.
 */
int control_plane_add_nodes(struct control_plane *plane, const struct node_set *set, int64_t now,
                            struct err *reterr) MUST_CHECK;

#endif
