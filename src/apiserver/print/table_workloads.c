/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads: the groups apps, batch, autoscaling, policy and scheduling. */
#include <inttypes.h>

#include "apiserver/print/table_internal.h"

/* --- deployments and revisions ---------------------------------------------------------------- */

static void deployment_selector(struct cells *c, const struct column *col, struct buf *out)
{
    if (!cell_selector(c, json_at(c->object, col->path), out)) {
        buf_clear(out);
        buf_add_cstr(out, "<invalid>");
    }
}

static const struct json_value *controller_of(const struct json_value *object)
{
    struct json_items owners = json_items_at(object, "metadata.ownerReferences");
    for (size_t i = 0; i < owners.n; i++)
        if (json_bool_at(&owners.v[i], "controller", false))
            return &owners.v[i];
    return NULL;
}

/* "statefulset.apps/web" */
static void revision_controller(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *owner = controller_of(c->object);
    if (!owner) {
        buf_add_cstr(out, col->otherwise);
        return;
    }
    struct str api_version = json_text_at(owner, "apiVersion"), kind = json_text_at(owner, "kind");
    size_t slash = str_find(api_version, '/');
    struct str group = str_slice(api_version, 0, slash < api_version.n ? slash : 0);
    cell_lower(out, kind);
    if (group.n) {
        buf_add_char(out, '.');
        cell_lower(out, group);
    }
    if (kind.n || group.n)
        buf_add_char(out, '/');
    buf_add_str(out, json_text_at(owner, "name"));
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void job_status(struct cells *c, const struct column *col, struct buf *out)
{
    static const char *const before[] = {"Complete", "Failed"};
    static const char *const after[] = {"Suspended", "FailureTarget", "SuccessCriteriaMet"};
    const char *status = "Running";
    (void)col;
    for (size_t i = ARRAY_LEN(after); i-- > 0;)
        if (str_is(json_text_at(cell_condition(c->object, after[i]), "status"), "True"))
            status = after[i];
    if (json_text_at(c->object, "metadata.deletionTimestamp").n)
        status = "Terminating";
    for (size_t i = ARRAY_LEN(before); i-- > 0;)
        if (str_is(json_text_at(cell_condition(c->object, before[i]), "status"), "True"))
            status = before[i];
    buf_add_cstr(out, status);
}

static void job_completions(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *completions = json_at(c->object, "spec.completions");
    int64_t parallelism = json_int_at(c->object, "spec.parallelism", 0);
    (void)col;
    buf_add_printf(out, "%" PRId64 "/", json_int_at(c->object, "status.succeeded", 0));
    if (completions && completions->kind == JSON_NUMBER)
        buf_add_str(out, completions->text);
    else if (parallelism > 1)
        buf_add_printf(out, "1 of %" PRId64, parallelism);
    else
        buf_add_char(out, '1');
}

/* Until its completion, or until now. */
static void job_duration(struct cells *c, const struct column *col, struct buf *out)
{
    struct timestamp start = cell_time(json_at(c->object, "status.startTime"));
    struct timestamp end = cell_time(json_at(c->object, "status.completionTime"));
    struct cells at = {.now = end.set ? timestamp_ns(end) : c->now};
    (void)col;
    if (start.set)
        cell_since(&at, start, out);
}

/* --- autoscalers ------------------------------------------------------------------------------ */

#define MAX_METRICS 2

static void scaler_reference(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_printf(out, "%.*s/%.*s", STR_ARG(json_text_at(c->object, "spec.scaleTargetRef.kind")),
                   STR_ARG(json_text_at(c->object, "spec.scaleTargetRef.name")));
}

static bool is_set(const struct json_value *v)
{
    return v && v->kind != JSON_NULL;
}

/* Go prints a quantity that is not there as <nil>. */
static void write_amount(struct cells *c, const struct json_value *v, struct buf *out)
{
    if (is_set(v))
        cell_quantity(c, v, out);
    else
        buf_add_cstr(out, "<nil>");
}

/* "50%", or `otherwise` if there is none. */
static void write_percent(const struct json_value *v, const char *otherwise, struct buf *out)
{
    if (v && v->kind == JSON_NUMBER)
        buf_add_printf(out, "%.*s%%", STR_ARG(v->text));
    else
        buf_add_cstr(out, otherwise);
}

/* "cpu: 50%/80%": a resource of pods or of one container. */
static void write_resource_metric(struct cells *c, const struct json_value *spec,
                                  const struct json_value *status, struct buf *out)
{
    const struct json_value *target = json_at(spec, "target.averageValue");
    buf_add_printf(out, "%.*s: ", STR_ARG(json_text_at(spec, "name")));
    if (is_set(target)) {
        if (status)
            write_amount(c, json_at(status, "current.averageValue"), out);
        else
            buf_add_cstr(out, "<unknown>");
        buf_add_char(out, '/');
        write_amount(c, target, out);
        return;
    }
    write_percent(json_at(status, "current.averageUtilization"), "<unknown>", out);
    buf_add_char(out, '/');
    write_percent(json_at(spec, "target.averageUtilization"), "<auto>", out);
}

/* "50m/100m (avg)": a metric of an object or of something outside. */
static void write_value_metric(struct cells *c, const struct json_value *spec,
                               const struct json_value *status, struct buf *out)
{
    const struct json_value *target = json_at(spec, "target.averageValue");
    const struct json_value *average = json_at(status, "current.averageValue");
    bool averaged = is_set(target);
    if (averaged ? is_set(average) : status != NULL)
        write_amount(c, averaged ? average : json_at(status, "current.value"), out);
    else
        buf_add_cstr(out, "<unknown>");
    buf_add_char(out, '/');
    write_amount(c, averaged ? target : json_at(spec, "target.value"), out);
    if (averaged)
        buf_add_cstr(out, " (avg)");
}

static void write_pods_metric(struct cells *c, const struct json_value *spec,
                              const struct json_value *status, struct buf *out)
{
    if (status)
        write_amount(c, json_at(status, "current.averageValue"), out);
    else
        buf_add_cstr(out, "<unknown>");
    buf_add_char(out, '/');
    write_amount(c, json_at(spec, "target.averageValue"), out);
}

static void write_metric(struct cells *c, const struct json_value *spec,
                         const struct json_value *status, struct buf *out)
{
    static const struct {
        const char *type, *member;
        void (*write)(struct cells *, const struct json_value *, const struct json_value *,
                      struct buf *);
    } kinds[] = {
        {"Resource", "resource", write_resource_metric},
        {"ContainerResource", "containerResource", write_resource_metric},
        {"External", "external", write_value_metric},
        {"Object", "object", write_value_metric},
        {"Pods", "pods", write_pods_metric},
    };
    struct str type = json_text_at(spec, "type");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(type, kinds[i].type)) {
            const struct json_value *v = status ? json_at(status, kinds[i].member) : NULL;
            kinds[i].write(c, json_at(spec, kinds[i].member), is_set(v) ? v : NULL, out);
            return;
        }
    buf_add_cstr(out, "<unknown type>");
}

