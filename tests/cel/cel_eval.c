/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cel_eval - berth's side of tests/cel: reads cases, one per line, and prints one line for each.
 *
 * regex,HEX,HEX...   a regular expression and texts, as hexadecimal bytes. Prints "error HEX", or
 *                    "groups N" and for each text whether it matches, the groups of the first
 *                    match, and all matches.
 * {"expression": ...}  an expression, the features and slices with devices, as JSON. Prints
 * "compile HEX" with the error, or "ok MAXCOST" and for each device " true COST", " false COST" or
 * " error HEX COST".
 */
#include "base/buf.h"
#include "base/vec.h"
#include "cel/cel.h"
#include "cel/regex/regex.h"
#include "codec/json.h"

/* --- regular expressions ---------------------------------------------------------------------- */

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

static void print_hex(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        printf("%02x", (unsigned char)s.p[i]);
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
        printf("error ");
        print_hex(regex_error_text(&error, a));
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

/* --- expressions ------------------------------------------------------------------------------ */

struct cel_case {
    struct str expression;
    bool consumable_capacity, list_type_attributes;
    LIST(struct resource_slice_spec) slices;
};

static const struct field cel_case_fields[] = {
    F_ONE(struct cel_case, expression, "expression", 1, STR),
    F_ONE(struct cel_case, consumable_capacity, "consumableCapacity", 2, BOOL),
    F_ONE(struct cel_case, list_type_attributes, "listTypeAttributes", 3, BOOL),
    F_LIST_MSG(struct cel_case, slices, "slices", 4, struct resource_slice_spec,
               &resource_slice_spec_type),
};
static const struct type cel_case_type = TYPE("cel_case", struct cel_case, cel_case_fields);

static void evaluate(const struct cel_program *program, struct str driver,
                     const struct device *device)
{
    bool matches;
    uint64_t cost = 0;
    struct err err;
    if (cel_device_matches(program, driver, device, 0, &matches, &cost, &err) < 0) {
        printf(" error ");
        print_hex(str_of(err.msg));
    } else {
        printf(" %s", matches ? "true" : "false");
    }
    printf(" %llu", (unsigned long long)cost);
}

static struct cel_env *envs[4]; /* by features */

static void cel_case(struct str line, struct arena *a)
{
    struct cel_case c;
    struct err err;
    struct buf error = BUF_INIT;
    struct cel_program *program;
    if (json_decode(line, &cel_case_type, JSON_STRICT, a, &c, &err) < 0) {
        printf("bad case: %s\n", err.msg);
        return;
    }
    struct cel_env **env = &envs[c.consumable_capacity * 2 + c.list_type_attributes];
    if (!*env)
        *env = cel_env_new((struct cel_features){c.consumable_capacity, c.list_type_attributes});
    if (cel_compile_text(c.expression, *env, &program, &error) < 0) {
        printf("compile ");
        print_hex(buf_str(&error));
    } else {
        printf("ok %llu", (unsigned long long)cel_program_max_cost(program));
        for (size_t i = 0; i < c.slices.n; i++) {
            for (size_t k = 0; k < c.slices.v[i].devices.n; k++)
                evaluate(program, c.slices.v[i].driver, &c.slices.v[i].devices.v[k]);
        }
        cel_program_free(program);
    }
    printf("\n");
    buf_release(&error);
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
        else
            cel_case(rest, &a);
        fflush(stdout);
        arena_release(&a);
    }
    free(line);
    for (size_t i = 0; i < ARRAY_LEN(envs); i++) {
        if (envs[i])
            cel_env_free(envs[i]);
    }
    return 0;
}
