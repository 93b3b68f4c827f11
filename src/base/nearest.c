/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#define NAME_MAX_LENGTH 63

void nearest_init(struct nearest *n, struct str written)
{
    *n = (struct nearest){.to = written, .distance = SIZE_MAX};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(char a, char b)
{
    return lower(a) == lower(b);
}

/* Optimal string alignment: a swap of two neighbours counts as one change. */
static size_t distance(struct str a, struct str b)
{
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    if (a.n > NAME_MAX_LENGTH || b.n > NAME_MAX_LENGTH)
        return SIZE_MAX;
    for (size_t k = 0; k <= b.n; k++)
        above[k] = before[k] = k;
    for (size_t i = 1; i <= a.n; i++) {
        row[0] = i;
        for (size_t k = 1; k <= b.n; k++) {
            size_t least = MIN(above[k], row[k - 1]) + 1;
            least = MIN(least, above[k - 1] + !same(a.p[i - 1], b.p[k - 1]));
            if (i > 1 && k > 1 && same(a.p[i - 1], b.p[k - 2]) && same(a.p[i - 2], b.p[k - 1]))
                least = MIN(least, before[k - 2] + 1);
            row[k] = least;
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b.n];
}

void nearest_consider(struct nearest *n, struct str candidate)
{
    size_t d = distance(n->to, candidate);
    if (d < n->distance) {
        n->distance = d;
        n->name = candidate;
    }
}

struct str nearest_suggestion(const struct nearest *n)
{
    size_t few = n->to.n < 4 ? 1 : n->to.n < 12 ? 2 : 3;
    /* A short name must keep at least one letter. */
    bool near = n->distance <= few && n->distance < n->to.n;
    return near ? n->name : STR("");
}
