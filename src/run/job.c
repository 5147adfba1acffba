/* See job.h. */
#include "run/job.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- model ---------------------------------------------------------------------------------------------------------- */

static void override_shape(const tt_config *cfg, tt_model_dims *d)
{
    int head_shape = cfg->model.dim != TT_UNSET_INT || cfg->model.n_heads != TT_UNSET_INT;
    int ffn_rule = cfg->model.dim != TT_UNSET_INT || cfg->model.multiple_of != TT_UNSET_INT ||
                   cfg->model.ffn_dim_multiplier == cfg->model.ffn_dim_multiplier;
    d->dim = (int)TT_INT_OR(cfg->model.dim, d->dim);
    d->n_layers = (int)TT_INT_OR(cfg->model.n_layers, d->n_layers);
    if (cfg->model.n_heads != TT_UNSET_INT && cfg->model.n_kv_heads == TT_UNSET_INT && d->n_kv_heads == d->n_heads)
        d->n_kv_heads = (int)cfg->model.n_heads; /* a flavor without grouped queries keeps one kv head per head */
    d->n_heads = (int)TT_INT_OR(cfg->model.n_heads, d->n_heads);
    d->n_kv_heads = (int)TT_INT_OR(cfg->model.n_kv_heads, d->n_kv_heads);
    d->head_dim = (int)TT_INT_OR(cfg->model.head_dim, head_shape ? d->dim / d->n_heads : d->head_dim);
    if (ffn_rule)
        d->ffn_dim = tt_llama_ffn_dim(d->dim, TT_FLOAT_OR(cfg->model.ffn_dim_multiplier, 0),
                                      (int)TT_INT_OR(cfg->model.multiple_of, 256));
    d->ffn_dim = (int)TT_INT_OR(cfg->model.ffn_dim, d->ffn_dim);
    d->vocab_size = TT_INT_OR(cfg->model.vocab_size, d->vocab_size);
}

static void override_rope(const tt_config *cfg, tt_model_dims *d)
{
    d->rope_theta = TT_FLOAT_OR(cfg->model.rope_theta, d->rope_theta);
    d->rope_factor = TT_FLOAT_OR(cfg->model.rope_scaling_factor, d->rope_factor);
    if (d->rope_factor == 1)
        d->rope_factor = 0; /* no scaling */
    d->rope_low_freq_factor = TT_FLOAT_OR(cfg->model.rope_low_freq_factor, d->rope_low_freq_factor);
    d->rope_high_freq_factor = TT_FLOAT_OR(cfg->model.rope_high_freq_factor, d->rope_high_freq_factor);
    d->rope_original_max_position = TT_INT_OR(cfg->model.rope_original_max_position, d->rope_original_max_position);
    d->max_seq_len = TT_INT_OR(cfg->model.max_seq_len, d->max_seq_len);
}

tt_status tt_job_model(const tt_config *cfg, tt_model **model, tt_error *err)
{
    const tt_family *family;
    tt_model_dims d;
    tt_status st = tt_family_find(cfg->model.name, &family, err);
    if (st == TT_OK)
        st = family->flavor(cfg->model.flavor, &d, err);
    if (st != TT_OK)
        return st;
    int64_t heads = TT_INT_OR(cfg->model.n_heads, d.n_heads), dim = TT_INT_OR(cfg->model.dim, d.dim);
    if (cfg->model.head_dim == TT_UNSET_INT && dim % heads)
        return tt_fail(err, TT_ERR_CONFIG,
                       "model.dim=%lld is not divisible by model.n_heads=%lld (%s); choose one that divides, or set "
                       "model.head_dim",
                       (long long)dim, (long long)heads, tt_config_origin(cfg, "model.n_heads"));
    override_shape(cfg, &d);
    override_rope(cfg, &d);
    d.norm_eps = TT_FLOAT_OR(cfg->model.norm_eps, d.norm_eps);
    if (cfg->model.tie_embeddings != TT_UNSET_BOOL)
        d.tie_embeddings = cfg->model.tie_embeddings;
    return tt_model_create(cfg->model.name, &d, model, err);
}

