/* Every instruction set this machine has: exp to 2e-7, special values, and agreement of all tables
 * on all lengths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/simd.h"
#include "kernels_util.h"

#define N 67

static void test_exp(const tt_simd *s)
{
    double worst = 0;
    for (double x0 = -87; x0 < 87.9; x0 += 0.37) {
        float x[N], y[N];
        for (int i = 0; i < N; i++)
            x[i] = (float)(x0 + 0.37 * i / N);
        s->exp_scale(y, x, 0, 1, N);
        for (int i = 0; i < N; i++)
            worst = fmax(worst, fabs(y[i] / exp((double)x[i]) - 1));
    }
    ok(worst < 2e-7, "%s: exp is right to 2e-7 over the fp32 range (worst %.2g)", s->name, worst);
    float special[6] = {-INFINITY, -200, 0, NAN, 1000, 0}, y[6];
    uint32_t odd_nan = 0x7fc001ff;
    memcpy(&special[5], &odd_nan, 4);
    s->exp_scale(y, special, 0, 1, 6);
    ok(y[0] == 0 && y[1] == 0 && y[2] == 1 && isnan(y[3]) && y[4] > 1e38f && isnan(y[5]),
       "%s: exp of -inf, -200, 0, NaN, 1000, another NaN", s->name);
    float m[19];
    for (int i = 0; i < 19; i++)
        m[i] = (float)-i;
    is_int((long long)s->max(m + 1, 18), -1, "%s: largest of negatives", s->name);
    m[18] = NAN;
    ok(s->max(m, 19) == 0 && isnan(s->sum_exp(m, 0, 19)),
       "%s: max passes over NaN, sum_exp shows it", s->name);
    ok(s->max(m, 0) == -INFINITY, "%s: the largest of nothing is -inf", s->name);
}

/* All functions that give one number, for every length, from one offset or another: never another
 * value. */
static void test_sums(const tt_simd *s)
{
    uint64_t seed = 5;
    float a[N + 1], b[N + 1], c[N + 1];
    int wrong = 0, moved = 0;
    for (int n = 0; n <= N; n++) {
        double sq = 0, d3 = 0, d = 0, se = 0;
        float top = -INFINITY;
        for (int i = 0; i < n; i++) {
            a[i] = (float)(2 * uniform(&seed) - 1);
            b[i] = (float)(2 * uniform(&seed) - 1);
            c[i] = (float)(2 * uniform(&seed) - 1);
            sq += (double)a[i] * a[i];
            d3 += (double)a[i] * b[i] * c[i];
            d += (double)a[i] * b[i];
            se += exp((double)a[i] - 0.5);
            top = fmaxf(top, a[i]);
        }
        wrong += fabs(s->sumsq(a, n) - sq) > 1e-12 * (n + 1) ||
                 fabs(s->dot3(a, b, c, n) - d3) > 1e-7 * (n + 1) ||
                 fabs(s->dot(a, b, n) - d) > 2e-7 * (n + 1) ||
                 fabs(s->sum_exp(a, 0.5f, n) - se) > 2e-7 * (se + 1) || s->max(a, n) != top;
        float shifted[N + 2], other[N + 2];
        memcpy(shifted + 1, a, (size_t)n * sizeof(float));
        memcpy(other + 1, b, (size_t)n * sizeof(float));
        moved += s->sumsq(shifted + 1, n) != s->sumsq(a, n) ||
                 s->dot(shifted + 1, other + 1, n) != s->dot(a, b, n) ||
                 s->sum_exp(shifted + 1, 0.5f, n) != s->sum_exp(a, 0.5f, n);
    }
    is_int(wrong, 0, "%s: sums of every length are right", s->name);
    is_int(moved, 0, "%s: alignment does not change a sum", s->name);
}

