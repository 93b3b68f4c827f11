/* SPDX-License-Identifier: Apache-2.0 */
/*
 * form.h - in which form objects are answered.
 *
 * Purpose:   JSON or YAML; whole objects, metadata only, or rows of a table. Objects are written
 *            from the text of their revisions, which is parsed only if the form needs it.
 * Ownership: writes into the caller's buffer.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_HTTP_FORM_H
#define BERTH_APISERVER_HTTP_FORM_H

#include "apiserver/print/table.h"
#include "apiserver/store/store.h"
#include "codec/json_edit.h"

enum form_encoding { FORM_JSON, FORM_YAML };
enum form_shape { FORM_OBJECT, FORM_PARTIAL, FORM_TABLE };

struct api_form {
    enum form_encoding encoding;
    enum form_shape shape;
    enum table_object include; /* in rows of a table */
    bool pretty;
};

static inline bool form_equal(struct api_form a, struct api_form b)
{
    return a.encoding == b.encoding && a.shape == b.shape && a.include == b.include &&
           a.pretty == b.pretty;
}

/* One object: a revision, or a tree in the version of r. */
struct form_object {
    const struct resource *resource; /* as requested */
    const struct revision *rev;      /* NULL: tree */
    const struct json_value *tree;
    int64_t now; /* wall clock, ns, for ages */
};

/* How much of the table of one object is written: with its columns, without, or only the row. */
enum form_part { FORM_WHOLE, FORM_NO_COLUMNS, FORM_ROW };

/* As compact JSON. The arena holds what is parsed. */
void form_write_object(struct api_form form, const struct form_object *o, enum form_part part,
                       struct arena *a, struct buf *out);

/* What precedes and follows the items of a list; items are separated by commas. */
struct form_list {
    const struct resource *resource;
    struct str version, continue_token;
    int64_t remaining; /* -1: none */
};
void form_begin_list(struct api_form form, const struct form_list *list, struct buf *out);
void form_end_list(struct api_form form, struct buf *out);

/* --- indentation ------------------------------------------------------------------------------ */

/* State between parts of one JSON text; begin with {0}. */
struct json_indent {
    unsigned depth;
    bool in_string, escaped, opened; /* opened: nothing since '{' or '[' */
};
/* Appends compact JSON as Go indents it, with two spaces. */
void json_indent(struct json_indent *state, struct str text, struct buf *out);

#endif
