/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h - why something failed, in one line for a person.
 *
 * Purpose:   functions return 0 or a negative errno. Those at the edges where a user reads the
 *            reason (files, configuration, API, wire formats) also fill a `struct err`, passed last
 *            and named `reterr`. It is written on failure only, and may be NULL.
 * Ownership: a value; holds its text itself.
 * Threading: one thread at a time.
 */
#ifndef BERTH_BASE_ERR_H
#define BERTH_BASE_ERR_H

#include <errno.h>
#include <stdarg.h>

#include "base/str.h"

struct err {
    int code; /* negative errno, as returned */
    char msg[512];
};

/*
 * Sets code and message and returns code, so that failing is one statement:
 * `return err_set(reterr, -EINVAL, "%s: no such context", path);`
 */
int err_set(struct err *reterr, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Puts "text: " in front of the message as it climbs: file, then field, then what is wrong. */
int err_prefix(struct err *reterr, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
