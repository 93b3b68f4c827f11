/* SPDX-License-Identifier: Apache-2.0 */
/* pods/eviction: a deletion that disruption budgets may refuse (upstream: EvictionREST). */
#include "apiserver/registry/registry_internal.h"

#define MAX_DISRUPTED_PODS 2000
#define VIOLATES           "Cannot evict pod as it would violate the pod's disruption budget."

/* --- the budget ------------------------------------------------------------------------------- */

static int refuse_budget(struct op *op, int retry_after, struct str why)
{
    struct api_cause *cause = arena_new(op->a, struct api_cause);

    cause->reason = STR("DisruptionBudget");
    cause->message = why;
    status_of(op_status(op), 429, op->a, "%s", VIOLATES);
    op_status(op)->retry_after = retry_after;
    op_status(op)->causes = cause;
    op_status(op)->n_causes = 1;
    return 429;
}

static int still_processed(struct op *op, struct str name)
{
    return refuse_budget(
        op, 10,
        arena_printf(op->a, "The disruption budget %.*s is still being processed by the server.",
                     STR_ARG(name)));
}

static int forbid(struct op *op, struct str name, const char *why)
{
    struct resource budget = {.group = STR("policy"), .plural = STR("poddisruptionbudget")};

    return status_forbidden(op_status(op), &budget, name, str_of(why), op->a);
}

/* Why a budget with no disruptions left refuses. */
static struct str exhausted(struct op *op, struct json_value *pdb)
{
    const struct json_value *c = object_condition(pdb, "DisruptionAllowed");
    struct str name = object_name(pdb), message = json_get_text(c, STR("message"));
    struct str reason = json_get_text(c, STR("reason"));
    bool tells = c && str_is(json_get_text(c, STR("status")), "False") && !str_empty(message);
    int64_t healthy = json_int_at(pdb, "status.currentHealthy", 0);
    int64_t desired = json_int_at(pdb, "status.desiredHealthy", 0);

    if (tells && str_is(reason, "SyncFailed"))
        return arena_printf(op->a,
                            "The disruption budget %.*s does not allow evicting pods currently "
                            "because it failed sync: %.*s",
                            STR_ARG(name), STR_ARG(message));
    if (healthy <= desired)
        return arena_printf(op->a,
                            "The disruption budget %.*s needs %lld healthy pods and has %lld "
                            "currently",
                            STR_ARG(name), (long long)desired, (long long)healthy);
    if (tells)
        return arena_printf(op->a,
                            "The disruption budget %.*s does not allow evicting pods currently "
                            "(%.*s): %.*s",
                            STR_ARG(name), STR_ARG(reason), STR_ARG(message));
    return arena_printf(op->a, "The disruption budget %.*s does not allow evicting pods currently",
                        STR_ARG(name));
}

static void set_insufficient(struct op *op, struct json_value *pdb)
{
    struct json_value c = json_object();

    json_set(&c, STR("type"), json_text(STR("DisruptionAllowed")), op->a);
    json_set(&c, STR("status"), json_text(STR("False")), op->a);
    json_set(&c, STR("observedGeneration"),
             json_int(json_int_at(pdb, "status.observedGeneration", 0), op->a), op->a);
    json_set(&c, STR("reason"), json_text(STR("InsufficientPods")), op->a);
    json_set(&c, STR("message"), json_text(STR("")), op->a);
    pod_set_condition(pdb, c, op->req->now, op->a);
}

/* Takes one disruption from the budget (upstream: checkAndDecrement). */
static int take_disruption(struct op *op, const struct revision *rev, struct str pod)
{
    struct op on = op_for(op, rev->resource);
    struct json_value *pdb = op_parse(&on, rev);
    struct json_value *status = json_set_object(pdb, STR("status"), op->a);
    const struct json_value *disrupted = json_get(status, STR("disruptedPods"));
    int64_t allowed = json_int_at(status, "disruptionsAllowed", 0);

    if (json_int_at(status, "observedGeneration", 0) < json_int_at(pdb, "metadata.generation", 0))
        return still_processed(op, rev->name);
    if (allowed < 0)
        return forbid(op, rev->name, "pdb disruptions allowed is negative");
    if (disrupted && disrupted->kind == JSON_OBJECT && disrupted->n_members > MAX_DISRUPTED_PODS)
        return forbid(op, rev->name,
                      "DisruptedPods map too big - too many evictions not confirmed by PDB "
                      "controller");
    if (allowed == 0)
        return refuse_budget(op, 0, exhausted(op, pdb));
    json_set(status, STR("disruptionsAllowed"), json_int(allowed - 1, op->a), op->a);
    json_set(json_set_object(status, STR("disruptedPods"), op->a), pod,
             json_text(time_text(op->req->now, op->a)), op->a);
    if (allowed == 1)
        set_insufficient(op, pdb);
    op_put_quietly(&on, pdb);
    return 0;
}

static bool pod_ready(struct json_value *pod)
{
    const struct json_value *c = object_condition(pod, "Ready");

    return c && str_is(json_get_text(c, STR("status")), "True");
}

