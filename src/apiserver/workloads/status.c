/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of statuses: times, counts, conditions. */
#include "apiserver/workloads/workloads_internal.h"

struct str workload_time(struct workloads *w, int64_t at)
{
    struct buf b = BUF_INIT;
    timestamp_format(timestamp_of(at), 0, &b);
    struct str text = arena_dup(&w->scratch, buf_str(&b));
    buf_release(&b);
    return text;
}

struct str workload_now_text(struct workloads *w)
{
    return workload_time(w, workloads_now(w));
}

void workload_put_int(struct workloads *w, struct json_value *v, const char *name, int64_t n)
{
    json_set(v, str_of(name), json_int(n, &w->scratch), &w->scratch);
}

void workload_put_count(struct workloads *w, struct json_value *v, const char *name, int64_t n)
{
    if (n)
        workload_put_int(w, v, name, n);
}

void workload_put_text(struct workloads *w, struct json_value *v, const char *name, struct str text)
{
    json_set(v, str_of(name), json_text(text), &w->scratch);
}

/* The place of the condition in the list; its length if there is none. */
static size_t place_of(const struct json_items *list, const char *type)
{
    size_t i = 0;
    while (i < list->n && !str_is(json_get_text(&list->v[i], STR("type")), type))
        i++;
    return i;
}

void workload_remove_condition(struct json_value *status, const char *type)
{
    struct json_value *list = json_member(status, STR("conditions"));
    struct json_items items = json_items_at(status, "conditions");
    size_t i = place_of(&items, type);
    if (i < items.n)
        json_remove_item(list, i);
    if (list && list->kind == JSON_ARRAY && !list->n)
        json_remove(status, STR("conditions"));
}

void workload_set_condition(struct workloads *w, struct json_value *status,
                            const struct new_condition *c, enum condition_form form)
{
    struct json_items items = json_items_at(status, "conditions");
    size_t i = place_of(&items, c->type);
    struct str since = workload_now_text(w);
    if (i < items.n) {
        const struct json_value *old = &items.v[i];
        bool same = str_is(json_get_text(old, STR("status")), c->status);
        if (same && form != CONDITION_RENEWED &&
            str_is(json_get_text(old, STR("reason")), c->reason))
            return;
        if (same && (form == CONDITION_UPDATED || form == CONDITION_RENEWED))
            since = json_get_text(old, STR("lastTransitionTime"));
        workload_remove_condition(status, c->type);
    }
    struct json_value v = json_object();
    workload_put_text(w, &v, "type", str_of(c->type));
    workload_put_text(w, &v, "status", str_of(c->status));
    if (form == CONDITION_PROBED)
        workload_put_text(w, &v, "lastProbeTime", workload_now_text(w));
    if (form == CONDITION_UPDATED || form == CONDITION_RENEWED)
        workload_put_text(w, &v, "lastUpdateTime", workload_now_text(w));
    workload_put_text(w, &v, "lastTransitionTime", since);
    if (*c->reason)
        workload_put_text(w, &v, "reason", str_of(c->reason));
    if (!str_empty(c->message))
        workload_put_text(w, &v, "message", c->message);
    json_append(json_set_array(status, STR("conditions"), &w->scratch), v, &w->scratch);
}
