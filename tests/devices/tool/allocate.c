/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocate.c - runs berth's allocator of devices on cases from standard input.
 *
 * Purpose:   the other side of tests/devices: a line of JSON is a case, the answer is a line
 *            with the verdict and the allocation of every step on every node. See case.go for what
 *            a case is.
 * Ownership: each case has an arena and device data of its own.
 * Threading: one thread.
 *
 * Every search runs three times: for the verdict only, which may be remembered from an earlier
 * step, for the result, and on a view of the pools that is made anew instead of the one that is
 * kept up to date. All must agree.
 */
#include "base/vec.h"
#include "codec/json_value.h"
#include "plugins/dynamic_resources/allocator.h"

struct run {
    struct arena arena;
    struct devices *devices;
    VEC(struct object *) objects; /* the newest version of each */
    VEC(struct object *) claims;
    VEC(struct allocation_result *) taken; /* by step: the results of its claims */
    VEC(size_t) n_taken;
    unsigned shares;
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static struct object *decode(enum kind_id kind, const struct json_value *v)
{
    struct buf text = BUF_INIT;
    struct wire wire = {.kind = kind_get(kind), .encoding = ENCODING_JSON};
    struct object *o = NULL;
    struct err e;
    json_write(v, &text);
    if (object_decode(&wire, buf_str(&text), &o, &e) < 0)
        die("object", e.msg);
    buf_release(&text);
    return o;
}

static bool flag(const struct json_value *v, const char *name)
{
    const struct json_value *f = json_get(v, str_of(name));
    return f && f->kind == JSON_BOOL && f->boolean;
}

/* --- state ------------------------------------------------------------------------------------ */

static struct object **find_object(struct run *r, enum kind_id kind, struct str name)
{
    for (size_t i = 0; i < r->objects.n; i++)
        if (object_kind(r->objects.v[i])->id == kind &&
            str_eq(object_meta(r->objects.v[i])->name, name))
            return &r->objects.v[i];
    return NULL;
}

static void change(struct run *r, enum kind_id kind, const struct json_value *v)
{
    struct object *after = decode(kind, v);
    struct object **known = find_object(r, kind, object_meta(after)->name);
    devices_object_changed(r->devices, known ? *known : NULL, after);
    if (!known) {
        vec_push(&r->objects, after);
        return;
    }
    object_unref(*known);
    *known = after;
}

static void delete(struct run *r, enum kind_id kind, struct str name)
{
    struct object **known = find_object(r, kind, name);
    if (!known)
        return;
    devices_object_changed(r->devices, *known, NULL);
    object_unref(*known);
    *known = vec_last(&r->objects);
    r->objects.n--;
}

static void change_all(struct run *r, enum kind_id kind, const struct json_value *list)
{
    for (size_t i = 0; list && i < list->n; i++)
        change(r, kind, &list->items[i]);
}

static void delete_all(struct run *r, enum kind_id kind, const struct json_value *list)
{
    for (size_t i = 0; list && i < list->n; i++)
        delete (r, kind, list->items[i].text);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void new_share_id(void *ctx, char uuid[37])
{
    struct run *r = ctx;
    snprintf(uuid, 37, "share-%u", r->shares++);
}

static const char *const verdicts[] = {
    [ALLOCATION_FOUND] = "found",         [ALLOCATION_NONE] = "none",
    [ALLOCATION_FAILED_ON_NODE] = "node", [ALLOCATION_ERROR] = "error",
    [ALLOCATION_CANCELLED] = "cancelled",
};

/* Another object with the same content: its view of the pools is not kept. */
static void check_anew(struct run *r, const struct allocator *a, const struct node *node,
                       enum allocation_verdict verdict, const struct allocation *first)
{
    struct node copy = *node;
    struct allocation again = {.arena = &r->arena};
    if (allocator_allocate(a, &copy, &again) != verdict || again.n != first->n ||
        !str_eq(again.error, first->error))
        die("kept view", "the verdict differs from that of a view made anew");
    for (size_t i = 0; i < again.n; i++) {
        const struct device_allocation_result *x = &first->results[i].devices,
                                              *y = &again.results[i].devices;
        bool same = x->results.n == y->results.n;
        for (size_t k = 0; same && k < x->results.n; k++)
            same = str_eq(x->results.v[k].device, y->results.v[k].device) &&
                   str_eq(x->results.v[k].pool, y->results.v[k].pool);
        if (!same)
            die("kept view", "the devices differ from those of a view made anew");
    }
}

static void write_text(struct buf *out, struct str s)
{
    json_write(&(struct json_value){.kind = JSON_STRING, .text = s}, out);
}

static void write_answer(struct buf *out, enum allocation_verdict verdict,
                         const struct allocation *a)
{
    buf_add_printf(out, "{\"verdict\":\"%s\"", verdicts[verdict]);
    if (a->error.n > 0) {
        buf_add_cstr(out, ",\"error\":");
        write_text(out, a->error);
    }
    if (verdict == ALLOCATION_FOUND) {
        buf_add_cstr(out, ",\"results\":[");
        for (size_t i = 0; i < a->n; i++) {
            buf_add_cstr(out, i ? "," : "");
            json_encode(&allocation_result_type, &a->results[i], out);
        }
        buf_add_char(out, ']');
    }
    buf_add_char(out, '}');
}

static void give_back(struct run *r, size_t step)
{
    if (step >= r->taken.n)
        return;
    for (size_t i = 0; i < r->n_taken.v[step]; i++)
        devices_give_back(r->devices, &r->taken.v[step][i]);
    r->n_taken.v[step] = 0;
}

/* Searches on every node; the first result is taken. */
static void search(struct run *r, const struct json_value *nodes, struct buf *out,
                   const struct resource_claim *const *claims, size_t n)
{
    struct allocator *a = allocator_new(r->devices, claims, n);
    struct allocation_result *taken = NULL;
    for (size_t i = 0; i < nodes->n; i++) {
        struct object **node = find_object(r, KIND_NODE, nodes->items[i].text);
        struct allocation result = {.arena = &r->arena, .new_share_id = new_share_id, .ctx = r};
        if (!node)
            die("node", "unknown");
        struct allocation nothing = {0};
        enum allocation_verdict first = allocator_allocate(a, object_node(*node), &nothing);
        enum allocation_verdict verdict = allocator_allocate(a, object_node(*node), &result);
        if (verdict != first)
            die("verdict only", "differs from that with a result");
        check_anew(r, a, object_node(*node), verdict, &result);
        buf_add_cstr(out, i ? "," : "");
        write_answer(out, verdict, &result);
        if (verdict == ALLOCATION_FOUND && !taken)
            taken = result.results;
    }
    for (size_t i = 0; taken && i < n; i++)
        devices_take(r->devices, &taken[i]);
    vec_push(&r->taken, taken);
    vec_push(&r->n_taken, taken ? n : 0);
    allocator_free(a);
}

static void run_step(struct run *r, const struct json_value *step, struct buf *out)
{
    const struct json_value *back = json_get(step, STR("giveBack"));
    uint64_t number;
    if (back && back->kind == JSON_NUMBER && str_to_u64(back->text, &number))
        give_back(r, (size_t)number);
    delete_all(r, KIND_RESOURCE_SLICE, json_get(step, STR("deleteSlices")));
    change_all(r, KIND_RESOURCE_SLICE, json_get(step, STR("slices")));
    delete_all(r, KIND_DEVICE_TAINT_RULE, json_get(step, STR("deleteRules")));
    change_all(r, KIND_DEVICE_TAINT_RULE, json_get(step, STR("rules")));
    change_all(r, KIND_NODE, json_get(step, STR("nodes")));
    change_all(r, KIND_DEVICE_CLASS, json_get(step, STR("classes")));
    const struct json_value *list = json_get(step, STR("claims"));
    size_t n = list ? list->n : 0;
    const struct resource_claim **claims = arena_array(&r->arena, const struct resource_claim *, n);
    for (size_t i = 0; i < n; i++) {
        vec_push(&r->claims, decode(KIND_RESOURCE_CLAIM, &list->items[i]));
        claims[i] = object_resource_claim(vec_last(&r->claims));
    }
    buf_add_char(out, '[');
    search(r, json_get(step, STR("on")), out, claims, n);
    buf_add_char(out, ']');
}

/* --- cases ------------------------------------------------------------------------------------ */

static void start(struct run *r, const struct json_value *c)
{
    const struct json_value *f = json_get(c, STR("features"));
    struct device_features features = {
        .admin_access = flag(f, "AdminAccess"),
        .prioritized_list = flag(f, "PrioritizedList"),
        .partitionable_devices = flag(f, "PartitionableDevices"),
        .device_taints = flag(f, "DeviceTaints"),
        .device_taint_rules = flag(f, "DeviceTaints"),
        .binding_conditions = flag(f, "DeviceBindingAndStatus"),
        .consumable_capacity = flag(f, "ConsumableCapacity"),
        .list_attributes = flag(f, "ListTypeAttributes"),
        .list_constraints = flag(f, "ListTypeAttributes"),
    };
    r->devices = devices_new(&features, NULL);
    change_all(r, KIND_NODE, json_get(c, STR("nodes")));
    change_all(r, KIND_DEVICE_CLASS, json_get(c, STR("classes")));
    change_all(r, KIND_RESOURCE_SLICE, json_get(c, STR("slices")));
    change_all(r, KIND_DEVICE_TAINT_RULE, json_get(c, STR("rules")));
}

static void run_case(struct str line, struct buf *out)
{
    struct run r = {0};
    struct json_value c;
    struct err e;
    arena_init(&r.arena, 0);
    if (json_parse(line, 0, &r.arena, &c, &e) < 0)
        die("case", e.msg);
    start(&r, &c);
    buf_clear(out);
    buf_add_char(out, '[');
    const struct json_value *steps = json_get(&c, STR("steps"));
    for (size_t i = 0; steps && i < steps->n; i++) {
        buf_add_cstr(out, i ? "," : "");
        run_step(&r, &steps->items[i], out);
    }
    buf_add_cstr(out, "]\n");
    devices_free(r.devices);
    for (size_t i = 0; i < r.objects.n; i++)
        object_unref(r.objects.v[i]);
    for (size_t i = 0; i < r.claims.n; i++)
        object_unref(r.claims.v[i]);
    vec_release(&r.objects);
    vec_release(&r.claims);
    vec_release(&r.taken);
    vec_release(&r.n_taken);
    arena_release(&r.arena);
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    struct buf out = BUF_INIT;
    for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
        run_case((struct str){line, (size_t)n}, &out);
        fwrite(out.p, 1, out.n, stdout);
        fflush(stdout);
    }
    free(line);
    buf_release(&out);
    return 0;
}
