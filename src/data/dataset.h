/* A data set: text files as one stream of tokens, held in memory.
 *
 * Each file is one document and gives BOS, its tokens, EOS (what the tokenizer has of them); files follow each other in
 * the byte order of their names, so every rank of every run sees the same stream. Empty files make no document. Two
 * bytes a token while the vocabulary allows it, else four. */
#ifndef TT_DATA_DATASET_H
#define TT_DATA_DATASET_H

#include "data/tokenizer.h"

typedef struct tt_dataset tt_dataset;

/** Read and tokenize what `path` names: a file, a folder (its *.txt files) or a glob pattern.
 *  vocab is the number of rows of the model's embedding (0 = do not check). Not collective.
 *  Errors: TT_ERR_DATA (no file matches, all are empty, an id >= vocab: names file and position), TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_dataset_open(const char *path, const tt_tokenizer *tokenizer, int64_t vocab, tt_dataset **dataset,
                          tt_error *err);
/** Close; accepts NULL. */
void tt_dataset_close(tt_dataset **dataset);

int64_t tt_dataset_tokens(const tt_dataset *dataset);     /* all, BOS and EOS included */
/** Documents in it, and files that were empty and count for nothing. */
int64_t tt_dataset_documents(const tt_dataset *dataset);
int64_t tt_dataset_empty_files(const tt_dataset *dataset); /* left out */
/** Copy tokens first .. first+n-1 into out[n]; they must exist. */
void tt_dataset_copy(const tt_dataset *dataset, int64_t first, int64_t n, int32_t *out);
/** The document that holds token `at`, 0 .. documents-1. */
int64_t tt_dataset_document_of(const tt_dataset *dataset, int64_t at);
/** First token of document d; for d == documents the number of tokens. */
int64_t tt_dataset_document_start(const tt_dataset *dataset, int64_t d);

#endif
