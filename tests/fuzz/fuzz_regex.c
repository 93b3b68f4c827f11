/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: the first line is the expression, the rest is the text. */
#include "cel/regex/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = {(const char *)data, size};
    size_t line = str_find(all, '\n');
    struct str expression = str_slice(all, 0, MIN(line, 200));
    struct str text = str_slice(all, line + 1, MIN(all.n, line + 501));
    struct arena a;
    const struct regex *re;
    struct regex_error error;
    arena_init(&a, 0);
    if (regex_new(expression, &a, &re, &error) == 0) {
        struct regex_span span, first;
        bool found = regex_find(re, text, 0, &first, 1);
        struct regex_all every = {.re = re, .text = text};
        assert(found == regex_match(re, text));
        for (size_t n = 0; n < 20 && regex_all_next(&every, &span); n++) {
            assert(span.from <= span.to && span.to <= text.n);
            assert(n > 0 || (span.from == first.from && span.to == first.to));
        }
    } else {
        (void)regex_error_text(&error, &a);
    }
    arena_release(&a);
    return 0;
}
