/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission_limits.c - LimitRanger: defaults of containers, and minima, maxima and ratios of
 * containers, pods and claims.
 */
#include "apiserver/admission/admission_internal.h"
#include "apiserver/types/amounts.h"
#include "base/vec.h"

#define ANNOTATION "kubernetes.io/limit-ranger"

/* Above this a value in thousandths would overflow (upstream: MaxMilliValue). */
#define MAX_MILLI_VALUE (INT64_MAX / 1000)

static bool is_relevant(const struct admission *adm)
{
    bool pod = admission_is(adm, "", "pods");
    if (json_at(adm->old, "metadata.deletionTimestamp"))
        return false;
    if (pod && adm->operation == ADMIT_UPDATE)
        return str_is(adm->subresource, "resize");
    return str_empty(adm->subresource) && (pod || admission_is(adm, "", "persistentvolumeclaims"));
}

/* --- defaults --------------------------------------------------------------------------------- */

static int cmp_str(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

/* Adds "cpu, memory request for container web" to the text if something was set. */
static void set_missing(struct json_value *container, const char *what,
                        struct json_members defaults, const char *kind, struct buf *text,
                        struct arena *a)
{
    VEC(struct str) names = {0};
    bool limits = str_is(str_of(what), "limit");
    for (size_t i = 0; i < defaults.n; i++) {
        struct json_value *resources = json_set_object(container, STR("resources"), a);
        struct json_value *list =
            json_set_object(resources, limits ? STR("limits") : STR("requests"), a);
        if (json_get(list, defaults.v[i].key))
            continue;
        json_set(list, defaults.v[i].key, defaults.v[i].value, a);
        vec_push(&names, defaults.v[i].key);
    }
    if (names.n > 0) {
        qsort(names.v, names.n, sizeof(*names.v), cmp_str);
        buf_add_cstr(text, text->n ? "; " : "");
        for (size_t i = 0; i < names.n; i++)
            buf_add_printf(text, "%s%.*s", i ? ", " : "", STR_ARG(names.v[i]));
        buf_add_printf(text, " %s for %s %.*s", what, kind,
                       STR_ARG(json_text_at(container, "name")));
    }
    vec_release(&names);
}

/* The defaults of all items of the range for containers; later ones replace earlier ones. */
static struct json_value container_defaults(const struct json_value *range, const char *member,
                                            struct arena *a)
{
    struct json_value all = json_object();
    struct json_items limits = json_items_at(range, "spec.limits");
    for (size_t i = 0; i < limits.n; i++) {
        if (!str_is(json_text_at(&limits.v[i], "type"), "Container"))
            continue;
        struct json_members defaults = json_members_at(&limits.v[i], member);
        for (size_t j = 0; j < defaults.n; j++)
            json_set(&all, defaults.v[j].key, defaults.v[j].value, a);
    }
    return all;
}

static void set_defaults(struct admission *adm, const struct json_value *range)
{
    static const struct {
        const char *list, *kind;
    } lists[] = {{"containers", "container"}, {"initContainers", "init container"}};
    struct json_value requests = container_defaults(range, "defaultRequest", adm->arena);
    struct json_value limits = container_defaults(range, "default", adm->arena);
    if (requests.n_members + limits.n_members == 0)
        return;
    struct json_value *spec = json_set_object(adm->object, STR("spec"), adm->arena);
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct json_value *containers = json_member(spec, str_of(lists[i].list));
        for (size_t j = 0; containers && containers->kind == JSON_ARRAY && j < containers->n; j++) {
            set_missing(&containers->items[j], "request",
                        (struct json_members){requests.members, requests.n_members}, lists[i].kind,
                        &text, adm->arena);
            set_missing(&containers->items[j], "limit",
                        (struct json_members){limits.members, limits.n_members}, lists[i].kind,
                        &text, adm->arena);
        }
    }
    if (text.n > 0) {
        struct json_value *metadata = json_set_object(adm->object, STR("metadata"), adm->arena);
        struct str value =
            arena_printf(adm->arena, "LimitRanger plugin set: %.*s", STR_ARG(buf_str(&text)));
        json_set(json_set_object(metadata, STR("annotations"), adm->arena), STR(ANNOTATION),
                 json_text(value), adm->arena);
    }
    buf_release(&text);
}

int limit_ranger_admit(struct admission *adm, struct api_status *ret_status)
{
    (void)ret_status;
    if (!is_relevant(adm) || !admission_is(adm, "", "pods"))
        return 0;
    struct admission_range range;
    admission_range_init(&range, adm, "", "limitranges", adm->namespace, STR(""));
    const struct revision *rev;
    while ((rev = admission_range_next(&range)))
        set_defaults(adm, admission_parse(adm, rev));
    return 0;
}

/* --- constraints ------------------------------------------------------------------------------ */

/* What is checked: a container, a pod or a claim. */
struct subject {
    struct amounts requests, limits;
    bool requests_only; /* a claim: its limits do not count */
};

struct checker {
    struct arena *arena;
    struct str type; /* "Container" */
    VEC(struct str) problems;
};