/* --- mesh ----------------------------------------------------------------------------------------------------------- */

tt_status tt_job_mesh(const tt_config *cfg, int size, int rank, int ranks_per_node, tt_mesh *mesh, tt_error *err)
{
    const int degree[TT_N_AXES] = {
        [TT_PP] = (int)cfg->parallelism.pipeline_parallel_degree,
        [TT_DP_REPLICATE] = (int)cfg->parallelism.data_parallel_replicate_degree,
        [TT_DP_SHARD] = (int)cfg->parallelism.data_parallel_shard_degree,
        [TT_CP] = (int)cfg->parallelism.context_parallel_degree,
        [TT_TP] = (int)cfg->parallelism.tensor_parallel_degree,
    };
    tt_status st = tt_mesh_create(degree, size, rank, mesh, err);
    if (st != TT_OK)
        return st;
    int tp = mesh->degree[TT_TP];
    if (ranks_per_node > 0 && ranks_per_node < size && ranks_per_node % tp)
        return tt_fail(err, TT_ERR_MESH,
                       "parallelism.tensor_parallel_degree=%d does not divide the %d ranks of a node, so tensor parallel "
                       "groups would span nodes and every layer would wait for the network; use a degree that divides %d",
                       tp, ranks_per_node, ranks_per_node);
    return TT_OK;
}

/* --- options -------------------------------------------------------------------------------------------------------- */

static tt_status recompute_opts(const tt_config *cfg, tt_recompute_opts *o, tt_error *err)
{
    const char *mode = cfg->activation_checkpoint.mode, *option = cfg->activation_checkpoint.selective_ac_option;
    *o = (tt_recompute_opts){.mode = TT_AC_NONE, .every = 1};
    if (!strcmp(mode, "full")) {
        o->mode = TT_AC_FULL;
    } else if (!strcmp(mode, "selective") && !strcmp(option, "op")) {
        o->mode = TT_AC_SELECTIVE_OP;
    } else if (!strcmp(mode, "selective")) {
        char *end;
        long n = strtol(option, &end, 10);
        if (*end || end == option || n < 1 || n > 1000000)
            return tt_fail(err, TT_ERR_CONFIG,
                           "activation_checkpoint.selective_ac_option = \"%s\" (%s); use \"op\", or \"n\" to recompute "
                           "every n-th layer",
                           option, tt_config_origin(cfg, "activation_checkpoint.selective_ac_option"));
        o->mode = TT_AC_SELECTIVE_LAYER;
        o->every = (int)n;
    } else if (strcmp(mode, "none")) {
        return tt_fail(err, TT_ERR_CONFIG,
                       "%s: activation_checkpoint.mode = \"%s\" asks for what this version does not have: recompute under a "
                       "memory budget; use \"none\", \"selective\" or \"full\"",
                       tt_config_origin(cfg, "activation_checkpoint.mode"), mode);
    }
    return TT_OK;
}

static tt_status fusion_opts(const tt_config *cfg, unsigned *off, tt_error *err)
{
    for (int k = 0; k < cfg->compile.disable.n; k++) {
        int fusion = 0;
        tt_status st = tt_fusion_find(cfg->compile.disable.items[k], "compile.disable",
                                      tt_config_origin(cfg, "compile.disable"), &fusion, err);
        if (st != TT_OK)
            return st;
        *off |= 1u << fusion;
    }
    return TT_OK;
}

static tt_status batch_opts(const tt_config *cfg, const tt_mesh *mesh, tt_compile_opts *o, tt_error *err)
{
    const int64_t dp = tt_mesh_group_size(mesh, TT_MASK_BATCH), local = cfg->training.local_batch_size;
    const int64_t global = cfg->training.global_batch_size < 0 ? local * dp : cfg->training.global_batch_size;
    if (global % (local * dp))
        return tt_fail(err, TT_ERR_CONFIG,
                       "training.global_batch_size=%lld (%s) is not a multiple of local_batch_size %lld x %lld "
                       "data-parallel ranks = %lld; use a multiple, or another local_batch_size",
                       (long long)global, tt_config_origin(cfg, "training.global_batch_size"), (long long)local,
                       (long long)dp, (long long)(local * dp));
    o->seq_len = cfg->training.seq_len;
    o->batch = (int)local;
    o->n_microbatches = (int)(global / (local * dp));
    if (cfg->validation.enable) {
        o->eval_batch = (int)cfg->validation.local_batch_size;
        o->eval_seq_len = cfg->validation.seq_len;
    }
    return TT_OK;
}

