/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a call, and how it ends. */
#include "apiserver/http/api_server_internal.h"

#define NOT_FOUND_TEXT "404 page not found\n"

/* --- lifetime --------------------------------------------------------------------------------- */

static void leave(struct call *c)
{
    if (!c->inflight)
        return;
    c->inflight = false;
    c->server->n_inflight--;
    if (c->anonymous)
        c->server->n_anonymous--;
}

void call_free(struct call *c)
{
    leave(c);
    registry_response_release(&c->response);
    buf_release(&c->body);
    arena_release(&c->arena);
    free(c);
}

static void on_gone(struct http_exchange *x)
{
    struct call *c = x->user;

    c->x = NULL;
    http_abort(x);
    if (!c->held)
        call_free(c);
}

struct str make_uuid(struct rand *rand, struct arena *a)
{
    uint64_t high = rand_u64(rand), low = rand_u64(rand);

    return arena_printf(a, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32),
                        (unsigned)(high >> 16) & 0xffff, (unsigned)high & 0xfff,
                        ((unsigned)(low >> 48) & 0x3fff) | 0x8000,
                        (unsigned long long)(low & 0xffffffffffff));
}

struct call *call_new(struct api_server *s, struct http_exchange *x)
{
    struct call *c = xnew(struct call);

    arena_init(&c->arena, 1024);
    c->server = s;
    c->x = x;
    c->now = time_wall();
    x->user = c;
    x->on_gone = on_gone;
    c->audit_id = http_headers_get(&x->headers, "audit-id");
    if (str_empty(c->audit_id))
        c->audit_id = make_uuid(&s->rand, &c->arena);
    api_query_parse(x->query, &c->arena, &c->query);
    api_route_parse(x->method, x->path, &c->query, &c->arena, &c->route);
    return c;
}

/* --- answers ---------------------------------------------------------------------------------- */

void call_refuse(struct call *c)
{
    c->writes = false;
    call_finish(c);
}

void call_answer_tree(struct call *c, struct json_value *tree, int code)
{
    c->response.tree = tree;
    c->response.code = code;
    call_finish(c);
}

void call_finish(struct call *c)
{
    struct api_server *s = c->server;

    if (!s->dirty) {
        call_answer(c, NULL);
        return;
    }
    c->held = true;
    c->next = NULL;
    *s->held_end = c;
    s->held_end = &c->next;
    server_flush_soon(s);
}

void call_answer(struct call *c, const struct api_status *failure)
{
    int code = c->response.status.code;

    c->held = false;
    if (failure && c->writes && !code)
        code = failure->code;
    else
        failure = NULL;
    server_metrics_count(c, code ? code : c->content_type.n ? c->code : c->response.code);
    if (!c->x) {
        call_free(c);
        return;
    }
    if (failure)
        answer_status(c, failure);
    else if (code)
        answer_status(c, &c->response.status);
    else if (c->content_type.n)
        answer_text(c, c->code, c->content_type, buf_str(&c->body));
    else if (c->response.snapshot)
        answer_list(c);
    else
        answer_object(c);
}

/* --- access ----------------------------------------------------------------------------------- */

bool call_allows(struct call *c, const struct api_user *user, const struct access_attributes *what,
                 struct str *ret_why)
{
    *ret_why = STR("");
    return !c->server->options.rbac ||
           authorization_allows(c->server->options.authorization, c->server->options.rbac, user,
                                what, &c->arena, ret_why);
}

/* Upstream's words for go-restful's 404 and 405. */
void call_refuse_path(struct call *c, int code)
{
    status_of(&c->response.status, code, &c->arena, "%s",
              code == 404 ? "the server could not find the requested resource"
                          : "the server does not allow this method on the requested resource");
    call_refuse(c);
}

void call_refuse_page(struct call *c)
{
    c->code = 404;
    c->content_type = STR("text/plain; charset=utf-8");
    buf_add_cstr(&c->body, NOT_FOUND_TEXT);
    call_finish(c);
}
