/* See compile.h. */
#include "passes/compile.h"

#include "passes/differentiate.h"
#include "passes/order.h"
#include "graph/verify.h"

#include <stdio.h>
#include <string.h>

/* Degrees up to `most` that divide both a and b, as text. */
static const char *common_divisors(int64_t a, int64_t b, char *text, size_t size)
{
    text[0] = 0;
    for (int64_t d = 1; d <= a && d <= b; d++)
        if (a % d == 0 && b % d == 0) {
            size_t n = strlen(text);
            if (n + 24 > size)
                break;
            snprintf(text + n, size - n, "%s%lld", n ? ", " : "", (long long)d);
        }
    return text;
}

tt_status tt_compile_check(const tt_model *model, const tt_mesh *mesh, const tt_compile_opts *opts, tt_error *err)
{
    const tt_model_dims *d = &model->dims;
    const int tp = mesh->degree[TT_TP];
    char fits[256];
    if (opts->seq_len < 1 || opts->batch < 1 || opts->n_microbatches < 1)
        return tt_fail(err, TT_ERR_CONFIG,
                       "training.seq_len=%lld, local batch %d, accumulation steps %d: each must be "
                       "at least 1; change them",
                       (long long)opts->seq_len, opts->batch, opts->n_microbatches);
    if (d->n_heads % tp)
        return tt_fail(err, TT_ERR_MESH,
                       "model.n_heads=%d is not divisible by parallelism.tensor_parallel_degree=%d; use a degree of %s",
                       d->n_heads, tp, common_divisors(d->n_heads, d->n_kv_heads, fits, sizeof fits));
    if (d->n_kv_heads % tp)
        return tt_fail(err, TT_ERR_MESH,
                       "model.n_kv_heads=%d is not divisible by parallelism.tensor_parallel_degree=%d: every tp rank "
                       "needs whole kv heads; use a degree of %s",
                       d->n_kv_heads, tp, common_divisors(d->n_heads, d->n_kv_heads, fits, sizeof fits));
    const struct {
        int64_t seq_len;
        int batch;
        const char *section;
    } in[] = {{opts->seq_len, opts->batch, "training"}, {opts->eval_seq_len, opts->eval_batch, "validation"}};
    for (int k = 0; k < 2; k++)
        if (opts->sequence_parallel && in[k].seq_len * in[k].batch % tp)
            return tt_fail(err, TT_ERR_MESH,
                           "a %s microbatch of %d x %lld = %lld tokens cannot be shared evenly by %d tp ranks; change "
                           "%s.seq_len or %s.local_batch_size, or set parallelism.enable_sequence_parallel = false",
                           in[k].section, in[k].batch, (long long)in[k].seq_len,
                           (long long)(in[k].seq_len * in[k].batch), tp, in[k].section, in[k].section);
    return TT_OK;
}

/* --- values that the run feeds and fetches -------------------------------------------------------------------------- */

static tt_vid scalar(tt_program *p, const char *name, tt_dtype t, tt_scope scope)
{
    tt_vid v = tt_value_new(p, name, t, 1, (int64_t[]){1});
    p->value[v].scope = scope;
    return v;
}

/* One int per token; over `axes` the ranks hold different sequences. */
static tt_vid per_token(tt_program *p, const char *name, const tt_inputs *in, int axes)
{
    int64_t n = in->seq_len * in->batch * tt_mesh_group_size(&p->mesh, axes);
    tt_vid v = tt_value_new(p, name, TT_I32, 1, &n);
    tt_value *x = &p->value[v];
    x->scope = TT_SCOPE_FRAME;
    for (int a = 0; a < TT_N_AXES; a++)
        if ((TT_MASK(a) & axes) && p->mesh.degree[a] > 1)
            x->place[a] = (tt_placement){TT_S, 0};
    tt_placement_local_shape(&p->mesh, x->place, 1, x->shape, x->local);
    x->bytes = tt_value_local_bytes(x);
    return v;
}

