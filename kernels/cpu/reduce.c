/* Scalars of the step: sums of squares, the gradient norm and its clipping, reciprocals, the check
 * for non-finite. */
#include <math.h>

#include "kernels/cpu/cpu_priv.h"

#define BLOCK                                                                                      \
    16384 /* elements of one partial sum; fixed, so that the thread count doesn't matter */

typedef struct job {
    const tt_simd *s;
    const float *x;
    double *part;
    int64_t n;
} job;

static void sum_blocks(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        j->part[i] = j->s->sumsq(j->x + i * BLOCK, tt_min64(BLOCK, j->n - i * BLOCK));
}

void tt_cpu_sumsq(const tt_kernel_args *args)
{
    double sum = 0, *part = args->workspace;
    for (int t = 0; t < args->n_in; t++) {
        int64_t n = tt_numel(&args->in[t]), blocks = tt_div_up(n, BLOCK);
        TT_ASSERT((size_t)blocks * sizeof(double) <= args->workspace_bytes);
        job j = {tt_pool_simd(args->pool), args->in[t].data, part, n};
        tt_pool_run(args->pool, sum_blocks, &j, blocks);
        for (int64_t i = 0; i < blocks; i++)
            sum += part[i];
    }
    *(double *)args->out[0].data = sum;
}

size_t tt_cpu_sumsq_workspace(const tt_shapes *s)
{
    int64_t most = 0;
    for (int t = 0; t < s->n_in; t++)
        most = tt_max64(most, tt_div_up(tt_numel(&s->in[t]), BLOCK));
    return (size_t)most * sizeof(double);
}

void tt_cpu_norm_clip(const tt_kernel_args *args)
{
    const double *partial = args->in[0].data;
    double sum = 0, max_norm = args->attr->max_norm;
    for (int64_t i = 0; i < tt_numel(&args->in[0]); i++)
        sum += partial[i];
    double norm = sqrt(sum), coef = max_norm > 0 ? max_norm / (norm + 1e-6) : 1.0;
    *(float *)args->out[0].data = (float)norm;
    *(float *)args->out[1].data = coef > 1.0 ? 1.0f : (float)coef; /* a NaN norm stays visible */
}

void tt_cpu_reciprocal(const tt_kernel_args *args)
{
    double a = *(const double *)args->in[0].data;
    *(float *)args->out[0].data = a == 0 ? 0.0f : (float)(1.0 / a);
}

void tt_cpu_check_finite(const tt_kernel_args *args)
{
    int bad = 0;
    for (int t = 0; t < args->n_in; t++) {
        const tt_tensor *a = &args->in[t];
        if (a->dtype == TT_F64)
            bad |= !isfinite(*(const double *)a->data);
        else
            bad |= !isfinite(*(const float *)a->data);
    }
    *(int32_t *)args->out[0].data = bad;
}
