/* SPDX-License-Identifier: Apache-2.0 */
/* VolumeBinding against a plain model: every claim looks at every volume on every node, as upstream
 * does, while volumes, claims, nodes and capacities change. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugin_trial.h"
#include "plugins/volume_binding/claim_kinds.h"
#include "prop.h"

#define NODES      5
#define VOLUMES    9
#define CLAIMS     5
#define CAPACITIES 3

enum class { LOCAL, CSI, N_CLASSES };
enum place { ANYWHERE, HOST, ZONE, NOT_ZONE, HOST_OR_ZONE, BROKEN, NOWHERE, N_PLACES };

static const char *const class_names[] = {"local", "csi"};
static const char *const mode_names[] = {"ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"};

struct place_args {
    enum place kind;
    int host, zone;
};

struct model_volume {
    bool exists;
    enum class class;
    int size, modes, tier;
    bool block, gold, deleting, available;
    struct place_args place;
    int claim;        /* that it names; -1: none */
    int claim_is_old; /* 0: no UID, 1: the claim's, 2: another one */
    struct object *object;
};

struct model_claim {
    enum class class;
    int size, modes, tier; /* tier -1: any */
    bool block, gold;
    int selected; /* node; -1: none */
    int bound;    /* to this volume; -1: none */
    struct object *object;
};

struct model_capacity {
    bool exists;
    int size, max; /* 0: not given */
    int zone;      /* -1: every node, -2: no topology */
    struct object *object;
};

struct model {
    struct fixture f;
    struct rand *r;
    int version;
    bool tracks, topologies; /* the driver's capacity; the class is allowed in zone 0 only */
    int zones[NODES];        /* -1: no label */
    struct object *nodes[NODES];
    struct model_volume volumes[VOLUMES];
    struct model_claim claims[CLAIMS];
    struct model_capacity capacities[CAPACITIES];
};

static int draw(struct model *m, int n)
{
    return (int)rand_below(m->r, (uint64_t)n);
}

static bool chance(struct model *m, int percent)
{
    return draw(m, 100) < percent;
}

/* --- objects ---------------------------------------------------------------------------------- */

static struct object *node_object(struct model *m, int i)
{
    return NODE(.name = textf("n%d", i), .version = textf("%d", ++m->version),
                .labels = m->zones[i] < 0 ? textf("host=n%d", i)
                                          : textf("host=n%d,zone=z%d", i, m->zones[i]));
}

static const char *term(const char *key, const char *op, const char *value)
{
    return textf("{'matchExpressions':[{'key':'%s','operator':'%s','values':['%s']}]}", key, op,
                 value);
}

static const char *affinity(struct place_args p)
{
    const char *host = term("host", "In", textf("n%d", p.host));
    const char *zone = term("zone", "In", textf("z%d", p.zone));
    const char *terms = p.kind == HOST           ? host
                        : p.kind == ZONE         ? zone
                        : p.kind == NOT_ZONE     ? term("zone", "NotIn", textf("z%d", p.zone))
                        : p.kind == HOST_OR_ZONE ? textf("%s,%s", host, zone)
                        : p.kind == BROKEN       ? textf("%s,%s", term("host", "Is", "n0"), zone)
                                                 : "";
    return p.kind == ANYWHERE
               ? ""
               : textf(",'nodeAffinity':{'required':{'nodeSelectorTerms':[%s]}}", terms);
}

static const char *modes_text(int modes)
{
    const char *text = "";
    for (int i = 0; i < 3; i++)
        if (modes >> i & 1)
            text = textf("%s%s'%s'", text, *text ? "," : "", mode_names[i]);
    return text;
}

static struct object *volume_object(struct model *m, int i)
{
    const struct model_volume *v = &m->volumes[i];
    const char *ref = v->claim < 0
                          ? ""
                          : textf(",'claimRef':{'namespace':'default','name':'c%d'%s}", v->claim,
                                  v->claim_is_old == 0   ? ""
                                  : v->claim_is_old == 1 ? textf(",'uid':'uid-c%d'", v->claim)
                                                         : ",'uid':'old'");
    return object_jsonf(
        KIND_PERSISTENT_VOLUME,
        "{'metadata':{'name':'v%d','resourceVersion':'%d','labels':{'tier':'t%d'}%s},'spec':{"
        "'storageClassName':'%s','capacity':{'storage':'%dGi'},'accessModes':[%s]%s%s%s%s},"
        "'status':{'phase':'%s'}}",
        i, ++m->version, v->tier, v->deleting ? ",'deletionTimestamp':'2026-01-01T00:00:00Z'" : "",
        class_names[v->class], v->size, modes_text(v->modes),
        v->block ? ",'volumeMode':'Block'" : "",
        v->gold ? ",'volumeAttributesClassName':'gold'" : "", affinity(v->place), ref,
        v->available ? "Available" : "Released");
}

