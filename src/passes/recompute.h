/* What is saved for the backward, and what is made again.
 *
 * A policy says, block by block, which forward results the backward may read. What it may not is cloned: the slice of
 * the forward that makes it is repeated at the start of the block's backward. Clones have the same operands and
 * attributes, hence the same bits; communications may be cloned and are counted; always-saved ops never are. */
#ifndef TT_PASSES_RECOMPUTE_H
#define TT_PASSES_RECOMPUTE_H

#include "graph/ops.h"

typedef enum tt_ac_mode { TT_AC_NONE, TT_AC_FULL, TT_AC_SELECTIVE_LAYER, TT_AC_SELECTIVE_OP } tt_ac_mode;

typedef struct tt_recompute_opts {
    tt_ac_mode mode;
    int every; /* SELECTIVE_LAYER: every n-th layer is recomputed whole */
} tt_recompute_opts;

/** Rewrite `backward` so that it reads only saved results of `forward`. */
void tt_recompute_pass(tt_program *p, const tt_instr_list *forward, tt_instr_list *backward,
                       const tt_recompute_opts *opts);

/** Divide a placed list: forward = F instructions before the last block's, backward = the rest (the loss and what follows).
 *  list is emptied. */
void tt_split(tt_program *p, tt_instr_list *list, tt_instr_list *forward, tt_instr_list *backward);

#endif
