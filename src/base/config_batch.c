/* The batch in the words of newer versions of the reference: tokens and contexts instead of
 * sequences.
 *
 *   training.max_context_length                     = seq_len
 *   training.num_tokens_per_microbatch_per_dp_rank  = seq_len x sequences of a microbatch
 *   parallelism.num_pp_microbatches                 = local_batch_size /
 * pipeline_parallel_microbatch_size training.num_tokens_per_train_step              = seq_len x
 * global_batch_size, or -1
 *
 * They are written into the older keys, which are all that the rest of titan reads, and are unset
 * then: the printed config has one spelling. Where both spellings are given, the command line wins
 * over a file; on the same level they must agree. */
#include "base/config_value.h"

#include <string.h>

#define SEQ_LEN "training.seq_len"
#define CONTEXT "training.max_context_length"
#define LOCAL "training.local_batch_size"
#define MICRO_TOKENS "training.num_tokens_per_microbatch_per_dp_rank"
#define GLOBAL "training.global_batch_size"
#define STEP_TOKENS "training.num_tokens_per_train_step"
#define PP_SIZE "parallelism.pipeline_parallel_microbatch_size"
#define PP_NUMBER "parallelism.num_pp_microbatches"

static int64_t *value_at(tt_config *cfg, const char *name)
{
    return (int64_t *)((char *)cfg + tt_config_key(tt_config_find_key(name))->offset);
}

/* 0 default, 1 a file, 2 the command line. */
static int level_of(const tt_config *cfg, const char *name)
{
    const char *origin = tt_config_origin(cfg, name);
    return strcmp(origin, "default") == 0 ? 0 : strncmp(origin, "command line", 12) == 0 ? 2 : 1;
}

/* The older key gets the value that the newer one means, unless it was given with more weight. */
static tt_status derive(tt_config *cfg, const char *newer, const char *older, int64_t value,
                        tt_error *err)
{
    char origin[4400], text[32];
    int64_t had = *value_at(cfg, older);
    if (level_of(cfg, older) > level_of(cfg, newer))
        return TT_OK;
    if (had == value && level_of(cfg, older) > 0)
        return TT_OK;
    if (level_of(cfg, older) == level_of(cfg, newer))
        return tt_fail(err, TT_ERR_CONFIG,
                       "the batch is given twice: %s = %lld (%s) asks for %s = %lld, but that is "
                       "%lld (%s); give one of the two",
                       newer, (long long)*value_at(cfg, newer), tt_config_origin(cfg, newer), older,
                       (long long)value, (long long)had, tt_config_origin(cfg, older));
    snprintf(origin, sizeof origin, "%s (from %s)", tt_config_origin(cfg, newer), newer);
    snprintf(text, sizeof text, "%lld", (long long)value);
    return tt_config_set(cfg, older, text, origin, err);
}

static tt_status unset(tt_config *cfg, const char *name, tt_error *err)
{
    return tt_config_put_text(cfg, tt_config_find_key(name), "", NULL, err);
}

/* Tokens as sequences; a remainder is refused. */
static tt_status sequences_of(tt_config *cfg, const char *tokens, int64_t *sequences, tt_error *err)
{
    int64_t n = *value_at(cfg, tokens), seq = cfg->training.seq_len;
    if (n % seq != 0)
        return tt_fail(err, TT_ERR_CONFIG,
                       "%s = %lld (%s) is not a whole number of sequences of " SEQ_LEN
                       " = %lld tokens (%s); use %lld, or a length "
                       "that divides it",
                       tokens, (long long)n, tt_config_origin(cfg, tokens), (long long)seq,
                       tt_config_origin(cfg, SEQ_LEN), (long long)((n / seq + 1) * seq));
    *sequences = n / seq;
    return TT_OK;
}

/* Sequences of a microbatch and of a rank. Without a pipeline a loader's batch is a microbatch. */
static tt_status resolve_local(tt_config *cfg, tt_error *err)
{
    int pp = cfg->parallelism.pipeline_parallel_degree > 1;
    int64_t number = pp ? TT_INT_OR(cfg->parallelism.num_pp_microbatches, 1) : 1, micro,
            local = cfg->training.local_batch_size;
    tt_status st;
    if (cfg->training.num_tokens_per_microbatch_per_dp_rank != TT_UNSET_INT) {
        TT_TRY(sequences_of(cfg, MICRO_TOKENS, &micro, err));
        TT_TRY(derive(cfg, MICRO_TOKENS, LOCAL, micro * number, err));
        if (pp)
            TT_TRY(derive(cfg, MICRO_TOKENS, PP_SIZE, micro, err));
    } else if (pp && cfg->parallelism.num_pp_microbatches != TT_UNSET_INT) {
        if (local % number != 0)
            return tt_fail(err, TT_ERR_CONFIG,
                           LOCAL " = %lld (%s) cannot be cut into " PP_NUMBER
                                 " = %lld (%s) equal microbatches; use a multiple of "
                                 "%lld",
                           (long long)local, tt_config_origin(cfg, LOCAL), (long long)number,
                           tt_config_origin(cfg, PP_NUMBER), (long long)number);
        TT_TRY(derive(cfg, PP_NUMBER, PP_SIZE, local / number, err));
    }
    TT_TRY(unset(cfg, MICRO_TOKENS, err));
    st = unset(cfg, PP_NUMBER, err);
out:
    return st;
}

tt_status tt_config_resolve_batch(tt_config *cfg, tt_error *err)
{
    tt_status st;
    int64_t global = -1;
    if (cfg->training.max_context_length != TT_UNSET_INT)
        TT_TRY(derive(cfg, CONTEXT, SEQ_LEN, cfg->training.max_context_length, err));
    TT_TRY(unset(cfg, CONTEXT, err));
    TT_TRY(resolve_local(cfg, err));
    if (cfg->training.num_tokens_per_train_step != TT_UNSET_INT) {
        if (cfg->training.num_tokens_per_train_step > 0)
            TT_TRY(sequences_of(cfg, STEP_TOKENS, &global, err));
        TT_TRY(derive(cfg, STEP_TOKENS, GLOBAL, global, err));
    }
    st = unset(cfg, STEP_TOKENS, err);
out:
    return st;
}
