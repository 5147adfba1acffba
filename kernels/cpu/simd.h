/* Inner loops of the CPU kernels, compiled once per instruction set and chosen at run time.
 *
 * simd_base.c, simd_v3.c, simd_v4.c and simd_v4_bf16.c include the same bodies (simd_body.h,
 * simd_tile.h) under different compiler targets: what the machine's baseline is, x86-64-v3 (AVX2,
 * FMA), x86-64-v4 (AVX-512), and this with products of bf16 pairs (simd_bf16.h). A kernel asks its
 * pool once, `const tt_simd *s = tt_pool_simd(args->pool)`, and calls through the table.
 * Pointers need no alignment, n may be anything, and the bits do not depend on alignment. Where
 * in-place use is legal, an output may be one of the inputs exactly (never a shifted overlap). NaN
 * goes through everywhere but max. */
#ifndef TT_KERNELS_CPU_SIMD_H
#define TT_KERNELS_CPU_SIMD_H

#include "base/dtype.h"

/* Lanes of a block of queries in attention; leading size of its transposed tiles. */
#define TT_LANES 64

/* One matrix product on small fp32 blocks: C[rows, lanes] (+)= A B, the sum over k terms.
 * A(r, i) = a[r * a_row + i * a_term]; B and C are row-major with `lanes` a multiple of 16. */
typedef struct tt_block_product {
    float *c;
    const float *a, *b;
    int64_t ldc, a_row, a_term, ldb;
    int64_t rows, lanes, k;
    int accumulate;
} tt_block_product;

/* Rows of op(A) and columns of op(B) in one packed panel of a bf16 product. */
#define TT_BF16_ROWS 8
#define TT_BF16_COLS 32

/* C[rows, cols] (+)= op(A) op(B), fp32, of operands that bf16_pack has packed: A in panels of
 * TT_BF16_ROWS rows, B in panels of TT_BF16_COLS columns, `pairs` words along k each. */
typedef struct tt_bf16_product {
    float *c;
    const uint32_t *a, *b;
    int64_t ldc, rows, cols, pairs;
    int accumulate;
} tt_bf16_product;

/* Numbers of one AdamW or Adam step, bias corrections already folded in. */
typedef struct tt_adam_step {
    float coef;  /* gradient clipping */
    float decay; /* w *= decay first (1: none) */
    float l2;    /* g += l2 * w (0: none) */
    float beta2;
    float one_minus_beta1, one_minus_beta2;
    float step_size;       /* lr / (1 - beta1^step) */
    float root_correction; /* sqrt(1 - beta2^step) */
    float eps;
} tt_adam_step;

typedef struct tt_simd {
    const char *name;
    void (*from_bf16)(float *y, const tt_bf16 *x, int64_t n);
    void (*to_bf16)(tt_bf16 *y, const float *x, int64_t n);
    void (*add)(float *y, const float *a, const float *b, int64_t n);
    void (*axpy)(float *y, const float *x, float a, int64_t n); /* y += a x */
    double (*sumsq)(const float *x, int64_t n);                 /* products and sums in fp64 */
    double (*dot3)(const float *a, const float *b, const float *c, int64_t n);
    float (*dot)(const float *a, const float *b, int64_t n);
    void (*norm)(float *y, const float *x, const float *w, float r, int64_t n); /* y = x r w */
    /* dx = r dy w - c x */
    void (*norm_dx)(float *dx, const float *dy, const float *x, const float *w, float r, float c,
                    int64_t n);
    void (*norm_dw)(float *dw, const float *dy, const float *x, float r,
                    int64_t n); /* dw += dy x r */
    /* Rotate `half` pairs: (x[j], x[half + j]) or (x[2j], x[2j+1]) by cos c[j] and sin sign * s[j].
     */
    void (*rotate_split)(float *y, const float *x, const float *c, const float *s, float sign,
                         int64_t half);
    void (*rotate_pairs)(float *y, const float *x, const float *c, const float *s, float sign,
                         int64_t half);
    void (*swiglu)(float *h, const float *g, const float *u, int64_t n);
    void (*swiglu_bwd)(float *dg, float *du, const float *dh, const float *g, const float *u,
                       int64_t n);
    float (*max)(const float *x,
                 int64_t n); /* -inf when n is 0; NaN is passed over, sum_exp shows it */
    double (*sum_exp)(const float *x, float m, int64_t n); /* sum of exp(x - m) */
    void (*exp_scale)(float *y, const float *x, float m, float a,
                      int64_t n); /* y = a exp(x - m), x - m <= 88 */
    void (*adam)(float *w, float *m, float *v, const float *g, const tt_adam_step *p, int64_t n);
    void (*product)(const tt_block_product *p);
    /* One step of the running softmax over `rows` keys (first one `key`) of a transposed score tile
     * t[rows, 64]. Lane q sees keys lo[q]..hi[q] only when `masked`. t becomes exp(t - m); m and l
     * are the running maximum and sum of each lane; alpha[q] is what earlier results must be scaled
     * by. Returns 0 when every alpha is 1. */
    int (*softmax_tile)(float *t, int64_t rows, int64_t key, const int32_t *lo, const int32_t *hi,
                        int masked, float *m, float *l, float *alpha);
    void (*scale_lanes)(float *t, int64_t rows,
                        const float *alpha); /* t[r, q] *= alpha[q], 64 lanes */
    /* Backward of a tile: t (scores) becomes the probability exp(t - lse), d (dL/dp) becomes scale
     * * p * (d - delta). */
    void (*softmax_tile_bwd)(float *t, float *d, int64_t rows, int64_t key, const int32_t *lo,
                             const int32_t *hi, int masked, const float *lse, const float *delta,
                             float scale);
    /* Only where one instruction multiplies pairs of bf16, else both NULL. Pack `lanes` rows or
     * columns of k elements as [panel][pair][lane] words, the even element low, zero behind lanes
     * and k; element (lane, i) is from[lane * ld + i] when the lanes lie apart, else from[i * ld +
     * lane]. */
    void (*bf16_pack)(uint32_t *to, const tt_bf16 *from, int64_t ld, int apart, int64_t lanes,
                      int64_t k, int panel);
    void (*bf16_product)(const tt_bf16_product *p);
} tt_simd;

/** The table for this machine. Never NULL, no cost worth avoiding per kernel call. */
const tt_simd *tt_simd_pick(void);

/** Table number i of those this machine can run (0 is the baseline), or NULL behind the last; for
 * tests. */
const tt_simd *tt_simd_at(int i);

#endif
