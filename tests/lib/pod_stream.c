/* SPDX-License-Identifier: Apache-2.0 */
#include "pod_stream.h"

#include "engine_fixture.h"

#define NODES 24
#define PODS  80

static const char *const namespaces[] = {"a", "b", "c"};
static const char *const values[] = {"x", "y", "z", ""};

static int pick(struct pod_stream *s, size_t n)
{
    return (int)rand_below(s->rand, n);
}

void pod_stream_init(struct pod_stream *s, struct rand *r)
{
    *s = (struct pod_stream){.rand = r};
    intern_init(&s->names);
    cache_init(&s->cache, &s->names);
    cluster_init(&s->cluster, &s->cache);
}

void pod_stream_release(struct pod_stream *s)
{
    cluster_release(&s->cluster);
    cache_release(&s->cache);
    intern_release(&s->names);
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Labels "prefix0" … with random values; some are missing. */
static const char *random_labels(struct pod_stream *s, const char *prefix, size_t n)
{
    const char *labels = "";
    for (size_t i = 0; i < n; i++)
        if (pick(s, 3))
            labels = textf("%s%s%s%zu=%s", labels, *labels ? "," : "", prefix, i,
                           values[pick(s, ARRAY_LEN(values))]);
    return labels;
}

static void set_node(struct pod_stream *s, int i)
{
    struct object *o =
        NODE(.name = textf("n%d", i), .labels = random_labels(s, "key", STREAM_KEYS));
    cache_set_node(&s->cache, o);
    object_unref(o);
}

/* --- pods ------------------------------------------------------------------------------------- */

static void set_pod(struct pod_stream *s, int i, bool assume)
{
    const char *uid = textf("p%d", i);
    const char *labels = random_labels(s, "app", 3);
    const char *namespace = namespaces[pick(s, ARRAY_LEN(namespaces))];
    bool deleting = pick(s, 8) == 0;
    struct object *o = POD(.name = uid, .namespace = namespace, .labels = labels,
                           .node = textf("n%d", pick(s, NODES)), .deleting = deleting);
    struct berth_pod *pod = pod_info_new(o, &s->names);
    if (!assume)
        cache_set_pod(&s->cache, pod);
    else if (!cache_pod(&s->cache, str_of(uid)))
        cache_assume(&s->cache, pod);
    pod_info_unref(pod);
    object_unref(o);
}

void pod_stream_step(struct pod_stream *s)
{
    char name[16];
    int what = pick(s, 20), i = pick(s, what < 6 ? NODES : PODS);
    snprintf(name, sizeof(name), "%s%d", what < 6 ? "n" : "p", i);
    if (what < 4)
        set_node(s, i);
    else if (what < 6)
        cache_remove_node(&s->cache, str_of(name));
    else if (what < 11)
        set_pod(s, i, false);
    else if (what < 14)
        set_pod(s, i, true);
    else if (what < 16)
        (void)cache_forget(&s->cache, str_of(name));
    else
        cache_remove_pod(&s->cache, str_of(name));
}

/* --- selections ------------------------------------------------------------------------------- */

static void random_selector(struct pod_stream *s, struct arena *a, struct selector *ret_selector)
{
    static const char *const forms[] = {
        "app%d=%s", "app%d in (%s,x)", "app%d!=%s", "app%d", "!app%d", "app%d notin (%s,y)",
    };
    struct buf text = BUF_INIT;
    for (int n = pick(s, 3); n >= 0; n--) {
        char one[64];
        const char *form = forms[pick(s, ARRAY_LEN(forms))];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(one, sizeof(one), form, pick(s, 3), values[pick(s, 3)]);
#pragma GCC diagnostic pop
        buf_add_printf(&text, "%s%s", text.n ? "," : "", one);
    }
    struct err err;
    int r = selector_parse(arena_dup(a, buf_str(&text)), a, ret_selector, &err);
    assert(r == 0);
    (void)r;
    ret_selector->nothing = pick(s, 20) == 0;
    buf_release(&text);
}

static void random_namespaces(struct pod_stream *s, struct arena *a, struct pod_term *term)
{
    size_t n = 0;
    term->any_namespace = pick(s, 5) == 0;
    term->namespaces.v = arena_array(a, struct str, ARRAY_LEN(namespaces));
    for (size_t i = 0; i < ARRAY_LEN(namespaces); i++)
        if (pick(s, 2))
            term->namespaces.v[n++] = str_of(namespaces[i]);
    term->namespaces.n = n;
}

void pod_stream_selection(struct pod_stream *s, struct arena *a,
                          struct pod_selection *ret_selection)
{
    size_t n = rand_below(s->rand, 10) ? 1 + rand_below(s->rand, 2) : 0;
    struct pod_term *terms = arena_array(a, struct pod_term, n);
    for (size_t i = 0; i < n; i++) {
        random_selector(s, a, &terms[i].selector);
        random_namespaces(s, a, &terms[i]);
    }
    *ret_selection = (struct pod_selection){
        .terms = {terms, n},
        .without_terminating = pick(s, 2),
    };
}
