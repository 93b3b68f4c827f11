/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_edit.h - changes of a JSON tree.
 *
 * Purpose:   builds and changes the trees of json_value.h in place: what defaulting, patches,
 *            admission and controllers do to an object that has no C struct.
 * Ownership: everything lives in the arena that is passed, which must be that of the tree or live
 *            as long. Values are stored as they are: what they point to is shared, not copied. A
 *            tree that was shared must be copied (json_copy) before it is changed.
 * Threading: one thread.
 *
 * A pointer to a member or item is valid until the next change of the object or array that holds
 * it. Adding one copies the array of the others: build a long list with items of your own.
 */
#ifndef BERTH_CODEC_JSON_EDIT_H
#define BERTH_CODEC_JSON_EDIT_H

#include "codec/json_value.h"

/* --- new values; text is shared --------------------------------------------------------------- */

struct json_value json_null(void);
struct json_value json_bool(bool b);
struct json_value json_text(struct str s);
struct json_value json_int(int64_t n, struct arena *a);
struct json_value json_object(void); /* empty */
struct json_value json_array(void);  /* empty */
/* A deep copy, texts included. */
struct json_value json_copy(const struct json_value *v, struct arena *a);

/* --- objects ---------------------------------------------------------------------------------- */

/* The member, to be changed; NULL if there is none or v is NULL or not an object. */
struct json_value *json_member(struct json_value *v, struct str key);
/* Sets or adds the member. Returns it. v becomes an object if it is none. */
struct json_value *json_set(struct json_value *v, struct str key, struct json_value value,
                            struct arena *a);
/* Sets the member unless there is one that is not null. True if it was set. */
bool json_set_default(struct json_value *v, struct str key, struct json_value value,
                      struct arena *a);
/* The member, which is made an empty object (array) unless it is one. */
struct json_value *json_set_object(struct json_value *v, struct str key, struct arena *a);
struct json_value *json_set_array(struct json_value *v, struct str key, struct arena *a);
/* True if there was such a member. */
bool json_remove(struct json_value *v, struct str key);

/* --- arrays ----------------------------------------------------------------------------------- */

/* Returns the new item. v becomes an array if it is none. */
struct json_value *json_append(struct json_value *v, struct json_value value, struct arena *a);
void json_remove_item(struct json_value *v, size_t i);

/* --- paths: names of members with dots, "metadata.labels" ------------------------------------- */

/* NULL if there is none. */
const struct json_value *json_at(const struct json_value *v, const char *path);
/* The text of a string at this path; otherwise empty. */
struct str json_text_at(const struct json_value *v, const char *path);
/* The integer at this path; `otherwise` if there is none. */
int64_t json_int_at(const struct json_value *v, const char *path, int64_t otherwise);
bool json_bool_at(const struct json_value *v, const char *path, bool otherwise);
/* Sets the member at this path; the objects on the way are made. Returns it. */
struct json_value *json_set_at(struct json_value *v, const char *path, struct json_value value,
                               struct arena *a);

/* --- what a path holds ------------------------------------------------------------------------ */

/* The items of an array; none if v is NULL or no array. */
struct json_items {
    const struct json_value *v;
    size_t n;
};
struct json_items json_items_at(const struct json_value *v, const char *path);
/* The members of an object; none if v is NULL or no object. */
struct json_members {
    const struct json_member *v;
    size_t n;
};
struct json_members json_members_at(const struct json_value *v, const char *path);
/* A constant text as a tree. */
struct json_value json_literal(const char *text, struct arena *a);

#endif
