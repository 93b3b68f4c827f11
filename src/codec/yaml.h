/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - YAML to a JSON tree.
 *
 * Purpose:   reads YAML 1.1 as sigs.k8s.io/yaml does (which scalars are booleans, numbers, null;
 *            keys become strings) and gives a JSON tree, from where the typed decoder goes on. JSON
 *            is YAML, so configuration files of both kinds come through here. Bounded: depth, total
 *            nodes, and what aliases may expand to. .inf and .nan are refused, JSON has no such
 *            numbers. Where that library loses data this one does not follow: !!binary that is
 *            not text, and in strict mode 1 and "1" as keys of one mapping, are refused; a key <<
 *            is written in quotes. It refuses "\/" and a merge of an alias to a sequence; here
 *            both are read.
 * Ownership: the tree lives in the arena.
 * Threading: any, one call at a time per arena.
 */
#ifndef BERTH_CODEC_YAML_H
#define BERTH_CODEC_YAML_H

#include "codec/json_value.h"

#define YAML_MAX_NODES 1000000

/*
 * All documents of the text, empty ones left out. flags: JSON_STRICT refuses duplicate keys.
 * -EBADMSG with "line 3, column 7: ..." on failure.
 */
int yaml_parse(struct str text, unsigned flags, struct arena *a, struct json_value **ret_docs,
               size_t *ret_n, struct err *reterr) MUST_CHECK;

/*
 * The same for who wants to know of every key that a mapping has twice, and not only of the first:
 * the last value counts then.
 */
typedef void yaml_twice_fn(void *ctx, struct str key, uint32_t first_line, uint32_t line);
int yaml_parse_twice(struct str text, yaml_twice_fn *on_twice, void *ctx, struct arena *a,
                     struct json_value **ret_docs, size_t *ret_n, struct err *reterr) MUST_CHECK;

/* Appends a tree as YAML in the form of sigs.k8s.io/yaml: keys sorted, two spaces. */
void yaml_write(const struct json_value *v, struct buf *out);

/* --- streams of any length -------------------------------------------------------------------- */

/* One object may take so many bytes of the source. */
#define YAML_MAX_OBJECT ((size_t)32 << 20)

/* Where the bytes come from: how many were read, 0 at the end, a negative errno with *reterr. */
struct yaml_source {
    ssize_t (*read)(void *ctx, char *to, size_t n, struct err *reterr);
    void *ctx;
    size_t lines_before; /* of the file, before the first byte that read gives */
};

enum yaml_part_kind {
    YAML_DOCUMENT, /* a whole document */
    YAML_ITEM,     /* an item of the sequence under the document's key "items" */
    YAML_LIST,     /* the end of a document with items: all of it but these */
};

struct yaml_part {
    enum yaml_part_kind what;
    const struct json_value *value;
    size_t index;           /* of an item */
    struct str api_version; /* of an item: the list's, as far as they stand before the items */
    struct str kind;
};

/*
 * Reads documents one at a time, and those with "items" item by item, so that memory is needed for
 * one object only; YAML_MAX_NODES bounds each object, and what aliases expand to. What fn is given
 * holds until it returns; a negative return ends it and comes back. flags: JSON_KEEP_DUPLICATES.
 */
typedef int yaml_part_fn(void *ctx, const struct yaml_part *part, struct err *reterr);
int yaml_stream(const struct yaml_source *source, unsigned flags, yaml_part_fn *fn, void *ctx,
                struct err *reterr) MUST_CHECK;

#endif
