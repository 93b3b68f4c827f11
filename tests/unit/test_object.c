/* SPDX-License-Identifier: Apache-2.0 */
/* Objects, lists, watch events, kinds: decoding and encoding. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>
#include <pthread.h>

#include "api/coordination.h"
#include "api/core.h"
#include "api/events.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/policy.h"
#include "api/resource_claim.h"
#include "api/status.h"
#include "api/watch.h"
#include "codec/json.h"
#include "codec/proto.h"
#include "objects.h"

static const char pod_json[] =
    "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'web-0','namespace':"
    "'shop','uid':'u1','resourceVersion':'7','labels':{'b':'2','a':'1'},"
    "'creationTimestamp':'2026-03-01T10:00:00Z','managedFields':[{'manager':'x'}],"
    "'ownerReferences':[{'apiVersion':'v1','kind':'Node','name':'n','uid':'9'},"
    "{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'web','uid':'8',"
    "'controller':true}]},'spec':{'containers':[{'name':'c','image':'i:1',"
    "'env':[{'name':'X'}],'resources':{'requests':{'cpu':'250m'}}}],"
    "'volumes':[{'name':'d','persistentVolumeClaim':{'claimName':'pvc'}},"
    "{'name':'e','emptyDir':{}}],'priority':5,'hostUsers':false},"
    "'status':{'phase':'Pending'}}";

static struct wire wire_of(enum kind_id kind, enum encoding encoding)
{
    return (struct wire){.kind = kind_get(kind), .encoding = encoding};
}

/* Decodes the bytes, which must be one object. */
static struct object *decode(enum kind_id kind, enum encoding encoding, unsigned flags,
                             struct str bytes)
{
    struct wire wire = wire_of(kind, encoding);
    struct object *o = NULL;
    struct err err = {0};
    wire.flags = flags;
    if (object_decode(&wire, bytes, &o, &err) != 0)
        fail_msg("%s", err.msg);
    return o;
}

/* The error for these bytes. */
static struct err refuse(enum kind_id kind, enum encoding encoding, struct str bytes)
{
    struct wire wire = wire_of(kind, encoding);
    struct object *o = NULL;
    struct err err = {0};
    int r = object_decode(&wire, bytes, &o, &err);
    assert_null(o);
    assert_true(r < 0);
    assert_int_equal(err.code, r);
    return err;
}

static struct str encode(const struct object *o, enum encoding encoding, struct buf *out)
{
    buf_clear(out);
    object_encode(object_kind(o), object_body(o), encoding, out);
    return buf_str(out);
}

/* expected: with single quotes. */
static void assert_str(struct str s, const char *expected)
{
    if (!str_eq(s, json_quotes_str(expected)))
        fail_msg("expected: %s\n     got: %.*s", expected, STR_ARG(s));
}

/* --- objects ---------------------------------------------------------------------------------- */

static void check_pod(const struct object *o)
{
    const struct pod *pod = object_pod(o);
    assert_ptr_equal(object_meta(o), &pod->metadata);
    assert_str(pod->metadata.name, "web-0");
    assert_str(*str_map_get(&pod->metadata.labels, STR("b")), "2");
    assert_true(pod->metadata.creation_timestamp.set);
    assert_false(pod->metadata.deletion_timestamp.set);
    assert_str(object_meta_controller(&pod->metadata)->name, "web");
    assert_int_equal(*pod->spec.priority, 5);
    assert_false(*pod->spec.host_users);
    assert_int_equal(pod->spec.volumes.n, 2);
    assert_str(pod->spec.volumes.v[0].source.persistent_volume_claim->claim_name, "pvc");
    assert_null(pod->spec.volumes.v[1].source.persistent_volume_claim);
    const quantity_map *requests = &pod->spec.containers.v[0].resources.requests;
    assert_int_equal(quantity_milli_value(quantity_map_get(requests, STR("cpu"))), 250);
    assert_str(pod->status.phase, "Pending");
}