static void scaler_targets(struct cells *c, const struct column *col, struct buf *out)
{
    struct json_items specs = json_items_at(c->object, "spec.metrics");
    struct json_items statuses = json_items_at(c->object, "status.currentMetrics");
    (void)col;
    if (!specs.n)
        buf_add_cstr(out, "<none>");
    for (size_t i = 0; i < specs.n && i < MAX_METRICS; i++) {
        if (i)
            buf_add_cstr(out, ", ");
        write_metric(c, &specs.v[i], i < statuses.n ? &statuses.v[i] : NULL, out);
    }
    if (specs.n > MAX_METRICS)
        buf_add_printf(out, " + %zu more...", specs.n - MAX_METRICS);
}

/* --- pod groups ------------------------------------------------------------------------------- */

static const struct json_value *last_condition(const struct json_value *object, const char *type)
{
    struct json_items conditions = json_items_at(object, "status.conditions");
    for (size_t i = conditions.n; i-- > 0;)
        if (str_is(json_text_at(&conditions.v[i], "type"), type))
            return &conditions.v[i];
    return NULL;
}

static void group_policy(struct cells *c, const struct column *col, struct buf *out)
{
    (void)col;
    buf_add_cstr(out, is_set(json_at(c->object, "spec.schedulingPolicy.gang")) ? "Gang" : "Basic");
}

