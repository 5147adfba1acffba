/* Export: a model in titan's names and row order becomes a published (Hugging Face) folder.
 *
 * config.json, then model.safetensors, or shards of at most shard_bytes with model.safetensors.index.json; values come from
 * the caller box by box, so memory is bounded whatever the model's size. A tied output is left out. The weights get
 * their final names only when all of them are written; the index comes last. */
#ifndef TT_CONVERT_HF_EXPORT_H
#define TT_CONVERT_HF_EXPORT_H

#include "base/box.h"
#include "convert/hf_config.h"

/** Gives a box (whole rows) of a parameter in titan's row order as fp32, dense, into dst. */
typedef tt_status (*tt_hf_source)(void *context, const char *fqn, const tt_box *box, float *dst, tt_error *err);

typedef struct tt_hf_export_opts {
    const char *dir;     /* an existing folder without weights */
    tt_dtype dtype;      /* TT_F32 or TT_BF16 (rounded to nearest even) */
    int64_t shard_bytes; /* largest file, counted in bytes of tensors; 0 = 5 GB. A larger tensor gets its own file */
    int64_t block_bytes; /* host memory for rows on their way, twice; 0 = 16 MiB; at least one head is held */
} tt_hf_export_opts;

/** Write the folder. Not collective: one rank writes. Errors: TT_ERR_DTYPE, TT_ERR_USAGE (weights are there already), TT_ERR_IO,
 *  those of the source; then no weights of this export are left under a final name. */
tt_status tt_llama_export(const tt_hf_export_opts *opts, const tt_hf_config *config, tt_hf_source source, void *context,
                          tt_error *err);

#endif
