/* See attention_priv.h. */
#include "kernels/cpu/attention_priv.h"

tt_attn tt_attn_of(const tt_attrs *attr, const tt_tensor *q)
{
    int64_t n = tt_rows(q);
    tt_attn a = {.len = attr->seq_len > 0 ? attr->seq_len : n,
                 .heads = attr->n_heads,
                 .kv_heads = attr->n_kv_heads,
                 .e = attr->head_dim,
                 .window = attr->window,
                 .causal = attr->causal,
                 .scale = (float)attr->scale};
    a.seqs = a.len ? n / a.len : 0;
    a.group = a.heads / a.kv_heads;
    a.blocks = tt_div_up(a.len, TT_LANES);
    return a;
}

void tt_attn_block_of(const tt_attn *a, int64_t seq, int64_t block, tt_attn_block *b)
{
    b->first = block * TT_LANES;
    b->count = tt_min64(TT_LANES, a->len - b->first);
    for (int64_t q = 0; q < TT_LANES; q++) {
        int64_t i = b->first + tt_min64(q, b->count - 1);
        int64_t lo = a->doc ? a->doc[seq * a->len + i] : 0, hi = a->causal ? i : a->len - 1;
        if (a->window > 0)
            lo = tt_max64(lo, i - a->window + 1);
        b->lo[q] = (int32_t)lo;
        b->hi[q] = (int32_t)hi;
        b->any_lo = q ? tt_min64(b->any_lo, lo) : lo;
        b->any_hi = q ? tt_max64(b->any_hi, hi) : hi;
        b->all_lo = q ? tt_max64(b->all_lo, lo) : lo;
        b->all_hi = q ? tt_min64(b->all_hi, hi) : hi;
    }
}

const float *tt_attn_rows(const tt_attn *a, const tt_tensor *t, int64_t row, int64_t rows,
                          int64_t heads, int64_t head, float *buf, int64_t *ld)
{
    if (t->dtype == TT_F32) {
        *ld = heads * a->e;
        return (const float *)t->data + tt_attn_at(a, row, heads, head);
    }
    for (int64_t r = 0; r < rows; r++)
        a->s->from_bf16(buf + r * a->e,
                        (const tt_bf16 *)t->data + tt_attn_at(a, row + r, heads, head), a->e);
    *ld = a->e;
    return buf;
}

void tt_attn_transpose(const tt_attn *a, const tt_tensor *t, int64_t row, int64_t count,
                       int64_t heads, int64_t head, float factor, float *out, float *buf)
{
    for (int64_t q = 0; q < count; q++) {
        const float *from = tt_load(a->s, t, tt_attn_at(a, row + q, heads, head), a->e, buf);
        for (int64_t i = 0; i < a->e; i++)
            out[i * TT_LANES + q] = factor * from[i];
    }
    for (int64_t i = 0; count < TT_LANES && i < a->e; i++)
        memset(out + i * TT_LANES + count, 0, (size_t)(TT_LANES - count) * sizeof(float));
}

void tt_attn_untranspose(const tt_attn *a, const tt_tensor *t, int64_t row, int64_t count,
                         int64_t heads, int64_t head, const float *factor, const float *in,
                         float *buf)
{
    for (int64_t q = 0; q < count; q++) {
        int64_t at = tt_attn_at(a, row + q, heads, head);
        float *to = tt_dest(t, at, buf);
        for (int64_t i = 0; i < a->e; i++)
            to[i] = in[i * TT_LANES + q] * factor[q];
        tt_store(a->s, t, at, a->e, buf);
    }
}
