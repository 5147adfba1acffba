/* Byte-pair encoding over bytes: the vocabulary (id <-> bytes), the merges, and the ids of one piece of text.
 *
 * Most pieces of a text have been seen before, so a piece is first looked up in a table of pieces with their ids. The table
 * is filled by whoever comes first and its slots are never changed afterwards, so threads share it without locks. */
#ifndef TT_DATA_BPE_H
#define TT_DATA_BPE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_bpe tt_bpe;

typedef struct tt_ids {
    int32_t *at; /* owned; free() it */
    size_t n, room;
} tt_ids;

/** Make room for `more` ids. Errors: TT_ERR_NOMEM. */
tt_status tt_ids_reserve(tt_ids *ids, size_t more, tt_error *err);

/** An empty vocabulary. Errors: TT_ERR_NOMEM. */
tt_status tt_bpe_create(tt_bpe **bpe, tt_error *err);
void tt_bpe_destroy(tt_bpe **bpe); /* accepts NULL */

/** Add a token: bytes[n] are copied. Tokens whose text no piece can hold (`reachable` 0) are kept for decoding only.
 *  Errors: TT_ERR_DATA (id negative or over 2^24, id or bytes given twice), TT_ERR_NOMEM. */
tt_status tt_bpe_add_token(tt_bpe *bpe, int32_t id, const void *bytes, size_t n, int reachable, tt_error *err);

/** All tokens are in: builds the table of bytes. Errors: TT_ERR_NOMEM, TT_ERR_DATA (bytes given twice). */
tt_status tt_bpe_index(tt_bpe *bpe, tt_error *err);

/** Add the merge of tokens a and b with a rank (the lowest goes first); their joined bytes must be a token. The same pair again
 *  takes the later rank. Errors: TT_ERR_DATA. */
tt_status tt_bpe_add_merge(tt_bpe *bpe, int32_t a, int32_t b, uint32_t rank, tt_error *err);
/** The same when the joined token is known to be `joined`. Errors: TT_ERR_NOMEM. */
tt_status tt_bpe_put_merge(tt_bpe *bpe, int32_t a, int32_t b, uint32_t rank, int32_t joined, tt_error *err);

/** When set, a piece that is a token is that token, whatever the merges say. */
void tt_bpe_set_ignore_merges(tt_bpe *bpe, int on);
/** Id for bytes that are no token (-1, the default: they are left out); with `fuse`, one id for a run of them. */
void tt_bpe_set_unknown(tt_bpe *bpe, int32_t id, int fuse);

/** Largest id + 1, and the number of tokens. */
int32_t tt_bpe_size(const tt_bpe *bpe);
int32_t tt_bpe_count(const tt_bpe *bpe);
/** Id of a reachable token, -1 when there is none. */
int32_t tt_bpe_find(const tt_bpe *bpe, const void *bytes, size_t n);
/** Bytes of a token (borrowed); NULL when the id does not exist. */
const unsigned char *tt_bpe_token(const tt_bpe *bpe, int32_t id, size_t *n);

/** Append the ids of one piece. May be called from several threads. Errors: TT_ERR_NOMEM. */
tt_status tt_bpe_encode(const tt_bpe *bpe, const unsigned char *piece, size_t n, tt_ids *ids, tt_error *err);

#endif
