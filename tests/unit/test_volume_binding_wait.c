/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeBinding's PreBind under random orders of answers, watch events, controllers and accidents:
 * a pod is bound only if its claims are, and nothing stays assumed or waited for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "plugin_trial.h"
#include "plugins/volume_binding/volumes.h"
#include "prop.h"

#define PODS   4
#define CLAIMS 5
#define LOCAL \
    3 /* volumes v0 … of class local; further ones are provisioned, vN for claim N - LOCAL */
#define ALL   (LOCAL + CLAIMS)
#define NODES 2

/* What the watch has shown of an object, and what it will show. */
struct watched {
    struct object *seen;
    VEC(struct object *) coming; /* NULL: its deletion */
};

struct server_volume {
    bool exists;
    int node;  /* that reaches it */
    int claim; /* -1: none */
    int version;
    struct watched watch;
};

struct server_claim {
    bool exists, local, bound;
    int selected; /* node; -1: none */
    int volume;   /* -1: none */
    int version;
    struct watched watch;
};

struct world {
    struct fixture f;
    struct rand *r;
    int version;
    struct server_volume volumes[ALL];
    struct server_claim claims[CLAIMS];
    int claims_of[PODS][2]; /* -1: none */
    bool pods[PODS], nodes[NODES];
    size_t n_bound, n_failed;
};

static int draw(struct world *w, int n)
{
    return (int)rand_below(w->r, (uint64_t)n);
}

/* --- objects ---------------------------------------------------------------------------------- */

static void show(struct watched *watch, struct object *o)
{
    vec_push(&watch->coming, o);
}

static void volume_changed(struct world *w, int i)
{
    struct server_volume *v = &w->volumes[i];
    v->version = ++w->version;
    show(&v->watch,
         !v->exists
             ? NULL
             : object_jsonf(KIND_PERSISTENT_VOLUME,
                            "{'metadata':{'name':'v%d','resourceVersion':'%d'},'spec':{"
                            "'storageClassName':'%s','capacity':{'storage':'5Gi'},'nodeAffinity':{"
                            "'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'host',"
                            "'operator':'In','values':['n%d']}]}]}}%s},'status':{'phase':'%s'}}",
                            i, v->version, i < LOCAL ? "local" : "csi", v->node,
                            v->claim < 0
                                ? ""
                                : textf(",'claimRef':{'namespace':'default','name':'c%d','uid':"
                                        "'uid-c%d'}",
                                        v->claim, v->claim),
                            v->claim < 0 ? "Available" : "Bound"));
}

static void claim_changed_now(struct world *w, int i)
{
    struct server_claim *c = &w->claims[i];
    c->version = ++w->version;
    show(&c->watch,
         !c->exists
             ? NULL
             : object_jsonf(
                   KIND_PERSISTENT_VOLUME_CLAIM,
                   "{'metadata':{'name':'c%d','namespace':'default','uid':'uid-c%d',"
                   "'resourceVersion':'%d','annotations':{'a':'b'%s%s}},'spec':{"
                   "'storageClassName':'%s','resources':{'requests':{'storage':'5Gi'}}%s}}",
                   i, i, c->version, c->bound ? ",'pv.kubernetes.io/bind-completed':'yes'" : "",
                   c->selected < 0
                       ? ""
                       : textf(",'volume.kubernetes.io/selected-node':'n%d'", c->selected),
                   c->local ? "local" : "csi",
                   c->volume < 0 ? "" : textf(",'volumeName':'v%d'", c->volume)));
}

static struct object *node_object(int i)
{
    return NODE(.name = textf("n%d", i), .labels = textf("host=n%d", i));
}

static struct object *pod_object(struct world *w, int i)
{
    const int *c = w->claims_of[i];
    return POD(.name = textf("p%d", i), .uid = textf("uid-p%d", i),
               .spec = textf(
                   "'volumes':[{'name':'a','persistentVolumeClaim':{'claimName':'c%d'}}%s]", c[0],
                   c[1] < 0 ? ""
                            : textf(",{'name':'b','persistentVolumeClaim':{'claimName':"
                                    "'c%d'}}",
                                    c[1])));
}

/* --- watch ------------------------------------------------------------------------------------ */

static void deliver(struct world *w, struct watched *watch)
{
    if (!watch->coming.n)
        return;
    struct object *now = watch->coming.v[0];
    vec_remove(&watch->coming, 0);
    if (watch->seen && now)
        fixture_update(&w->f, object_ref(watch->seen), object_ref(now));
    else if (now)
        fixture_add(&w->f, object_ref(now));
    else if (watch->seen)
        fixture_delete(&w->f, object_ref(watch->seen));
    object_unref(watch->seen);
    watch->seen = now;
}

