/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenario.h - a cluster read from manifests.
 *
 * Purpose:   reads YAML or JSON files of Kubernetes objects (several documents, Lists such as
 *            `kubectl get nodes,pods -A -o json` prints) and fills in what an API server would:
 *            namespace, uid, schedulerName, allocatable from capacity. Documents may also be watch
 *            events, with the members type and object.
 * Ownership: holds a reference on each object.
 * Threading: one thread.
 */
#ifndef BERTH_SIM_SCENARIO_H
#define BERTH_SIM_SCENARIO_H

#include "api/object.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/json_value.h"

enum scenario_what {
    SCENARIO_THERE,   /* an object of a manifest: when it came does not matter */
    SCENARIO_CHANGED, /* a watch event: now it is there, and so */
    SCENARIO_DELETED, /* a watch event: now it is gone */
};

struct scenario_item {
    struct object *object;
    enum scenario_what what;
};

/* Objects of a kind that scheduling does not look at. */
struct scenario_skipped {
    char *kind;
    size_t n;
};

/* The last of so many counts all kinds that come after it. */
#define SCENARIO_MAX_SKIPPED 10

struct scenario {
    VEC(struct scenario_item) items; /* in the order of the files */
    struct map names;                /* "Pod default/web" → its object; of manifests */
    uint64_t next_uid;
    VEC(struct scenario_skipped) skipped; /* in the order of the files */
};

void scenario_init(struct scenario *s);
void scenario_release(struct scenario *s);
/* file: its name, for messages, which read "cluster.yaml:12: Pod default/web: ...". */
int scenario_read(struct scenario *s, const char *file, struct str text,
                  struct err *reterr) MUST_CHECK;

#endif