static void test_pod_by_json_and_proto(void **state UNUSED)
{
    struct buf out = BUF_INIT;
    struct object *o = decode(KIND_POD, ENCODING_JSON, 0, json_quotes_str(pod_json));
    check_pod(o);
    /* In its envelope, and bare. */
    struct object *p = decode(KIND_POD, ENCODING_PROTO, 0, encode(o, ENCODING_PROTO, &out));
    check_pod(p);
    object_unref(p);
    buf_clear(&out);
    proto_encode(&pod_type, object_body(o), &out);
    p = decode(KIND_POD, ENCODING_PROTO, 0, buf_str(&out));
    check_pod(p);
    object_unref(p);
    object_unref(o);
    buf_release(&out);
}

static void test_object_outlives_its_bytes(void **state UNUSED)
{
    char *bytes = xstrdup(json_quotes(pod_json));
    struct object *o = decode(KIND_POD, ENCODING_JSON, OBJECT_KEEP_WIRE, str_of(bytes));
    memset(bytes, 'x', strlen(bytes));
    free(bytes);
    check_pod(o);
    enum encoding encoding;
    assert_str(object_wire(o, &encoding), pod_json);
    assert_int_equal(encoding, ENCODING_JSON);
    assert_true(object_size(o) > sizeof(pod_json) + sizeof(struct pod));
    object_unref(o);

    o = decode(KIND_POD, ENCODING_JSON, 0, json_quotes_str(pod_json));
    assert_null(object_wire(o, &encoding).p);
    object_unref(o);
}

static void assert_kept(unsigned flags, const char *json, const char *want)
{
    enum encoding encoding;
    struct object *o = decode(KIND_POD, ENCODING_JSON, flags, json_quotes_str(json));
    assert_str(object_wire(o, &encoding), want);
    object_unref(o);
}

static void test_json_is_kept_as_go_sends_it(void **state UNUSED)
{
    unsigned keep = OBJECT_KEEP_JSON, drop = OBJECT_KEEP_JSON | OBJECT_DROP_MANAGED_FIELDS;
    const char *whole = "{'kind':'Pod','apiVersion':'v1','metadata':{'managedFields':"
                        "[{'a':'}'}],'name':'p'},'spec':{'kind': [1 ,2]} }";
    assert_kept(keep, whole,
                "{'metadata':{'managedFields':[{'a':'}'}],'name':'p'},"
                "'spec':{'kind': [1 ,2]}}");
    assert_kept(drop, whole, "{'metadata':{'name':'p'},'spec':{'kind': [1 ,2]}}");
    /* At any place. */
    assert_kept(drop, "{'metadata':{'name':'p','managedFields':null},'kind':'Pod'}",
                "{'metadata':{'name':'p'}}");
    assert_kept(drop, "{ 'metadata' : { 'managedFields' : [] } , 'apiVersion' : 'v1' }",
                "{'metadata' : {}}");
    assert_kept(drop, "{'metadata':null}", "{'metadata':null}");
    assert_kept(drop, "{}", "{}");
    assert_kept(drop, "{'managedFields':1,'metadata':{'kind':'x'}}",
                "{'managedFields':1,'metadata':{'kind':'x'}}");
}

static void test_kept_proto_has_no_envelope(void **state UNUSED)
{
    struct buf out = BUF_INIT;
    struct object *o = decode(KIND_POD, ENCODING_JSON, 0, json_quotes_str(pod_json));
    struct object *p =
        decode(KIND_POD, ENCODING_PROTO, OBJECT_KEEP_WIRE, encode(o, ENCODING_PROTO, &out));
    enum encoding encoding;
    struct str wire = object_wire(p, &encoding);
    assert_int_equal(encoding, ENCODING_PROTO);
    struct object *q = decode(KIND_POD, ENCODING_PROTO, 0, wire);
    assert_false(str_starts(wire, STR("k8s")));
    check_pod(q);
    object_unref(o);
    object_unref(p);
    object_unref(q);
    buf_release(&out);
}

