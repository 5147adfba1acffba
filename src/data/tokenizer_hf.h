/* The inside of a byte-level BPE tokenizer, shared by the readers of its file formats: text → added tokens (raw) → NFC → added
 * tokens (normalised) → pieces → ids. */
#ifndef TT_DATA_TOKENIZER_HF_H
#define TT_DATA_TOKENIZER_HF_H

#include "data/pretokenize.h"
#include "data/tokenizer_priv.h"

enum { TT_MAX_STAGES = 8 };

typedef struct tt_added {
    char *content; /* owned; what stands in a text */
    size_t n;
    int32_t id; /* given to tt_hf_add_added: 0, or the id that a new token must get */
    int single_word, lstrip, rstrip, normalized, special;
} tt_added;

/* Tokens to look for in one pass: sorted by their text. */
typedef struct tt_added_set {
    const tt_added **sorted; /* owned array, borrowed tokens; NULL when n is 0 */
    char **match;            /* owned: the text of each, normalised */
    size_t *length;
    size_t n;
    unsigned char first[256]; /* bytes that a token begins with */
    int only;                 /* the one such byte, else -1 */
} tt_added_set;

typedef struct tt_hf {
    tt_bpe *bpe;
    int32_t vocab_count; /* tokens of the vocabulary proper; set before the first added token */
    int32_t *spelled; /* owned: vocabulary tokens outside the byte alphabet, n_spelled; few */
    int32_t n_spelled;
    int nfc;
    tt_stage stages[TT_MAX_STAGES];
    int n_stages;
    tt_added *added; /* owned, n_added */
    size_t n_added;
    tt_added_set raw, normalized;
    unsigned char *special; /* owned: by id, vocab entries; 1 when left out on request */
    int32_t n_special;
} tt_hf;

extern const tt_tokenizer_kind tt_tokenizer_hf;

/** An empty tokenizer; the kind's destroy frees it. Errors: TT_ERR_NOMEM. */
tt_status tt_hf_create(tt_hf **hf, tt_error *err);

/** Bytes of a token as tokenizer.json spells it (each byte a printable character): to out[n]; returns 1 and their number, or 0
 *  and the text itself when a character is not of that alphabet. Source: GPT-2's bytes_to_unicode. */
int tt_bytes_of_spelling(const char *text, size_t n, unsigned char *out, size_t *bytes);
/** The spelling of bytes[n]: 2 bytes of room for each; returns its length. */
size_t tt_spelling_of_bytes(const unsigned char *bytes, size_t n, char *out);

/** Add a token of tokenizer.json's vocab. Errors as tt_bpe_add_token. */
tt_status tt_hf_add_vocab(tt_hf *hf, const char *spelling, size_t n, int32_t id, tt_error *err);
/** Id of a vocab or added token by its spelling, -1. */
int32_t tt_hf_find(const void *hf, const char *spelling, size_t n);

/** Add an added token as the library does: one that exists already keeps its id (the later flags win), a new one gets the id behind
 *  all others. *id is the result. Errors: TT_ERR_NOMEM. */
tt_status tt_hf_add_added(tt_hf *hf, const tt_added *token, int32_t *id, tt_error *err);

/** All added tokens are in: build the sets. Errors: TT_ERR_NOMEM. */
tt_status tt_hf_finish(tt_hf *hf, tt_error *err);

/** Called for what stands between added tokens (id -1) and for each of them. */
typedef tt_status (*tt_added_sink)(void *ctx, int32_t id, const unsigned char *text, size_t n, tt_error *err);
/** Split s[n] at the tokens of the set. Errors: the sink's. */
tt_status tt_added_split(const tt_added_set *set, const unsigned char *s, size_t n, tt_added_sink sink, void *ctx, tt_error *err);
tt_status tt_added_set_build(tt_added_set *set, const tt_added *tokens, size_t n, int normalized, int nfc, tt_error *err);
void tt_added_set_free(tt_added_set *set);

/** Read an object of spellings and ids, the vocabulary. Errors: TT_ERR_DATA (file and byte), TT_ERR_NOMEM. */
tt_status tt_hf_read_vocab(tt_hf *hf, const char *text, size_t n, const char *path, tt_error *err);

/** Readers of the formats: fill a new tokenizer. `text` is the file, `path` its name for messages. Errors as tt_tokenizer_open. */
tt_status tt_hf_read_json(tt_hf *hf, tt_tokenizer *t, const char *text, size_t n, const char *path, tt_error *err);
tt_status tt_hf_read_vocab_merges(tt_hf *hf, const char *vocab, size_t n_vocab, const char *vocab_path, const char *merges,
                                  size_t n_merges, const char *merges_path, tt_error *err);
tt_status tt_hf_read_ranks(tt_hf *hf, tt_tokenizer *t, const char *text, size_t n, const char *path, tt_error *err);

#endif
