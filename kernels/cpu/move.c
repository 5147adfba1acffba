/* Kernels that only move rows: select_row, slice, interleave. Any dtype; they copy bytes. */
#include "kernels/cpu/cpu_priv.h"

void tt_cpu_select_row(const tt_kernel_args *args)
{
    const tt_tensor *x = &args->in[0], *y = &args->out[0];
    int64_t row = *(const int32_t *)args->in[1].data;
    size_t bytes = (size_t)tt_cols(x) * tt_dtype_size(x->dtype);
    if (row >= 0 && row < tt_rows(x))
        memcpy(y->data, (const char *)x->data + (size_t)row * bytes, bytes);
    else
        memset(y->data, 0, bytes);
}

typedef struct job {
    const tt_kernel_args *args;
    int64_t ratio; /* interleave: R */
} job;

/* A task is one index of the dims before attr.dim; behind it a run of `inner` elements moves as a
 * whole. */
static void slice_outer(void *ctx, int64_t begin, int64_t end, int thread)
{
    const tt_kernel_args *args = ((const job *)ctx)->args;
    const tt_tensor *a = &args->in[0], *b = &args->out[0];
    int dim = args->attr->dim;
    size_t inner = tt_dtype_size(a->dtype);
    (void)thread;
    for (int i = dim + 1; i < a->ndim; i++)
        inner *= (size_t)a->dim[i];
    int64_t chunk = b->dim[dim], start = args->attr->index * chunk;
    int64_t have = tt_min64(tt_max64(a->dim[dim] - start, 0), chunk);
    for (int64_t o = begin; o < end; o++) {
        char *to = (char *)b->data + (size_t)(o * chunk) * inner;
        if (have > 0)
            memcpy(to, (const char *)a->data + (size_t)(o * a->dim[dim] + start) * inner,
                   (size_t)have * inner);
        memset(to + (size_t)have * inner, 0, (size_t)(chunk - have) * inner);
    }
}

void tt_cpu_slice(const tt_kernel_args *args)
{
    int64_t outer = 1;
    for (int i = 0; i < args->attr->dim; i++)
        outer *= args->in[0].dim[i];
    job j = {.args = args};
    tt_pool_run(args->pool, slice_outer, &j, outer);
}

static void interleave_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_tensor *a = &j->args->in[0], *b = &j->args->out[0];
    int64_t rows = tt_rows(b), cols = tt_cols(a), out_cols = tt_cols(b);
    size_t size = tt_dtype_size(a->dtype);
    (void)thread;
    for (int64_t n = begin; n < end; n++)
        for (int64_t r = 0; r < j->ratio && r * cols < out_cols; r++) {
            int64_t m = tt_min64(cols, out_cols - r * cols);
            memcpy((char *)b->data + (size_t)(n * out_cols + r * cols) * size,
                   (const char *)a->data + (size_t)((r * rows + n) * cols) * size,
                   (size_t)m * size);
        }
}

void tt_cpu_interleave(const tt_kernel_args *args)
{
    int64_t rows = tt_rows(&args->out[0]);
    job j = {.args = args, .ratio = rows ? tt_rows(&args->in[0]) / rows : 0};
    tt_pool_run(args->pool, interleave_rows, &j, rows);
}
