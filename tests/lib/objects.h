/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h - Kubernetes objects and JSON texts for tests, without escaped quotes.
 *
 * Purpose:   POD, NODE and the like build an object from the fields that a test cares about; what
 *            is left out gets the default named below. The object goes through the JSON decoder,
 *            as one from an API server does. What has no field of its own is added as JSON in
 *            single quotes: .meta, .spec and .status of each macro, or object_jsonf for all of it.
 * Ownership: each macro returns a reference for the caller. Texts of textf, jsonf and json_quotes
 *            live until 1000 more were made; do not free them.
 * Threading: one thread.
 *
 *     struct object *node = NODE(.name = "n1", .cpu = "4", .labels = "zone=a");
 *     struct object *pod = POD(.name = "a", .cpu = "500m", .labels = "app=web", .node = "n1",
 *                              .tolerations = TOLERATIONS({"k", .op = "Exists"}));
 *     fixture_add(&f, POD(.name = textf("p%d", i), .spec = "'hostNetwork':true"));
 *
 * A text of pairs is "key=value,key=value" or, where a key or value has a comma or an equals sign,
 * members of a JSON object: "'key':'value'". "" is an object without members, NULL leaves it out.
 */
#ifndef BERTH_TESTS_OBJECTS_H
#define BERTH_TESTS_OBJECTS_H

#include "api/object.h"
#include "base/buf.h"

/* --- texts ------------------------------------------------------------------------------------ */

/* A formatted text: textf("n%zu", i). */
const char *textf(const char *fmt, ...) PRINTF_LIKE(1, 2);
/*
 * The text with ' turned into " and ` into \" (a quote within a string); \' is ' and \` is `:
 *     json_quotes("{'a':1}")                   {"a":1}
 *     json_quotes("{'a':'{`b`:1}'}")           {"a":"{\"b\":1}"}
 *     json_quotes("{'a':'it\\'s'}")            {"a":"it's"}
 */
