/* SPDX-License-Identifier: Apache-2.0 */
/*
 * desc.h - descriptor tables: the layout of an API type on the wire and in memory.
 *
 * Purpose:   a type is a C struct and a table of its fields: JSON name, protobuf number, kind,
 *            offset. The table drives JSON and protobuf decoding and encoding, and access by path,
 *            so that a field is declared only twice: in the struct and in its row.
 * Ownership: tables are constant data of the program, except for the index (see there). Decoded
 *            values and everything they point to live in the decoder's arena.
 * Threading: constant; any thread.
 *
 * The C type of a member follows from the shape of its field:
 *
 *   SHAPE_ONE    the value itself              struct str node_name;
 *   SHAPE_PTR    a pointer, NULL if absent     int32_t *priority;
 *   SHAPE_LIST   LIST(T): {T *v; size_t n;}    LIST(struct container) containers;
 *   SHAPE_MAP    LIST(struct entry)            str_map labels;
 *
 * The entry type of a map has exactly two fields: number 1 is the key (a struct str), number 2 the
 * value, not a list. Maps are sorted by key; of two equal keys the last counts, as in Go.
 *
 * A message field with FIELD_INLINE is part of its parent's JSON object (Go's `json:",inline"`) but
 * a message of its own in protobuf. Protobuf number 0 marks a field that only JSON has, such as
 * kind and apiVersion, which protobuf has in the envelope.
 */
#ifndef BERTH_CODEC_DESC_H
#define BERTH_CODEC_DESC_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct type;

enum field_kind {
    FIELD_STR,     /* struct str; UTF-8 */
    FIELD_BYTES,   /* struct str; base64 in JSON */
    FIELD_BOOL,    /* bool */
    FIELD_INT32,   /* int32_t */
    FIELD_INT64,   /* int64_t */
    FIELD_DOUBLE,  /* double; JSON only (configuration) */
    FIELD_RAW,     /* struct str: any JSON value, kept as its text; see below */
    FIELD_MESSAGE, /* a struct with a table of its own: field.type */
    FIELD_CUSTOM,  /* a scalar with a codec of its own: field.custom (Quantity, Time, …) */
};

/*
 * FIELD_RAW is upstream's RawExtension, FieldsV1 and JSON. In protobuf these are messages with one
 * field, `bytes raw = 1`, and the struct str holds its content: JSON text, or another enveloped
 * protobuf object (the object of a watch event).
 */

enum field_shape { SHAPE_ONE, SHAPE_PTR, SHAPE_LIST, SHAPE_MAP };

enum field_flags {
    FIELD_INLINE = 1 << 0, /* see above */
    FIELD_ALWAYS = 1 << 1, /* written even if it is the zero value (no omitempty in Go) */
};

/*
 * A scalar whose text is not plain JSON: resource quantities, times, int-or-string. In JSON it is
 * one string or number token, in protobuf a message; the functions below handle only these.
 */
struct custom {
    const char *name;
    size_t size, align;
    /* text: a JSON string's content (quoted) or a number's characters. Not called for null. */
    int (*from_json)(struct str text, bool quoted, struct arena *a, void *out, struct err *reterr);
    /* Appends one complete JSON value. */
    void (*to_json)(const void *value, struct buf *out);
    int (*from_proto)(struct str message, struct arena *a, void *out, struct err *reterr);
    /* Appends the message's bytes without tag and length. */
    void (*to_proto)(const void *value, struct buf *out);
    bool (*is_zero)(const void *value);
};

struct field {
    const char *json;
    uint16_t json_len;
    uint16_t number;
    uint8_t kind, shape, flags;
    uint32_t offset;
    union {
        const struct type *type;
        const struct custom *custom;
    };
};

/*
 * The positions of a type's fields, so that no lookup has to search. Filled in when the type is
 * first decoded, by any thread; constant afterwards.
 */
struct type_index {
    atomic_bool ready;
    uint8_t by_number[64]; /* position in the table + 1; 0: no such field */
    uint8_t by_name[128];  /* the same, a hash table with linear probing */
};

struct type {
    const char *name; /* upstream's, "k8s.io.api.core.v1.PodSpec"; checked against its .proto */
    size_t size, align;
    const struct field *fields; /* in upstream's order, which is the order on the wire */
    size_t n_fields;
    struct type_index *index;
};