static void test_another_kind_is_refused(void **state UNUSED)
{
    struct buf out = BUF_INIT;
    struct err err = refuse(KIND_NODE, ENCODING_JSON, json_quotes_str(pod_json));
    assert_string_equal(err.msg, "expected v1 Node, got v1 Pod");
    struct object *o = decode(KIND_POD, ENCODING_JSON, 0, json_quotes_str(pod_json));
    err = refuse(KIND_REPLICA_SET, ENCODING_PROTO, encode(o, ENCODING_PROTO, &out));
    assert_string_equal(err.msg, "expected apps/v1 ReplicaSet, got v1 Pod");
    /* Without a kind any kind is accepted. */
    object_unref(o);
    o = decode(KIND_NODE, ENCODING_JSON, 0, json_quotes_str("{'metadata':{'name':'n'}}"));
    assert_str(object_node(o)->metadata.name, "n");
    object_unref(o);
    buf_release(&out);
}

static void test_garbage_is_refused(void **state UNUSED)
{
    static const char *const texts[] = {"",
                                        "null1",
                                        "[]",
                                        "{",
                                        "{'spec':[]}",
                                        "{}x",
                                        "{'metadata':{'creationTimestamp':'now'}}",
                                        "{'spec':{'priority':3000000000}}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = refuse(KIND_POD, ENCODING_JSON, json_quotes_str(texts[i]));
        assert_int_equal(err.code, -EBADMSG);
        assert_true(err.msg[0]);
    }
    struct err err = refuse(KIND_POD, ENCODING_PROTO, STR("k8s\0\x0a"));
    assert_int_equal(err.code, -EBADMSG);
    err = refuse(KIND_POD, ENCODING_PROTO, STR("\x0a\x7f"));
    assert_int_equal(err.code, -EBADMSG);
}

static void test_oversize_is_refused(void **state UNUSED)
{
    size_t n = OBJECT_MAX_SIZE + 1;
    char *bytes = xcalloc(n, 1);
    assert_int_equal(refuse(KIND_POD, ENCODING_JSON, (struct str){bytes, n}).code, -EMSGSIZE);
    assert_int_equal(refuse(KIND_POD, ENCODING_PROTO, (struct str){bytes, n}).code, -EMSGSIZE);
    free(bytes);
}

static void *ref_and_unref(void *object)
{
    for (int i = 0; i < 20000; i++)
        object_unref(object_ref(object));
    object_unref(object);
    return NULL;
}

static void test_references_from_threads(void **state UNUSED)
{
    pthread_t threads[4];
    struct object *o = decode(KIND_POD, ENCODING_JSON, 0, json_quotes_str(pod_json));
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ref_and_unref, object_ref(o)), 0);
    check_pod(o);
    o = object_unref(o);
    assert_null(o);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_null(object_unref(NULL));
}

/* --- encoding --------------------------------------------------------------------------------- */

static void test_event_as_the_server_takes_it(void **state UNUSED)
{
    struct object *o = object_new(KIND_EVENT);
    struct event *event = object_body_mut(o);
    struct buf out = BUF_INIT;
    event->metadata.name = arena_printf(object_arena(o), "%s.%x", "web-0", 0xabcdu);
    event->metadata.namespace = STR("shop");
    event->event_time = (struct timestamp){.sec = 1772359200, .nsec = 1234999, .set = true};
    event->reporting_controller = STR("default-scheduler");
    event->reporting_instance = STR("default-scheduler-host");
    event->action = STR("Binding");
    event->reason = STR("Scheduled");
    event->regarding = (struct object_reference){.kind = STR("Pod"), .name = STR("web-0")};
    event->note = STR("Successfully assigned shop/web-0 to n1");
    event->type = STR("Normal");
    assert_str(encode(o, ENCODING_JSON, &out),
               "{'kind':'Event','apiVersion':'events.k8s.io/v1','metadata':{'name':"
               "'web-0.abcd','namespace':'shop'},'eventTime':'2026-03-01T10:00:00.001234Z'"
               ",'reportingController':'default-scheduler','reportingInstance':"
               "'default-scheduler-host','action':'Binding','reason':'Scheduled',"
               "'regarding':{'kind':'Pod','name':'web-0'},'note':'Successfully assigned "
               "shop/web-0 to n1','type':'Normal'}");
    struct object *p = decode(KIND_EVENT, ENCODING_PROTO, 0, encode(o, ENCODING_PROTO, &out));
    assert_int_equal(object_event(p)->event_time.nsec, 1234000);
    object_unref(p);
    object_unref(o);
    buf_release(&out);
}