static struct object *claim_object(struct model *m, int i)
{
    const struct model_claim *c = &m->claims[i];
    const char *notes =
        c->bound >= 0 ? ",'annotations':{'pv.kubernetes.io/bind-completed':'yes'}"
        : c->selected >= 0
            ? textf(",'annotations':{'volume.kubernetes.io/selected-node':'n%d'}", c->selected)
            : "";
    return object_jsonf(
        KIND_PERSISTENT_VOLUME_CLAIM,
        "{'metadata':{'name':'c%d','namespace':'default','uid':'uid-c%d','resourceVersion':'%d'%s},"
        "'spec':{'storageClassName':'%s','accessModes':[%s],'resources':{'requests':{'storage':"
        "'%dGi'}}%s%s%s%s}}",
        i, i, ++m->version, notes, class_names[c->class], modes_text(c->modes), c->size,
        c->block ? ",'volumeMode':'Block'" : "",
        c->gold ? ",'volumeAttributesClassName':'gold'" : "",
        c->tier >= 0 ? textf(",'selector':{'matchLabels':{'tier':'t%d'}}", c->tier) : "",
        c->bound >= 0 ? textf(",'volumeName':'v%d'", c->bound) : "");
}

static struct object *capacity_object(struct model *m, int i)
{
    const struct model_capacity *c = &m->capacities[i];
    return object_jsonf(
        KIND_CSI_STORAGE_CAPACITY,
        "{'metadata':{'name':'s%d','namespace':'kube-system','resourceVersion':'%d'},"
        "'storageClassName':'csi'%s%s%s}",
        i, ++m->version, c->size ? textf(",'capacity':'%dGi'", c->size) : "",
        c->max ? textf(",'maximumVolumeSize':'%dGi'", c->max) : "",
        c->zone == -2   ? ""
        : c->zone == -1 ? ",'nodeTopology':{}"
                        : textf(",'nodeTopology':{'matchLabels':{'zone':'z%d'}}", c->zone));
}

