/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/explain/explain_client.h"

#include <unistd.h>

#include "codec/json.h"
#include "kube/rest/rest.h"
#include "net/url.h"

/* --- one request ------------------------------------------------------------------------------ */

struct waiting {
    struct loop *loop;
    struct arena *arena;
    struct explain_answer *answer;
};

static void on_done(void *ctx, const struct rest_result *result)
{
    struct waiting *w = ctx;
    *w->answer = (struct explain_answer){.code = result->code,
                                         .status = result->status,
                                         .err = result->err,
                                         .body = arena_dup(w->arena, result->body)};
    loop_stop(w->loop);
}

void explain_get(const struct kube_config *config, struct str path, int64_t timeout,
                 uint64_t max_body, struct arena *a, struct explain_answer *ret_answer)
{
    struct waiting waiting = {.arena = a, .answer = ret_answer};
    struct rest_options options = {.max_reply = max_body};
    struct rest_request request = {
        .verb = REST_GET, .path = path, .timeout = timeout, .max_retries = -1};
    struct rest_client *client = NULL;
    *ret_answer = (struct explain_answer){0};
    int r = loop_new(&waiting.loop);
    if (r < 0) {
        ret_answer->code = err_set(&ret_answer->err, r, "epoll: %s", strerror(-r));
        return;
    }
    r = rest_client_new(waiting.loop, config, &options, &client, &ret_answer->err);
    if (r == 0) {
        rest_send(client, &request, on_done, &waiting);
        loop_run(waiting.loop);
    } else {
        ret_answer->code = r;
    }
    rest_client_free(client);
    loop_free(waiting.loop);
}

int explain_server_url(struct str text, struct arena *a, struct str *ret_url, struct err *reterr)
{
    struct url url;
    struct buf out = BUF_INIT;
    struct str colon = str_slice(text, str_find(text, ':') + 1, text.n);
    bool bare_ipv6 = text.n && text.p[0] != '[' && str_find(text, ':') < text.n &&
                     str_find(colon, ':') < colon.n && str_search(text, STR("://")) == text.n;
    if (bare_ipv6)
        text = arena_printf(a, "[%.*s]", STR_ARG(text));
    if (str_search(text, STR("://")) == text.n)
        text = arena_printf(a, "https://%.*s", STR_ARG(text));
    int r = url_parse(text, &url, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "--server");
    if (!str_is(url.scheme, "https"))
        return err_set(reterr, -EINVAL, "--server: scheme %.*s is not supported: use https",
                       STR_ARG(url.scheme));
    buf_add_cstr(&out, "https://");
    url_add_authority(&out, url.host, url.port_given ? url.port : EXPLAIN_PORT);
    *ret_url = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return 0;
}

/* --- the fields needed of API objects --------------------------------------------------------- */

struct leader_meta {
    struct str name;
    str_map labels;
};
struct leader_lease_spec {
    struct str holder_identity;
};
struct leader_lease {
    struct leader_lease_spec spec;
};
struct leader_container {
    LIST(struct str) command, args;
};
struct leader_pod_spec {
    struct str node_name, scheduler_name;
    LIST(struct leader_container) containers;
};
struct leader_pod_status {
    struct str pod_ip;
};
struct leader_pod {
    struct leader_meta metadata;
    struct leader_pod_spec spec;
    struct leader_pod_status status;
};
struct leader_pod_list {
    LIST(struct leader_pod) items;
};

static const struct field lease_spec_fields[] = {
    F_ONE(struct leader_lease_spec, holder_identity, "holderIdentity", 0, STR),
};
static const struct type lease_spec_type =
    TYPE("LeaseSpec", struct leader_lease_spec, lease_spec_fields);
static const struct field lease_fields[] = {
    F_MSG(struct leader_lease, spec, "spec", 0, struct leader_lease_spec, &lease_spec_type),
};
static const struct type lease_type = TYPE("Lease", struct leader_lease, lease_fields);

static const struct field meta_fields[] = {
    F_ONE(struct leader_meta, name, "name", 0, STR),
    F_STR_MAP(struct leader_meta, labels, "labels", 0),
};
static const struct type meta_type = TYPE("ObjectMeta", struct leader_meta, meta_fields);
static const struct field container_fields[] = {
    F_LIST(struct leader_container, command, "command", 0, STR),
    F_LIST(struct leader_container, args, "args", 0, STR),
};
static const struct type container_type =
    TYPE("Container", struct leader_container, container_fields);
