/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h - a value of CEL.
 *
 * Purpose:   what expressions compute with. A value is 24 bytes and passed by value; what does not
 *            fit (list, map, a library's object) is behind a pointer. An error is a value too: it
 *            spreads through strict functions and is absorbed by && || and ?:.
 * Ownership: everything behind a pointer is in the arena of the evaluation, or for constants in the
 *            program's. Nothing is freed singly.
 * Threading: a value is immutable for everyone but the code that makes it.
 */
#ifndef BERTH_CEL_VALUE_H
#define BERTH_CEL_VALUE_H

#include "cel/type.h"

enum cel_kind {
    CEL_NULL,
    CEL_BOOL,      /* b */
    CEL_INT,       /* i */
    CEL_UINT,      /* u */
    CEL_DOUBLE,    /* d */
    CEL_STRING,    /* s: UTF-8 */
    CEL_BYTES,     /* s */
    CEL_DURATION,  /* i: nanoseconds */
    CEL_TIMESTAMP, /* sec, and nsec beside the kind */
    CEL_LIST,      /* list */
    CEL_MAP,       /* map */
    CEL_TYPE,      /* type */
    CEL_OPTIONAL,  /* optional: NULL is optional.none() */
    CEL_OBJECT,    /* object: a value of a library */
    CEL_ERROR,     /* s: the message */
};

struct cel_list;
struct cel_map;
struct cel_object;

struct cel_value {
    enum cel_kind kind;
    int32_t nsec; /* of CEL_TIMESTAMP: 0 to 999999999 */
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        struct str s;
        struct {
            int64_t sec;  /* since 1970 */
            int32_t zone; /* seconds east of UTC, as written; only string() shows it */
        };
        const struct cel_list *list;
        const struct cel_map *map;
        const struct cel_type *type;
        const struct cel_value *optional;
        const struct cel_object *object;
    };
};

/*
 * A value that a library defines: the first member of the library's own struct.
 *
 *     struct quantity_object { struct cel_object base; struct quantity quantity; };
 */
enum cel_equality { CEL_UNEQUAL, CEL_EQUAL, CEL_NOT_COMPARABLE /* "no such overload" */ };

struct cel_object_class {
    const struct cel_type *type;
    /* a is of this class, b is any value but null. Upstream's objects do not compare with others.
     */
    enum cel_equality (*equal)(const struct cel_object *a, struct cel_value b);
    uint64_t (*size)(const struct cel_object *o); /* for costs; NULL: not a sizer, counts as 1 */
};

struct cel_object {
    const struct cel_object_class *class;
};

static inline struct cel_value cel_null(void)
{
    return (struct cel_value){.kind = CEL_NULL};
}

static inline struct cel_value cel_bool(bool b)
{
    return (struct cel_value){.kind = CEL_BOOL, .b = b};
}

static inline struct cel_value cel_int(int64_t i)
{
    return (struct cel_value){.kind = CEL_INT, .i = i};
}

static inline struct cel_value cel_uint(uint64_t u)
{
    return (struct cel_value){.kind = CEL_UINT, .u = u};
}

static inline struct cel_value cel_double(double d)
{
    return (struct cel_value){.kind = CEL_DOUBLE, .d = d};
}

/* Borrows the bytes: they must be in the arena, in the program, or constant. */
static inline struct cel_value cel_string(struct str s)
{
    return (struct cel_value){.kind = CEL_STRING, .s = s};
}

static inline struct cel_value cel_bytes(struct str s)
{
    return (struct cel_value){.kind = CEL_BYTES, .s = s};
}

static inline struct cel_value cel_duration(int64_t ns)
{
    return (struct cel_value){.kind = CEL_DURATION, .i = ns};
}

static inline struct cel_value cel_timestamp(int64_t sec, int32_t nsec)
{
    return (struct cel_value){.kind = CEL_TIMESTAMP, .sec = sec, .nsec = nsec};
}

static inline struct cel_value cel_type_value(const struct cel_type *type)
{
    return (struct cel_value){.kind = CEL_TYPE, .type = type};
}