/* Adds, changes or (NULL) deletes. */
static void put(struct model *m, struct object **slot, struct object *now)
{
    if (*slot && now)
        fixture_update(&m->f, object_ref(*slot), object_ref(now));
    else if (now)
        fixture_add(&m->f, object_ref(now));
    else if (*slot)
        fixture_delete(&m->f, object_ref(*slot));
    object_unref(*slot);
    *slot = now;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void change_node(struct model *m, int i)
{
    m->zones[i] = draw(m, 3) - 1;
    put(m, &m->nodes[i], m->nodes[i] && chance(m, 20) ? NULL : node_object(m, i));
}

static void change_volume(struct model *m, int i)
{
    struct object *object = m->volumes[i].object;
    bool exists = !object || chance(m, 80);
    /* Sizes are distinct: upstream's choice among equal ones is random. */
    m->volumes[i] = (struct model_volume){
        .exists = exists,
        .class = (enum class)draw(m, N_CLASSES),
        .size = 1 + i + VOLUMES * draw(m, 2),
        .modes = 1 + draw(m, 7),
        .tier = draw(m, 2),
        .block = chance(m, 15),
        .gold = chance(m, 15),
        .deleting = chance(m, 10),
        .available = chance(m, 85),
        .place = {(enum place)draw(m, N_PLACES), draw(m, NODES), draw(m, 2)},
        .claim = chance(m, 25) ? draw(m, CLAIMS) : -1,
        .claim_is_old = draw(m, 3),
        .object = object,
    };
    put(m, &m->volumes[i].object, exists ? volume_object(m, i) : NULL);
}

static void change_claim(struct model *m, int i)
{
    struct object *object = m->claims[i].object;
    m->claims[i] = (struct model_claim){
        .class = (enum class)draw(m, N_CLASSES),
        .size = 1 + draw(m, 12),
        .modes = 1 << draw(m, 3),
        .tier = chance(m, 30) ? draw(m, 2) : -1,
        .block = chance(m, 10),
        .gold = chance(m, 10),
        .selected = chance(m, 15) ? draw(m, NODES) : -1,
        .bound = chance(m, 25) ? draw(m, VOLUMES) : -1,
        .object = object,
    };
    put(m, &m->claims[i].object, claim_object(m, i));
}

static void change_capacity(struct model *m, int i)
{
    struct object *object = m->capacities[i].object;
    bool exists = !object || chance(m, 80);
    m->capacities[i] = (struct model_capacity){.exists = exists,
                                               .size = draw(m, 14),
                                               .max = chance(m, 30) ? 1 + draw(m, 12) : 0,
                                               .zone = draw(m, 4) - 2,
                                               .object = object};
    put(m, &m->capacities[i].object, exists ? capacity_object(m, i) : NULL);
}

static void change(struct model *m)
{
    int what = draw(m, 10);
    if (what < 2)
        change_node(m, draw(m, NODES));
    else if (what < 6)
        change_volume(m, draw(m, VOLUMES));
    else if (what < 9)
        change_claim(m, draw(m, CLAIMS));
    else
        change_capacity(m, draw(m, CAPACITIES));
}

/* --- the model -------------------------------------------------------------------------------- */

static bool reaches(const struct model *m, struct place_args p, int node)
{
    bool zone = m->zones[node] == p.zone;
    return p.kind == ANYWHERE || (p.kind == HOST && p.host == node) || (p.kind == ZONE && zone) ||
           (p.kind == NOT_ZONE && !zone) || (p.kind == HOST_OR_ZONE && (zone || p.host == node)) ||
           (p.kind == BROKEN && zone);
}

/* Upstream: FindMatchingVolume. -1: none. taken: volumes of other claims, as bits. */
static int find_volume(const struct model *m, int claim, int node, unsigned taken)
{
    const struct model_claim *c = &m->claims[claim];
    int best = -1;
    for (int i = 0; i < VOLUMES; i++) {
        const struct model_volume *v = &m->volumes[i];
        bool own = v->claim == claim && v->claim_is_old != 2;
        if (!v->exists || v->class != c->class || (taken >> i & 1) || (v->claim >= 0 && !own) ||
            v->size < c->size || v->block != c->block || v->gold != c->gold || v->deleting)
            continue;
        if (own)
            return reaches(m, v->place, node) ? i : -1;
        if (!v->available || (c->tier >= 0 && v->tier != c->tier) || !reaches(m, v->place, node) ||
            (c->modes & ~v->modes))
            continue;
        if (best < 0 || v->size < m->volumes[best].size)
            best = i;
    }
    return best;
}

/* Upstream: checkVolumeProvisions. */
static unsigned check_provision(const struct model *m, int claim, int node)
{
    const struct model_claim *c = &m->claims[claim];
    if (c->class == LOCAL || (m->topologies && m->zones[node] != 0))
        return CONFLICT_BIND;
    bool room = !m->tracks;
    for (int i = 0; i < CAPACITIES; i++) {
        const struct model_capacity *s = &m->capacities[i];
        int limit = s->max ? s->max : s->size;
        room |= s->exists && limit >= c->size && s->zone != -2 &&
                (s->zone == -1 || s->zone == m->zones[node]);
    }
    return room ? 0 : CONFLICT_SPACE;
}

/* Two volumes of the pod that name the same claim decide by chance: such cases are left out. */
static bool is_ambiguous(const struct model *m, int claim)
{
    int n = 0;
    for (int i = 0; i < VOLUMES; i++)
        n += m->volumes[i].exists && m->volumes[i].claim == claim;
    return n > 1;
}

/* chosen: by claim of the pod; -1: provisioned or bound. */
static unsigned find_all(const struct model *m, const int *claims, int n, int node, int *chosen)
{
    unsigned conflict = 0, taken = 0;
    int unmatched[CLAIMS], n_unmatched = 0;
    for (int k = 0; k < n && !conflict; k++) {
        int bound = m->claims[claims[k]].bound;
        if (bound >= 0 && !m->volumes[bound].exists)
            conflict = CONFLICT_LOST;
        else if (bound >= 0 && !reaches(m, m->volumes[bound].place, node))
            conflict = CONFLICT_NODE;
    }
    for (int k = 0; k < n; k++) {
        const struct model_claim *c = &m->claims[claims[k]];
        chosen[k] = -1;
        if (c->bound < 0 && c->selected >= 0 && c->selected != node)
            return conflict | CONFLICT_BIND;
        if (c->bound < 0 && c->selected == node)
            unmatched[n_unmatched++] = claims[k];
    }
    for (int size = 1; size <= 12; size++)
        for (int k = 0; k < n; k++) {
            const struct model_claim *c = &m->claims[claims[k]];
            if (c->bound >= 0 || c->selected >= 0 || c->size != size)
                continue;
            chosen[k] = find_volume(m, claims[k], node, taken);
            if (chosen[k] >= 0)
                taken |= 1U << chosen[k];
            else
                unmatched[n_unmatched++] = claims[k];
        }
    for (int k = 0; k < n_unmatched; k++) {
        unsigned why = check_provision(m, unmatched[k], node);
        if (why)
            return conflict | why;
    }
    return conflict;
}

/* --- comparison ------------------------------------------------------------------------------- */

static const char *text_of(unsigned conflict)
{
    static const char *const texts[] = {
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) didn't find available persistent volumes to bind",
        "node(s) did not have enough free storage",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
    };
    const char *text = "";
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (conflict >> i & 1)
            text = textf("%s%s%s", text, *text ? ", " : "", texts[i]);
    return text;
}

