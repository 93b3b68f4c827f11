/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yaml.h - converts YAML to a JSON tree.
 *
 * Purpose:   reads YAML 1.1 as sigs.k8s.io/yaml does (which scalars are booleans, numbers, null;
 *            keys become strings) and returns a JSON tree for the typed decoder. JSON is YAML, so
 *            configuration files of both kinds are read here. Depth, number of nodes, and alias
 *            expansion are limited. .inf and .nan are refused, since JSON has no such numbers.
 *            Deviations where the library loses data: !!binary that is not text, and in strict mode
 *            1 and "1" as keys of one mapping, are refused; a key << is written in quotes. The
 *            library refuses "\/" and a merge of an alias to a sequence; here both are accepted.
 * Ownership: the tree lives in the arena.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_CODEC_YAML_H
#define BERTH_CODEC_YAML_H

#include "codec/json_value.h"

#define YAML_MAX_NODES 1000000

/*
 * All documents of the text, without empty ones. flags: JSON_STRICT refuses duplicate keys.
 * -EBADMSG with "line 3, column 7: ..." on failure.
 */
int yaml_parse(struct str text, unsigned flags, struct arena *a, struct json_value **ret_docs,
               size_t *ret_n, struct err *reterr) MUST_CHECK;

/* The same, but reports every duplicate key instead of only the first: the last value counts. */
typedef void yaml_twice_fn(void *ctx, struct str key, uint32_t first_line, uint32_t line);
int yaml_parse_twice(struct str text, yaml_twice_fn *on_duplicate, void *ctx, struct arena *a,
                     struct json_value **ret_docs, size_t *ret_n, struct err *reterr) MUST_CHECK;

/* Appends a tree as YAML in the form of sigs.k8s.io/yaml: keys sorted, two spaces. */
void yaml_write(const struct json_value *v, struct buf *out);

/* --- streams of any length -------------------------------------------------------------------- */

/* Limit of the source bytes of one object. */
#define YAML_MAX_OBJECT ((size_t)32 << 20)

/*
 * Source of bytes: returns the number of bytes read, 0 at the end, or a negative errno with
 * *reterr.
 */
struct yaml_source {
    ssize_t (*read)(void *ctx, char *to, size_t n, struct err *reterr);
    void *ctx;
    size_t lines_before; /* of the file, before the first byte that read returns */
};

enum yaml_part_kind {
    YAML_DOCUMENT, /* a whole document */
    YAML_ITEM,     /* an item of the sequence under the document's key "items" */
    YAML_LIST,     /* the end of a document with items: everything but these */
};

struct yaml_part {
    enum yaml_part_kind what;
    const struct json_value *value;
    size_t index;           /* of an item */
    struct str api_version; /* of an item: the list's, if it comes before the items */
    struct str kind;
};

/*
 * Reads documents one at a time, and those with "items" item by item, so that only one object is in
 * memory; YAML_MAX_NODES limits each object and alias expansion. Arguments of fn are valid until it
 * returns; a negative return stops and is returned. flags: JSON_KEEP_DUPLICATES.
 */
typedef int yaml_part_fn(void *ctx, const struct yaml_part *part, struct err *reterr);
int yaml_stream(const struct yaml_source *source, unsigned flags, yaml_part_fn *fn, void *ctx,
                struct err *reterr) MUST_CHECK;

#endif
