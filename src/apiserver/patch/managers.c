/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/patch/managers.h"

#include "base/err.h"
#include "base/map.h"
#include "codec/json_edit.h"

#define MAX_UPDATERS 10

/* --- identity --------------------------------------------------------------------------------- */

/* {"manager":"m","operation":"Update","apiVersion":"v1","subresource":"status"} */
static void write_identifier(const struct manager *m, struct buf *out)
{
    buf_add_cstr(out, "{\"manager\":");
    json_write_str(out, m->name);
    buf_add_printf(out, ",\"operation\":\"%s\"", m->applies ? "Apply" : "Update");
    if (!m->applies) {
        buf_add_cstr(out, ",\"apiVersion\":");
        json_write_str(out, m->api_version);
    }
    if (!str_empty(m->subresource)) {
        buf_add_cstr(out, ",\"subresource\":");
        json_write_str(out, m->subresource);
    }
    buf_add_char(out, '}');
}

int manager_compare(const struct manager *x, const struct manager *y)
{
    struct buf s = BUF_INIT, t = BUF_INIT;
    int c;

    write_identifier(x, &s);
    write_identifier(y, &t);
    c = str_cmp(buf_str(&s), buf_str(&t));
    buf_release(&s);
    buf_release(&t);
    return c;
}

static bool same_manager(const struct manager *x, const struct manager *y)
{
    return x->applies == y->applies && str_eq(x->name, y->name) &&
           str_eq(x->subresource, y->subresource) &&
           (x->applies || str_eq(x->api_version, y->api_version));
}

struct manager *managers_find(struct managers *ms, const struct manager *like)
{
    for (size_t i = 0; i < ms->n; i++)
        if (same_manager(&ms->v[i], like))
            return &ms->v[i];
    return NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_entry(const struct json_value *v, size_t i, struct arena *a,
                      struct manager *ret_manager, struct err *reterr)
{
    struct str operation = json_get_text(v, STR("operation"));
    struct str type = json_get_text(v, STR("fieldsType"));
    const struct json_value *fields = json_get(v, STR("fieldsV1"));

    *ret_manager = (struct manager){
        .name = json_get_text(v, STR("manager")),
        .applies = str_is(operation, "Apply"),
        .api_version = json_get_text(v, STR("apiVersion")),
        .subresource = json_get_text(v, STR("subresource")),
        .time = json_get_text(v, STR("time")),
    };
    if (!ret_manager->applies && !str_is(operation, "Update"))
        return err_set(reterr, -EINVAL, "operation must be `Apply` or `Update`");
    if (str_empty(ret_manager->api_version))
        return err_set(reterr, -EINVAL, "apiVersion must not be empty");
    if (str_empty(type))
        return err_set(reterr, -EINVAL, "missing fieldsType in managed fields entry %zu", i);
    if (!str_is(type, "FieldsV1"))
        return err_set(reterr, -EINVAL, "invalid fieldsType \"%.*s\" in managed fields entry %zu",
                       STR_ARG(type), i);
    return fields ? fields_v1_read(fields, a, &ret_manager->set, reterr) : 0;
}

int managers_read(const struct json_value *object, struct arena *a, struct managers *ret_managers,
                  struct err *reterr)
{
    struct json_items entries = json_items_at(object, "metadata.managedFields");
    struct managers ms = {.v = arena_array(a, struct manager, entries.n + 1)};
    struct map seen = MAP_INIT;
    int r = 0;

    for (size_t i = 0; i < entries.n && r == 0; i++) {
        struct buf id = BUF_INIT;
        struct manager m, *before;

        r = read_entry(&entries.v[i], i, a, &m, reterr);
        if (r < 0)
            break;
        write_identifier(&m, &id);
        before = map_get(&seen, buf_str(&id));
        if (before) {
            *before = m;
        } else {
            ms.v[ms.n] = m;
            map_put(&seen, arena_dup(a, buf_str(&id)), &ms.v[ms.n++]);
        }
        buf_release(&id);
    }
    map_release(&seen);
    if (r == 0)
        *ret_managers = ms;
    return r;
}

struct managers managers_copy(const struct managers *ms, struct arena *a)
{
    struct managers copy = {.v = arena_array(a, struct manager, ms->n + 1), .n = ms->n};

