/* SPDX-License-Identifier: Apache-2.0 */
/*
 * up_objects.h - the objects that `berth up` reads: -f, --import and --node-template.
 *
 * Purpose:   reads manifests, dumps, the export of upstream's simulator and live clusters, and puts
 *            their objects into a control plane. Objects that are refused are reported on standard
 *            error, one line each.
 * Ownership: nothing is kept.
 * Threading: that of the control plane.
 */
#ifndef BERTH_CMD_UP_UP_OBJECTS_H
#define BERTH_CMD_UP_UP_OBJECTS_H

#include "apiserver/nodes.h"

/* Reads the templates of a file. */
int up_read_templates(const char *path, struct node_templates *templates,
                      struct err *reterr) MUST_CHECK;

/*
 * Creates the objects of a file or directory as kubectl create does. *ret_refused: how many of them
 * were refused, and reported.
 */
int up_create_files(struct control_plane *plane, const char *path, bool recursive,
                    size_t *ret_refused, struct err *reterr) MUST_CHECK;

/* What --import names. */
enum up_import_kind {
    UP_IMPORT_DUMP,      /* objects, as kubectl get -o yaml prints them */
    UP_IMPORT_SIMULATOR, /* the export of upstream's simulator */
    UP_IMPORT_CLUSTER,   /* a kubeconfig */
};
struct up_import {
    const char *path;
    enum up_import_kind kind;
    struct arena arena;
    struct json_value tree; /* of a simulator's export */
};

/* Looks at the file. */
int up_import_open(struct up_import *import, const char *path, struct err *reterr) MUST_CHECK;
void up_import_release(struct up_import *import);
/* The KubeSchedulerConfiguration of a simulator's export; NULL: none. */
const struct json_value *up_import_config(const struct up_import *import);
/* Stores the objects as they are. */
int up_import_run(struct up_import *import, struct control_plane *plane, size_t *ret_n,
                  struct err *reterr) MUST_CHECK;

/* --- for the parts of the import -------------------------------------------------------------- */

struct up_importer {
    struct control_plane *plane;
    struct arena arena; /* of one object */
    size_t n;           /* stored */
    size_t n_unknown;   /* of kinds that are not served */
    struct str unknown; /* the first of these kinds, in `texts` */
    struct arena texts;
};
/* An object whose kind and version may be missing: those of its list. */
int up_import_object(struct up_importer *im, struct json_value *object, struct str api_version,
                     struct str kind, struct err *reterr) MUST_CHECK;
/* All objects of files. */
int up_import_dump(struct up_importer *im, const char *path, struct err *reterr) MUST_CHECK;
/* All objects of a live cluster. */
int up_import_cluster(struct up_importer *im, const char *kubeconfig,
                      struct err *reterr) MUST_CHECK;

#endif
