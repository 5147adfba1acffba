/* A source: one stream of tokens with its documents, thought of as repeated without end.
 *
 * Three kinds stand behind it, chosen by what the path names:
 *   token files (titan's shards, llm.c, nanoGPT, Megatron): read where they lie, any position at once;
 *   a little text: tokenized when it is opened and held in memory, any position at once;
 *   much text: tokenized as it is read, onwards only; going back means reading again from the beginning.
 * Documents follow each other in the byte order of their files' names; each gives BOS, its tokens, EOS (what the tokenizer
 * has of them). So every rank of every run sees the same stream. */
#ifndef TT_DATA_SOURCE_H
#define TT_DATA_SOURCE_H

#include "data/tokenizer.h"

typedef struct tt_source tt_source;

typedef struct tt_source_opts {
    const tt_tokenizer *tokenizer; /* borrowed for the source's life */
    int64_t vocab;                 /* rows of the model's embedding; 0 = do not check */
    const char *key;               /* config section for messages: "training" or "validation" */
    const char *field;             /* field of JSON lines; NULL: "text" */
    int repair_utf8;               /* 1: ill-formed UTF-8 becomes U+FFFD; 0: it is refused. Bytes are kept for "byte" */
    int64_t memory_bytes;          /* text up to this size is held in memory; 0: 256 MiB */
} tt_source_opts;

/** Open what `path` names: a file, a folder or a glob pattern. Not collective.
 *  Errors: TT_ERR_DATA (no file matches, all are empty, text and token files mixed, an id >= vocab, a shard of another
 *  tokenizer: names file and position), TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_source_open(const char *path, const tt_source_opts *opts, tt_source **source, tt_error *err);
void tt_source_close(tt_source **source); /* accepts NULL */

/** Tokens and documents of one pass, BOS and EOS included; -1 when that is known only after reading it (much text). */
int64_t tt_source_tokens(const tt_source *source);
int64_t tt_source_documents(const tt_source *source);
/** One line for the log: what it is and what it holds. Lent. */
const char *tt_source_describe(const tt_source *source);

/** Tokens at .. at+n-1 of the endless stream. begins[i] (may be NULL) is 1 when token at+i is the first of its document.
 *  May be called from several threads. Errors: TT_ERR_DATA (damage, an id >= vocab: file and position), TT_ERR_IO. */
tt_status tt_source_read(tt_source *source, int64_t at, int64_t n, int32_t *tokens, uint8_t *begins, tt_error *err);

/** A bookmark: text by which a later tt_source_seek goes to `at` without tokenizing what is before it. malloc'd; NULL when the
 *  source needs none. */
char *tt_source_bookmark(tt_source *source, int64_t at);
/** Go to position `at`, where reading will go on; bookmark may be NULL. Says in the log what it re-reads and how long that
 *  took, when it is more than a moment. A bookmark of other files is not used, with a warning. Errors: as tt_source_read. */
tt_status tt_source_seek(tt_source *source, int64_t at, const char *bookmark, tt_error *err);

#endif
