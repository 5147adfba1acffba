/* embedding: rows of a table picked by token, and the gradient of the table.
 *
 * The gradient is cut by columns: each thread adds its columns of every token in token order, so
 * that no two threads write one number and the order of a sum never depends on how many threads
 * there are. */
#include "kernels/cpu/cpu_priv.h"

#define COLS 16

typedef struct job {
    const tt_simd *s;
    const tt_kernel_args *args;
    int64_t n, d, v;
} job;

/* Row of this shard that a token reads, or -1. */
static int64_t local_row(const job *j, int64_t n)
{
    const tt_attrs *attr = j->args->attr;
    int64_t row = ((const int32_t *)j->args->in[0].data)[n] - attr->vocab_start;
    return row >= 0 && row < tt_min64(attr->vocab_valid, j->v) ? row : -1;
}

static void forward_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    size_t bytes = (size_t)j->d * tt_dtype_size(j->args->out[0].dtype);
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        int64_t row = local_row(j, n);
        char *x = (char *)j->args->out[0].data + (size_t)n * bytes;
        if (row < 0)
            memset(x, 0, bytes);
        else
            memcpy(x, (const char *)j->args->in[1].data + (size_t)row * bytes, bytes);
    }
}

void tt_cpu_embedding(const tt_kernel_args *args)
{
    job j = {NULL, args, tt_numel(&args->in[0]), tt_cols(&args->in[1]), args->in[1].dim[0]};
    tt_pool_run(args->pool, forward_rows, &j, j.n);
}

static void dw_range(const job *j, int64_t c, int64_t m)
{
    const tt_tensor *dy = &j->args->in[1];
    float *dw = j->args->out[0].data, buf[TT_CHUNK];
    if (!j->args->accumulate)
        for (int64_t row = 0; row < j->v; row++)
            memset(dw + row * j->d + c, 0, (size_t)m * sizeof(float));
    for (int64_t n = 0; n < j->n; n++) {
        int64_t row = local_row(j, n);
        if (row >= 0)
            j->s->axpy(dw + row * j->d + c, tt_load(j->s, dy, n * j->d + c, m, buf), 1.0f, m);
    }
}

/* A thread takes its pieces in one sweep: long strips of a row are several times faster than short
 * ones. */
static void dw_columns(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    int64_t last = tt_min64(end * COLS, j->d);
    (void)thread;
    for (int64_t c = begin * COLS; c < last; c += TT_CHUNK)
        dw_range(j, c, tt_min64(TT_CHUNK, last - c));
}

void tt_cpu_embedding_dw(const tt_kernel_args *args)
{
    job j = {tt_pool_simd(args->pool), args, tt_numel(&args->in[0]), tt_cols(&args->out[0]),
             args->out[0].dim[0]};
    tt_pool_run(args->pool, dw_columns, &j, tt_div_up(j.d, COLS));
}