    if (ms->n > 0)
        memcpy(copy.v, ms->v, ms->n * sizeof(*ms->v));
    return copy;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Applies first, then by time, name, version and subresource. */
static int compare_entries(const void *a, const void *b)
{
    const struct manager *x = a, *y = b;
    int c;

    if (x->applies != y->applies)
        return x->applies ? -1 : 1;
    c = str_cmp(x->time, y->time);
    if (c == 0)
        c = str_cmp(x->name, y->name);
    if (c == 0)
        c = str_cmp(x->api_version, y->api_version);
    return c ? c : str_cmp(x->subresource, y->subresource);
}

static struct json_value write_entry(const struct manager *m, struct arena *a)
{
    struct json_value v = json_object();

    v.members = arena_array(a, struct json_member, 7);
    if (!str_empty(m->name))
        v.members[v.n_members++] = (struct json_member){STR("manager"), json_text(m->name)};
    v.members[v.n_members++] = (struct json_member){
        STR("operation"), json_text(m->applies ? STR("Apply") : STR("Update"))};
    v.members[v.n_members++] = (struct json_member){STR("apiVersion"), json_text(m->api_version)};
    if (!str_empty(m->time))
        v.members[v.n_members++] = (struct json_member){STR("time"), json_text(m->time)};
    v.members[v.n_members++] = (struct json_member){STR("fieldsType"), json_text(STR("FieldsV1"))};
    v.members[v.n_members++] = (struct json_member){STR("fieldsV1"), fields_v1_write(&m->set, a)};
    if (!str_empty(m->subresource))
        v.members[v.n_members++] =
            (struct json_member){STR("subresource"), json_text(m->subresource)};
    return v;
}

void managers_write(struct managers *ms, struct json_value *object, struct arena *a)
{
    struct json_value list = json_array(), *meta = json_member(object, STR("metadata"));

    if (ms->n == 0) {
        if (meta && meta->kind == JSON_OBJECT)
            json_remove(meta, STR("managedFields"));
        return;
    }
    qsort(ms->v, ms->n, sizeof(*ms->v), compare_entries);
    list.items = arena_array(a, struct json_value, ms->n);
    for (size_t i = 0; i < ms->n; i++)
        list.items[list.n++] = write_entry(&ms->v[i], a);
    json_set(json_set_object(object, STR("metadata"), a), STR("managedFields"), list, a);
}

/* --- limits ----------------------------------------------------------------------------------- */

void managers_drop_empty(struct managers *ms)
{
    size_t n = 0;

    for (size_t i = 0; i < ms->n; i++)
        if (!field_set_empty(&ms->v[i].set))
            ms->v[n++] = ms->v[i];
    ms->n = n;
}

static int compare_age(const void *a, const void *b)
{
    const struct manager *x = a, *y = b;
    int c;

    if (x->applies != y->applies)
        return x->applies ? 1 : -1;
    c = str_cmp(x->time, y->time);
    return c ? c : manager_compare(x, y);
}

/* The updater that older ones of this version are merged into; NULL: none yet. */
static struct manager *find_bucket(struct managers *ms, struct str api_version, size_t n)
{
    struct manager like = {.name = STR("ancient-changes"), .api_version = api_version};
    struct manager *bucket = managers_find(ms, &like);

    for (size_t i = 0; !bucket && i < n; i++)
        if (str_eq(ms->v[i].api_version, api_version))
            bucket = &ms->v[i];
    return bucket;
}

void managers_cap(struct managers *ms, struct arena *a)
{
    size_t updaters = 0, kept = 0;

    for (size_t i = 0; i < ms->n; i++)
        updaters += !ms->v[i].applies;
    if (updaters <= MAX_UPDATERS)
        return;
    qsort(ms->v, ms->n, sizeof(*ms->v), compare_age);
    /* Each is kept, or merged with the first one of its version. */
    for (size_t i = 0; i < ms->n; i++) {
        struct manager m = ms->v[i], *bucket;

        bucket =
            updaters > MAX_UPDATERS && !m.applies ? find_bucket(ms, m.api_version, kept) : NULL;
        if (!bucket || bucket >= &ms->v[kept]) {
            ms->v[kept++] = m;
            continue;
        }
        bucket->name = STR("ancient-changes");
        bucket->subresource = STR("");
        bucket->set = field_set_union(m.set, bucket->set, a);
        bucket->time = m.time;
        updaters--;
    }
    ms->n = kept;
}
