/* Row and element kernels against fp64 references: norms, rope, swiglu, element-wise, embedding,
 * moves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels_util.h"

typedef struct rc {
    int64_t rows, cols;
    int long_only;
} rc;

static const rc sizes[] = {{1, 1, 0},     {3, 7, 0},      {1, 64, 0},     {65, 1, 0},
                           {5, 130, 0},   {33, 768, 0},   {2, 2051, 0},   {130, 96, 0},
                           {1000, 40, 0}, {513, 4096, 1}, {4099, 333, 1}, {1, 100003, 1}};
static const tt_dtype dtypes[] = {TT_F32, TT_BF16};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* A fused op gives the bits of the plain ones: `plain` (an rmsnorm or its dx) with an add before or
 * behind it. */
static void same_bits(const tt_tensor *a, const tt_tensor *b, const char *what)
{
    const int64_t bytes = numel(a) * (int64_t)tt_dtype_size(a->dtype);
    ok(memcmp(a->data, b->data, (size_t)bytes) == 0, "%s: the bits of the plain ops", what);
}

static void test_fused_norms(const op_case *norm, const op_case *dx, uint64_t *seed)
{
    const tt_tensor *x = &norm->in[0];
    const int64_t n = x->dim[0], d = x->dim[1];
    op_case add = {.name = "add"}, y = *norm, f = {.name = "add_rmsnorm", .attr = norm->attr};
    op_case back = *dx, after = {.name = "add"},
            g = {.name = "rmsnorm_dx_add", .attr = norm->attr, .floor = dx->floor};
    fill(op_in(&add, tensor(x->dtype, n, d, 0)), seed, 0, 1);
    fill(op_in(&add, tensor(x->dtype, n, d, 0)), seed, 0.2, 1);
    op_out(&add, tensor(x->dtype, n, d, 0), 1e-7);
    op_run(&add, 2, 0);
    y.in[0] = add.out[0];
    op_run(&y, 2, 0); /* its own reference is done with */
    f.in[0] = add.in[0];
    f.in[1] = add.in[1];
    f.in[2] = norm->in[1];
    f.n_in = 3;
    op_out(&f, tensor(x->dtype, n, d, 0), 1e-7);
    op_out(&f, tensor(x->dtype, n, d, 0), 0);
    op_out(&f, tensor(TT_F32, n, 0, 0), 0);
    for (int64_t i = 0; i < n * d; i++) {
        f.want[0][i] = get(&add.in[0], i) + get(&add.in[1], i);
        f.want[1][i] = get(&y.out[0], i);
    }
    for (int64_t i = 0; i < n; i++)
        f.want[2][i] = get(&y.out[1], i);
    check_op(&f, "%s %lld x %lld", tt_dtype_name(x->dtype), (long long)n, (long long)d);
    same_bits(&f.out[0], &add.out[0], "add_rmsnorm's sum");
    same_bits(&f.out[1], &y.out[0], "add_rmsnorm");
    same_bits(&f.out[2], &y.out[1], "add_rmsnorm's rstd");
    op_run(&back, 2, 0);
    after.in[0] = back.out[0];
    after.in[1] = add.in[0];
    after.n_in = 2;
    op_out(&after, tensor(x->dtype, n, d, 0), 0);
    op_run(&after, 2, 0);
    memcpy(g.in, dx->in, sizeof g.in);
    g.in[4] = add.in[0];
    g.n_in = 5;
    op_out(&g, tensor(x->dtype, n, d, 0), 1e-6);
    for (int64_t i = 0; i < n * d; i++)
        g.want[0][i] = get(&after.out[0], i);
    check_op(&g, "%s %lld x %lld", tt_dtype_name(x->dtype), (long long)n, (long long)d);
    same_bits(&g.out[0], &after.out[0], "rmsnorm_dx_add");
    after.n_in = f.n_in = g.n_in = 0; /* borrowed */
    op_free(&after);
    op_free(&f);
    op_free(&g);
    op_free(&add);
}

