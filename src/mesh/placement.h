/* Placements: how one dim of a tensor lies on one mesh axis, and what it costs to change that.
 *
 * R replicated; S(dim) a contiguous, padded shard: every rank holds ceil(n/degree) rows, the last ones may be padding;
 * P a partial sum. Per axis, so a tensor's placement is one of these for each axis; axes shard a dim in mesh order. */
#ifndef TT_MESH_PLACEMENT_H
#define TT_MESH_PLACEMENT_H

#include "mesh/mesh.h"

#include <stdint.h>

typedef enum tt_place_kind { TT_R, TT_S, TT_P } tt_place_kind;

typedef struct tt_placement {
    uint8_t kind; /* tt_place_kind */
    uint8_t dim;  /* S: the sharded dim */
} tt_placement;

static inline int tt_placement_equal(tt_placement a, tt_placement b)
{
    return a.kind == b.kind && (a.kind != TT_S || a.dim == b.dim);
}

static inline int64_t tt_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/** Local extents (padding included) of a tensor of `shape` under `place`. */
void tt_placement_local_shape(const tt_mesh *mesh, const tt_placement place[TT_N_AXES], int ndim,
                              const int64_t *shape, int64_t *local);

/** The box of the logical tensor that this rank holds: start and count per dim (padding excluded; count may be 0). */
void tt_placement_box(const tt_mesh *mesh, const tt_placement place[TT_N_AXES], int ndim, const int64_t *shape,
                      int64_t *start, int64_t *count);

/** Bytes one rank sends to change a local tensor of `bytes` from `from` to `to` on an axis of `degree` ranks;
 *  -1 when there is no such change (nothing becomes partial). Slicing is free. */
double tt_placement_move_bytes(tt_placement from, tt_placement to, int degree, double bytes);

/** "R", "S0", "P" into text of at least 8 bytes. Returns text. */
char *tt_placement_name(tt_placement p, char *text);

#endif
