/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario.h - a cluster read from manifests.
 *
 * Purpose:   reads YAML or JSON files of Kubernetes objects (several documents, Lists such as
 *            `kubectl get nodes,pods -A -o json` prints) of any length, checks them as an API
 *            server does, and fills in what it and its controllers would: namespace, uid, defaults
 *            and admission of pods that have no uid yet, the pods of Deployments and the like
 *            (expansion.h). Documents may also be watch events, with the members type and object.
 * Ownership: holds a reference on each object.
 * Threading: one thread.
 */
#ifndef BERTH_SIM_SCENARIO_H
#define BERTH_SIM_SCENARIO_H

#include "api/object.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/manifest.h"

enum scenario_what {
    SCENARIO_THERE,   /* an object of a manifest: when it came does not matter */
    SCENARIO_CHANGED, /* a watch event: now it is there, and so */
    SCENARIO_DELETED, /* a watch event: now it is gone */
};

struct scenario_item {
    struct object *object;
    enum scenario_what what;
    bool is_new; /* it had no uid: no API server has seen it yet */
};

/* What becomes of fields that do not exist, come twice or have the wrong type; as in kubectl. */
enum scenario_validation { VALIDATE_STRICT, VALIDATE_WARN, VALIDATE_IGNORE };

/* Objects of a kind that scheduling does not look at. */
struct scenario_skipped {
    char *kind;
    size_t n;
};

/* The last of so many counts all kinds that come after it. */
#define SCENARIO_MAX_SKIPPED 10

/* What the simulation does not do for some objects. */
struct scenario_note {
    char *text, *first; /* the first of the objects */
    size_t n;
};

/* So many problems are told, the others only counted. */
#define SCENARIO_MAX_PROBLEMS 20

struct scenario {
    enum scenario_validation validation;
    VEC(struct scenario_item) items; /* in the order of the files */
    struct map names;                /* "Pod default/web" → its object; of manifests */
    uint64_t next_uid;
    VEC(struct scenario_skipped) skipped; /* in the order of the files */
    VEC(struct scenario_note) notes;
    struct buf problems; /* by validation, a line each: "cluster.yaml:12: Pod default/web: ..." */
    size_t n_problems;
    size_t n_types; /* of these: values of the wrong type */
    size_t n_documents;
    struct expansion *expansion; /* shared with the scenarios that come after this one */
    bool owns_expansion;
};

void scenario_init(struct scenario *s);
/* A scenario that goes on where another ended, which must be there as long. */
void scenario_init_after(struct scenario *s, const struct scenario *before);
void scenario_release(struct scenario *s);
/*
 * Reads all of the source. file: its name, for messages, which read "cluster.yaml:12: Pod
 * default/web: ...". What validation finds is no failure, it only goes to problems. -ENODATA: there
 * are no documents.
 */
int scenario_read(struct scenario *s, const char *file, const struct yaml_source *source,
                  struct err *reterr) MUST_CHECK;
/* When everything is read: admission and controllers. */
int scenario_complete(struct scenario *s, struct err *reterr) MUST_CHECK;

/* --- for scenario_read.c and expansion.c ------------------------------------------------------ */

/* Takes the reference, on success. */
int scenario_add(struct scenario *s, struct object *o, enum scenario_what what,
                 struct err *reterr) MUST_CHECK;
/* One more object of a kind that is not looked at. */
void scenario_skip(struct scenario *s, struct str kind);
/* One more object that text is true of; which: "Pod default/web". */
void scenario_note(struct scenario *s, const char *text, struct str which);

#endif
