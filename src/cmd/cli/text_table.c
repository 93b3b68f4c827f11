/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/text_table.h"

#include "cmd/cli/term_text.h"

#define GAP 2

void text_table_init(struct text_table *t, size_t n_columns)
{
    *t = (struct text_table){.n_columns = n_columns};
    arena_init(&t->arena, 0);
}

void text_table_release(struct text_table *t)
{
    vec_release(&t->cells);
    arena_release(&t->arena);
}

void text_table_add(struct text_table *t, struct str cell)
{
    vec_push(&t->cells, term_clean(&t->arena, arena_dup(&t->arena, cell.n ? cell : STR("-"))));
}

static size_t column_width(const struct text_table *t, size_t column)
{
    size_t width = 0;
    for (size_t i = column; i < t->cells.n; i += t->n_columns)
        width = MAX(width, term_width(t->cells.v[i]));
    return width;
}

void text_table_write(const struct text_table *t, size_t indent, struct buf *out)
{
    size_t *widths = xcalloc(t->n_columns, sizeof(*widths));
    INVARIANT(t->cells.n % t->n_columns == 0);
    for (size_t i = 0; i < t->n_columns; i++)
        widths[i] = column_width(t, i);
    for (size_t i = 0; i < t->cells.n; i++) {
        size_t column = i % t->n_columns;
        if (column == 0)
            term_add_blanks(out, indent);
        if (column + 1 == t->n_columns) {
            buf_add_str(out, t->cells.v[i]);
            buf_add_char(out, '\n');
        } else {
            term_add_left(out, t->cells.v[i], widths[column] + GAP);
        }
    }
    free(widths);
}
