/* What each op demands of its local operands: shapes that fit and types that agree. Used by the verifier. */
#include "graph/ops.h"

#include <string.h>

typedef struct operands {
    const tt_program *p;
    const tt_instr *i;
} operands;

static const tt_value *in(const operands *o, int k)
{
    return &o->p->value[o->i->in[k]];
}

static const tt_value *out(const operands *o, int k)
{
    return &o->p->value[o->i->out[k]];
}

static int same_shape(const tt_value *a, const tt_value *b)
{
    return a->ndim == b->ndim && !memcmp(a->local, b->local, sizeof(int64_t) * (size_t)a->ndim);
}

static int like(const tt_value *a, const tt_value *b)
{
    return same_shape(a, b) && a->dtype == b->dtype;
}

static int is(const tt_value *v, tt_dtype t, int ndim)
{
    return v->dtype == t && v->ndim == ndim;
}

static int64_t rows(const tt_value *v)
{
    return v->local[0];
}

static int64_t cols(const tt_value *v)
{
    return v->ndim > 1 ? v->local[1] : 1;
}

static const char *check_linear(const operands *o)
{
    const tt_value *a = in(o, 0), *b = in(o, 1), *c = out(o, 0);
    if (a->ndim != 2 || b->ndim != 2 || c->ndim != 2 || a->dtype != b->dtype)
        return "a product wants matrices of one type";
    if (o->i->op == TT_OP_linear)
        return cols(a) == cols(b) && rows(c) == rows(a) && cols(c) == rows(b) && c->dtype == a->dtype
                   ? NULL : "y[N,M] = x[N,K] W[M,K]^T";
    if (o->i->op == TT_OP_linear_dx)
        return cols(a) == rows(b) && rows(c) == rows(a) && cols(c) == cols(b) && c->dtype == a->dtype
                   ? NULL : "dx[N,K] = dy[N,M] W[M,K]";
    return rows(a) == rows(b) && rows(c) == cols(a) && cols(c) == cols(b) && c->dtype == TT_F32
               ? NULL : "dW[M,K] f32 = dy[N,M]^T x[N,K]";
}

static const char *check_norm(const operands *o)
{
    switch (o->i->op) {
    case TT_OP_rmsnorm:
        return like(in(o, 0), out(o, 0)) && is(out(o, 1), TT_F32, 1) && rows(out(o, 1)) == rows(in(o, 0)) &&
                       rows(in(o, 1)) == cols(in(o, 0)) && in(o, 1)->dtype == in(o, 0)->dtype
                   ? NULL : "y like x[N,D], rstd[N] f32, w[D] of x's type";
    case TT_OP_rmsnorm_dx:
        return like(in(o, 0), in(o, 1)) && like(in(o, 0), out(o, 0)) && rows(in(o, 2)) == cols(in(o, 0)) &&
                       is(in(o, 3), TT_F32, 1) && rows(in(o, 3)) == rows(in(o, 0))
                   ? NULL : "dx like dy and x, w[D], rstd[N] f32";
    default:
        return like(in(o, 0), in(o, 1)) && is(in(o, 2), TT_F32, 1) && rows(in(o, 2)) == rows(in(o, 0)) &&
                       is(out(o, 0), TT_F32, 1) && rows(out(o, 0)) == cols(in(o, 0))
                   ? NULL : "dw[D] f32 from dy and x alike, rstd[N] f32";
    }
}

