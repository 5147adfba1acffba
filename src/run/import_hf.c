/* See import_hf.h. */
#include "run/import_hf.h"

#include "base/log.h"
#include "convert/names.h"

#include <stdlib.h>
#include <string.h>

tt_status tt_model_dims_from_hf(const tt_hf_config *c, const char **family, tt_model_dims *dims, tt_error *err)
{
    if (strcmp(c->model_type, "llama"))
        return tt_fail(err, TT_ERR_CONFIG, "config.json says model_type \"%s\"; this titan reads \"llama\"",
                       c->model_type);
    if (strcmp(c->rope_type, "llama3") && strcmp(c->rope_type, "default"))
        return tt_fail(err, TT_ERR_CONFIG,
                       "config.json says rope_type \"%s\"; for a llama titan knows \"default\" and "
                       "\"llama3\": give a model with one of them",
                       c->rope_type);
    if (c->attention_bias || c->mlp_bias)
        return tt_fail(
            err, TT_ERR_CONFIG,
            "config.json has %s = true; a llama of titan has no biases: use a model without",
            c->attention_bias ? "attention_bias" : "mlp_bias");
    *family = "llama3";
    *dims = (tt_model_dims){.dim = (int)c->hidden_size,
                            .n_layers = (int)c->num_hidden_layers,
                            .n_heads = (int)c->num_attention_heads,
                            .n_kv_heads = (int)c->num_key_value_heads,
                            .head_dim = (int)c->head_dim,
                            .ffn_dim = (int)c->intermediate_size,
                            .vocab_size = c->vocab_size,
                            .norm_eps = c->rms_norm_eps,
                            .rope_theta = c->rope_theta,
                            .rope_low_freq_factor = c->rope_low_freq_factor,
                            .rope_high_freq_factor = c->rope_high_freq_factor,
                            .rope_original_max_position = c->rope_original_max_position,
                            .max_seq_len = c->max_position_embeddings,
                            .tie_embeddings = c->tie_word_embeddings};
    if (!strcmp(c->rope_type, "llama3"))
        dims->rope_factor = c->rope_factor;
    return TT_OK;
}

#define DIFFERS(name, key)                                                                                       \
    if (have->name != want->name)                                                                                \
        return tt_fail(err, TT_ERR_CONFIG,                                                                       \
                       "%s: the folder's model has %s %.10g but the configured one has %.10g; set model.%s (or " \
                       "the flavor) to match",                                                                   \
                       dir, key, (double)have->name, (double)want->name, key)

static tt_status check_same(const char *dir, const tt_model_dims *have, const tt_model_dims *want, tt_error *err)
{
    DIFFERS(dim, "dim");
    DIFFERS(n_layers, "n_layers");
    DIFFERS(n_heads, "n_heads");
    DIFFERS(n_kv_heads, "n_kv_heads");
    DIFFERS(head_dim, "head_dim");
    DIFFERS(ffn_dim, "ffn_dim");
    DIFFERS(vocab_size, "vocab_size");
    DIFFERS(norm_eps, "norm_eps");
    DIFFERS(rope_theta, "rope_theta");
    DIFFERS(rope_factor, "rope_scaling_factor");
    if (have->rope_factor) { /* without scaling they mean nothing */
        DIFFERS(rope_low_freq_factor, "rope_low_freq_factor");
        DIFFERS(rope_high_freq_factor, "rope_high_freq_factor");
        DIFFERS(rope_original_max_position, "rope_original_max_position");
    }
    DIFFERS(tie_embeddings, "tie_embeddings");
    return TT_OK;
}

static void log_warnings(const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        tt_log_root(WARN, "%.*s", n, text);
        text += n + (text[n] == '\n');
    }
}

static tt_status read_boxes(tt_engine *e, const tt_hf_folder *folder, const tt_hf_config *config, tt_error *err)
{
    tt_ckpt_tensor *t;
    int n;
    tt_status st = TT_OK;
    tt_engine_tensors(e, 1, &t, &n);
    for (int i = 0; i < n && st == TT_OK; i++) {
        int64_t elements = 1;
        tt_box box = {.ndim = t[i].ndim};
        for (int d = 0; d < t[i].ndim; d++) {
            elements *= t[i].pitch[d];
            box.start[d] = t[i].start[d];
            box.count[d] = t[i].count[d];
        }
        memset(t[i].data, 0, sizeof(float) * (size_t)elements);
        if (!strncmp(t[i].name, "model/", 6) && tt_box_elems(&box) > 0)
            st = tt_hf_read_param(folder, config, t[i].name + 6, &box, t[i].data, t[i].pitch[t[i].ndim - 1], err);
    }
    free(t);
    return st;
}

tt_status tt_engine_load_hf(tt_engine *e, const char *dir, tt_error *err)
{
    tt_hf_config config;
    tt_hf_folder *folder = NULL;
    tt_model_dims dims;
    const char *family;
    tt_status st;
    TT_TRY(tt_hf_config_read(dir, &config, err));
    log_warnings(config.warnings);
    TT_TRY(tt_model_dims_from_hf(&config, &family, &dims, err));
    TT_TRY(check_same(dir, &dims, &e->model->dims, err));
    TT_TRY(tt_hf_folder_open(dir, &folder, err));
    TT_TRY(tt_llama_check_folder(folder, &config, err));
    TT_TRY(read_boxes(e, folder, &config, err));
    TT_TRY(tt_engine_restore(e, err));
out:
    tt_hf_folder_close(&folder);
    return st;
}