static const struct field pod_spec_fields[] = {
    F_ONE(struct leader_pod_spec, node_name, "nodeName", 0, STR),
    F_ONE(struct leader_pod_spec, scheduler_name, "schedulerName", 0, STR),
    F_LIST_MSG(struct leader_pod_spec, containers, "containers", 0, struct leader_container,
               &container_type),
};
static const struct type pod_spec_type = TYPE("PodSpec", struct leader_pod_spec, pod_spec_fields);
static const struct field pod_status_fields[] = {
    F_ONE(struct leader_pod_status, pod_ip, "podIP", 0, STR),
};
static const struct type pod_status_type =
    TYPE("PodStatus", struct leader_pod_status, pod_status_fields);
static const struct field pod_fields[] = {
    F_MSG(struct leader_pod, metadata, "metadata", 0, struct leader_meta, &meta_type),
    F_MSG(struct leader_pod, spec, "spec", 0, struct leader_pod_spec, &pod_spec_type),
    F_MSG(struct leader_pod, status, "status", 0, struct leader_pod_status, &pod_status_type),
};
static const struct type pod_type = TYPE("Pod", struct leader_pod, pod_fields);
static const struct field pod_list_fields[] = {
    F_LIST_MSG(struct leader_pod_list, items, "items", 0, struct leader_pod, &pod_type),
};
static const struct type pod_list_type = TYPE("PodList", struct leader_pod_list, pod_list_fields);

struct finding {
    const struct kube_config *config;
    const struct explain_query *query;
    struct arena *arena;
};

/* "/api/v1/namespaces/NAMESPACE/pods/NAME". */
static struct str path_of(const struct finding *f, const char *api, struct str namespace,
                          const char *resource, struct str name)
{
    struct buf out = BUF_INIT;
    buf_add_printf(&out, "%s/namespaces/", api);
    url_add_segment(&out, namespace);
    buf_add_printf(&out, "/%s", resource);
    if (name.n)
        buf_add_char(&out, '/');
    url_add_segment(&out, name);
    struct str path = arena_dup(f->arena, buf_str(&out));
    buf_release(&out);
    return path;
}

/* Returns -ENOENT if there is no such object. */
static int get_object(const struct finding *f, struct str path, const struct type *type,
                      void *ret_object, struct err *reterr)
{
    struct explain_answer answer;
    explain_get(f->config, path, f->query->timeout, 0, f->arena, &answer);
    if (answer.code < 0) {
        *reterr = answer.err;
        return answer.status == 404 ? -ENOENT : answer.code;
    }
    return json_decode(answer.body, type, 0, f->arena, ret_object, reterr);
}

/* --- the leader ------------------------------------------------------------------------------- */

/*
 * The lease of the pod's scheduler: kube-scheduler for the default one. Any other scheduler is
 * expected to use a lease with its own name, as in berth's deployment files.
 */
static int find_lease(const struct finding *f, struct str *ret_namespace, struct str *ret_name,
                      struct err *reterr)
{
    struct str lease = f->query->lease;
    struct leader_pod pod;
    *ret_namespace = STR("kube-system");
    if (lease.n) {
        size_t slash = str_find(lease, '/');
        *ret_name = slash < lease.n ? str_slice(lease, slash + 1, lease.n) : lease;
        if (slash < lease.n)
            *ret_namespace = str_slice(lease, 0, slash);
        return 0;
    }
    int r = get_object(f, path_of(f, "/api/v1", f->query->namespace, "pods", f->query->pod),
                       &pod_type, &pod, reterr);
    if (r < 0)
        return r;
    bool is_default =
        !pod.spec.scheduler_name.n || str_is(pod.spec.scheduler_name, "default-scheduler");
    *ret_name = is_default ? STR("kube-scheduler") : pod.spec.scheduler_name;
    return 0;
}

/* The holder's identity is "HOST_UUID"; a host name contains no '_'. */
static int find_holder(const struct finding *f, struct str namespace, struct str name,
                       struct str *ret_host, struct err *reterr)
{
    struct leader_lease lease;
    int r = get_object(f, path_of(f, "/apis/coordination.k8s.io/v1", namespace, "leases", name),
                       &lease_type, &lease, reterr);
    if (r == -ENOENT)
        return err_set(reterr, -ENOENT,
                       "lease %.*s/%.*s not found: set --lease to the scheduler's lease, or "
                       "--server to its address",
                       STR_ARG(namespace), STR_ARG(name));
    if (r < 0)
        return r;
    struct str holder = lease.spec.holder_identity;
    *ret_host = str_slice(holder, 0, str_find(holder, '_'));
    if (!ret_host->n)
        return err_set(reterr, -ENOENT,
                       "lease %.*s/%.*s has no holder: the scheduler is not running",
                       STR_ARG(namespace), STR_ARG(name));
    return 0;
}