static void test_binding_and_lease(void **state UNUSED)
{
    struct buf out = BUF_INIT;
    struct object *o = object_new(KIND_BINDING);
    struct binding *binding = object_body_mut(o);
    binding->metadata = (struct object_meta){.name = STR("web-0"), .uid = STR("u1")};
    binding->target = (struct object_reference){.kind = STR("Node"), .name = STR("n1")};
    assert_str(encode(o, ENCODING_JSON, &out),
               "{'kind':'Binding','apiVersion':'v1','metadata':{'name':'web-0',"
               "'uid':'u1'},'target':{'kind':'Node','name':'n1'}}");
    object_unref(o);

    o = object_new(KIND_LEASE);
    struct lease *lease = object_body_mut(o);
    struct str nobody = STR("");
    int32_t seconds = 1;
    lease->spec.holder_identity = &nobody;
    lease->spec.lease_duration_seconds = &seconds;
    lease->spec.renew_time = (struct timestamp){.sec = 1772359200, .set = true};
    assert_str(encode(o, ENCODING_JSON, &out),
               "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','spec':{"
               "'holderIdentity':'','leaseDurationSeconds':1,'renewTime':"
               "'2026-03-01T10:00:00.000000Z'}}");
    object_unref(o);

    o = object_new(KIND_DELETE_OPTIONS);
    assert_str(encode(o, ENCODING_JSON, &out), "{'kind':'DeleteOptions','apiVersion':'v1'}");
    object_unref(o);
    buf_release(&out);
}

/* --- decoding --------------------------------------------------------------------------------- */

static void test_status_with_details(void **state UNUSED)
{
    struct object *o = decode(
        KIND_STATUS, ENCODING_JSON, 0,
        json_quotes_str("{'kind':'Status','apiVersion':'v1','metadata':{},'status':'Failure',"
                        "'message':'slow down','reason':'TooManyRequests','details':{'name':'p',"
                        "'causes':[{'reason':'FieldValueInvalid','message':'no','field':'spec.x'}"
                        "],"
                        "'retryAfterSeconds':3},'code':429}"));
    const struct status *status = object_status(o);
    assert_str(status->status, STATUS_FAILURE);
    assert_str(status->reason, "TooManyRequests");
    assert_int_equal(status->code, 429);
    assert_int_equal(status->details->retry_after_seconds, 3);
    assert_int_equal(status->details->causes.n, 1);
    assert_str(status->details->causes.v[0].field, "spec.x");
    object_unref(o);
}