static void test_product(const tt_simd *s)
{
    static float a[40 * 50], b[50 * 96], c[40 * 96];
    uint64_t seed = 8;
    int wrong = 0;
    for (int rows = 1; rows < 40; rows += rows < 18 ? 1 : 7)
        for (int lanes = 16; lanes <= 96; lanes += 16)
            for (int transposed = 0; transposed < 2; transposed++) {
                int k = 1 + rows % 50;
                tt_block_product p = {.c = c,
                                      .a = a,
                                      .b = b,
                                      .ldc = lanes,
                                      .ldb = lanes,
                                      .rows = rows,
                                      .lanes = lanes,
                                      .k = k,
                                      .accumulate = rows % 2,
                                      .a_row = transposed ? 1 : k,
                                      .a_term = transposed ? rows : 1};
                for (size_t i = 0; i < sizeof a / sizeof *a; i++)
                    a[i] = (float)(2 * uniform(&seed) - 1);
                for (size_t i = 0; i < sizeof b / sizeof *b; i++)
                    b[i] = (float)(2 * uniform(&seed) - 1);
                for (int i = 0; i < rows * lanes; i++)
                    c[i] = 2;
                s->product(&p);
                for (int r = 0; r < rows; r++)
                    for (int l = 0; l < lanes; l++) {
                        double want = p.accumulate ? 2 : 0;
                        for (int i = 0; i < k; i++)
                            want += (double)a[r * p.a_row + i * p.a_term] * b[i * lanes + l];
                        wrong += fabs(c[r * lanes + l] - want) > 3e-7 * (k + 2);
                    }
            }
    is_int(wrong, 0, "%s: block products of all remainders are right", s->name);
}

/* Packing and the product of bf16 pairs, at every remainder of rows, columns and terms, both
 * orders. */
static void test_bf16(const tt_simd *s)
{
    enum { most = 70, terms = 37 };
    static tt_bf16 a[most * terms], b[most * terms];
    static uint32_t pa[72 * 19], pb[96 * 19];
    static float c[most * most];
    uint64_t seed = 9;
    int wrong = 0, outside = 0;
    for (int n = 1; n <= most; n += n < 36 ? 1 : 17)
        for (int apart = 0; apart < 2; apart++) {
            int rows = 1 + n * 7 % most, k = 1 + n % terms, ldc = n + 1;
            for (int i = 0; i < most * terms; i++) {
                a[i] = tt_f32_to_bf16((float)(2 * uniform(&seed) - 1));
                b[i] = tt_f32_to_bf16((float)(2 * uniform(&seed) - 1));
            }
            s->bf16_pack(pa, a, apart ? k : rows, apart, rows, k, TT_BF16_ROWS);
            s->bf16_pack(pb, b, apart ? k : n, apart, n, k, TT_BF16_COLS);
            for (int i = 0; i < most * most; i++)
                c[i] = 2;
            s->bf16_product(&(tt_bf16_product){.c = c,
                                               .a = pa,
                                               .b = pb,
                                               .ldc = ldc,
                                               .rows = rows < 69 ? rows : 69,
                                               .cols = n < 69 ? n : 69,
                                               .pairs = (k + 1) / 2,
                                               .accumulate = n % 2});
            for (int r = 0; r < rows && r < 69; r++) {
                for (int j = 0; j < n && j < 69; j++) {
                    double want = n % 2 ? 2 : 0;
                    for (int i = 0; i < k; i++)
                        want += (double)tt_bf16_to_f32(a[apart ? r * k + i : i * rows + r]) *
                                tt_bf16_to_f32(b[apart ? j * k + i : i * n + j]);
                    wrong += fabs(c[r * ldc + j] - want) > 3e-7 * (k + 2);
                }
                outside += n < 69 && c[r * ldc + n] != 2;
            }
        }
    is_int(wrong, 0, "%s: bf16 products of all remainders are right", s->name);
    is_int(outside, 0, "%s: and write nothing beside", s->name);
}

/* Everything else is compared with fp64 through the ops, which use the best table: the others must
 * agree with it. */
static void run_all(const tt_simd *s, float *y, int n)
{
    static float a[4 * N], b[4 * N], c[4 * N];
    static tt_bf16 h[N];
    uint64_t seed = 21;
    for (int i = 0; i < 4 * N; i++) {
        a[i] = (float)(4 * uniform(&seed) - 2);
        b[i] = (float)(4 * uniform(&seed) - 2);
        c[i] = (float)uniform(&seed);
    }
    memset(y, 0, 20 * N * sizeof *y);
    s->to_bf16(h, a, n);
    s->from_bf16(y, h, n);
    s->add(y + N, a, b, n);
    memcpy(y + 2 * N, a, (size_t)n * sizeof *a);
    s->axpy(y + 2 * N, b, 0.7f, n);
    s->norm(y + 3 * N, a, b, 1.3f, n);
    s->norm_dx(y + 4 * N, a, b, c, 1.1f, 0.2f, n);
    s->norm_dw(y + 5 * N, a, b, 0.9f, n);
    s->rotate_split(y + 6 * N, a, b, c, -1.0f, n / 2);
    s->rotate_pairs(y + 7 * N, a, b, c, 1.0f, n / 2);
    s->swiglu(y + 8 * N, a, b, n);
    s->swiglu_bwd(y + 9 * N, y + 10 * N, a, b, c, n);
    memcpy(y + 11 * N, a, (size_t)n * sizeof *a);
    memcpy(y + 12 * N, b, (size_t)n * sizeof *b);
    memcpy(y + 13 * N, c, (size_t)n * sizeof *c);
    s->adam(y + 11 * N, y + 12 * N, y + 13 * N, b + N,
            &(tt_adam_step){.coef = 0.5f,
                            .decay = 0.99f,
                            .l2 = 0.01f,
                            .beta2 = 0.9f,
                            .one_minus_beta1 = 0.2f,
                            .one_minus_beta2 = 0.1f,
                            .step_size = 0.1f,
                            .root_correction = 0.8f,
                            .eps = 1e-3f},
            n);
}