/* Draws different claims. False if the result would depend on chance. */
static bool draw_claims(struct model *m, int *claims, int *ret_n)
{
    int n = 0;
    unsigned used = 0;
    for (int wanted = 1 + draw(m, 3); n < wanted;) {
        int c = draw(m, CLAIMS);
        if (used >> c & 1)
            continue;
        used |= 1U << c;
        claims[n++] = c;
        if (is_ambiguous(m, c))
            return false;
    }
    *ret_n = n;
    return true;
}

static const char *pod_spec(const int *claims, int n)
{
    const char *text = "";
    for (int k = 0; k < n; k++)
        text = textf("%s%s{'name':'v%d','persistentVolumeClaim':{'claimName':'c%d'}}", text,
                     k ? "," : "", k, claims[k]);
    return textf("'volumes':[%s]", text);
}

/* Filter of every node, in both forms. */
static bool verdicts_agree(struct model *m)
{
    int claims[CLAIMS], chosen[CLAIMS], n;
    struct trial t;
    if (!draw_claims(m, claims, &n))
        return true;
    trial_begin(&t, &m->f, "VolumeBinding", POD(.spec = pod_spec(claims, n)));
    bool ok = t.pre_filter == BERTH_SUCCESS && trial_batches_agree(&t);
    for (int node = 0; ok && node < NODES; node++) {
        if (!m->nodes[node])
            continue;
        const char *want = text_of(find_all(m, claims, n, node, chosen));
        enum berth_code code = trial_filter(&t, textf("n%d", node));
        ok = strcmp(t.text, want) == 0 && (code == BERTH_SUCCESS) == (*want == '\0');
        if (!ok)
            print_error("%s on n%d: \"%s\", expected \"%s\"\n", pod_spec(claims, n), node, t.text,
                        want);
    }
    trial_end(&t);
    return ok;
}

/* --- assume and revert ------------------------------------------------------------------------ */

static struct volumes *volumes_of(const struct fixture *f)
{
    struct berth_handle *h = trial_instance(f, "VolumeBinding");
    return engine_host.shared(h, &volumes_type);
}

/* All that a cycle reads, as text. */
static char *state_of(const struct model *m)
{
    struct volumes *v = volumes_of(&m->f);
    struct buf out = BUF_INIT;
    for (int i = 0; i < VOLUMES; i++) {
        const struct pv *pv = pv_get(v, str_of(textf("v%d", i)));
        if (!pv)
            continue;
        buf_add_printf(&out, "v%d%s", i, pv->assumed ? " assumed" : "");
        for (size_t k = 0; pv->pool && k < pv->pool->free.n; k++)
            if (pv->pool->free.v[k] == pv)
                buf_add_printf(&out, " free %zu of %zu", k, pv->pool->free.n);
        if (pv->claimed)
            buf_add_printf(&out, " for %.*s", STR_ARG(pv->claimed->claim));
        buf_add_char(&out, '\n');
    }
    buf_add_printf(&out, "%zu claims, %zu volumes assumed", v->assumed_claims.n, v->n_assumed_pvs);
    return buf_take(&out);
}

/* The writes that the pod's first request and those that follow it would be. */
static bool offers_agree(struct model *m, const int *claims, int n, int node, const char *line)
{
    int chosen[CLAIMS];
    const char *want = NULL;
    unsigned conflict = find_all(m, claims, n, node, chosen);
    for (int size = 1; !want && size <= 12; size++)
        for (int k = 0; !want && k < n; k++)
            if (chosen[k] >= 0 && m->claims[claims[k]].size == size)
                want = textf("PATCH persistentvolumes v%d", chosen[k]);
    return conflict == 0 &&
           (want ? strcmp(line, want) == 0 : strstr(line, "PATCH persistentvolumeclaims") != NULL);
}