static void test_scalars(void **state UNUSED)
{
    struct object *o = decode(
        KIND_POD_DISRUPTION_BUDGET, ENCODING_JSON, 0,
        json_quotes_str("{'metadata':{'creationTimestamp':null,'deletionTimestamp':"
                        "'2026-03-01T12:00:00.75+02:00'},'spec':{'minAvailable':3,'maxUnavailable':"
                        "'25%'},'status':{'disruptionsAllowed':2,'disruptedPods':{'b':"
                        "'2026-03-01T10:00:01Z','a':'0001-01-01T00:00:00Z'}}}"));
    const struct pod_disruption_budget *pdb = object_pod_disruption_budget(o);
    assert_false(pdb->metadata.creation_timestamp.set);
    assert_int_equal(pdb->metadata.deletion_timestamp.sec, 1772359200);
    assert_int_equal(pdb->metadata.deletion_timestamp.nsec, 0);
    assert_int_equal(pdb->spec.min_available->number, 3);
    assert_str(pdb->spec.max_unavailable->text, "25%");
    assert_int_equal(pdb->status.disrupted_pods.n, 2);
    assert_false(pdb->status.disrupted_pods.v[0].value.set); /* Go's zero time */
    assert_int_equal(pdb->status.disrupted_pods.v[1].value.sec, 1772359201);
    object_unref(o);
    refuse(KIND_POD_DISRUPTION_BUDGET, ENCODING_JSON,
           json_quotes_str("{'spec':{'minAvailable':1.5}}"));
    refuse(KIND_LEASE, ENCODING_JSON, json_quotes_str("{'spec':{'renewTime':17}}"));
}

/* A time without a text form is clamped, not rejected: it must not fail the whole list. */
static void test_absurd_times_are_moved(void **state UNUSED)
{
    struct buf out = BUF_INIT, time = BUF_INIT, spec = BUF_INIT;
    proto_write_varint(&time, 1, INT64_MAX);
    proto_write_varint(&time, 2, (uint64_t)-5);
    proto_write_bytes(&spec, 4, buf_str(&time));
    proto_write_bytes(&out, 2, buf_str(&spec));
    struct object *o = decode(KIND_LEASE, ENCODING_PROTO, 0, buf_str(&out));
    assert_str(encode(o, ENCODING_JSON, &out),
               "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','spec':{"
               "'renewTime':'9999-12-31T23:59:59.000000Z'}}");
    object_unref(o);
    buf_release(&spec);
    buf_release(&time);
    buf_release(&out);
}

/* Opaque parameters of a device are kept as they are, in both encodings. */
static void test_raw_extension(void **state UNUSED)
{
    struct buf out = BUF_INIT;
    struct object *o =
        decode(KIND_DEVICE_CLASS, ENCODING_JSON, 0,
               json_quotes_str("{'spec':{'config':[{'opaque':{'driver':'d','parameters':"
                               "{'kind':'X','n':[1, 2]}}}]}}"));
    struct object *p =
        decode(KIND_DEVICE_CLASS, ENCODING_PROTO, 0, encode(o, ENCODING_PROTO, &out));
    const struct device_class *class = object_device_class(p);
    assert_int_equal(class->spec.config.n, 1);
    assert_str(class->spec.config.v[0].device_configuration.opaque->parameters,
               "{'kind':'X','n':[1, 2]}");
    object_unref(p);
    object_unref(o);
    buf_release(&out);
}

/* --- lists ------------------------------------------------------------------------------------ */

struct names {
    char text[64];
    int stop_after; /* 0: never */
    int n;
};

static int note_name(void *ctx, struct object *o)
{
    struct names *names = ctx;
    struct str name = object_meta(o)->name;
    size_t used = strlen(names->text);
    snprintf(names->text + used, sizeof(names->text) - used, "%.*s,", STR_ARG(name));
    object_unref(o);
    return ++names->n == names->stop_after ? -ECANCELED : 0;
}