static void test_agreement(const tt_simd *s, const tt_simd *best)
{
    static float got[20 * N], want[20 * N];
    double worst = 0;
    for (int n = 0; n <= N; n++) {
        run_all(s, got, n);
        run_all(best, want, n);
        for (int i = 0; i < 20 * N; i++)
            worst = fmax(worst, fabs(got[i] - want[i]) / (1 + fabs(want[i])));
    }
    ok(worst < 5e-7, "%s: element loops agree with %s at every length (worst %.2g)", s->name,
       best->name, worst);
}

/* One tile of the forward and the backward softmax, with lanes that see nothing, all, and a part.
 */
static void run_tile(const tt_simd *s, int masked, float *y)
{
    enum { rows = 13 };
    float *t = y, *d = y + rows * TT_LANES, *m = d + rows * TT_LANES, *l = m + TT_LANES,
          *alpha = l + TT_LANES;
    int32_t lo[TT_LANES], hi[TT_LANES];
    float lse[TT_LANES], delta[TT_LANES];
    uint64_t seed = 4;
    for (int q = 0; q < TT_LANES; q++) {
        lo[q] = q % 3 ? 100 : 100 + q % 20;
        hi[q] = q % 5 ? 112 : 95 + q % 9;
        m[q] = q % 2 ? -1e30f : 0.5f;
        l[q] = q % 2 ? 0 : 2;
        lse[q] = (float)(3 + uniform(&seed));
        delta[q] = (float)uniform(&seed);
    }
    for (int i = 0; i < rows * TT_LANES; i++) {
        t[i] = (float)(6 * uniform(&seed) - 3);
        d[i] = t[i];
    }
    alpha[TT_LANES] = (float)s->softmax_tile(t, rows, 100, lo, hi, masked, m, l, alpha);
    s->scale_lanes(t, rows, alpha);
    s->softmax_tile_bwd(d, t, rows, 100, lo, hi, masked, lse, delta, 0.3f);
}

static void test_tile(const tt_simd *s, const tt_simd *best)
{
    enum { size = 29 * TT_LANES + 1 };
    static float got[size], want[size];
    for (int masked = 0; masked < 2; masked++) {
        double worst = 0;
        run_tile(s, masked, got);
        run_tile(best, masked, want);
        for (int i = 0; i < size; i++)
            worst = fmax(worst, fabs(got[i] - want[i]) / (1 + fabs(want[i])));
        ok(worst < 5e-7, "%s: softmax tiles agree with %s, masked %d (worst %.2g)", s->name,
           best->name, masked, worst);
    }
}

int main(void)
{
    int i = 0;
    for (; tt_simd_at(i); i++) {
        test_exp(tt_simd_at(i));
        test_sums(tt_simd_at(i));
        test_product(tt_simd_at(i));
        if (tt_simd_at(i)->bf16_pack)
            test_bf16(tt_simd_at(i));
        test_agreement(tt_simd_at(i), tt_simd_pick());
        test_tile(tt_simd_at(i), tt_simd_pick());
    }
    static const char *const names[] = {"base", "avx2", "avx512", "avx512_bf16"};
    for (int k = 0; k < 4; k++)
        if (k < i)
            is_str(tt_simd_at(k)->name, names[k], "table %d is %s", k, names[k]);
        else
            ok(1, "%s was compared # SKIP this CPU or this build does not have it", names[k]);
    ok(tt_simd_pick() == tt_simd_at(i - 1), "the best of %d tables is picked: %s", i,
       tt_simd_pick()->name);
    ok(tt_cpu_kernel("no_such_op") == NULL, "an unknown op has no kernel");
    is_int((long long)tt_cpu_workspace("add", NULL, NULL, 0, NULL, 0, 4), 0,
           "add needs no scratch");
    return done_testing();
}
