/* config.json of a published (Hugging Face) model folder as a plain struct.
 *
 * Reads the keys of both generations: rope_parameters (new) or rope_theta + rope_scaling (old), dtype or torch_dtype.
 * When both are there the nested value wins, and a warning says so: a stale top-level rope_theta is a known trap. */
#ifndef TT_CONVERT_HF_CONFIG_H
#define TT_CONVERT_HF_CONFIG_H

#include "base/error.h"

#include <stdint.h>

typedef struct tt_hf_config {
    char model_type[64];    /* "llama", … */
    char architecture[128]; /* first of "architectures", or "" */
    char dtype[32];         /* "bfloat16", …, or "" when absent */
    char hidden_act[32];    /* "silu" when absent */
    int64_t hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, vocab_size;
    int64_t num_key_value_heads; /* missing or null: num_attention_heads */
    int64_t head_dim;            /* missing or null: hidden_size / num_attention_heads */
    int64_t max_position_embeddings; /* 0 when absent */
    int64_t bos_token_id, eos_token_id; /* -1 when absent or null; the first one of a list */
    double rms_norm_eps;         /* 1e-6 when absent (warned) */
    double rope_theta;           /* 10000 when absent (warned) */
    char rope_type[32];          /* "default", "llama3", "yarn", … */
    double rope_factor, rope_low_freq_factor, rope_high_freq_factor; /* 1, 1, 4 when absent */
    int64_t rope_original_max_position; /* 8192 when absent */
    int tie_word_embeddings;     /* 0 when absent */
    int attention_bias, mlp_bias; /* 0 when absent */
    char warnings[1024];         /* lines for the log, each ended by '\n'; "" when there are none */
} tt_hf_config;

/** Read dir/config.json. Errors: TT_ERR_DATA naming the file, the key and what is needed (also a rope_type "llama3" with
 *  one of its four values missing). Whether the model_type is supported is for the caller to say. */
tt_status tt_hf_config_read(const char *dir, tt_hf_config *config, tt_error *err);

/** Write config.json at path with the older keys (rope_theta, rope_scaling, torch_dtype), which every version of the
 *  library reads. Written as path.tmp, then renamed. Errors: TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_hf_config_write(const char *path, const tt_hf_config *config, tt_error *err);

#endif
