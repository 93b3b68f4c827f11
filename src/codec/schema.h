/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - all fields of API types, to validate user input.
 *
 * Purpose:   berth's own tables (desc.h) have the fields that scheduling reads. A schema has all of
 *            them, by name and JSON type only, so that an unknown field can be distinguished from
 *            an unused one: `--validate` of commands, fieldValidation of the API.
 * Ownership: tables are constant data of the program; strings passed to a callback are valid until
 *            it returns.
 * Threading: constant; any thread.
 */
#ifndef BERTH_CODEC_SCHEMA_H
#define BERTH_CODEC_SCHEMA_H

#include "codec/json.h"

enum schema_value {
    SCHEMA_STRING,
    SCHEMA_BOOL,
    SCHEMA_INT,
    SCHEMA_NUMBER,
    SCHEMA_QUANTITY,      /* a string or a number */
    SCHEMA_INT_OR_STRING, /* a string or a whole number */
    SCHEMA_ANY,           /* not checked */
    SCHEMA_MESSAGE,       /* an object of field.type */
};

enum schema_shape { SCHEMA_ONE, SCHEMA_LIST, SCHEMA_MAP };

/* How the field is encoded in protobuf. Lists repeat it; maps have string keys. */
enum schema_wire {
    SCHEMA_WIRE_NONE, /* the field has no number */
    SCHEMA_WIRE_VARINT,
    SCHEMA_WIRE_INT32, /* a varint, too; the number has 32 bits */
    SCHEMA_WIRE_BOOL,
    SCHEMA_WIRE_STRING,
    SCHEMA_WIRE_BYTES, /* base64 in JSON */
    SCHEMA_WIRE_DOUBLE,
    SCHEMA_WIRE_MESSAGE,
    SCHEMA_WIRE_QUANTITY,      /* Quantity{string=1} */
    SCHEMA_WIRE_INT_OR_STRING, /* IntOrString{type=1,intVal=2,strVal=3} */
    SCHEMA_WIRE_TIME,          /* Time{seconds=1,nanos=2} */
    SCHEMA_WIRE_MICRO_TIME,
    SCHEMA_WIRE_DURATION,    /* Duration{duration=1} */
    SCHEMA_WIRE_RAW,         /* RawExtension{raw=1} */
    SCHEMA_WIRE_FIELDS_V1,   /* FieldsV1{Raw=1} */
    SCHEMA_WIRE_JSON,        /* JSON{raw=1} of apiextensions */
    SCHEMA_WIRE_STRING_LIST, /* a map of lists: ExtraValue{items=1} */
    /* The unions of apiextensions; field.type is JSONSchemaProps. */
    SCHEMA_WIRE_SCHEMA_OR_ARRAY,  /* {schema=1,jSONSchemas=2} */
    SCHEMA_WIRE_SCHEMA_OR_BOOL,   /* {allows=1,schema=2} */
    SCHEMA_WIRE_SCHEMA_OR_STRINGS /* {schema=1,property=2} */
};

/* How server-side apply merges a list, map or struct. */
enum schema_merge {
    SCHEMA_MERGE_DEFAULT, /* maps and structs member by member, lists as a whole */
    SCHEMA_MERGE_ATOMIC,  /* as a whole */
    SCHEMA_MERGE_SET,     /* a list of scalars that are each owned */
    SCHEMA_MERGE_MAP      /* a list whose items have keys, see `keys` */
};

struct schema_field {
    const char *name;
    uint8_t name_len;
    uint8_t value, shape;
    uint16_t type; /* SCHEMA_MESSAGE: index in the schema's types */

    uint16_t number; /* of protobuf; 0: none */
    uint8_t outer;   /* Go has this field in a struct that is inline in JSON: the number of that
                        message in this type; 0: none */
    uint8_t wire;    /* enum schema_wire */
    uint8_t merge;   /* enum schema_merge */
    bool required : 1;
    bool retain_keys : 1;   /* strategic merge: the patch strategy has retainKeys */
    bool patch_replace : 1; /* strategic merge: the object is replaced */
    bool nullable : 1;      /* a pointer in Go: absent and zero differ */
    bool omit_empty : 1;    /* Go writes no false, 0, "", empty list or empty map to JSON */
    bool omit_zero : 1;     /* Go writes no zero time and no struct whose members are all zero */
    const char *patch_key;  /* strategic merge: items with the same member are merged; "": a set of
                               scalars; NULL: the list is replaced */
    const char *keys;       /* SCHEMA_MERGE_MAP: "containerPort,protocol" */
    const char *preset;     /* its default in OpenAPI as JSON, "\"TCP\""; NULL: none */
};

struct schema_type {
    const char *name;                  /* upstream's, "k8s.io.api.core.v1.PodSpec" */
    const struct schema_field *fields; /* sorted by name */
    size_t n_fields;                   /* at most SCHEMA_MAX_FIELDS */
    const char *order;                 /* positions of the fields in the order of protobuf, which
                                          the n_order fields with a number have */
    size_t n_order;
    bool atomic; /* server-side apply: a value of this type is replaced as a whole */
};
#define SCHEMA_MAX_FIELDS 128

/* NULL if the type has no such field. */
const struct schema_field *schema_field_find(const struct schema_type *type, struct str name);

enum schema_fault { SCHEMA_UNKNOWN_FIELD, SCHEMA_DUPLICATE_FIELD, SCHEMA_WRONG_TYPE };

struct schema_problem {
    enum schema_fault fault;
    size_t offset;         /* in the text */
    struct str path;       /* "spec.containers[0].image" */
    struct str suggestion; /* of an unknown field: the name that was probably meant, or empty */
    const char *expected;  /* of a wrong type: "a string" */
};
typedef void schema_problem_fn(void *ctx, const struct schema_problem *problem);

/*
 * Calls fn for everything that is wrong with the object in json. types: the table that
 * SCHEMA_MESSAGE fields refer to; type: the object's own. Linear in the size of the text. -EBADMSG:
 * not JSON.
 */
int schema_check(const struct schema_type *types, const struct schema_type *type, struct str json,
                 schema_problem_fn *fn, void *ctx, struct err *reterr) MUST_CHECK;

/* "unknown field \"spec.container\"; did you mean \"containers\"?" */
void schema_problem_write(const struct schema_problem *problem, struct buf *out);

#endif
