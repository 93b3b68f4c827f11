/* SPDX-License-Identifier: Apache-2.0 */
/* Durations and timestamps: what is accepted is written and read back as the same value. */
#include "base/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_duration(struct str text)
{
    int64_t ns, back;
    if (!duration_parse(text, &ns))
        return;
    struct buf out = BUF_INIT;
    duration_format(ns, &out);
    if (!duration_parse(buf_str(&out), &back) || back != ns)
        abort();
    buf_release(&out);
}

static void check_timestamp(struct str text)
{
    struct timestamp t, back;
    if (!timestamp_parse(text, &t))
        return;
    struct buf out = BUF_INIT;
    timestamp_format(t, 9, &out);
    /* An offset may move a time out of the years with four digits, which have no text. */
    bool in_range = t.sec >= -62167219200 && t.sec <= 253402300799;
    if (in_range && (!timestamp_parse(buf_str(&out), &back) || timestamp_cmp(t, back) != 0))
        abort();
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    check_duration(text);
    check_timestamp(text);
    return 0;
}
