/* See hf_config.h. A key that is null counts as missing, as it does for the library that writes these files. */
#include "convert/hf_config.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void warn(tt_hf_config *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(tt_hf_config *c, const char *format, ...)
{
    size_t used = strlen(c->warnings);
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(c->warnings + used, sizeof c->warnings - used, format, ap);
    va_end(ap);
    if (n < 0 || used + (size_t)n + 1 >= sizeof c->warnings)
        c->warnings[used] = '\0'; /* no half lines */
    else
        strcpy(c->warnings + used + n, "\n");
}

static const json_t *get(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

/* Integer >= 1; a missing one keeps *out when that is >= 0, else it is an error. */
static tt_status get_size(const json_t *object, const char *key, int64_t *out, tt_error *err)
{
    const json_t *v = get(object, key);
    if (!v && *out >= 0)
        return TT_OK;
    double real = json_is_real(v) ? json_real_value(v) : 0;
    int64_t n = json_is_integer(v) ? json_integer_value(v) : 0;
    if (real >= 1 && real < 9e15 && real == floor(real))
        n = (int64_t)real;
    if (n < 1)
        return tt_fail(err, TT_ERR_DATA, "key \"%s\" is %s; an integer of at least 1 is needed", key,
                       v ? "not usable" : "missing");
    *out = n;
    return TT_OK;
}

static tt_status get_number(const json_t *object, const char *key, double *out, int *found, tt_error *err)
{
    const json_t *v = get(object, key);
    *found = v != NULL;
    if (!v)
        return TT_OK;
    if (!json_is_number(v) || !(json_number_value(v) > 0))
        return tt_fail(err, TT_ERR_DATA, "key \"%s\" is not a number above 0", key);
    *out = json_number_value(v);
    return TT_OK;
}

static tt_status get_bool(const json_t *object, const char *key, int *out, tt_error *err)
{
    const json_t *v = get(object, key);
    if (v && !json_is_boolean(v))
        return tt_fail(err, TT_ERR_DATA, "key \"%s\" is neither true nor false", key);
    *out = json_is_true(v);
    return TT_OK;
}

/* Text into out[size]; out keeps its value when the key is missing. */
static tt_status get_text(const json_t *object, const char *key, char *out, size_t size, tt_error *err)
{
    const json_t *v = get(object, key);
    if (!v)
        return TT_OK;
    if (!json_is_string(v) || json_string_length(v) >= size)
        return tt_fail(err, TT_ERR_DATA, "key \"%s\" is not a text of less than %zu characters", key, size);
    memcpy(out, json_string_value(v), json_string_length(v) + 1);
    return TT_OK;
}

static int64_t token_id(const json_t *object, const char *key)
{
    const json_t *v = get(object, key);
    if (json_is_array(v))
        v = json_array_get(v, 0);
    return json_is_integer(v) ? json_integer_value(v) : -1;
}

static tt_status read_rope_scaling(tt_hf_config *c, const json_t *rope, tt_error *err)
{
    int found[4] = {0};
    tt_status st = TT_OK;
    double original = 8192;
    c->rope_factor = c->rope_low_freq_factor = 1;
    c->rope_high_freq_factor = 4;
    strcpy(c->rope_type, "default");
    TT_TRY(get_text(rope, "type", c->rope_type, sizeof c->rope_type, err));
    TT_TRY(get_text(rope, "rope_type", c->rope_type, sizeof c->rope_type, err));
    TT_TRY(get_number(rope, "factor", &c->rope_factor, &found[0], err));
    TT_TRY(get_number(rope, "low_freq_factor", &c->rope_low_freq_factor, &found[1], err));
    TT_TRY(get_number(rope, "high_freq_factor", &c->rope_high_freq_factor, &found[2], err));
    TT_TRY(get_number(rope, "original_max_position_embeddings", &original, &found[3], err));
    c->rope_original_max_position = (int64_t)original;
    if (strcmp(c->rope_type, "llama3") == 0 && !(found[0] && found[1] && found[2] && found[3]))
        st = tt_fail(err, TT_ERR_DATA, "the RoPE scaling of type \"llama3\" needs factor, low_freq_factor, high_freq_factor and original_max_position_embeddings");
out:
    return st;
}

static tt_status read_rope(tt_hf_config *c, const json_t *root, tt_error *err)
{
    const json_t *nested = get(root, "rope_parameters"), *legacy = get(root, "rope_scaling");
    const json_t *rope = nested ? nested : legacy;
    double top = 0, inner = 0;
    int has_top, has_inner;
    tt_status st = TT_OK;

    if (rope && !json_is_object(rope))
        return tt_fail(err, TT_ERR_DATA, "key \"%s\" is not an object", nested ? "rope_parameters" : "rope_scaling");
    TT_TRY(get_number(root, "rope_theta", &top, &has_top, err));
    TT_TRY(get_number(nested, "rope_theta", &inner, &has_inner, err));
    c->rope_theta = has_inner ? inner : has_top ? top : 10000;
    if (has_inner && has_top && inner != top)
        warn(c, "rope_theta is %g at top level and %g in rope_parameters: the nested value is used", top, inner);
    if (!has_inner && !has_top)
        warn(c, "rope_theta is missing: 10000, the default of the format, is used");
    if (nested && legacy && !json_equal((json_t *)nested, (json_t *)legacy))
        warn(c, "both rope_parameters and rope_scaling are present: rope_parameters is used");
    TT_TRY(read_rope_scaling(c, rope, err));
out:
    return st;
}

static tt_status read_sizes(tt_hf_config *c, const json_t *root, tt_error *err)
{
    tt_status st = TT_OK;
    c->hidden_size = c->num_hidden_layers = c->num_attention_heads = c->intermediate_size = c->vocab_size = -1;
    TT_TRY(get_size(root, "hidden_size", &c->hidden_size, err));
    TT_TRY(get_size(root, "num_hidden_layers", &c->num_hidden_layers, err));
    TT_TRY(get_size(root, "num_attention_heads", &c->num_attention_heads, err));
    TT_TRY(get_size(root, "intermediate_size", &c->intermediate_size, err));
    TT_TRY(get_size(root, "vocab_size", &c->vocab_size, err));
    TT_TRY(get_size(root, "max_position_embeddings", &c->max_position_embeddings, err));
    c->num_key_value_heads = c->num_attention_heads;
    TT_TRY(get_size(root, "num_key_value_heads", &c->num_key_value_heads, err));
    TT_TRY(get_size(root, "head_dim", &c->head_dim, err));
    if (c->num_attention_heads % c->num_key_value_heads != 0)
        st = tt_fail(err, TT_ERR_DATA, "num_attention_heads %lld is not a multiple of num_key_value_heads %lld",
                     (long long)c->num_attention_heads, (long long)c->num_key_value_heads);
    else if (c->head_dim == 0 && c->hidden_size % c->num_attention_heads != 0)
        st = tt_fail(err, TT_ERR_DATA, "hidden_size %lld is not a multiple of num_attention_heads %lld and there is no head_dim",
                     (long long)c->hidden_size, (long long)c->num_attention_heads);
    else if (c->head_dim == 0)
        c->head_dim = c->hidden_size / c->num_attention_heads;
out:
    return st;
}

static tt_status read_all(tt_hf_config *c, const json_t *root, tt_error *err)
{
    tt_status st = TT_OK;
    int found;
    const json_t *architecture = json_array_get(get(root, "architectures"), 0);

    TT_TRY(get_text(root, "model_type", c->model_type, sizeof c->model_type, err));
    if (!c->model_type[0]) {
        st = tt_fail(err, TT_ERR_DATA, "key \"model_type\" is missing; it names the model family, such as \"llama\"");
        goto out;
    }
    if (json_is_string(architecture))
        snprintf(c->architecture, sizeof c->architecture, "%s", json_string_value(architecture));
    TT_TRY(get_text(root, "torch_dtype", c->dtype, sizeof c->dtype, err));
    TT_TRY(get_text(root, "dtype", c->dtype, sizeof c->dtype, err));
    strcpy(c->hidden_act, "silu");
    TT_TRY(get_text(root, "hidden_act", c->hidden_act, sizeof c->hidden_act, err));
    TT_TRY(read_sizes(c, root, err));
    c->rms_norm_eps = 1e-6;
    TT_TRY(get_number(root, "rms_norm_eps", &c->rms_norm_eps, &found, err));
    if (!found)
        warn(c, "rms_norm_eps is missing: 1e-06, the default of the format, is used");
    TT_TRY(get_bool(root, "tie_word_embeddings", &c->tie_word_embeddings, err));
    TT_TRY(get_bool(root, "attention_bias", &c->attention_bias, err));
    TT_TRY(get_bool(root, "mlp_bias", &c->mlp_bias, err));
    c->bos_token_id = token_id(root, "bos_token_id");
    c->eos_token_id = token_id(root, "eos_token_id");
    TT_TRY(read_rope(c, root, err));
out:
    return st;
}

tt_status tt_hf_config_read(const char *dir, tt_hf_config *config, tt_error *err)
{
    char path[4096];
    json_error_t je;
    *config = (tt_hf_config){0};
    int n = snprintf(path, sizeof path, "%s/config.json", dir);
    if (n < 0 || (size_t)n >= sizeof path)
        return tt_fail(err, TT_ERR_IO,
                       "the path %s/config.json is longer than %zu bytes; use a shorter one", dir,
                       sizeof path);
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &je);
    if (!root)
        return je.line < 0 ? tt_fail(err, TT_ERR_DATA, "reading %s failed: %s; give the folder of a published model", path,
                                     strerror(errno))
                           : tt_fail(err, TT_ERR_DATA, "reading %s failed: %s (line %d); give the folder of a published model",
                                     path, je.text, je.line);
    tt_status st = read_all(config, root, err);
    if (st != TT_OK)
        tt_fail_context(err, st,
                        "%s does not describe a model that can be read (use the config.json of a "
                        "published Llama)",
                        path);
    json_decref(root);
    return st;
}
