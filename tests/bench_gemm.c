/* Products of every linear layer of two models, forward, dx and dw: our rate beside the BLAS's own
 * for the same shapes with its own threading, in the same run, taken in turn.
 *
 * Usage: bench_gemm [THREADS [ROUNDS [ISA]]]. Medians of ROUNDS (7), each of calls that take 20 ms
 * together; the spread is the smallest and the largest of the round's ratios. With one thread the
 * clock is the processor time, with more the wall's. Between the two there is a pause, because
 * threads of the BLAS go on spinning for a while. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench_util.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/pool.h"

#define ROUNDS_MAX 99

typedef struct model {
    const char *name;
    int64_t tokens, dim, ffn, vocab;
} model;

typedef struct rates {
    double ours[ROUNDS_MAX], theirs[ROUNDS_MAX], ratio[ROUNDS_MAX];
} rates;

typedef struct bench {
    int threads, rounds;
    tt_pool *pool;
    void *workspace;
} bench;

static void *numbers(int64_t n, tt_dtype dtype)
{
    void *p = reserve((size_t)n * tt_dtype_size(dtype));
    for (int64_t i = 0; i < n; i++) {
        float f = (float)(i * 2654435761u % 1000) / 500.0f - 1.0f;
        if (dtype == TT_F32)
            ((float *)p)[i] = f;
        else
            ((tt_bf16 *)p)[i] = tt_f32_to_bf16(f);
    }
    return p;
}

static void plain(const tt_gemm *g, int threads)
{
    openblas_set_num_threads(threads);
    cblas_sgemm(CblasRowMajor, g->a_transposed ? CblasTrans : CblasNoTrans,
                g->b_transposed ? CblasTrans : CblasNoTrans, (int)g->m, (int)g->n, (int)g->k, 1.0f,
                g->a, (int)(g->a_transposed ? g->m : g->k), g->b,
                (int)(g->b_transposed ? g->k : g->n), 0.0f, g->c, (int)g->n);
}

static double rate(const bench *b, const tt_gemm *g, int ours)
{
    double flop = 2.0 * (double)g->m * (double)g->n * (double)g->k, start, seconds;
    int calls = 0;
    if (b->threads > 1)
        usleep(40000);
    for (int warm = 1; warm >= 0; warm--) {
        start = now(b->threads);
        do {
            if (ours)
                tt_gemm_run(g, b->workspace, b->pool);
            else
                plain(g, b->threads);
            calls += !warm;
            seconds = now(b->threads) - start;
        } while (!warm && seconds < 0.02);
    }
    return flop * calls / seconds;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double product(const bench *b, const model *mo, const char *what, tt_dtype dtype, tt_gemm g)
{
    rates r;
    tt_gemm f = g; /* the BLAS has fp32 only */
    g.ab_dtype = dtype;
    g.c_dtype = g.a_transposed ? TT_F32 : dtype;
    g.a = numbers(g.m * g.k, dtype);
    g.b = numbers(g.n * g.k, dtype);
    g.c = numbers(g.m * g.n, TT_F32);
    f.a = dtype == TT_F32 ? g.a : numbers(g.m * g.k, TT_F32);
    f.b = dtype == TT_F32 ? g.b : numbers(g.n * g.k, TT_F32);
    f.c = g.c;
    for (int i = 0; i < b->rounds; i++) {
        r.theirs[i] = rate(b, &f, 0) * 1e-9;
        r.ours[i] = rate(b, &g, 1) * 1e-9;
        r.ratio[i] = r.ours[i] / r.theirs[i];
    }
    qsort(r.ours, (size_t)b->rounds, sizeof(double), by_size);
    qsort(r.theirs, (size_t)b->rounds, sizeof(double), by_size);
    qsort(r.ratio, (size_t)b->rounds, sizeof(double), by_size);
    printf("%-10s %-9s %-8s %6lld %6lld %6lld %9.1f %9.1f %6.2f (%.2f to %.2f)\n", mo->name, what,
           tt_dtype_name(dtype), (long long)g.m, (long long)g.n, (long long)g.k,
           r.ours[b->rounds / 2], r.theirs[b->rounds / 2], r.ratio[b->rounds / 2], r.ratio[0],
           r.ratio[b->rounds - 1]);
    fflush(stdout);
    if (f.a != g.a) {
        free((void *)f.a);
        free((void *)f.b);
    }
    free((void *)g.a);
    free((void *)g.b);
    free(g.c);
    return r.ratio[b->rounds / 2];
}

/* The three products of y[tokens, out] = x[tokens, in] w[out, in]^T. */
static double linear(const bench *b, const model *mo, const char *name, tt_dtype t, int64_t in,
                     int64_t out)
{
    char what[32];
    snprintf(what, sizeof what, "%s", name);
    double worst =
        product(b, mo, what, t, (tt_gemm){.m = mo->tokens, .n = out, .k = in, .b_transposed = 1});
    snprintf(what, sizeof what, "%s dx", name);
    double x = product(b, mo, what, t, (tt_gemm){.m = mo->tokens, .n = in, .k = out});
    snprintf(what, sizeof what, "%s dw", name);
    double w =
        product(b, mo, what, t, (tt_gemm){.m = out, .n = in, .k = mo->tokens, .a_transposed = 1});
    worst = x < worst ? x : worst;
    return w < worst ? w : worst;
}

int main(int argc, char **argv)
{
    static const model models[] = {{"debugmodel", 4096, 256, 768, 2048},
                                   {"d768", 1024, 768, 2048, 32768}};
    static const tt_dtype dtypes[] = {TT_F32, TT_BF16};
    bench b = {.threads = argc > 1 ? atoi(argv[1]) : 1, .rounds = argc > 2 ? atoi(argv[2]) : 7};
    tt_error err = {0};
    if (b.rounds < 1 || b.rounds > ROUNDS_MAX)
        b.rounds = 7;
    if (tt_pool_create(b.threads, &b.pool, &err) != TT_OK) {
        fprintf(stderr, "bench_gemm: %s\n", err.text);
        return tt_exit_code(err.code);
    }
    for (int i = 0; argc > 3 && tt_simd_at(i); i++)
        if (!strcmp(tt_simd_at(i)->name, argv[3]))
            tt_pool_use(b.pool, tt_simd_at(i));
    b.workspace = reserve(tt_gemm_workspace(TT_BF16, TT_BF16, b.threads));
    printf("%d threads, kernels %s, BLAS %s; GFLOP/s\n", b.threads, tt_pool_simd(b.pool)->name,
           tt_gemm_blas_core());
    printf("%-10s %-9s %-8s %6s %6s %6s %9s %9s %6s\n", "model", "product", "type", "m", "n", "k",
           "ours", "sgemm", "ratio");
    for (int t = 0; t < 2; t++) {
        double worst = 1e30;
        for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
            const model *mo = &models[i];
            double each[] = {linear(&b, mo, "wq", dtypes[t], mo->dim, mo->dim),
                             linear(&b, mo, "w1", dtypes[t], mo->dim, mo->ffn),
                             linear(&b, mo, "w2", dtypes[t], mo->ffn, mo->dim),
                             linear(&b, mo, "output", dtypes[t], mo->dim, mo->vocab)};
            for (int k = 0; k < 4; k++)
                worst = each[k] < worst ? each[k] : worst;
        }
        printf("%s: the least ratio is %.2f\n", tt_dtype_name(dtypes[t]), worst);
    }
    free(b.workspace);
    tt_pool_destroy(&b.pool);
    return 0;
}
