/* See box.h. */
#include "base/box.h"

tt_box tt_box_make(int ndim, const int64_t *start, const int64_t *count)
{
    tt_box box = {.ndim = ndim};
    for (int d = 0; d < ndim; d++) {
        box.start[d] = start[d];
        box.count[d] = count[d];
    }
    return box;
}

int64_t tt_box_elems(const tt_box *box)
{
    int64_t n = 1;
    for (int d = 0; d < box->ndim; d++)
        n *= box->count[d];
    return n;
}

int tt_box_inside(const tt_box *box, const int64_t *shape)
{
    for (int d = 0; d < box->ndim; d++)
        if (box->start[d] < 0 || box->count[d] < 0 || box->count[d] > shape[d] ||
            box->start[d] > shape[d] - box->count[d])
            return 0;
    return 1;
}

int tt_box_intersect(const tt_box *a, const tt_box *b, tt_box *out)
{
    int some = 1;
    *out = (tt_box){.ndim = a->ndim};
    for (int d = 0; d < a->ndim; d++) {
        int64_t lo = a->start[d] > b->start[d] ? a->start[d] : b->start[d];
        int64_t end_a = a->start[d] + a->count[d], end_b = b->start[d] + b->count[d];
        int64_t hi = end_a < end_b ? end_a : end_b;
        out->start[d] = lo;
        out->count[d] = hi > lo ? hi - lo : 0;
        some &= hi > lo;
    }
    return some;
}

void tt_box_walk_begin(tt_box_walk *walk, const tt_box *box, const int64_t *start_a, const int64_t *pitch_a,
                       const int64_t *start_b, const int64_t *pitch_b)
{
    *walk = (tt_box_walk){.runs = 1, .length = 1};
    int64_t step_a = 1, step_b = 1;
    int outer = box->ndim; /* dims >= outer belong to the run */
    for (int d = box->ndim - 1; d >= 0; d--) {
        walk->at_a += (box->start[d] - start_a[d]) * step_a;
        walk->at_b += (box->start[d] - start_b[d]) * step_b;
        walk->step_a[d] = step_a;
        walk->step_b[d] = step_b;
        walk->count[d] = box->count[d];
        /* the run grows into dim d while everything inside d is covered whole in both arrays */
        if (outer == d + 1 && walk->length == step_a && walk->length == step_b) {
            walk->length *= box->count[d];
            outer = d;
        }
        step_a *= pitch_a[d];
        step_b *= pitch_b[d];
    }
    for (int d = 0; d < outer; d++)
        walk->runs *= box->count[d];
    if (walk->length == 0)
        walk->runs = 0;
    walk->outer = outer;
}

void tt_box_walk_next(tt_box_walk *walk)
{
    for (int d = walk->outer - 1; d >= 0; d--) {
        walk->at_a += walk->step_a[d];
        walk->at_b += walk->step_b[d];
        if (++walk->index[d] < walk->count[d])
            return;
        walk->at_a -= walk->count[d] * walk->step_a[d];
        walk->at_b -= walk->count[d] * walk->step_b[d];
        walk->index[d] = 0;
    }
}

void tt_box_copy(const tt_box *box, size_t size, void *dst, const int64_t *dst_start, const int64_t *dst_pitch,
                 const void *src, const int64_t *src_start, const int64_t *src_pitch)
{
    tt_box_walk w;
    tt_box_walk_begin(&w, box, dst_start, dst_pitch, src_start, src_pitch);
    for (int64_t i = 0; i < w.runs; i++, tt_box_walk_next(&w))
        memcpy((char *)dst + (size_t)w.at_a * size, (const char *)src + (size_t)w.at_b * size, (size_t)w.length * size);
}
