/* SPDX-License-Identifier: Apache-2.0 */
#include "node_random.h"

#include "base/buf.h"
#include "plugin_trial.h"

#define NODES 70 /* more than one word of a set */
#define PODS  40
#define ASKED 12 /* pods that are used again and again */

static size_t pick(struct rand *r, size_t n)
{
    return (size_t)rand_below(r, n);
}

#define PICK(r, ...)         \
    (((const char *const[]){ \
        __VA_ARGS__})[pick((r), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))])

/* Appends n elements separated by commas. */
static void list(struct buf *out, struct rand *r, size_t n, void one(struct buf *, struct rand *))
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(out, ',');
        one(out, r);
    }
}

static const char *value(struct rand *r)
{
    return PICK(r, "", "a", "b", "1", "5", "+7", "-2", "x y");
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void labels(struct buf *out, struct rand *r)
{
    bool first = true;
    for (char key = 'k'; key <= 'n'; key++) {
        if (pick(r, 2))
            continue;
        buf_add_printf(out, "%s'%c':'%s'", first ? "" : ",", key,
                       PICK(r, "", "a", "b", "1", "5", "7"));
        first = false;
    }
}

static void taint(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'key':'%s','value':'%s','effect':'%s'}", PICK(r, "k", "l"),
                   PICK(r, "", "a", "1", "5", "007"),
                   PICK(r, "NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute", "?"));
}

static void node_image(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'names':['%s','%s'],'sizeBytes':%llu}",
                   PICK(r, "web:1", "web:latest", "host:5000/db:latest"),
                   PICK(r, "web@sha256:0", "db:latest", "web:1"),
                   (unsigned long long)rand_below(r, (uint64_t)2000 << 20));
}

static void feature(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "'%s'",
                   PICK(r, "Another", "RestartAllContainersOnContainerExits",
                        "UserNamespacesHostNetworkSupport"));
}

static void annotation(struct buf *out, struct rand *r)
{
    buf_add_cstr(out, "'scheduler.alpha.kubernetes.io/preferAvoidPods':'");
    if (pick(r, 4))
        buf_add_printf(out,
                       "{`preferAvoidPods`:[{`podSignature`:{`podController`:{"
                       "`kind`:`%s`,`uid`:`%s`}}}]}",
                       PICK(r, "ReplicaSet", "Job"), PICK(r, "u1", "u2"));
    else
        buf_add_cstr(out, PICK(r, "", "{", "[]", "{}"));
    buf_add_cstr(out, "'");
}

struct object *node_random_node(struct rand *r, size_t i)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text, "{'metadata':{'name':'n%zu','labels':{", i);
    labels(&text, r);
    buf_add_cstr(&text, "},'annotations':{");
    list(&text, r, pick(r, 4) == 0, annotation);
    buf_add_printf(&text, "}},'spec':{'unschedulable':%s,'taints':[",
                   pick(r, 4) ? "false" : "true");
    list(&text, r, pick(r, 3), taint);
    buf_add_cstr(&text, "]},'status':{'images':[");
    list(&text, r, pick(r, 3), node_image);
    buf_add_cstr(&text, "],'declaredFeatures':[");
    list(&text, r, pick(r, 3), feature);
    buf_add_cstr(&text, "]}}");
    struct object *o = object_jsonf(KIND_NODE, "%s", buf_cstr(&text));
    buf_release(&text);
    return o;
}

/* --- pods ------------------------------------------------------------------------------------- */

static void toleration(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'key':'%s','operator':'%s','value':'%s','effect':'%s'}",
                   PICK(r, "", "k", "l", "node.kubernetes.io/unschedulable"),
                   PICK(r, "", "Equal", "Exists", "Lt", "Gt", "?"), PICK(r, "", "a", "3", "007"),
                   PICK(r, "", "NoSchedule", "PreferNoSchedule", "NoExecute"));
}

static void expression(struct buf *out, struct rand *r)
{
    const char *op = PICK(r, "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "?");
    size_t n = strcmp(op, "Exists") && strcmp(op, "DoesNotExist") ? 1 + pick(r, 2) : 0;
    buf_add_printf(out, "{'key':'%s','operator':'%s','values':[", PICK(r, "k", "l", "m", "n"), op);
    for (size_t i = 0; i < n; i++)
        buf_add_printf(out, "%s'%s'", i ? "," : "", value(r));
    buf_add_cstr(out, "]}");
}

/* A term that preferred affinity may have: PreScore fails on others. */
static void sane_expression(struct buf *out, struct rand *r)
{
    const char *op = PICK(r, "In", "NotIn", "Gt", "Lt");
    buf_add_printf(out, "{'key':'%s','operator':'%s','values':['%s']}", PICK(r, "k", "l", "m", "n"),
                   op, PICK(r, "1", "5", "7"));
}

static void field_expression(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'key':'metadata.name','operator':'%s','values':['n%zu']}",
                   PICK(r, "In", "In", "NotIn"), pick(r, 6));
}

static void term(struct buf *out, struct rand *r)
{
    buf_add_cstr(out, "{'matchExpressions':[");
    list(out, r, pick(r, 3), expression);
    buf_add_cstr(out, "],'matchFields':[");
    list(out, r, pick(r, 4) == 0, field_expression);
    buf_add_cstr(out, "]}");
}

