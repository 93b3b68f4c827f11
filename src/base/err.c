/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdio.h>

int err_set(struct err *reterr, int code, const char *fmt, ...)
{
    if (!reterr)
        return code;
    /* Via a copy: the old message may be among the arguments. */
    char msg[sizeof(reterr->msg)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    memcpy(reterr->msg, msg, strlen(msg) + 1);
    reterr->code = code;
    return code;
}

int err_prefix(struct err *reterr, int code, const char *fmt, ...)
{
    if (!reterr)
        return code;
    char rest[sizeof(reterr->msg)];
    memcpy(rest, reterr->msg, sizeof(rest));
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(reterr->msg, sizeof(reterr->msg), fmt, ap);
    va_end(ap);
    size_t at = MIN((size_t)MAX(n, 0), sizeof(reterr->msg) - 1);
    size_t room = sizeof(reterr->msg) - at;
    if (room > 3)
        snprintf(reterr->msg + at, room, ": %.*s", (int)(room - 3), rest);
    reterr->code = code;
    return code;
}
