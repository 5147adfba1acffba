/* Llama 3 (3, 3.1, 3.2 text): pre-norm transformer, grouped-query attention, RoPE in interleaved pairs, SwiGLU.
 * Sources: Llama 3 technical report (arXiv:2407.21783); shapes and initialisation as torchtitan trains them. */
#include "models/model.h"

#include "base/closest.h"
#include "models/rope_freq.h"

#include <math.h>
#include <string.h>

/* dim layers heads kv ffn_multiplier multiple_of vocab tied rope_factor */
static const struct {
    const char *name;
    int dim, layers, heads, kv;
    double multiplier;
    int multiple_of;
    int64_t vocab;
    int tied;
} flavors[] = {
    {"debugmodel", 256, 6, 16, 16, 0, 256, 2048, 0},  {"1B", 2048, 16, 32, 8, 1.5, 1024, 128256, 1},
    {"3B", 3072, 28, 24, 8, 1.0, 1024, 128256, 1},    {"8B", 4096, 32, 32, 8, 1.3, 1024, 128256, 0},
    {"70B", 8192, 80, 64, 8, 1.3, 4096, 128256, 0},   {"405B", 16384, 126, 128, 8, 1.2, 4096, 128256, 0},
};

int tt_llama_ffn_dim(int dim, double multiplier, int multiple_of)
{
    int h = (int)(8.0 * dim / 3.0);
    if (multiplier > 0)
        h = (int)(multiplier * h);
    return multiple_of * ((h + multiple_of - 1) / multiple_of);
}

static tt_status flavor(const char *name, tt_model_dims *dims, tt_error *err)
{
    for (size_t i = 0; i < sizeof flavors / sizeof flavors[0]; i++) {
        if (strcmp(flavors[i].name, name))
            continue;
        *dims = (tt_model_dims){.dim = flavors[i].dim,
                                .n_layers = flavors[i].layers,
                                .n_heads = flavors[i].heads,
                                .n_kv_heads = flavors[i].kv,
                                .head_dim = flavors[i].dim / flavors[i].heads,
                                .ffn_dim = tt_llama_ffn_dim(flavors[i].dim, flavors[i].multiplier,
                                                            flavors[i].multiple_of),
                                .vocab_size = flavors[i].vocab,
                                .norm_eps = 1e-5,
                                .rope_theta = 500000,
                                .rope_factor = 8,
                                .rope_low_freq_factor = 1,
                                .rope_high_freq_factor = 4,
                                .rope_original_max_position = 8192,
                                .max_seq_len = 131072,
                                .tie_embeddings = flavors[i].tied};
        return TT_OK;
    }
    const char *known[sizeof flavors / sizeof flavors[0]];
    const int n = (int)(sizeof flavors / sizeof flavors[0]);
    for (int i = 0; i < n; i++)
        known[i] = flavors[i].name;
    tt_status st = tt_fail(
        err, TT_ERR_CONFIG,
        "model.flavor = \"%s\" is not a size of llama3; use debugmodel, 1B, 3B, 8B, 70B or 405B",
        name);
    return tt_closest_hint_word(err, st, name, known, n);
}

/* The table's order: embedding; nine tensors a layer; final norm; head (absent when tied). */
enum { NORM1, WQ, WK, WV, WO, NORM2, W1, W3, W2, PER_LAYER };

static void row(tt_param_row *r, const char *fqn, int64_t rows, int64_t cols, int block, int tp_dim, double std)
{
    *r = (tt_param_row){.fqn = fqn,
                        .ndim = cols ? 2 : 1,
                        .shape = {rows, cols},
                        .block = block,
                        .tp_dim = tp_dim,
                        .dist = std > 0 ? TT_INIT_NORMAL : TT_INIT_ONES,
                        .std = std};
}

static void layer_rows(const tt_model_dims *d, tt_arena *a, int i, tt_param_row *r)
{
    const int64_t D = d->dim, Q = (int64_t)d->n_heads * d->head_dim, K = (int64_t)d->n_kv_heads * d->head_dim;
    const int64_t F = d->ffn_dim;
    const double depth_std = 0.02 / sqrt(2.0 * (i + 1));
    const int b = i + 1;
    row(&r[NORM1], tt_arena_printf(a, "layers.%d.attention_norm.weight", i), D, 0, b, -1, 0);
    row(&r[WQ], tt_arena_printf(a, "layers.%d.attention.wq.weight", i), Q, D, b, 0, 0.02);
    row(&r[WK], tt_arena_printf(a, "layers.%d.attention.wk.weight", i), K, D, b, 0, 0.02);
    row(&r[WV], tt_arena_printf(a, "layers.%d.attention.wv.weight", i), K, D, b, 0, 0.02);
    row(&r[WO], tt_arena_printf(a, "layers.%d.attention.wo.weight", i), D, Q, b, 1, depth_std);
    row(&r[NORM2], tt_arena_printf(a, "layers.%d.ffn_norm.weight", i), D, 0, b, -1, 0);
    row(&r[W1], tt_arena_printf(a, "layers.%d.feed_forward.w1.weight", i), F, D, b, 0, 0.02);
    row(&r[W3], tt_arena_printf(a, "layers.%d.feed_forward.w3.weight", i), F, D, b, 0, depth_std);
    row(&r[W2], tt_arena_printf(a, "layers.%d.feed_forward.w2.weight", i), D, F, b, 1, depth_std);
}