static void preferred_term(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'weight':%d,'preference':{'matchExpressions':[", (int)pick(r, 100));
    list(out, r, pick(r, 3), sane_expression);
    buf_add_cstr(out, "],'matchFields':[");
    list(out, r, pick(r, 4) == 0, field_expression);
    buf_add_cstr(out, "]}}");
}

static void affinity(struct buf *out, struct rand *r)
{
    buf_add_cstr(out, ",'affinity':{'nodeAffinity':{");
    if (pick(r, 2)) {
        buf_add_cstr(out,
                     "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[");
        list(out, r, pick(r, 3), term);
        buf_add_cstr(out, "]},");
    }
    buf_add_cstr(out, "'preferredDuringSchedulingIgnoredDuringExecution':[");
    list(out, r, pick(r, 3), preferred_term);
    buf_add_cstr(out, "]}}");
}

static void port(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'hostPort':%d,'containerPort':1,'hostIP':'%s','protocol':'%s'}",
                   (int)pick(r, 3), PICK(r, "", "0.0.0.0", "10.0.0.1", "10.0.0.2"),
                   PICK(r, "", "TCP", "UDP"));
}

static void container(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'name':'c','image':'%s','restartPolicy':'%s','ports':[",
                   PICK(r, "web", "web:1", "host:5000/db", "db", ""), PICK(r, "", "Always"));
    list(out, r, pick(r, 4) == 0, port);
    buf_add_printf(out, "],'restartPolicyRules':[%s]}",
                   pick(r, 8) ? "" : "{'action':'RestartAllContainers'}");
}

static void volume(struct buf *out, struct rand *r)
{
    buf_add_printf(out, "{'name':'v',%s}", PICK(r, "'image':{'reference':'web'}", "'emptyDir':{}"));
}

struct object *node_random_pod(struct rand *r, size_t i, const char *node)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text,
                   "{'metadata':{'name':'p%zu','uid':'p%zu','ownerReferences':[{"
                   "'kind':'%s','uid':'%s','controller':%s}]},'spec':{"
                   "'nodeName':'%s','hostNetwork':%s,'hostUsers':%s,'nodeSelector':{",
                   i, i, PICK(r, "ReplicaSet", "Job"), PICK(r, "u1", "u2"),
                   PICK(r, "true", "false"), node, PICK(r, "true", "false", "false"),
                   PICK(r, "true", "false"));
    if (pick(r, 3) == 0)
        labels(&text, r);
    buf_add_cstr(&text, "},'tolerations':[");
    list(&text, r, pick(r, 3), toleration);
    buf_add_cstr(&text, "],'containers':[");
    list(&text, r, pick(r, 3), container);
    buf_add_cstr(&text, "],'initContainers':[");
    list(&text, r, pick(r, 2), container);
    buf_add_cstr(&text, "],'volumes':[");
    list(&text, r, pick(r, 2), volume);
    buf_add_cstr(&text, "]");
    if (pick(r, 2))
        affinity(&text, r);
    buf_add_cstr(&text, "}}");
    struct object *o = object_jsonf(KIND_POD, "%s", buf_cstr(&text));
    buf_release(&text);
    return o;
}

/* --- batches against single forms ------------------------------------------------------------- */

/* A cluster that changes. */
struct world {
    struct fixture f;
    struct object *nodes[NODES], *pods[PODS], *asked[ASKED];
};

/* Replaces *at by the new object; NULL means that there is none. */
static void change(struct world *w, struct object **at, struct object *after)
{
    struct object *before = *at;
    *at = after;
    if (before && after)
        fixture_update(&w->f, before, object_ref(after));
    else if (after)
        fixture_add(&w->f, object_ref(after));
    else if (before)
        fixture_delete(&w->f, before);
}

static void step(struct world *w, struct rand *r, size_t size)
{
    size_t node = pick(r, MIN(size, (size_t)NODES)), pod = pick(r, PODS);
    const char *name = textf("n%zu", node);
    switch (pick(r, 8)) {
    case 0:
        change(w, &w->nodes[node], NULL);
        break;
    case 1:
    case 2:
        /* A pod's node does not change. */
        change(w, &w->pods[pod], NULL);
        change(w, &w->pods[pod], node_random_pod(r, pod, name));
        break;
    case 3:
        change(w, &w->pods[pod], NULL);
        break;
    default:
        change(w, &w->nodes[node], node_random_node(r, node));
    }
}

static bool ask(struct world *w, const char *plugin, struct object *pod)
{
    struct trial t;
    trial_begin(&t, &w->f, plugin, object_ref(pod));
    /* NodeAffinity also scores and returns scores even if its filter was skipped. */
    bool skipped = t.pre_filter == BERTH_SKIP && !t.handle->plugin->score;
    bool ok = skipped || trial_batches_agree(&t);
    trial_end(&t);
    return ok;
}

bool node_random_agree(struct rand *r, size_t size, void *ctx)
{
    const struct node_random_plugin *plugin = ctx;
    struct world w = {0};
    bool ok = true;
    fixture_init(&w.f, plugin->config, NULL);
    for (size_t i = 0; i < ASKED; i++)
        w.asked[i] = node_random_pod(r, PODS + i, pick(r, 4) ? "" : "n1");
    for (size_t i = 0; ok && i < 3 * size; i++) {
        step(&w, r, size);
        if (pick(r, 2))
            ok = ask(&w, plugin->name, w.asked[pick(r, ASKED)]);
    }
    for (size_t i = 0; i < NODES; i++)
        object_unref(w.nodes[i]);
    for (size_t i = 0; i < PODS; i++)
        object_unref(w.pods[i]);
    for (size_t i = 0; i < ASKED; i++)
        object_unref(w.asked[i]);
    fixture_release(&w.f);
    return ok;
}