struct compared {
    struct str name;
    const struct quantity *request, *limit, *enforced; /* request, limit: NULL: none */
    int64_t request_value, limit_value, enforced_value;
};

/* Values in thousandths if all of them fit. */
static struct compared compare(const struct subject *subject, const struct quantity_entry *enforced)
{
    static const struct quantity zero;
    struct compared c = {.name = enforced->key, .enforced = &enforced->value};
    c.request = amounts_get(&subject->requests, enforced->key);
    c.limit = subject->requests_only ? NULL : amounts_get(&subject->limits, enforced->key);
    const struct quantity *request = c.request ? c.request : &zero;
    const struct quantity *limit = c.limit ? c.limit : &zero;
    c.request_value = quantity_value(request);
    c.limit_value = quantity_value(limit);
    c.enforced_value = quantity_value(c.enforced);
    if (c.request_value <= MAX_MILLI_VALUE && c.limit_value <= MAX_MILLI_VALUE &&
        c.enforced_value <= MAX_MILLI_VALUE) {
        c.request_value = quantity_milli_value(request);
        c.limit_value = quantity_milli_value(limit);
        c.enforced_value = quantity_milli_value(c.enforced);
    }
    return c;
}

/* "minimum cpu usage per Pod is 1, but request is 500m"; q: NULL: none was specified. */
static void add_problem(struct checker *k, const char *which, const struct compared *c,
                        const char *what, const struct quantity *q)
{
    struct str bound = quantity_text(c->enforced, k->arena), text;
    if (q)
        text = arena_printf(k->arena, "%s %.*s usage per %.*s is %.*s, but %s is %.*s", which,
                            STR_ARG(c->name), STR_ARG(k->type), STR_ARG(bound), what,
                            STR_ARG(quantity_text(q, k->arena)));
    else
        text = arena_printf(k->arena, "%s %.*s usage per %.*s is %.*s.  No %s is specified", which,
                            STR_ARG(c->name), STR_ARG(k->type), STR_ARG(bound), what);
    vec_push(&k->problems, text);
}

static void check_min(struct checker *k, struct compared c)
{
    if (!c.request || c.request_value < c.enforced_value)
        add_problem(k, "minimum", &c, "request", c.request);
    else if (c.limit && c.limit_value < c.enforced_value)
        add_problem(k, "minimum", &c, "limit", c.limit);
}

static void check_max(struct checker *k, struct compared c, bool requests_only)
{
    if (!requests_only && (!c.limit || c.limit_value > c.enforced_value))
        add_problem(k, "maximum", &c, "limit", c.limit);
    else if ((requests_only && !c.request) || (c.request && c.request_value > c.enforced_value))
        add_problem(k, "maximum", &c, "request", c.request);
}

static void check_ratio(struct checker *k, struct compared c)
{
    struct str bound = quantity_text(c.enforced, k->arena), text;
    const char *missing = !c.request || c.request_value == 0 ? "request"
                          : !c.limit || c.limit_value == 0   ? "limit"
                                                             : NULL;
    if (missing) {
        text = arena_printf(k->arena,
                            "%.*s max limit to request ratio per %.*s is %.*s, but no %s is "
                            "specified or %s is 0",
                            STR_ARG(c.name), STR_ARG(k->type), STR_ARG(bound), missing, missing);
        vec_push(&k->problems, text);
        return;
    }
    double ratio = (double)c.limit_value / (double)c.request_value;
    bool fine = quantity_value(c.enforced) <= MAX_MILLI_VALUE;
    double bound_value =
        (double)(fine ? quantity_milli_value(c.enforced) : quantity_value(c.enforced));
    if ((fine ? ratio * 1000 : ratio) <= bound_value)
        return;
    text = arena_printf(
        k->arena, "%.*s max limit to request ratio per %.*s is %.*s, but provided ratio is %f",
        STR_ARG(c.name), STR_ARG(k->type), STR_ARG(bound), ratio);
    vec_push(&k->problems, text);
}

static void check_subject(struct checker *k, const struct json_value *limit,
                          const struct subject *subject)
{
    struct amounts min = amounts_of(json_at(limit, "min"), k->arena);
    struct amounts max = amounts_of(json_at(limit, "max"), k->arena);
    struct amounts ratio = amounts_of(json_at(limit, "maxLimitRequestRatio"), k->arena);
    for (size_t i = 0; i < min.n; i++)
        check_min(k, compare(subject, &min.v[i]));
    for (size_t i = 0; i < max.n; i++)
        check_max(k, compare(subject, &max.v[i]), subject->requests_only);
    for (size_t i = 0; i < ratio.n && !subject->requests_only; i++)
        check_ratio(k, compare(subject, &ratio.v[i]));
}

/* --- subjects --------------------------------------------------------------------------------- */

static struct amounts container_amounts(const struct json_value *container, bool limits,
                                        struct arena *a)
{
    return amounts_of(json_at(container, limits ? "resources.limits" : "resources.requests"), a);
}