static void declare_tokens(tt_program *p, tt_inputs *in, int64_t seq_len, int batch, int axes)
{
    in->seq_len = seq_len;
    in->batch = batch;
    in->tokens = per_token(p, "tokens", in, axes);
    in->targets = per_token(p, "targets", in, axes);
    in->positions = per_token(p, "positions", in, axes);
    in->doc_start = per_token(p, "doc_start", in, axes);
}

static void declare_inputs(tt_program *p, const tt_compile_opts *opts)
{
    declare_tokens(p, &p->train, opts->seq_len, opts->batch, TT_MASK_BATCH);
    if (opts->eval_batch)
        declare_tokens(p, &p->eval, opts->eval_seq_len, opts->eval_batch, TT_MASK_BATCH);
    if (opts->generate_seq_len)
        declare_tokens(p, &p->generate, opts->generate_seq_len, 1, 0);
    p->n_valid = scalar(p, "n_valid", TT_F64, TT_SCOPE_STEP);
    p->inv_valid = scalar(p, "inv_valid", TT_F32, TT_SCOPE_STEP);
    p->loss_sum = scalar(p, "loss_sum", TT_F64, TT_SCOPE_STEP);
    p->loss_here = scalar(p, "loss_here", TT_F64, TT_SCOPE_STEP);
    p->grad_norm = scalar(p, "grad_norm", TT_F32, TT_SCOPE_STEP);
    p->clip_coef = scalar(p, "clip_coef", TT_F32, TT_SCOPE_STEP);
    p->bad = scalar(p, "bad", TT_I32, TT_SCOPE_STEP);
    p->lr = scalar(p, "lr", TT_F32, TT_SCOPE_STEP);
    p->step = scalar(p, "step", TT_I32, TT_SCOPE_STEP);
    p->seed = scalar(p, "seed", TT_I64, TT_SCOPE_STEP);
    p->eval_loss = scalar(p, "eval_loss", TT_F64, TT_SCOPE_STEP);
    p->eval_valid = scalar(p, "eval_valid", TT_F64, TT_SCOPE_STEP);
    p->row_index = scalar(p, "row_index", TT_I32, TT_SCOPE_STEP);
}

/* --- parts ---------------------------------------------------------------------------------------------------------- */

static void feed(tt_program *p, tt_instr_list *list, int n, const tt_vid *v)
{
    tt_emit(p, list, TT_OP_feed, 0, NULL, n, v)->queue = TT_Q_COPY;
}

/* In tests and under debug every pass answers for what it leaves behind. */
static tt_status check(const tt_program *p, const tt_compile_opts *opts, const tt_instr_list *list, const char *pass,
                       tt_error *err)
{
    return opts->verify ? tt_verify_list(p, list, pass, err) : TT_OK;
}

/* A placed and fused forward ending in `end`, preceded by the feed of its inputs; *last is the value to fetch. */
static tt_status build_forward(tt_program *p, const tt_model *model, const tt_compile_opts *opts, tt_forward_end end,
                               const tt_inputs *in, tt_instr_list *list, tt_error *err)
{
    tt_builder b = {.p = p, .list = list, .in = *in};
    b.residual_tp = opts->sequence_parallel ? (tt_placement){TT_S, 0} : (tt_placement){TT_R, 0};
    tt_vid x, last = model->family->forward(&b, model, end, &x);
    if (end == TT_END_LOSS)
        tt_differentiate(p, list, x, last);
    else if (end != TT_END_EVAL) {
        p->logits = last;
        p->value[last].pinned = 1; /* R: the host gets whole rows */
    }
    const tt_shard_opts shard = {.sequence_parallel = opts->sequence_parallel,
                                 .logits_bytes_max = opts->logits_bytes_max ? opts->logits_bytes_max : 32 << 20};
    tt_status st = tt_shard(p, list, &shard, err);
    if (st == TT_OK)
        st = check(p, opts, list, "shard", err);
    if (st != TT_OK)
        return st;
    tt_fuse(p, list);
    return check(p, opts, list, "fuse", err);
}

