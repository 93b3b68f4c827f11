/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bootstrap_internal.h - the tables of bootstrap.c.
 *
 * Purpose:   one row per role with the subjects that it is bound to.
 * Ownership: constant data.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_ACCESS_BOOTSTRAP_INTERNAL_H
#define BERTH_APISERVER_ACCESS_BOOTSTRAP_INTERNAL_H

#include "base/base.h"

#define READ       "get,list,watch"
#define WRITE      "create,delete,deletecollection,patch,update"
#define READ_WRITE "create,delete,deletecollection,get,list,patch,update,watch"

struct bootstrap_role {
    const char *name;
    const char *namespace; /* NULL: a ClusterRole */
    const char *part_of;   /* the role that gathers its rules; NULL: none */
    const char *sum_of;    /* it gathers the rules of these; NULL: no aggregation */
    const char *binding;   /* the name of its binding; NULL: that of the role */
    /* "user NAME,group NAME,account NAME of kube-system"; NULL: no binding; "": no subjects. */
    const char *subjects;
    /*
     * One per line: verbs, groups, resources and names, separated by spaces and commas; "core" is
     * the group without a name, "-" stands for no group, then URLs follow.
     */
    const char *rules;
};

/* The last row has no name. */
extern const struct bootstrap_role bootstrap_cluster_roles[];    /* and those of namespaces */
extern const struct bootstrap_role bootstrap_controller_roles[]; /* of kube-controller-manager */

#endif
