/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of completion indexes as intervals. */
#include "apiserver/workloads/job_internal.h"

struct indexes indexes_parse(struct workloads *w, struct str text, int64_t limit)
{
    size_t most = 1;
    for (size_t i = 0; i < text.n; i++)
        most += text.p[i] == ',';
    struct indexes set = {arena_array(&w->scratch, struct interval, most), 0};
    struct str rest = text, part, end;
    while (text.n && str_split(&rest, ',', &part)) {
        struct interval v;
        end = part;
        str_split(&end, '-', &part);
        if (!str_to_i64(part, &v.first) || v.first < 0)
            break;
        v.last = v.first;
        if (end.p && !str_to_i64(end, &v.last))
            break;
        v.last = MIN(v.last, limit - 1);
        if (v.first > v.last || (set.n && v.first <= set.v[set.n - 1].last))
            continue;
        set.v[set.n++] = v;
    }
    return set;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x == y ? 0 : x < y ? -1 : 1;
}

static void append(struct indexes *set, struct interval v)
{
    struct interval *last = set->n ? &set->v[set->n - 1] : NULL;
    if (last && v.first <= last->last + 1)
        last->last = MAX(last->last, v.last);
    else
        set->v[set->n++] = v;
}

struct indexes indexes_add(struct workloads *w, struct indexes set, int64_t *more, size_t n)
{
    struct indexes sum = {arena_array(&w->scratch, struct interval, set.n + n + 1), 0};
    size_t at = 0;
    if (n)
        qsort(more, n, sizeof(*more), by_value);
    for (size_t i = 0; i < n; i++) {
        while (at < set.n && set.v[at].first <= more[i])
            append(&sum, set.v[at++]);
        append(&sum, (struct interval){more[i], more[i]});
    }
    while (at < set.n)
        append(&sum, set.v[at++]);
    return sum;
}

/* Two neighbours are written "1,2", more as "1-3". */
struct str indexes_text(struct workloads *w, struct indexes set)
{
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < set.n; i++) {
        long long first = set.v[i].first, last = set.v[i].last;
        if (i)
            buf_add_char(&b, ',');
        buf_add_printf(&b, "%lld", first);
        if (last > first)
            buf_add_printf(&b, "%s%lld", last == first + 1 ? "," : "-", last);
    }
    struct str text = arena_dup(&w->scratch, buf_str(&b));
    buf_release(&b);
    return text;
}

int64_t indexes_total(struct indexes set)
{
    int64_t n = 0;
    for (size_t i = 0; i < set.n; i++)
        n += set.v[i].last - set.v[i].first + 1;
    return n;
}

bool indexes_has(struct indexes set, int64_t index)
{
    size_t low = 0, high = set.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (set.v[mid].last < index)
            low = mid + 1;
        else
            high = mid;
    }
    return low < set.n && set.v[low].first <= index;
}

int64_t indexes_common(struct indexes set, struct indexes of)
{
    int64_t n = 0;
    for (size_t i = 0, k = 0; i < set.n && k < of.n;) {
        int64_t first = MAX(set.v[i].first, of.v[k].first);
        int64_t last = MIN(set.v[i].last, of.v[k].last);
        n += MAX(last - first + 1, 0);
        if (set.v[i].last < of.v[k].last)
            i++;
        else
            k++;
    }
    return n;
}

size_t indexes_missing(struct indexes set, int64_t limit, int64_t *ret_indexes, size_t n)
{
    size_t found = 0;
    int64_t next = 0;
    for (size_t i = 0; i <= set.n && found < n; i++) {
        int64_t end = i < set.n ? MIN(set.v[i].first, limit) : limit;
        while (next < end && found < n)
            ret_indexes[found++] = next++;
        if (i < set.n)
            next = set.v[i].last + 1;
    }
    return found;
}
