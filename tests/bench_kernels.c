/* Rates of the CPU kernels at sizes of a small model. Each is measured in turn with a reference: an
 * fp32 product of the linear layer for what computes, a copy larger than the caches for what moves;
 * the last column is the median of rate over reference. Usage: bench_kernels [THREADS [NAME]]; NAME
 * keeps the rows whose name contains it. With one thread the clock is the processor time, so that a
 * busy machine disturbs little; with more it is the wall's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench_util.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/pool.h"

#define N 2048 /* tokens */
#define D 768
#define F 2048
#define V 32000

typedef struct row {
    const char *name;
    tt_attrs attr;
    tt_tensor in[8], out[4];
    int n_in, n_out;
    double flop, bytes;
} row;

static tt_tensor fresh(tt_dtype dtype, int64_t rows, int64_t cols)
{
    tt_tensor t = {.dtype = dtype, .ndim = 2, .dim = {rows, cols}};
    int64_t n = rows * cols;
    t.data = reserve((size_t)n * tt_dtype_size(dtype));
    uint32_t state = 1;
    for (int64_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        float f = (float)(state >> 8) / 8388608.0f - 1.0f;
        if (dtype == TT_F32)
            ((float *)t.data)[i] = f;
        else if (dtype == TT_BF16)
            ((tt_bf16 *)t.data)[i] = tt_f32_to_bf16(f);
        else
            memset((char *)t.data + (size_t)i * tt_dtype_size(dtype), 0, tt_dtype_size(dtype));
    }
    return t;
}

static void add_in(row *r, tt_dtype t, int64_t rows, int64_t cols)
{
    r->in[r->n_in++] = fresh(t, rows, cols);
}

static void add_out(row *r, tt_dtype t, int64_t rows, int64_t cols)
{
    r->out[r->n_out++] = fresh(t, rows, cols);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[n / 2];
}

static double bytes_moved(const row *r)
{
    double moved = r->bytes;
    for (int i = 0; i < r->n_in + r->n_out; i++) {
        const tt_tensor *t = i < r->n_in ? &r->in[i] : &r->out[i - r->n_in];
        moved += (double)(t->dim[0] * t->dim[1]) * (double)tt_dtype_size(t->dtype);
    }
    return moved;
}

/* Rate of one call: FLOPs or bytes a second. */
static double call(row *r, void *workspace, size_t bytes, int threads, tt_pool *pool)
{
    tt_kernel_args args = {.in = r->in,
                           .out = r->out,
                           .n_in = r->n_in,
                           .n_out = r->n_out,
                           .attr = &r->attr,
                           .workspace = workspace,
                           .workspace_bytes = bytes,
                           .pool = pool};
    double t = now(threads);
    tt_cpu_kernel(r->name)(&args);
    return (r->flop > 0 ? r->flop : bytes_moved(r)) / (now(threads) - t);
}

/* What rows are held against. */
static row reference(int computes)
{
    row r = {.name = computes ? "linear" : "copy", .flop = computes ? 2.0 * N * D * F : 0};
    add_in(&r, TT_F32, computes ? N : 4096, computes ? D : 4096);
    if (computes)
        add_in(&r, TT_F32, F, D);
    add_out(&r, TT_F32, computes ? N : 4096, computes ? F : 4096);
    return r;
}

static void measure(row *r, const char *label, int threads, tt_pool *pool)
{
    enum { most = 200 };
    double rate[most], ratio[most];
    size_t bytes = tt_cpu_workspace(r->name, &r->attr, r->in, r->n_in, r->out, r->n_out, threads);
    void *workspace = bytes ? reserve(bytes) : NULL;
    row ref = reference(r->flop > 0);
    int n = 0;
    call(r, workspace, bytes, threads, pool); /* both once, to warm up */
    call(&ref, NULL, 0, threads, pool);
    for (double start = now(threads); n < 5 || (now(threads) - start < 0.5 && n < most); n++) {
        rate[n] = call(r, workspace, bytes, threads, pool);
        ratio[n] = rate[n] / call(&ref, NULL, 0, threads, pool);
    }
    double middle = median(rate, n), of = median(ratio, n);
    printf("%-16s %-26s %9.3f ms %8.1f %-7s %6.2f of %s (%.2f to %.2f)\n", r->name, label,
           1e3 * (r->flop > 0 ? r->flop : bytes_moved(r)) / middle, middle * 1e-9,
           r->flop > 0 ? "GFLOP/s" : "GB/s", of, ref.name, ratio[0], ratio[n - 1]);
    fflush(stdout);
    free(workspace);
    for (int i = 0; i < 2; i++)
        for (row *x = i ? &ref : r; x->n_in + x->n_out > 0;)
            free(x->n_in > 0 ? x->in[--x->n_in].data : x->out[--x->n_out].data);
}

