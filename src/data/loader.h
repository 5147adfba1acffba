/* The loader: rows of seq_len + 1 tokens by sample number, from one source or from several mixed by weight.
 *
 * A source's stream (repeated without end) is cut into rows of seq_len + 1 tokens: its row r begins at token
 * r * (seq_len + 1); inputs are the first seq_len tokens, targets the last seq_len. What is left at the end of an epoch is
 * not dropped: the row that begins there goes on with the first tokens of the next epoch, so every token is used equally
 * often whatever the number of ranks. With several sources, mix.h says which of them sample s comes from and which of its
 * rows it is; with shuffling, the rows that begin in one epoch come in an order drawn for that epoch (shuffle.h).
 * All of it is a pure function of the sample number: the whole state is one global cursor (the next sample), and a resume
 * on other ranks continues at the exact next sample. */
#ifndef TT_DATA_LOADER_H
#define TT_DATA_LOADER_H

#include "data/source.h"

#define TT_TARGET_NONE (-100) /* a target that makes no loss */

typedef struct tt_loader_opts {
    const char *const *paths; /* n_paths, each as for tt_source_open */
    const double *weights;    /* n_paths: shares of the samples; NULL: all equal */
    int n_paths;
    tt_source_opts source;    /* borrowed while opening, its tokenizer for the loader's life */
    int64_t seq_len;          /* T >= 1 */
    int document_masking;     /* 1: positions restart at documents, which do not see each other */
    int shuffle;              /* 1: rows of an epoch in a random order */
    int64_t seed;             /* of that order */
} tt_loader_opts;

typedef struct tt_loader tt_loader;

/** Open the data. Not collective. Errors: those of tt_source_open and tt_mix_create; TT_ERR_CONFIG (seq_len < 1; shuffling
 *  a source that can only be read onwards); TT_ERR_DATA (a row is longer than the data: with the values and what to change). */
tt_status tt_loader_open(const tt_loader_opts *opts, tt_loader **loader, tt_error *err);
void tt_loader_close(tt_loader **loader); /* accepts NULL */

/** How many sources it has, and source i (borrowed). */
int tt_loader_n_sources(const tt_loader *loader);
const tt_source *tt_loader_source(const tt_loader *loader, int i);
/** Tokens of all sources in one pass over each; -1 when one does not know. */
int64_t tt_loader_tokens(const tt_loader *loader);
/** Whole rows in one pass over the data, >= 1; -1 with several sources, or when that is not known before reading. */
int64_t tt_loader_samples_per_epoch(const tt_loader *loader);
/** Epoch (from 0) of its source in which a sample's row begins; -1 when not known. */
int64_t tt_loader_epoch_of(const tt_loader *loader, int64_t sample);

/** Rows of samples first_sample .. first_sample+n-1, each array [n, seq_len]; positions and doc_start may be NULL.
 *  Plain: positions 0..seq_len-1, doc_start 0. With document_masking: a token's position counts from its document's first
 *  token in this row, doc_start is that token's index in the row, and a target in another document is TT_TARGET_NONE.
 *  May be called from several threads. Errors: TT_ERR_INTERNAL (a negative sample or n); those of tt_source_read. */
tt_status tt_loader_get(const tt_loader *loader, int64_t first_sample, int n, int32_t *tokens, int32_t *targets,
                        int32_t *positions, int32_t *doc_start, tt_error *err);

/** Text by which a resume at `sample` need not tokenize what came before it (malloc'd); NULL when none is needed. */
char *tt_loader_bookmark(const tt_loader *loader, int64_t sample);
/** Make every source ready to read on from `sample`; bookmark may be NULL. Errors: those of tt_source_seek. */
tt_status tt_loader_seek(const tt_loader *loader, int64_t sample, const char *bookmark, tt_error *err);

#endif
