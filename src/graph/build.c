/* See build.h. */
#include "graph/build.h"

static tt_instr *emit(tt_builder *b, int op, int n_in, const tt_vid *in, int n_out, const tt_vid *out)
{
    tt_instr *i = tt_emit(b->p, b->list, op, n_in, in, n_out, out);
    i->block = b->block;
    i->role = TT_ROLE_F;
    return i;
}

static const tt_value *val(const tt_builder *b, tt_vid v)
{
    return &b->p->value[v];
}

static tt_vid new2(tt_builder *b, const char *name, tt_dtype t, int64_t rows, int64_t cols)
{
    return tt_value_new(b->p, name, t, 2, (int64_t[]){rows, cols});
}

/* The residual stream lies on the tp axis as the builder was told. */
static void pin_residual(tt_builder *b, tt_vid v)
{
    b->p->value[v].pinned = 1;
    b->p->value[v].pin = b->residual_tp;
}

tt_vid tt_build_embedding(tt_builder *b, tt_vid tokens, tt_vid w)
{
    tt_vid x = new2(b, "x", b->p->compute_dtype, val(b, tokens)->shape[0], val(b, w)->shape[1]);
    emit(b, TT_OP_embedding, 2, (tt_vid[]){tokens, w}, 1, &x);
    pin_residual(b, x);
    return x;
}

tt_vid tt_build_rmsnorm(tt_builder *b, tt_vid x, tt_vid w, double eps)
{
    TT_ASSERT(val(b, w)->shape[0] == val(b, x)->shape[1]);
    int64_t n = val(b, x)->shape[0];
    tt_vid y = new2(b, "norm", val(b, x)->dtype, n, val(b, x)->shape[1]);
    tt_vid rstd = tt_value_new(b->p, "rstd", TT_F32, 1, &n);
    emit(b, TT_OP_rmsnorm, 2, (tt_vid[]){x, w}, 2, (tt_vid[]){y, rstd})->attr.eps = eps;
    return y;
}

tt_vid tt_build_linear(tt_builder *b, tt_vid x, tt_vid w)
{
    TT_ASSERT(val(b, w)->shape[1] == val(b, x)->shape[1]);
    tt_vid y = new2(b, "linear", val(b, x)->dtype, val(b, x)->shape[0], val(b, w)->shape[0]);
    emit(b, TT_OP_linear, 2, (tt_vid[]){x, w}, 1, &y);
    return y;
}

tt_vid tt_build_rope_table(tt_builder *b, tt_vid positions, tt_vid inv_freq)
{
    tt_vid cs = new2(b, "rope_cs", TT_F32, val(b, positions)->shape[0], 2 * val(b, inv_freq)->shape[0]);
    emit(b, TT_OP_rope_table, 2, (tt_vid[]){positions, inv_freq}, 1, &cs)->attr.scale = 1;
    return cs;
}

tt_vid tt_build_rope(tt_builder *b, tt_vid x, tt_vid cs, int head_dim, int half_split)
{
    TT_ASSERT(val(b, x)->shape[1] % head_dim == 0 && val(b, cs)->shape[1] == head_dim);
    tt_vid y = new2(b, "rope", val(b, x)->dtype, val(b, x)->shape[0], val(b, x)->shape[1]);
    tt_instr *i = emit(b, TT_OP_rope, 2, (tt_vid[]){x, cs}, 1, &y);
    i->attr.head_dim = head_dim;
    i->attr.half_split = half_split;
    return y;
}

tt_vid tt_build_attention(tt_builder *b, tt_vid q, tt_vid k, tt_vid v, tt_vid doc_start, const tt_attention_opts *o)
{
    int64_t n = val(b, q)->shape[0], heads = val(b, q)->shape[1] / o->head_dim;
    tt_vid out = new2(b, "attention", val(b, q)->dtype, n, val(b, q)->shape[1]);
    tt_vid lse = new2(b, "lse", TT_F32, n, heads);
    tt_instr *i = emit(b, TT_OP_attention, 4, (tt_vid[]){q, k, v, doc_start}, 2, (tt_vid[]){out, lse});
    i->attr.head_dim = o->head_dim;
    i->attr.seq_len = o->seq_len;
    i->attr.window = o->window;
    i->attr.causal = o->causal;
    i->attr.scale = o->scale;
    return out;
}

tt_vid tt_build_swiglu(tt_builder *b, tt_vid g, tt_vid u)
{
    tt_vid h = new2(b, "swiglu", val(b, g)->dtype, val(b, g)->shape[0], val(b, g)->shape[1]);
    emit(b, TT_OP_swiglu, 2, (tt_vid[]){g, u}, 1, &h);
    return h;
}

tt_vid tt_build_add(tt_builder *b, tt_vid x, tt_vid y)
{
    tt_vid out = new2(b, "residual", val(b, x)->dtype, val(b, x)->shape[0], val(b, x)->shape[1]);
    emit(b, TT_OP_add, 2, (tt_vid[]){x, y}, 1, &out);
    pin_residual(b, out);
    return out;
}

tt_vid tt_build_head_loss(tt_builder *b, tt_vid x, tt_vid w, tt_vid targets, tt_vid inv_valid, tt_vid loss)
{
    tt_vid dx = new2(b, "d.head_in", val(b, x)->dtype, val(b, x)->shape[0], val(b, x)->shape[1]);
    tt_vid dw = new2(b, "d.head", TT_F32, val(b, w)->shape[0], val(b, w)->shape[1]);
    tt_instr *i = emit(b, TT_OP_head_loss, 4, (tt_vid[]){x, w, targets, inv_valid}, 3, (tt_vid[]){dx, dw, loss});
    i->grad_of = val(b, w)->param;
    i->acc = TT_ACC_CALL;
    return dx;
}

void tt_build_head_eval(tt_builder *b, tt_vid x, tt_vid w, tt_vid targets, tt_vid loss)
{
    emit(b, TT_OP_head_eval, 3, (tt_vid[]){x, w, targets}, 1, &loss)->acc = TT_ACC_CALL;
}

tt_vid tt_build_select_row(tt_builder *b, tt_vid x, tt_vid index)
{
    tt_vid y = new2(b, "row", val(b, x)->dtype, 1, val(b, x)->shape[1]);
    emit(b, TT_OP_select_row, 2, (tt_vid[]){x, index}, 1, &y);
    return y;
}
