/* Published (Hugging Face) names and row orders of the Llama family, and titan's; and reading a parameter across them.
 *
 * Titan's names and row order are the original ones (layers.0.attention.wq.weight, rotation of neighbouring pairs).
 * Published files hold the rows of q and k per head as (half, pair) where titan has (pair, half):
 *   published[h*Dh + s*Dh/2 + p] = titan[h*Dh + 2*p + s],  s in {0,1}, p in 0..Dh/2-1. */
#ifndef TT_CONVERT_NAMES_H
#define TT_CONVERT_NAMES_H

#include "base/box.h"
#include "convert/hf_config.h"
#include "convert/hf_folder.h"

/** Titan's name -> the published one into out[size]. *rotary (may be NULL) is 1 when the rows have to be reordered
 *  (wq, wk). 0, or -1 when fqn is no Llama parameter or out is too small. */
int tt_llama_name_to_hf(const char *fqn, char *out, size_t size, int *rotary);

/** The published name -> titan's; as above. Buffers such as rotary_emb.inv_freq are no parameters: -1. */
int tt_llama_name_from_hf(const char *name, char *out, size_t size, int *rotary);

/** Row of the published wq or wk that is titan's `row`, and back. head_dim is even. */
int64_t tt_rotary_row_to_hf(int64_t row, int64_t head_dim);
int64_t tt_rotary_row_from_hf(int64_t row, int64_t head_dim);

/* One parameter that a config describes. */
typedef struct tt_llama_param {
    char fqn[128], name[160]; /* titan's and the published name */
    int ndim;
    int64_t shape[2];
    int rotary; /* its rows are in another order in published files */
} tt_llama_param;

/** Number of parameters of the model that config describes; a tied output is not one. */
int tt_llama_n_params(const tt_hf_config *config);
/** The i-th of them, 0 .. n-1, in the order of the forward. */
tt_llama_param tt_llama_param_at(const tt_hf_config *config, int i);

/** Check that the folder holds exactly the parameters that its config describes: each there with its shape, none beside
 *  (rotary_emb.inv_freq is ignored; lm_head.weight may be absent when the embeddings are tied).
 *  Errors: TT_ERR_DATA naming the tensor, what is expected and the file. */
tt_status tt_llama_check_folder(const tt_hf_folder *folder, const tt_hf_config *config, tt_error *err);

/** A box of a titan parameter, as fp32, in titan's row order, read from a published folder.
 *  box is in titan's rows (and columns); dst begins at the box's first element, row r at dst + r * row_pitch
 *  (row_pitch is ignored for 1-D). A tied output.weight comes from the embedding when the files lack it.
 *  Not collective: each rank reads what it holds. Errors: TT_ERR_DATA naming parameter, tensor and folder; TT_ERR_SHAPE,
 *  TT_ERR_DTYPE, TT_ERR_IO. */
tt_status tt_hf_read_param(const tt_hf_folder *folder, const tt_hf_config *config, const char *fqn, const tt_box *box,
                           float *dst, int64_t row_pitch, tt_error *err);

#endif
