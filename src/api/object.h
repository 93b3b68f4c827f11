/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - an API object: decoded once, shared, never changed.
 *
 * Purpose:   the unit in which the cluster's state travels from the wire to the cache. Decoding
 *            from JSON and protobuf, one by one and from lists; encoding for writes.
 * Ownership: refcounted; object_decode and object_new give the first reference. The object and all
 *            it points to live in one arena, which goes when the last reference does. A list's
 *            objects have an arena each, so that any of them may go.
 * Threading: ref and unref from any thread. The body is immutable as soon as more than one thread
 *            can see the object; until then whoever made it with object_new may fill it.
 */
#ifndef BERTH_API_OBJECT_H
#define BERTH_API_OBJECT_H

#include <stdatomic.h>

#include "api/kind.h"
#include "api/meta.h"

/* Larger than anything an API server accepts. What exceeds it is refused with -EMSGSIZE. */
#define OBJECT_MAX_SIZE ((size_t)8 << 20)

enum encoding { ENCODING_JSON, ENCODING_PROTO };

enum object_flags {
    OBJECT_KEEP_WIRE = 1 << 0, /* keep the encoded bytes beside the decoded body */
    /* Ask for JSON, and keep it as Go programs send it: without kind and apiVersion. */
    OBJECT_KEEP_JSON = 1 << 1,
    /* With OBJECT_KEEP_JSON: without metadata.managedFields, too. */
    OBJECT_DROP_MANAGED_FIELDS = 1 << 2,
};

/* What objects look like where they come from. */
struct wire {
    const struct kind *kind;
    enum encoding encoding;
    unsigned flags; /* enum object_flags */
};

/* The members are this module's business. The body follows in memory. */
struct object {
    atomic_uint refs;
    uint8_t kind;     /* enum kind_id */
    uint8_t encoding; /* of wire */
    struct str wire;
    struct arena arena; /* holds this struct, too */
};

/*
 * One object. Protobuf may come in its envelope or bare; where the bytes name a kind (the envelope,
 * "kind" and "apiVersion" in JSON) it must be the expected one.
 * -EBADMSG and what is wrong where, or -EMSGSIZE.
 */
int object_decode(const struct wire *wire, struct str bytes, struct object **ret_object,
                  struct err *reterr) MUST_CHECK;

/* An empty object to be filled. What goes into it is allocated from object_arena. */
struct object *object_new(enum kind_id kind) __attribute__((returns_nonnull));
struct arena *object_arena(struct object *o);
/* For the maker of the object only, see Threading. */
void *object_body_mut(struct object *o);

struct object *object_ref(struct object *o);
/* Takes NULL. Returns NULL. */
struct object *object_unref(struct object *o);

const struct kind *object_kind(const struct object *o);
const void *object_body(const struct object *o);
/* Of a kind that has metadata. */
const struct object_meta *object_meta(const struct object *o);
/* Bytes of memory it holds. */
size_t object_size(const struct object *o);
/*
 * The bytes it was decoded from (without a protobuf envelope), where OBJECT_KEEP_WIRE or, for JSON,
 * OBJECT_KEEP_JSON asked for them; else p is NULL. An item of a JSON list carries no "kind" and
 * "apiVersion".
 */
struct str object_wire(const struct object *o, enum encoding *ret_encoding);

/*
 * Appends a body of that kind as the API server takes it: JSON with kind and apiVersion, protobuf
 * in its envelope.
 */
void object_encode(const struct kind *kind, const void *body, enum encoding encoding,
                   struct buf *out);

/* --- lists ------------------------------------------------------------------------------------ */

struct object_list {
    struct list_meta metadata;
    struct arena arena; /* holds the texts of metadata */
};
void object_list_release(struct object_list *list);

/* Takes the reference. A non-zero return ends the decoding, which returns it. */
typedef int object_fn(void *ctx, struct object *object);

/*
 * A list of wire->kind, object by object. Objects may have been handed over before a failure shows
 * further on in the bytes: then they count for nothing.
 */
int object_decode_list(const struct wire *wire, struct str bytes, object_fn *on_object, void *ctx,
                       struct object_list *ret_list, struct err *reterr) MUST_CHECK;

/* --- the body by its type; it is an error of the program to ask for another ------------------- */

#define OBJECT_ACCESSOR_(name, id)                                         \
    struct name;                                                           \
    static inline const struct name *object_##name(const struct object *o) \
    {                                                                      \
        assert(o->kind == (id));                                           \
        return object_body(o);                                             \
    }
OBJECT_ACCESSOR_(pod, KIND_POD)
OBJECT_ACCESSOR_(node, KIND_NODE)
OBJECT_ACCESSOR_(namespace, KIND_NAMESPACE)
OBJECT_ACCESSOR_(persistent_volume, KIND_PERSISTENT_VOLUME)
OBJECT_ACCESSOR_(persistent_volume_claim, KIND_PERSISTENT_VOLUME_CLAIM)
OBJECT_ACCESSOR_(service, KIND_SERVICE)
OBJECT_ACCESSOR_(replication_controller, KIND_REPLICATION_CONTROLLER)
OBJECT_ACCESSOR_(replica_set, KIND_REPLICA_SET)
OBJECT_ACCESSOR_(stateful_set, KIND_STATEFUL_SET)
OBJECT_ACCESSOR_(pod_disruption_budget, KIND_POD_DISRUPTION_BUDGET)
OBJECT_ACCESSOR_(priority_class, KIND_PRIORITY_CLASS)
OBJECT_ACCESSOR_(storage_class, KIND_STORAGE_CLASS)
OBJECT_ACCESSOR_(csi_node, KIND_CSI_NODE)
OBJECT_ACCESSOR_(csi_driver, KIND_CSI_DRIVER)
OBJECT_ACCESSOR_(csi_storage_capacity, KIND_CSI_STORAGE_CAPACITY)
OBJECT_ACCESSOR_(volume_attachment, KIND_VOLUME_ATTACHMENT)
OBJECT_ACCESSOR_(resource_claim, KIND_RESOURCE_CLAIM)
OBJECT_ACCESSOR_(resource_claim_template, KIND_RESOURCE_CLAIM_TEMPLATE)
OBJECT_ACCESSOR_(resource_slice, KIND_RESOURCE_SLICE)
OBJECT_ACCESSOR_(device_class, KIND_DEVICE_CLASS)
OBJECT_ACCESSOR_(pod_group, KIND_POD_GROUP)
OBJECT_ACCESSOR_(workload, KIND_WORKLOAD)
OBJECT_ACCESSOR_(lease, KIND_LEASE)
OBJECT_ACCESSOR_(lease_candidate, KIND_LEASE_CANDIDATE)
OBJECT_ACCESSOR_(event, KIND_EVENT)
OBJECT_ACCESSOR_(core_event, KIND_CORE_EVENT)
OBJECT_ACCESSOR_(binding, KIND_BINDING)
OBJECT_ACCESSOR_(status, KIND_STATUS)
OBJECT_ACCESSOR_(delete_options, KIND_DELETE_OPTIONS)

#endif
