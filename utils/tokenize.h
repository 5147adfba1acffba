/* The larger verbs of titan-tokenize: texts to files of tokens, and a look into such files. */
#ifndef TT_UTILS_TOKENIZE_H
#define TT_UTILS_TOKENIZE_H

#include "data/text_files.h"
#include "data/token_set.h"

#include <stdio.h>

typedef struct tt_tokenize_job {
    const tt_tokenizer *tokenizer; /* borrowed */
    const char *out;               /* prefix of the files */
    tt_token_kind kind;
    int token_bytes; /* 0: by the vocabulary */
    int64_t shard_tokens;
    int threads;     /* that encode; the result does not depend on it */
    int no_bos, no_eos;
    tt_text_opts text;
} tt_tokenize_job;

/** Tokenize the documents of the files that names[n] mean and write them as a set; progress goes to stderr, a summary to stdout.
 *  Errors: those of text_files and token_set; TT_ERR_DATA (no document); TT_ERR_STOPPED (a signal came: nothing is left). */
tt_status tt_tokenize_shards(const tt_tokenize_job *job, char **names, int n, tt_error *err);

typedef struct tt_inspect_job {
    const tt_tokenizer *tokenizer; /* borrowed; NULL: ids are printed */
    int token_bytes;               /* of raw files, 0: see tt_token_opts */
    int documents;                 /* to show */
    int verify;                    /* 1: read all of it */
} tt_inspect_job;

/** Print what a file of tokens is. Errors: those of token_files. */
tt_status tt_tokenize_inspect(const tt_inspect_job *job, const char *path, FILE *out, tt_error *err);

#endif
