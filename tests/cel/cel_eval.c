/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cel_eval - berth's side of tests/cel: reads cases, one per line, and prints one line for each.
 *
 * regex,HEX,HEX...   a regular expression and texts, as hexadecimal bytes. Prints "error HEX", or
 *                    "groups N" and for each text whether it matches, the groups of the first
 *                    match, and all matches.
 */
#include "base/buf.h"
#include "base/vec.h"
#include "cel/regex/regex.h"

/* --- regular expressions ------------------------------------------------------------------------ */

static int nibble(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static struct str from_hex(struct str hex, struct arena *a)
{
    char *p = arena_array(a, char, hex.n / 2 + 1);
    for (size_t i = 0; i < hex.n / 2; i++)
        p[i] = (char)(nibble(hex.p[2 * i]) * 16 + nibble(hex.p[2 * i + 1]));
    return (struct str){p, hex.n / 2};
}

static void print_spans(const struct regex_span *v, size_t n)
{
    printf("(");
    for (size_t i = 0; i < n; i++) {
        if (v[i].from == SIZE_MAX)
            printf("- ");
        else
            printf("%zu-%zu ", v[i].from, v[i].to);
    }
    printf(")");
}

static void regex_case(struct str rest, struct arena *a)
{
    struct str word;
    const struct regex *re;
    struct regex_error error;
    if (!str_split(&rest, ',', &word))
        return;
    if (regex_new(from_hex(word, a), a, &re, &error) < 0) {
        struct str text = regex_error_text(&error, a);
        printf("error ");
        for (size_t i = 0; i < text.n; i++)
            printf("%02x", (unsigned char)text.p[i]);
        printf("\n");
        return;
    }
    size_t n = regex_groups(re) + 1;
    struct regex_span *spans = arena_array(a, struct regex_span, n), span;
    printf("groups %zu", n - 1);
    while (str_split(&rest, ',', &word)) {
        struct str text = from_hex(word, a);
        printf(" %s ", regex_match(re, text) ? "true" : "false");
        print_spans(spans, regex_find(re, text, 0, spans, n) ? n : 0);
        printf(" ");
        struct regex_all all = {.re = re, .text = text};
        while (regex_all_next(&all, &span))
            print_spans(&span, 1);
    }
    printf("\n");
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        struct arena a;
        struct str rest = {line, (size_t)n - (line[n - 1] == '\n')}, word;
        arena_init(&a, 0);
        if (str_starts(rest, STR("regex,")) && str_split(&rest, ',', &word))
            regex_case(rest, &a);
        fflush(stdout);
        arena_release(&a);
    }
    free(line);
    return 0;
}
