/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - an API object: decoded once, shared, immutable.
 *
 * Purpose:   the unit of cluster state from the wire to the cache. Decodes from JSON and protobuf,
 *            single objects and lists; encodes for writes.
 * Ownership: reference counted; object_decode and object_new return the first reference. The object
 *            and everything it points to live in one arena, which is freed with the last reference.
 *            Each object of a list has an arena of its own, so that it can be freed alone.
 * Threading: ref and unref on any thread. The body is immutable once more than one thread can see
 *            the object; until then the creator may fill it.
 */
#ifndef BERTH_API_OBJECT_H
#define BERTH_API_OBJECT_H

#include <stdatomic.h>

#include "api/kind.h"
#include "api/meta.h"

/* Larger than any object that an API server accepts. Larger input is refused with -EMSGSIZE. */
#define OBJECT_MAX_SIZE ((size_t)8 << 20)

enum encoding { ENCODING_JSON, ENCODING_PROTO };

enum object_flags {
    OBJECT_KEEP_WIRE = 1 << 0, /* keep the encoded bytes with the decoded body */
    /* Request JSON and keep it as Go programs send it: without kind and apiVersion. */
    OBJECT_KEEP_JSON = 1 << 1,
    /* With OBJECT_KEEP_JSON: also without metadata.managedFields. */
    OBJECT_DROP_MANAGED_FIELDS = 1 << 2,
};

/* The wire format of objects from one source. */
struct wire {
    const struct kind *kind;
    enum encoding encoding;
    unsigned flags; /* enum object_flags */
};

/* The members are private to object.c. The body follows in memory. */
struct object {
    atomic_uint refs;
    uint8_t kind;     /* enum kind_id */
    uint8_t encoding; /* of wire */
    struct str wire;
    struct arena arena; /* also holds this struct */
};

/*
 * Decodes one object. Protobuf may be enveloped or bare; if the bytes name a kind (the envelope,
 * "kind" and "apiVersion" in JSON) it must be the expected one. -EBADMSG with position and reason,
 * or -EMSGSIZE.
 */
int object_decode(const struct wire *wire, struct str bytes, struct object **ret_object,
                  struct err *reterr) MUST_CHECK;

/* Returns an empty object to be filled with memory of object_arena. */
struct object *object_new(enum kind_id kind) __attribute__((returns_nonnull));
struct arena *object_arena(struct object *o);
/* For the creator of the object only, see Threading. */
void *object_body_mut(struct object *o);

struct object *object_ref(struct object *o);
/* NULL is allowed. Returns NULL. */
struct object *object_unref(struct object *o);

const struct kind *object_kind(const struct object *o);
const void *object_body(const struct object *o);
/* For kinds that have metadata. */
const struct object_meta *object_meta(const struct object *o);
/* The whole object of a custom kind; NULL for other kinds. */
struct json_value;
const struct json_value *object_tree(const struct object *o);
/* Bytes of memory that it holds. */
size_t object_size(const struct object *o);
/*
 * The bytes it was decoded from (without a protobuf envelope) if OBJECT_KEEP_WIRE or, for JSON,
 * OBJECT_KEEP_JSON was set; otherwise p is NULL. An item of a JSON list has no "kind" and
 * "apiVersion".
 */
struct str object_wire(const struct object *o, enum encoding *ret_encoding);

/*
 * Appends a body of that kind as the API server accepts it: JSON with kind and apiVersion, protobuf
 * in its envelope.
 */
void object_encode(const struct kind *kind, const void *body, enum encoding encoding,
                   struct buf *out);

/* --- lists ------------------------------------------------------------------------------------ */

struct object_list {
    struct list_meta metadata;
    struct arena arena; /* holds the strings of metadata */
};
void object_list_release(struct object_list *list);

/* Takes over the reference. A non-zero return stops decoding and is returned. */
typedef int object_fn(void *ctx, struct object *object);

/*
 * Decodes a list of wire->kind object by object. If decoding fails, objects that were passed on
 * before must be discarded.
 */
int object_decode_list(const struct wire *wire, struct str bytes, object_fn *on_object, void *ctx,
                       struct object_list *ret_list, struct err *reterr) MUST_CHECK;

/* --- body by type; the object must have that kind --------------------------------------------- */

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
OBJECT_ACCESSOR_(device_taint_rule, KIND_DEVICE_TAINT_RULE)
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
