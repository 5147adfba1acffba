/* See fsdp.h. */
#include "passes/fsdp.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define ALIGN_ELEMENTS 16 /* parameters begin on 64 bytes inside a block's flat state */

int tt_active_axes(const tt_mesh *mesh, int mask)
{
    int active = 0;
    for (int a = 0; a < TT_N_AXES; a++)
        if ((mask & TT_MASK(a)) && mesh->degree[a] > 1)
            active |= TT_MASK(a);
    return active;
}

static int shards(const tt_program *p)
{
    return tt_mesh_group_size(&p->mesh, TT_MASK_FSDP);
}

/* --- parameters and their state ---------------------------------------------------------------------------------- */

/* The state shard: tp slices first (compute placement), then rows over dp_shard and cp together. */
static void place_state(tt_program *p, tt_param *w)
{
    const int fs = shards(p), me = tt_mesh_group_rank(&p->mesh, TT_MASK_FSDP);
    tt_placement_box(&p->mesh, w->place, w->ndim, w->shape, w->box_start, w->box_count);
    for (int d = 0; d < w->ndim; d++)
        w->state_local[d] = p->value[w->compute].local[d];
    const int64_t chunk = tt_ceil_div(w->state_local[0], fs);
    const int64_t skip = chunk * me;
    w->state_local[0] = chunk;
    w->box_start[0] += skip;
    int64_t left = w->box_count[0] - skip;
    w->box_count[0] = left < 0 ? 0 : left < chunk ? left : chunk;
    w->owner = p->mesh.coord[TT_DP_REPLICATE] == 0 && (w->tp_dim >= 0 || p->mesh.coord[TT_TP] == 0);
}

void tt_fsdp_declare_params(tt_program *p, const tt_model *model)
{
    p->n_params = model->n_rows;
    p->n_blocks = model->dims.n_layers + 2;
    p->param = tt_arena_alloc(p->arena, sizeof *p->param * (size_t)p->n_params);
    for (int i = 0; i < p->n_params; i++) {
        const tt_param_row *r = &model->rows[i];
        tt_param *w = &p->param[i];
        w->fqn = tt_arena_printf(p->arena, "%s", r->fqn);
        w->ndim = r->ndim;
        memcpy(w->shape, r->shape, sizeof w->shape);
        w->block = r->block;
        w->tp_dim = r->tp_dim;
        w->dist = r->dist;
        w->std = r->std;
        w->lo = r->lo;
        w->hi = r->hi;
        if (r->tp_dim >= 0 && p->mesh.degree[TT_TP] > 1)
            w->place[TT_TP] = (tt_placement){TT_S, (uint8_t)r->tp_dim};
        w->compute = tt_value_new(p, w->fqn, p->compute_dtype, w->ndim, w->shape);
        tt_value *v = &p->value[w->compute];
        v->param = i;
        memcpy(v->place, w->place, sizeof v->place);
        tt_placement_local_shape(&p->mesh, v->place, v->ndim, v->shape, v->local);
        v->bytes = tt_value_local_bytes(v);
        place_state(p, w);
    }
}

static int64_t state_elements(const tt_param *w)
{
    int64_t n = 1;
    for (int d = 0; d < w->ndim; d++)
        n *= w->state_local[d];
    return n;
}

static tt_vid flat(tt_program *p, int block, const char *what, tt_dtype dtype, tt_scope scope)
{
    tt_vid v = tt_value_new(p, tt_arena_printf(p->arena, "block%d.%s", block, what), dtype, 1, &p->state[block].n);
    p->value[v].scope = scope;
    return v;
}

