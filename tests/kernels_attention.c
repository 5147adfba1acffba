/* attention and attention_bwd against plain fp64 softmax and its analytic gradients. */
#include <math.h>
#include <stdlib.h>

#include "kernels_util.h"

typedef struct shape {
    int seqs, len, heads, kv_heads, e;
    int causal, window, docs; /* docs: documents of about len/docs tokens, 0 = one per sequence */
    int long_only;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 1, 16, 1, 0, 0, 0},       {2, 7, 2, 1, 16, 1, 0, 0, 0},
    {1, 64, 2, 2, 32, 1, 0, 0, 0},      {1, 65, 3, 1, 64, 1, 0, 0, 0},
    {2, 130, 4, 2, 64, 1, 0, 3, 0},     {1, 200, 2, 1, 128, 1, 17, 0, 0},
    {1, 191, 2, 2, 20, 1, 70, 4, 0},    {1, 100, 2, 1, 48, 0, 0, 0, 0},
    {1, 129, 1, 1, 256, 1, 0, 0, 0},    {3, 33, 6, 2, 18, 1, 5, 2, 0},
    {1, 150, 2, 2, 64, 0, 0, 2, 0},     {1, 300, 8, 2, 80, 1, 128, 0, 0},
    {1, 96, 1, 1, 17, 1, 1, 0, 0},      {2, 1000, 4, 2, 64, 1, 0, 5, 1},
    {1, 2048, 2, 1, 128, 1, 300, 0, 1}, {4, 257, 6, 3, 112, 1, 0, 7, 1},
    {1, 1023, 2, 2, 256, 0, 0, 0, 1},
};

/* Plain attention of one query head: probabilities p[len, len], then gradients when dq is given. */
typedef struct plain {
    const shape *s;
    const tt_tensor *q, *k, *v, *doc, *dout;
    double scale;
    int round_o; /* delta from o as bf16 stores it: what the backward is given */
    double *o, *lse, *dq, *dk, *dv;
} plain;

static int visible(const plain *r, int64_t start, int64_t i, int64_t j)
{
    const shape *s = r->s;
    return (!s->causal || j <= i) && j >= get(r->doc, start + i) &&
           (s->window == 0 || i - j < s->window);
}

static double at(const tt_tensor *t, int64_t row, int64_t heads, int64_t head, int64_t e, int64_t x)
{
    return get(t, (row * heads + head) * e + x);
}

static void one_query(const plain *r, int64_t start, int64_t i, int64_t h, double *p)
{
    const shape *s = r->s;
    int64_t e = s->e, kv = h / (s->heads / s->kv_heads), row = start + i,
            base = (row * s->heads + h) * e;
    double top = -INFINITY, sum = 0, delta = 0;
    for (int64_t j = 0; j < s->len; j++) {
        p[j] = -INFINITY;
        if (!visible(r, start, i, j))
            continue;
        p[j] = 0;
        for (int64_t x = 0; x < e; x++)
            p[j] += r->scale * at(r->q, row, s->heads, h, e, x) *
                    at(r->k, start + j, s->kv_heads, kv, e, x);
        top = fmax(top, p[j]);
    }
    for (int64_t j = 0; j < s->len; j++)
        sum += p[j] = exp(p[j] - top);
    r->lse[row * s->heads + h] = top + log(sum);
    for (int64_t j = 0; j < s->len; j++) {
        p[j] /= sum;
        for (int64_t x = 0; p[j] != 0 && x < e; x++)
            r->o[base + x] += p[j] * at(r->v, start + j, s->kv_heads, kv, e, x);
    }
    if (!r->dq)
        return;
    for (int64_t x = 0; x < e; x++)
        delta +=
            (r->round_o ? tt_bf16_to_f32(tt_f32_to_bf16((float)r->o[base + x])) : r->o[base + x]) *
            get(r->dout, base + x);
    for (int64_t j = 0; j < s->len; j++) {
        int64_t to = ((start + j) * s->kv_heads + kv) * e;
        double dp = 0;
        if (p[j] == 0)
            continue;
        for (int64_t x = 0; x < e; x++)
            dp += get(r->dout, base + x) * get(r->v, to + x);
        double ds = r->scale * p[j] * (dp - delta);
        for (int64_t x = 0; x < e; x++) {
            r->dv[to + x] += p[j] * get(r->dout, base + x);
            r->dq[base + x] += ds * get(r->k, to + x);
            r->dk[to + x] += ds * get(r->q, base + x);
        }
    }
}

static void run_plain(const plain *r)
{
    double *p = calloc((size_t)r->s->len, sizeof *p);
    for (int64_t b = 0; b < r->s->seqs; b++)
        for (int64_t h = 0; h < r->s->heads; h++)
            for (int64_t i = 0; i < r->s->len; i++)
                one_query(r, b * r->s->len, i, h, p);
    free(p);
}

static void make_inputs(op_case *c, const shape *s, tt_dtype t, uint64_t *seed)
{
    int64_t n = (int64_t)s->seqs * s->len, h = (int64_t)s->heads * s->e,
            j = (int64_t)s->kv_heads * s->e;
    c->attr = (tt_attrs){.n_heads = s->heads,
                         .n_kv_heads = s->kv_heads,
                         .head_dim = s->e,
                         .seq_len = s->len,
                         .window = s->window,
                         .causal = s->causal,
                         .scale = 1 / sqrt(s->e)};
    fill(op_in(c, tensor(t, n, h, 0)), seed, 0, 3);
    fill(op_in(c, tensor(t, n, j, 0)), seed, 0, 3);
    fill(op_in(c, tensor(t, n, j, 0)), seed, 0.25, 1);
    tt_tensor *doc = op_in(c, tensor(TT_I32, n, 0, 0));
    for (int64_t i = 0; s->docs && i < n; i++) {
        int64_t each = s->len / s->docs + 1, here = i % s->len;
        set(doc, i, (double)(here / each * each));
    }
}

