/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_draft.h - an object that many members are looked up in, set and removed.
 *
 * Purpose:   json_edit.h changes one member in time that is linear in the others. Patches change as
 *            many as a client sends: a draft finds each in constant time.
 * Ownership: the members are in the arena and share what they point to with the source. The index
 *            is on the heap; json_draft_end frees it.
 * Threading: one thread.
 */
#ifndef BERTH_CODEC_JSON_DRAFT_H
#define BERTH_CODEC_JSON_DRAFT_H

#include "base/map.h"
#include "codec/json_value.h"

struct json_draft {
    struct json_member *members;
    bool *gone; /* removed */
    size_t n, cap;
    struct map index; /* key to position + 1; empty in a small draft */
    struct arena *a;
};

/* The members of `from`; none if it is NULL or no object. `more` members may be added. */
void json_draft_init(struct json_draft *d, const struct json_value *from, size_t more,
                     struct arena *a);
/* NULL: none. Valid until the draft is ended. */
struct json_value *json_draft_get(struct json_draft *d, struct str key);
void json_draft_set(struct json_draft *d, struct str key, struct json_value value);
void json_draft_remove(struct json_draft *d, struct str key);
/* The object; the draft must not be used any more. */
struct json_value json_draft_end(struct json_draft *d);

#endif
