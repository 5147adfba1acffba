/* Element-wise kernels: add, cast, copy, zero, accumulate, swiglu and its backward.
 *
 * All are memory-bound: a flat tensor is cut into chunks that pass through the first cache. */
#include "kernels/cpu/cpu_priv.h"

typedef void (*chunk_fn)(const tt_simd *s, const tt_kernel_args *args, int64_t at, int64_t n);

typedef struct flat {
    const tt_simd *s;
    const tt_kernel_args *args;
    chunk_fn chunk;
    int64_t n;
} flat;

static void run_chunks(void *ctx, int64_t begin, int64_t end, int thread)
{
    flat *f = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++)
        f->chunk(f->s, f->args, i * TT_CHUNK, tt_min64(TT_CHUNK, f->n - i * TT_CHUNK));
}

/* Apply `chunk` to n elements. */
static void run_flat(const tt_kernel_args *args, chunk_fn chunk, int64_t n)
{
    flat f = {.s = tt_pool_simd(args->pool), .args = args, .chunk = chunk, .n = n};
    tt_pool_run(args->pool, run_chunks, &f, tt_div_up(n, TT_CHUNK));
}

static void add_chunk(const tt_simd *s, const tt_kernel_args *args, int64_t at, int64_t n)
{
    float a[TT_CHUNK], b[TT_CHUNK], y[TT_CHUNK];
    const tt_tensor *out = &args->out[0];
    s->add(tt_dest(out, at, y), tt_load(s, &args->in[0], at, n, a),
           tt_load(s, &args->in[1], at, n, b), n);
    tt_store(s, out, at, n, y);
}

void tt_cpu_add(const tt_kernel_args *args)
{
    run_flat(args, add_chunk, tt_numel(&args->out[0]));
}

static void cast_chunk(const tt_simd *s, const tt_kernel_args *args, int64_t at, int64_t n)
{
    const tt_tensor *a = &args->in[0], *out = &args->out[0];
    size_t size = tt_dtype_size(a->dtype);
    if (a->dtype == out->dtype)
        memcpy((char *)out->data + (size_t)at * size, (const char *)a->data + (size_t)at * size,
               (size_t)n * size);
    else if (out->dtype == TT_F32)
        s->from_bf16((float *)out->data + at, (const tt_bf16 *)a->data + at, n);
    else
        s->to_bf16((tt_bf16 *)out->data + at, (const float *)a->data + at, n);
}

void tt_cpu_cast(const tt_kernel_args *args)
{
    run_flat(args, cast_chunk, tt_numel(&args->out[0]));
}

#define BLOCK_BYTES 65536

static int64_t bytes_of(const tt_tensor *t)
{
    return tt_numel(t) * (int64_t)tt_dtype_size(t->dtype);
}

/* Bytes of out[0] from in[0], or zeros when there is no input, in the range of whole blocks. */
static void move_blocks(void *ctx, int64_t begin, int64_t end, int thread)
{
    const tt_kernel_args *args = ctx;
    int64_t at = begin * BLOCK_BYTES, n = tt_min64(end * BLOCK_BYTES, bytes_of(&args->out[0])) - at;
    (void)thread;
    if (n <= 0)
        return;
    if (args->n_in)
        memcpy((char *)args->out[0].data + at, (const char *)args->in[0].data + at, (size_t)n);
    else
        memset((char *)args->out[0].data + at, 0, (size_t)n);
}

void tt_cpu_copy(const tt_kernel_args *args)
{
    if (args->out[0].data != args->in[0].data)
        tt_pool_run(args->pool, move_blocks, (void *)args,
                    tt_div_up(bytes_of(&args->out[0]), BLOCK_BYTES));
}

void tt_cpu_zero(const tt_kernel_args *args)
{
    tt_kernel_args blank = *args;
    blank.n_in = 0;
    tt_pool_run(args->pool, move_blocks, &blank, tt_div_up(bytes_of(&args->out[0]), BLOCK_BYTES));
}

static void accumulate_chunk(const tt_simd *s, const tt_kernel_args *args, int64_t at, int64_t n)
{
    float buf[TT_CHUNK];
    float *acc = (float *)args->out[0].data + at;
    const float *x = tt_load(s, &args->in[0], at, n, buf);
    if (args->accumulate)
        s->add(acc, acc, x, n);
    else if (acc != x)
        memcpy(acc, x, (size_t)n * sizeof(float));
}

void tt_cpu_accumulate(const tt_kernel_args *args)
{
    run_flat(args, accumulate_chunk, tt_numel(&args->out[0]));
}

static void swiglu_chunk(const tt_simd *s, const tt_kernel_args *args, int64_t at, int64_t n)
{
    float g[TT_CHUNK], u[TT_CHUNK], h[TT_CHUNK];
    const tt_tensor *out = &args->out[0];
    s->swiglu(tt_dest(out, at, h), tt_load(s, &args->in[0], at, n, g),
              tt_load(s, &args->in[1], at, n, u), n);
    tt_store(s, out, at, n, h);
}

void tt_cpu_swiglu(const tt_kernel_args *args)
{
    run_flat(args, swiglu_chunk, tt_numel(&args->out[0]));
}

static void swiglu_bwd_chunk(const tt_simd *s, const tt_kernel_args *args, int64_t at, int64_t n)
{
    float dh[TT_CHUNK], g[TT_CHUNK], u[TT_CHUNK], a[TT_CHUNK], b[TT_CHUNK];
    const tt_tensor *dg = &args->out[0], *du = &args->out[1];
    s->swiglu_bwd(tt_dest(dg, at, a), tt_dest(du, at, b), tt_load(s, &args->in[0], at, n, dh),
                  tt_load(s, &args->in[1], at, n, g), tt_load(s, &args->in[2], at, n, u), n);
    tt_store(s, dg, at, n, a);
    tt_store(s, du, at, n, b);
}

void tt_cpu_swiglu_bwd(const tt_kernel_args *args)
{
    run_flat(args, swiglu_bwd_chunk, tt_numel(&args->out[0]));
}
