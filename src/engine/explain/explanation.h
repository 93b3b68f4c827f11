/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explanation.h - the recorded attempt of a pod, decoded from JSON.
 *
 * Purpose:   the JSON object that explain_write writes for an attempt. All commands that show
 *            explanations use this struct, whether the attempt was made in this process, in a
 *            running scheduler or by another version of berth: unknown fields are ignored, missing
 *            fields are empty.
 * Ownership: everything lives in the arena given to explanation_decode.
 * Threading: any.
 */
#ifndef BERTH_ENGINE_EXPLAIN_EXPLANATION_H
#define BERTH_ENGINE_EXPLAIN_EXPLANATION_H

#include "codec/desc.h"

typedef LIST(struct str) explanation_texts;

/* The verdict on a node, or a plugin's verdict on a node or on the pod. */
struct explanation_verdict {
    struct str name;   /* of the node; in PreFilter and in surveys: of the plugin */
    struct str code;   /* code_name: "Success", "Skip", "Unschedulable", … */
    struct str plugin; /* that refused the node; empty: none did */
    explanation_texts reasons;
};

struct explanation_score {
    struct str name; /* of the plugin or extender */
    int64_t raw, normalized, weight, weighted;
};

/* The scores of a node that passed the filters. */
struct explanation_node_scores {
    struct str name;
    LIST(struct explanation_score) plugins;
    int64_t total;
};

struct explanation_post_filter {
    struct str plugin, code;
    explanation_texts reasons;
    struct str nominated_node;
    explanation_texts victims; /* NAMESPACE/NAME */
    int64_t pdb_violations, candidates;
};

/* A survey's node: every filter that refuses it. */
struct explanation_survey_node {
    struct str name;
    LIST(struct explanation_verdict) refused;
};

struct explanation_survey {
    explanation_texts asked; /* plugins */
    LIST(struct explanation_survey_node) nodes;
};

struct explanation {
    int64_t number, attempt;
    struct str namespace, pod, uid;
    struct str profile;
    struct str outcome; /* "scheduled", "unschedulable", "error" */
    struct str node;    /* where the pod was bound; empty: nowhere */
    struct str nominated_node, message;
    struct str event; /* that queued the pod for this attempt */
    struct str queue; /* where the pod is afterwards: "unschedulable", "backoff", … */
    int64_t all_nodes;
    LIST(struct explanation_verdict) pre_filter;
    struct explanation_survey *filters;          /* NULL: the attempt was not surveyed */
    struct explanation_post_filter *post_filter; /* NULL: no PostFilter plugin ran */
    LIST(struct explanation_verdict) nodes;      /* that were filtered, in order */
    LIST(struct explanation_node_scores) feasible;
};

/* Reads attempts as JSON, one line per call; the line is borrowed. */
struct explain_reader {
    void (*fn)(void *ctx, struct str line);
    void *ctx;
};

/* Decodes one line of explain_write. Returns -EBADMSG if it is not valid. */
int explanation_decode(struct str json, struct arena *a, struct explanation *ret_explanation,
                       struct err *reterr) MUST_CHECK;

#endif
