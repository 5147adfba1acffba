/* Writing a forward: one call per op, on logical tensors, so that a family's file reads like the paper.
 *
 * A builder appends to one instruction list. `block` is the layer the next calls belong to. Shapes are checked here:
 * a wrong one is our own mistake (assert), since dims were validated before. */
#ifndef TT_GRAPH_BUILD_H
#define TT_GRAPH_BUILD_H

#include "graph/ops.h"

typedef struct tt_builder {
    tt_program *p;
    tt_instr_list *list;
    tt_inputs in; /* what this forward reads */
    int block;
    tt_placement residual_tp; /* where the residual stream lies on the tp axis: S0 with sequence parallelism, else R */
} tt_builder;

/** x[N,D] = rows of W[V,D] chosen by tokens[N]. */
tt_vid tt_build_embedding(tt_builder *b, tt_vid tokens, tt_vid w);
/** y[N,D] = rmsnorm(x) * w. */
tt_vid tt_build_rmsnorm(tt_builder *b, tt_vid x, tt_vid w, double eps);
/** y[N,M] = x[N,K] W[M,K]^T. */
tt_vid tt_build_linear(tt_builder *b, tt_vid x, tt_vid w);
/** cs[N,E] from positions[N] and inv_freq[E/2]. */
tt_vid tt_build_rope_table(tt_builder *b, tt_vid positions, tt_vid inv_freq);
/** y = x[N,h*E] rotated. */
tt_vid tt_build_rope(tt_builder *b, tt_vid x, tt_vid cs, int head_dim, int half_split);

typedef struct tt_attention_opts {
    int head_dim;
    int64_t seq_len, window;
    double scale;
    int causal;
} tt_attention_opts;
/** o[N,H*E] = attention(q[N,H*E], k[N,J*E], v[N,J*E]) inside documents. */
tt_vid tt_build_attention(tt_builder *b, tt_vid q, tt_vid k, tt_vid v, tt_vid doc_start, const tt_attention_opts *o);
/** h = silu(g) * u. */
tt_vid tt_build_swiglu(tt_builder *b, tt_vid g, tt_vid u);
tt_vid tt_build_add(tt_builder *b, tt_vid x, tt_vid y);
/** Loss over the vocabulary, with its gradients made on the spot: adds to loss[1] f64. Returns dx (gradient of x);
 *  the head's own gradient is an output of the instruction (grad_of). */
tt_vid tt_build_head_loss(tt_builder *b, tt_vid x, tt_vid w, tt_vid targets, tt_vid inv_valid, tt_vid loss);
/** The same without gradients. */
void tt_build_head_eval(tt_builder *b, tt_vid x, tt_vid w, tt_vid targets, tt_vid loss);
/** y[1,D] = x[index]. */
tt_vid tt_build_select_row(tt_builder *b, tt_vid x, tt_vid index);

#endif
