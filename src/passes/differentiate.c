/* See differentiate.h. The rule of each op stands in a function named after it, with the formula it implements. */
#include "passes/differentiate.h"

#include <stdlib.h>
#include <string.h>

typedef struct diff {
    tt_program *p;
    tt_instr_list *list;
    tt_vid *grad;      /* gradient of each forward value, -1 = none yet */
    char *needs_grad;  /* depends on a parameter */
    int n_values;      /* when the pass began: values made later have no gradient of their own */
    int block;
} diff;

static tt_instr *emit(diff *d, int op, tt_role role, int n_in, const tt_vid *in, tt_vid out)
{
    tt_instr *i = tt_emit(d->p, d->list, op, n_in, in, 1, &out);
    i->block = d->block;
    i->role = role;
    return i;
}

/* A gradient value like v: its shape, in its dtype (parameters: fp32). */
static tt_vid like(diff *d, tt_vid v)
{
    tt_value t = d->p->value[v];
    const char *name = tt_arena_printf(d->p->arena, "d.%s", t.name);
    return tt_value_new(d->p, name, t.param >= 0 ? TT_F32 : t.dtype, t.ndim, t.shape);
}

/* g is one more contribution to the gradient of v. */
static void contribute(diff *d, tt_vid v, tt_vid g)
{
    if (d->grad[v] < 0) {
        d->grad[v] = g;
        return;
    }
    tt_vid sum = like(d, v);
    emit(d, TT_OP_add, TT_ROLE_I, 2, (tt_vid[]){d->grad[v], g}, sum);
    d->grad[v] = sum;
}

/* A parameter's gradient is never added here: each contribution names the parameter, and the fsdp pass sums them. */
static void weight_gradient(diff *d, int op, tt_vid w, int n_in, const tt_vid *in)
{
    tt_vid dw = like(d, w);
    tt_instr *i = emit(d, op, TT_ROLE_W, n_in, in, dw);
    i->grad_of = d->p->value[w].param;
}

/* y = x W^T:  dx = dy W,  dW = dy^T x. */
static void back_linear(diff *d, const tt_instr *f, tt_vid dy)
{
    tt_vid x = f->in[0], w = f->in[1];
    if (d->needs_grad[x]) {
        tt_vid dx = like(d, x);
        emit(d, TT_OP_linear_dx, TT_ROLE_I, 2, (tt_vid[]){dy, w}, dx);
        contribute(d, x, dx);
    }
    weight_gradient(d, TT_OP_linear_dw, w, 2, (tt_vid[]){dy, x});
}

/* y_i = w_i x_i r, r = (mean x^2 + eps)^-1/2:
 * dx_i = r (w_i dy_i - x_i r^2 mean_j(w_j dy_j x_j)),  dw_i = sum over tokens of dy_i x_i r. */
static void back_rmsnorm(diff *d, const tt_instr *f, tt_vid dy)
{
    tt_vid x = f->in[0], w = f->in[1], rstd = f->out[1];
    tt_vid dx = like(d, x);
    emit(d, TT_OP_rmsnorm_dx, TT_ROLE_I, 4, (tt_vid[]){dy, x, w, rstd}, dx)->attr = f->attr;
    contribute(d, x, dx);
    tt_vid dw = like(d, w);
    tt_instr *i = emit(d, TT_OP_rmsnorm_dw, TT_ROLE_I, 3, (tt_vid[]){dy, x, rstd}, dw);
    i->attr = f->attr;
    i->grad_of = d->p->value[w].param;
}

/* A rotation's transpose is the rotation back. */
static void back_rope(diff *d, const tt_instr *f, tt_vid dy)
{
    tt_attrs attr = f->attr;
    attr.inverse = !attr.inverse;
    tt_vid dx = like(d, f->in[0]);
    tt_vid cs = f->in[1], x = f->in[0];
    emit(d, TT_OP_rope, TT_ROLE_I, 2, (tt_vid[]){dy, cs}, dx)->attr = attr;
    contribute(d, x, dx);
}

