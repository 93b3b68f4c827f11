/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term_text.h - text for a terminal.
 *
 * Purpose:   aligned columns, wrapped lines, and no control characters: text from a file or a
 *            server must not move the cursor or change colours.
 * Ownership: clean text lives in the arena given; output is appended to the caller's buffer.
 * Threading: any.
 */
#ifndef BERTH_CMD_CLI_TERM_TEXT_H
#define BERTH_CMD_CLI_TERM_TEXT_H

#include "base/arena.h"
#include "base/buf.h"

/*
 * Removes what a terminal would act on: line breaks and tabs become blanks; other control
 * characters and those that change the direction of writing become \xNN or \uNNNN; bytes that are
 * not UTF-8 become '?'.
 */
struct str term_clean(struct arena *a, struct str text);

/* The columns that clean text takes. */
size_t term_width(struct str clean);

/* Appends clean text, padded to width columns; longer text is cut in the middle. */
void term_add_left(struct buf *out, struct str clean, size_t width);
/* The same, aligned to the right. */
void term_add_right(struct buf *out, struct str clean, size_t width);
void term_add_blanks(struct buf *out, size_t n);

/*
 * Takes the next line of at most width columns off clean text. Breaks at a blank, or within a word
 * that is longer than a line. Returns false if nothing is left.
 */
bool term_next_line(struct str *rest, size_t width, struct str *ret_line);

#endif
