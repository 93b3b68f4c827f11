/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complaints.h - all that is wrong with a configuration, in the order of finding it.
 *
 * Purpose:   validation does not stop at the first fault. One entry reads as upstream's, "weight:
 *            Invalid value: 0: must be 1"; several are written as "[a, b]".
 * Ownership: owns its texts; complaints_release gives them back. Starts as {0}.
 * Threading: one thread.
 */
#ifndef BERTH_ENGINE_COMPLAINTS_H
#define BERTH_ENGINE_COMPLAINTS_H

#include "base/buf.h"
#include "base/vec.h"

struct complaints {
    VEC(char *) v;
    size_t n;           /* entries may stand for several: add_all */
    const char *prefix; /* in front of every entry, "profiles[0]."; NULL: nothing. Borrowed */
};

/* One more, "field: what: why" by printf. */
void complaints_add(struct complaints *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What is wrong with a qualified name at a field, if anything; false where something is. */
bool complaints_check_name(struct complaints *c, struct str name, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* n at once, joined by ", " already; they bring their prefixes. */
void complaints_add_all(struct complaints *c, struct str text, size_t n);
/* Appends them to out; one that says the same as an earlier one is left out, as upstream does. */
void complaints_write(const struct complaints *c, struct buf *out);
void complaints_release(struct complaints *c);

#endif
