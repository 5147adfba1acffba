/* What a kind of tokenizer provides: a constant table of functions over its own state. */
#ifndef TT_DATA_TOKENIZER_PRIV_H
#define TT_DATA_TOKENIZER_PRIV_H

#include "data/bpe.h"
#include "data/tokenizer.h"

typedef struct tt_tokenizer_kind {
    /* Append the ids of a text, no BOS, no EOS. */
    tt_status (*encode)(const void *self, const unsigned char *text, size_t bytes, tt_ids *ids, tt_error *err);
    /* Bytes of an id (borrowed), NULL when it stands for nothing; *special tells whether it is left out on request. */
    const unsigned char *(*token)(const void *self, int32_t id, size_t *n, int *special);
    int32_t (*find)(const void *self, const char *text, size_t bytes); /* -1: there is none */
    void (*destroy)(void *self);
    int raw; /* decoded bytes are not made UTF-8, and ids outside are refused */
} tt_tokenizer_kind;

enum { TT_MAX_AROUND = 8 };

struct tt_tokenizer {
    const tt_tokenizer_kind *kind;
    void *self; /* owned */
    char *name; /* owned */
    int32_t vocab;
    int32_t bos, eos;         /* of the configuration, -1 */
    int add_bos, add_eos;     /* what the configuration wants by itself */
    int32_t before[TT_MAX_AROUND], after[TT_MAX_AROUND]; /* what the post-processor puts around a text */
    int n_before, n_after;
    uint64_t hash;
};

extern const tt_tokenizer_kind tt_tokenizer_byte;

/** Fill t from a folder or a file. Errors as tt_tokenizer_open. */
tt_status tt_tokenizer_open_files(const char *name, tt_tokenizer *t, tt_error *err);

/** FNV-1a of data[n], going on from `hash`. */
uint64_t tt_tokenizer_hash_more(uint64_t hash, const void *data, size_t n);

#endif
