/* Fused ops: several plain instructions become one that passes over memory once.
 *
 * The pass runs on a placed list, after shard and before split and recompute. After shard, because
 * only then a communication between two ops is seen: a pattern asks that one op reads the very
 * value that the other made, so their placements agree. Before recompute, because a clone is then
 * made of the fused instruction and gives the same bits. Members of a fusion belong to one block:
 * what crosses to the next block is saved, and weights come block by block.
 *
 * - add_rmsnorm: y = a + b; n, rstd = rmsnorm(y, w). The residual is normed while it is in the
 *   cache. Same bits.
 * - rmsnorm_dx_add: dx = rmsnorm_dx(..); s = dx + residual, the backward of the same place. Same
 *   bits.
 * - linear_dx_sum: dx = sum of dy_i W_i. Gradients of one input of several linears (q, k, v; gate,
 *   up) are added up inside the product: no adds, no temporaries. The sum is rounded in another
 *   order. */
#ifndef TT_PASSES_FUSE_H
#define TT_PASSES_FUSE_H

#include "graph/program.h"

typedef enum tt_fusion {
    TT_FUSE_ADD_RMSNORM,
    TT_FUSE_RMSNORM_DX_ADD,
    TT_FUSE_LINEAR_DX_SUM,
    TT_N_FUSIONS
} tt_fusion;

/** The fused op's name, which is also what switches it off. */
const char *tt_fusion_name(int fusion);
/** The plain ops it replaces, as text. */
const char *tt_fusion_replaces(int fusion);
/** 1 when the fused op gives the bits of the plain ops. */
int tt_fusion_keeps_bits(int fusion);
/** Instructions of this fused op in all parts of the program. */
int tt_fusion_count(const tt_program *p, int fusion);

/** Fusion by name; TT_ERR_CONFIG with all names and the nearest one. *fusion is set on success.
 * `key` and `origin` say where the name was written. */
tt_status tt_fusion_find(const char *name, const char *key, const char *origin, int *fusion,
                         tt_error *err);

/** Rewrite the placed list in place; p->fusions_off (bit 1 << tt_fusion) are left plain. */
void tt_fuse(tt_program *p, tt_instr_list *list);

#endif
