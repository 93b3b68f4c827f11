/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_text.h - values read from text as Go's strconv, time and encoding/csv read them.
 *
 * Purpose:   flags of kube-scheduler take "0x10" and "1_000" for a number, and say
 *            `strconv.ParseInt: parsing "abc": invalid syntax` to what is none. So do ours.
 * Ownership: values; texts of lists are copied to the arena.
 * Threading: any.
 */
#ifndef BERTH_BASE_GO_TEXT_H
#define BERTH_BASE_GO_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

int go_parse_bool(struct str text, bool *ret_value, struct err *reterr) MUST_CHECK;
/* Base by prefix, as ParseInt(text, 0, bits) and ParseUint(text, 10, bits). */
int go_parse_int(struct str text, unsigned bits, int64_t *ret_value, struct err *reterr) MUST_CHECK;
int go_parse_uint(struct str text, unsigned bits, uint64_t *ret_value,
                  struct err *reterr) MUST_CHECK;
int go_parse_float32(struct str text, float *ret_value, struct err *reterr) MUST_CHECK;
int go_parse_duration(struct str text, int64_t *ret_ns, struct err *reterr) MUST_CHECK;

void go_format_float32(float value, struct buf *out);

struct go_strings {
    struct str *v;
    size_t n;
};

/* One line of comma-separated values, appended to *list. */
int go_parse_csv(struct str text, struct arena *a, struct go_strings *list,
                 struct err *reterr) MUST_CHECK;
void go_strings_push(struct go_strings *list, struct arena *a, struct str text);
void go_format_csv(const struct go_strings *list, struct buf *out);

#endif
