/* Shared by the CPU kernels only: shapes of operands, rows of either dtype as fp32, and the list of
 * all kernels.
 *
 * Every kernel works on fp32 rows cut into chunks of at most TT_CHUNK elements. A chunk of an fp32
 * tensor is used in place; a chunk of a bf16 tensor goes through a small buffer on the stack, which
 * stays in the first cache. */
#ifndef TT_KERNELS_CPU_PRIV_H
#define TT_KERNELS_CPU_PRIV_H

#include "kernels/cpu/pool.h"
#include "kernels/cpu/simd.h"
#include "kernels/kernels.h"

#define TT_CHUNK 1024

static inline int64_t tt_numel(const tt_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++)
        n *= t->dim[i];
    return n;
}

/* Extent of the last dim, and the product of the others. */
static inline int64_t tt_cols(const tt_tensor *t)
{
    return t->ndim ? t->dim[t->ndim - 1] : 1;
}

static inline int64_t tt_rows(const tt_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i + 1 < t->ndim; i++)
        n *= t->dim[i];
    return n;
}

static inline int64_t tt_min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tt_max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t tt_div_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* n elements from `at` as fp32: the tensor's own memory, or `buf` filled from bf16. */
static inline const float *tt_load(const tt_simd *s, const tt_tensor *t, int64_t at, int64_t n,
                                   float *buf)
{
    if (t->dtype == TT_F32)
        return (const float *)t->data + at;
    s->from_bf16(buf, (const tt_bf16 *)t->data + at, n);
    return buf;
}

/* Where to write n elements from `at`; tt_store finishes. In between buf holds the values of a bf16
 * tensor. */
static inline float *tt_dest(const tt_tensor *t, int64_t at, float *buf)
{
    return t->dtype == TT_F32 ? (float *)t->data + at : buf;
}

static inline void tt_store(const tt_simd *s, const tt_tensor *t, int64_t at, int64_t n,
                            const float *buf)
{
    if (t->dtype == TT_BF16)
        s->to_bf16((tt_bf16 *)t->data + at, buf, n);
}

/* What a workspace function sees: shapes and dtypes only (data pointers are not read). */
typedef struct tt_shapes {
    const tt_attrs *attr;
    const tt_tensor *in, *out;
    int n_in, n_out, n_threads;
} tt_shapes;

/* clang-format off */
#define TT_CPU_KERNELS(X)                                                         \
    X(embedding) X(embedding_dw) X(rmsnorm) X(rmsnorm_dx) X(rmsnorm_dw)           \
    X(linear) X(linear_dx) X(linear_dw) X(rope_table) X(rope)                     \
    X(attention) X(attention_bwd) X(swiglu) X(swiglu_bwd)                         \
    X(add) X(cast) X(copy) X(zero) X(accumulate)                                  \
    X(ce_stats) X(ce_loss) X(ce_grad)                                             \
    X(sumsq) X(norm_clip) X(reciprocal) X(check_finite) X(adamw)                  \
    X(init) X(select_row) X(slice) X(interleave)                                      \
    X(add_rmsnorm) X(rmsnorm_dx_add) X(linear_dx_sum)
/* clang-format on */

#define X(name) void tt_cpu_##name(const tt_kernel_args *args);
TT_CPU_KERNELS(X)
#undef X

/** Bytes of scratch that an op wants for operands of these shapes. */
size_t tt_cpu_linear_workspace(const tt_shapes *s);
size_t tt_cpu_attention_workspace(const tt_shapes *s);
size_t tt_cpu_attention_bwd_workspace(const tt_shapes *s);
size_t tt_cpu_sumsq_workspace(const tt_shapes *s);

#endif
