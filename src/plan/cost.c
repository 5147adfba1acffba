/* See cost.h. */
#include "plan/cost.h"

#include "metrics/flops.h"

#include <stdlib.h>
#include <string.h>

/* --- work and traffic ------------------------------------------------------------------------------------------------ */

int tt_cost_calls(const tt_program *p, tt_part_id part)
{
    switch (part) {
    case TT_PART_FORWARD:
    case TT_PART_BACKWARD:
        return p->n_microbatches;
    case TT_PART_BEGIN:
    case TT_PART_REDUCE:
    case TT_PART_UPDATE:
        return 1;
    default:
        return 0;
    }
}

tt_cost tt_cost_part(const tt_program *p, tt_part_id part)
{
    tt_cost c = {0};
    for (int j = 0; j < p->part[part].code.n; j++) {
        const tt_instr *i = &p->part[part].code.at[j];
        c.flops += tt_instr_flops(p, i);
        c.payload_bytes += tt_instr_payload_bytes(p, i);
        c.messages += tt_op_is_comm(i->op);
    }
    return c;
}

tt_cost tt_cost_step(const tt_program *p)
{
    tt_cost sum = {0};
    for (int part = 0; part < TT_N_PARTS; part++) {
        const int calls = tt_cost_calls(p, part);
        const tt_cost c = calls ? tt_cost_part(p, part) : (tt_cost){0};
        sum.flops += calls * c.flops;
        sum.payload_bytes += calls * c.payload_bytes;
        sum.messages += calls * c.messages;
    }
    return sum;
}

int64_t tt_cost_flops_per_token(const tt_model *model, int64_t seq_len)
{
    const tt_model_dims *d = &model->dims;
    return tt_flops_per_token(&(tt_flops_opts){.params = model->n_params,
                                               .embedding_params = model->n_embedding_params,
                                               .tied = d->tie_embeddings,
                                               .layers = d->n_layers,
                                               .heads = d->n_heads,
                                               .head_dim = d->head_dim,
                                               .seq_len = seq_len});
}

/* --- memory ---------------------------------------------------------------------------------------------------------- */

const char *tt_use_name(tt_use use)
{
    static const char *const name[TT_N_USES] = {
        [TT_USE_PARAMETERS] = "parameters",
        [TT_USE_MOMENTS] = "optimizer moments",
        [TT_USE_CONSTANTS] = "constants",
        [TT_USE_GRADIENTS] = "gradients",
        [TT_USE_COPIES] = "compute copies",
        [TT_USE_KEPT] = "gathered weights (kept)",
        [TT_USE_COUNTERS] = "counters",
        [TT_USE_SAVED] = "saved activations",
        [TT_USE_INPUTS] = "inputs",
        [TT_USE_PADDING] = "padding",
        [TT_USE_SCRATCH] = "scratch",
        [TT_USE_GATHERED] = "gathered weights",
        [TT_USE_UNREDUCED] = "gradients to reduce",
        [TT_USE_COMM] = "communication workspaces",
        [TT_USE_WORKSPACE] = "kernel workspaces",
        [TT_USE_TEMPORARY] = "activations",
    };
    return name[use];
}

/* State and step values of one block, or counters. */
static tt_use use_of_flat(const tt_program *p, tt_vid v)
{
    for (int b = 0; b < p->n_blocks; b++) {
        const tt_block_state *s = &p->state[b];
        if (v == s->master)
            return TT_USE_PARAMETERS;
        if (v == s->exp_avg || v == s->exp_avg_sq)
            return TT_USE_MOMENTS;
        if (v == s->grad)
            return TT_USE_GRADIENTS;
        if (v == s->low)
            return TT_USE_COPIES;
    }
    return TT_USE_COUNTERS;
}

tt_use tt_value_use(const tt_program *p, tt_vid v)
{
    const tt_value *x = &p->value[v];
    switch (x->scope) {
    case TT_SCOPE_STATE:
        return x->constant ? TT_USE_CONSTANTS : use_of_flat(p, v);
    case TT_SCOPE_STEP:
        return x->param >= 0 ? TT_USE_KEPT : use_of_flat(p, v);
    case TT_SCOPE_FRAME:
        return tt_value_is_input(p, v) ? TT_USE_INPUTS : TT_USE_SAVED;
    default:
        if (x->param >= 0)
            return TT_USE_GATHERED;
        return x->dtype == TT_U8 ? TT_USE_WORKSPACE : TT_USE_TEMPORARY;
    }
}

