/* Every instruction set this machine has: exp to 2e-7, special values, and agreement of all tables on all lengths. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/simd.h"
#include "kernels_util.h"

#define N 67

static void test_exp(const tt_simd *s)
{
    double worst = 0;
    for (double x0 = -87; x0 < 88.3; x0 += 0.37) {
        float x[N], y[N];
        for (int i = 0; i < N; i++)
            x[i] = (float)(x0 + 0.37 * i / N);
        s->exp_scale(y, x, 0, 1, N);
        for (int i = 0; i < N; i++)
            worst = fmax(worst, fabs(y[i] / exp((double)x[i]) - 1));
    }
    ok(worst < 2e-7, "%s: exp is right to 2e-7 over the fp32 range (worst %.2g)", s->name, worst);
    float special[5] = {-INFINITY, -200, 0, NAN, 90}, y[5];
    s->exp_scale(y, special, 0, 1, 5);
    ok(y[0] == 0 && y[1] == 0 && y[2] == 1 && isnan(y[3]) && isinf(y[4]), "%s: exp of -inf, -200, 0, NaN, 90", s->name);
    float m[19];
    for (int i = 0; i < 19; i++)
        m[i] = (float)-i;
    is_int((long long)s->max(m + 1, 18), -1, "%s: largest of negatives", s->name);
    m[18] = NAN;
    ok(isnan(s->max(m, 19)), "%s: NaN is the largest", s->name);
    ok(s->max(m, 0) == -INFINITY, "%s: the largest of nothing is -inf", s->name);
}

/* All functions that give one number, for every length, from one offset or another: never another value. */
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
        wrong += fabs(s->sumsq(a, n) - sq) > 1e-12 * (n + 1) || fabs(s->dot3(a, b, c, n) - d3) > 1e-7 * (n + 1) ||
                 fabs(s->dot(a, b, n) - d) > 2e-7 * (n + 1) || fabs(s->sum_exp(a, 0.5f, n) - se) > 2e-7 * (se + 1) ||
                 s->max(a, n) != top;
        float shifted[N + 2], other[N + 2];
        memcpy(shifted + 1, a, (size_t)n * sizeof(float));
        memcpy(other + 1, b, (size_t)n * sizeof(float));
        moved += s->sumsq(shifted + 1, n) != s->sumsq(a, n) || s->dot(shifted + 1, other + 1, n) != s->dot(a, b, n) ||
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
                tt_block_product p = {.c = c, .a = a, .b = b, .ldc = lanes, .ldb = lanes, .rows = rows, .lanes = lanes,
                                      .k = k, .accumulate = rows % 2, .a_row = transposed ? 1 : k,
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

int main(void)
{
    int i = 0;
    for (; tt_simd_at(i); i++) {
        test_exp(tt_simd_at(i));
        test_sums(tt_simd_at(i));
        test_product(tt_simd_at(i));
    }
    ok(tt_simd_pick() == tt_simd_at(i - 1), "the best of %d tables is picked: %s", i, tt_simd_pick()->name);
    ok(tt_cpu_kernel("no_such_op") == NULL, "an unknown op has no kernel");
    is_int((long long)tt_cpu_workspace("add", NULL, NULL, 0, NULL, 0, 4), 0, "add needs no scratch");
    return done_testing();
}