tt_status tt_job_compile_opts(const tt_config *cfg, const tt_model *model, const tt_mesh *mesh, tt_compile_opts *o,
                              tt_error *err)
{
    const char *reshard = cfg->parallelism.fsdp_reshard_after_forward;
    *o = (tt_compile_opts){
        .compute_dtype = strcmp(cfg->training.mixed_precision_param, "bfloat16") ? TT_F32 : TT_BF16,
        .sequence_parallel = cfg->parallelism.enable_sequence_parallel,
        .fsdp = {.reshard = !strcmp(reshard, "always")  ? TT_RESHARD_ALWAYS
                            : !strcmp(reshard, "never") ? TT_RESHARD_NEVER
                                                        : TT_RESHARD_DEFAULT,
                 .beta1 = cfg->optimizer.beta1,
                 .beta2 = cfg->optimizer.beta2,
                 .eps = cfg->optimizer.eps,
                 .weight_decay = cfg->optimizer.weight_decay,
                 .decoupled = !strcmp(cfg->optimizer.name, "AdamW"),
                 .max_norm = cfg->training.max_norm}};
    tt_status st = recompute_opts(cfg, &o->recompute, err);
    if (st == TT_OK)
        st = fusion_opts(cfg, &o->fusions_off, err);
    if (st == TT_OK)
        st = batch_opts(cfg, mesh, o, err);
    if (st != TT_OK)
        return st;
    const int64_t most = model->dims.max_seq_len;
    if (most && (o->seq_len > most || o->eval_seq_len > most))
        return tt_fail(err, TT_ERR_CONFIG,
                       "%s.seq_len=%lld (%s) is more than the model's %lld positions; use a shorter one, or raise "
                       "model.max_seq_len",
                       o->seq_len > most ? "training" : "validation",
                       (long long)(o->seq_len > most ? o->seq_len : o->eval_seq_len),
                       tt_config_origin(cfg, o->seq_len > most ? "training.seq_len" : "validation.seq_len"),
                       (long long)most);
    return TT_OK;
}

tt_lr_opts tt_job_lr(const tt_config *cfg)
{
    const char *type = cfg->lr_scheduler.decay_type;
    return (tt_lr_opts){.total_steps = TT_INT_OR(cfg->lr_scheduler.total_steps, cfg->training.steps),
                        .warmup_steps = cfg->lr_scheduler.warmup_steps,
                        .decay_ratio = TT_FLOAT_OR(cfg->lr_scheduler.decay_ratio, -1),
                        .decay_type = !strcmp(type, "cosine") ? TT_DECAY_COSINE
                                      : !strcmp(type, "sqrt") ? TT_DECAY_SQRT
                                                              : TT_DECAY_LINEAR,
                        .min_lr_factor = cfg->lr_scheduler.min_lr_factor};
}

int tt_job_threads(const tt_config *cfg, int local_size)
{
    if (cfg->device.threads > 0)
        return (int)cfg->device.threads;
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int mine = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    if (mine >= online) /* not bound: the node's ranks share the cores */
        mine /= local_size;
    return mine > 0 ? mine : 1;
}

static int on_command_line(const tt_config *cfg, const char *key)
{
    const char *origin = tt_config_origin(cfg, key);
    return origin && !strcmp(origin, "command line");
}

const char *tt_job_tokenizer(const tt_config *cfg, const char *own)
{
    const char *path = cfg->model.tokenizer_path, *assets = cfg->model.hf_assets_path;
    path = path && *path ? path : NULL;
    if (path && on_command_line(cfg, "model.tokenizer_path"))
        return path;
    if (on_command_line(cfg, "model.hf_assets_path"))
        return assets;
    return own ? own : path ? path : assets;
}
