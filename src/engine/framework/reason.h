/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.h - why a node was refused, as a number.
 *
 * Purpose:   a cycle over 5,000 nodes has 5,000 verdicts and a handful of different reasons. Each
 *            text is stored once and has a number; several reasons of one verdict are a list, which
 *            has its own number. Text is built when a record is read.
 * Ownership: the table owns its texts until it is released. A plugin must therefore limit how many
 *            different texts it uses: beyond REASONS_MAX all share one text.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_REASON_H
#define BERTH_ENGINE_FRAMEWORK_REASON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "engine/ports/abi.h"

#define REASONS_MAX         65536
#define REASONS_FOREIGN_MAX 16384 /* of these: of extenders */

struct reason_entry;

struct reasons {
    struct arena arena;
    struct map by_text;                 /* text, or the bytes of a list, to entry */
    VEC(struct reason_entry *) entries; /* index: number - 1 */
    size_t n_foreign;                   /* of them: by reasons_foreign */
};

void reasons_init(struct reasons *r);
void reasons_release(struct reasons *r);
/* The number of a text, assigned on first use. */
berth_reason reasons_text(struct reasons *r, struct str text);
/* The same for an extender's text. These have their own limit, which leaves room for plugins. */
berth_reason reasons_foreign(struct reasons *r, struct str text);
/* The number of a list; of no reasons 0, of one reason its own number. */
berth_reason reasons_list(struct reasons *r, const berth_reason *list, size_t n);
/* How many texts the number stands for (0 for 0), and each of them. */
size_t reasons_count(const struct reasons *r, berth_reason reason);
struct str reasons_at(const struct reasons *r, berth_reason reason, size_t i);
/* Appends all texts, joined by ", ". */
void reasons_write(const struct reasons *r, berth_reason reason, struct buf *out);
/* Appends ,"reasons":[TEXT…] as a member of a JSON object; nothing if there are none. */
void reasons_write_json(const struct reasons *r, berth_reason reason, struct buf *out);

#endif