void tt_fsdp_layout_state(tt_program *p)
{
    p->state = tt_arena_alloc(p->arena, sizeof *p->state * (size_t)p->n_blocks);
    for (int i = 0; i < p->n_params; i++) {
        tt_block_state *s = &p->state[p->param[i].block];
        p->param[i].state_offset = s->n;
        s->n += tt_ceil_div(state_elements(&p->param[i]), ALIGN_ELEMENTS) * ALIGN_ELEMENTS;
    }
    for (int b = 0; b < p->n_blocks; b++) {
        tt_block_state *s = &p->state[b];
        s->master = flat(p, b, "master", TT_F32, TT_SCOPE_STATE);
        s->exp_avg = flat(p, b, "exp_avg", TT_F32, TT_SCOPE_STATE);
        s->exp_avg_sq = flat(p, b, "exp_avg_sq", TT_F32, TT_SCOPE_STATE);
        s->grad = flat(p, b, "grad", TT_F32, TT_SCOPE_STEP);
        s->low = p->compute_dtype == TT_F32 ? -1 : flat(p, b, "low", p->compute_dtype, TT_SCOPE_STEP);
    }
    if (shards(p) > 1)
        return;
    for (int i = 0; i < p->n_params; i++) { /* not sharded: the forward reads the state itself */
        tt_param *w = &p->param[i];
        tt_block_state *s = &p->state[w->block];
        tt_value *v = &p->value[w->compute];
        v->root = s->low >= 0 ? s->low : s->master;
        v->byte_offset = w->state_offset * (int64_t)tt_dtype_size(v->dtype);
    }
}

/* A parameter's piece of one of its block's flat values. */
static tt_vid state_view(tt_program *p, const tt_param *w, tt_vid of, const int64_t *local)
{
    tt_dtype t = p->value[of].dtype;
    tt_vid v = tt_value_view(p, of, w->state_offset * (int64_t)tt_dtype_size(t), w->fqn, t, w->ndim, local);
    memcpy(p->value[v].place, w->place, sizeof w->place);
    return v;
}

/* --- gathers ------------------------------------------------------------------------------------------------------ */

typedef struct gatherer {
    tt_program *p;
    tt_instr_list out;
    tt_vid *now;     /* this part's copy of each parameter */
    int *order;      /* blocks by first use */
    int n_order;
    int n_gathered;  /* blocks of `order` gathered so far */
} gatherer;

static void emit_gather(gatherer *g, int block, tt_scope scope)
{
    tt_program *p = g->p;
    tt_block_state *s = &p->state[block];
    tt_vid *in = malloc(sizeof *in * (size_t)p->n_params * 2), *out = in + p->n_params;
    TT_ASSERT(in);
    int n = 0;
    for (int i = 0; i < p->n_params; i++) {
        tt_param *w = &p->param[i];
        if (w->block != block)
            continue;
        in[n] = state_view(p, w, s->low >= 0 ? s->low : s->master, w->state_local);
        tt_value t = p->value[w->compute];
        tt_vid full = scope == TT_SCOPE_STEP ? w->compute : tt_value_new(p, t.name, t.dtype, t.ndim, t.shape);
        tt_value *v = &p->value[full];
        memcpy(v->local, t.local, sizeof t.local);
        memcpy(v->place, t.place, sizeof t.place);
        v->param = i;
        v->scope = scope;
        v->bytes = (size_t)state_elements(w) * tt_dtype_size(t.dtype) * (size_t)shards(p);
        g->now[i] = full;
        out[n++] = full;
    }
    tt_instr *i = tt_emit(p, &g->out, TT_OP_all_gather, n, in, n, out);
    i->block = block;
    i->queue = TT_Q_GATHER;
    i->attr.axes = tt_active_axes(&p->mesh, TT_MASK_FSDP);
    i->after_compute = scope != TT_SCOPE_STEP;
    free(in);
}

static void find_order(gatherer *g, const tt_instr_list *code)
{
    char *seen = calloc((size_t)g->p->n_blocks, 1);
    TT_ASSERT(seen);
    for (int k = 0; k < code->n; k++)
        for (int a = 0; a < code->at[k].n_in; a++) {
            int w = g->p->value[code->at[k].in[a]].param;
            if (w >= 0 && !seen[g->p->param[w].block]) {
                seen[g->p->param[w].block] = 1;
                g->order[g->n_order++] = g->p->param[w].block;
            }
        }
    free(seen);
}

