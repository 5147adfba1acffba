/* linear, linear_dx, linear_dx_sum and linear_dw against fp64 products. */
#include <math.h>
#include <stdlib.h>

#include "kernels_util.h"

typedef struct shape {
    int64_t n, k, m;
    int long_only;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 0},       {1, 300, 5, 0},    {7, 1, 9, 0},       {33, 65, 17, 0},   {64, 64, 64, 0},
    {130, 96, 1, 0},    {5, 7, 1030, 0},   {400, 40, 530, 0},  {520, 530, 36, 0}, {40, 1061, 34, 0},
    {385, 513, 514, 1}, {16, 4097, 33, 1}, {1025, 200, 777, 1}};

/* want[i, j] = sum over t of a(i, t) b(t, j) with each operand read by its own strides. */
static double multiply(double *want, const tt_tensor *a, int64_t ai, int64_t at, const tt_tensor *b,
                       int64_t bt, int64_t bj, int64_t rows, int64_t cols, int64_t terms)
{
    double largest = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            double sum = 0, absolute = 0;
            for (int64_t t = 0; t < terms; t++) {
                double p = get(a, i * ai + t * at) * get(b, t * bt + j * bj);
                sum += p;
                absolute += fabs(p);
            }
            want[i * cols + j] = sum;
            largest = fmax(largest, absolute);
        }
    return largest;
}

static void one_shape(const shape *s, tt_dtype t, const tt_simd *simd, uint64_t *seed)
{
    op_case y = {.name = "linear", .simd = simd}, x = {.name = "linear_dx", .simd = simd},
            w = {.name = "linear_dw", .simd = simd, .accumulates = 1};
    const char *isa = simd ? simd->name : "best";
    /* fp32 sums of many terms: 2e-7 of the sum of magnitudes, far below 2e-5 of the result's
     * largest. The products of two bf16 are exact in fp32, so pairs of them need no more. */
    fill(op_in(&y, tensor(t, s->n, s->k, 0)), seed, 0, 1);
    fill(op_in(&y, tensor(t, s->m, s->k, 0)), seed, 0, 1);
    op_out(&y, tensor(t, s->n, s->m, 0), 3e-7);
    y.floor = multiply(y.want[0], &y.in[0], s->k, 1, &y.in[1], 1, s->k, s->n, s->m, s->k);
    check_op(&y, "%s %s n %lld k %lld m %lld", isa, tt_dtype_name(t), (long long)s->n,
             (long long)s->k, (long long)s->m);

    fill(op_in(&x, tensor(t, s->n, s->m, 0)), seed, 0, 1);
    fill(op_in(&x, tensor(t, s->m, s->k, 0)), seed, 0, 1);
    op_out(&x, tensor(t, s->n, s->k, 0), 3e-7);
    x.floor = multiply(x.want[0], &x.in[0], s->m, 1, &x.in[1], s->k, 1, s->n, s->k, s->m);
    check_op(&x, "%s %s n %lld k %lld m %lld", isa, tt_dtype_name(t), (long long)s->n,
             (long long)s->k, (long long)s->m);

    fill(op_in(&w, tensor(t, s->n, s->m, 0)), seed, 0, 1);
    fill(op_in(&w, tensor(t, s->n, s->k, 0)), seed, 0, 1);
    fill(op_out(&w, tensor(TT_F32, s->m, s->k, 0), 3e-7), seed, 0, 1);
    w.floor = multiply(w.want[0], &w.in[0], 1, s->m, &w.in[1], s->k, 1, s->m, s->k, s->n);
    check_op(&w, "%s %s n %lld k %lld m %lld", isa, tt_dtype_name(t), (long long)s->n,
             (long long)s->k, (long long)s->m);
    op_free(&y);
    op_free(&x);
    op_free(&w);
}

/* Sums of 1 to 4 products with different inner extents, one of them empty: fp64 sums of all terms.
 */
static void sums(const shape *s, tt_dtype t, int members, uint64_t *seed)
{
    op_case x = {.name = "linear_dx_sum"};
    double *part = malloc(sizeof *part * (size_t)(s->n * s->k));
    for (int i = 0; i < members; i++) {
        const int64_t m = i == 1 ? 0 : s->m + 3 * i;
        tt_tensor dy = m ? tensor(t, s->n, m, 0) : tensor(t, 0, s->n, 0), w = tensor(t, m, s->k, 0);
        dy.ndim = w.ndim = 2;
        dy.dim[0] = s->n;
        dy.dim[1] = m;
        w.dim[1] = s->k;
        fill(op_in(&x, dy), seed, 0, 1);
        fill(op_in(&x, w), seed, 0, 1);
    }
    op_out(&x, tensor(t, s->n, s->k, 0), 4e-7);
    for (int i = 0; i < members; i++) {
        const tt_tensor *dy = &x.in[2 * i], *w = &x.in[2 * i + 1];
        x.floor += multiply(part, dy, dy->dim[1], 1, w, s->k, 1, s->n, s->k, dy->dim[1]);
        for (int64_t j = 0; j < s->n * s->k; j++)
            x.want[0][j] += part[j];
    }
    check_op(&x, "%d members, %s n %lld k %lld m %lld", members, tt_dtype_name(t), (long long)s->n,
             (long long)s->k, (long long)s->m);
    free(part);
    op_free(&x);
}

/* A shard without tokens: nothing to read, gradients are zeros or stay. */
static void empty(void)
{
    op_case w = {.name = "linear_dw", .accumulates = 1};
    op_in(&w, tensor(TT_F32, 0, 5, 0))->ndim = 2;
    op_in(&w, tensor(TT_F32, 0, 3, 0))->ndim = 2;
    uint64_t seed = 3;
    fill(op_out(&w, tensor(TT_F32, 5, 3, 0), 0), &seed, 0, 1);
    check_op(&w, "no tokens");
    op_free(&w);
}

int main(void)
{
    uint64_t seed = 5;
    int all = getenv("TITAN_LONG") != NULL;
    empty();
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (all || !shapes[i].long_only) {
            one_shape(&shapes[i], TT_F32, NULL, &seed);
            one_shape(&shapes[i], TT_BF16, tt_simd_at(0), &seed); /* widened */
            one_shape(&shapes[i], TT_BF16, NULL, &seed); /* multiplied in pairs where possible */
            sums(&shapes[i], TT_F32, 1 + (int)i % 4, &seed);
            sums(&shapes[i], TT_BF16, 2 + (int)i % 3, &seed);
        }
    return done_testing();
}
