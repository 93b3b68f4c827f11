/* SPDX-License-Identifier: Apache-2.0 */
/*
 * err.h - the reason of a failure, in one line.
 *
 * Purpose:   functions return 0 or a negative errno. Those whose errors are shown to users (files,
 *            configuration, API, wire formats) also fill a `struct err`, passed last and named
 *            `reterr`. It is written on failure only, and may be NULL.
 * Ownership: a plain value; contains its text.
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
 *     return err_set(reterr, -EINVAL, "%s: no such context", path);
 */
int err_set(struct err *reterr, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Prepends "text: " to the message as it is passed up: file, then field, then reason. */
int err_prefix(struct err *reterr, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
