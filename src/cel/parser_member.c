/* SPDX-License-Identifier: Apache-2.0 */
/* parser_member.c - literals, names, lists, maps, messages, calls, selections and indexes. */
#include "base/vec.h"
#include "cel/literal.h"
#include "cel/macros.h"
#include "cel/parser_private.h"

typedef VEC(struct cel_expr *) expr_vec;

static struct cel_parsed mismatch(struct cel_parser *p, const char *expected)
{
    cel_parser_mismatch(p, expected);
    return cel_parser_fail(p);
}

/* Problems of meaning do not stop the parser: it goes on with an empty node. */
static struct cel_expr *report(struct cel_parser *p, uint32_t offset, const char *message)
{
    cel_source_report(p->source, offset, "%s", message);
    return cel_ast_new(p->ast, CEL_E_NONE, offset);
}

/* --- calls ------------------------------------------------------------------------------------ */

static struct cel_expr *new_call(struct cel_parser *p, uint32_t offset, struct str function,
                                 struct cel_expr *target, struct cel_expr **args, size_t n)
{
    struct cel_expr *e = cel_ast_new(p->ast, CEL_E_CALL, offset);
    e->call.function = function;
    e->call.target = target;
    e->call.args = arena_array(p->ast->arena, struct cel_expr *, n);
    if (n > 0)
        memcpy(e->call.args, args, n * sizeof(struct cel_expr *));
    e->call.n = n;
    return e;
}

static struct cel_expr *call_or_macro(struct cel_parser *p, struct cel_expr *call)
{
    struct cel_expr *expanded = cel_expand_macro(p->source, p->ast, call);
    if (p->ast->n_ids > CEL_TREE_MAX)
        cel_parser_limit(p, "expression is too large");
    return expanded;
}

/* Up to `end`, which is consumed: expr (',' expr)*. */
static int parse_args(struct cel_parser *p, expr_vec *args)
{
    int height = 0;
    if (cel_parser_accept(p, ')'))
        return 0;
    do {
        struct cel_parsed arg = cel_parser_within(p, "),", args->n == 0 ? ")" : "");
        height = MAX(height, arg.height);
        vec_push(args, arg.expr);
    } while (!p->failed && cel_parser_accept(p, ','));
    if (!p->failed)
        cel_parser_expect(p, ')', "')'");
    return height;
}

/* --- primary ---------------------------------------------------------------------------------- */

static bool is_reserved(struct str name)
{
    static const char *const words[] = {
        "as",       "break",     "const",  "continue", "else", "false", "for",
        "function", "if",        "import", "in",       "let",  "loop",  "null",
        "package",  "namespace", "true",   "return",   "var",  "void",  "while",
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_is(name, words[i]))
            return true;
    }
    return false;
}

