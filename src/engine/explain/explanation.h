/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explanation.h - one attempt to schedule a pod, as data.
 *
 * Purpose:   the JSON object that explain_write writes for an attempt, decoded again. Whatever
 *            shows explanations works on this struct, no matter whether the attempt was made in
 *            this process, in a running scheduler or by another version of berth: unknown fields
 *            are ignored, missing ones are empty.
 * Ownership: everything lives in the arena given to explanation_decode.
 * Threading: any.
 */
#ifndef BERTH_ENGINE_EXPLAIN_EXPLANATION_H
#define BERTH_ENGINE_EXPLAIN_EXPLANATION_H

#include "codec/desc.h"

typedef LIST(struct str) explanation_texts;

/* What a plugin, or all of them, said about a node or about the pod. */
struct explanation_verdict {
    struct str name;   /* of the node; in PreFilter and in surveys: of the plugin */
    struct str code;   /* "Success", "Skip", "Unschedulable", … */
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
    struct str event; /* what brought the pod to this attempt */
    struct str queue; /* where the pod went afterwards: "unschedulable", "backoff", … */
    int64_t all_nodes;
    LIST(struct explanation_verdict) pre_filter;
    struct explanation_survey *filters;          /* NULL: this was no survey */
    struct explanation_post_filter *post_filter; /* NULL: no plugin was asked */
    LIST(struct explanation_verdict) nodes;      /* those looked at, in their order */
    LIST(struct explanation_node_scores) feasible;
};

/* Gets attempts as JSON, a line at a time, which lives until fn returns. */
struct explain_reader {
    void (*fn)(void *ctx, struct str line);
    void *ctx;
};

/* One line of explain_write. -EBADMSG and one line on failure. */
int explanation_decode(struct str json, struct arena *a, struct explanation *ret_explanation,
                       struct err *reterr) MUST_CHECK;

#endif
