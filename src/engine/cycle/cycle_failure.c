/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/cycle_failure.h"

void cycle_failure_release(struct cycle_failure *failure)
{
    buf_release(&failure->text);
}

void cycle_failure_clear(struct cycle_failure *failure)
{
    buf_clear(&failure->text);
    failure->error = false;
    failure->rejectors = failure->pending = (struct plugin_set){0};
}

void cycle_failure_move(struct cycle_failure *failure, struct cycle_failure *from)
{
    cycle_failure_release(failure);
    *failure = *from;
    *from = (struct cycle_failure){0};
}

void cycle_failure_error(struct cycle_failure *failure, const char *fmt, ...)
{
    cycle_failure_clear(failure);
    failure->error = true;
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&failure->text, fmt, ap);
    va_end(ap);
}

void cycle_failure_status(struct cycle_failure *failure, const struct reasons *reasons,
                          const struct berth_status *status, enum berth_code code, const char *fmt,
                          ...)
{
    struct buf *text = &failure->text;
    cycle_failure_clear(failure);
    failure->error = true;
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(text, fmt, ap);
    va_end(ap);
    buf_add_cstr(text, ": ");
    if (status->n)
        status_write(status, reasons, text);
    else
        buf_add_printf(text, "status %s (%d) without a reason", code_name(code), (int)code);
}

void cycle_failure_blame(struct cycle_failure *failure, const struct berth_handle *h,
                         enum berth_code code)
{
    if (code == BERTH_PENDING)
        plugin_set_add(&failure->pending, h->id);
    else
        plugin_set_add(&failure->rejectors, h->id);
}