/* The field with exactly that name, or NULL; without those of inline messages. */
const struct field *type_find_name(const struct type *type, struct str name);

const struct type_index *type_index_slow(const struct type *type);
static inline const struct type_index *type_index_of(const struct type *type)
{
    return LIKELY(atomic_load_explicit(&type->index->ready, memory_order_acquire))
               ? type->index
               : type_index_slow(type);
}

const struct field *type_find_large(const struct type *type, uint64_t number);
/* The field of that protobuf number, or NULL. */
static inline const struct field *type_find_number(const struct type *type, uint64_t number)
{
    const struct type_index *index = type_index_of(type);
    if (UNLIKELY(number >= ARRAY_LEN(index->by_number)))
        return type_find_large(type, number);
    size_t i = index->by_number[number];
    return i ? &type->fields[i - 1] : NULL;
}

/*
 * An empty item of a list takes two or three bytes on the wire and the size of its struct in
 * memory. So that a small hostile text cannot become a huge object, decoders allocate at most
 * DECODE_EXPANSION times the size of the input plus DECODE_SLACK bytes for structs; real objects
 * need less than a tenth of that. An input that exceeds it is refused with -EBADMSG.
 */
#define DECODE_EXPANSION ((size_t)64)
#define DECODE_SLACK     ((size_t)64 << 10)

#define LIST(T)   \
    struct {      \
        T *v;     \
        size_t n; \
    }

/* The layout of every LIST, for code that does not know its T. */
struct any_list {
    void *v;
    size_t n;
};

/* {"a": "b"}: labels, annotations, selectors. */
struct str_entry {
    struct str key, value;
};
extern const struct type str_entry_type;
typedef LIST(struct str_entry) str_map;

/* The value of a key, by binary search; NULL if there is none. */
const struct str *str_map_get(const str_map *map, struct str key);
/* Whether both have the same keys with the same values. */
bool str_map_equal(const str_map *a, const str_map *b);

/*
 * Rows. C is the struct, m its member; a member whose C type differs from the row does not compile.
 * Trailing arguments are flags.
 *
 *     static const struct field pod_spec_fields[] = {
 *         F_LIST_MSG(struct pod_spec, containers, "containers", 2, &container_type),
 *         F_PTR(struct pod_spec, priority, "priority", 25, INT32), …
 *     };
 *     const struct type pod_spec_type =
 *         TYPE("k8s.io.api.core.v1.PodSpec", struct pod_spec, pod_spec_fields);
 */
#define DESC_C_STR    struct str
#define DESC_C_BYTES  struct str
#define DESC_C_RAW    struct str
#define DESC_C_BOOL   bool
#define DESC_C_INT32  int32_t
#define DESC_C_INT64  int64_t
#define DESC_C_DOUBLE double

#define DESC_IS_(C, m, T) \
    BUILD_ASSERT_ZERO(__builtin_types_compatible_p(__typeof__(((C *)NULL)->m), T))
#define DESC_ITEM_IS_(C, m, T)                                                          \
    BUILD_ASSERT_ZERO(__builtin_types_compatible_p(__typeof__(*((C *)NULL)->m.v), T) && \
                      sizeof(((C *)NULL)->m) == sizeof(struct any_list))
