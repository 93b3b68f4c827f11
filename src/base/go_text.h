/* SPDX-License-Identifier: Apache-2.0 */
/*
 * go_text.h - parses and formats values like Go's strconv, time and encoding/csv.
 *
 * Purpose:   flags of kube-scheduler accept "0x10" and "1_000", and fail with
 *            `strconv.ParseInt: parsing "abc": invalid syntax`. berth's flags do the same.
 * Ownership: values; texts of lists are copied to the arena.
 * Threading: any.
 */
#ifndef BERTH_BASE_GO_TEXT_H
#define BERTH_BASE_GO_TEXT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

int go_parse_bool(struct str text, bool *ret_value, struct err *reterr) MUST_CHECK;
/* ParseInt(text, 0, bits), with the base by prefix, and ParseUint(text, 10, bits). */
int go_parse_int(struct str text, unsigned bits, int64_t *ret_value, struct err *reterr) MUST_CHECK;
int go_parse_uint(struct str text, unsigned bits, uint64_t *ret_value,
                  struct err *reterr) MUST_CHECK;
int go_parse_float64(struct str text, double *ret_value, struct err *reterr) MUST_CHECK;
int go_parse_float32(struct str text, float *ret_value, struct err *reterr) MUST_CHECK;
int go_parse_duration(struct str text, int64_t *ret_ns, struct err *reterr) MUST_CHECK;

void go_format_float32(float value, struct buf *out);

struct go_strings {
    struct str *v;
    size_t n;
};

/* Appends one line of comma-separated values to *list. */
int go_parse_csv(struct str text, struct arena *a, struct go_strings *list,
                 struct err *reterr) MUST_CHECK;
void go_strings_push(struct go_strings *list, struct arena *a, struct str text);
void go_format_csv(const struct go_strings *list, struct buf *out);

#endif
