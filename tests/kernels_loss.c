/* ce_stats, ce_loss and ce_grad: one vocabulary cut into 1, 2 and 3 shards against plain fp64 cross
 * entropy. */
#include <math.h>
#include <stdlib.h>

#include "kernels_util.h"

typedef struct shape {
    int64_t n, vocab;
    int shards,
        pad; /* each shard holds ceil(vocab / shards) rows and `pad` more that do not exist */
    int long_only;
} shape;

static const shape shapes[] = {{1, 1, 1, 0, 0},    {3, 10, 1, 0, 0},      {5, 33, 2, 3, 0},
                               {7, 1025, 3, 0, 0}, {64, 2048, 1, 0, 0},   {2, 5000, 2, 7, 0},
                               {100, 77, 3, 1, 0}, {513, 32003, 2, 0, 1}, {6, 2, 3, 2, 0}};

typedef struct plain {
    double *logit, *lse, loss;
    int32_t *target;
    int64_t valid;
} plain;

static plain make_plain(const shape *s, tt_dtype t, uint64_t *seed)
{
    plain p = {0};
    p.logit = calloc((size_t)(s->n * s->vocab), sizeof(double));
    p.lse = calloc((size_t)s->n, sizeof(double));
    p.target = calloc((size_t)s->n, sizeof(int32_t));
    for (int64_t n = 0; n < s->n; n++) {
        double top = -INFINITY, sum = 0, *l = p.logit + n * s->vocab;
        for (int64_t v = 0; v < s->vocab; v++) {
            float f = (float)(30 * (2 * uniform(seed) - 1) + (n % 2 ? 100 : -40));
            l[v] = t == TT_BF16 ? tt_bf16_to_f32(tt_f32_to_bf16(f)) : f;
            top = fmax(top, l[v]);
        }
        for (int64_t v = 0; v < s->vocab; v++)
            sum += exp(l[v] - top);
        p.lse[n] = top + log(sum);
        p.target[n] = n % 5 == 4 ? -100 : (int32_t)(uniform(seed) * (double)s->vocab);
        if (p.target[n] >= 0) {
            p.loss += p.lse[n] - l[p.target[n]];
            p.valid++;
        }
    }
    return p;
}

/* Rows of shard r: [first, first + count) of the vocabulary. */
static int64_t count_of(const shape *s, int r, int64_t *first)
{
    int64_t each = (s->vocab + s->shards - 1) / s->shards;
    *first = each * r < s->vocab ? each * r : s->vocab;
    return each < s->vocab - *first ? each : s->vocab - *first;
}

static void fill_shard(const shape *s, const plain *p, int64_t first, int64_t count,
                       const tt_tensor *logits)
{
    int64_t v = logits->dim[1];
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t i = 0; i < v; i++)
            set(logits, n * v + i,
                i < count ? p->logit[n * s->vocab + first + i] : 1e4); /* padding must not count */
}

static tt_tensor targets_of(const shape *s, const plain *p)
{
    tt_tensor t = tensor(TT_I32, s->n, 0, 0);
    for (int64_t n = 0; n < s->n; n++)
        set(&t, n, p->target[n]);
    return t;
}

static void test_stats(const shape *s, const plain *p, tt_dtype t, int r, const tt_tensor *all)
{
    op_case c = {.name = "ce_stats"};
    int64_t first, count = count_of(s, r, &first),
                   v = (s->vocab + s->shards - 1) / s->shards + s->pad;
    c.attr.vocab_start = first;
    c.attr.vocab_valid = count;
    fill_shard(s, p, first, count, op_in(&c, tensor(t, s->n, v, 0)));
    op_in(&c, targets_of(s, p));
    op_out(&c, tensor(TT_F32, 3, s->n, 0), 3e-7);
    for (int64_t n = 0; n < s->n; n++) {
        const double *l = p->logit + n * s->vocab + first;
        double top = -INFINITY, sum = 0;
        for (int64_t i = 0; i < count; i++)
            top = fmax(top, l[i]);
        for (int64_t i = 0; i < count; i++)
            sum += exp(l[i] - top);
        int64_t row = p->target[n] - first;
        c.want[0][n] = count ? top : -INFINITY;
        c.want[0][s->n + n] = sum;
        c.want[0][2 * s->n + n] = p->target[n] >= 0 && row >= 0 && row < count ? l[row] : 0;
    }
    c.floor = 1;
    if (count == 0) /* -inf is compared as such; it must not set the scale */
        c.tol[0] = 0;
    check_op(&c, "%s n %lld vocab %lld shard %d of %d", tt_dtype_name(t), (long long)s->n,
             (long long)s->vocab, r, s->shards);
    for (int64_t i = 0; i < 3 * s->n; i++)
        set(all, r * 3 * s->n + i, get(&c.out[0], i));
    op_free(&c);
}

