/* See gemm.h. */
#include "kernels/cpu/gemm.h"

#include <cblas.h>
#include <string.h>

#include "kernels/cpu/pool.h"
#include "kernels/cpu/simd.h"

/* Blocks of bf16 products: an A block and a B block, widened or packed in pairs, and an fp32 C
 * block; 4.25 MiB per thread. */
#define BLOCK_M 384
#define BLOCK_N 512
#define BLOCK_K 1024
#define BLOCK_FLOATS (BLOCK_M * BLOCK_K + BLOCK_N * BLOCK_K + BLOCK_M * BLOCK_N)

typedef struct job {
    const tt_gemm *g;
    const tt_simd *simd;
    float *workspace;
    int64_t grid_m, grid_n; /* rectangles along m and n; product = threads */
} job;

void tt_gemm_one_thread_per_call(void)
{
    openblas_set_num_threads(1);
}

const char *tt_gemm_blas_core(void)
{
    return openblas_get_corename();
}

static int is_wide(const tt_gemm *g)
{
    return g->ab_dtype == TT_F32 && g->c_dtype == TT_F32;
}

size_t tt_gemm_workspace(tt_dtype ab_dtype, tt_dtype c_dtype, int n_threads)
{
    if (ab_dtype == TT_F32 && c_dtype == TT_F32)
        return 0;
    return (size_t)n_threads * BLOCK_FLOATS * sizeof(float);
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Start of piece i when n is cut into `pieces`, each but the last a multiple of 16. */
static int64_t cut(int64_t n, int64_t pieces, int64_t i)
{
    int64_t units = (n + 15) / 16;
    return min64(n, units * i / pieces * 16);
}

static void rectangle_f32(const tt_gemm *g, int64_t m0, int64_t m1, int64_t n0, int64_t n1)
{
    float *c = g->c;
    for (const tt_gemm *t = g; t; t = t->plus) {
        const float *a = t->a, *b = t->b;
        int64_t lda = t->a_transposed ? t->m : t->k, ldb = t->b_transposed ? t->k : t->n;
        cblas_sgemm(CblasRowMajor, t->a_transposed ? CblasTrans : CblasNoTrans,
                    t->b_transposed ? CblasTrans : CblasNoTrans, (int)(m1 - m0), (int)(n1 - n0),
                    (int)t->k, 1.0f, a + (t->a_transposed ? m0 : m0 * lda), (int)lda,
                    b + (t->b_transposed ? n0 * ldb : n0), (int)ldb,
                    t != g || g->accumulate ? 1.0f : 0.0f, c + m0 * g->n + n0, (int)g->n);
    }
}

/* Widen a block of `rows` x `cols` elements at (row, col) of a matrix with row length ld. */
static void widen(const tt_simd *s, const void *src, tt_dtype dtype, int64_t ld, int64_t row,
                  int64_t col, int64_t rows, int64_t cols, float *dst)
{
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = (row + r) * ld + col;
        if (dtype == TT_BF16)
            s->from_bf16(dst + r * cols, (const tt_bf16 *)src + at, cols);
        else
            memcpy(dst + r * cols, (const float *)src + at, (size_t)cols * sizeof(float));
    }
}

static void store_block(const tt_simd *s, const tt_gemm *g, const float *block, int64_t m0,
                        int64_t n0, int64_t mb, int64_t nb)
{
    for (int64_t r = 0; r < mb; r++) {
        int64_t at = (m0 + r) * g->n + n0;
        if (g->c_dtype == TT_BF16)
            s->to_bf16((tt_bf16 *)g->c + at, block + r * nb, nb);
        else if (g->accumulate)
            s->axpy((float *)g->c + at, block + r * nb, 1.0f, nb);
        else
            memcpy((float *)g->c + at, block + r * nb, (size_t)nb * sizeof(float));
    }
}

/* Whether the operands are multiplied as bf16 pairs, not widened. */
static int in_pairs(const tt_simd *s, const tt_gemm *g)
{
    return s->bf16_pack && g->ab_dtype == TT_BF16;
}

/* `lanes` rows of op(A) or columns of op(B) from `lane`, kb terms from k, as the product wants
 * them. */
static void fill(const tt_simd *s, const tt_gemm *g, int is_b, int64_t lane, int64_t lanes,
                 int64_t k, int64_t kb, float *to)
{
    const void *from = is_b ? g->b : g->a;
    int apart = is_b ? g->b_transposed : !g->a_transposed;
    int64_t ld = apart ? g->k : is_b ? g->n : g->m;
    if (in_pairs(s, g))
        s->bf16_pack((uint32_t *)(void *)to,
                     (const tt_bf16 *)from + (apart ? lane * ld + k : k * ld + lane), ld, apart,
                     lanes, kb, is_b ? TT_BF16_COLS : TT_BF16_ROWS);
    else if (apart)
        widen(s, from, g->ab_dtype, ld, lane, k, lanes, kb, to);
    else
        widen(s, from, g->ab_dtype, ld, k, lane, kb, lanes, to);
}

