/* Model families: shapes, the parameter table, the forward. One file a family; this is the registry.
 *
 * A family reads its flavor and the config's overrides into tt_model_dims, lists its parameters, and writes its forward
 * on logical tensors with graph/build.h. Adding a model is adding one file (docs/adding-a-model.md). */
#ifndef TT_MODELS_MODEL_H
#define TT_MODELS_MODEL_H

#include "graph/build.h"

typedef struct tt_model_dims {
    int dim, n_layers, n_heads, n_kv_heads, head_dim, ffn_dim;
    int64_t vocab_size;
    double norm_eps;
    double rope_theta;
    double rope_factor; /* 0 = plain RoPE, else llama3 scaling by this factor */
    double rope_low_freq_factor, rope_high_freq_factor;
    int64_t rope_original_max_position;
    int64_t max_seq_len;
    int tie_embeddings;
} tt_model_dims;

/* A row of a family's parameter table. */
typedef struct tt_param_row {
    const char *fqn; /* arena-owned */
    int ndim;
    int64_t shape[TT_MAX_DIMS];
    int block;  /* 0 = embedding, 1 + i = layer i, n_layers + 1 = final norm and head */
    int tp_dim; /* dim sharded over tp, -1 = replicated */
    int dist;   /* tt_init_dist */
    double std, lo, hi;
} tt_param_row;

typedef struct tt_model tt_model;

/* What the forward is asked to end in. */
typedef enum tt_forward_end { TT_END_LOSS, TT_END_EVAL, TT_END_LOGITS, TT_END_ROW_LOGITS } tt_forward_end;

typedef struct tt_family {
    const char *name;
    /** Shapes of a flavor. Errors: TT_ERR_CONFIG listing the flavors. */
    tt_status (*flavor)(const char *name, tt_model_dims *dims, tt_error *err);
    /** The parameter table, in order of use. Rows are allocated in arena. Returns how many. */
    int (*params)(const tt_model_dims *dims, tt_arena *arena, tt_param_row **rows);
    /** Write the forward; parameters are p->param[i].compute in table order. For TT_END_LOSS returns the gradient of the
     *  head's input and sets *x_last to that input; for the logits ends returns the logits. */
    tt_vid (*forward)(tt_builder *b, const tt_model *model, tt_forward_end end, tt_vid *x_last);
} tt_family;

struct tt_model {
    const tt_family *family;
    tt_model_dims dims;
    tt_arena *arena; /* owned */
    tt_param_row *rows;
    int n_rows;
    int64_t n_params;           /* total, tied counted once */
    int64_t n_embedding_params; /* the input embedding table */
};

/** Make a model from a family's name and shapes. Errors: TT_ERR_CONFIG for shapes that cannot be (dims that do not divide, …). */
tt_status tt_model_create(const char *family, const tt_model_dims *dims, tt_model **model, tt_error *err);
void tt_model_destroy(tt_model **model); /* accepts NULL */
/** Family by name: TT_ERR_CONFIG listing the known ones. */
tt_status tt_family_find(const char *name, const tt_family **family, tt_error *err);

extern const tt_family tt_family_llama3;

/** SwiGLU hidden size of the Llama families: 2/3 of 4*dim, times a multiplier (<= 0: none), rounded up to multiple_of. */
int tt_llama_ffn_dim(int dim, double multiplier, int multiple_of);

#endif