static void prepend_feed(tt_program *p, tt_part_id part, tt_instr_list *code, int n, const tt_vid *v)
{
    tt_instr_list *out = &p->part[part].code;
    feed(p, out, n, v);
    for (int k = 0; k < code->n; k++)
        tt_emit_copy(p, out, &code->at[k]);
    tt_instr_list_free(code);
}

static tt_status compile_train(tt_program *p, const tt_model *model, const tt_compile_opts *opts, tt_error *err)
{
    const tt_inputs *in = &p->train;
    const int keep = opts->fsdp.reshard == TT_RESHARD_NEVER;
    tt_instr_list list = {0}, forward = {0}, *backward = &p->part[TT_PART_BACKWARD].code;
    tt_status st;
    TT_TRY(build_forward(p, model, opts, TT_END_LOSS, in, &list, err));
    tt_split(p, &list, &forward, backward);
    tt_recompute_pass(p, &forward, backward, &opts->recompute);
    TT_TRY(check(p, opts, backward, "recompute", err));
    prepend_feed(p, TT_PART_FORWARD, &forward, 4,
                 (tt_vid[]){in->tokens, in->targets, in->positions, in->doc_start});
    tt_fsdp_gather(p, TT_PART_FORWARD, keep);
    tt_fsdp_gather(p, TT_PART_BACKWARD, keep);
    TT_TRY(check(p, opts, &p->part[TT_PART_FORWARD].code, "gather", err));
    TT_TRY(check(p, opts, backward, "gather", err));
    tt_fsdp_reduce_gradients(p);
    TT_TRY(check(p, opts, backward, "reduce", err));
out:
    tt_instr_list_free(&list);
    tt_instr_list_free(&forward);
    return st;
}

static tt_status compile_eval(tt_program *p, const tt_model *model, const tt_compile_opts *opts, tt_part_id part,
                              tt_forward_end end, const tt_inputs *from, tt_error *err)
{
    tt_instr_list list = {0};
    tt_status st = build_forward(p, model, opts, end, from, &list, err);
    if (st != TT_OK) {
        tt_instr_list_free(&list);
        return st;
    }
    tt_vid in[] = {from->tokens, from->positions, from->doc_start,
                   end == TT_END_EVAL ? from->targets : p->row_index};
    prepend_feed(p, part, &list, end == TT_END_LOGITS ? 3 : 4, in);
    if (end != TT_END_EVAL) {
        tt_vid logits = p->logits;
        tt_emit(p, &p->part[part].code, TT_OP_fetch, 1, &logits, 0, NULL)->queue = TT_Q_COPY;
    }
    tt_fsdp_gather(p, part, 0);
    return TT_OK;
}

tt_status tt_compile(const tt_model *model, const tt_mesh *mesh, const tt_compile_opts *opts, tt_program **program,
                     tt_error *err)
{
    tt_status st = tt_compile_check(model, mesh, opts, err);
    if (st != TT_OK)
        return st;
    tt_program *p = tt_program_create(mesh);
    p->compute_dtype = opts->compute_dtype;
    p->fusions_off = opts->fusions_off;
    p->n_microbatches = opts->n_microbatches;
    declare_inputs(p, opts);
    tt_fsdp_declare_params(p, model);
    tt_fsdp_layout_state(p);
    TT_TRY(compile_train(p, model, opts, err));
    if (opts->eval_batch)
        TT_TRY(compile_eval(p, model, opts, TT_PART_EVAL, TT_END_EVAL, &p->eval, err));
    if (opts->generate_seq_len)
        TT_TRY(compile_eval(p, model, opts, TT_PART_GENERATE, TT_END_ROW_LOGITS, &p->generate, err));
    if (opts->logits)
        TT_TRY(compile_eval(p, model, opts, TT_PART_LOGITS, TT_END_LOGITS, &p->train, err));
    tt_fsdp_write_step_parts(p, &opts->fsdp);
    tt_plan_workspaces(p, &opts->device);
    tt_order(p);
    tt_plan_memory(p);
    if (opts->verify)
        TT_TRY(tt_verify(p, err));
    *program = p;
    p = NULL;
out:
    tt_program_destroy(&p);
    return st;
}