/* Before the first use of order[k]: order[k + 1] is on its way. */
static void prefetch(gatherer *g, const tt_instr *i)
{
    for (int a = 0; a < i->n_in; a++) {
        int w = g->p->value[i->in[a]].param;
        if (w < 0)
            continue;
        int k = 0;
        while (g->order[k] != g->p->param[w].block)
            k++;
        while (g->n_gathered < g->n_order && g->n_gathered <= k + 1)
            emit_gather(g, g->order[g->n_gathered++], TT_SCOPE_SCRATCH);
    }
}

void tt_fsdp_gather(tt_program *p, tt_part_id part, int step_scope)
{
    if (shards(p) == 1 || step_scope)
        return;
    tt_instr_list *code = &p->part[part].code;
    gatherer g = {.p = p};
    g.now = malloc(sizeof *g.now * (size_t)p->n_params);
    g.order = malloc(sizeof *g.order * (size_t)p->n_blocks);
    TT_ASSERT(g.now && g.order);
    find_order(&g, code);
    for (int k = 0; k < code->n; k++) {
        prefetch(&g, &code->at[k]);
        tt_instr *i = tt_emit_copy(p, &g.out, &code->at[k]);
        for (int a = 0; a < i->n_in; a++)
            if (p->value[i->in[a]].param >= 0)
                i->in[a] = g.now[p->value[i->in[a]].param];
    }
    tt_instr_list_free(code);
    *code = g.out;
    free(g.now);
    free(g.order);
}

/* --- gradients ---------------------------------------------------------------------------------------------------- */

typedef struct reducer {
    tt_program *p;
    tt_instr_list out;
    tt_vid *target; /* where each parameter's contributions go */
    int *left;      /* contributions of each block still to come */
    char *started;
} reducer;

/* Rows that only padding fills must not reach the sum. */
static void zero_tail(reducer *r, const tt_param *w, tt_vid full, int block)
{
    tt_program *p = r->p;
    const tt_value v = p->value[full];
    int64_t rows = w->state_local[0] * shards(p), cols = w->ndim > 1 ? v.local[1] : 1;
    if (rows == v.local[0])
        return;
    int64_t shape[2] = {rows - v.local[0], cols};
    tt_vid tail = tt_value_view(p, full, v.local[0] * cols * (int64_t)sizeof(float), "padding", TT_F32, 2, shape);
    tt_emit(p, &r->out, TT_OP_zero, 0, NULL, 1, &tail)->block = block;
}

static tt_vid gradient_target(reducer *r, const tt_instr *i)
{
    tt_program *p = r->p;
    const tt_param *w = &p->param[i->grad_of];
    tt_value t = p->value[i->out[0]];
    if (shards(p) == 1) {
        tt_vid v = state_view(p, w, p->state[w->block].grad, t.local);
        memcpy(p->value[v].place, t.place, sizeof t.place);
        return v;
    }
    tt_vid v = tt_value_new(p, tt_arena_printf(p->arena, "d.%s", w->fqn), TT_F32, t.ndim, t.shape);
    memcpy(p->value[v].local, t.local, sizeof t.local);
    memcpy(p->value[v].place, t.place, sizeof t.place);
    p->value[v].bytes = (size_t)state_elements(w) * sizeof(float) * (size_t)shards(p);
    zero_tail(r, w, v, i->block);
    return v;
}

/* The whole reserved extent: as many rows as the shards together. */
static tt_vid padded_view(tt_program *p, const tt_param *w, tt_vid full)
{
    tt_value t = p->value[full];
    int64_t shape[TT_MAX_DIMS];
    memcpy(shape, t.local, sizeof shape);
    shape[0] = w->state_local[0] * shards(p);
    return tt_value_view(p, full, 0, t.name, t.dtype, t.ndim, shape);
}

