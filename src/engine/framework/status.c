/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/status.h"

const char *code_name(enum berth_code code)
{
    switch (code) {
    case BERTH_SUCCESS:
        return "Success";
    case BERTH_ERROR:
        return "Error";
    case BERTH_UNSCHEDULABLE:
        return "Unschedulable";
    case BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE:
        return "UnschedulableAndUnresolvable";
    case BERTH_WAIT:
        return "Wait";
    case BERTH_SKIP:
        return "Skip";
    case BERTH_PENDING:
        return "Pending";
    case BERTH_ASYNC:
        return "Async";
    }
    return "undefined";
}

void status_init(struct berth_status *s)
{
    *s = (struct berth_status){0};
    buf_init(&s->texts, STATUS_MAX_TEXT_SIZE);
}

void status_release(struct berth_status *s)
{
    buf_release(&s->texts);
}

void status_clear(struct berth_status *s)
{
    s->n = 0;
    buf_clear(&s->texts);
}

void status_add_reason(struct berth_status *s, berth_reason reason)
{
    if (s->n < STATUS_MAX_REASONS && reason)
        s->reasons[s->n++] = reason;
}

void status_add_text(struct berth_status *s, struct str text)
{
    if (s->n == STATUS_MAX_REASONS || !buf_reserve(&s->texts, text.n + 1))
        return;
    /* NUL separates texts: a text ends at its first NUL. */
    buf_add_str(&s->texts, str_slice(text, 0, str_find(text, '\0')));
    buf_add_char(&s->texts, '\0');
    s->reasons[s->n++] = 0;
}

/* The text at *at, which moves to the next one. */
static struct str next_text(const struct berth_status *s, size_t *at)
{
    struct str text = str_of(s->texts.p + *at);
    *at += text.n + 1;
    return text;
}

berth_reason status_reason(const struct berth_status *s, struct reasons *reasons)
{
    berth_reason list[STATUS_MAX_REASONS];
    size_t at = 0;
    for (size_t i = 0; i < s->n; i++)
        list[i] = s->reasons[i] ? s->reasons[i] : reasons_text(reasons, next_text(s, &at));
    return reasons_list(reasons, list, s->n);
}

size_t status_texts(const struct berth_status *s, const struct reasons *reasons, struct arena *a,
                    struct str **ret_texts)
{
    size_t n = 0, at = 0, k = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->reasons[i] ? reasons_count(reasons, s->reasons[i]) : 1;
    struct str *texts = arena_array(a, struct str, n);
    for (size_t i = 0; i < s->n; i++)
        if (!s->reasons[i])
            texts[k++] = arena_dup(a, next_text(s, &at));
        else
            for (size_t j = 0; j < reasons_count(reasons, s->reasons[i]); j++)
                texts[k++] = arena_dup(a, reasons_at(reasons, s->reasons[i], j));
    *ret_texts = texts;
    return n;
}

void status_write(const struct berth_status *s, const struct reasons *reasons, struct buf *out)
{
    size_t at = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (i)
            buf_add_cstr(out, ", ");
        if (s->reasons[i])
            reasons_write(reasons, s->reasons[i], out);
        else
            buf_add_str(out, next_text(s, &at));
    }
}