static int wanted(const char *name, const char *filter)
{
    return !filter || strstr(name, filter) != NULL;
}

static void bench_linear(tt_dtype t, int threads, tt_pool *pool, const char *filter)
{
    row y = {.name = "linear", .flop = 2.0 * N * D * F},
        x = {.name = "linear_dx", .flop = 2.0 * N * D * F};
    row w = {.name = "linear_dw", .flop = 2.0 * N * D * F};
    if (!wanted("linear", filter))
        return;
    add_in(&y, t, N, D);
    add_in(&y, t, F, D);
    add_out(&y, t, N, F);
    measure(&y, tt_dtype_name(t), threads, pool);
    add_in(&x, t, N, F);
    add_in(&x, t, F, D);
    add_out(&x, t, N, D);
    measure(&x, tt_dtype_name(t), threads, pool);
    add_in(&w, t, N, F);
    add_in(&w, t, N, D);
    add_out(&w, TT_F32, F, D);
    measure(&w, tt_dtype_name(t), threads, pool);
}

/* FLOPs of the visible half only: 2 products forward, 5 backward. */
static void bench_attention(tt_dtype t, int heads, int kv_heads, int e, int threads, tt_pool *pool,
                            const char *filter)
{
    const int len = 1024;
    char label[64];
    double one = 2.0 * N * (len + 1) / 2 * heads * e;
    tt_attrs a = {.n_heads = heads,
                  .n_kv_heads = kv_heads,
                  .head_dim = e,
                  .seq_len = len,
                  .causal = 1,
                  .scale = 0.125};
    row f = {.name = "attention", .attr = a, .flop = 2 * one},
        b = {.name = "attention_bwd", .attr = a, .flop = 5 * one};
    if (!wanted("attention", filter))
        return;
    snprintf(label, sizeof label, "%s %d/%d x %d", tt_dtype_name(t), heads, kv_heads, e);
    for (int i = 0; i < 2; i++) {
        row *r = i ? &b : &f;
        add_in(r, t, N, (int64_t)heads * e);
        add_in(r, t, N, (int64_t)kv_heads * e);
        add_in(r, t, N, (int64_t)kv_heads * e);
        add_in(r, TT_I32, N, 1);
        if (i) {
            add_in(r, t, N, (int64_t)heads * e);
            add_in(r, TT_F32, N, heads);
            for (int64_t k = 0; k < N * heads; k++)
                ((float *)r->in[5].data)[k] += 7.0f;
            add_in(r, t, N, (int64_t)heads * e);
        }
        add_out(r, t, N, (int64_t)heads * e);
        if (i) {
            add_out(r, t, N, (int64_t)kv_heads * e);
            add_out(r, t, N, (int64_t)kv_heads * e);
        } else
            add_out(r, TT_F32, N, heads);
        measure(r, label, threads, pool);
    }
}

/* Kernels of the form: inputs and outputs all [rows, cols] of T. */
static void bench_plain(const char *name, int n_in, int n_out, tt_dtype t, int64_t rows,
                        int64_t cols, int threads, tt_pool *pool, const char *filter)
{
    row r = {.name = name};
    if (!wanted(name, filter))
        return;
    for (int i = 0; i < n_in; i++)
        add_in(&r, t, rows, cols);
    for (int i = 0; i < n_out; i++)
        add_out(&r, t, rows, cols);
    measure(&r, tt_dtype_name(t), threads, pool);
}

