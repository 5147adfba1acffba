/* Writing a set of token files: PREFIX-00000.tok, PREFIX-00001.tok, … in titan's form, or .bin (and .idx) in that of another program.
 *
 * Documents are appended in order and lie in one file whole; a file ends before the document that would make it longer than asked. All
 * files of a set get their names together at the end, so a set that is there is complete. */
#ifndef TT_DATA_TOKEN_SET_H
#define TT_DATA_TOKEN_SET_H

#include "data/token_files.h"

typedef struct tt_token_set_opts {
    const char *prefix; /* borrowed until create returns */
    tt_token_kind kind;
    int64_t shard_tokens; /* a file has at most so many, if its documents are shorter; 0: 2^30 */
    tt_shard_info info;   /* token_bytes 0: 2 when the vocabulary fits, else 4; bos and eos go around each document, -1: nothing */
} tt_token_set_opts;

typedef struct tt_token_set tt_token_set;

/** Begin a set. Errors: TT_ERR_CONFIG (ids that the width cannot hold), TT_ERR_IO (files of such a set are there), TT_ERR_NOMEM. */
tt_status tt_token_set_create(const tt_token_set_opts *opts, tt_token_set **set, tt_error *err);
/** Append a document of n > 0 ids and its marks. Errors: TT_ERR_DATA (an id outside the vocabulary; too long for llm.c), TT_ERR_IO. */
tt_status tt_token_set_add(tt_token_set *set, const int32_t *ids, size_t n, tt_error *err);
/** All is there: finish the files and give them their names. On failure none has it. Errors: TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_token_set_finish(tt_token_set *set, tt_error *err);
/** Free; a set that is not finished leaves nothing. Accepts NULL. */
void tt_token_set_close(tt_token_set **set);

/** Tokens (marks included), documents, files and bytes of an id so far. */
int64_t tt_token_set_tokens(const tt_token_set *set);
int64_t tt_token_set_documents(const tt_token_set *set);
int tt_token_set_files(const tt_token_set *set);
int tt_token_set_token_bytes(const tt_token_set *set);
/** Name of file i; for messages, overwritten by the next call on the set. */
const char *tt_token_set_path(tt_token_set *set, int i);

#endif
