/* attention, backward. With s = scale q k, p = exp(s - lse) and delta = sum(do o) per query:
 *   dv = p^T do,   dp = do v^T,   ds = scale p (dp - delta),   dq = ds k,   dk = ds^T q.
 *
 * A unit is one kv head of one sequence with the query heads that read it. Its work items are
 * blocks of 64 queries; an item walks over tiles of keys as the forward does and recomputes p. dq
 * belongs to the item alone; dk and dv are summed over items, so a unit is one task, or `parts`
 * tasks with sums of their own when there are more threads than units. The parts are added in order
 * at the end: nobody shares a sum, and its order depends on the thread count only. */
#include "kernels/cpu/attention_priv.h"

typedef struct job {
    tt_attn a;
    const tt_kernel_args *args;
    int64_t parts;
    int64_t ep;     /* head dim rounded up to whole vectors */
    int direct;     /* dk and dv are summed where they belong */
    int64_t floats; /* workspace of one thread */
    float *sums;    /* [units, parts, 2, len, ep] unless direct */
} job;

/* Pieces of a thread's workspace. */
typedef struct scratch {
    float *qt, *dot, *dqt; /* q, do, dq transposed [e, lanes] */
    float *score, *dscore; /* [keys, lanes] */
    float *q, *dout;       /* plain rows [lanes, ep] */
    float *k, *v;          /* widened tiles [keys, e] */
    float *row;
} scratch;

static int64_t padded(int64_t e)
{
    return (e + 15) / 16 * 16;
}

static int64_t floats_per_thread(int64_t e)
{
    return 3 * e * TT_LANES + 2 * TT_KEYS * TT_LANES + 2 * TT_LANES * padded(e) + 2 * TT_KEYS * e +
           padded(e);
}

static scratch lay_out(float *ws, int64_t e, int64_t ep)
{
    scratch s;
    s.qt = ws;
    s.dot = s.qt + e * TT_LANES;
    s.dqt = s.dot + e * TT_LANES;
    s.score = s.dqt + e * TT_LANES;
    s.dscore = s.score + TT_KEYS * TT_LANES;
    s.q = s.dscore + TT_KEYS * TT_LANES;
    s.dout = s.q + TT_LANES * ep;
    s.k = s.dout + TT_LANES * ep;
    s.v = s.k + TT_KEYS * e;
    s.row = s.v + TT_KEYS * e;
    return s;
}

/* The smallest number of parts that keeps the threads at least 80 % busy; at most one per item. */
static int64_t choose_parts(const tt_attn *a, int64_t threads)
{
    int64_t units = a->seqs * a->kv_heads, items = a->group * a->blocks, parts = 1;
    while (parts < items && parts < threads &&
           10 * units * parts < 8 * tt_div_up(units * parts, threads) * threads)
        parts++;
    return parts;
}

static int is_direct(const tt_attn *a, int64_t parts, tt_dtype dtype)
{
    return parts == 1 && dtype == TT_F32 && a->e % 16 == 0;
}

/* Rows [count, ep] of a head with zeros behind e; the tensor itself where that is what it looks
 * like. */
static const float *padded_rows(const job *j, const tt_tensor *t, int64_t row, int64_t count,
                                int64_t head, float *buf, int64_t *ld)
{
    const tt_attn *a = &j->a;
    if (a->e == j->ep)
        return tt_attn_rows(a, t, row, count, a->heads, head, buf, ld);
    for (int64_t r = 0; r < count; r++) {
        const float *from =
            tt_load(a->s, t, tt_attn_at(a, row + r, a->heads, head), a->e, buf + r * j->ep);
        if (from != buf + r * j->ep)
            memcpy(buf + r * j->ep, from, (size_t)a->e * sizeof(float));
        memset(buf + r * j->ep + a->e, 0, (size_t)(j->ep - a->e) * sizeof(float));
    }
    *ld = j->ep;
    return buf;
}

static void deltas(const job *j, int64_t row, int64_t count, int64_t head, const scratch *s,
                   float *lse, float *delta)
{
    const tt_attn *a = &j->a;
    for (int64_t i = 0; i < TT_LANES; i++)
        lse[i] = delta[i] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = tt_attn_at(a, row + i, a->heads, head);
        lse[i] = ((const float *)j->args->in[5].data)[(row + i) * a->heads + head];
        delta[i] = a->s->dot(tt_load(a->s, &j->args->in[4], at, a->e, s->row),
                             tt_load(a->s, &j->args->in[6], at, a->e, s->q), a->e);
    }
}

