/* See thin.h. */
#include "report/thin.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

typedef struct bucket {
    int64_t first, last, low, high, gap; /* rows, -1 none; first and last of all rows with a value */
    double sum;
    int64_t count;
} bucket;

static bucket empty(void)
{
    return (bucket){.first = -1, .last = -1, .low = -1, .high = -1, .gap = -1};
}

static void take(bucket *b, const double *value, int64_t row)
{
    if (isinf(value[row])) {
        b->gap = row;
        return;
    }
    if (b->low < 0 || value[row] < value[b->low])
        b->low = row;
    if (b->high < 0 || value[row] > value[b->high])
        b->high = row;
    if (b->first < 0)
        b->first = row;
    b->last = row;
    b->sum += value[row];
    b->count++;
}

static void choose_row(tt_thin *t, const bucket *b, int64_t row)
{
    t->row[t->n] = row;
    t->mean[t->n++] = b->count ? b->sum / (double)b->count : 0;
}

/* The rows of a bucket in order, each once. */
static void flush(tt_thin *t, const bucket *b, int is_first, int is_last)
{
    int64_t rows[5] = {b->low, b->high, b->gap, is_first ? b->first : -1, is_last ? b->last : -1};
    for (int64_t before = -1;;) {
        int64_t next = INT64_MAX;
        for (int k = 0; k < 5; k++)
            if (rows[k] > before && rows[k] < next)
                next = rows[k];
        if (next == INT64_MAX)
            return;
        choose_row(t, b, next);
        before = next;
    }
}

tt_thin tt_thin_choose(const int64_t *step, const double *value, int64_t n, int buckets)
{
    int64_t there = 0, first = -1, last = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(value[i])) {
            there++;
            first = first < 0 ? i : first;
            last = i;
        }
    const int all = there <= 2 * (int64_t)buckets;
    tt_thin t = {.row = malloc(sizeof *t.row * (size_t)(all ? there + 1 : 5 * (int64_t)buckets + 5))};
    TT_ASSERT(t.row);
    if (all) {
        for (int64_t i = 0; i < n; i++)
            if (!isnan(value[i]))
                t.row[t.n++] = i;
        return t;
    }
    t.mean = malloc(sizeof *t.mean * (size_t)(5 * buckets + 5));
    TT_ASSERT(t.mean);
    const double span = (double)(step[last] - step[first]) + 1;
    bucket b = empty();
    int64_t at = 0;
    int flushed = 0;
    for (int64_t i = first; i <= last; i++) {
        if (isnan(value[i]))
            continue;
        const int64_t k = (int64_t)((double)(step[i] - step[first]) / span * buckets);
        if (k != at) {
            flush(&t, &b, !flushed++, 0);
            b = empty();
            at = k;
        }
        take(&b, value, i);
    }
    flush(&t, &b, !flushed, 1);
    return t;
}

void tt_thin_free(tt_thin *thin)
{
    free(thin->row);
    free(thin->mean);
    *thin = (tt_thin){0};
}
