/* SPDX-License-Identifier: Apache-2.0 */
/* "%d".format([x]): the clauses of a literal are checked against the types of a literal list. */
#include "cel/lib_printf.h"
#include "cel/validate.h"

/* The kinds that a clause takes. */
static bool takes(char clause, enum cel_type_kind kind)
{
    bool whole = kind == CEL_T_INT || kind == CEL_T_UINT;
    switch (clause) {
    case 'd':
    case 'o':
        return whole;
    case 'f':
    case 'e':
        return kind == CEL_T_DOUBLE || kind == CEL_T_STRING;
    case 'b':
        return whole || kind == CEL_T_BOOL;
    case 'x':
    case 'X':
        return whole || kind == CEL_T_STRING || kind == CEL_T_BYTES;
    default:
        return kind <= CEL_T_TYPE;
    }
}

/* The first part of e that does not suit the clause, NULL if all do. %s looks into literals. */
static const struct cel_expr *misfit(const struct cel_expr *e, char clause)
{
    if (e->type->kind != CEL_T_DYN && !takes(clause, e->type->kind))
        return e;
    const struct cel_expr *bad = NULL;
    if (clause == 's' && e->kind == CEL_E_LIST) {
        for (size_t i = 0; i < e->list.n && !bad; i++)
            bad = misfit(e->list.items[i], clause);
    } else if (clause == 's' && e->kind == CEL_E_MAP) {
        for (size_t i = 0; i < e->map.n && !bad; i++) {
            bad = misfit(e->map.entries[i].key, clause);
            if (!bad)
                bad = misfit(e->map.entries[i].value, clause);
        }
    }
    return bad;
}

/* The number of clauses, or -1 if a problem was reported. */
static int64_t check_clauses(struct cel_source *source, const struct cel_expr *e,
                             const struct cel_expr *list)
{
    struct cel_printf_reader r = {.rest = e->call.target->literal.s};
    struct buf error = BUF_INIT;
    uint32_t where = e->offset;
    int64_t i = 0;
    int next;
    for (; (next = cel_printf_next(&r, NULL, &error)) > 0; i++) {
        if ((size_t)i >= list->list.n)
            break;
        const struct cel_expr *bad = misfit(list->list.items[i], r.clause);
        if (!bad)
            continue;
        buf_add_cstr(&error, "error during formatting: ");
        cel_printf_mismatch(r.clause, bad->type->name, &error);
        where = bad->offset;
        next = -1;
        break;
    }
    if (next != 0 && (size_t)i >= list->list.n &&
        !str_is(buf_str(&error), "unexpected end of string")) {
        buf_clear(&error);
        buf_add_printf(&error, "index %lld out of range", (long long)i);
    }
    if (next != 0)
        cel_source_report(source, where, "%s", buf_cstr(&error));
    buf_release(&error);
    return next != 0 ? -1 : i;
}

void cel_validate_format(struct cel_source *source, const struct cel_expr *e)
{
    const struct cel_expr *target = e->call.target;
    if (!target || !str_is(e->call.function, "format") || e->call.n != 1 ||
        target->kind != CEL_E_LITERAL || target->literal.kind != CEL_STRING ||
        e->call.args[0]->kind != CEL_E_LIST)
        return;
    const struct cel_expr *list = e->call.args[0];
    int64_t used = check_clauses(source, e, list);
    if (used >= 0 && list->list.n > (size_t)used)
        cel_source_report(source, e->offset,
                          "too many arguments supplied to string.format (expected %lld, got %zu)",
                          (long long)used, list->list.n);
}