/* Where the sums of dk and dv start for key 0 of a unit, and their row length. */
typedef struct sums {
    float *dk, *dv;
    int64_t ld;
} sums;

static void one_item(const job *j, int64_t seq, int64_t kv_head, int64_t head, int64_t block,
                     const scratch *s, const sums *to)
{
    const tt_attn *a = &j->a;
    const tt_simd *f = a->s;
    const tt_tensor *in = j->args->in;
    float lse[TT_LANES], delta[TT_LANES], one[TT_LANES];
    int64_t start = seq * a->len, ldk, ldv, ldq, ldo;
    tt_attn_block b;
    tt_attn_block_of(a, seq, block, &b);
    int64_t row = start + b.first;
    deltas(j, row, b.count, head, s, lse, delta);
    tt_attn_transpose(a, &in[0], row, b.count, a->heads, head, a->scale, s->qt, s->row);
    tt_attn_transpose(a, &in[6], row, b.count, a->heads, head, 1.0f, s->dot, s->row);
    const float *q = padded_rows(j, &in[0], row, b.count, head, s->q, &ldq);
    const float *dout = padded_rows(j, &in[6], row, b.count, head, s->dout, &ldo);
    memset(s->dqt, 0, (size_t)(a->e * TT_LANES) * sizeof(float));
    for (int64_t key = b.any_lo / TT_KEYS * TT_KEYS; key <= b.any_hi; key += TT_KEYS) {
        int64_t n = tt_min64(TT_KEYS, a->len - key);
        const float *k = tt_attn_rows(a, &in[1], start + key, n, a->kv_heads, kv_head, s->k, &ldk);
        const float *v = tt_attn_rows(a, &in[2], start + key, n, a->kv_heads, kv_head, s->v, &ldv);
        f->product(&(tt_block_product){.c = s->score,
                                       .ldc = TT_LANES,
                                       .a = k,
                                       .a_row = ldk,
                                       .a_term = 1,
                                       .b = s->qt,
                                       .ldb = TT_LANES,
                                       .rows = n,
                                       .lanes = TT_LANES,
                                       .k = a->e});
        f->product(&(tt_block_product){.c = s->dscore,
                                       .ldc = TT_LANES,
                                       .a = v,
                                       .a_row = ldv,
                                       .a_term = 1,
                                       .b = s->dot,
                                       .ldb = TT_LANES,
                                       .rows = n,
                                       .lanes = TT_LANES,
                                       .k = a->e});
        f->softmax_tile_bwd(s->score, s->dscore, n, key, b.lo, b.hi,
                            key < b.all_lo || key + n - 1 > b.all_hi, lse, delta, a->scale);
        f->product(&(tt_block_product){.c = s->dqt,
                                       .ldc = TT_LANES,
                                       .a = k,
                                       .a_row = 1,
                                       .a_term = ldk,
                                       .b = s->dscore,
                                       .ldb = TT_LANES,
                                       .rows = a->e,
                                       .lanes = TT_LANES,
                                       .k = n,
                                       .accumulate = 1});
        f->product(&(tt_block_product){.c = to->dv + key * to->ld,
                                       .ldc = to->ld,
                                       .a = s->score,
                                       .a_row = TT_LANES,
                                       .a_term = 1,
                                       .b = dout,
                                       .ldb = ldo,
                                       .rows = n,
                                       .lanes = j->ep,
                                       .k = b.count,
                                       .accumulate = 1});
        f->product(&(tt_block_product){.c = to->dk + key * to->ld,
                                       .ldc = to->ld,
                                       .a = s->dscore,
                                       .a_row = TT_LANES,
                                       .a_term = 1,
                                       .b = q,
                                       .ldb = ldq,
                                       .rows = n,
                                       .lanes = j->ep,
                                       .k = b.count,
                                       .accumulate = 1});
    }
    for (int i = 0; i < TT_LANES; i++)
        one[i] = 1.0f;
    tt_attn_untranspose(a, &j->args->out[0], row, b.count, a->heads, head, one, s->dqt, s->row);
}