/* A pod is reserved and its first write fails: everything is as before. */
static bool revert_restores(struct model *m)
{
    int claims[CLAIMS], n;
    if (!draw_claims(m, claims, &n))
        return true;
    char *before = state_of(m), *after;
    ADD_POD(&m->f, .name = textf("p%d", ++m->version), .spec = pod_spec(claims, n));
    const char *name = textf("p%d", m->version);
    fixture_schedule(&m->f);
    struct fixture_request *r = fixture_request(&m->f);
    bool ok = true;
    if (r) {
        const char *to = strstr(r->body, "selected-node\":\"n");
        int node = to ? to[strlen("selected-node\":\"n")] - '0' : -1;
        ok = node < 0 || offers_agree(m, claims, n, node, r->line);
        ok &= volumes_of(&m->f)->assumed_claims.n + volumes_of(&m->f)->n_assumed_pvs > 0 ||
              !strstr(r->body, "\"uid\"");
        fixture_request_done(&m->f, r, 409, "conflict", NULL);
    }
    fixture_delete(&m->f, POD(.name = name, .spec = pod_spec(claims, n)));
    after = state_of(m);
    ok &= strcmp(before, after) == 0;
    if (!ok)
        print_error("before:\n%s\nafter:\n%s\n", before, after);
    free(before);
    free(after);
    return ok;
}

/* --- runs ------------------------------------------------------------------------------------- */

static void begin(struct model *m, struct rand *r)
{
    *m = (struct model){.r = r, .tracks = false};
    fixture_init(&m->f, NULL, NULL);
    m->tracks = chance(m, 50);
    m->topologies = chance(m, 30);
    fixture_add(&m->f, object_jsonf(KIND_STORAGE_CLASS,
                                    "{'metadata':{'name':'local'},'provisioner':'%s',"
                                    "'volumeBindingMode':'WaitForFirstConsumer'}",
                                    NO_PROVISIONER));
    fixture_add(&m->f,
                object_jsonf(KIND_STORAGE_CLASS,
                             "{'metadata':{'name':'csi'},'provisioner':'x.io',"
                             "'volumeBindingMode':'WaitForFirstConsumer'%s}",
                             m->topologies ? ",'allowedTopologies':[{'matchLabelExpressions':[{"
                                             "'key':'zone','values':['z0']}]}]"
                                           : ""));
    fixture_add(&m->f, object_jsonf(KIND_CSI_DRIVER,
                                    "{'metadata':{'name':'x.io'},'spec':{'storageCapacity':%s}}",
                                    m->tracks ? "true" : "false"));
    for (int i = 0; i < NODES; i++)
        change_node(m, i);
    for (int i = 0; i < VOLUMES; i++)
        change_volume(m, i);
    for (int i = 0; i < CLAIMS; i++)
        change_claim(m, i);
    for (int i = 0; i < CAPACITIES; i++)
        change_capacity(m, i);
}

static void end(struct model *m)
{
    for (int i = 0; i < NODES; i++)
        object_unref(m->nodes[i]);
    for (int i = 0; i < VOLUMES; i++)
        object_unref(m->volumes[i].object);
    for (int i = 0; i < CLAIMS; i++)
        object_unref(m->claims[i].object);
    for (int i = 0; i < CAPACITIES; i++)
        object_unref(m->capacities[i].object);
    fixture_release(&m->f);
}

static bool filters_agree(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct model m;
    bool ok = true;
    begin(&m, r);
    for (size_t i = 0; ok && i < 3 + size / 4; i++) {
        ok = verdicts_agree(&m);
        change(&m);
    }
    end(&m);
    return ok;
}

static bool reverts_restore(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    struct model m;
    bool ok = true;
    begin(&m, r);
    for (size_t i = 0; ok && i < 2 + size / 10; i++) {
        ok = revert_restores(&m) && verdicts_agree(&m);
        change(&m);
    }
    end(&m);
    return ok;
}

static void nodes_get_the_verdicts_of_the_model(void **state)
{
    (void)state;
    assert_true(prop_run("filters", 800, filters_agree, NULL));
}

static void a_failed_binding_leaves_no_trace(void **state)
{
    (void)state;
    assert_true(prop_run("reverts", 200, reverts_restore, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_get_the_verdicts_of_the_model),
        cmocka_unit_test(a_failed_binding_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
