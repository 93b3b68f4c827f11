/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every namespace has: the ServiceAccount "default" and the ConfigMap kube-root-ca.crt; and
 * tokens of accounts that are gone.
 */
#include "apiserver/lifecycle/lifecycle_internal.h"

#define ROOT_CA_NAME "kube-root-ca.crt"
#define DESCRIPTION  "kubernetes.io/description"
#define ROOT_CA_TEXT                                                                          \
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal " \
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is " \
    "guaranteed across distributions of Kubernetes clusters."
#define TOKEN_TYPE   "kubernetes.io/service-account-token"
#define ACCOUNT_NAME "kubernetes.io/service-account.name"
#define ACCOUNT_UID  "kubernetes.io/service-account.uid"

/* --- objects of a namespace ------------------------------------------------------------------- */

static bool is_active(struct lifecycle *l, struct str name)
{
    struct revision *rev = life_find(l, l->r.namespaces, STR(""), name);
    return rev && !str_is(json_text_at(life_parse(l, rev), "status.phase"), "Terminating");
}

static void create(struct lifecycle *l, struct named_task *task, const struct resource *r,
                   struct json_value *object)
{
    struct life_target target = {r, task->namespace, task->name};
    json_set(object, STR("apiVersion"), json_text(r->api_version), &l->scratch);
    json_set(object, STR("kind"), json_text(r->kind), &l->scratch);
    json_set_at(object, "metadata.name", json_text(task->name), &l->scratch);
    json_set_at(object, "metadata.namespace", json_text(task->namespace), &l->scratch);
    buf_clear(&l->body);
    json_write(object, &l->body);
    task_write(l, &task->task, WRITER_CREATE, &target, "");
}

void account_sync(struct lifecycle *l, struct task *t)
{
    struct named_task *task = CONTAINER_OF(t, struct named_task, task);
    struct json_value account = json_object();
    if (!l->r.service_accounts || !is_active(l, task->namespace) ||
        life_find(l, l->r.service_accounts, task->namespace, task->name))
        return;
    create(l, task, l->r.service_accounts, &account);
}

static void set_root_ca(struct lifecycle *l, struct json_value *map)
{
    struct json_value *meta = json_set_object(map, STR("metadata"), &l->scratch);
    struct json_value *annotations = json_set_object(meta, STR("annotations"), &l->scratch);
    struct json_value data = json_object();
    json_set(annotations, STR(DESCRIPTION), json_text(STR(ROOT_CA_TEXT)), &l->scratch);
    json_set(&data, STR("ca.crt"), json_text(l->options.root_ca), &l->scratch);
    json_set(map, STR("data"), data, &l->scratch);
}

static bool has_root_ca(struct lifecycle *l, const struct json_value *map)
{
    const struct json_value *data = json_get(map, STR("data"));
    return data && data->kind == JSON_OBJECT && data->n_members == 1 &&
           str_eq(json_get_text(data, STR("ca.crt")), l->options.root_ca) &&
           !str_empty(json_get_text(json_at(map, "metadata.annotations"), STR(DESCRIPTION)));
}

void root_ca_sync(struct lifecycle *l, struct task *t)
{
    struct named_task *task = CONTAINER_OF(t, struct named_task, task);
    if (!l->r.config_maps || !is_active(l, task->namespace))
        return;
    struct revision *rev = life_find(l, l->r.config_maps, task->namespace, task->name);
    struct json_value map = rev ? *life_parse(l, rev) : json_object();
    if (rev && has_root_ca(l, &map))
        return;
    set_root_ca(l, &map);
    if (!rev) {
        create(l, task, l->r.config_maps, &map);
        return;
    }
    struct life_target target = life_target(rev);
    buf_clear(&l->body);
    json_write(&map, &l->body);
    task_write(l, t, WRITER_UPDATE, &target, "");
}

static void namespace_seen(struct lifecycle *l, struct str name)
{
    task_named(l, TASK_ACCOUNT, name, STR("default"));
    if (!str_empty(l->options.root_ca))
        task_named(l, TASK_ROOT_CA, name, STR(ROOT_CA_NAME));
}

static void namespace_gone(struct lifecycle *l, struct str name)
{
    struct named_task *account = task_find(l, TASK_ACCOUNT, name, STR("default"));
    struct named_task *root_ca = task_find(l, TASK_ROOT_CA, name, STR(ROOT_CA_NAME));
    if (account)
        task_end(l, account);
    if (root_ca)
        task_end(l, root_ca);
}

/* --- tokens ----------------------------------------------------------------------------------- */

static bool on_member(void *ctx, struct str name, struct str value)
{
    bool *found = ctx;
    if (!str_is(name, "type"))
        return true;
    *found = str_is(value, "\"" TOKEN_TYPE "\"");
    return false;
}

static bool is_token(const struct revision *secret)
{
    bool found = false;
    return json_each_member(secret->text, on_member, &found, NULL) == 0 && found;
}

static void check_token(struct lifecycle *l, struct task *task, const struct revision *secret)
{
    const struct json_value *object = life_parse(l, secret);
    const struct json_value *annotations = json_at(object, "metadata.annotations");
    struct str name = json_get_text(annotations, STR(ACCOUNT_NAME));
    struct str uid = json_get_text(annotations, STR(ACCOUNT_UID));
    struct revision *account = life_find(l, l->r.service_accounts, secret->namespace, name);
    if (life_is_deleting(object) || str_empty(name))
        return;
    if (!account || (!str_empty(uid) && !str_eq(uid, life_view(account).uid)))
        task_delete(l, task, secret, "", true);
}

/* One secret, or all of the namespace if it has no name. */
void token_sync(struct lifecycle *l, struct task *t)
{
    struct named_task *task = CONTAINER_OF(t, struct named_task, task);
    struct store_range range;
    struct revision *secret;
    if (!str_empty(task->name)) {
        secret = life_find(l, l->r.secrets, task->namespace, task->name);
        if (secret && is_token(secret))
            check_token(l, t, secret);
    } else {
        struct snapshot *snapshot = store_snapshot(l->options.store);
        store_range_init(&range, snapshot, l->r.secrets, task->namespace, NULL);
        size_t n = store_range_left(&range);
        while ((secret = store_range_next(&range)))
            if (is_token(secret))
                check_token(l, t, secret);
        snapshot_unref(snapshot);
        work_cost(&l->queue, &t->work, n);
    }
    if (t->work.n_writes == 0)
        task_end(l, task);
}

/* --- changes ---------------------------------------------------------------------------------- */

void accounts_changed(struct lifecycle *l, const struct store_event *event,
                      const struct life_view *view UNUSED)
{
    const struct revision *rev = event->after;
    bool deleted = event->change == STORE_DELETED;
    if (rev->resource == l->r.namespaces) {
        if (deleted)
            namespace_gone(l, rev->name);
        else
            namespace_seen(l, rev->name);
    } else if (rev->resource == l->r.service_accounts && deleted) {
        struct named_task *task = task_find(l, TASK_ACCOUNT, rev->namespace, rev->name);
        task_mark(l, task ? &task->task : NULL);
        if (l->r.secrets)
            task_named(l, TASK_TOKEN, rev->namespace, STR(""));
    } else if (rev->resource == l->r.config_maps && str_is(rev->name, ROOT_CA_NAME)) {
        struct named_task *task = task_find(l, TASK_ROOT_CA, rev->namespace, rev->name);
        task_mark(l, task ? &task->task : NULL);
    } else if (rev->resource == l->r.secrets && !deleted && is_token(rev)) {
        task_named(l, TASK_TOKEN, rev->namespace, rev->name);
    }
}