/* c[mb, nb] (+)= a b, blocks as `fill` leaves them. */
static void multiply(const tt_simd *s, const tt_gemm *g, const float *a, const float *b, float *c,
                     int64_t mb, int64_t nb, int64_t kb, int accumulate)
{
    if (in_pairs(s, g))
        s->bf16_product(&(tt_bf16_product){.c = c,
                                           .a = (const uint32_t *)(const void *)a,
                                           .b = (const uint32_t *)(const void *)b,
                                           .ldc = nb,
                                           .rows = mb,
                                           .cols = nb,
                                           .pairs = (kb + 1) / 2,
                                           .accumulate = accumulate});
    else
        cblas_sgemm(CblasRowMajor, g->a_transposed ? CblasTrans : CblasNoTrans,
                    g->b_transposed ? CblasTrans : CblasNoTrans, (int)mb, (int)nb, (int)kb, 1.0f, a,
                    (int)(g->a_transposed ? mb : kb), b, (int)(g->b_transposed ? kb : nb),
                    accumulate ? 1.0f : 0.0f, c, (int)nb);
}

/* The block of B is made once for all rows when it holds all of k. */
static void rectangle_blocks(const tt_simd *s, const tt_gemm *g, int64_t m0, int64_t m1, int64_t n0,
                             int64_t n1, float *workspace)
{
    float *a = workspace, *b = a + BLOCK_M * BLOCK_K, *c = b + BLOCK_N * BLOCK_K;
    for (int64_t n = n0; n < n1; n += BLOCK_N)
        for (int64_t m = m0; m < m1; m += BLOCK_M) {
            int64_t mb = min64(BLOCK_M, m1 - m), nb = min64(BLOCK_N, n1 - n);
            int add = 0; /* the terms of a sum follow each other in the same block */
            for (const tt_gemm *t = g; t; t = t->plus)
                for (int64_t k = 0; k < t->k; k += BLOCK_K, add = 1) {
                    int64_t kb = min64(BLOCK_K, t->k - k);
                    fill(s, t, 0, m, mb, k, kb, a);
                    if (m == m0 || g->plus || g->k > BLOCK_K)
                        fill(s, t, 1, n, nb, k, kb, b);
                    multiply(s, t, a, b, c, mb, nb, kb, add);
                }
            if (!add)
                memset(c, 0, sizeof *c * (size_t)(mb * nb));
            store_block(s, g, c, m, n, mb, nb);
        }
}

static void run_range(void *ctx, int64_t begin, int64_t end, int thread)
{
    job *j = ctx;
    const tt_gemm *g = j->g;
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t / j->grid_n, o = t % j->grid_n;
        int64_t m0 = cut(g->m, j->grid_m, i), m1 = cut(g->m, j->grid_m, i + 1);
        int64_t n0 = cut(g->n, j->grid_n, o), n1 = cut(g->n, j->grid_n, o + 1);
        if (i == j->grid_m - 1)
            m1 = g->m;
        if (o == j->grid_n - 1)
            n1 = g->n;
        if (m0 >= m1 || n0 >= n1)
            continue;
        if (is_wide(g))
            rectangle_f32(g, m0, m1, n0, n1);
        else
            rectangle_blocks(j->simd, g, m0, m1, n0, n1,
                             j->workspace + (size_t)thread * BLOCK_FLOATS);
    }
}

/* The grid of rectangles whose sides, which are what each thread must read, are shortest. */
static void choose_grid(job *j, int64_t threads)
{
    int64_t best = INT64_MAX;
    for (int64_t gm = 1; gm <= threads; gm++) {
        if (threads % gm != 0)
            continue;
        int64_t gn = threads / gm, side = (j->g->m + gm - 1) / gm + (j->g->n + gn - 1) / gn;
        if (side < best) {
            best = side;
            j->grid_m = gm;
            j->grid_n = gn;
        }
    }
}

void tt_gemm_run(const tt_gemm *g, void *workspace, tt_pool *pool)
{
    job j = {.g = g, .simd = tt_pool_simd(pool), .workspace = workspace};
    openblas_set_num_threads(1); /* another pool or library may have raised it */
    if (g->m == 0 || g->n == 0)
        return;
    if (g->k == 0) { /* an empty sum */
        if (!g->accumulate)
            memset(g->c, 0, (size_t)(g->m * g->n) * tt_dtype_size(g->c_dtype));
        return;
    }
    int64_t work = 0;
    for (const tt_gemm *t = g; t; t = t->plus)
        work += t->m * t->n * t->k;
    choose_grid(&j, work < 32768 ? 1 : tt_pool_threads(pool));
    tt_pool_run(pool, run_range, &j, j.grid_m * j.grid_n);
}