/* The key of an entry of a map, or the name of a field. */
static int parse_key(struct cel_parser *p, struct cel_expr *e, struct cel_entry *entry)
{
    if (e->kind == CEL_E_MAP) {
        struct cel_parsed key =
            cel_parser_within(p, ":", e->map.n == 0 && !entry->optional ? "},?" : "");
        entry->key = key.expr;
        return key.height;
    }
    entry->field = cel_parser_token_text(p, p->token);
    if (p->token.kind == CEL_TOK_ESC_IDENT)
        report(p, p->token.from, "unsupported syntax: '`'");
    else if (p->token.kind != CEL_TOK_IDENT)
        cel_parser_mismatch(p, "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
    cel_parser_advance(p);
    return 0;
}

/* '{' [?] key ':' value, …  '}'; also "{,}" */
static struct cel_parsed parse_entries(struct cel_parser *p, struct cel_expr *e)
{
    VEC(struct cel_entry) entries = {0};
    int height = 0;
    cel_parser_advance(p);
    if (p->token.kind == ',' && cel_parser_look_ahead(p).kind == '}')
        cel_parser_advance(p);
    bool more = !cel_parser_accept(p, '}');
    while (!p->failed && more) {
        struct cel_entry entry = {.optional = cel_parser_accept(p, '?')};
        e->map.n = entries.n;
        int key = parse_key(p, e, &entry);
        height = MAX(height, key);
        entry.offset = p->token.from;
        if (p->failed || !cel_parser_expect(p, ':', "':'"))
            break;
        struct cel_parsed value = cel_parser_within(p, "},", "");
        entry.value = value.expr;
        height = MAX(height, value.height);
        vec_push(&entries, entry);
        if (p->failed)
            break;
        more = cel_parser_next_element(p, '}', "{'}', ','}");
        if (more && !cel_parser_starts_expr(p->token.kind) && p->token.kind != '?' &&
            p->token.kind != CEL_TOK_ESC_IDENT) {
            cel_parser_expect(p, '}', "'}'");
            more = false;
        }
    }
    e->map.n = entries.n;
    e->map.entries = arena_array(p->ast->arena, struct cel_entry, entries.n);
    if (entries.n > 0)
        memcpy(e->map.entries, entries.v, entries.n * sizeof(*entries.v));
    vec_release(&entries);
    return p->failed ? cel_parser_fail(p) : (struct cel_parsed){e, height};
}

static struct cel_parsed parse_list(struct cel_parser *p)
{
    uint32_t offset = p->token.from;
    expr_vec items = {0};
    VEC(bool) optional = {0};
    int height = 0;
    cel_parser_advance(p);
    if (p->token.kind == ',' && cel_parser_look_ahead(p).kind == ']')
        cel_parser_advance(p);
    bool more = !cel_parser_accept(p, ']');
    while (!p->failed && more) {
        bool opt = cel_parser_accept(p, '?');
        struct cel_parsed item = cel_parser_within(p, "],", items.n == 0 && !opt ? "],?" : "");
        height = MAX(height, item.height);
        vec_push(&items, item.expr);
        vec_push(&optional, opt);
        if (p->failed)
            break;
        more = cel_parser_next_element(p, ']', "{']', ','}");
        if (more && !cel_parser_starts_expr(p->token.kind) && p->token.kind != '?') {
            cel_parser_expect(p, ']', "']'");
            more = false;
        }
    }
    struct cel_parsed result = {NULL, height};
    if (!p->failed) {
        result.expr = cel_ast_list(p->ast, offset, items.v, items.n);
        if (items.n > 0)
            memcpy(result.expr->list.optional, optional.v, items.n * sizeof(bool));
    }
    vec_release(&items);
    vec_release(&optional);
    return p->failed ? cel_parser_fail(p) : result;
}

static struct cel_parsed parse_map(struct cel_parser *p)
{
    struct cel_expr *e = cel_ast_new(p->ast, CEL_E_MAP, p->token.from);
    return parse_entries(p, e);
}

/* A literal with or without a minus before it. */
static struct cel_parsed parse_literal(struct cel_parser *p)
{
    uint32_t offset = p->token.from;
    bool negative = cel_parser_accept(p, '-');
    struct cel_token t = p->token;
    struct str text = cel_parser_token_text(p, t), s;
    struct cel_value v = cel_null();
    const char *wrong = NULL;
    cel_parser_advance(p);
    switch (t.kind) {
    case CEL_TOK_INT:
        v.kind = CEL_INT;
        wrong = cel_parse_int(text, negative, &v.i) ? NULL : "invalid int literal";
        break;
    case CEL_TOK_UINT:
        v.kind = CEL_UINT;
        wrong = cel_parse_uint(text, &v.u) ? NULL : "invalid uint literal";
        break;
    case CEL_TOK_FLOAT:
        v.kind = CEL_DOUBLE;
        wrong = cel_parse_double(text, &v.d) ? NULL : "invalid double literal";
        v.d = negative ? -v.d : v.d;
        break;
    case CEL_TOK_STRING:
    case CEL_TOK_BYTES:
        wrong = cel_unquote(p->ast->arena, text, t.kind == CEL_TOK_BYTES, &s);
        v = t.kind == CEL_TOK_BYTES ? cel_bytes(s) : cel_string(s);
        break;
    case CEL_TOK_NULL:
        break;
    default:
        v = cel_bool(t.kind == CEL_TOK_TRUE);
    }
    if (wrong)
        return (struct cel_parsed){report(p, offset, wrong), 0};
    return (struct cel_parsed){cel_ast_literal(p->ast, offset, v), 0};
}

/* Whether a name with dots is followed by '{': then it is a message. No position is changed. */
static bool at_message(struct cel_parser *p)
{
    struct cel_lexer ahead = {.source = p->source, .at = p->token.to, .quiet = true};
    struct cel_token t = cel_lexer_next(&ahead);
    while (t.kind == '.') {
        t = cel_lexer_next(&ahead);
        if (t.kind != CEL_TOK_IDENT)
            return false;
        t = cel_lexer_next(&ahead);
    }
    return t.kind == '{';
}

static struct cel_parsed parse_message(struct cel_parser *p, bool leading_dot)
{
    struct buf name = BUF_INIT;
    if (leading_dot)
        buf_add_char(&name, '.');
    for (;;) {
        buf_add_str(&name, cel_parser_token_text(p, p->token));
        cel_parser_advance(p);
        if (!cel_parser_accept(p, '.'))
            break;
        buf_add_char(&name, '.');
    }
    struct cel_expr *e = cel_ast_new(p->ast, CEL_E_MESSAGE, p->token.from);
    e->map.name = arena_dup(p->ast->arena, buf_str(&name));
    buf_release(&name);
    return parse_entries(p, e);
}

/* ident, ident(args), ident.ident{…} */
static struct cel_parsed parse_name(struct cel_parser *p)
{
    uint32_t offset = p->token.from;
    bool leading_dot = cel_parser_accept(p, '.');
    if (p->token.kind != CEL_TOK_IDENT)
        return mismatch(p, "IDENTIFIER");
    if (at_message(p))
        return parse_message(p, leading_dot);
    struct cel_token id = p->token;
    struct str text = cel_parser_token_text(p, id);
    struct str name = leading_dot ? arena_printf(p->ast->arena, ".%.*s", STR_ARG(text)) : text;
    cel_parser_advance(p);
    bool reserved = is_reserved(text);
    if (reserved)
        cel_source_report(p->source, offset, "reserved identifier: %.*s", STR_ARG(text));
    if (p->token.kind != '(')
        return (struct cel_parsed){cel_ast_ident(p->ast, id.from, name), 0};
    uint32_t open = p->token.from;
    cel_parser_advance(p);
    expr_vec args = {0};
    int height = parse_args(p, &args);
    struct cel_expr *e = NULL;
    if (!p->failed)
        e = call_or_macro(p, new_call(p, open, name, NULL, args.v, args.n));
    vec_release(&args);
    return p->failed ? cel_parser_fail(p) : (struct cel_parsed){e, height};
}

bool cel_parser_at_negative_number(struct cel_parser *p)
{
    if (p->token.kind != '-')
        return false;
    int next = cel_parser_look_ahead(p).kind;
    return next == CEL_TOK_INT || next == CEL_TOK_FLOAT;
}

static struct cel_parsed parse_primary(struct cel_parser *p)
{
    switch (p->token.kind) {
    case '(': {
        cel_parser_advance(p);
        struct cel_parsed inner = cel_parser_within(p, ")", "");
        return p->failed || !cel_parser_expect(p, ')', "')'") ? cel_parser_fail(p) : inner;
    }
    case '[':
        return parse_list(p);
    case '{':
        return parse_map(p);
    case '.':
    case CEL_TOK_IDENT:
        return parse_name(p);
    case CEL_TOK_INT:
    case CEL_TOK_UINT:
    case CEL_TOK_FLOAT:
    case CEL_TOK_STRING:
    case CEL_TOK_BYTES:
    case CEL_TOK_TRUE:
    case CEL_TOK_FALSE:
    case CEL_TOK_NULL:
        return parse_literal(p);
    default:
        if (cel_parser_at_negative_number(p))
            return parse_literal(p);
        return cel_parser_skip_extraneous(p) ? cel_parse_member(p) : cel_parser_fail(p);
    }
}

/* --- member ----------------------------------------------------------------------------------- */

static struct cel_parsed parse_member_call(struct cel_parser *p, struct cel_parsed target,
                                           struct str name)
{
    uint32_t open = p->token.from;
    cel_parser_advance(p);
    expr_vec args = {0};
    int height = parse_args(p, &args);
    struct cel_expr *e = NULL;
    if (!p->failed)
        e = call_or_macro(p, new_call(p, open, name, target.expr, args.v, args.n));
    vec_release(&args);
    return p->failed ? cel_parser_fail(p)
                     : cel_parsed_higher((struct cel_parsed){e, MAX(target.height, height)});
}

/* x. without a name */
static struct cel_parsed no_field(struct cel_parser *p, uint32_t dot, bool optional)
{
    int kind = p->token.kind;
    if (optional) {
        cel_parser_mismatch(p, "{IDENTIFIER, ESC_IDENTIFIER}");
        report(p, p->token.from, "unsupported ident kind");
        return cel_parser_fail(p);
    }
    if (kind == CEL_TOK_TRUE || kind == CEL_TOK_FALSE || kind == CEL_TOK_NULL)
        return mismatch(p, "IDENTIFIER");
    uint32_t end = kind == CEL_TOK_EOF ? dot + 1 : p->token.to;
    struct str text = cel_source_text(p->source, dot, end);
    cel_source_report(p->source, p->token.from,
                      "Syntax error: no viable alternative at input '%.*s'", STR_ARG(text));
    return cel_parser_fail(p);
}

static struct cel_parsed parse_select(struct cel_parser *p, struct cel_parsed operand)
{
    uint32_t dot = p->token.from;
    cel_parser_advance(p);
    bool optional = cel_parser_accept(p, '?');
    struct cel_token id = p->token;
    if (id.kind != CEL_TOK_IDENT && id.kind != CEL_TOK_ESC_IDENT)
        return no_field(p, dot, optional);
    struct str name = cel_parser_token_text(p, id);
    cel_parser_advance(p);
    if (id.kind == CEL_TOK_ESC_IDENT)
        report(p, id.from, "unsupported syntax: '`'");
    if (!optional && p->token.kind == '(' && id.kind == CEL_TOK_IDENT)
        return parse_member_call(p, operand, name);
    struct cel_expr *e;
    if (optional) {
        struct cel_expr *field = cel_ast_literal(p->ast, id.from, cel_string(name));
        e = cel_ast_call(p->ast, dot, "_?._", operand.expr, field, NULL);
    } else {
        e = cel_ast_new(p->ast, CEL_E_SELECT, dot);
        e->select.operand = operand.expr;
        e->select.field = name;
    }
    return cel_parsed_higher((struct cel_parsed){e, operand.height});
}

static struct cel_parsed parse_index(struct cel_parser *p, struct cel_parsed operand)
{
    uint32_t open = p->token.from;
    cel_parser_advance(p);
    bool optional = cel_parser_accept(p, '?');
    struct cel_parsed index = cel_parser_within(p, "]", optional ? "" : "?");
    if (p->failed || !cel_parser_expect(p, ']', "']'"))
        return cel_parser_fail(p);
    return cel_parsed_higher(
        cel_parser_operator(p, open, optional ? "_[?_]" : "_[_]", operand, index));
}

struct cel_parsed cel_parse_member(struct cel_parser *p)
{
    struct cel_parsed x = parse_primary(p);
    while (!p->failed) {
        if (p->token.kind == '.')
            x = parse_select(p, x);
        else if (p->token.kind == '[')
            x = parse_index(p, x);
        else
            return x;
    }
    return cel_parser_fail(p);
}
