/* See recompute.h. */
#include "passes/recompute.h"

#include <stdlib.h>
#include <string.h>

void tt_split(tt_program *p, tt_instr_list *list, tt_instr_list *forward, tt_instr_list *backward)
{
    int loss = 0;
    while (loss < list->n && !(list->at[loss].role == TT_ROLE_F && list->at[loss].block == p->n_blocks - 1))
        loss++;
    for (int k = 0; k < list->n; k++)
        tt_emit_copy(p, k < loss ? forward : backward, &list->at[k]);
    tt_instr_list_free(list);
}

typedef struct recomputer {
    tt_program *p;
    const tt_instr_list *forward;
    const tt_recompute_opts *opts;
    int *producer;  /* forward instruction that makes a root value, -1 = none */
    int *matmul;    /* index of a matmul inside its block */
    char *wanted;   /* forward instructions to clone for the block at hand */
    tt_vid *clone;  /* clone of a value for the block at hand, -1 = none */
    int n_values;
} recomputer;

/* May the backward of `block` not read the results of forward instruction f? */
static int is_made_again(const recomputer *r, int f, int block)
{
    const tt_instr *i = &r->forward->at[f];
    const tt_op *op = tt_op_info(i->op);
    if (i->block != block || op->recompute == TT_RECOMPUTE_ALWAYS || block == 0)
        return 0;
    switch (r->opts->mode) {
    case TT_AC_FULL:
        return 1;
    case TT_AC_SELECTIVE_LAYER:
        return (block - 1) % r->opts->every == 0;
    case TT_AC_SELECTIVE_OP: /* every second matmul is made again, the others and what is dear are saved */
        return op->recompute == TT_RECOMPUTE_FREE || (i->op == TT_OP_linear && r->matmul[f] % 2 == 1);
    default:
        return 0;
    }
}

/* Mark the forward slice that makes v, as far as it is not saved. */
static void want(recomputer *r, tt_vid v, int block)
{
    v = tt_value_root(r->p, v);
    int f = v < r->n_values ? r->producer[v] : -1;
    if (f < 0 || r->wanted[f] || !is_made_again(r, f, block))
        return;
    r->wanted[f] = 1;
    for (int k = 0; k < r->forward->at[f].n_in; k++)
        want(r, r->forward->at[f].in[k], block);
}

static tt_vid cloned(const recomputer *r, tt_vid v)
{
    return v < r->n_values && r->clone[v] >= 0 ? r->clone[v] : v;
}

static void clone_slice(recomputer *r, int block, tt_instr_list *to)
{
    tt_program *p = r->p;
    for (int f = 0; f < r->forward->n; f++) {
        if (!r->wanted[f])
            continue;
        tt_instr *i = tt_emit_copy(p, to, &r->forward->at[f]);
        i->role = TT_ROLE_I;
        i->block = block;
        for (int k = 0; k < i->n_in; k++)
            i->in[k] = cloned(r, i->in[k]);
        for (int k = 0; k < i->n_out; k++) {
            tt_value t = p->value[i->out[k]];
            tt_vid v = tt_value_new(p, tt_arena_printf(p->arena, "%s'", t.name), t.dtype, t.ndim, t.shape);
            memcpy(p->value[v].local, t.local, sizeof t.local);
            memcpy(p->value[v].place, t.place, sizeof t.place);
            p->value[v].bytes = t.bytes;
            r->clone[i->out[k]] = v;
            i->out[k] = v;
        }
    }
}

static void index_forward(recomputer *r)
{
    int block = -1, n = 0;
    for (int f = 0; f < r->forward->n; f++) {
        const tt_instr *i = &r->forward->at[f];
        for (int k = 0; k < i->n_out; k++)
            r->producer[tt_value_root(r->p, i->out[k])] = f;
        if (i->block != block) {
            block = i->block;
            n = 0;
        }
        if (i->op == TT_OP_linear)
            r->matmul[f] = n++;
    }
}

/* All backward instructions of one block, [first, end): clones first, then the block reading them. */
static void rewrite_block(recomputer *r, const tt_instr_list *backward, int first, int end, tt_instr_list *out)
{
    int block = backward->at[first].block;
    memset(r->wanted, 0, (size_t)r->forward->n + 1);
    memset(r->clone, 0xff, sizeof *r->clone * (size_t)r->n_values);
    for (int k = first; k < end; k++)
        for (int a = 0; a < backward->at[k].n_in; a++)
            want(r, backward->at[k].in[a], block);
    clone_slice(r, block, out);
    for (int k = first; k < end; k++) {
        tt_instr *i = tt_emit_copy(r->p, out, &backward->at[k]);
        for (int a = 0; a < i->n_in; a++)
            i->in[a] = cloned(r, i->in[a]);
    }
}

void tt_recompute_pass(tt_program *p, const tt_instr_list *forward, tt_instr_list *backward,
                       const tt_recompute_opts *opts)
{
    if (opts->mode == TT_AC_NONE || backward->n == 0)
        return;
    recomputer r = {.p = p, .forward = forward, .opts = opts, .n_values = p->n_values};
    r.producer = malloc(sizeof(int) * (size_t)p->n_values);
    r.matmul = calloc((size_t)forward->n + 1, sizeof(int));
    r.wanted = malloc((size_t)forward->n + 1);
    r.clone = malloc(sizeof(tt_vid) * (size_t)p->n_values);
    TT_ASSERT(r.producer && r.matmul && r.wanted && r.clone);
    memset(r.producer, 0xff, sizeof(int) * (size_t)p->n_values);
    index_forward(&r);
    tt_instr_list out = {0};
    for (int k = 0; k < backward->n;) {
        int end = k;
        while (end < backward->n && backward->at[end].block == backward->at[k].block)
            end++;
        rewrite_block(&r, backward, k, end, &out);
        k = end;
    }
    tt_instr_list_free(backward);
    *backward = out;
    free(r.producer);
    free(r.matmul);
    free(r.wanted);
    free(r.clone);
}
