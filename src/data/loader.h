/* The loader: rows of a data set by sample number.
 *
 * The stream of a data set is thought of as repeated without end, and cut into rows of seq_len + 1 tokens: sample s
 * begins at token s * (seq_len + 1); its inputs are the first seq_len tokens, its targets the last seq_len. What is left
 * at the end of an epoch is not dropped: the row that begins there goes on with the first tokens of the next epoch, so
 * every token is used equally often whatever the number of ranks. A sample is a pure function of its number: the whole
 * state is one global cursor (the next sample), and a resume on other ranks continues at the exact next sample. */
#ifndef TT_DATA_LOADER_H
#define TT_DATA_LOADER_H

#include "data/dataset.h"

#define TT_TARGET_NONE (-100) /* a target that makes no loss */

typedef struct tt_loader_opts {
    const char *path;              /* see tt_dataset_open */
    const tt_tokenizer *tokenizer; /* borrowed while opening */
    int64_t seq_len;               /* T >= 1 */
    int64_t vocab;                 /* rows of the model's embedding; 0 = do not check */
    int document_masking;          /* 1: positions restart at documents, which do not see each other */
} tt_loader_opts;

typedef struct tt_loader tt_loader;

/** Open the data. Not collective. Errors: those of tt_dataset_open; TT_ERR_CONFIG (seq_len < 1); TT_ERR_DATA (a row is longer
 *  than the data: with the values and what to change). */
tt_status tt_loader_open(const tt_loader_opts *opts, tt_loader **loader, tt_error *err);
/** Close; accepts NULL. */
void tt_loader_close(tt_loader **loader);

/** The data behind it (borrowed), for its counts. */
const tt_dataset *tt_loader_dataset(const tt_loader *loader);
/** Whole rows in one pass over the data, >= 1. A sample in epoch e is one that begins in the e-th pass. */
int64_t tt_loader_samples_per_epoch(const tt_loader *loader);
/** Epoch (from 0) in which a sample begins. */
int64_t tt_loader_epoch_of(const tt_loader *loader, int64_t sample);

/** Rows of samples first_sample .. first_sample+n-1, each array [n, seq_len]; positions and doc_start may be NULL.
 *  Plain: positions 0..seq_len-1, doc_start 0. With document_masking: a token's position counts from its document's first
 *  token in this row, doc_start is that token's index in the row, and a target in another document is TT_TARGET_NONE.
 *  Errors: TT_ERR_INTERNAL (a negative sample or n). Pure; may be called from several threads. */
tt_status tt_loader_get(const tt_loader *loader, int64_t first_sample, int n, int32_t *tokens, int32_t *targets,
                        int32_t *positions, int32_t *doc_start, tt_error *err);

#endif