/* The block's gradients are complete: one group onto the shards. */
static void emit_reduce_scatter(reducer *r, int block)
{
    tt_program *p = r->p;
    tt_vid *in = malloc(sizeof *in * (size_t)p->n_params * 2), *out = in + p->n_params;
    TT_ASSERT(in);
    int n = 0;
    for (int w = 0; w < p->n_params; w++)
        if (p->param[w].block == block) {
            in[n] = padded_view(p, &p->param[w], r->target[w]);
            out[n++] = state_view(p, &p->param[w], p->state[block].grad, p->param[w].state_local);
            memcpy(p->value[out[n - 1]].place, p->value[r->target[w]].place, sizeof p->value[0].place);
        }
    tt_instr *i = tt_emit(p, &r->out, TT_OP_reduce_scatter, n, in, n, out);
    i->block = block;
    i->queue = TT_Q_REDUCE;
    i->attr.axes = tt_active_axes(&p->mesh, TT_MASK_FSDP);
    i->acc = TT_ACC_CALL;
    free(in);
}

void tt_fsdp_reduce_gradients(tt_program *p)
{
    tt_instr_list *code = &p->part[TT_PART_BACKWARD].code;
    reducer r = {.p = p};
    r.target = malloc(sizeof *r.target * (size_t)p->n_params);
    r.left = calloc((size_t)p->n_blocks, sizeof *r.left);
    r.started = calloc((size_t)p->n_params, 1);
    TT_ASSERT(r.target && r.left && r.started);
    for (int k = 0; k < code->n; k++)
        if (code->at[k].grad_of >= 0)
            r.left[p->param[code->at[k].grad_of].block]++;
    for (int k = 0; k < code->n; k++) {
        tt_instr i = code->at[k];
        int g = i.grad_of >= 0 ? 0 : -1;
        if (g >= 0) {
            int w = i.grad_of;
            int first = !r.started[w];
            if (first) {
                r.started[w] = 1;
                r.target[w] = gradient_target(&r, &i);
            }
            TT_ASSERT(memcmp(p->value[r.target[w]].place, p->value[i.out[g]].place, sizeof p->value[0].place) == 0);
            i.out[g] = r.target[w];
            i.acc = !first ? TT_ACC_ADD : shards(p) == 1 ? TT_ACC_CALL : TT_ACC_WRITE;
        }
        tt_emit_copy(p, &r.out, &i);
        if (g >= 0 && --r.left[p->param[i.grad_of].block] == 0 && shards(p) > 1)
            emit_reduce_scatter(&r, p->param[i.grad_of].block);
    }
    /* what is still partial after this: remembered on the grad views' placement for the reduce part */
    for (int w = 0; w < p->n_params; w++)
        p->param[w].grad_partial_tp =
            r.started[w] && p->value[r.target[w]].place[TT_TP].kind == TT_P && p->mesh.degree[TT_TP] > 1;
    tt_instr_list_free(code);
    *code = r.out;
    free(r.target);
    free(r.left);
    free(r.started);
}

/* --- once a step ---------------------------------------------------------------------------------------------------- */

static tt_instr *emit(tt_program *p, tt_part_id part, int op, int block, int n_in, const tt_vid *in, int n_out,
                      const tt_vid *out)
{
    tt_instr *i = tt_emit(p, &p->part[part].code, op, n_in, in, n_out, out);
    i->block = block;
    if (op == TT_OP_feed || op == TT_OP_fetch)
        i->queue = TT_Q_COPY;
    return i;
}

/* Sum a value over `mask` in place, when several ranks are there. */
static void all_reduce(tt_program *p, tt_part_id part, int block, int mask, int n, const tt_vid *v)
{
    int axes = tt_active_axes(&p->mesh, mask);
    if (!axes || n == 0)
        return;
    tt_instr *i = emit(p, part, TT_OP_all_reduce, block, n, v, n, v);
    i->queue = TT_Q_REDUCE;
    i->attr.axes = axes;
}

static void write_casts(tt_program *p, tt_part_id part)
{
    for (int b = 0; b < p->n_blocks; b++)
        if (p->state[b].low >= 0)
            emit(p, part, TT_OP_cast, b, 1, &p->state[b].master, 1, &p->state[b].low);
}