/* Sets the amount of that name to the one in `from`, if it has one. */
static void replace_amount(struct amounts *list, const struct amounts *from, struct str name,
                           struct arena *a)
{
    const struct quantity *q = amounts_get(from, name);
    if (!q)
        return;
    struct amounts kept = {0};
    for (size_t i = 0; i < list->n; i++)
        if (!str_eq(list->v[i].key, name))
            amounts_push(&kept, list->v[i].key, &list->v[i].value, a);
    amounts_push(&kept, name, q, a);
    amounts_sum(&kept);
    *list = kept;
}

/*
 * Requests or limits of a pod: containers and sidecars together, at least what init containers
 * need beside the sidecars that run before them, or the pod's own for cpu and memory. Overhead does
 * not count here.
 */
static struct amounts pod_amounts(const struct json_value *pod, bool limits, struct arena *a)
{
    struct amounts sum = {0}, sidecars = {0}, init = {0};
    struct json_items list = json_items_at(pod, "spec.containers");
    for (size_t i = 0; i < list.n; i++) {
        struct amounts one = container_amounts(&list.v[i], limits, a);
        amounts_push_all(&sum, one.v, one.n, a);
    }
    amounts_sum(&sum);
    list = json_items_at(pod, "spec.initContainers");
    for (size_t i = 0; i < list.n; i++) {
        struct amounts one = container_amounts(&list.v[i], limits, a);
        struct amounts together = amounts_add(&one, &sidecars, a);
        if (str_is(json_text_at(&list.v[i], "restartPolicy"), "Always")) {
            sum = amounts_add(&sum, &one, a);
            sidecars = together;
        }
        init = amounts_max(&init, &together, a);
    }
    sum = amounts_max(&sum, &init, a);
    struct amounts own =
        amounts_of(json_at(pod, limits ? "spec.resources.limits" : "spec.resources.requests"), a);
    replace_amount(&sum, &own, STR("cpu"), a);
    replace_amount(&sum, &own, STR("memory"), a);
    return sum;
}

static void check_containers(struct checker *k, const struct json_value *limit,
                             const struct json_value *pod, const char *list)
{
    struct json_items containers = json_items_at(pod, list);
    for (size_t i = 0; i < containers.n; i++) {
        struct subject subject = {container_amounts(&containers.v[i], false, k->arena),
                                  container_amounts(&containers.v[i], true, k->arena), false};
        check_subject(k, limit, &subject);
    }
}

static void check_pod(struct checker *k, const struct json_value *limit,
                      const struct json_value *pod)
{
    if (str_is(k->type, "Container")) {
        check_containers(k, limit, pod, "spec.containers");
        check_containers(k, limit, pod, "spec.initContainers");
    } else if (str_is(k->type, "Pod")) {
        struct subject subject = {pod_amounts(pod, false, k->arena),
                                  pod_amounts(pod, true, k->arena), false};
        check_subject(k, limit, &subject);
    }
}

/* One problem as it is, several as [a, b], none twice. */
static struct str join_problems(struct checker *k)
{
    struct buf text = BUF_INIT;
    struct map seen = MAP_INIT;
    size_t n = 0;
    for (size_t i = 0; i < k->problems.n; i++)
        if (!map_put(&seen, k->problems.v[i], &k->problems.v[i]))
            buf_add_printf(&text, "%s%.*s", n++ ? ", " : "", STR_ARG(k->problems.v[i]));
    map_release(&seen);
    struct str joined = arena_printf(k->arena, n > 1 ? "[%.*s]" : "%.*s", STR_ARG(buf_str(&text)));
    buf_release(&text);
    return joined;
}

static int check_range(struct admission *adm, const struct json_value *range,
                       struct api_status *ret_status)
{
    struct checker k = {.arena = adm->arena};
    bool pod = admission_is(adm, "", "pods");
    struct json_items limits = json_items_at(range, "spec.limits");
    for (size_t i = 0; i < limits.n; i++) {
        k.type = json_text_at(&limits.v[i], "type");
        if (pod) {
            check_pod(&k, &limits.v[i], adm->object);
        } else if (str_is(k.type, "PersistentVolumeClaim")) {
            struct subject subject = {
                .requests = amounts_of(json_at(adm->object, "spec.resources.requests"), k.arena),
                .requests_only = true};
            check_subject(&k, &limits.v[i], &subject);
        }
    }
    int code = 0;
    if (k.problems.n > 0) {
        struct str text = join_problems(&k);
        code = admission_forbid(adm, ret_status, "%.*s", STR_ARG(text));
    }
    vec_release(&k.problems);
    return code;
}

int limit_ranger_validate(struct admission *adm, struct api_status *ret_status)
{
    if (!is_relevant(adm))
        return 0;
    struct admission_range range;
    admission_range_init(&range, adm, "", "limitranges", adm->namespace, STR(""));
    const struct revision *rev;
    int code = 0;
    while (!code && (rev = admission_range_next(&range)))
        code = check_range(adm, admission_parse(adm, rev), ret_status);
    return code;
}
