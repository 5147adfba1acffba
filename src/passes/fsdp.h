/* Parameters have two placements: state (a shard of fp32 master and moments) and compute (what the forward reads).
 *
 * This pass lays out each block's flat state, inserts the groups that gather a block before its use (prefetched one
 * block ahead) or keeps them over the step, turns weight gradients into reductions onto the shard, and writes the
 * once-a-step parts: begin, reduce, update, init, snapshot, restore. */
#ifndef TT_PASSES_FSDP_H
#define TT_PASSES_FSDP_H

#include "graph/ops.h"
#include "models/model.h"

typedef enum tt_reshard { TT_RESHARD_DEFAULT, TT_RESHARD_ALWAYS, TT_RESHARD_NEVER } tt_reshard;

typedef struct tt_fsdp_opts {
    tt_reshard reshard;
    double beta1, beta2, eps, weight_decay;
    int decoupled; /* AdamW */
    double max_norm;
} tt_fsdp_opts;

/** Make the program's parameters from the model's table: compute values, placements, this rank's boxes. */
void tt_fsdp_declare_params(tt_program *p, const tt_model *model);
/** Lay out the flat state of each block (after declare). */
void tt_fsdp_layout_state(tt_program *p);
/** Insert gathers into a per-microbatch part; `step_scope` = weights are gathered once a step by the begin part. */
void tt_fsdp_gather(tt_program *p, tt_part_id part, int step_scope);
/** Turn the weight gradients of the backward part into sums on the state shard. */
void tt_fsdp_reduce_gradients(tt_program *p);
/** Write begin, reduce, update, eval_begin, eval_end, init, snapshot, restore. */
void tt_fsdp_write_step_parts(tt_program *p, const tt_fsdp_opts *opts);

/** Mask of the axes over which parameters are sharded, without axes of degree 1. */
int tt_active_axes(const tt_mesh *mesh, int mask);

#endif