static void deliver_all(struct world *w)
{
    for (int i = 0; i < ALL; i++)
        while (w->volumes[i].watch.coming.n)
            deliver(w, &w->volumes[i].watch);
    for (int i = 0; i < CLAIMS; i++)
        while (w->claims[i].watch.coming.n)
            deliver(w, &w->claims[i].watch);
}

static void deliver_one(struct world *w)
{
    int i = draw(w, ALL + CLAIMS);
    deliver(w, i < ALL ? &w->volumes[i].watch : &w->claims[i - ALL].watch);
}

/* --- requests --------------------------------------------------------------------------------- */

static int number_after(const char *text, const char *what)
{
    const char *at = strstr(text, what);
    assert_non_null(at);
    return at[strlen(what)] - '0';
}

static int version_in(const char *body)
{
    long long version;
    const char *at = strstr(body, "{\"metadata\":{\"resourceVersion\":\"");
    int n = at ? sscanf(at, "{\"metadata\":{\"resourceVersion\":\"%lld", &version) : 0;
    assert_int_equal(n, 1);
    return (int)version;
}

static struct object *latest(const struct watched *watch)
{
    return object_ref(watch->coming.n ? vec_last(&watch->coming) : watch->seen);
}

/* The object after the write; NULL: conflict or gone. */
static struct object *apply(struct world *w, const struct fixture_request *r)
{
    if (strstr(r->line, "persistentvolumes ")) {
        int i = number_after(r->line, "persistentvolumes v");
        struct server_volume *v = &w->volumes[i];
        if (!v->exists || v->version != version_in(r->body))
            return NULL;
        if (!strstr(r->body, "claimRef"))
            return latest(&v->watch);
        v->claim = number_after(r->body, "\"name\":\"c");
        volume_changed(w, i);
        return latest(&v->watch);
    }
    int i = number_after(r->line, "default/c");
    struct server_claim *c = &w->claims[i];
    if (!c->exists || c->version != version_in(r->body))
        return NULL;
    int node = number_after(r->body, "selected-node\":\"n");
    if (c->selected != node) {
        c->selected = node;
        claim_changed_now(w, i);
    }
    return latest(&c->watch);
}

static void answer_one(struct world *w, bool kindly)
{
    struct fixture_request *r = fixture_request(&w->f);
    if (!r)
        return;
    int how = kindly ? 9 : draw(w, 10);
    if (how == 0) {
        fixture_request_done(&w->f, r, 500, "refused", NULL);
        return;
    }
    struct object *o = apply(w, r);
    if (how == 1) { /* done, but the answer is lost */
        object_unref(o);
        fixture_request_done(&w->f, r, 0, "connection lost", NULL);
        return;
    }
    if (how < 4)
        deliver_one(w);
    fixture_request_done(&w->f, r, o ? 200 : 409, o ? "" : "conflict", o);
}

/* --- controllers and accidents ---------------------------------------------------------------- */

static void control(struct world *w)
{
    int i = draw(w, CLAIMS), volume = LOCAL + i;
    struct server_claim *c = &w->claims[i];
    if (!c->exists || c->bound)
        return;
    for (int k = 0; k < LOCAL; k++)
        if (w->volumes[k].exists && w->volumes[k].claim == i)
            volume = k;
    if (volume >= LOCAL && (c->local || c->selected < 0))
        return;
    if (volume >= LOCAL && draw(w, 4) == 0) { /* the provisioner gives up */
        c->selected = -1;
        claim_changed_now(w, i);
        return;
    }
    if (volume >= LOCAL) {
        w->volumes[volume].exists = true;
        w->volumes[volume].node = draw(w, 10) ? c->selected : 1 - c->selected;
        w->volumes[volume].claim = i;
        volume_changed(w, volume);
    }
    c->volume = volume;
    c->bound = true;
    claim_changed_now(w, i);
}

static void accident(struct world *w)
{
    int what = draw(w, 8), i;
    if (what == 0 && w->pods[i = draw(w, PODS)]) {
        w->pods[i] = false;
        fixture_delete(&w->f, pod_object(w, i));
    } else if (what == 1 && w->claims[i = draw(w, CLAIMS)].exists) {
        w->claims[i].exists = false;
        claim_changed_now(w, i);
    } else if (what == 2 && w->volumes[i = draw(w, ALL)].exists) {
        if (draw(w, 2))
            w->volumes[i].exists = false;
        else
            w->volumes[i].claim = -1;
        volume_changed(w, i);
    } else if (what == 3 && w->nodes[i = draw(w, NODES)]) {
        w->nodes[i] = false;
        fixture_delete(&w->f, node_object(i));
    } else if (what == 4) {
        fixture_pass(&w->f, 601 * INT64_C(1000000000));
    }
}

/* --- properties ------------------------------------------------------------------------------- */