static void one_shape(const shape *s, tt_dtype t)
{
    int64_t n = (int64_t)s->seqs * s->len, h = (int64_t)s->heads * s->e,
            j = (int64_t)s->kv_heads * s->e;
    uint64_t seed = (uint64_t)(s->len * 131 + s->e);
    op_case f = {.name = "attention"}, b = {.name = "attention_bwd"};
    make_inputs(&f, s, t, &seed);
    op_out(&f, tensor(t, n, h, 0),
           4e-6); /* scores up to 12 summed in fp32 over e: their rounding shows in o */
    op_out(&f, tensor(TT_F32, n, s->heads, 0), 1e-6);
    plain r = {.s = s,
               .q = &f.in[0],
               .k = &f.in[1],
               .v = &f.in[2],
               .doc = &f.in[3],
               .scale = f.attr.scale,
               .o = f.want[0],
               .lse = f.want[1]};
    run_plain(&r);
    check_op(&f, "%s seqs %d len %d heads %d/%d e %d causal %d window %d docs %d", tt_dtype_name(t),
             s->seqs, s->len, s->heads, s->kv_heads, s->e, s->causal, s->window, s->docs);

    seed = (uint64_t)(s->len * 131 + s->e);
    make_inputs(&b, s, t, &seed);
    tt_tensor *o = op_in(&b, tensor(TT_F32, n, h, 0)),
              *lse = op_in(&b, tensor(TT_F32, n, s->heads, 0));
    if (t != TT_F32) {
        tensor_free(o);
        *o = tensor(t, n, h, 0);
    }
    fill(op_in(&b, tensor(t, n, h, 0)), &seed, 0.1, 1);
    op_out(&b, tensor(t, n, h, 0), 5e-6);
    op_out(&b, tensor(t, n, j, 0), 5e-6);
    op_out(&b, tensor(t, n, j, 0), 5e-6);
    b.floor = 0.1; /* one visible key: dq and dk are differences of equal numbers */
    double *po = calloc((size_t)(n * h), sizeof *po),
           *pl = calloc((size_t)(n * s->heads), sizeof *pl);
    plain g = {.s = s,
               .q = &b.in[0],
               .k = &b.in[1],
               .v = &b.in[2],
               .doc = &b.in[3],
               .dout = &b.in[6],
               .scale = b.attr.scale,
               .round_o = t == TT_BF16,
               .o = po,
               .lse = pl,
               .dq = b.want[0],
               .dk = b.want[1],
               .dv = b.want[2]};
    run_plain(&g);
    for (int64_t i = 0; i < n * h; i++)
        set(o, i, po[i]);
    for (int64_t i = 0; i < n * s->heads; i++)
        set(lse, i, pl[i]);
    check_op(&b, "%s seqs %d len %d heads %d/%d e %d causal %d window %d docs %d", tt_dtype_name(t),
             s->seqs, s->len, s->heads, s->kv_heads, s->e, s->causal, s->window, s->docs);
    free(po);
    free(pl);
    op_free(&f);
    op_free(&b);
}

/* A NaN in one query shows in its own row and lse and nowhere else; in a key, in every query that
 * sees it. */
static void test_nan(int in_key)
{
    static const shape s = {1, 70, 2, 2, 24, 1, 0, 0, 0};
    const int64_t h = 48, bad = 40;
    uint64_t seed = 77;
    int wrong = 0;
    op_case c = {.name = "attention"};
    make_inputs(&c, &s, TT_F32, &seed);
    op_out(&c, tensor(TT_F32, s.len, h, 0), 0);
    op_out(&c, tensor(TT_F32, s.len, s.heads, 0), 0);
    set(&c.in[in_key], bad * h + 3, NAN); /* head 0 */
    op_run(&c, 2, 0);
    for (int64_t i = 0; i < s.len; i++)
        for (int64_t x = 0; x < h; x++) {
            int hit = x < s.e && (in_key ? i >= bad : i == bad);
            wrong += isnan(get(&c.out[0], i * h + x)) != hit;
            wrong += isnan(get(&c.out[1], i * s.heads + x / s.e)) != hit;
        }
    is_int(wrong, 0, "a NaN in a %s reaches exactly the rows that read it",
           in_key ? "key" : "query");
    op_free(&c);
}

/* No tokens at all: nothing is touched. */
static void test_empty(void)
{
    op_case c = {.name = "attention",
                 .attr = {.n_heads = 2, .n_kv_heads = 1, .head_dim = 16, .seq_len = 8}};
    op_in(&c, tensor(TT_F32, 0, 32, 0))->ndim = 2;
    op_in(&c, tensor(TT_F32, 0, 16, 0))->ndim = 2;
    op_in(&c, tensor(TT_F32, 0, 16, 0))->ndim = 2;
    op_in(&c, tensor(TT_I32, 0, 0, 0));
    op_out(&c, tensor(TT_F32, 0, 32, 0), 0)->ndim = 2;
    op_out(&c, tensor(TT_F32, 0, 2, 0), 0)->ndim = 2;
    check_op(&c, "without tokens");
    op_free(&c);
}

int main(void)
{
    int all = getenv("TITAN_LONG") != NULL;
    test_empty();
    test_nan(0);
    test_nan(1);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (all || !shapes[i].long_only) {
            one_shape(&shapes[i], TT_F32);
            one_shape(&shapes[i], TT_BF16);
        }
    return done_testing();
}
