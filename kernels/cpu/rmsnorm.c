/* rmsnorm and its two gradients. Statistics are fp64 sums; the result is rounded once.
 *
 * With r = 1/sqrt(mean(x^2) + eps) and y = x r w:
 *   dx = r (dy w) - x (r^3 / D) sum(dy w x),   dw = sum over tokens of dy x r. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_priv.h"

/* Columns of one piece of work of rmsnorm_dw, and tokens added in fp32 before the sum moves to
 * fp64. */
#define DW_COLS 16
#define DW_TOKENS 32

typedef struct job {
    const tt_simd *s;
    const tt_kernel_args *args;
    int64_t n, d;
} job;

static void forward_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_simd *s = j->s;
    const tt_tensor *x = &j->args->in[0], *w = &j->args->in[1], *y = &j->args->out[0];
    float *rstd = j->args->out[1].data, xb[TT_CHUNK], wb[TT_CHUNK], yb[TT_CHUNK];
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        double sum = 0;
        for (int64_t c = 0; c < j->d; c += TT_CHUNK) {
            int64_t m = tt_min64(TT_CHUNK, j->d - c);
            sum += s->sumsq(tt_load(s, x, n * j->d + c, m, xb), m);
        }
        float r = (float)(1.0 / sqrt(sum / (double)j->d + j->args->attr->eps));
        rstd[n] = r;
        for (int64_t c = 0; c < j->d; c += TT_CHUNK) {
            int64_t m = tt_min64(TT_CHUNK, j->d - c), at = n * j->d + c;
            s->norm(tt_dest(y, at, yb), tt_load(s, x, at, m, xb), tt_load(s, w, c, m, wb), r, m);
            tt_store(s, y, at, m, yb);
        }
    }
}

void tt_cpu_rmsnorm(const tt_kernel_args *args)
{
    job j = {tt_pool_simd(args->pool), args, tt_rows(&args->in[0]), tt_cols(&args->in[0])};
    tt_pool_run(args->pool, forward_rows, &j, j.n);
}

static void dx_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_simd *s = j->s;
    const tt_tensor *dy = &j->args->in[0], *x = &j->args->in[1], *w = &j->args->in[2],
                    *dx = &j->args->out[0], *residual = j->args->n_in > 4 ? &j->args->in[4] : NULL;
    const float *rstd = j->args->in[3].data;
    float db[TT_CHUNK], xb[TT_CHUNK], wb[TT_CHUNK], ob[TT_CHUNK];
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        double sum = 0;
        for (int64_t c = 0; c < j->d; c += TT_CHUNK) {
            int64_t m = tt_min64(TT_CHUNK, j->d - c), at = n * j->d + c;
            sum += s->dot3(tt_load(s, dy, at, m, db), tt_load(s, w, c, m, wb),
                           tt_load(s, x, at, m, xb), m);
        }
        double r = rstd[n];
        float back = (float)(r * r * r * sum / (double)j->d);
        for (int64_t c = 0; c < j->d; c += TT_CHUNK) {
            int64_t m = tt_min64(TT_CHUNK, j->d - c), at = n * j->d + c;
            s->norm_dx(tt_dest(dx, at, ob), tt_load(s, dy, at, m, db), tt_load(s, x, at, m, xb),
                       tt_load(s, w, c, m, wb), rstd[n], back, m);
            tt_store(s, dx, at, m, ob);
            if (residual) {
                s->add(tt_dest(dx, at, ob), tt_load(s, dx, at, m, ob),
                       tt_load(s, residual, at, m, db), m);
                tt_store(s, dx, at, m, ob);
            }
        }
    }
}

void tt_cpu_rmsnorm_dx(const tt_kernel_args *args)
{
    job j = {tt_pool_simd(args->pool), args, tt_rows(&args->in[0]), tt_cols(&args->in[0])};
    tt_pool_run(args->pool, dx_rows, &j, j.n);
}

void tt_cpu_rmsnorm_dx_add(const tt_kernel_args *args)
{
    tt_cpu_rmsnorm_dx(args);
}

/* The fused twins round where the plain ops do, so their bits are the same. */

static void add_norm_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_simd *s = j->s;
    const tt_tensor *in = j->args->in, *x = &j->args->out[0], *y = &j->args->out[1];
    float *rstd = j->args->out[2].data, ab[TT_CHUNK], wb[TT_CHUNK], xb[TT_CHUNK];
    (void)thread;
    for (int64_t n = begin; n < end; n++) {
        double sum = 0;
        for (int64_t c = 0; c < j->d; c += TT_CHUNK) {
            int64_t m = tt_min64(TT_CHUNK, j->d - c), at = n * j->d + c;
            s->add(tt_dest(x, at, xb), tt_load(s, &in[0], at, m, ab), tt_load(s, &in[1], at, m, wb),
                   m);
            tt_store(s, x, at, m, xb);
            sum += s->sumsq(tt_load(s, x, at, m, xb), m);
        }
        float r = (float)(1.0 / sqrt(sum / (double)j->d + j->args->attr->eps));
        rstd[n] = r;
        for (int64_t c = 0; c < j->d; c += TT_CHUNK) {
            int64_t m = tt_min64(TT_CHUNK, j->d - c), at = n * j->d + c;
            s->norm(tt_dest(y, at, ab), tt_load(s, x, at, m, xb), tt_load(s, &in[2], c, m, wb), r,
                    m);
            tt_store(s, y, at, m, ab);
        }
    }
}

void tt_cpu_add_rmsnorm(const tt_kernel_args *args)
{
    job j = {tt_simd_pick(), args, tt_rows(&args->in[0]), tt_cols(&args->in[0])};
    tt_pool_run(args->pool, add_norm_rows, &j, j.n);
}

static void dw_range(const job *j, int64_t c, int64_t m)
{
    const tt_simd *s = j->s;
    const tt_tensor *dy = &j->args->in[0], *x = &j->args->in[1];
    const float *rstd = j->args->in[2].data;
    float *dw = j->args->out[0].data, part[TT_CHUNK], db[TT_CHUNK], xb[TT_CHUNK];
    double sum[TT_CHUNK] = {0};
    for (int64_t n0 = 0; n0 < j->n; n0 += DW_TOKENS) {
        memset(part, 0, (size_t)m * sizeof(float));
        for (int64_t n = n0; n < tt_min64(n0 + DW_TOKENS, j->n); n++)
            s->norm_dw(part, tt_load(s, dy, n * j->d + c, m, db),
                       tt_load(s, x, n * j->d + c, m, xb), rstd[n], m);
        for (int64_t i = 0; i < m; i++)
            sum[i] += part[i];
    }
    for (int64_t i = 0; i < m; i++)
        dw[c + i] = (float)(j->args->accumulate ? dw[c + i] + sum[i] : sum[i]);
}

/* A piece is a range of columns over all tokens: no two threads share a sum, and its order never
 * changes. A thread takes its pieces in one sweep, because long reads of a row are several times
 * faster than short ones. */
static void dw_columns(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    int64_t last = tt_min64(end * DW_COLS, j->d);
    (void)thread;
    for (int64_t c = begin * DW_COLS; c < last; c += TT_CHUNK)
        dw_range(j, c, tt_min64(TT_CHUNK, last - c));
}

void tt_cpu_rmsnorm_dw(const tt_kernel_args *args)
{
    job j = {tt_pool_simd(args->pool), args, tt_rows(&args->in[0]), tt_cols(&args->in[0])};
    tt_pool_run(args->pool, dw_columns, &j, tt_div_up(j.d, DW_COLS));
}