static void test_json_list(void **state UNUSED)
{
    struct wire wire = wire_of(KIND_NODE, ENCODING_JSON);
    struct str text =
        json_quotes_str("{'kind':'NodeList','apiVersion':'v1','metadata':{'resourceVersion':'42',"
                        "'continue':'more','remainingItemCount':9},'items':[{'metadata':{'name':"
                        "'a'}},{'metadata':{'name':'b'},'spec':{'unschedulable':true}}]}");
    struct object_list list;
    struct err err;
    struct names names = {0};
    assert_int_equal(object_decode_list(&wire, text, note_name, &names, &list, &err), 0);
    assert_string_equal(names.text, "a,b,");
    assert_str(list.metadata.resource_version, "42");
    assert_str(list.metadata.continue_token, "more");
    assert_int_equal(*list.metadata.remaining_item_count, 9);
    object_list_release(&list);

    names = (struct names){.stop_after = 1};
    assert_int_equal(object_decode_list(&wire, text, note_name, &names, &list, &err), -ECANCELED);
    assert_string_equal(names.text, "a,");

    wire = wire_of(KIND_POD, ENCODING_JSON);
    names = (struct names){0};
    assert_int_equal(object_decode_list(&wire, text, note_name, &names, &list, &err), -EBADMSG);
    assert_string_equal(err.msg, "expected v1 PodList, got v1 NodeList");
}

static void test_bad_item_is_named(void **state UNUSED)
{
    struct wire wire = wire_of(KIND_NODE, ENCODING_JSON);
    struct str text = json_quotes_str("{'items':[{},{'spec':{'unschedulable':'yes'}}]}");
    struct object_list list;
    struct err err;
    struct names names = {0};
    assert_int_equal(object_decode_list(&wire, text, note_name, &names, &list, &err), -EBADMSG);
    assert_int_equal(names.n, 1);
    assert_non_null(strstr(err.msg, "items[1]"));
    assert_non_null(strstr(err.msg, "spec.unschedulable"));
}

static void test_proto_list(void **state UNUSED)
{
    struct wire wire = wire_of(KIND_NODE, ENCODING_PROTO);
    struct buf meta = BUF_INIT, item = BUF_INIT, out = BUF_INIT;
    struct node node = {.metadata.name = STR("n1")};
    proto_write_bytes(&meta, 2, STR("42"));
    proto_write_bytes(&out, 1, buf_str(&meta));
    proto_encode(&node_type, &node, &item);
    proto_write_bytes(&out, 2, buf_str(&item));
    proto_write_bytes(&out, 2, buf_str(&item));
    struct object_list list;
    struct err err;
    struct names names = {0};
    assert_int_equal(object_decode_list(&wire, buf_str(&out), note_name, &names, &list, &err), 0);
    assert_string_equal(names.text, "n1,n1,");
    assert_str(list.metadata.resource_version, "42");
    object_list_release(&list);
    buf_release(&meta);
    buf_release(&item);
    buf_release(&out);
}

/* --- watch events ----------------------------------------------------------------------------- */

static void test_json_watch(void **state UNUSED)
{
    static const struct {
        const char *frame;
        enum watch_event_type type;
        enum kind_id kind;
    } cases[] = {
        {"{'type':'ADDED','object':{'kind':'Node','apiVersion':'v1'}}", WATCH_ADDED, KIND_NODE},
        {"{'object':{},'type':'MODIFIED'}", WATCH_MODIFIED, KIND_NODE},
        {"{'type':'DELETED','object':{}}", WATCH_DELETED, KIND_NODE},
        {"{'type':'BOOKMARK','object':{'kind':'Node','metadata':{'resourceVersion':"
         "'1'}}}",
         WATCH_BOOKMARK, KIND_NODE},
        {"{'type':'ERROR','object':{'kind':'Status','apiVersion':'v1','code':410}}", WATCH_ERROR,
         KIND_STATUS},
    };
    struct wire wire = wire_of(KIND_NODE, ENCODING_JSON);
    struct watch_event event;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(watch_event_decode(&wire, json_quotes_str(cases[i].frame), &event, &err),
                         0);
        assert_int_equal(event.type, cases[i].type);
        assert_int_equal(object_kind(event.object)->id, cases[i].kind);
        watch_event_release(&event);
    }
    static const char *const bad[] = {"{}", "{'type':'ADDED'}",
                                      "{'type':'LOST',"
                                      "'object':{}}",
                                      "{'type':'ADDED','object':{'kind':"
                                      "'Pod'}}",
                                      "[]"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(watch_event_decode(&wire, json_quotes_str(bad[i]), &event, &err),
                         -EBADMSG);
}