static void write_begin(tt_program *p, const tt_fsdp_opts *opts)
{
    emit(p, TT_PART_BEGIN, TT_OP_feed, 0, 0, NULL, 3, (tt_vid[]){p->n_valid, p->lr, p->step});
    all_reduce(p, TT_PART_BEGIN, 0, TT_MASK_LOSS, 1, &p->n_valid);
    emit(p, TT_PART_BEGIN, TT_OP_reciprocal, 0, 1, &p->n_valid, 1, &p->inv_valid);
    write_casts(p, TT_PART_BEGIN);
    if (opts->reshard != TT_RESHARD_NEVER || shards(p) == 1)
        return;
    gatherer g = {.p = p, .out = p->part[TT_PART_BEGIN].code};
    g.now = malloc(sizeof *g.now * (size_t)p->n_params);
    TT_ASSERT(g.now);
    for (int b = 0; b < p->n_blocks; b++)
        emit_gather(&g, b, TT_SCOPE_STEP);
    free(g.now);
    p->part[TT_PART_BEGIN].code = g.out;
}

static void reduce_partial(tt_program *p, int b)
{
    tt_vid *v = malloc(sizeof *v * (size_t)p->n_params);
    TT_ASSERT(v);
    int n = 0;
    for (int w = 0; w < p->n_params; w++)
        if (p->param[w].block == b && p->param[w].grad_partial_tp)
            v[n++] = state_view(p, &p->param[w], p->state[b].grad, p->param[w].state_local);
    all_reduce(p, TT_PART_REDUCE, b, TT_MASK(TT_TP), n, v);
    free(v);
}

/* Sum of squares of the block's gradients that this rank counts (a replicated one is counted once). */
static void write_sumsq(tt_program *p, int b, tt_vid partials)
{
    tt_vid *v = malloc(sizeof *v * (size_t)p->n_params);
    TT_ASSERT(v);
    int n = 0;
    for (int w = 0; w < p->n_params; w++)
        if (p->param[w].block == b && (p->param[w].tp_dim >= 0 || p->mesh.coord[TT_TP] == 0))
            v[n++] = state_view(p, &p->param[w], p->state[b].grad, p->param[w].state_local);
    tt_vid one = tt_value_view(p, partials, b * (int64_t)sizeof(double), "norm_part", TT_F64, 1, (int64_t[]){1});
    emit(p, TT_PART_REDUCE, TT_OP_sumsq, b, n, v, 1, &one);
    free(v);
}

static void write_reduce(tt_program *p, const tt_fsdp_opts *opts)
{
    const int last = p->n_blocks - 1;
    emit(p, TT_PART_REDUCE, TT_OP_copy, last, 1, &p->loss_sum, 1, &p->loss_here);
    all_reduce(p, TT_PART_REDUCE, last, TT_MASK_LOSS, 1, &p->loss_sum);
    for (int b = last; b >= 0; b--) {
        all_reduce(p, TT_PART_REDUCE, b, TT_MASK(TT_DP_REPLICATE), 1, &p->state[b].grad);
        reduce_partial(p, b);
    }
    int64_t n_blocks = p->n_blocks;
    tt_vid partials = tt_value_new(p, "norm_parts", TT_F64, 1, &n_blocks);
    p->value[partials].scope = TT_SCOPE_SCRATCH;
    for (int b = 0; b < p->n_blocks; b++)
        write_sumsq(p, b, partials);
    int axes = tt_active_axes(&p->mesh, TT_MASK_FSDP | TT_MASK(TT_TP) | TT_MASK(TT_PP));
    tt_vid all = partials;
    if (axes) {
        int64_t n = n_blocks * tt_mesh_group_size(&p->mesh, axes);
        all = tt_value_new(p, "norm_all", TT_F64, 1, &n);
        tt_instr *i = emit(p, TT_PART_REDUCE, TT_OP_all_gather, 0, 1, &partials, 1, &all);
        i->queue = TT_Q_REDUCE;
        i->attr.axes = axes;
    }
    emit(p, TT_PART_REDUCE, TT_OP_norm_clip, 0, 1, &all, 2, (tt_vid[]){p->grad_norm, p->clip_coef})->attr.max_norm =
        opts->max_norm;
    emit(p, TT_PART_REDUCE, TT_OP_check_finite, 0, 2, (tt_vid[]){p->loss_sum, p->grad_norm}, 1, &p->bad);
    emit(p, TT_PART_REDUCE, TT_OP_fetch, 0, 5, (tt_vid[]){p->loss_sum, p->loss_here, p->n_valid, p->grad_norm, p->bad}, 0,
         NULL);
}

