/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - files of Kubernetes objects, of any length.
 *
 * Purpose:   reads a stream of YAML or JSON documents object by object: whole documents, and the
 *            items of a List or PodList one by one. Every object is passed as JSON text with its
 *            lines in the file. JSON documents may follow each other directly or be separated by
 *            "---"; a file may have both JSON and YAML.
 * Ownership: holds one object in memory, limited to YAML_MAX_OBJECT.
 * Threading: one thread.
 */
#ifndef BERTH_CODEC_MANIFEST_H
#define BERTH_CODEC_MANIFEST_H

#include "codec/yaml.h"

struct manifest_part {
    enum yaml_part_kind what; /* YAML_LIST: the text has no items, or only some of them */
    struct str json;
    size_t index;                 /* of an item */
    struct str api_version, kind; /* of an item: the list's, if they come before its items */
    json_locate_fn *locate;       /* offset in json → line of the file */
    const void *locate_ctx;
};

/* Returns 0, or a negative errno with *reterr, which stops reading and is returned. */
typedef int manifest_fn(void *ctx, const struct manifest_part *part, struct err *reterr);

/*
 * flags: JSON_KEEP_DUPLICATES, as for yaml_stream. If the input is neither YAML nor JSON: -EBADMSG
 * with "line 3, column 7: ...".
 */
int manifest_read(const struct yaml_source *source, unsigned flags, manifest_fn *fn, void *ctx,
                  struct err *reterr) MUST_CHECK;

#endif