static inline struct cel_value cel_none(void)
{
    return (struct cel_value){.kind = CEL_OPTIONAL};
}

static inline struct cel_value cel_object(const struct cel_object *object)
{
    return (struct cel_value){.kind = CEL_OBJECT, .object = object};
}

static inline bool cel_is_error(struct cel_value v)
{
    return v.kind == CEL_ERROR;
}

struct cel_value cel_optional_of(struct arena *a, struct cel_value v);
struct cel_value cel_error(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "no such overload": the arguments do not suit the function. */
struct cel_value cel_no_such_overload(void);

/* As upstream's %v and %T show a value in messages. */
void cel_value_write(struct cel_value v, struct buf *out);
struct str cel_go_type(struct cel_value v);
/* As string() and format() write times: RFC3339Nano in the zone that was written, and seconds. */
void cel_timestamp_write(struct cel_value v, struct buf *out);
void cel_duration_write(struct cel_value v, struct buf *out);

/* --- lists ------------------------------------------------------------------------------------ */

/*
 * A list is an array, or two lists one after the other: concatenation is O(1) as in upstream. n may
 * be astronomical ([1]+[1] doubled 200 times): never loop over it without cel_list_items.
 */
struct cel_list {
    uint64_t n; /* saturates */
    const struct cel_value *items;
    const struct cel_list *left, *right; /* items == NULL and n > 0 */
    size_t capacity;                     /* of items, if grows */
    bool grows; /* the accumulator of a comprehension: + appends in place, as upstream's does */
};

/* Borrows items. */
struct cel_value cel_list_of(struct arena *a, const struct cel_value *items, size_t n);
struct cel_value cel_list_concat(struct arena *a, const struct cel_list *left,
                                 const struct cel_list *right);
struct cel_value cel_list_at(const struct cel_list *list, uint64_t i); /* i < n */

/* --- maps ------------------------------------------------------------------------------------- */

struct cel_map_entry {
    struct cel_value key, value;
};

/*
 * Keys are strings, booleans, integers; 1, 1u and 1.0 are the same key. Iteration is in the order
 * of insertion (upstream: random). `fallback` is what a lookup of a key that is not there yields,
 * as upstream's device.attributes does; NULL: "no such key".
 */
struct cel_map {
    bool grows;   /* the accumulator of a comprehension */
    bool strings; /* of a device: any key that is no string is just not there */
    size_t n, capacity;
    struct cel_map_entry *entries;
    uint32_t *index; /* open addressing, entry number + 1; NULL while the map is small */
    size_t n_index;
    const struct cel_value *fallback;
};

struct cel_map *cel_map_new(struct arena *a, size_t capacity);
/* False if the key is there already; the entry is then unchanged. */
bool cel_map_put(struct arena *a, struct cel_map *map, struct cel_value key,
                 struct cel_value value);
/* Adds the entry or replaces its value. */
void cel_map_replace(struct arena *a, struct cel_map *map, struct cel_value key,
                     struct cel_value value);
/* The entry alone, without the fallback. */
bool cel_map_has(const struct cel_map *map, struct cel_value key);
/* NULL if there is none (and no fallback). */
const struct cel_value *cel_map_find(const struct cel_map *map, struct cel_value key);
static inline struct cel_value cel_map_value(const struct cel_map *map)
{
    return (struct cel_value){.kind = CEL_MAP, .map = map};
}

/* --- what holds for all values ---------------------------------------------------------------- */

/* type(v); for a list or map without its parameters. */
const struct cel_type *cel_type_of(struct cel_value v);

/*
 * Whether a value may be passed where `type` is declared. As upstream does, lists and maps are
 * judged by their first element.
 */
bool cel_value_has_type(struct cel_value v, const struct cel_type *type);

/* size() of a string (code points), bytes, list or map; 1 for all else. What costs depend on. */
uint64_t cel_size_of(struct cel_value v);
/* Code points of UTF-8 text; an invalid byte counts as one. */
uint64_t cel_runes(struct str s);

#endif
