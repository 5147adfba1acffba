/* Boxes: axis-aligned pieces (hyperslabs) of a logical tensor, and the walk over their contiguous runs.
 *
 * A shard on disk, the part of a tensor that a rank holds and the part that a reader asks for are all boxes. Reading
 * across meshes is an intersection of boxes followed by one copy of runs. Pure arithmetic; extents in elements. */
#ifndef TT_BASE_BOX_H
#define TT_BASE_BOX_H

#include "base/dtype.h"

typedef struct tt_box {
    int ndim; /* 0 .. TT_MAX_DIMS; 0 is one element */
    int64_t start[TT_MAX_DIMS], count[TT_MAX_DIMS];
} tt_box;

/** Box of ndim dims copied from start[] and count[]. */
tt_box tt_box_make(int ndim, const int64_t *start, const int64_t *count);

/** Number of elements (1 for ndim 0, 0 when some count is 0). */
int64_t tt_box_elems(const tt_box *box);

/** 1 when box lies inside shape[ndim] with no negative start or count, else 0. An empty box still has to lie inside. */
int tt_box_inside(const tt_box *box, const int64_t *shape);

/** Common part of a and b (same ndim) into *out; returns 1 when it has elements, else 0. */
int tt_box_intersect(const tt_box *a, const tt_box *b, tt_box *out);

/* The runs of `box` that are contiguous in two dense row-major arrays at once. */
typedef struct tt_box_walk {
    int64_t runs, length; /* number of runs; elements in each */
    int64_t at_a, at_b;   /* first element of the current run in array a and in array b */
    int outer;            /* dims walked (the rest is one run) */
    int64_t count[TT_MAX_DIMS], index[TT_MAX_DIMS], step_a[TT_MAX_DIMS], step_b[TT_MAX_DIMS];
} tt_box_walk;

/** Begin the walk over `box`. Array a begins at logical start_a with extents pitch_a (likewise b); both contain box.
 *  runs is 0 for an empty box. The first run is current on return. */
void tt_box_walk_begin(tt_box_walk *walk, const tt_box *box, const int64_t *start_a, const int64_t *pitch_a,
                       const int64_t *start_b, const int64_t *pitch_b);
/** Go to the next run. */
void tt_box_walk_next(tt_box_walk *walk);

/** Copy the elements of `box` from array src to array dst (elements of `size` bytes), each given as in the walk. */
void tt_box_copy(const tt_box *box, size_t size, void *dst, const int64_t *dst_start, const int64_t *dst_pitch,
                 const void *src, const int64_t *src_start, const int64_t *src_pitch);

#endif