/* With P = exp(s - lse):  dV = P^T dO,  dS = P * (dO V^T - rowsum(dO * O)),  dQ = scale dS K,  dK = scale dS^T Q. */
static void back_attention(diff *d, const tt_instr *f, tt_vid dy)
{
    tt_vid q = f->in[0], k = f->in[1], v = f->in[2];
    tt_vid in[] = {q, k, v, f->in[3], f->out[0], f->out[1], dy};
    tt_vid out[] = {like(d, q), like(d, k), like(d, v)};
    tt_attrs attr = f->attr;
    tt_instr *i = tt_emit(d->p, d->list, TT_OP_attention_bwd, 7, in, 3, out);
    i->block = d->block;
    i->role = TT_ROLE_I;
    i->attr = attr;
    contribute(d, q, out[0]);
    contribute(d, k, out[1]);
    contribute(d, v, out[2]);
}

/* h = silu(g) u:  du = silu(g) dh,  dg = u dh silu'(g),  silu'(g) = s (1 + g (1 - s)), s = sigmoid(g). */
static void back_swiglu(diff *d, const tt_instr *f, tt_vid dy)
{
    tt_vid g = f->in[0], u = f->in[1];
    tt_vid out[] = {like(d, g), like(d, u)};
    tt_instr *i = tt_emit(d->p, d->list, TT_OP_swiglu_bwd, 3, (tt_vid[]){dy, g, u}, 2, out);
    i->block = d->block;
    i->role = TT_ROLE_I;
    contribute(d, g, out[0]);
    contribute(d, u, out[1]);
}

static void back(diff *d, const tt_instr *f, tt_vid dy)
{
    switch (f->op) {
    case TT_OP_linear:
        back_linear(d, f, dy);
        break;
    case TT_OP_rmsnorm:
        back_rmsnorm(d, f, dy);
        break;
    case TT_OP_rope:
        back_rope(d, f, dy);
        break;
    case TT_OP_attention:
        back_attention(d, f, dy);
        break;
    case TT_OP_swiglu:
        back_swiglu(d, f, dy);
        break;
    case TT_OP_add: {
        tt_vid a = f->in[0], b = f->in[1];
        contribute(d, a, dy);
        contribute(d, b, dy);
        break;
    }
    case TT_OP_embedding:
        weight_gradient(d, TT_OP_embedding_dw, f->in[1], 2, (tt_vid[]){f->in[0], dy});
        break;
    default:
        TT_ASSERT(!"an op without a backward in a differentiated forward");
    }
}

void tt_differentiate(tt_program *p, tt_instr_list *list, tt_vid x, tt_vid dx)
{
    diff d = {.p = p, .list = list, .n_values = p->n_values};
    const int n_forward = list->n;
    /* every value that the backward makes comes from `like`, at most a few per instruction */
    size_t cap = (size_t)p->n_values + 16 * (size_t)n_forward + 16;
    d.grad = malloc(cap * sizeof *d.grad);
    d.needs_grad = calloc(cap, 1);
    TT_ASSERT(d.grad && d.needs_grad);
    memset(d.grad, 0xff, cap * sizeof *d.grad);
    for (int v = 0; v < p->n_values; v++)
        d.needs_grad[v] = p->value[v].param >= 0;
    for (int k = 0; k < n_forward; k++)
        for (int a = 0; a < list->at[k].n_in; a++)
            if (d.needs_grad[list->at[k].in[a]])
                for (int o = 0; o < list->at[k].n_out; o++)
                    d.needs_grad[list->at[k].out[o]] = 1;
    d.grad[x] = dx;
    for (int k = n_forward - 1; k >= 0; k--) {
        tt_instr f = list->at[k]; /* a copy: emitting moves the list */
        if (f.op == TT_OP_head_loss || !d.needs_grad[f.out[0]] || d.grad[f.out[0]] < 0)
            continue;
        d.block = f.block;
        back(&d, &f, d.grad[f.out[0]]);
    }
    free(d.grad);
    free(d.needs_grad);
}
