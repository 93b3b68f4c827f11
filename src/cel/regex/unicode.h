/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unicode.h - sets of characters and Unicode's categories, scripts and case folding.
 *
 * Purpose:   the classes of regular expressions. A set is a list of ranges; rune_set_clean sorts
 *            it and joins ranges that touch, and the other functions say whether they need that.
 * Ownership: a set owns its ranges; vec_release.
 * Threading: one thread at a time; the tables are constants.
 */
#ifndef BERTH_CEL_REGEX_UNICODE_H
#define BERTH_CEL_REGEX_UNICODE_H

#include "base/str.h"
#include "base/vec.h"

#define RUNE_MAX 0x10FFFFu

struct rune_range {
    uint32_t lo, hi; /* both included */
};

struct rune_set {
    struct rune_range *v;
    size_t n, cap;
};

void rune_set_add(struct rune_set *set, uint32_t lo, uint32_t hi);
void rune_set_add_set(struct rune_set *set, const struct rune_set *other);
void rune_set_clean(struct rune_set *set);
/* The next two leave a clean set. */
void rune_set_negate(struct rune_set *set);
/* Adds all characters that differ from one of the set by case only. */
void rune_set_fold(struct rune_set *set);
/* The set must be clean. */
bool rune_set_has(const struct rune_range *v, size_t n, uint32_t rune);
/* Adds the class that \p{name} means. Returns false if there is none. */
bool rune_set_add_class(struct rune_set *set, struct str name);
/* The next character that differs by case only, as Go's SimpleFold; rune if there is none. */
uint32_t rune_fold(uint32_t rune);

/* --- tables, from unicode_table.c ------------------------------------------------------------- */

/* A category: the mask of its leaves. A script: its number. */
struct unicode_name {
    const char *name;
    uint32_t value;
};
/* Each character of [lo, hi] folds to itself plus distance; 0: neighbors swap, beginning with lo.
 */
struct unicode_fold {
    uint32_t lo, hi;
    int32_t distance;
};
/* first character << 8 | category or script, up to the next one's first. */
extern const uint32_t unicode_category_runs[], unicode_script_runs[];
extern const size_t unicode_category_runs_n, unicode_script_runs_n;
extern const struct unicode_name unicode_categories[], unicode_scripts[];
extern const size_t unicode_categories_n, unicode_scripts_n;
extern const struct unicode_fold unicode_folds[];
extern const size_t unicode_folds_n;

#endif
