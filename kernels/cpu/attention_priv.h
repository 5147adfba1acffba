/* What the forward and the backward of attention share: the shapes of a call, the range of keys
 * that each query of a block sees, and blocks of rows as fp32, plain or transposed. */
#ifndef TT_KERNELS_CPU_ATTENTION_PRIV_H
#define TT_KERNELS_CPU_ATTENTION_PRIV_H

#include "kernels/cpu/cpu_priv.h"

#define TT_KEYS 64 /* keys of one tile */

typedef struct tt_attn {
    const tt_simd *s;
    int64_t seqs, len;          /* sequences, tokens of each */
    int64_t heads, kv_heads, e; /* e: head dim */
    int64_t group;              /* query heads per kv head */
    int64_t blocks;             /* blocks of TT_LANES queries in a sequence */
    int64_t window;
    int causal;
    float scale;
    const int32_t *doc; /* NULL: one document per sequence */
} tt_attn;

/* Queries `first`.. of one block: how many, which keys each sees (lanes behind the last see what it
 * sees), and the keys any or all of them see. */
typedef struct tt_attn_block {
    int64_t first, count;
    int64_t any_lo, any_hi, all_lo, all_hi; /* inclusive */
    int32_t lo[TT_LANES], hi[TT_LANES];
} tt_attn_block;

/** The sizes of an attention from its attributes and its query. */
tt_attn tt_attn_of(const tt_attrs *attr, const tt_tensor *q);
void tt_attn_block_of(const tt_attn *a, int64_t seq, int64_t block, tt_attn_block *b);

/* Row `row` (a token) and head `head` of a [N, heads * e] tensor, as an element offset. */
static inline int64_t tt_attn_at(const tt_attn *a, int64_t row, int64_t heads, int64_t head)
{
    return (row * heads + head) * a->e;
}

/* fp32 rows of a head: the tensor itself (*ld its row length), or `buf` [rows, e] widened from bf16
 * (*ld = e). */
const float *tt_attn_rows(const tt_attn *a, const tt_tensor *t, int64_t row, int64_t rows,
                          int64_t heads, int64_t head, float *buf, int64_t *ld);

/* out[e, TT_LANES] = factor * rows of a head transposed, lanes behind `count` zero. buf: e floats.
 */
void tt_attn_transpose(const tt_attn *a, const tt_tensor *t, int64_t row, int64_t count,
                       int64_t heads, int64_t head, float factor, float *out, float *buf);

/* Write a transposed block [e, TT_LANES] to `count` rows of a head, each times its factor. buf: e
 * floats. */
void tt_attn_untranspose(const tt_attn *a, const tt_tensor *t, int64_t row, int64_t count,
                         int64_t heads, int64_t head, const float *factor, const float *in,
                         float *buf);

#endif