static void write_update(tt_program *p, const tt_fsdp_opts *opts)
{
    for (int b = 0; b < p->n_blocks; b++) {
        const tt_block_state *s = &p->state[b];
        tt_instr *i = emit(p, TT_PART_UPDATE, TT_OP_adamw, b, 5,
                           (tt_vid[]){s->grad, p->clip_coef, p->lr, p->step, p->bad}, 3,
                           (tt_vid[]){s->master, s->exp_avg, s->exp_avg_sq});
        i->attr.beta1 = opts->beta1;
        i->attr.beta2 = opts->beta2;
        i->attr.eps = opts->eps;
        i->attr.weight_decay = opts->weight_decay;
        i->attr.decoupled = opts->decoupled;
    }
}

static void write_init(tt_program *p)
{
    emit(p, TT_PART_INIT, TT_OP_feed, 0, 0, NULL, 1, &p->seed);
    for (int b = 0; b < p->n_blocks; b++) {
        tt_vid all[] = {p->state[b].master, p->state[b].exp_avg, p->state[b].exp_avg_sq};
        for (int k = 0; k < 3; k++)
            emit(p, TT_PART_INIT, TT_OP_zero, b, 0, NULL, 1, &all[k]);
    }
    for (int w = 0; w < p->n_params; w++) {
        const tt_param *x = &p->param[w];
        tt_vid v = state_view(p, x, p->state[x->block].master, x->state_local);
        tt_attrs *a = &emit(p, TT_PART_INIT, TT_OP_init, x->block, 1, &p->seed, 1, &v)->attr;
        a->dist = x->dist;
        a->std = x->std;
        a->lo = x->lo;
        a->hi = x->hi;
        a->key = XXH3_64bits(x->fqn, strlen(x->fqn));
        memcpy(a->box_start, x->box_start, sizeof a->box_start);
        memcpy(a->box_count, x->box_count, sizeof a->box_count);
        memcpy(a->full_dim, x->shape, sizeof a->full_dim);
    }
}

static void write_snapshot(tt_program *p)
{
    for (int b = 0; b < p->n_blocks; b++) {
        tt_vid all[] = {p->state[b].master, p->state[b].exp_avg, p->state[b].exp_avg_sq};
        emit(p, TT_PART_SNAPSHOT, TT_OP_fetch, b, 3, all, 0, NULL);
        emit(p, TT_PART_RESTORE, TT_OP_feed, b, 0, NULL, 3, all);
        emit(p, TT_PART_GRADS, TT_OP_fetch, b, 1, &p->state[b].grad, 0, NULL);
    }
}

void tt_fsdp_write_step_parts(tt_program *p, const tt_fsdp_opts *opts)
{
    write_begin(p, opts);
    write_reduce(p, opts);
    write_update(p, opts);
    write_init(p);
    write_snapshot(p);
    write_casts(p, TT_PART_EVAL_BEGIN);
    emit(p, TT_PART_EVAL_END, TT_OP_feed, 0, 0, NULL, 1, &p->eval_valid);
    all_reduce(p, TT_PART_EVAL_END, 0, TT_MASK_LOSS, 2, (tt_vid[]){p->eval_loss, p->eval_valid});
    emit(p, TT_PART_EVAL_END, TT_OP_fetch, 0, 2, (tt_vid[]){p->eval_loss, p->eval_valid}, 0, NULL);
}