static void bench_rows(tt_dtype t, int threads, tt_pool *pool, const char *filter)
{
    if (wanted("rmsnorm", filter)) {
        row y = {.name = "rmsnorm", .attr.eps = 1e-5}, x = {.name = "rmsnorm_dx"},
            w = {.name = "rmsnorm_dw"};
        add_in(&y, t, N, D);
        add_in(&y, t, D, 1);
        add_out(&y, t, N, D);
        add_out(&y, TT_F32, N, 1);
        measure(&y, tt_dtype_name(t), threads, pool);
        add_in(&x, t, N, D);
        add_in(&x, t, N, D);
        add_in(&x, t, D, 1);
        add_in(&x, TT_F32, N, 1);
        add_out(&x, t, N, D);
        measure(&x, tt_dtype_name(t), threads, pool);
        add_in(&w, t, N, D);
        add_in(&w, t, N, D);
        add_in(&w, TT_F32, N, 1);
        add_out(&w, TT_F32, D, 1);
        measure(&w, tt_dtype_name(t), threads, pool);
    }
    if (wanted("rope", filter)) {
        row r = {.name = "rope", .attr = {.head_dim = 64}};
        add_in(&r, t, N, D);
        add_in(&r, TT_F32, N, 64);
        add_out(&r, t, N, D);
        measure(&r, tt_dtype_name(t), threads, pool);
    }
    bench_plain("swiglu", 2, 1, t, N, F, threads, pool, filter);
    bench_plain("swiglu_bwd", 3, 2, t, N, F, threads, pool, filter);
    bench_plain("add", 2, 1, t, N, D, threads, pool, filter);
    if (wanted("ce", filter)) {
        tt_attrs a = {.vocab_valid = V};
        row s = {.name = "ce_stats", .attr = a}, g = {.name = "ce_grad", .attr = a};
        add_in(&s, t, N / 8, V);
        add_in(&s, TT_I32, N / 8, 1);
        add_out(&s, TT_F32, 3, N / 8);
        measure(&s, tt_dtype_name(t), threads, pool);
        add_in(&g, t, N / 8, V);
        add_in(&g, TT_F32, 3, N / 8);
        add_in(&g, TT_I32, N / 8, 1);
        add_in(&g, TT_F32, 1, 1);
        add_out(&g, t, N / 8, V);
        measure(&g, tt_dtype_name(t), threads, pool);
    }
}

static void bench_step(int threads, tt_pool *pool, const char *filter)
{
    int64_t n = 4096;
    bench_plain("sumsq", 1, 1, TT_F32, n, 2048, threads, pool, filter);
    bench_plain("accumulate", 1, 1, TT_F32, n, 2048, threads, pool, filter);
    if (wanted("adamw", filter)) {
        row r = {.name = "adamw",
                 .attr = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .decoupled = 1}};
        add_in(&r, TT_F32, n, 2048);
        add_in(&r, TT_F32, 1, 1);
        add_in(&r, TT_F32, 1, 1);
        add_in(&r, TT_I32, 1, 1);
        *(int32_t *)r.in[3].data = 1;
        add_in(&r, TT_I32, 1, 1);
        for (int i = 0; i < 3; i++)
            add_out(&r, TT_F32, n, 2048);
        for (int64_t i = 0; i < n * 2048; i++)
            ((float *)r.out[2].data)[i] *= ((float *)r.out[2].data)[i];
        r.bytes = 3.0 * 4 * (double)n * 2048; /* read as well as written */
        measure(&r, "float32", threads, pool);
    }
    if (wanted("init", filter)) {
        row r = {
            .name = "init",
            .attr = {
                .dist = TT_INIT_NORMAL, .std = 0.02, .full_dim = {n, 256}, .box_count = {n, 256}}};
        add_in(&r, TT_I64, 1, 1);
        add_out(&r, TT_F32, n, 256);
        measure(&r, "float32", threads, pool);
    }
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    const char *filter = argc > 2 ? argv[2] : NULL;
    tt_pool *pool = NULL;
    tt_error err = {0};
    if (tt_pool_create(threads, &pool, &err) != TT_OK) {
        fprintf(stderr, "bench_kernels: %s\n", err.text);
        return tt_exit_code(err.code);
    }
    printf("%d threads, %d tokens, dim %d, ffn %d\n", threads, N, D, F);
    bench_plain("copy", 1, 1, TT_F32, 4096, 2048, threads, pool, filter);
    static const tt_dtype dtypes[] = {TT_F32, TT_BF16};
    for (int t = 0; t < 2; t++) {
        bench_linear(dtypes[t], threads, pool, filter);
        bench_attention(dtypes[t], 12, 12, 64, threads, pool, filter);
        bench_attention(dtypes[t], 12, 4, 64, threads, pool, filter);
        bench_attention(dtypes[t], 16, 16, 16, threads, pool, filter);
        bench_attention(dtypes[t], 16, 16, 64, threads, pool, filter);
        bench_attention(dtypes[t], 6, 6, 128, threads, pool, filter);
        bench_rows(dtypes[t], threads, pool, filter);
    }
    bench_step(threads, pool, filter);
    tt_pool_destroy(&pool);
    return 0;
}