static void test_proto_watch(void **state UNUSED)
{
    struct wire wire = wire_of(KIND_POD, ENCODING_PROTO);
    struct buf object = BUF_INIT, raw = BUF_INIT, frame = BUF_INIT;
    struct object *o = decode(KIND_POD, ENCODING_JSON, 0, json_quotes_str(pod_json));
    proto_write_bytes(&raw, 1, encode(o, ENCODING_PROTO, &object));
    proto_write_bytes(&frame, 1, STR("MODIFIED"));
    proto_write_bytes(&frame, 2, buf_str(&raw));
    struct watch_event event;
    struct err err;
    assert_int_equal(watch_event_decode(&wire, buf_str(&frame), &event, &err), 0);
    assert_int_equal(event.type, WATCH_MODIFIED);
    check_pod(event.object);
    watch_event_release(&event);
    assert_int_equal(
        watch_event_decode(&wire, str_slice(buf_str(&frame), 0, frame.n - 1), &event, &err),
        -EBADMSG);
    object_unref(o);
    buf_release(&object);
    buf_release(&raw);
    buf_release(&frame);
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* "CSINode" to "csinodes", as the API names its resources. */
static void check_resource(const struct kind *kind)
{
    struct buf name = BUF_INIT;
    for (size_t i = 0; i < kind->kind.n; i++)
        buf_add_char(&name, (char)(kind->kind.p[i] | 0x20));
    if (str_ends(buf_str(&name), STR("y"))) {
        name.n--;
        buf_add_cstr(&name, "ie");
    } else if (str_ends(buf_str(&name), STR("s"))) {
        buf_add_cstr(&name, "e");
    }
    buf_add_char(&name, 's');
    assert_str(kind->resource, buf_cstr(&name));
    buf_release(&name);
}

static void test_kinds_are_found(void **state UNUSED)
{
    for (int id = 0; id < KIND_COUNT; id++) {
        const struct kind *kind = kind_get((enum kind_id)id);
        assert_int_equal(kind->id, id);
        assert_ptr_equal(kind_find(kind->api_version, kind->kind), kind);
        if (!kind->has_metadata)
            continue;
        check_resource(kind);
        assert_ptr_equal(kind_find_resource(kind->group, kind->resource), kind);
    }
    assert_str(kind_get(KIND_CSI_NODE)->list_kind, "CSINodeList");
    assert_str(kind_get(KIND_POD_GROUP)->api_version, "scheduling.k8s.io/v1alpha2");
    assert_true(kind_get(KIND_POD)->namespaced);
    assert_false(kind_get(KIND_NODE)->namespaced);
    assert_null(kind_find(STR("v2"), STR("Pod")));
    assert_null(kind_find_resource(STR(""), STR("secrets")));
    assert_null(kind_find_resource(STR(""), STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod_by_json_and_proto),
        cmocka_unit_test(test_object_outlives_its_bytes),
        cmocka_unit_test(test_json_is_kept_as_go_sends_it),
        cmocka_unit_test(test_kept_proto_has_no_envelope),
        cmocka_unit_test(test_another_kind_is_refused),
        cmocka_unit_test(test_garbage_is_refused),
        cmocka_unit_test(test_oversize_is_refused),
        cmocka_unit_test(test_references_from_threads),
        cmocka_unit_test(test_event_as_the_server_takes_it),
        cmocka_unit_test(test_binding_and_lease),
        cmocka_unit_test(test_status_with_details),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_absurd_times_are_moved),
        cmocka_unit_test(test_raw_extension),
        cmocka_unit_test(test_json_list),
        cmocka_unit_test(test_bad_item_is_named),
        cmocka_unit_test(test_proto_list),
        cmocka_unit_test(test_json_watch),
        cmocka_unit_test(test_proto_watch),
        cmocka_unit_test(test_kinds_are_found),
    };
    return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
