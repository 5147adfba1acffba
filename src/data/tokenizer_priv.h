/* What a kind of tokenizer provides: a constant table. */
#ifndef TT_DATA_TOKENIZER_PRIV_H
#define TT_DATA_TOKENIZER_PRIV_H

#include "data/tokenizer.h"

typedef struct tt_tokenizer_kind {
    const char *name;
    int32_t vocab, bos, eos;
    tt_status (*encode)(const char *text, size_t bytes, int32_t **ids, size_t *n, tt_error *err);
    tt_status (*decode)(const int32_t *ids, size_t n, char **text, size_t *bytes, tt_error *err);
} tt_tokenizer_kind;

extern const tt_tokenizer_kind tt_tokenizer_byte;

#endif
