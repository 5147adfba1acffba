/* See engine.h. */
#include "run/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tt_status tt_engine_create(tt_world *world, const tt_mesh *mesh, const tt_model *model, tt_device *device,
                           const tt_compile_opts *opts, tt_engine **engine, tt_error *err)
{
    tt_status st;
    tt_engine *e = calloc(1, sizeof *e);
    TT_ASSERT(e);
    e->model = model;
    e->device = device;
    tt_compile_opts o = *opts;
    o.device = device->profile;
    TT_TRY(tt_compile(model, mesh, &o, &e->program, err));
    TT_TRY(tt_comm_create(world, mesh, &e->comm, err));
    TT_TRY(tt_executor_create(e->program, device, e->comm, &e->executor, err));
    *engine = e;
    e = NULL;
out:
    tt_engine_destroy(&e);
    return st;
}

void tt_engine_destroy(tt_engine **engine)
{
    tt_engine *e = *engine;
    if (!e)
        return;
    tt_executor_destroy(&e->executor);
    tt_comm_destroy(&e->comm);
    tt_program_destroy(&e->program);
    free(e->wide);
    free(e);
    *engine = NULL;
}

static tt_microbatch host_inputs(tt_engine *e, const tt_inputs *in, int index)
{
    TT_ASSERT(in->tokens >= 0);
    return (tt_microbatch){.tokens = tt_executor_host(e->executor, in->tokens, index),
                           .targets = tt_executor_host(e->executor, in->targets, index),
                           .positions = tt_executor_host(e->executor, in->positions, index),
                           .doc_start = tt_executor_host(e->executor, in->doc_start, index),
                           .n = e->program->value[in->tokens].local[0]};
}

tt_microbatch tt_engine_microbatch(tt_engine *e, int index)
{
    return host_inputs(e, &e->program->train, index);
}

tt_microbatch tt_engine_eval_inputs(tt_engine *e)
{
    return host_inputs(e, &e->program->eval, 0);
}

tt_microbatch tt_engine_generate_inputs(tt_engine *e)
{
    return host_inputs(e, &e->program->generate, 0);
}

static tt_status run_one(tt_engine *e, tt_part_id part, int first, tt_error *err)
{
    return tt_executor_run(e->executor, &(tt_call){.part = part, .first = first}, 1, err);
}

tt_status tt_engine_init(tt_engine *e, int64_t seed, tt_error *err)
{
    *(int64_t *)tt_executor_host(e->executor, e->program->seed, 0) = seed;
    return run_one(e, TT_PART_INIT, 0, err);
}

static double count_valid(tt_microbatch m)
{
    int64_t n = 0;
    for (int64_t i = 0; i < m.n; i++)
        n += m.targets[i] >= 0;
    return (double)n;
}

/* begin, (forward, backward) per microbatch, reduce, update: gradient accumulation is the schedule of pp = 1. */
static int step_list(const tt_program *p, int update, tt_call *calls)
{
    int n = 0;
    calls[n++] = (tt_call){.part = TT_PART_BEGIN};
    for (int m = 0; m < p->n_microbatches; m++) {
        calls[n++] = (tt_call){.part = TT_PART_FORWARD, .microbatch = m, .first = m == 0};
        calls[n++] = (tt_call){.part = TT_PART_BACKWARD, .microbatch = m, .first = m == 0};
    }
    calls[n++] = (tt_call){.part = TT_PART_REDUCE};
    if (update)
        calls[n++] = (tt_call){.part = TT_PART_UPDATE};
    return n;
}

tt_status tt_engine_step(tt_engine *e, int64_t step, double lr, int update, tt_step_result *result, tt_error *err)
{
    const tt_program *p = e->program;
    tt_executor *ex = e->executor;
    double valid = 0;
    for (int m = 0; m < p->n_microbatches; m++)
        valid += count_valid(tt_engine_microbatch(e, m));
    *(double *)tt_executor_host(ex, p->n_valid, 0) = valid;
    *(float *)tt_executor_host(ex, p->lr, 0) = (float)lr;
    *(int32_t *)tt_executor_host(ex, p->step, 0) = (int32_t)step;
    tt_call *calls = malloc(sizeof *calls * (size_t)(2 * p->n_microbatches + 3));
    TT_ASSERT(calls);
    int n = step_list(p, update, calls);
    tt_status st = tt_executor_run(ex, calls, n, err);
    free(calls);
    if (st != TT_OK)
        return st;
    result->n_valid = *(double *)tt_executor_host(ex, p->n_valid, 0);
    result->loss = *(double *)tt_executor_host(ex, p->loss_sum, 0) / result->n_valid;
    result->loss_here = valid > 0 ? *(double *)tt_executor_host(ex, p->loss_here, 0) / valid : 0;
    result->grad_norm = *(float *)tt_executor_host(ex, p->grad_norm, 0);
    result->bad = *(int32_t *)tt_executor_host(ex, p->bad, 0);
    return TT_OK;
}

/* --- validation and logits ------------------------------------------------------------------------------------------ */

tt_status tt_engine_eval_begin(tt_engine *e, tt_error *err)
{
    *(double *)tt_executor_host(e->executor, e->program->eval_valid, 0) = 0;
    return run_one(e, TT_PART_EVAL_BEGIN, 0, err);
}

