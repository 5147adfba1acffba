/* See names.h. */
#include "convert/names.h"

#include <stdio.h>
#include <stdlib.h>

enum { DIM_MODEL, DIM_VOCAB, DIM_Q, DIM_KV, DIM_FFN, DIM_NONE };

/* One row a parameter; names inside a layer have their prefix cut off. */
static const struct row {
    const char *fqn, *hf;
    int in_layer, rotary;
    int rows, columns; /* DIM_…; columns DIM_NONE for vectors */
} rows[] = {
    {"tok_embeddings.weight", "model.embed_tokens.weight", 0, 0, DIM_VOCAB, DIM_MODEL},
    {"attention_norm.weight", "input_layernorm.weight", 1, 0, DIM_MODEL, DIM_NONE},
    {"attention.wq.weight", "self_attn.q_proj.weight", 1, 1, DIM_Q, DIM_MODEL},
    {"attention.wk.weight", "self_attn.k_proj.weight", 1, 1, DIM_KV, DIM_MODEL},
    {"attention.wv.weight", "self_attn.v_proj.weight", 1, 0, DIM_KV, DIM_MODEL},
    {"attention.wo.weight", "self_attn.o_proj.weight", 1, 0, DIM_MODEL, DIM_Q},
    {"ffn_norm.weight", "post_attention_layernorm.weight", 1, 0, DIM_MODEL, DIM_NONE},
    {"feed_forward.w1.weight", "mlp.gate_proj.weight", 1, 0, DIM_FFN, DIM_MODEL},
    {"feed_forward.w2.weight", "mlp.down_proj.weight", 1, 0, DIM_MODEL, DIM_FFN},
    {"feed_forward.w3.weight", "mlp.up_proj.weight", 1, 0, DIM_FFN, DIM_MODEL},
    {"norm.weight", "model.norm.weight", 0, 0, DIM_MODEL, DIM_NONE},
    {"output.weight", "lm_head.weight", 0, 0, DIM_VOCAB, DIM_MODEL},
};
#define N_ROWS ((int)(sizeof rows / sizeof rows[0]))

static int64_t extent(const tt_hf_config *c, int dim)
{
    switch (dim) {
    case DIM_MODEL: return c->hidden_size;
    case DIM_VOCAB: return c->vocab_size;
    case DIM_Q: return c->num_attention_heads * c->head_dim;
    case DIM_KV: return c->num_key_value_heads * c->head_dim;
    default: return c->intermediate_size;
    }
}

/* Cuts "PREFIX<number>." off *name; the number, or -1 when it is not there (no sign, no leading zero). */
static long cut_layer(const char **name, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(*name, prefix, n) != 0)
        return -1;
    const char *digits = *name + n;
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > 6 || digits[length] != '.' || (digits[0] == '0' && length > 1))
        return -1;
    *name = digits + length + 1;
    return strtol(digits, NULL, 10);
}

/* Row of the table for a name on one side (hf or not), and its layer (-1 outside). NULL when unknown. */
static const struct row *look_up(const char *name, int hf, long *layer)
{
    *layer = cut_layer(&name, hf ? "model.layers." : "layers.");
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].in_layer == (*layer >= 0) && strcmp(hf ? rows[i].hf : rows[i].fqn, name) == 0)
            return &rows[i];
    return NULL;
}

static int spell(const struct row *row, int hf, long layer, char *out, size_t size)
{
    const char *name = hf ? row->hf : row->fqn;
    int n = row->in_layer ? snprintf(out, size, "%slayers.%ld.%s", hf ? "model." : "", layer, name)
                          : snprintf(out, size, "%s", name);
    return n < 0 || (size_t)n >= size ? -1 : 0;
}

static int translate(const char *name, int from_hf, char *out, size_t size, int *rotary)
{
    long layer;
    const struct row *row = look_up(name, from_hf, &layer);
    if (!row)
        return -1;
    if (rotary)
        *rotary = row->rotary;
    return spell(row, !from_hf, layer, out, size);
}

int tt_llama_name_to_hf(const char *fqn, char *out, size_t size, int *rotary)
{
    return translate(fqn, 0, out, size, rotary);
}

int tt_llama_name_from_hf(const char *name, char *out, size_t size, int *rotary)
{
    return translate(name, 1, out, size, rotary);
}

int64_t tt_rotary_row_to_hf(int64_t row, int64_t head_dim)
{
    int64_t head = row / head_dim, in = row % head_dim;
    return head * head_dim + in % 2 * (head_dim / 2) + in / 2;
}

int64_t tt_rotary_row_from_hf(int64_t row, int64_t head_dim)
{
    int64_t head = row / head_dim, in = row % head_dim, half = head_dim / 2;
    return head * head_dim + 2 * (in % half) + in / half;
}

/* ---- the list of parameters ---- */

enum { FIRST_IN_LAYER = 1, N_IN_LAYER = 9 }; /* rows of the table: embedding, those of a layer, norm, output */

int tt_llama_n_params(const tt_hf_config *config)
{
    return N_ROWS - N_IN_LAYER + N_IN_LAYER * (int)config->num_hidden_layers - (config->tie_word_embeddings ? 1 : 0);
}

