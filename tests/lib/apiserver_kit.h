/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apiserver_kit.h - requests to a registry, as unit tests make them.
 *
 * Purpose:   one struct with a registry, a clock and the last answer; bodies are JSON text with '
 *            for ".
 * Ownership: kit_free releases everything; an answer is valid until the next request.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_APISERVER_KIT_H
#define BERTH_TESTS_APISERVER_KIT_H

#include "apiserver/registry/registry.h"
#include "base/time.h"

struct kit {
    struct registry *reg;
    struct arena arena;
    struct api_request request; /* options for the next request */
    struct api_response response;
    struct buf text; /* of the last answer */
    int64_t now;
};

#define KIT_NOW ((int64_t)1700000000 * NSEC_PER_SEC) /* 2023-11-14T22:13:20Z */

static inline void kit_init(struct kit *k, const struct registry_options *options)
{
    *k = (struct kit){.now = KIT_NOW};
    k->reg = registry_new(options);
    arena_init(&k->arena, 0);
}

static inline void kit_free(struct kit *k)
{
    registry_response_release(&k->response);
    arena_release(&k->arena);
    buf_release(&k->text);
    registry_free(k->reg);
}

static inline const struct resource *kit_resource(struct kit *k, const char *name)
{
    struct str plural = str_of(name), group = {0}, rest = plural;

    if (str_find(plural, '.') < plural.n) {
        str_split(&rest, '.', &plural);
        group = rest;
    }
    return resources_named(registry_resources(k->reg), group, plural);
}

/* "pods/status", "deployments.apps"; body NULL: none. Returns the code. */
static inline int kit_serve(struct kit *k, enum api_verb verb, const char *what, const char *name,
                            const char *body)
{
    struct str resource = str_of(what), sub = {0};
    struct json_value tree;
    struct err err;
    char plural[128];
    int code;

    registry_response_release(&k->response);
    arena_reset(&k->arena);
    buf_clear(&k->text);
    if (str_find(resource, '/') < resource.n) {
        struct str head;

        str_split(&resource, '/', &head);
        sub = resource;
        resource = head;
    }
    snprintf(plural, sizeof(plural), "%.*s", STR_ARG(resource));
    k->request.verb = verb;
    k->request.resource = kit_resource(k, plural);
    assert_non_null(k->request.resource);
    k->request.subresource = sub;
    if (!k->request.namespace.p)
        k->request.namespace = k->request.resource->namespaced ? STR("ns") : STR("");
    k->request.name = str_of(name ? name : "");
    k->request.body = NULL;
    if (body) {
        struct str text = arena_dup(&k->arena, str_of(body));

        for (size_t i = 0; i < text.n; i++)
            if (text.p[i] == '\'')
                ((char *)(uintptr_t)text.p)[i] = '"';
        assert_int_equal(json_parse(text, 0, &k->arena, &tree, &err), 0);
        k->request.body = &tree;
    }
    k->request.now = k->now;
    k->request.arena = &k->arena;
    code = registry_serve(k->reg, &k->request, &k->response);
    if (k->response.status.code)
        api_status_write(&k->response.status, &k->text);
    else if (k->response.object)
        buf_add_str(&k->text, k->response.object->text);
    else if (k->response.tree)
        json_write(k->response.tree, &k->text);
    k->request = (struct api_request){0};
    return code;
}

/* The answer as a tree. */
static inline const struct json_value *kit_tree(struct kit *k)
{
    struct json_value *tree = arena_new(&k->arena, struct json_value);
    struct err err;

    assert_int_equal(json_parse(buf_str(&k->text), 0, &k->arena, tree, &err), 0);
    return tree;
}

/* The text at a path of the answer: a string, a number, true, or JSON; "" if there is none. */
static inline const char *kit_at(struct kit *k, const char *path)
{
    const struct json_value *v = json_at(kit_tree(k), path);
    struct buf b = BUF_INIT;
    struct str text;

    if (v && (v->kind == JSON_STRING || v->kind == JSON_NUMBER))
        buf_add_str(&b, v->text);
    else if (v)
        json_write(v, &b);
    text = arena_dup(&k->arena, buf_str(&b));
    buf_release(&b);
    return text.p;
}

static inline void kit_message(struct kit *k, const char *expected)
{
    assert_string_equal(arena_printf(&k->arena, "%.*s", STR_ARG(k->response.status.message)).p,
                        expected);
}

#endif