tt_status tt_engine_eval_batch(tt_engine *e, tt_error *err)
{
    double *valid = tt_executor_host(e->executor, e->program->eval_valid, 0);
    int first = *valid == 0;
    *valid += count_valid(tt_engine_eval_inputs(e));
    return run_one(e, TT_PART_EVAL, first, err);
}

tt_status tt_engine_eval_end(tt_engine *e, double *loss, double *n_valid, tt_error *err)
{
    tt_status st = run_one(e, TT_PART_EVAL_END, 0, err);
    *n_valid = *(double *)tt_executor_host(e->executor, e->program->eval_valid, 0);
    *loss = *(double *)tt_executor_host(e->executor, e->program->eval_loss, 0) / *n_valid;
    return st;
}

/* bf16 logits are widened into a buffer of the engine's. */
static const float *as_f32(tt_engine *e, tt_vid v)
{
    const tt_value *x = &e->program->value[v];
    void *host = tt_executor_host(e->executor, v, 0);
    if (x->dtype == TT_F32)
        return host;
    int64_t n = tt_value_elements(x);
    e->wide = realloc(e->wide, sizeof *e->wide * (size_t)n);
    TT_ASSERT(e->wide);
    for (int64_t i = 0; i < n; i++)
        e->wide[i] = tt_bf16_to_f32(((tt_bf16 *)host)[i]);
    return e->wide;
}

static tt_vid fetched(const tt_engine *e, tt_part_id part)
{
    const tt_instr_list *code = &e->program->part[part].code;
    TT_ASSERT(code->n && code->at[code->n - 1].op == TT_OP_fetch);
    return code->at[code->n - 1].in[0];
}

tt_status tt_engine_logits(tt_engine *e, const float **logits, int64_t *rows, int64_t *vocab, tt_error *err)
{
    tt_vid v = fetched(e, TT_PART_LOGITS);
    tt_status st = run_one(e, TT_PART_LOGITS, 0, err);
    *logits = as_f32(e, v);
    *rows = e->program->value[v].local[0];
    *vocab = e->program->value[v].local[1];
    return st;
}

tt_status tt_engine_row_logits(tt_engine *e, int row, const float **logits, int64_t *vocab, tt_error *err)
{
    tt_vid v = fetched(e, TT_PART_GENERATE);
    *(int32_t *)tt_executor_host(e->executor, e->program->row_index, 0) = row;
    tt_status st = run_one(e, TT_PART_GENERATE, 0, err);
    *logits = as_f32(e, v);
    *vocab = e->program->value[v].local[1];
    return st;
}

/* --- state ------------------------------------------------------------------------------------------------------------ */

tt_status tt_engine_snapshot(tt_engine *e, tt_error *err)
{
    return run_one(e, TT_PART_SNAPSHOT, 0, err);
}

tt_status tt_engine_restore(tt_engine *e, tt_error *err)
{
    return run_one(e, TT_PART_RESTORE, 0, err);
}

tt_status tt_engine_fetch_grads(tt_engine *e, tt_error *err)
{
    return run_one(e, TT_PART_GRADS, 0, err);
}

static tt_ckpt_tensor image(tt_engine *e, const tt_param *w, tt_vid of, const char *prefix)
{
    tt_ckpt_tensor t = {.dtype = TT_F32, .ndim = w->ndim, .owner = w->owner};
    t.name = tt_arena_printf(e->program->arena, "%s%s", prefix, w->fqn);
    memcpy(t.shape, w->shape, sizeof t.shape);
    memcpy(t.start, w->box_start, sizeof t.start);
    memcpy(t.count, w->box_count, sizeof t.count);
    memcpy(t.pitch, w->state_local, sizeof t.pitch);
    t.data = (float *)tt_executor_host(e->executor, of, 0) + w->state_offset;
    return t;
}

void tt_engine_tensors(tt_engine *e, int optimizer, tt_ckpt_tensor **tensors, int *n)
{
    const tt_program *p = e->program;
    tt_ckpt_tensor *t = *tensors = malloc(sizeof *t * (size_t)(3 * p->n_params));
    TT_ASSERT(t);
    *n = 0;
    for (int i = 0; i < p->n_params; i++) {
        const tt_param *w = &p->param[i];
        const tt_block_state *s = &p->state[w->block];
        t[(*n)++] = image(e, w, s->master, "model/");
        if (!optimizer)
            continue;
        t[(*n)++] = image(e, w, s->exp_avg, "optim/exp_avg/");
        t[(*n)++] = image(e, w, s->exp_avg_sq, "optim/exp_avg_sq/");
    }
}

void tt_engine_grad_tensors(tt_engine *e, tt_ckpt_tensor **tensors, int *n)
{
    const tt_program *p = e->program;
    tt_ckpt_tensor *t = *tensors = malloc(sizeof *t * (size_t)p->n_params);
    TT_ASSERT(t);
    for (*n = 0; *n < p->n_params; (*n)++)
        t[*n] = image(e, &p->param[*n], p->state[p->param[*n].block].grad, "grad/");
}
