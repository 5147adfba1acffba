/* Matrix products of the CPU kernels: the one place that talks to BLAS.
 *
 * C[m,n] (+)= op(A) op(B), all row-major, A and B both fp32 or both bf16, C fp32 or bf16, sums in
 * fp32. The product is cut into one rectangle of C per thread, each made by single-threaded BLAS
 * calls: so threads are the pool's only, and the same thread count gives the same bits. bf16
 * operands are widened block by block into the caller's workspace, or, where the CPU multiplies
 * pairs of bf16, packed there and multiplied by our own kernel (simd_bf16.h). */
#ifndef TT_KERNELS_CPU_GEMM_H
#define TT_KERNELS_CPU_GEMM_H

#include "kernels/kernels.h"

typedef struct tt_gemm {
    int64_t m, n, k;
    int a_transposed; /* 0: A is [m,k]; 1: A is [k,m] */
    int b_transposed; /* 0: B is [k,n]; 1: B is [n,k] */
    const void *a, *b;
    tt_dtype ab_dtype;
    void *c;
    tt_dtype c_dtype;
    int accumulate; /* C += instead of C =; fp32 C only */
    const struct tt_gemm *plus; /* a further product with the same m, n and dtypes, added to this
                                   one before C is rounded; its c and accumulate are not read */
} tt_gemm;

/** Let every later BLAS call of this process run in the thread that makes it. */
void tt_gemm_one_thread_per_call(void);

/** The kernels that BLAS chose for this CPU when it was loaded, by its own name ("Zen"); lent. The
 * environment's OPENBLAS_CORETYPE decides otherwise, before the program starts only. */
const char *tt_gemm_blas_core(void);

/** Scratch bytes that tt_gemm_run needs for these dtypes with n_threads: 0 for fp32, a fixed amount
 * per thread else. */
size_t tt_gemm_workspace(tt_dtype ab_dtype, tt_dtype c_dtype, int n_threads);

/** Do the product on the pool's threads. `workspace` is 64-byte aligned. */
void tt_gemm_run(const tt_gemm *g, void *workspace, tt_pool *pool);

#endif