static struct volumes *volumes_of(const struct fixture *f)
{
    return engine_host.shared(trial_instance(f, "VolumeBinding"), &volumes_type);
}

/* A pod is bound once its claims are. As upstream, a claim that was bound before is not looked at
 * again: it may have been deleted since. */
static bool bindings_are_complete(struct world *w)
{
    for (int i = 0; i < PODS; i++) {
        struct fixture_write *b = fixture_binding(&w->f, textf("p%d", i));
        for (int k = 0; b && k < 2; k++) {
            int c = w->claims_of[i][k];
            const struct object *seen = c < 0 ? NULL : w->claims[c].watch.seen;
            if (seen && !claim_is_bound(object_persistent_volume_claim(seen))) {
                print_error("p%d is bound to %s without c%d\n", i, b->node, c);
                return false;
            }
        }
        if (b) {
            w->n_bound++;
            fixture_answer(&w->f, b, 201, "");
        }
    }
    return true;
}

static bool nothing_is_left(struct world *w)
{
    const struct volumes *v = volumes_of(&w->f);
    bool ok = v->n_assumed_pvs == 0 && v->assumed_claims.n == 0 && v->waits.n == 0;
    if (!ok)
        print_error("%zu volumes and %zu claims are assumed, %zu objects are waited for\n",
                    v->n_assumed_pvs, v->assumed_claims.n, v->waits.n);
    return ok;
}

static void begin(struct world *w, struct rand *r)
{
    *w = (struct world){.r = r};
    fixture_init(&w->f, NULL, NULL);
    fixture_add(&w->f, object_jsonf(KIND_STORAGE_CLASS,
                                    "{'metadata':{'name':'local'},'provisioner':'%s',"
                                    "'volumeBindingMode':'WaitForFirstConsumer'}",
                                    NO_PROVISIONER));
    fixture_add(&w->f,
                object_jsonf(KIND_STORAGE_CLASS, "{'metadata':{'name':'csi'},'provisioner':'x.io',"
                                                 "'volumeBindingMode':'WaitForFirstConsumer'}"));
    for (int i = 0; i < NODES; i++) {
        w->nodes[i] = true;
        fixture_add(&w->f, node_object(i));
    }
    for (int i = 0; i < LOCAL; i++) {
        w->volumes[i] = (struct server_volume){.exists = true, .node = draw(w, 2), .claim = -1};
        volume_changed(w, i);
    }
    for (int i = 0; i < CLAIMS; i++) {
        w->claims[i] = (struct server_claim){
            .exists = true, .local = draw(w, 2), .selected = -1, .volume = -1};
        claim_changed_now(w, i);
    }
    deliver_all(w);
    for (int i = 0; i < PODS; i++) {
        w->pods[i] = true;
        w->claims_of[i][0] = draw(w, CLAIMS);
        w->claims_of[i][1] = draw(w, 2) ? -1 : (w->claims_of[i][0] + 1) % CLAIMS;
        fixture_add(&w->f, pod_object(w, i));
    }
}

static void end(struct world *w)
{
    for (int i = 0; i < ALL + CLAIMS; i++) {
        struct watched *watch = i < ALL ? &w->volumes[i].watch : &w->claims[i - ALL].watch;
        object_unref(watch->seen);
        vec_release(&watch->coming);
    }
    fixture_release(&w->f);
}

static bool any_order_is_safe(struct rand *r, size_t size, void *ctx)
{
    size_t *n_bound = ctx;
    struct world w;
    bool ok = true;
    begin(&w, r);
    for (size_t i = 0; ok && i < 30 + 2 * size; i++) {
        int what = draw(&w, 20);
        if (what < 5)
            fixture_schedule(&w.f);
        else if (what < 9)
            answer_one(&w, false);
        else if (what < 14)
            deliver_one(&w);
        else if (what < 18)
            control(&w);
        else if (what < 19)
            fixture_pass(&w.f, INT64_C(1000000000) * (1 + draw(&w, 20)));
        else if (draw(&w, 4) == 0)
            accident(&w);
        ok = bindings_are_complete(&w);
    }
    /* In the end every request is answered, every change is seen, and no wait is endless. */
    while (fixture_request(&w.f))
        answer_one(&w, true);
    for (int i = 0; i < PODS; i++)
        if (w.pods[i])
            fixture_delete(&w.f, pod_object(&w, i));
    deliver_all(&w);
    fixture_pass(&w.f, 601 * INT64_C(1000000000));
    ok = ok && nothing_is_left(&w);
    *n_bound += w.n_bound;
    end(&w);
    return ok;
}

static void nothing_leaks_in_any_order(void **state)
{
    (void)state;
    size_t n_bound = 0;
    assert_true(prop_run("pre-bind", 1000, any_order_is_safe, &n_bound));
    assert_true(n_bound >= prop_share(300));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_leaks_in_any_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
