/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.h - why a node was refused, as a number.
 *
 * Purpose:   a cycle over 5,000 nodes gives 5,000 verdicts and a handful of different reasons.
 *            Each text is kept once and known by its number; a list of several reasons of one
 *            verdict has a number of its own. Text is built when somebody reads.
 * Ownership: the table owns its texts and keeps them to the end, so a plugin must not put pod or
 *            object names into reasons without bound: beyond REASONS_MAX all share one text.
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
#define REASONS_FOREIGN_MAX 16384 /* of these */

struct reason_entry;

struct reasons {
    struct arena arena;
    struct map by_text;                 /* text, or the bytes of a list, to entry */
    VEC(struct reason_entry *) entries; /* index: number - 1 */
    size_t n_foreign;                   /* of them: texts that came from outside */
};

void reasons_init(struct reasons *r);
void reasons_release(struct reasons *r);
berth_reason reasons_text(struct reasons *r, struct str text);
/* The same for what others than plugins say: however much that is, plugins have room for theirs. */
berth_reason reasons_foreign(struct reasons *r, struct str text);
/* n == 0 gives 0, n == 1 the reason itself. */
berth_reason reasons_list(struct reasons *r, const berth_reason *list, size_t n);
/* How many texts the number stands for (0 for 0), and each of them. */
size_t reasons_count(const struct reasons *r, berth_reason reason);
struct str reasons_at(const struct reasons *r, berth_reason reason, size_t i);
/* Appends all texts, joined by ", ". */
void reasons_write(const struct reasons *r, berth_reason reason, struct buf *out);

#endif
