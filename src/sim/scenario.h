/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario.h - a cluster read from manifests.
 *
 * Purpose:   reads Kubernetes objects from YAML or JSON of any size (several documents, and Lists
 *            as printed by `kubectl get nodes,pods -A -o json`), validates them as an API server
 *            does, and fills in what the API server and controllers would: namespace, uid, defaults
 *            and admission for pods without a uid, the pods of Deployments and other controllers
 *            (expansion.h). A document may also be a watch event with the members type and object.
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
    SCENARIO_THERE,   /* an object of a manifest; loaded before any watch event */
    SCENARIO_CHANGED, /* a watch event: added or modified */
    SCENARIO_DELETED, /* a watch event: deleted */
};

struct scenario_item {
    struct object *object;
    enum scenario_what what;
    bool is_new; /* had no uid: it has not been through an API server yet */
};

/* The treatment of unknown and duplicate fields, as kubectl's --validate. */
enum scenario_validation { VALIDATE_STRICT, VALIDATE_WARN, VALIDATE_IGNORE };

/* Objects of a kind that is not used for scheduling. */
struct scenario_skipped {
    char *kind;
    size_t n;
};

/* The last of these counts all remaining kinds. */
#define SCENARIO_MAX_SKIPPED 10

/* A limitation of the simulation that applies to some objects. */
struct scenario_note {
    char *text, *first; /* the first of the objects */
    size_t n;
};

/* The number of problems reported; the rest is only counted. */
#define SCENARIO_MAX_PROBLEMS 20

struct scenario {
    enum scenario_validation validation;
    VEC(struct scenario_item) items; /* in the order of the files */
    struct map names;                /* "Pod default/web" → its object; SCENARIO_THERE only */
    uint64_t next_uid;
    VEC(struct scenario_skipped) skipped; /* in the order of the files */
    VEC(struct scenario_note) notes;
    struct buf problems; /* of validation, one per line: "cluster.yaml:12: Pod default/web: ..." */
    size_t n_problems;
    size_t n_types; /* of these: values of the wrong type */
    size_t n_documents;
    struct expansion *expansion; /* shared with the scenarios that continue this one */
    bool owns_expansion;
};

void scenario_init(struct scenario *s);
/* Continues the scenario `before`, which must outlive s. */
void scenario_init_after(struct scenario *s, const struct scenario *before);
void scenario_release(struct scenario *s);
/*
 * Reads all of the source. file: its name for messages, "cluster.yaml:12: Pod default/web: ...".
 * Problems of validation are collected in s->problems and are not failures. Returns -ENODATA if
 * there are no documents.
 */
int scenario_read(struct scenario *s, const char *file, const struct yaml_source *source,
                  struct err *reterr) MUST_CHECK;
/* Creates the pods of controllers and runs admission. Call it when everything is read. */
int scenario_complete(struct scenario *s, struct err *reterr) MUST_CHECK;

/* --- for scenario_read.c and expansion.c ------------------------------------------------------ */

/* Is there an object of this kind and name? */
bool scenario_has(const struct scenario *s, struct object *o);
/* Takes the reference on success. */
int scenario_add(struct scenario *s, struct object *o, enum scenario_what what,
                 struct err *reterr) MUST_CHECK;
/* Counts an object of a kind that is not used for scheduling. */
void scenario_skip(struct scenario *s, struct str kind);
/* Counts an object that the note applies to; which: "Pod default/web". */
void scenario_note(struct scenario *s, const char *text, struct str which);

#endif