static const char *check_fused(const operands *o)
{
    const tt_value *y = out(o, 0);
    switch (o->i->op) {
    case TT_OP_add_rmsnorm:
        return like(in(o, 0), in(o, 1)) && like(in(o, 0), y) && like(y, out(o, 1)) && in(o, 2)->dtype == y->dtype &&
                       rows(in(o, 2)) == cols(y) && is(out(o, 2), TT_F32, 1) && rows(out(o, 2)) == rows(y)
                   ? NULL : "y and n like a and b[N,D], rstd[N] f32, w[D] of their type";
    case TT_OP_rmsnorm_dx_add:
        return like(in(o, 0), in(o, 1)) && like(in(o, 0), in(o, 4)) && like(in(o, 0), y) &&
                       rows(in(o, 2)) == cols(y) && in(o, 2)->dtype == y->dtype && is(in(o, 3), TT_F32, 1) &&
                       rows(in(o, 3)) == rows(y)
                   ? NULL : "dx like dy, x and residual, w[D], rstd[N] f32";
    default:
        if (o->i->n_in < 2 || o->i->n_in > 16 || o->i->n_in % 2)
            return "1 to 8 pairs dy, W";
        for (int k = 0; k < o->i->n_in; k += 2) {
            const tt_value *dy = in(o, k), *w = in(o, k + 1);
            if (dy->ndim != 2 || w->ndim != 2 || y->ndim != 2 || dy->dtype != y->dtype || w->dtype != y->dtype ||
                cols(dy) != rows(w) || rows(dy) != rows(y) || cols(w) != cols(y))
                return "dx[N,K] = sum of dy[N,M] W[M,K]";
        }
        return NULL;
    }
}

static const char *check_attention(const operands *o)
{
    const tt_attrs *a = &o->i->attr;
    const tt_value *q = in(o, 0), *k = in(o, 1), *v = in(o, 2), *doc = in(o, 3);
    if (!like(k, v) || rows(k) != rows(q) || k->dtype != q->dtype || !is(doc, TT_I32, 1) || rows(doc) != rows(q))
        return "q, k, v over the same tokens in one type, doc[N] i32";
    if (a->head_dim < 1 || cols(q) != (int64_t)a->n_heads * a->head_dim || cols(k) != (int64_t)a->n_kv_heads * a->head_dim)
        return "columns are whole heads";
    if (a->seq_len < 1 || rows(q) % a->seq_len)
        return "rows are whole sequences";
    if (o->i->op == TT_OP_attention)
        return like(out(o, 0), q) && is(out(o, 1), TT_F32, 2) && rows(out(o, 1)) == rows(q) &&
                       cols(out(o, 1)) == a->n_heads
                   ? NULL : "o like q, lse[N,H] f32";
    return like(in(o, 4), q) && is(in(o, 5), TT_F32, 2) && like(in(o, 6), q) && like(out(o, 0), q) &&
                   like(out(o, 1), k) && like(out(o, 2), v)
               ? NULL : "o, do, dq like q; dk like k; dv like v";
}

static const char *check_loss(const operands *o)
{
    const tt_value *a = in(o, 0), *b = in(o, 1);
    switch (o->i->op) {
    case TT_OP_ce_stats:
        return is(b, TT_I32, 1) && rows(b) == rows(a) && out(o, 0)->dtype == TT_F32 &&
                       tt_value_elements(out(o, 0)) == 3 * rows(a) && o->i->attr.vocab_valid <= cols(a)
                   ? NULL : "stats[3,N] f32 of logits[N,V], targets[N] i32";
    case TT_OP_ce_loss:
        return a->dtype == TT_F32 && is(b, TT_I32, 1) && a->ndim == 3 && a->local[2] == rows(b) &&
                       is(out(o, 0), TT_F64, 1)
                   ? NULL : "loss[1] f64 of all[R,3,N] f32, targets[N] i32";
    default:
        return like(a, out(o, 0)) && b->dtype == TT_F32 && is(in(o, 2), TT_I32, 1) && rows(in(o, 2)) == rows(a) &&
                       is(in(o, 3), TT_F32, 1)
                   ? NULL : "dlogits like logits[N,V], all[R,3,N] f32, targets[N] i32, inv_valid[1] f32";
    }
}

static const char *check_embedding(const operands *o)
{
    if (!is(in(o, 0), TT_I32, 1))
        return "tokens[N] i32";
    const tt_value *table = o->i->op == TT_OP_embedding ? in(o, 1) : out(o, 0);
    const tt_value *x = o->i->op == TT_OP_embedding ? out(o, 0) : in(o, 1);
    if (rows(x) != rows(in(o, 0)) || cols(x) != cols(table) || o->i->attr.vocab_valid > rows(table))
        return "x[N,D] of a table[V,D]";
    return table->dtype == (o->i->op == TT_OP_embedding ? x->dtype : TT_F32) ? NULL : "types of table and rows";
}