static void test_grad(const shape *s, const plain *p, tt_dtype t, int r, const tt_tensor *all)
{
    op_case c = {.name = "ce_grad"};
    int64_t first, count = count_of(s, r, &first),
                   v = (s->vocab + s->shards - 1) / s->shards + s->pad;
    double inv = p->valid ? 1.0 / (double)p->valid : 0;
    c.attr.vocab_start = first;
    c.attr.vocab_valid = count;
    fill_shard(s, p, first, count, op_in(&c, tensor(t, s->n, v, 0)));
    tt_tensor copy = tensor(TT_F32, s->shards, 3, s->n);
    for (int64_t i = 0; i < numel(all); i++)
        set(&copy, i, get(all, i));
    op_in(&c, copy);
    op_in(&c, targets_of(s, p));
    set(op_in(&c, tensor(TT_F32, 1, 0, 0)), 0, inv);
    op_out(&c, tensor(t, s->n, v, 0), 1e-6);
    c.floor = inv;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t i = 0; i < count && p->target[n] >= 0; i++)
            c.want[0][n * v + i] = inv * (exp(p->logit[n * s->vocab + first + i] - p->lse[n]) -
                                          (first + i == p->target[n]));
    check_op(&c, "%s n %lld vocab %lld shard %d of %d", tt_dtype_name(t), (long long)s->n,
             (long long)s->vocab, r, s->shards);
    tensor_free(&c.out[0]);
    c.out[0] = c.in[0];
    check_op(&c, "in place");
    op_free(&c);
}

static void one_shape(const shape *s, tt_dtype t, uint64_t *seed)
{
    plain p = make_plain(s, t, seed);
    op_case c = {.name = "ce_loss", .accumulates = 1};
    tt_tensor *all = op_in(&c, tensor(TT_F32, s->shards, 3, s->n));
    for (int r = 0; r < s->shards; r++)
        test_stats(s, &p, t, r, all);
    op_in(&c, targets_of(s, &p));
    set(op_out(&c, tensor(TT_F64, 1, 0, 0), 2e-7), 0, 3.25);
    c.want[0][0] = p.loss;
    c.floor = 100 * (double)s->n; /* logits of size 100 are fp32 */
    check_op(&c, "n %lld vocab %lld shards %d", (long long)s->n, (long long)s->vocab, s->shards);
    for (int r = 0; r < s->shards; r++)
        test_grad(s, &p, t, r, all);
    op_free(&c);
    free(p.logit);
    free(p.lse);
    free(p.target);
}

/* A NaN or an infinite logit of one token makes the loss and that token's gradient non-finite. */
static void test_nonfinite(double bad)
{
    enum { n = 3, v = 40 };
    tt_attrs attr = {.vocab_valid = v};
    op_case c = {.name = "ce_stats", .attr = attr}, l = {.name = "ce_loss"},
            g = {.name = "ce_grad", .attr = attr};
    set(op_in(&c, tensor(TT_F32, n, v, 0)), v + 7, bad);
    op_in(&c, tensor(TT_I32, n, 0, 0));
    op_in(&l, *op_out(&c, tensor(TT_F32, 3, n, 0), 0));
    op_in(&l, c.in[1]);
    op_out(&l, tensor(TT_F64, 1, 0, 0), 0);
    op_in(&g, c.in[0]);
    op_in(&g, c.out[0]);
    op_in(&g, c.in[1]);
    set(op_in(&g, tensor(TT_F32, 1, 0, 0)), 0, 0.5);
    op_out(&g, tensor(TT_F32, n, v, 0), 0);
    op_run(&c, 1, 0);
    op_run(&l, 1, 0);
    op_run(&g, 1, 0);
    int rows = 0;
    for (int i = 0; i < n; i++)
        rows += (isfinite(get(&g.out[0], i * v + 7)) == 0) << i;
    ok(!isfinite(get(&l.out[0], 0)), "a logit of %g makes the loss non-finite", bad);
    is_int(rows, 2, "and the gradient of its own token only");
    tensor_free(&g.in[3]);
    l.n_in = g.n_in = 0;
    op_free(&l);
    op_free(&g);
    op_free(&c);
}

int main(void)
{
    uint64_t seed = 9;
    int all = getenv("TITAN_LONG") != NULL;
    test_nonfinite(NAN);
    test_nonfinite(INFINITY);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (all || !shapes[i].long_only) {
            one_shape(&shapes[i], TT_F32, &seed);
            one_shape(&shapes[i], TT_BF16, &seed);
        }
    return done_testing();
}
