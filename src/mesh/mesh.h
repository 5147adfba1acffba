/* The mesh: ranks as a grid with named axes, outer to inner pp, dp_replicate, dp_shard, cp, tp.
 *
 * A mesh is a plain value: degrees, this rank's coordinates. Groups are named by a bit mask of axes: the ranks that
 * differ from this one only on those axes, ordered by their index along them (outer axis slowest). Pure: any rank's
 * mesh can be made anywhere, which is how titan-plan looks at rank 517 from a laptop. */
#ifndef TT_MESH_MESH_H
#define TT_MESH_MESH_H

#include "base/error.h"

#include <stddef.h>

typedef enum tt_axis { TT_PP, TT_DP_REPLICATE, TT_DP_SHARD, TT_CP, TT_TP, TT_N_AXES } tt_axis;

#define TT_MASK(axis) (1 << (axis))
#define TT_MASK_BATCH (TT_MASK(TT_DP_REPLICATE) | TT_MASK(TT_DP_SHARD)) /* who reads different data */
#define TT_MASK_LOSS (TT_MASK_BATCH | TT_MASK(TT_CP))                   /* whose losses are summed */
#define TT_MASK_FSDP (TT_MASK(TT_DP_SHARD) | TT_MASK(TT_CP))            /* over whom parameters are sharded */

typedef struct tt_mesh {
    int degree[TT_N_AXES];
    int coord[TT_N_AXES];
    int rank, size;
} tt_mesh;

/** "pp", "dp_replicate", "dp_shard", "cp", "tp". */
const char *tt_axis_name(int axis);

/** Fill the one degree that is -1 so that the product is `size`, and set rank's coordinates.
 *  Errors: TT_ERR_MESH with the degrees asked for, the ranks there are, and degrees that would fit. */
tt_status tt_mesh_create(const int degree[TT_N_AXES], int size, int rank, tt_mesh *mesh, tt_error *err);

/** Ranks in the group that varies over `mask` (1 for an empty mask). */
int tt_mesh_group_size(const tt_mesh *mesh, int mask);
/** This rank's index in that group. */
int tt_mesh_group_rank(const tt_mesh *mesh, int mask);
/** World rank of the group's i-th member. */
int tt_mesh_group_member(const tt_mesh *mesh, int mask, int i);
/** World rank at coordinates. */
int tt_mesh_rank_of(const tt_mesh *mesh, const int coord[TT_N_AXES]);
/** "dp_shard+tp" for a mask, into text (at least 64 bytes). Returns text. */
char *tt_mesh_mask_name(int mask, char *text, size_t size);
/** "dp_shard 2 x tp 2" (axes of degree 1 left out; "1 rank" when all are), into text. Returns text. */
char *tt_mesh_describe(const tt_mesh *mesh, char *text, size_t size);

#endif
