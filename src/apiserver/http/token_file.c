/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/http/token_file.h"

#include <errno.h>

#include "base/vec.h"

#define FIELDS_MIN 3
#define FIELDS_MAX 4 /* further ones are ignored */

typedef VEC(struct api_token) token_vec;

/* The next field of a line of CSV; quotes enclose commas, and "" stands for a quote. */
static bool next_field(struct str *rest, struct arena *a, struct str *ret_field)
{
    if (!rest->p)
        return false;
    if (!rest->n || rest->p[0] != '"')
        return str_split(rest, ',', ret_field);
    char *field = arena_array(a, char, rest->n);
    size_t n = 0, i = 1;
    for (; i < rest->n; i++) {
        if (rest->p[i] == '"' && (++i >= rest->n || rest->p[i] != '"'))
            break;
        field[n++] = rest->p[i];
    }
    *ret_field = (struct str){field, n};
    *rest = i < rest->n ? str_slice(*rest, i + 1, rest->n) : (struct str){0};
    return true;
}

static void split_groups(struct str text, struct arena *a, struct api_user *user)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == ',';
    struct str *groups = arena_array(a, struct str, n), group;
    user->groups = groups;
    while (text.n && str_split(&text, ',', &group)) {
        group = str_trim(group);
        if (!str_empty(group))
            groups[user->n_groups++] = arena_dup(a, group);
    }
}

static int parse_line(struct str line, size_t number, struct arena *a, token_vec *tokens,
                      struct err *reterr)
{
    struct str fields[FIELDS_MAX] = {0}, field;
    size_t n = 0;
    while (n < FIELDS_MAX && next_field(&line, a, &field))
        fields[n++] = str_trim(field);
    if (n < FIELDS_MIN)
        return err_set(reterr, -EINVAL,
                       "line %zu: must have at least 3 columns (token, user name, user uid), "
                       "found %zu",
                       number, n);
    if (str_empty(fields[0]))
        return err_set(reterr, -EINVAL, "line %zu: the token is empty", number);
    struct api_token token = {
        .token = arena_dup(a, fields[0]),
        .user = {.name = arena_dup(a, fields[1]), .uid = arena_dup(a, fields[2])},
    };
    split_groups(fields[3], a, &token.user);
    vec_push(tokens, token);
    return 0;
}

int token_file_parse(struct str text, struct token_file *ret_file, struct err *reterr)
{
    struct token_file file = {0};
    token_vec tokens = {0};
    struct str line;
    int r = 0;
    arena_init(&file.arena, 0);
    for (size_t number = 1; r == 0 && str_split(&text, '\n', &line); number++) {
        line = str_trim(line);
        if (!str_empty(line) && line.p[0] != '#')
            r = parse_line(line, number, &file.arena, &tokens, reterr);
    }
    if (r == 0) {
        file.n = tokens.n;
        file.v = arena_array(&file.arena, struct api_token, tokens.n);
        if (tokens.n)
            memcpy(file.v, tokens.v, tokens.n * sizeof(*tokens.v));
        *ret_file = file;
    } else {
        arena_release(&file.arena);
    }
    vec_release(&tokens);
    return r;
}

void token_file_release(struct token_file *file)
{
    arena_release(&file->arena);
}
