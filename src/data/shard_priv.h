/* Between the writer and the reader of shards: the header's bytes. */
#ifndef TT_DATA_SHARD_PRIV_H
#define TT_DATA_SHARD_PRIV_H

#include "data/shard.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "token files are copied as they are: little-endian machines only");

enum {
    TT_AT_VERSION = 8, TT_AT_WIDTH = 12, TT_AT_VOCAB = 16, TT_AT_BOS = 24, TT_AT_EOS = 28, TT_AT_TOKENIZER = 32, TT_AT_TOKENS = 48,
    TT_AT_DOCUMENTS = 56, TT_AT_STARTS = 64, TT_AT_SUMS = 72, TT_AT_BYTES = 80, TT_AT_BLOCK = 88, TT_AT_NAME = 128,
    TT_AT_CHECK = TT_SHARD_HEADER - 8
};

static inline uint64_t tt_get64(const void *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static inline uint32_t tt_get32(const void *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

#endif
