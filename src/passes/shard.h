/* Placing a logical program on the mesh.
 *
 * Instruction by instruction and axis by axis, the row of the op's placement table that moves the fewest bytes is taken
 * (ties by order); the redistributions that it asks for are inserted once per value. Parameters never move here: their
 * compute placement is what the family's table says. Composites (head_loss) are lowered for the placement they meet. */
#ifndef TT_PASSES_SHARD_H
#define TT_PASSES_SHARD_H

#include "graph/ops.h"

typedef struct tt_shard_opts {
    int sequence_parallel;
    int64_t logits_bytes_max; /* largest chunk of logits that the loss may hold */
} tt_shard_opts;

/** Rewrite list in place: from now on its values are local. Errors: TT_ERR_MESH when a dim cannot be divided as asked. */
tt_status tt_shard(tt_program *p, tt_instr_list *list, const tt_shard_opts *opts, tt_error *err);

/* Shared with lower_loss.c */
typedef struct tt_sharder tt_sharder;
/** Emit a placed instruction into the new list, with block and role of `like`. */
tt_instr *tt_shard_emit(tt_sharder *s, const tt_instr *like, int op, int n_in, const tt_vid *in, int n_out,
                        const tt_vid *out);
tt_program *tt_shard_program(tt_sharder *s);
const tt_shard_opts *tt_shard_options(tt_sharder *s);
/** Lower head_loss or head_eval, whose operands are placed: chunks of tokens, vocabulary shards merged over tp. */
void tt_lower_loss(tt_sharder *s, const tt_instr *i);
/** First vocabulary row on this rank and how many exist, for a parameter's compute value. */
void tt_vocab_range(const tt_program *p, int param, int64_t *start, int64_t *valid);

#endif