/* The value of "--name=value" or "--name", "value" in a container's command line. */
static bool find_flag(const struct leader_pod *pod, const char *name, struct str *ret_value)
{
    struct str flag = str_of(name);
    for (size_t i = 0; i < pod->spec.containers.n; i++) {
        const struct leader_container *c = &pod->spec.containers.v[i];
        for (size_t k = 0; k < c->command.n + c->args.n; k++) {
            const struct str *words = c->command.v;
            struct str word = k < c->command.n ? words[k] : c->args.v[k - c->command.n];
            if (!str_starts(word, flag))
                continue;
            if (word.n > flag.n && word.p[flag.n] == '=') {
                *ret_value = str_slice(word, flag.n + 1, word.n);
                return true;
            }
            if (word.n == flag.n && k + 1 < c->command.n + c->args.n) {
                *ret_value = k + 1 < c->command.n ? words[k + 1] : c->args.v[k + 1 - c->command.n];
                return true;
            }
        }
    }
    return false;
}

static void take_pod(const struct finding *f, struct str namespace, const struct leader_pod *pod,
                     struct explain_found *found)
{
    struct buf url = BUF_INIT;
    struct str text;
    found->namespace = arena_dup(f->arena, namespace);
    found->pod = arena_dup(f->arena, pod->metadata.name);
    if (find_flag(pod, "--secure-port", &text) && !str_to_i64(text, &found->port))
        found->port = EXPLAIN_PORT;
    found->local_only = find_flag(pod, "--bind-address", &text) &&
                        (str_starts(text, STR("127.")) || str_is(text, "::1"));
    buf_add_cstr(&url, "https://");
    url_add_authority(&url, pod->status.pod_ip, (uint16_t)found->port);
    found->url = arena_dup(f->arena, buf_str(&url));
    buf_release(&url);
}

static bool is_own_host(struct str host)
{
    char name[256];
    return gethostname(name, sizeof(name)) == 0 && str_is(host, name);
}

/* Whether this is the static Pod of kubeadm or of berth's deployment files. */
static bool is_scheduler(const struct leader_pod *pod)
{
    const struct str *component = str_map_get(&pod->metadata.labels, STR("component"));
    return (component && str_is(*component, "kube-scheduler")) ||
           str_starts(pod->metadata.name, STR("kube-scheduler-"));
}

static int find_on_node(const struct finding *f, struct str namespace, struct str host,
                        struct explain_found *found, struct err *reterr)
{
    struct leader_pod_list list;
    struct buf path = BUF_INIT;
    buf_add_str(&path, path_of(f, "/api/v1", namespace, "pods", STR("")));
    buf_add_cstr(&path, "?fieldSelector=spec.nodeName%3D");
    url_add_query(&path, host);
    int r = get_object(f, buf_str(&path), &pod_list_type, &list, reterr);
    buf_release(&path);
    for (size_t i = 0; r == 0 && i < list.items.n; i++) {
        if (is_scheduler(&list.items.v[i]) && list.items.v[i].status.pod_ip.n) {
            take_pod(f, namespace, &list.items.v[i], found);
            return 0;
        }
    }
    return r < 0 ? r
                 : err_set(reterr, -ENOENT,
                           "leader \"%.*s\" is neither this machine nor a pod in namespace %.*s: "
                           "set --server to its address",
                           STR_ARG(host), STR_ARG(namespace));
}

int explain_find(const struct kube_config *config, const struct explain_query *query,
                 struct arena *a, struct explain_found *ret_found, struct err *reterr)
{
    struct finding f = {config, query, a};
    struct explain_found found = {.port = EXPLAIN_PORT};
    struct str namespace, name, host = {0};
    struct leader_pod pod;
    int r = find_lease(&f, &namespace, &name, reterr);
    if (r == 0)
        r = find_holder(&f, namespace, name, &host, reterr);
    if (r < 0)
        return r;
    if (is_own_host(host)) {
        found.url = arena_printf(a, "https://127.0.0.1:%d", EXPLAIN_PORT);
        *ret_found = found;
        return 0;
    }
    r = get_object(&f, path_of(&f, "/api/v1", namespace, "pods", host), &pod_type, &pod, reterr);
    if (r == 0 && pod.status.pod_ip.n)
        take_pod(&f, namespace, &pod, &found);
    else if (r == 0 || r == -ENOENT)
        r = find_on_node(&f, namespace, host, &found, reterr);
    if (r == 0)
        *ret_found = found;
    return r;
}
