/* See hf_config.h: writing. */
#include "convert/hf_config.h"
#include "convert/json_file.h"

#include <string.h>

static json_t *scaling_of(const tt_hf_config *c)
{
    if (c->rope_type[0] == 0 || strcmp(c->rope_type, "default") == 0)
        return json_null();
    if (strcmp(c->rope_type, "llama3") != 0)
        return json_pack("{s:s,s:f}", "rope_type", c->rope_type, "factor", c->rope_factor);
    return json_pack("{s:s,s:f,s:f,s:f,s:I}", "rope_type", c->rope_type, "factor", c->rope_factor, "low_freq_factor",
                     c->rope_low_freq_factor, "high_freq_factor", c->rope_high_freq_factor,
                     "original_max_position_embeddings", (json_int_t)c->rope_original_max_position);
}

static json_t *token_or_null(int64_t id)
{
    return id < 0 ? json_null() : json_integer(id);
}

tt_status tt_hf_config_write(const char *path, const tt_hf_config *c, tt_error *err)
{
    json_t *doc = json_pack("{s:[s],s:s,s:s,s:s}", "architectures",
                            c->architecture[0] ? c->architecture : "LlamaForCausalLM", "model_type", c->model_type,
                            "torch_dtype", c->dtype[0] ? c->dtype : "float32", "hidden_act", c->hidden_act);
    const struct {
        const char *key;
        int64_t value;
    } sizes[] = {{"hidden_size", c->hidden_size},
                 {"num_hidden_layers", c->num_hidden_layers},
                 {"num_attention_heads", c->num_attention_heads},
                 {"num_key_value_heads", c->num_key_value_heads},
                 {"head_dim", c->head_dim},
                 {"intermediate_size", c->intermediate_size},
                 {"vocab_size", c->vocab_size},
                 {"max_position_embeddings", c->max_position_embeddings > 0 ? c->max_position_embeddings : 2048}};
    int bad = !doc;
    for (size_t i = 0; !bad && i < sizeof sizes / sizeof sizes[0]; i++)
        bad |= json_object_set_new(doc, sizes[i].key, json_integer(sizes[i].value));
    bad = bad || json_object_set_new(doc, "rms_norm_eps", json_real(c->rms_norm_eps)) ||
          json_object_set_new(doc, "rope_theta", json_real(c->rope_theta)) ||
          json_object_set_new(doc, "rope_scaling", scaling_of(c)) ||
          json_object_set_new(doc, "tie_word_embeddings", json_boolean(c->tie_word_embeddings)) ||
          json_object_set_new(doc, "attention_bias", json_boolean(c->attention_bias)) ||
          json_object_set_new(doc, "mlp_bias", json_boolean(c->mlp_bias)) ||
          json_object_set_new(doc, "bos_token_id", token_or_null(c->bos_token_id)) ||
          json_object_set_new(doc, "eos_token_id", token_or_null(c->eos_token_id));
    if (bad) {
        json_decref(doc);
        doc = NULL;
    }
    return tt_json_write_take(path, doc, err);
}