const char *json_quotes(const char *text);
struct str json_quotes_str(const char *text);
/* The reverse for texts to look at, which may be read with sscanf: " becomes '. */
const char *single_quotes(const char *json);
/* Formats, then json_quotes: jsonf("{'code':%d}", 404). */
const char *jsonf(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* The same, in an arena. */
struct str arena_jsonf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, appended to a buffer. */
void buf_add_jsonf(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * An object of any kind from JSON in single quotes; kind and apiVersion may be left out. Aborts on
 * a text that cannot be decoded.
 *     object_jsonf(KIND_DEVICE_CLASS, "{'metadata':{'name':'%s'}}", name)
 */
struct object *object_jsonf(enum kind_id kind, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* From a text that has double quotes already. */
struct object *object_json(enum kind_id kind, const char *json);
/* From a text with single quotes, with enum object_flags: OBJECT_KEEP_WIRE, OBJECT_KEEP_JSON … */
struct object *object_kept(enum kind_id kind, unsigned flags, const char *text);

/* --- lists within objects --------------------------------------------------------------------- */

/* Each macro makes an array for a field below. Within a function, a table that uses one is const,
 * not static const. */

/* Members that are left out are zero, even after positional ones. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* TAINTS({"key", "value", "NoSchedule"}, {"key", .effect = "NoExecute"}) */
struct taint_args {
    const char *key, *value, *effect;
};
#define TAINTS(...) ((const struct taint_args[]){__VA_ARGS__, {0}})

/* TOLERATIONS({"key", "value"}, {.op = "Exists", .effect = "NoSchedule"}) */
struct toleration_args {
    const char *key, *value, *op, *effect;
};
#define TOLERATIONS(...) ((const struct toleration_args[]){__VA_ARGS__, {0}})

/* TERMS({"zone", "app=web"}): pods with these labels in the same zone. Preferred terms have a
 * weight: TERMS({"zone", "app=web", .weight = 10}). */
struct term_args {
    const char *key;
    const char *labels; /* pairs; "": all pods, NULL: no selector, which matches none */
    int weight;
    const char *more; /* JSON members: "'namespaces':['other']" */
};
#define TERMS(...) ((const struct term_args[]){__VA_ARGS__, {0}})

/* SPREAD({"zone", "app=web"}, {"host", "app=web", .when = "ScheduleAnyway", .max_skew = 2}) */
struct spread_args {
    const char *key;
    const char *labels; /* as of TERMS */
    const char *when;   /* NULL: DoNotSchedule */
    int max_skew;       /* 0: 1 */
    const char *more;   /* JSON members: "'minDomains':3" */
};
#define SPREAD(...) ((const struct spread_args[]){__VA_ARGS__, {0}})

/* PORTS({80}, {53, .protocol = "UDP", .ip = "10.0.0.1"}) */
struct port_args {
    int host_port;
    const char *protocol, *ip;
};
#define PORTS(...) ((const struct port_args[]){__VA_ARGS__, {0}})

/* --- objects ---------------------------------------------------------------------------------- */

/* POD(.name = "a", .cpu = "1", .priority = 10, .anti_affinity = TERMS({"zone", "app=web"})) */
struct pod_args {
    const char *name;      /* NULL: "p" */
    const char *namespace; /* NULL: "default" */
    const char *uid;       /* NULL: the name */
    const char *version;   /* resourceVersion */
    const char *labels;    /* pairs */
    bool deleting;         /* has a deletionTimestamp */
    const char *meta;      /* JSON members: "'annotations':{'a':'b'}" */

    const char *scheduler; /* NULL: "default-scheduler" */
    const char *node;      /* nodeName; NULL: none */
    int priority;
    const char *preemption_policy;
    const char *group;         /* schedulingGroup.podGroupName */
    const char *gates;         /* names of schedulingGates: "a,b" */
    const char *node_selector; /* pairs */
    const struct toleration_args *tolerations;
    const struct spread_args *spread;
    const struct term_args *affinity, *preferred_affinity;
    const struct term_args *anti_affinity, *preferred_anti_affinity;
    const char *node_terms;           /* JSON, nodeSelectorTerms of the required node affinity */
    const char *preferred_node_terms; /* JSON, terms of the preferred node affinity */
    const char *spec;                 /* JSON members: "'hostNetwork':true" */

    /* A container "c", if any of these is set. */
    const char *cpu, *memory;
    const char *requests; /* pairs beside cpu and memory: "x.io/gpu=1" */
    const struct port_args *ports;
    const char *image;
    const char *containers; /* JSON; replaces that container: "{'name':'a'},{'name':'b'}" */

    const char *nominated; /* nominatedNodeName */
    const char *phase;
    const char *started; /* startTime: "2026-01-01T00:00:00Z" */
    bool preempted;      /* has the condition DisruptionTarget, by the scheduler */
    const char *status;  /* JSON members */
};
#define POD(...) object_from_pod_args(&(const struct pod_args){__VA_ARGS__})
struct object *object_from_pod_args(const struct pod_args *args);

/* NODE(.name = "n1", .cpu = "4", .memory = "8Gi", .taints = TAINTS({"k", "v", "NoSchedule"})) */
struct node_args {
    const char *name;    /* NULL: "n"; the uid is the name */
    const char *version; /* resourceVersion */
    const char *labels;  /* pairs */
    const char *meta;    /* JSON members */

    bool unschedulable;
    const struct taint_args *taints;
    const char *spec; /* JSON members */

    const char *cpu, *memory;
    const char *pods;        /* NULL: "110", unless allocatable has pods */
    const char *allocatable; /* pairs in addition to these */
    const char *status;      /* JSON members: "'declaredFeatures':['A']" */
};
#define NODE(...) object_from_node_args(&(const struct node_args){__VA_ARGS__})
struct object *object_from_node_args(const struct node_args *args);

/* POD_GROUP(.name = "g", .min_count = 3, .topology = "rack") */
struct pod_group_args {
    const char *name; /* NULL: "g"; its namespace is "default" */
    const char *uid;  /* NULL: the name */
    int generation;
    int min_count; /* of a gang; 0: the basic policy */
    int priority;
    const char *topology;             /* key of its only topology constraint */
    const char *meta, *spec, *status; /* JSON members */
};
#define POD_GROUP(...) object_from_pod_group_args(&(const struct pod_group_args){__VA_ARGS__})
struct object *object_from_pod_group_args(const struct pod_group_args *args);

/* POD_DISRUPTION_BUDGET(.name = "b", .selector = "app=web", .allowed = 1) */
struct budget_args {
    const char *name;      /* NULL: "b"; its namespace is "default" */
    const char *selector;  /* pairs */
    int allowed;           /* disruptionsAllowed */
    const char *disrupted; /* the one pod in disruptedPods; NULL: none */
};
#define POD_DISRUPTION_BUDGET(...) object_from_budget_args(&(const struct budget_args){__VA_ARGS__})
struct object *object_from_budget_args(const struct budget_args *args);

/* OBJECT(KIND_PERSISTENT_VOLUME_CLAIM, .name = "data", .spec = "'volumeName':'v'")
 * NAMESPACE(.name = "team", .labels = "a=b")
 * SERVICE(.name = "s", .selector = "app=web")
 * REPLICA_SET(.name = "rs", .selector = "app=web") */
struct object_args {
    const char *name;                 /* NULL: "o" */
    const char *namespace;            /* NULL: "default" if the kind is namespaced */
    const char *version;              /* resourceVersion */
    const char *labels;               /* pairs */
    const char *selector;             /* pairs */
    const char *meta, *spec, *status; /* JSON members */
};
#define OBJECT(kind, ...) object_from_args((kind), &(const struct object_args){__VA_ARGS__})
#define NAMESPACE(...)    OBJECT(KIND_NAMESPACE, __VA_ARGS__)
#define SERVICE(...)      OBJECT(KIND_SERVICE, __VA_ARGS__)
#define REPLICA_SET(...)  OBJECT(KIND_REPLICA_SET, __VA_ARGS__)
struct object *object_from_args(enum kind_id kind, const struct object_args *args);

#endif
