/* The loss over the vocabulary, lowered: chunk by chunk over tokens, so that full logits never exist.
 *
 * Per chunk: logits = x W^T on this rank's vocabulary rows; their maximum, sum of exponentials and target logit; over tp
 * one gather of these three numbers per token merges the shards; then loss, dlogits in place, dx and dW. */
#include "passes/shard.h"

typedef struct chunk {
    int64_t first, rows;
    int index;
} chunk;

static tt_vid rows_view(tt_program *p, tt_vid v, const chunk *c)
{
    tt_value t = p->value[v];
    int64_t shape[2] = {c->rows, t.ndim > 1 ? t.local[1] : 1};
    int64_t row_bytes = shape[1] * (int64_t)tt_dtype_size(t.dtype);
    return tt_value_view(p, v, c->first * row_bytes, t.name, t.dtype, t.ndim, shape);
}

/* Stats of all vocabulary shards: [R,3,rows]. */
static tt_vid merged_stats(tt_sharder *s, const tt_instr *i, const chunk *c, tt_vid stats)
{
    tt_program *p = tt_shard_program(s);
    int n = p->mesh.degree[TT_TP];
    if (n == 1)
        return stats;
    tt_vid all = tt_value_new(p, "ce_all", TT_F32, 3, (int64_t[]){n, 3, c->rows});
    tt_instr *g = tt_shard_emit(s, i, TT_OP_all_gather, 1, &stats, 1, &all);
    g->attr.axes = TT_MASK(TT_TP);
    g->queue = TT_Q_TP;
    return all;
}

static tt_instr *emit(tt_sharder *s, const tt_instr *i, const chunk *c, int op, int n_in, const tt_vid *in, tt_vid out)
{
    tt_instr *o = tt_shard_emit(s, i, op, n_in, in, 1, &out);
    int param = tt_shard_program(s)->value[i->in[1]].param;
    tt_vocab_range(tt_shard_program(s), param, &o->attr.vocab_start, &o->attr.vocab_valid);
    o->attr.index = c->index;
    o->acc = c->index ? TT_ACC_ADD : TT_ACC_CALL;
    return o;
}

static void lower_chunk(tt_sharder *s, const tt_instr *i, const chunk *c)
{
    tt_program *p = tt_shard_program(s);
    const int train = i->op == TT_OP_head_loss;
    tt_vid w = i->in[1];
    tt_vid x = rows_view(p, i->in[0], c), targets = rows_view(p, i->in[2], c);
    tt_vid logits = tt_value_new(p, "logits", p->value[x].dtype, 2, (int64_t[]){c->rows, p->value[w].local[0]});
    tt_vid stats = tt_value_new(p, "ce_stats", TT_F32, 3, (int64_t[]){1, 3, c->rows});
    emit(s, i, c, TT_OP_linear, 2, (tt_vid[]){x, w}, logits);
    emit(s, i, c, TT_OP_ce_stats, 2, (tt_vid[]){logits, targets}, stats);
    tt_vid all = merged_stats(s, i, c, stats);
    emit(s, i, c, TT_OP_ce_loss, 2, (tt_vid[]){all, targets}, i->out[train ? 2 : 0]);
    if (!train)
        return;
    emit(s, i, c, TT_OP_ce_grad, 4, (tt_vid[]){logits, all, targets, i->in[3]}, logits);
    tt_vid dx = rows_view(p, i->out[0], c);
    emit(s, i, c, TT_OP_linear_dx, 2, (tt_vid[]){logits, w}, dx)->role = TT_ROLE_I;
    tt_instr *dw = emit(s, i, c, TT_OP_linear_dw, 2, (tt_vid[]){logits, x}, i->out[1]);
    dw->role = TT_ROLE_W;
    dw->grad_of = i->grad_of;
}

void tt_lower_loss(tt_sharder *s, const tt_instr *i)
{
    tt_program *p = tt_shard_program(s);
    int64_t n = p->value[i->in[0]].local[0];
    int64_t row_bytes = p->value[i->in[1]].local[0] * (int64_t)tt_dtype_size(p->value[i->in[0]].dtype);
    int64_t most = tt_shard_options(s)->logits_bytes_max / row_bytes;
    if (most < 16)
        most = 16;
    int64_t chunks = tt_ceil_div(n, most);
    int64_t rows = tt_ceil_div(tt_ceil_div(n, chunks), 16) * 16; /* 64-byte aligned views */
    for (chunk c = {0}; c.first < n; c.first += rows, c.index++) {
        c.rows = n - c.first < rows ? n - c.first : rows;
        lower_chunk(s, i, &c);
    }
}