static const char *check_comm(const operands *o)
{
    const int n = tt_mesh_group_size(&o->p->mesh, o->i->attr.axes);
    if (n < 2 || o->i->n_in != o->i->n_out)
        return "a group of several ranks, one output an input";
    for (int k = 0; k < o->i->n_in; k++) {
        const int64_t a = tt_value_elements(in(o, k)), b = tt_value_elements(out(o, k));
        if (in(o, k)->dtype != out(o, k)->dtype)
            return "one type";
        const size_t whole = o->p->value[tt_value_root(o->p, o->i->out[k])].bytes / tt_dtype_size(out(o, k)->dtype);
        if (o->i->op == TT_OP_all_gather && (a * n < b || (size_t)(a * n) > whole))
            return "gathered shards fill the result";
        if (o->i->op == TT_OP_reduce_scatter && a != b * n)
            return "shards times ranks are the operand";
        if (o->i->op == TT_OP_all_reduce && a != b)
            return "the result is like the operand";
    }
    return NULL;
}

static const char *check_adamw(const operands *o)
{
    for (int k = 0; k < 3; k++)
        if (!like(in(o, 0), out(o, k)) || out(o, k)->dtype != TT_F32)
            return "master and moments like the gradient, f32";
    return is(in(o, 1), TT_F32, 1) && is(in(o, 2), TT_F32, 1) && is(in(o, 3), TT_I32, 1) && is(in(o, 4), TT_I32, 1)
               ? NULL : "coef, lr f32; step, bad i32";
}

/* Everything element-wise: all operands alike, but for what the op changes. */
static const char *check_alike(const operands *o, int types_too)
{
    const tt_value *first = o->i->n_in ? in(o, 0) : out(o, 0);
    for (int k = 0; k < o->i->n_in + o->i->n_out; k++) {
        const tt_value *v = &o->p->value[o->i->in[k]];
        if (tt_value_elements(v) != tt_value_elements(first) || (types_too && v->dtype != first->dtype))
            return "operands alike";
    }
    return NULL;
}

const char *tt_op_check(const tt_program *p, const tt_instr *i)
{
    const operands o = {p, i};
    switch (i->op) {
    case TT_OP_linear:
    case TT_OP_linear_dx:
    case TT_OP_linear_dw:
        return check_linear(&o);
    case TT_OP_rmsnorm:
    case TT_OP_rmsnorm_dx:
    case TT_OP_rmsnorm_dw:
        return check_norm(&o);
    case TT_OP_add_rmsnorm:
    case TT_OP_rmsnorm_dx_add:
    case TT_OP_linear_dx_sum:
        return check_fused(&o);
    case TT_OP_attention:
    case TT_OP_attention_bwd:
        return check_attention(&o);
    case TT_OP_ce_stats:
    case TT_OP_ce_loss:
    case TT_OP_ce_grad:
        return check_loss(&o);
    case TT_OP_embedding:
    case TT_OP_embedding_dw:
        return check_embedding(&o);
    case TT_OP_rope:
        return like(in(&o, 0), out(&o, 0)) && in(&o, 1)->dtype == TT_F32 && rows(in(&o, 1)) == rows(in(&o, 0)) &&
                       cols(in(&o, 1)) == i->attr.head_dim && cols(in(&o, 0)) % i->attr.head_dim == 0
                   ? NULL : "y like x[N,h*E], cs[N,E] f32";
    case TT_OP_add:
    case TT_OP_swiglu:
    case TT_OP_swiglu_bwd:
    case TT_OP_copy:
        return check_alike(&o, 1);
    case TT_OP_cast:
    case TT_OP_accumulate:
        return check_alike(&o, 0);
    case TT_OP_adamw:
        return check_adamw(&o);
    default:
        return tt_op_is_comm(i->op) ? check_comm(&o) : NULL;
    }
}
