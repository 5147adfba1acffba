/* titan's token shards: one file of tokens that checks itself.
 *
 *     0       header, 4096 bytes (below), little-endian like all else
 *     4096    tokens, u16 or u32
 *     starts  u64 of each document: its first token; `starts` is the end of the tokens, rounded up to 8
 *     sums    u64 of each block of 64 KiB of the bytes 4096 .. sums: their XXH3-64 (the last block is shorter)
 *
 * A document is its tokens with the marks that were asked for (BOS before, EOS behind); it lies in one shard whole. Reading is by
 * pread, any number of threads at once, and a block is checked when it is first read; what is held in memory is one bit a block, so a
 * shard of any size opens at once. */
#ifndef TT_DATA_SHARD_H
#define TT_DATA_SHARD_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define TT_SHARD_MAGIC "titantok"
enum { TT_SHARD_VERSION = 1, TT_SHARD_HEADER = 4096, TT_SHARD_BLOCK = 65536, TT_SHARD_NAME = 256 };

/* What the header says, at these offsets (integers unless said otherwise):
 *   0 magic  8 u32 version  12 u32 token_bytes  16 u64 vocab  24 i32 bos  28 i32 eos  32 tokenizer (16 bytes)  48 u64 tokens
 *   56 u64 documents  64 u64 starts  72 u64 sums  80 u64 file bytes  88 u32 block bytes  128 name (256 bytes)  4088 u64 XXH3-64 of 0..4087 */
typedef struct tt_shard_info {
    int token_bytes;             /* 2 or 4 */
    int64_t vocab;               /* ids are 0 .. vocab-1 */
    int32_t bos, eos;            /* the marks put around documents; -1: none */
    unsigned char tokenizer[16]; /* tt_tokenizer_identity; zeros: unknown */
    char name[TT_SHARD_NAME];    /* the tokenizer as it was called, for messages */
    int64_t tokens, documents;   /* set by the writer */
} tt_shard_info;

/* --- writing ------------------------------------------------------------------------------------------------------------------------ */

typedef struct tt_shard_writer tt_shard_writer;

/** Begin the shard PATH; info (copied) says everything but the counts. Errors: TT_ERR_IO (PATH exists, …), TT_ERR_DATA (ids that the
 *  token bytes cannot hold), TT_ERR_NOMEM. */
tt_status tt_shard_create(const char *path, const tt_shard_info *info, tt_shard_writer **writer, tt_error *err);
/** Append a document as it is (marks included), n > 0. Errors: TT_ERR_DATA (an id outside [0, vocab)), TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_shard_add(tt_shard_writer *writer, const int32_t *ids, size_t n, tt_error *err);
/** All is there: write the tables and the header, sync. The file has its temporary name until tt_shard_publish. */
tt_status tt_shard_finish(tt_shard_writer *writer, tt_error *err);
/** Give it its name. */
tt_status tt_shard_publish(tt_shard_writer *writer, tt_error *err);
/** Take its name back (remove it). */
void tt_shard_withdraw(tt_shard_writer *writer);
/** Free; what is not published is removed. Accepts NULL. */
void tt_shard_writer_close(tt_shard_writer **writer);

/* --- reading ------------------------------------------------------------------------------------------------------------------------ */

typedef struct tt_shard tt_shard;

/** Open PATH and check its header. Errors: TT_ERR_DATA (no shard, another version, a damaged header, a file that is cut off: each says
 *  so), TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_shard_open(const char *path, tt_shard **shard, tt_error *err);
/** Close; accepts NULL. */
void tt_shard_close(tt_shard **shard);
/** The header (lent). */
const tt_shard_info *tt_shard_header(const tt_shard *shard);
/** Copy tokens first .. first+n-1, which must exist, to out[n]. Pure but for the bits of checked blocks; any threads.
 *  Errors: TT_ERR_DATA (a block is damaged; an id >= vocab: with its position), TT_ERR_IO. */
tt_status tt_shard_read(tt_shard *shard, int64_t first, int64_t n, int32_t *out, tt_error *err);
/** begins[i] = 1 where token first+i begins a document, else 0. O(log documents + documents in the range). Errors: as tt_shard_read. */
tt_status tt_shard_documents(tt_shard *shard, int64_t first, int64_t n, uint8_t *begins, tt_error *err);
/** First token of document d, 0 <= d <= documents (the number of tokens for the last). Errors: as tt_shard_read. */
tt_status tt_shard_start(tt_shard *shard, int64_t d, int64_t *token, tt_error *err);
/** Check every block; *bad (may be NULL) becomes the number of damaged ones, err the first. Errors: TT_ERR_DATA, TT_ERR_IO. */
tt_status tt_shard_verify(tt_shard *shard, int64_t *bad, tt_error *err);

#endif
