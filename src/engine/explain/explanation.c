/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain/explanation.h"

#include "codec/json.h"

static const struct field verdict_fields[] = {
    F_ONE(struct explanation_verdict, name, "name", 0, STR),
    F_ONE(struct explanation_verdict, code, "code", 0, STR),
    F_ONE(struct explanation_verdict, plugin, "plugin", 0, STR),
    F_LIST(struct explanation_verdict, reasons, "reasons", 0, STR),
};
static const struct type verdict_type = TYPE("Verdict", struct explanation_verdict, verdict_fields);

static const struct field score_fields[] = {
    F_ONE(struct explanation_score, name, "name", 0, STR),
    F_ONE(struct explanation_score, raw, "raw", 0, INT64),
    F_ONE(struct explanation_score, normalized, "normalized", 0, INT64),
    F_ONE(struct explanation_score, weight, "weight", 0, INT64),
    F_ONE(struct explanation_score, weighted, "weighted", 0, INT64),
};
static const struct type score_type = TYPE("Score", struct explanation_score, score_fields);

static const struct field node_scores_fields[] = {
    F_ONE(struct explanation_node_scores, name, "name", 0, STR),
    F_LIST_MSG(struct explanation_node_scores, plugins, "plugins", 0, struct explanation_score,
               &score_type),
    F_ONE(struct explanation_node_scores, total, "total", 0, INT64),
};
static const struct type node_scores_type =
    TYPE("NodeScores", struct explanation_node_scores, node_scores_fields);

static const struct field post_filter_fields[] = {
    F_ONE(struct explanation_post_filter, plugin, "plugin", 0, STR),
    F_ONE(struct explanation_post_filter, code, "code", 0, STR),
    F_LIST(struct explanation_post_filter, reasons, "reasons", 0, STR),
    F_ONE(struct explanation_post_filter, nominated_node, "nominatedNode", 0, STR),
    F_LIST(struct explanation_post_filter, victims, "victims", 0, STR),
    F_ONE(struct explanation_post_filter, pdb_violations, "pdbViolations", 0, INT64),
    F_ONE(struct explanation_post_filter, candidates, "candidates", 0, INT64),
};
static const struct type post_filter_type =
    TYPE("PostFilter", struct explanation_post_filter, post_filter_fields);

static const struct field survey_node_fields[] = {
    F_ONE(struct explanation_survey_node, name, "name", 0, STR),
    F_LIST_MSG(struct explanation_survey_node, refused, "refused", 0, struct explanation_verdict,
               &verdict_type),
};
static const struct type survey_node_type =
    TYPE("SurveyNode", struct explanation_survey_node, survey_node_fields);

static const struct field survey_fields[] = {
    F_LIST(struct explanation_survey, asked, "asked", 0, STR),
    F_LIST_MSG(struct explanation_survey, nodes, "nodes", 0, struct explanation_survey_node,
               &survey_node_type),
};
static const struct type survey_type = TYPE("Survey", struct explanation_survey, survey_fields);

static const struct field explanation_fields[] = {
    F_ONE(struct explanation, number, "number", 0, INT64),
    F_ONE(struct explanation, attempt, "attempt", 0, INT64),
    F_ONE(struct explanation, namespace, "namespace", 0, STR),
    F_ONE(struct explanation, pod, "pod", 0, STR),
    F_ONE(struct explanation, uid, "uid", 0, STR),
    F_ONE(struct explanation, profile, "profile", 0, STR),
    F_ONE(struct explanation, outcome, "outcome", 0, STR),
    F_ONE(struct explanation, node, "node", 0, STR),
    F_ONE(struct explanation, nominated_node, "nominatedNode", 0, STR),
    F_ONE(struct explanation, message, "message", 0, STR),
    F_ONE(struct explanation, event, "event", 0, STR),
    F_ONE(struct explanation, queue, "queue", 0, STR),
    F_ONE(struct explanation, all_nodes, "allNodes", 0, INT64),
    F_LIST_MSG(struct explanation, pre_filter, "preFilter", 0, struct explanation_verdict,
               &verdict_type),
    F_PTR_MSG(struct explanation, filters, "filters", 0, struct explanation_survey, &survey_type),
    F_PTR_MSG(struct explanation, post_filter, "postFilter", 0, struct explanation_post_filter,
              &post_filter_type),
    F_LIST_MSG(struct explanation, nodes, "nodes", 0, struct explanation_verdict, &verdict_type),
    F_LIST_MSG(struct explanation, feasible, "feasible", 0, struct explanation_node_scores,
               &node_scores_type),
};
static const struct type explanation_type =
    TYPE("Explanation", struct explanation, explanation_fields);

int explanation_decode(struct str json, struct arena *a, struct explanation *ret_explanation,
                       struct err *reterr)
{
    return json_decode(json, &explanation_type, 0, a, ret_explanation, reterr);
}