static void group_status(struct cells *c, const struct column *col, struct buf *out)
{
    const struct json_value *scheduled = last_condition(c->object, "PodGroupScheduled");
    const struct json_value *disrupted = last_condition(c->object, "DisruptionTarget");
    (void)col;
    if (disrupted)
        buf_add_str(out, json_text_at(disrupted, "reason"));
    else if (scheduled)
        buf_add_cstr(out, str_is(json_text_at(scheduled, "status"), "True") ? "Scheduled"
                                                                            : "Unschedulable");
    else
        buf_add_cstr(out, "Pending");
}

static void group_workload(struct cells *c, const struct column *col, struct buf *out)
{
    if (is_set(json_at(c->object, "spec.podGroupTemplateRef")))
        cell_text_at(c, col, out);
    else
        buf_add_cstr(out, "<none>");
}

/* --- the table -------------------------------------------------------------------------------- */

#define TEMPLATE_CONTAINERS CONTAINER_COLUMNS("spec.template.spec.containers")
#define SELECTOR_COLUMN(p)               \
    {.name = "Selector",                 \
     .type = "string",                   \
     .description = "Selects its pods.", \
     .text = cell_selector_at,           \
     .path = (p),                        \
     .priority = 1}

/* clang-format off */
const struct printer table_workload_printers[] = {
    PRINTER("apps", "deployments", NAME_COLUMN,
        CELL_COLUMN("Ready", "Pods that are ready, of those wanted.", cell_ready_replicas),
        {.name = "Up-to-date", .type = "string", .description = "Pods of the current template.",
         .json = cell_int_at, .path = "status.updatedReplicas"},
        {.name = "Available", .type = "string", .description = "Pods that are available.",
         .json = cell_int_at, .path = "status.availableReplicas"},
        AGE_COLUMN, TEMPLATE_CONTAINERS,
        CELL_COLUMN("Selector", "Selects its pods.", deployment_selector,
            .path = "spec.selector", .priority = 1)),
    PRINTER("apps", "replicasets", NAME_COLUMN,
        INT_COLUMN("Desired", "Pods wanted.", "spec.replicas"),
        INT_COLUMN("Current", "Pods that exist.", "status.replicas"),
        INT_COLUMN("Ready", "Pods that are ready.", "status.readyReplicas"), AGE_COLUMN,
        TEMPLATE_CONTAINERS, SELECTOR_COLUMN("spec.selector")),
    PRINTER("apps", "statefulsets", NAME_COLUMN,
        CELL_COLUMN("Ready", "Pods that are ready, of those wanted.", cell_ready_replicas),
            AGE_COLUMN,
        TEMPLATE_CONTAINERS),
    PRINTER("apps", "daemonsets", NAME_COLUMN,
        INT_COLUMN("Desired", "Nodes that should run a pod.", "status.desiredNumberScheduled"),
        INT_COLUMN("Current", "Nodes that run a pod and should.",
            "status.currentNumberScheduled"),
        INT_COLUMN("Ready", "Nodes with a ready pod.", "status.numberReady"),
        INT_COLUMN("Up-to-date", "Nodes with a pod of the current template.",
            "status.updatedNumberScheduled"),
        INT_COLUMN("Available", "Nodes with an available pod.", "status.numberAvailable"),
        CELL_COLUMN("Node Selector", "Labels of the nodes.", cell_labels_at,
            .path = "spec.template.spec.nodeSelector"),
        AGE_COLUMN, TEMPLATE_CONTAINERS, SELECTOR_COLUMN("spec.selector")),
    PRINTER("apps", "controllerrevisions", NAME_COLUMN,
        CELL_COLUMN("Controller", "The controller that it belongs to.", revision_controller,
            .otherwise = "<none>"),
        {.name = "Revision", .type = "string", .description = "Its number.", .json = cell_int_at,
         .path = "revision"},
        AGE_COLUMN),
    PRINTER("batch", "jobs", NAME_COLUMN,
        CELL_COLUMN("Status", "State of the job.", job_status),
        CELL_COLUMN("Completions", "Pods that succeeded, of those wanted.", job_completions),
        CELL_COLUMN("Duration", "Time from its start to its completion.", job_duration),
        AGE_COLUMN, TEMPLATE_CONTAINERS, SELECTOR_COLUMN("spec.selector")),
    PRINTER("batch", "cronjobs", NAME_COLUMN,
        TEXT_COLUMN("Schedule", "When jobs start, in cron's syntax.", "spec.schedule"),
        TEXT_COLUMN("Timezone", "Time zone of the schedule.", "spec.timeZone",
            .otherwise = "<none>"),
        {.name = "Suspend", .type = "boolean", .description = "Whether it starts no jobs.",
         .text = cell_yes_no_at, .path = "spec.suspend", .otherwise = "<unset>"},
        {.name = "Active", .type = "integer", .description = "Jobs that run.",
            .json = cell_count_at,
         .path = "status.active"},
        CELL_COLUMN("Last Schedule", "Time since the last start.", cell_age_at,
            .path = "status.lastScheduleTime", .otherwise = "<none>"),
        AGE_COLUMN, CONTAINER_COLUMNS("spec.jobTemplate.spec.template.spec.containers"),
        SELECTOR_COLUMN("spec.jobTemplate.spec.selector")),
    PRINTER("policy", "poddisruptionbudgets", NAME_COLUMN,
        CELL_COLUMN("Min Available", "Pods that must stay available.", cell_int_or_string_at,
            .path = "spec.minAvailable", .otherwise = "N/A"),
        CELL_COLUMN("Max Unavailable", "Pods that may be unavailable.", cell_int_or_string_at,
            .path = "spec.maxUnavailable", .otherwise = "N/A"),
        INT_COLUMN("Allowed Disruptions", "Pods that may be evicted now.",
            "status.disruptionsAllowed"),
        AGE_COLUMN),
    PRINTER("autoscaling", "horizontalpodautoscalers", NAME_COLUMN,
        CELL_COLUMN("Reference", "What it scales.", scaler_reference),
        CELL_COLUMN("Targets", "Metrics: current/target.", scaler_targets),
        CELL_COLUMN("MinPods", "Fewest pods.", cell_number_at, .path = "spec.minReplicas",
            .otherwise = "<unset>"),
        {.name = "MaxPods", .type = "string", .description = "Most pods.", .json = cell_int_at,
         .path = "spec.maxReplicas"},
        {.name = "Replicas", .type = "string", .description = "Pods that exist.",
         .json = cell_int_at, .path = "status.currentReplicas"},
        AGE_COLUMN),
    PRINTER("scheduling.k8s.io", "priorityclasses", NAME_COLUMN,
        INT_COLUMN("Value", "Priority of its pods.", "value"),
        BOOL_COLUMN("Global-Default", "Whether pods without a class get it.", "globalDefault"),
        AGE_COLUMN,
        TEXT_COLUMN("PreemptionPolicy", "Whether its pods may preempt others.",
            "preemptionPolicy")),
    PRINTER("scheduling.k8s.io", "podgroups", NAME_COLUMN,
        CELL_COLUMN("Policy", "Whether all pods are placed together.", group_policy),
        CELL_COLUMN("Workload", "The workload that it belongs to.", group_workload,
            .path = "spec.podGroupTemplateRef.workload.workloadName"),
        CELL_COLUMN("Status", "Whether it is scheduled.", group_status), AGE_COLUMN),
    PRINTER("scheduling.k8s.io", "workloads", NAME_COLUMN, AGE_COLUMN),
};
const size_t n_table_workload_printers = ARRAY_LEN(table_workload_printers);
/* clang-format on */