static void test_rmsnorm(int64_t n, int64_t d, tt_dtype t, uint64_t *seed)
{
    op_case c = {.name = "rmsnorm", .attr.eps = 1e-5};
    tt_tensor *x = op_in(&c, tensor(t, n, d, 0)), *w = op_in(&c, tensor(t, d, 0, 0));
    fill(x, seed, 0.1, 2);
    fill(w, seed, 1, 0.5);
    op_out(&c, tensor(t, n, d, 0), 3e-7);
    op_out(&c, tensor(TT_F32, n, 0, 0), 2e-7);
    op_case b = {.name = "rmsnorm_dx"}, g = {.name = "rmsnorm_dw", .accumulates = 1};
    tt_tensor *dy = op_in(&b, tensor(t, n, d, 0));
    fill(dy, seed, 0, 1);
    b.in[1] = *x;
    b.in[2] = *w;
    b.in[3] = tensor(TT_F32, n, 0, 0);
    b.n_in = 4;
    op_out(&b, tensor(t, n, d, 0), 1e-6);
    g.in[0] = *dy;
    g.in[1] = *x;
    g.in[2] = b.in[3];
    g.n_in = 3;
    fill(op_out(&g, tensor(TT_F32, d, 0, 0), 2e-7), seed, 0, 1);
    double *terms =
        calloc((size_t)d, sizeof *terms); /* what cancels in a sum still sets its rounding */
    for (int64_t r = 0; r < n; r++) {
        double sum = 0, dot = 0;
        for (int64_t i = 0; i < d; i++)
            sum += pow(get(x, r * d + i), 2);
        double rstd = c.want[1][r] = 1 / sqrt(sum / (double)d + 1e-5);
        set(&b.in[3], r, rstd);
        for (int64_t i = 0; i < d; i++) {
            c.want[0][r * d + i] = get(x, r * d + i) * rstd * get(w, i);
            dot += get(dy, r * d + i) * get(w, i) * get(x, r * d + i);
            g.want[0][i] += get(dy, r * d + i) * get(x, r * d + i) * rstd;
            terms[i] += fabs(get(dy, r * d + i) * get(x, r * d + i) * rstd);
            g.floor = fmax(g.floor, terms[i]);
            b.floor = fmax(b.floor, fabs(rstd * get(dy, r * d + i) * get(w, i)));
        }
        for (int64_t i = 0; i < d; i++)
            b.want[0][r * d + i] = rstd * get(dy, r * d + i) * get(w, i) -
                                   get(x, r * d + i) * pow(rstd, 3) * dot / (double)d;
    }
    check_op(&c, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    check_op(&b, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    check_op(&g, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    test_fused_norms(&c, &b, seed);
    free(terms);
    g.n_in = 0; /* borrowed */
    op_free(&g);
    c.n_in = 0;
    op_free(&c);
    op_free(&b);
}

static void test_swiglu(int64_t n, int64_t f, tt_dtype t, uint64_t *seed)
{
    op_case c = {.name = "swiglu"}, b = {.name = "swiglu_bwd", .floor = 0.1};
    c.floor = 0.1;
    fill(op_in(&b, tensor(t, n, f, 0)), seed, 0, 1);
    fill(op_in(&b, tensor(t, n, f, 0)), seed, 0, 6);
    fill(op_in(&b, tensor(t, n, f, 0)), seed, 0, 2);
    set(&b.in[1], 0, -120); /* exp overflows on the way: silu is 0 */
    c.in[0] = b.in[1];
    c.in[1] = b.in[2];
    c.n_in = 2;
    op_out(&c, tensor(t, n, f, 0), 3e-7);
    op_out(&b, tensor(t, n, f, 0), 6e-7);
    op_out(&b, tensor(t, n, f, 0), 6e-7);
    for (int64_t i = 0; i < n * f; i++) {
        double dh = get(&b.in[0], i), g = get(&b.in[1], i), u = get(&b.in[2], i), s = sigmoid(g);
        c.want[0][i] = g * s * u;
        b.want[0][i] = dh * u * (s + g * s * (1 - s));
        b.want[1][i] = dh * g * s;
    }
    check_op(&c, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)f);
    check_op(&b, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)f);
    tensor_free(&b.out[0]);
    tensor_free(&b.out[1]);
    b.out[0] = b.in[1];
    b.out[1] = b.in[2];
    check_op(&b, "in place %s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)f);
    c.n_in = 0;
    op_free(&c);
    op_free(&b);
}

static void test_elements(int64_t n, int64_t d, tt_dtype t, uint64_t *seed)
{
    op_case a = {.name = "add"}, k = {.name = "accumulate", .accumulates = 1}, z = {.name = "zero"};
    fill(op_in(&a, tensor(t, n, d, 0)), seed, 0, 1);
    fill(op_in(&a, tensor(t, n, d, 0)), seed, 0, 1);
    op_out(&a, tensor(t, n, d, 0), 1e-7);
    op_out(&z, tensor(t, n, d, 0), 0);
    fill(op_in(&k, tensor(t, n, d, 0)), seed, 0, 1);
    fill(op_out(&k, tensor(TT_F32, n, d, 0), 1e-7), seed, 0, 1);
    for (int64_t i = 0; i < n * d; i++) {
        a.want[0][i] = get(&a.in[0], i) + get(&a.in[1], i);
        k.want[0][i] = get(&k.in[0], i);
    }
    check_op(&a, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    tensor_free(&a.out[0]);
    a.out[0] = a.in[1];
    check_op(&a, "in place %s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    check_op(&k, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    check_op(&z, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    op_free(&a);
    op_free(&k);
    op_free(&z);
    for (int to = 0; to < 2; to++) {
        op_case c = {.name = "cast"}, y = {.name = "copy"};
        fill(op_in(&c, tensor(t, n, d, 0)), seed, 0, 1);
        op_out(&c, tensor(dtypes[to], n, d, 0), 0);
        fill(op_in(&y, tensor(t, n, d, 0)), seed, 0, 1);
        op_out(&y, tensor(t, n, d, 0), 0);
        for (int64_t i = 0; i < n * d; i++) {
            float f = (float)get(&c.in[0], i);
            c.want[0][i] = dtypes[to] == TT_BF16 ? tt_bf16_to_f32(tt_f32_to_bf16(f)) : f;
            y.want[0][i] = get(&y.in[0], i);
        }
        check_op(&c, "%s to %s %lld x %lld", tt_dtype_name(t), tt_dtype_name(dtypes[to]),
                 (long long)n, (long long)d);
        if (to == 0)
            check_op(&y, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
        op_free(&c);
        op_free(&y);
    }
}

/* Ties, overflow to infinity and NaN, bit by bit against the scalar conversion. */
static void test_rounding(void)
{
    static const uint32_t bits[] = {0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0x7f7fffff,
                                    0x7f800000, 0xff800000, 0x7f800001, 0xffc00000, 0x00000001,
                                    0x80000000, 0x007fffff, 0x7fffffff, 0x00018000};
    enum { n = 300 };
    op_case c = {.name = "cast"};
    op_in(&c, tensor(TT_F32, n, 0, 0));
    op_out(&c, tensor(TT_BF16, n, 0, 0), 0);
    for (int i = 0; i < n; i++)
        memcpy((float *)c.in[0].data + i, &bits[(size_t)i % (sizeof bits / sizeof bits[0])], 4);
    op_run(&c, 1, 0);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += ((tt_bf16 *)c.out[0].data)[i] != tt_f32_to_bf16(((float *)c.in[0].data)[i]);
    is_int(wrong, 0, "cast rounds ties, infinities and NaN as the scalar conversion does");
    op_free(&c);
}

static void test_rope(int64_t n, int64_t heads, int64_t e, tt_dtype t, int half_split, int inverse,
                      uint64_t *seed)
{
    op_case c = {.name = "rope",
                 .attr = {.head_dim = (int)e, .half_split = half_split, .inverse = inverse}};
    op_case b = {.name = "rope_table", .attr.scale = 1.25};
    tt_tensor *x = op_in(&c, tensor(t, n, heads * e, 0)), *cs = op_in(&c, tensor(TT_F32, n, e, 0));
    fill(x, seed, 0, 1);
    op_out(&c, tensor(t, n, heads * e, 0), 2e-7);
    op_in(&b, tensor(TT_I32, n, 0, 0));
    op_in(&b, tensor(TT_F32, e / 2, 0, 0));
    op_out(&b, tensor(TT_F32, n, e, 0), 2e-7);
    for (int64_t i = 0; i < e / 2; i++)
        set(&b.in[1], i, pow(500000, -2.0 * (double)i / (double)e));
    for (int64_t r = 0; r < n; r++) {
        set(&b.in[0], r, r == 0 ? 0 : r == 1 ? 131071 : (double)(r * 7));
        for (int64_t i = 0; i < e / 2; i++) {
            float angle = (float)get(&b.in[0], r) * (float)get(&b.in[1], i);
            set(cs, r * e + i, cos(angle));
            set(cs, r * e + e / 2 + i, sin(angle));
            b.want[0][r * e + i] = 1.25 * cos(angle);
            b.want[0][r * e + e / 2 + i] = 1.25 * sin(angle);
            double co = get(cs, r * e + i), si = get(cs, r * e + e / 2 + i) * (inverse ? -1 : 1);
            for (int64_t h = 0; h < heads; h++) {
                int64_t at = (r * heads + h) * e, p = at + (half_split ? i : 2 * i);
                int64_t q = at + (half_split ? e / 2 + i : 2 * i + 1);
                c.want[0][p] = get(x, p) * co - get(x, q) * si;
                c.want[0][q] = get(x, p) * si + get(x, q) * co;
            }
        }
    }
    check_op(&b, "%lld x %lld", (long long)n, (long long)e);
    check_op(&c, "%s %lld x %lld x %lld split %d inverse %d", tt_dtype_name(t), (long long)n,
             (long long)heads, (long long)e, half_split, inverse);
    tensor_free(&c.out[0]);
    c.out[0] = c.in[0];
    check_op(&c, "in place");
    op_free(&c);
    op_free(&b);
}

/* Tokens outside the shard, and rows that are padding, on purpose. */
static void test_embedding(int64_t n, int64_t d, tt_dtype t, uint64_t *seed)
{
    const int64_t v = 11, start = 5, valid = 9;
    tt_attrs attr = {.vocab_start = start, .vocab_valid = valid};
    op_case c = {.name = "embedding", .attr = attr},
            g = {.name = "embedding_dw", .attr = attr, .accumulates = 1};
    tt_tensor *token = op_in(&c, tensor(TT_I32, n, 0, 0)), *w = op_in(&c, tensor(t, v, d, 0));
    fill(w, seed, 0, 1);
    op_out(&c, tensor(t, n, d, 0), 0);
    g.in[0] = *token;
    g.in[1] = tensor(t, n, d, 0);
    g.n_in = 2;
    fill(&g.in[1], seed, 0, 1);
    fill(op_out(&g, tensor(TT_F32, v, d, 0), 3e-6), seed, 0, 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t id = (int64_t)(uniform(seed) * 20) - 1, row = id - start;
        set(token, i, (double)id);
        for (int64_t k = 0; row >= 0 && row < valid && k < d; k++) {
            c.want[0][i * d + k] = get(w, row * d + k);
            g.want[0][row * d + k] += get(&g.in[1], i * d + k);
        }
    }
    check_op(&c, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    check_op(&g, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    c.n_in = 0;
    tensor_free(w);
    op_free(&c);
    op_free(&g);
}

static void test_moves(int64_t n, int64_t d, tt_dtype t, uint64_t *seed)
{
    for (int dim = 0; dim < 2; dim++)
        for (int64_t index = 0; index < 3;
             index++) { /* chunks that may end inside or start behind the tensor */
            int64_t all = dim ? d : n, chunk = (all + 2) / 3, rows = dim ? n : chunk,
                    cols = dim ? chunk : d;
            op_case c = {.name = "slice", .attr = {.dim = dim, .index = index}};
            fill(op_in(&c, tensor(t, n, d, 0)), seed, 0, 1);
            op_out(&c, tensor(t, rows, cols, 0), 0);
            for (int64_t i = 0; i < rows * cols; i++) {
                int64_t r = i / cols + (dim ? 0 : index * chunk),
                        k = i % cols + (dim ? index * chunk : 0);
                c.want[0][i] = r < n && k < d ? get(&c.in[0], r * d + k) : 0;
            }
            check_op(&c, "%s %lld x %lld dim %d chunk %lld", tt_dtype_name(t), (long long)n,
                     (long long)d, dim, (long long)index);
            op_free(&c);
        }
    op_case v = {.name = "interleave"}, s = {.name = "select_row"};
    int64_t out_cols = 3 * d - (d > 2 ? 2 : 0);
    fill(op_in(&v, tensor(t, 3 * n, d, 0)), seed, 0, 1);
    op_out(&v, tensor(t, n, out_cols, 0), 0);
    for (int64_t i = 0; i < n * out_cols; i++)
        v.want[0][i] = get(&v.in[0], (i % out_cols / d * n + i / out_cols) * d + i % out_cols % d);
    check_op(&v, "%s %lld x %lld", tt_dtype_name(t), (long long)n, (long long)d);
    op_free(&v);
    for (int64_t row = -1; row <= n; row += n > 1 ? n - 1 : 1) {
        fill(op_in(&s, tensor(t, n, d, 0)), seed, 0, 1);
        set(op_in(&s, tensor(TT_I32, 1, 0, 0)), 0, (double)row);
        op_out(&s, tensor(t, 1, d, 0), 0);
        for (int64_t i = 0; row >= 0 && row < n && i < d; i++)
            s.want[0][i] = get(&s.in[0], row * d + i);
        s.name = "select_row";
        check_op(&s, "%s row %lld of %lld", tt_dtype_name(t), (long long)row, (long long)n);
        op_free(&s);
    }
}

int main(void)
{
    uint64_t seed = 1;
    int all = getenv("TITAN_LONG") != NULL;
    test_rounding();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int t = 0; t < 2 && (all || !sizes[i].long_only); t++) {
            int64_t n = sizes[i].rows, d = sizes[i].cols;
            test_rmsnorm(n, d, dtypes[t], &seed);
            test_swiglu(n, d, dtypes[t], &seed);
            test_elements(n, d, dtypes[t], &seed);
            test_embedding(n, d, dtypes[t], &seed);
            test_moves(n, d, dtypes[t], &seed);
        }
    for (int t = 0; t < 2; t++)
        for (int form = 0; form < 4; form++) {
            test_rope(1, 1, 2, dtypes[t], form & 1, form >> 1, &seed);
            test_rope(37, 3, 64, dtypes[t], form & 1, form >> 1, &seed);
            test_rope(5, 2, 18, dtypes[t], form & 1, form >> 1, &seed);
            test_rope(9, 4, 256, dtypes[t], form & 1, form >> 1, &seed);
        }
    return done_testing();
}