tt_llama_param tt_llama_param_at(const tt_hf_config *config, int i)
{
    const int in_layers = N_IN_LAYER * (int)config->num_hidden_layers, k = i - FIRST_IN_LAYER;
    const int layer = k >= 0 && k < in_layers ? k / N_IN_LAYER : -1;
    const struct row *row = &rows[layer >= 0 ? FIRST_IN_LAYER + k % N_IN_LAYER : k < 0 ? 0 : i - in_layers + N_IN_LAYER];
    tt_llama_param p = {.ndim = row->columns == DIM_NONE ? 1 : 2, .rotary = row->rotary,
                        .shape = {extent(config, row->rows), 1}};
    TT_ASSERT(i >= 0 && i < tt_llama_n_params(config) && row->in_layer == (layer >= 0));
    if (p.ndim == 2)
        p.shape[1] = extent(config, row->columns);
    int long_name = spell(row, 0, layer, p.fqn, sizeof p.fqn) != 0 || spell(row, 1, layer, p.name, sizeof p.name) != 0;
    TT_ASSERT(!long_name);
    return p;
}

/* ---- folder against config ---- */

static tt_status check_one(const tt_hf_folder *folder, const tt_hf_config *c, const struct row *row, long layer,
                           tt_error *err)
{
    char name[256];
    const tt_safetensors *file = NULL;
    if (spell(row, 1, layer, name, sizeof name) != 0)
        return tt_fail(err, TT_ERR_INTERNAL, "the name of %s is too long", row->hf);
    const tt_safetensors_entry *e = tt_hf_folder_find(folder, name, &file);
    if (!e && c->tie_word_embeddings && strcmp(name, "lm_head.weight") == 0)
        return TT_OK;
    int ndim = row->columns == DIM_NONE ? 1 : 2;
    int64_t n = extent(c, row->rows), m = ndim == 2 ? extent(c, row->columns) : 1;
    if (!e)
        return tt_fail(err, TT_ERR_DATA, "tensor %s [%lld, %lld] of the model is in none of its files; fetch the folder again",
                       name, (long long)n, (long long)m);
    if (e->ndim != ndim || e->shape[0] != n || (ndim == 2 && e->shape[1] != m))
        return tt_fail(err, TT_ERR_DATA, "tensor %s in %s has %d dims [%lld, %lld], config.json asks for %d dims [%lld, %lld]",
                       name, tt_safetensors_path(file), e->ndim, e->ndim > 0 ? (long long)e->shape[0] : 1LL,
                       e->ndim > 1 ? (long long)e->shape[1] : 1LL, ndim, (long long)n, (long long)m);
    return TT_OK;
}

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

tt_status tt_llama_check_folder(const tt_hf_folder *folder, const tt_hf_config *config, tt_error *err)
{
    tt_status st = TT_OK;
    for (int i = 0; i < N_ROWS; i++)
        for (long l = 0; l < (rows[i].in_layer ? config->num_hidden_layers : 1); l++)
            TT_TRY(check_one(folder, config, &rows[i], rows[i].in_layer ? l : -1, err));
    for (int i = 0; i < tt_hf_folder_count(folder); i++) {
        const tt_safetensors *file = NULL;
        const char *name = tt_hf_folder_at(folder, i, &file)->name;
        long layer;
        if ((!look_up(name, 1, &layer) || layer >= config->num_hidden_layers) &&
            !ends_with(name, "rotary_emb.inv_freq")) {
            st = tt_fail(err, TT_ERR_DATA, "tensor %s in %s is no parameter of a %s model with %lld layers; it would be left out",
                         name, tt_safetensors_path(file), config->model_type, (long long)config->num_hidden_layers);
            goto out;
        }
    }
out:
    if (st != TT_OK)
        tt_fail_context(err, st,
                        "model folder %s does not fit its config.json (use the two of one model)",
                        tt_hf_folder_path(folder));
    return st;
}

/* ---- reading ---- */

tt_status tt_hf_read_param(const tt_hf_folder *folder, const tt_hf_config *config, const char *fqn, const tt_box *box,
                           float *dst, int64_t row_pitch, tt_error *err)
{
    char name[256];
    int rotary = 0;
    tt_status st = TT_OK;
    if (tt_llama_name_to_hf(fqn, name, sizeof name, &rotary) != 0)
        return tt_fail(err, TT_ERR_DATA, "parameter %s has no published name in the Llama family; check the model's name map",
                       fqn);
    if (config->tie_word_embeddings && strcmp(fqn, "output.weight") == 0 && !tt_hf_folder_find(folder, name, NULL))
        snprintf(name, sizeof name, "model.embed_tokens.weight");
    int64_t pitch[TT_MAX_DIMS] = {box->count[0], row_pitch, 1, 1};
    if (!rotary || box->ndim != 2) {
        TT_TRY(tt_hf_folder_read_box(folder, name, box, dst, pitch, err));
        goto out;
    }
    if (config->head_dim % 2 != 0) {
        st = tt_fail(err, TT_ERR_SHAPE, "head_dim %lld is odd; rotary pairs need an even one", (long long)config->head_dim);
        goto out;
    }
    tt_box row = *box;
    row.count[0] = pitch[0] = 1;
    for (int64_t r = 0; r < box->count[0]; r++) {
        row.start[0] = tt_rotary_row_to_hf(box->start[0] + r, config->head_dim);
        TT_TRY(tt_hf_folder_read_box(folder, name, &row, dst + r * row_pitch, pitch, err));
    }
out:
    if (st != TT_OK)
        tt_fail_context(err, st, "reading parameter %s from %s", fqn, tt_hf_folder_path(folder));
    return st;
}
