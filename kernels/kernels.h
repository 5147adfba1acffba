/* What a kernel is: one C function per op and device, looked up by the op's name.
 *
 * kernels/cpu/NAME.c and kernels/cuda/NAME.cu are twins: same name, same arguments, same meaning, one test row.
 * A kernel sees local shapes only; it neither allocates nor communicates. Operands are dense row-major unless a
 * comment says otherwise. `accumulate` is 1 when outputs named as gradients are added to instead of written. */
#ifndef TT_KERNELS_KERNELS_H
#define TT_KERNELS_KERNELS_H

#include "base/dtype.h"

typedef struct tt_tensor {
    void *data;
    tt_dtype dtype;
    int ndim;
    int64_t dim[TT_MAX_DIMS]; /* local extents, padding included */
} tt_tensor;

/* Attributes of an instruction: fixed when the program is built, named by what they mean; unused ones are 0. */
typedef struct tt_attrs {
    int n_heads, n_kv_heads, head_dim; /* local counts after sharding */
    int64_t seq_len;                   /* tokens of one sequence inside the flat token dim */
    int64_t window;                    /* sliding window in tokens, 0 = none */
    int causal;
    int half_split;                    /* rope pairing: 0 interleaved (Meta), 1 half split (HF) */
    int inverse;                       /* rope: rotate back (the backward) */
    double scale;                      /* softmax scale, or a plain factor */
    double eps;
    double beta1, beta2, weight_decay; /* optimizer */
    int decoupled;                     /* 1 AdamW, 0 Adam (decay added to the gradient) */
    double max_norm;
    int64_t vocab_start, vocab_valid;  /* first vocabulary row of this shard, rows that exist (the rest is padding) */
    int axes;                          /* collectives: bit mask of mesh axes; 0 = none */
    int dim;                           /* collectives: the dim that is gathered or scattered */
    int64_t index;                     /* chunk or slice number, for printing */
    /* init */
    int dist;                          /* tt_init_dist */
    double std, lo, hi;                /* normal: mean 0; cut to [lo, hi] (absolute) when lo < hi */
    uint64_t key;                      /* XXH3-64 of the parameter's fqn */
    int64_t box_start[TT_MAX_DIMS], box_count[TT_MAX_DIMS]; /* the piece of the logical tensor held here */
    int64_t full_dim[TT_MAX_DIMS];     /* its logical shape */
} tt_attrs;

enum tt_init_dist { TT_INIT_ZEROS, TT_INIT_ONES, TT_INIT_NORMAL };

typedef struct tt_pool tt_pool; /* kernels/cpu/pool.h */

typedef struct tt_kernel_args {
    const tt_tensor *in;
    const tt_tensor *out;
    int n_in, n_out;
    const tt_attrs *attr;
    int accumulate;
    void *workspace; /* scratch of the size the op's row asked for, 64-byte aligned; may be NULL */
    size_t workspace_bytes;
    tt_pool *pool;   /* CPU: threads to use */
    void *stream;    /* CUDA: stream to enqueue on */
} tt_kernel_args;

typedef void (*tt_kernel_fn)(const tt_kernel_args *args);

/** The CPU kernel of an op by name, or NULL. */
tt_kernel_fn tt_cpu_kernel(const char *name);

/** Bytes of args->workspace that an op's CPU kernel needs for these shapes with n_threads (64-byte steps; 0 for most).
 *  Reads dtypes, extents and attributes, never data, so memory can be planned before anything is allocated. */
size_t tt_cpu_workspace(const char *name, const tt_attrs *attr, const tt_tensor *in, int n_in, const tt_tensor *out,
                        int n_out, int n_threads);

#endif
