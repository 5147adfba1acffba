/* Boxes: every case against a plain element by element walk. */
#include "base/box.h"
#include "tap.h"

static int inside(const tt_box *b, const int64_t *at)
{
    for (int d = 0; d < b->ndim; d++)
        if (at[d] < b->start[d] || at[d] >= b->start[d] + b->count[d])
            return 0;
    return 1;
}

/* Copy box between two arrays that hold boxes a and b with padded extents; compare with the definition. */
static int copy_is_right(const tt_box *a, const int64_t *pitch_a, const tt_box *b, const int64_t *pitch_b)
{
    int32_t src[4096], dst[4096];
    tt_box both;
    int some = tt_box_intersect(a, b, &both), n_common = 0;
    for (int i = 0; i < 4096; i++) {
        src[i] = i;
        dst[i] = -1;
    }
    tt_box_copy(&both, 4, dst, a->start, pitch_a, src, b->start, pitch_b);
    int n = 1;
    for (int d = 0; d < a->ndim; d++)
        n *= (int)pitch_a[d];
    for (int i = 0; i < n; i++) {
        int64_t at[TT_MAX_DIMS], rest = i, from = 0;
        for (int d = a->ndim - 1; d >= 0; d--) {
            at[d] = a->start[d] + rest % pitch_a[d];
            rest /= pitch_a[d];
        }
        int common = inside(a, at) && inside(b, at);
        n_common += common;
        for (int d = 0; d < b->ndim; d++)
            from = from * pitch_b[d] + at[d] - b->start[d];
        if (dst[i] != (common ? (int32_t)from : -1))
            return 0;
    }
    return some == (n_common > 0) && (!some || tt_box_elems(&both) == n_common);
}

int main(void)
{
    unsigned seed = 1;
    int bad = 0, met = 0;
    for (int round = 0; round < 4000; round++) {
        tt_box a = {.ndim = 1 + round % 4}, b = {.ndim = 1 + round % 4}, both;
        int64_t pitch_a[TT_MAX_DIMS], pitch_b[TT_MAX_DIMS];
        for (int d = 0; d < a.ndim; d++) {
#define DRAW(n) ((int64_t)((seed = seed * 1103515245u + 12345u) >> 16) % (n))
            a.start[d] = DRAW(4);
            b.start[d] = DRAW(4);
            a.count[d] = DRAW(6);
            b.count[d] = DRAW(6);
            pitch_a[d] = a.count[d] + DRAW(2);
            pitch_b[d] = b.count[d] + DRAW(2);
        }
        bad += !copy_is_right(&a, pitch_a, &b, pitch_b);
        met += tt_box_intersect(&a, &b, &both);
    }
    is_int(bad, 0, "4000 random copies of 1..4 dims agree with the definition");
    ok(met > 500, "of which %d had common elements", met);

    const int64_t shape[2] = {4, 6}, zero[2] = {0};
    tt_box whole = {.ndim = 2, .count = {4, 6}}, rows = {.ndim = 2, .start = {1}, .count = {2, 6}};
    tt_box columns = {.ndim = 2, .start = {0, 1}, .count = {4, 2}};
    tt_box_walk w;
    tt_box_walk_begin(&w, &rows, zero, shape, zero, shape);
    ok(w.runs == 1 && w.length == 12 && w.at_a == 6, "whole rows are one run");
    tt_box_walk_begin(&w, &columns, zero, shape, zero, shape);
    ok(w.runs == 4 && w.length == 2, "columns are a run per row");
    ok(tt_box_inside(&whole, shape), "the whole lies inside");
    ok(!tt_box_inside(&(tt_box){.ndim = 1, .start = {3}, .count = {2}}, shape), "3..5 is not inside 4");
    ok(!tt_box_inside(&(tt_box){.ndim = 1, .start = {INT64_MAX}, .count = {2}}, shape), "no overflow at the end");
    ok(!tt_box_inside(&(tt_box){.ndim = 1, .start = {-1}, .count = {2}}, shape), "a negative start is refused");
    is_int(tt_box_elems(&(tt_box){0}), 1, "no dims: one element");
    return done_testing();
}