static int params(const tt_model_dims *d, tt_arena *a, tt_param_row **rows)
{
    int n = 2 + d->n_layers * PER_LAYER + !d->tie_embeddings;
    tt_param_row *r = *rows = tt_arena_alloc(a, sizeof **rows * (size_t)n);
    const double head_std = 1 / sqrt((double)d->dim);
    row(r++, "tok_embeddings.weight", d->vocab_size, d->dim, 0, 0, d->tie_embeddings ? head_std : 1.0);
    for (int i = 0; i < d->n_layers; i++, r += PER_LAYER)
        layer_rows(d, a, i, r);
    row(r++, "norm.weight", d->dim, 0, d->n_layers + 1, -1, 0);
    if (!d->tie_embeddings)
        row(r++, "output.weight", d->vocab_size, d->dim, d->n_layers + 1, 0, head_std);
    tt_param_row *head = d->tie_embeddings ? *rows : r - 1; /* the one draw that is really cut: at 3 std */
    head->lo = -3 * head_std;
    head->hi = 3 * head_std;
    return n;
}

static tt_vid inv_freq_constant(tt_builder *b, const tt_model_dims *d)
{
    int64_t half = d->head_dim / 2;
    float *f = tt_arena_alloc(b->p->arena, sizeof(float) * (size_t)half);
    tt_rope_scaling scaling = {.kind = d->rope_factor > 0 ? TT_ROPE_LLAMA3 : TT_ROPE_PLAIN,
                               .factor = d->rope_factor,
                               .low_freq_factor = d->rope_low_freq_factor,
                               .high_freq_factor = d->rope_high_freq_factor,
                               .original_max_position = (double)d->rope_original_max_position};
    tt_rope_inv_freq(d->head_dim, d->rope_theta, &scaling, f);
    tt_vid v = tt_value_new(b->p, "rope.inv_freq", TT_F32, 1, &half);
    b->p->value[v].scope = TT_SCOPE_STATE;
    b->p->value[v].constant = f;
    return v;
}

static tt_vid layer(tt_builder *b, const tt_model_dims *d, const tt_param *w, tt_vid x, tt_vid cs)
{
    const tt_attention_opts attention = {.head_dim = d->head_dim,
                                         .seq_len = b->in.seq_len,
                                         .scale = 1 / sqrt((double)d->head_dim),
                                         .causal = 1};
    tt_vid n = tt_build_rmsnorm(b, x, w[NORM1].compute, d->norm_eps);
    tt_vid q = tt_build_rope(b, tt_build_linear(b, n, w[WQ].compute), cs, d->head_dim, 0);
    tt_vid k = tt_build_rope(b, tt_build_linear(b, n, w[WK].compute), cs, d->head_dim, 0);
    tt_vid v = tt_build_linear(b, n, w[WV].compute);
    tt_vid o = tt_build_attention(b, q, k, v, b->in.doc_start, &attention);
    x = tt_build_add(b, x, tt_build_linear(b, o, w[WO].compute));

    n = tt_build_rmsnorm(b, x, w[NORM2].compute, d->norm_eps);
    tt_vid gate = tt_build_linear(b, n, w[W1].compute);
    tt_vid up = tt_build_linear(b, n, w[W3].compute);
    return tt_build_add(b, x, tt_build_linear(b, tt_build_swiglu(b, gate, up), w[W2].compute));
}

static tt_vid forward(tt_builder *b, const tt_model *model, tt_forward_end end, tt_vid *x_last)
{
    const tt_model_dims *d = &model->dims;
    tt_program *p = b->p;
    const tt_param *w = p->param;
    b->block = 0;
    tt_vid cs = tt_build_rope_table(b, b->in.positions, inv_freq_constant(b, d));
    tt_vid x = tt_build_embedding(b, b->in.tokens, w->compute);
    for (int i = 0; i < d->n_layers; i++) {
        b->block = 1 + i;
        x = layer(b, d, w + 1 + i * PER_LAYER, x, cs);
    }
    b->block = 1 + d->n_layers;
    const tt_param *last = w + 1 + d->n_layers * PER_LAYER;
    tt_vid head = d->tie_embeddings ? w[0].compute : last[1].compute;
    x = tt_build_rmsnorm(b, x, last[0].compute, d->norm_eps);
    *x_last = x;
    switch (end) {
    case TT_END_LOSS:
        return tt_build_head_loss(b, x, head, b->in.targets, p->inv_valid, p->loss_sum);
    case TT_END_EVAL:
        tt_build_head_eval(b, x, head, b->in.targets, p->eval_loss);
        return -1;
    case TT_END_ROW_LOGITS:
        return tt_build_linear(b, tt_build_select_row(b, x, p->row_index), head);
    default:
        return tt_build_linear(b, x, head);
    }
}

const tt_family tt_family_llama3 = {"llama3", flavor, params, forward};
