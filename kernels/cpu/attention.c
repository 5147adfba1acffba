/* attention, forward: softmax(scale q k^T + mask) v without the matrix of scores.
 *
 * A task is 64 queries of one head; it walks over tiles of 64 keys with a running maximum and sum
 * per query, and skips the tiles that none of its queries sees. All in fp32, in a workspace of some
 * hundred KiB per thread that stays in the second cache. Source of the running softmax: Milakov &
 * Gimelshein 2018, arXiv:1805.02867; of the tiling: Dao et al. 2022, arXiv:2205.14135. */
#include <math.h>

#include "kernels/cpu/attention_priv.h"

typedef struct job {
    tt_attn a;
    const tt_kernel_args *args;
    int64_t floats; /* workspace of one thread */
} job;

/* Per thread: queries and output transposed, K and V tiles of bf16 widened (fp32 ones are read
 * where they lie, which measured faster than copying them together), a tile of scores, one row. */
static int64_t floats_per_thread(int64_t e, tt_dtype dtype)
{
    int64_t wide = dtype == TT_F32 ? 0 : 2 * TT_KEYS * e;
    return (2 * e * TT_LANES + wide + TT_KEYS * TT_LANES + e + 15) / 16 * 16;
}

static void one_block(const job *j, int64_t seq, int64_t head, int64_t block, float *ws)
{
    const tt_attn *a = &j->a;
    const tt_tensor *q = &j->args->in[0], *k = &j->args->in[1], *v = &j->args->in[2];
    float *qt = ws, *ot = qt + a->e * TT_LANES, *score = ot + a->e * TT_LANES,
          *row = score + TT_KEYS * TT_LANES;
    float *kb = row + a->e, *vb = kb + TT_KEYS * a->e;
    float m[TT_LANES], l[TT_LANES] = {0}, alpha[TT_LANES];
    int64_t start = seq * a->len, kv_head = head / a->group, ldk, ldv;
    tt_attn_block b;
    tt_attn_block_of(a, seq, block, &b);
    for (int i = 0; i < TT_LANES; i++)
        m[i] = -1e30f; /* finite, so that a fully masked tile gives exp(-inf) = 0 and not NaN */
    tt_attn_transpose(a, q, start + b.first, b.count, a->heads, head, a->scale, qt, row);
    memset(ot, 0, (size_t)(a->e * TT_LANES) * sizeof(float));
    for (int64_t key = b.any_lo / TT_KEYS * TT_KEYS; key <= b.any_hi; key += TT_KEYS) {
        int64_t n = tt_min64(TT_KEYS, a->len - key);
        const float *kf = tt_attn_rows(a, k, start + key, n, a->kv_heads, kv_head, kb, &ldk);
        const float *vf = tt_attn_rows(a, v, start + key, n, a->kv_heads, kv_head, vb, &ldv);
        a->s->product(&(tt_block_product){.c = score,
                                          .ldc = TT_LANES,
                                          .a = kf,
                                          .a_row = ldk,
                                          .a_term = 1,
                                          .b = qt,
                                          .ldb = TT_LANES,
                                          .rows = n,
                                          .lanes = TT_LANES,
                                          .k = a->e});
        if (a->s->softmax_tile(score, n, key, b.lo, b.hi, key < b.all_lo || key + n - 1 > b.all_hi,
                               m, l, alpha))
            a->s->scale_lanes(ot, a->e, alpha);
        a->s->product(&(tt_block_product){.c = ot,
                                          .ldc = TT_LANES,
                                          .a = vf,
                                          .a_row = 1,
                                          .a_term = ldv,
                                          .b = score,
                                          .ldb = TT_LANES,
                                          .rows = a->e,
                                          .lanes = TT_LANES,
                                          .k = n,
                                          .accumulate = 1});
    }
    float *lse = j->args->out[1].data;
    for (int64_t i = 0; i < b.count; i++) {
        lse[(start + b.first + i) * a->heads + head] = (float)((double)m[i] + log((double)l[i]));
        alpha[i] = 1.0f / l[i];
    }
    tt_attn_untranspose(a, &j->args->out[0], start + b.first, b.count, a->heads, head, alpha, ot,
                        row);
}

/* Head by head, so that its K and V stay near; late blocks first, which see most keys under a
 * causal mask, so that threads finish together. */
static void run_tasks(void *ctx, int64_t begin, int64_t end, int thread)
{
    const job *j = ctx;
    for (int64_t t = begin; t < end; t++) {
        int64_t unit = t / j->a.blocks, block = j->a.blocks - 1 - t % j->a.blocks;
        one_block(j, unit / j->a.heads, unit % j->a.heads, block,
                  (float *)j->args->workspace + thread * j->floats);
    }
}

void tt_cpu_attention(const tt_kernel_args *args)
{
    job j = {.a = tt_attn_of(args->attr, &args->in[0]), .args = args};
    j.a.s = tt_pool_simd(args->pool);
    j.a.doc = args->n_in > 3 ? args->in[3].data : NULL;
    j.floats = floats_per_thread(j.a.e, args->in[0].dtype);
    TT_ASSERT(args->workspace_bytes >=
              (size_t)(tt_pool_threads(args->pool) * j.floats) * sizeof(float));
    tt_pool_run_uneven(args->pool, run_tasks, &j, j.a.seqs * j.a.heads * j.a.blocks);
}

size_t tt_cpu_attention_workspace(const tt_shapes *s)
{
    return (size_t)(s->n_threads * floats_per_thread(s->attr->head_dim, s->in[0].dtype)) *
           sizeof(float);
}