#define DESC_ROW_(C, m, j, num, k, s, check, fl, ...) \
    {.json = (j),                                     \
     .json_len = sizeof(j) - 1,                       \
     .number = (num),                                 \
     .kind = (k),                                     \
     .shape = (s),                                    \
     .flags = (fl),                                   \
     .offset = (uint32_t)(offsetof(C, m) + (check)),  \
     ##__VA_ARGS__}

/* Plain kinds: K is STR, BYTES, BOOL, INT32, INT64, DOUBLE or RAW. */
#define F_ONE(C, m, j, num, K) \
    DESC_ROW_(C, m, j, num, FIELD_##K, SHAPE_ONE, DESC_IS_(C, m, DESC_C_##K), 0)
#define F_ALWAYS(C, m, j, num, K) \
    DESC_ROW_(C, m, j, num, FIELD_##K, SHAPE_ONE, DESC_IS_(C, m, DESC_C_##K), FIELD_ALWAYS)
#define F_PTR(C, m, j, num, K) \
    DESC_ROW_(C, m, j, num, FIELD_##K, SHAPE_PTR, DESC_IS_(C, m, DESC_C_##K *), 0)
#define F_LIST(C, m, j, num, K) \
    DESC_ROW_(C, m, j, num, FIELD_##K, SHAPE_LIST, DESC_ITEM_IS_(C, m, DESC_C_##K), 0)

/* Messages: T is the C struct, t its table. */
#define F_MSG(C, m, j, num, T, t) \
    DESC_ROW_(C, m, j, num, FIELD_MESSAGE, SHAPE_ONE, DESC_IS_(C, m, T), 0, .type = (t))
#define F_ALWAYS_MSG(C, m, j, num, T, t) \
    DESC_ROW_(C, m, j, num, FIELD_MESSAGE, SHAPE_ONE, DESC_IS_(C, m, T), FIELD_ALWAYS, .type = (t))
#define F_INLINE_MSG(C, m, j, num, T, t) \
    DESC_ROW_(C, m, j, num, FIELD_MESSAGE, SHAPE_ONE, DESC_IS_(C, m, T), FIELD_INLINE, .type = (t))
#define F_PTR_MSG(C, m, j, num, T, t) \
    DESC_ROW_(C, m, j, num, FIELD_MESSAGE, SHAPE_PTR, DESC_IS_(C, m, T *), 0, .type = (t))
#define F_LIST_MSG(C, m, j, num, T, t) \
    DESC_ROW_(C, m, j, num, FIELD_MESSAGE, SHAPE_LIST, DESC_ITEM_IS_(C, m, T), 0, .type = (t))
#define F_MAP(C, m, j, num, T, t) \
    DESC_ROW_(C, m, j, num, FIELD_MESSAGE, SHAPE_MAP, DESC_ITEM_IS_(C, m, T), 0, .type = (t))
#define F_STR_MAP(C, m, j, num) F_MAP(C, m, j, num, struct str_entry, &str_entry_type)

/* Scalars with a codec of their own. */
#define F_CUSTOM(C, m, j, num, T, c) \
    DESC_ROW_(C, m, j, num, FIELD_CUSTOM, SHAPE_ONE, DESC_IS_(C, m, T), 0, .custom = (c))
#define F_ALWAYS_CUSTOM(C, m, j, num, T, c) \
    DESC_ROW_(C, m, j, num, FIELD_CUSTOM, SHAPE_ONE, DESC_IS_(C, m, T), FIELD_ALWAYS, .custom = (c))
#define F_PTR_CUSTOM(C, m, j, num, T, c) \
    DESC_ROW_(C, m, j, num, FIELD_CUSTOM, SHAPE_PTR, DESC_IS_(C, m, T *), 0, .custom = (c))
#define F_ALWAYS_PTR_CUSTOM(C, m, j, num, T, c)                                         \
    DESC_ROW_(C, m, j, num, FIELD_CUSTOM, SHAPE_PTR, DESC_IS_(C, m, T *), FIELD_ALWAYS, \
              .custom = (c))
#define F_LIST_CUSTOM(C, m, j, num, T, c) \
    DESC_ROW_(C, m, j, num, FIELD_CUSTOM, SHAPE_LIST, DESC_ITEM_IS_(C, m, T), 0, .custom = (c))

/* For file scope: the index is a static object. */
#define TYPE(n, C, f)          \
    {.name = (n),              \
     .size = sizeof(C),        \
     .align = _Alignof(C),     \
     .fields = (f),            \
     .n_fields = ARRAY_LEN(f), \
     .index = &(struct type_index){0}}

/* Size of one value of the field, whatever its shape. */
size_t field_item_size(const struct field *f);

/*
 * Finds the value at a path such as "spec.tolerations[0].key" or
 * "metadata.labels[app.kubernetes.io/name]" (a map's key is in brackets, up to the matching one).
 * *ret_field is its field, *ret_value its address; for a list or map without index *ret_value is
 * its any_list. Returns false if the path names no field; true with *ret_value NULL if the value is
 * absent.
 */
bool desc_get(const struct type *type, const void *object, struct str path,
              const struct field **ret_field, const void **ret_value);

/* Removes "[...]" from the front of *path. Brackets within a key must match. */
bool desc_take_brackets(struct str *path, struct str *ret_inside);

/* Deep equality of two values of one type; absent and empty lists are equal. */
bool desc_equal(const struct type *type, const void *a, const void *b);

#endif