static sums sums_of(const job *j, int64_t unit, int64_t part)
{
    const tt_attn *a = &j->a;
    if (j->direct) {
        int64_t at = tt_attn_at(a, unit / a->kv_heads * a->len, a->kv_heads, unit % a->kv_heads);
        return (sums){(float *)j->args->out[1].data + at, (float *)j->args->out[2].data + at,
                      a->kv_heads * a->e};
    }
    float *dk = j->sums + (unit * j->parts + part) * 2 * a->len * j->ep;
    return (sums){dk, dk + a->len * j->ep, j->ep};
}

static void run_tasks(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_attn *a = &j->a;
    scratch s = lay_out((float *)j->args->workspace + thread * j->floats, a->e, j->ep);
    for (int64_t t = begin; t < end; t++) {
        int64_t unit = t / j->parts, part = t % j->parts, kv_head = unit % a->kv_heads;
        sums to = sums_of(j, unit, part);
        for (int64_t i = 0; i < a->len; i++) {
            memset(to.dk + i * to.ld, 0, (size_t)j->ep * sizeof(float));
            memset(to.dv + i * to.ld, 0, (size_t)j->ep * sizeof(float));
        }
        for (int64_t item = part; item < a->group * a->blocks; item += j->parts)
            one_item(j, unit / a->kv_heads, kv_head, kv_head * a->group + item / a->blocks,
                     item % a->blocks, &s, &to);
    }
}

/* Add the parts of one key of one unit in order and store the row. */
static void gather_rows(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    const tt_attn *a = &j->a;
    (void)thread;
    for (int64_t t = begin; t < end; t++) {
        int64_t unit = t / a->len, key = t % a->len;
        int64_t at =
            tt_attn_at(a, unit / a->kv_heads * a->len + key, a->kv_heads, unit % a->kv_heads);
        sums first = sums_of(j, unit, 0);
        float *dk = first.dk + key * first.ld, *dv = first.dv + key * first.ld;
        for (int64_t part = 1; part < j->parts; part++) {
            sums more = sums_of(j, unit, part);
            a->s->add(dk, dk, more.dk + key * more.ld, a->e);
            a->s->add(dv, dv, more.dv + key * more.ld, a->e);
        }
        const tt_tensor *out = j->args->out;
        if (out[1].dtype == TT_F32) {
            memcpy((float *)out[1].data + at, dk, (size_t)a->e * sizeof(float));
            memcpy((float *)out[2].data + at, dv, (size_t)a->e * sizeof(float));
        }
        tt_store(a->s, &out[1], at, a->e, dk);
        tt_store(a->s, &out[2], at, a->e, dv);
    }
}

void tt_cpu_attention_bwd(const tt_kernel_args *args)
{
    job j = {.a = tt_attn_of(args->attr, &args->in[0]), .args = args};
    int64_t threads = tt_pool_threads(args->pool), units = j.a.seqs * j.a.kv_heads;
    j.a.s = tt_pool_simd(args->pool);
    j.a.doc = args->in[3].data;
    j.parts = choose_parts(&j.a, threads);
    j.ep = padded(j.a.e);
    j.direct = is_direct(&j.a, j.parts, args->out[1].dtype);
    j.floats = floats_per_thread(j.a.e);
    j.sums = (float *)args->workspace + threads * j.floats;
    TT_ASSERT(args->workspace_bytes >=
              tt_cpu_attention_bwd_workspace(&(tt_shapes){args->attr, args->in, args->out,
                                                          args->n_in, args->n_out, (int)threads}));
    tt_pool_run_uneven(args->pool, run_tasks, &j, units * j.parts);
    if (!j.direct)
        tt_pool_run(args->pool, gather_rows, &j, units * j.a.len);
}

size_t tt_cpu_attention_bwd_workspace(const tt_shapes *s)
{
    tt_attn a = tt_attn_of(s->attr, &s->in[0]);
    int64_t parts = choose_parts(&a, s->n_threads), floats = s->n_threads * floats_per_thread(a.e);
    if (!is_direct(&a, parts, s->out[1].dtype))
        floats += a.seqs * a.kv_heads * parts * 2 * a.len * padded(a.e);
    return (size_t)floats * sizeof(float);
}