/* --- the fullest moment of the largest part -------------------------------------------------------------------------- */

typedef struct moment {
    const tt_program *p;
    const tt_instr_list *code;
    int *first, *last; /* by root value, -1 = not scratch of this part */
    char *use;
} moment;

static void touch(moment *m, tt_vid v, int j, const tt_instr *i)
{
    v = tt_value_root(m->p, v);
    if (m->p->value[v].scope != TT_SCOPE_SCRATCH)
        return;
    if (m->first[v] < 0) {
        m->first[v] = j;
        m->use[v] = (char)(v == i->workspace && tt_op_is_comm(i->op) ? TT_USE_COMM : tt_value_use(m->p, v));
    }
    m->last[v] = j;
}

/* A whole gradient waits for its reduction: it is what a weight gradient's instruction writes outside of state. */
static void find_lives(moment *m)
{
    for (int j = 0; j < m->code->n; j++) {
        const tt_instr *i = &m->code->at[j];
        for (int a = 0; a < i->n_in + i->n_out; a++)
            touch(m, i->in[a], j, i);
        if (i->workspace >= 0)
            touch(m, i->workspace, j, i);
        if (i->grad_of >= 0 && m->first[tt_value_root(m->p, i->out[0])] >= 0)
            m->use[tt_value_root(m->p, i->out[0])] = TT_USE_UNREDUCED;
    }
}

static int fullest_instruction(const moment *m)
{
    int64_t *change = calloc((size_t)m->code->n + 2, sizeof *change), now = 0, most = -1;
    int at = 0;
    TT_ASSERT(change);
    for (int v = 0; v < m->p->n_values; v++)
        if (m->first[v] >= 0) {
            change[m->first[v]] += (int64_t)m->p->value[v].bytes;
            change[m->last[v] + 1] -= (int64_t)m->p->value[v].bytes;
        }
    for (int j = 0; j < m->code->n; j++) {
        now += change[j];
        if (now > most) {
            most = now;
            at = j;
        }
    }
    free(change);
    return at;
}

static void describe_scratch(const tt_program *p, tt_memory_cost *c)
{
    moment m = {.p = p, .code = &p->part[c->largest].code};
    m.first = malloc(sizeof *m.first * (size_t)(p->n_values + 1));
    m.last = malloc(sizeof *m.last * (size_t)(p->n_values + 1));
    m.use = calloc((size_t)p->n_values + 1, 1);
    TT_ASSERT(m.first && m.last && m.use);
    memset(m.first, 0xff, sizeof *m.first * (size_t)(p->n_values + 1));
    find_lives(&m);
    c->fullest = fullest_instruction(&m);
    for (int v = 0; v < p->n_values; v++)
        if (m.first[v] >= 0 && m.first[v] <= c->fullest && m.last[v] >= c->fullest)
            c->bytes[(int)m.use[v]] += (int64_t)p->value[v].bytes;
    free(m.first);
    free(m.last);
    free(m.use);
}

tt_memory_cost tt_cost_memory(const tt_program *p)
{
    tt_memory_cost c = {.packing = 1};
    for (int v = 0; v < p->n_values; v++) {
        const tt_value *x = &p->value[v];
        if (x->root >= 0 || x->scope == TT_SCOPE_NONE || x->scope == TT_SCOPE_SCRATCH)
            continue;
        int copies = x->scope == TT_SCOPE_FRAME ? p->n_frames : 1;
        c.bytes[tt_value_use(p, v)] += copies * (int64_t)x->bytes;
    }
    int64_t named = 0;
    for (int u = 0; u < TT_USE_PADDING; u++)
        named += c.bytes[u];
    c.bytes[TT_USE_SCRATCH] = (int64_t)p->scope_bytes[TT_SCOPE_SCRATCH];
    c.total = (int64_t)tt_program_arena_bytes(p);
    c.bytes[TT_USE_PADDING] = c.total - c.bytes[TT_USE_SCRATCH] - named;
    for (int part = 0; part < TT_N_PARTS; part++)
        if (p->part[part].scratch_bytes > p->part[c.largest].scratch_bytes)
            c.largest = part;
    const tt_part *t = &p->part[c.largest];
    if (t->scratch_floor)
        c.packing = (double)t->scratch_bytes / (double)t->scratch_floor;
    describe_scratch(p, &c);
    return c;
}
