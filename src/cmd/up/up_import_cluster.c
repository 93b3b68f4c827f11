/* SPDX-License-Identifier: Apache-2.0 */
/* --import of a live cluster: lists everything that a kubeconfig's user may read. */
#include <stdio.h>

#include "cmd/up/up_objects.h"
#include "kube/rest/rest.h"

/* One list after the other, page by page. */
struct cluster_lister {
    struct up_importer *im;
    struct loop *loop;
    const struct resource *resource;
    struct buf path, token;
    bool done;
    int result;
    struct err err;
};

/* Custom resources are listed in a second round: their definitions come with the first. */
static int import_page(struct cluster_lister *l, struct str body, struct err *reterr)
{
    struct json_value list;
    struct arena a;
    arena_init(&a, (size_t)256 << 10);
    int r = json_parse(body, 0, &a, &list, reterr);
    struct json_items items = r == 0 ? json_items_at(&list, "items") : (struct json_items){0};
    for (size_t i = 0; i < items.n && r == 0; i++) {
        arena_reset(&l->im->arena);
        struct json_value object = json_copy(&items.v[i], &l->im->arena);
        r = up_import_object(l->im, &object, l->resource->api_version, l->resource->kind, reterr);
    }
    buf_clear(&l->token);
    if (r == 0)
        buf_add_str(&l->token, json_text_at(&list, "metadata.continue"));
    arena_release(&a);
    return r;
}

static void on_page(void *ctx, const struct rest_result *result)
{
    struct cluster_lister *l = ctx;
    l->done = true;
    buf_clear(&l->token);
    if (result->code == 0) {
        l->result = import_page(l, result->body, &l->err);
    } else if (result->status == 404 || result->status == 405) {
        l->result = 0; /* the cluster does not serve it */
    } else if (result->status == 403) {
        fprintf(stderr, "berth: warning: %s\n", result->err.msg);
        l->result = 0;
    } else {
        l->err = result->err;
        l->result = result->code;
    }
    loop_stop(l->loop);
}

static int list_resource(struct cluster_lister *l, struct rest_client *client,
                         const struct resource *r, struct err *reterr)
{
    l->resource = r;
    buf_clear(&l->token);
    do {
        buf_clear(&l->path);
        buf_add_printf(&l->path, "/%s%.*s%s%.*s/%.*s?limit=500",
                       str_empty(r->group) ? "api" : "apis/", STR_ARG(r->group), "/",
                       STR_ARG(r->version), STR_ARG(r->plural));
        if (l->token.n)
            buf_add_printf(&l->path, "&continue=%s", buf_cstr(&l->token));
        l->done = false;
        rest_send(client, &(struct rest_request){.verb = REST_GET, .path = buf_str(&l->path)},
                  on_page, l);
        while (!l->done)
            loop_run(l->loop);
        if (l->result < 0) {
            *reterr = l->err;
            return l->result;
        }
    } while (l->token.n);
    return 0;
}

static int list_all(struct cluster_lister *l, struct rest_client *client, bool custom,
                    struct err *reterr)
{
    const struct resources *rs = registry_resources(control_plane_registry(l->im->plane));
    const struct resource *r = NULL;
    int ret = 0;
    while (ret == 0 && (r = resources_next(rs, r)))
        if (!r->stored && (r->verbs & VERB_LIST) && (r->custom != NULL) == custom)
            ret = list_resource(l, client, r, reterr);
    return ret;
}

int up_import_cluster(struct up_importer *im, const char *kubeconfig, struct err *reterr)
{
    struct cluster_lister l = {.im = im};
    struct kube_config config;
    struct rest_client *client = NULL;
    int r =
        kube_config_load(&config, &(struct kube_config_options){.kubeconfig = kubeconfig}, reterr);
    if (r < 0)
        return r;
    r = loop_new(&l.loop);
    if (r < 0)
        r = err_set(reterr, r, "event loop: %s", strerror(-r));
    if (r == 0)
        r = rest_client_new(l.loop, &config, NULL, &client, reterr);
    if (r == 0)
        r = list_all(&l, client, false, reterr);
    if (r == 0)
        r = list_all(&l, client, true, reterr);
    rest_client_free(client);
    loop_free(l.loop);
    kube_config_release(&config);
    buf_release(&l.path);
    buf_release(&l.token);
    return r;
}
