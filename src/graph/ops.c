/* See ops.h. */
#include "graph/ops.h"

#include "comm/comm.h"

#include <string.h>

enum { FLOPS_NONE, FLOPS_MATMUL, FLOPS_ATTENTION, FLOPS_ATTENTION_BWD };

static const tt_op table[TT_N_OPS] = {
#define TT_OP(name, n_in, n_out, gradient, recompute, flops, placements) \
    [TT_OP_##name] = {#name, n_in, n_out, gradient, TT_RECOMPUTE_##recompute, FLOPS_##flops, placements},
#include "graph/ops.def"
#undef TT_OP
};

const tt_op *tt_op_info(int op)
{
    TT_ASSERT(op >= 0 && op < TT_N_OPS);
    return &table[op];
}

int tt_op_find(const char *name)
{
    for (int i = 0; i < TT_N_OPS; i++)
        if (strcmp(table[i].name, name) == 0)
            return i;
    return -1;
}

int tt_op_is_comm(int op)
{
    return op == TT_OP_all_gather || op == TT_OP_reduce_scatter || op == TT_OP_all_reduce;
}

/* Reads "R", "P" or "Sd" at *s and steps over it. */
static tt_placement read_placement(const char **s)
{
    tt_placement p = {TT_R, 0};
    if (**s == 'S') {
        p.kind = TT_S;
        p.dim = (uint8_t)((*s)[1] - '0');
        (*s)++;
    } else if (**s == 'P') {
        p.kind = TT_P;
    }
    (*s)++;
    return p;
}

int tt_op_rows(int op, tt_place_row *rows, int max)
{
    int n = 0;
    const char *s = table[op].placements;
    while (*s && n < max) {
        tt_place_row *r = &rows[n++];
        *r = (tt_place_row){0};
        int after = 0;
        for (; *s && *s != '|'; ) {
            if (*s == 'b') {
                r->batch_only = 1;
                s += 2;
            } else if (*s == '>') {
                after = 1;
                s++;
            } else if (*s == ' ') {
                s++;
            } else if (after) {
                r->out[r->n_out++] = read_placement(&s);
            } else {
                r->in[r->n_in++] = read_placement(&s);
            }
        }
        if (*s == '|')
            s++;
    }
    return n;
}

static int64_t rows_of(const tt_program *p, tt_vid v)
{
    return p->value[v].local[0];
}

static int64_t cols_of(const tt_program *p, tt_vid v)
{
    return p->value[v].local[1];
}

double tt_instr_flops(const tt_program *p, const tt_instr *i)
{
    double sum = 0;
    switch (table[i->op].flops) {
    case FLOPS_MATMUL:
        if (i->op == TT_OP_linear_dw)
            return 2.0 * (double)rows_of(p, i->in[0]) * (double)cols_of(p, i->in[0]) * (double)cols_of(p, i->in[1]);
        for (int k = 0; k + 1 < i->n_in; k += 2) /* one product, or the terms of a sum of several */
            sum += 2.0 * (double)rows_of(p, i->in[k]) * (double)rows_of(p, i->in[k + 1]) *
                   (double)cols_of(p, i->in[k + 1]);
        return sum;
    case FLOPS_ATTENTION: /* q k^T and p v over the whole square */
        return 4.0 * (double)rows_of(p, i->in[0]) * (double)cols_of(p, i->in[0]) * (double)i->attr.seq_len;
    case FLOPS_ATTENTION_BWD:
        return 8.0 * (double)rows_of(p, i->in[0]) * (double)cols_of(p, i->in[0]) * (double)i->attr.seq_len;
    default:
        return 0;
    }
}

int64_t tt_instr_payload_bytes(const tt_program *p, const tt_instr *i)
{
    if (!tt_op_is_comm(i->op))
        return 0;
    int n = tt_mesh_group_size(&p->mesh, i->attr.axes);
    int me = tt_mesh_group_rank(&p->mesh, i->attr.axes);
    int64_t total = 0;
    for (int k = 0; k < i->n_in; k++) {
        const tt_value *v = &p->value[i->in[k]];
        const tt_value *o = &p->value[i->out[k]];
        if (i->op == TT_OP_all_gather)
            total += tt_comm_all_gather_bytes((int64_t)tt_value_local_bytes(v), n);
        else if (i->op == TT_OP_reduce_scatter)
            total += tt_comm_reduce_scatter_bytes((int64_t)tt_value_local_bytes(o), n);
        else
            total += tt_comm_all_reduce_bytes(tt_value_elements(v), (int64_t)tt_dtype_size(v->dtype), n, me);
    }
    return total;
}

int64_t tt_comm_workspace_bytes(const tt_program *p, const tt_instr *i)
{
    if (i->op != TT_OP_reduce_scatter && i->op != TT_OP_all_reduce)
        return 0;
    int n = tt_mesh_group_size(&p->mesh, i->attr.axes);
    int64_t total = 0;
    for (int k = 0; k < i->n_in; k++) {
        const tt_value *v = &p->value[i->in[k]];
        int64_t size = (int64_t)tt_dtype_size(v->dtype);
        if (i->op == TT_OP_reduce_scatter)
            total += tt_comm_reduce_scatter_workspace(tt_value_elements(&p->value[i->out[k]]) * size, n);
        else
            total += tt_comm_all_reduce_workspace(tt_value_elements(v), size, n);
    }
    return total;
}