/* An unready pod that is not part of what the budget protects may go. */
static bool goes_without_budget(struct op *op, const struct revision *budget,
                                struct json_value *pod)
{
    const struct json_value *pdb = op_parse(op, budget);
    int64_t desired = json_int_at(pdb, "status.desiredHealthy", 0);

    if (pod_ready(pod))
        return false;
    if (str_is(json_text_at(pdb, "spec.unhealthyPodEvictionPolicy"), "AlwaysAllow"))
        return true;
    return json_int_at(pdb, "status.currentHealthy", 0) >= desired && desired > 0;
}

/* The budgets that select the pod: the first, and how many there are. */
static size_t find_budgets(struct op *op, const struct revision *pod, struct revision **ret_first)
{
    const struct resource *pdbs =
        resources_named(op->reg->resources, STR("policy"), STR("poddisruptionbudgets"));
    struct snapshot *s;
    struct store_range range;
    struct revision *rev;
    size_t n = 0;

    if (!pdbs || store_count(op->reg->store, pdbs) == 0)
        return 0;
    s = store_snapshot(op->reg->store);
    store_range_init(&range, s, pdbs, pod->namespace, NULL);
    while ((rev = store_range_next(&range))) {
        const struct json_value *tree = op_parse(op, rev);
        struct selector selector;

        if (selector_from_tree(json_at(tree, "spec.selector"), op->a, &selector) == 0 &&
            selector_matches_revision(&selector, pod) && n++ == 0)
            *ret_first = rev;
    }
    /* The revision stays in the store until the next change. */
    snapshot_unref(s);
    return n;
}

static int check_budget(struct op *op, const struct revision *rev, struct json_value *pod)
{
    struct revision *budget = NULL;
    size_t n = find_budgets(op, rev, &budget);

    if (n == 0)
        return 0;
    if (n > 1) {
        *op_status(op) = (struct api_status){
            .code = 500,
            .reason = "",
            .message = STR_INIT("This pod has more than one PodDisruptionBudget, which the "
                                "eviction subresource does not support.")};
        return 500;
    }
    if (goes_without_budget(op, budget, pod))
        return 0;
    return take_disruption(op, budget, rev->name);
}

/* --- the eviction ----------------------------------------------------------------------------- */

static bool ignores_budget(const struct json_value *pod)
{
    struct str phase = json_text_at(pod, "status.phase");

    return str_is(phase, "Succeeded") || str_is(phase, "Failed") || str_is(phase, "Pending") ||
           json_at(pod, "metadata.deletionTimestamp");
}

static void mark_disrupted(struct op *op, struct json_value *pod)
{
    struct json_value c = json_object();

    json_set(&c, STR("type"), json_text(STR("DisruptionTarget")), op->a);
    json_set(&c, STR("status"), json_text(STR("True")), op->a);
    json_set(&c, STR("reason"), json_text(STR("EvictionByEvictionAPI")), op->a);
    json_set(&c, STR("message"), json_text(STR("Eviction API: evicting")), op->a);
    json_set(&c, STR("lastProbeTime"), json_null(), op->a);
    pod_set_condition(pod, c, op->req->now, op->a);
}

static int evict(struct op *op, struct revision *rev, const struct deletion *options)
{
    struct json_value *pod = op_parse(op, rev);
    struct deletion o = *options;
    int code = ignores_budget(pod) ? 0 : check_budget(op, rev, pod);

    if (code)
        return code;
    /* The condition is a change of its own; preconditions are about the pod before it. */
    if (!o.has_version || str_eq(o.version, json_text_at(pod, "metadata.resourceVersion"))) {
        if (!o.has_uid || str_eq(o.uid, json_text_at(pod, "metadata.uid"))) {
            mark_disrupted(op, pod);
            op_put_quietly(op, pod);
            o.has_version = false;
        }
    }
    code = delete_object(op, op->req->namespace, op->req->name, &o);
    if (!code)
        op_answer_success(op, NULL, 201);
    return code;
}

int serve_eviction(struct op *op)
{
    struct body_kind kind = body_kind_of(op);
    struct json_value *body = op->req->body;
    struct api_request request = *op->req;
    struct op with = *op;
    struct deletion options;
    struct revision *rev;
    int code;

    if (body && str_is(json_get_text(body, STR("apiVersion")), "policy/v1beta1"))
        json_set(body, STR("apiVersion"), json_text(kind.api_version), op->a);
    code = op_decode(op, body, &kind);
    if (!code)
        code = op_match_namespace(op, body);
    if (code)
        return code;
    if (!str_eq(object_name(body), op->req->name))
        return status_bad_request(op_status(op), op->a,
                                  "name in URL does not match name in Eviction object");
    code = delete_options_read(op, json_get(body, STR("deleteOptions")), &options);
    if (code)
        return code;
    rev = op_find(op, op->req->namespace, op->req->name);
    if (!rev)
        return status_not_found(op_status(op), op->r, op->req->name, op->a);
    request.dry_run = options.dry_run;
    with.req = &request;
    code = evict(&with, rev, &options);
    op->warnings = with.warnings;
    return code;
}
