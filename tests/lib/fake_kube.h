/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_kube.h - a client of the scripted API server, for tests of src/kube.
 *
 * Purpose:   loop, server, configuration and rest_client in one struct; pods in JSON and watch
 *            frames in both encodings.
 * Ownership: fake_kube_begin and _end bracket a test.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_FAKE_KUBE_H
#define BERTH_TESTS_FAKE_KUBE_H

#include "api/object.h"
#include "codec/proto.h"
#include "fake_api.h"
#include "kube/rest/rest.h"
#include "objects.h"

struct fake_kube {
    struct loop *loop;
    struct fake_api *api;
    struct kube_config config;
    struct rest_client *client;
    struct arena arena;
};

/* options may be NULL. Options that are zero get small values where a test would have to wait. */
static inline void fake_kube_begin(struct fake_kube *k, const struct rest_options *options)
{
    struct rest_options o = options ? *options : (struct rest_options){0};
    struct err err;

    *k = (struct fake_kube){0};
    arena_init(&k->arena, 0);
    fake_log_begin();
    if (loop_new(&k->loop) < 0)
        abort();
    k->api = fake_api_new(k->loop, NULL);
    k->config = (struct kube_config){
        .source = STR_INIT("test"),
        .server = arena_dup(&k->arena, str_of(fake_api_url(k->api))),
        .content_type = STR_INIT(KUBE_CONTENT_PROTOBUF),
        .accept = STR_INIT(KUBE_CONTENT_PROTOBUF "," KUBE_CONTENT_JSON),
        .user_agent = STR_INIT("berth/test"),
    };
    if (o.retry_unit == 0)
        o.retry_unit = NSEC_PER_MSEC;
    if (rest_client_new(k->loop, &k->config, &o, &k->client, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
}

static inline void fake_kube_end(struct fake_kube *k)
{
    rest_client_free(k->client);
    fake_api_free(k->api);
    loop_free(k->loop);
    arena_release(&k->arena);
    fake_log_end();
}

/* A pod as JSON. */
static inline struct str fake_pod(struct fake_kube *k, const char *name, int version)
{
    return arena_jsonf(&k->arena,
                       "{'kind':'Pod','apiVersion':'v1','metadata':{'namespace':"
                       "'ns','name':'%s','uid':'u-%s','resourceVersion':'%d'}}",
                       name, name, version);
}

/* A frame of a JSON watch. object: any JSON. */
static inline struct str fake_frame(struct fake_kube *k, const char *type, struct str object)
{
    return arena_jsonf(&k->arena, "{'type':'%s','object':%.*s}\n", type, STR_ARG(object));
}

static inline struct str fake_bookmark(struct fake_kube *k, int version, bool initial_end)
{
    return fake_frame(
        k, "BOOKMARK",
        arena_jsonf(&k->arena,
                    "{'kind':'Pod','apiVersion':'v1','metadata':{'resourceVersion':"
                    "'%d'%s}}",
                    version,
                    initial_end ? ",'annotations':{'k8s.io/initial-events-end':'true'}" : ""));
}

static inline struct str fake_status(struct fake_kube *k, int code, const char *reason,
                                     const char *message)
{
    return arena_jsonf(&k->arena,
                       "{'kind':'Status','apiVersion':'v1','status':'Failure',"
                       "'message':'%s','reason':'%s','code':%d}",
                       message, reason, code);
}

/* The same object in protobuf, with its envelope. */
static inline struct str fake_proto(struct fake_kube *k, enum kind_id kind, struct str json)
{
    struct wire wire = {.kind = kind_get(kind), .encoding = ENCODING_JSON};
    struct object *object;
    struct buf out = BUF_INIT;
    struct str copy;
    struct err err;

    if (object_decode(&wire, json, &object, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
    object_encode(wire.kind, object_body(object), ENCODING_PROTO, &out);
    copy = arena_dup(&k->arena, buf_str(&out));
    object_unref(object);
    buf_release(&out);
    return copy;
}

/* A frame of a protobuf watch, preceded by its length. */
static inline struct str fake_proto_frame(struct fake_kube *k, const char *type,
                                          struct str envelope)
{
    struct buf raw = BUF_INIT, event = BUF_INIT, out = BUF_INIT;
    struct str copy;

    proto_write_bytes(&raw, 1, envelope);
    proto_write_bytes(&event, 1, str_of(type));
    proto_write_bytes(&event, 2, buf_str(&raw));
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_add_char(&out, (char)(event.n >> shift & 0xff));
    buf_add_str(&out, buf_str(&event));
    copy = arena_dup(&k->arena, buf_str(&out));
    buf_release(&raw);
    buf_release(&event);
    buf_release(&out);
    return copy;
}

#endif
