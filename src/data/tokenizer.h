/* Tokenizers: text to ids and back, behind one interface.
 *
 * "byte" needs no file: ids 0..255 are the bytes, 256 begins a document, 257 ends it. Anything else names files of a
 * published byte-level BPE tokenizer, whose ids are those that the tokenizers library gives:
 *   a folder with tokenizer.json, or with vocab.json and merges.txt, or with tokenizer.model (a rank file);
 *   such a tokenizer.json, or a rank file (tokenizer.model of Llama 3 and 4, *.tiktoken) itself.
 * tokenizer_config.json beside it names the tokens that begin and end a document. */
#ifndef TT_DATA_TOKENIZER_H
#define TT_DATA_TOKENIZER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_tokenizer tt_tokenizer;

/** Open the tokenizer called `name` ("byte", a folder or a file, see above). Truncation and padding that the file asks for are
 *  not applied, with a warning. Errors: TT_ERR_CONFIG (unknown; lists what there is), TT_ERR_IO, TT_ERR_DATA (a damaged file, a kind
 *  of tokenizer that titan does not have, such as SentencePiece), TT_ERR_NOMEM. */
tt_status tt_tokenizer_open(const char *name, tt_tokenizer **tokenizer, tt_error *err);
/** Close; accepts NULL. */
void tt_tokenizer_close(tt_tokenizer **tokenizer);

/** Its name, for messages; borrowed. */
const char *tt_tokenizer_name(const tt_tokenizer *tokenizer);
/** Number of ids; ids are 0 .. vocab-1 (some may stand for nothing). */
int32_t tt_tokenizer_vocab(const tt_tokenizer *tokenizer);
/** Id that begins and that ends a document, -1 when there is none: bos_token and eos_token of tokenizer_config.json, else what the
 *  post-processor puts first and last. */
int32_t tt_tokenizer_bos(const tt_tokenizer *tokenizer);
int32_t tt_tokenizer_eos(const tt_tokenizer *tokenizer);
/** Id of the token with this text (a special token, or one of the vocabulary), -1 when there is none. */
int32_t tt_tokenizer_find(const tt_tokenizer *tokenizer, const char *text, size_t bytes);
/** A number that is the same only for the same files: tells token caches of two tokenizers apart. */
uint64_t tt_tokenizer_hash(const tt_tokenizer *tokenizer);
/** XXH3-128 over what each id stands for: the same for tokenizers whose ids mean the same texts, however their files are written and
 *  wherever they cut. Token files carry it. Errors: TT_ERR_NOMEM. */
tt_status tt_tokenizer_identity(const tt_tokenizer *tokenizer, unsigned char identity[16], tt_error *err);

/** Ids of text[bytes], without BOS and EOS: *ids is malloc'd (caller frees), *n their number. Added tokens that stand in the text
 *  become their ids. What is no UTF-8 becomes U+FFFD first, one for each maximal ill-formed part (not for "byte").
 *  Errors: TT_ERR_NOMEM. Pure; may be called from several threads. */
tt_status tt_tokenizer_encode(const tt_tokenizer *tokenizer, const char *text, size_t bytes, int32_t **ids, size_t *n,
                              tt_error *err);

/* What goes around the ids of a text. */
typedef struct tt_encode_opts {
    int post_process;     /* 1: with the special tokens that the post-processor adds */
    int add_bos, add_eos; /* 1 or 0; -1: as add_bos_token and add_eos_token of tokenizer_config.json say. BOS and EOS are those of
                             that file, and neither is added when the post-processor adds it */
} tt_encode_opts;

/** As tt_tokenizer_encode, with BOS and EOS by opts. */
tt_status tt_tokenizer_encode_as(const tt_tokenizer *tokenizer, const char *text, size_t bytes, const tt_encode_opts *opts,
                                 int32_t **ids, size_t *n, tt_error *err);

/** Text of ids[n], special ids left out: *text is malloc'd (caller frees) and ends with an extra NUL; *bytes its length. Ill-formed
 *  UTF-8 becomes U+FFFD, and ids that stand for nothing give nothing, as in the tokenizers library; "byte" gives the bytes as they
 *  are, and refuses an id outside the vocabulary. Errors: TT_ERR_DATA, TT_ERR_NOMEM. */
tt_status tt_tokenizer_decode(const tt_tokenizer *tokenizer, const int32_t *ids, size_t n, char **text, size_t *bytes,
                              tt_error *err);
/** The same, special ids kept as their text when keep_special is not 0. */
tt_status tt_tokenizer_decode_as(const tt_tokenizer *tokenizer, const int32_t *ids, size_t n, int keep_special, char **text,
                                 size_t *bytes, tt_error *err);

/* Ids come one by one, text goes out as soon as its characters are whole. */
typedef struct tt_decoder {
    const tt_tokenizer *tokenizer; /* borrowed */
    int keep_special;
    unsigned char pending[4]; /* the begin of a character */
    int n_pending;
    char *text; /* owned: what the last call gave */
} tt_decoder;

/** Text that the next id completes: *text (lent until the next call) is always well-formed UTF-8, and all of it joined is the
 *  decoded text of all ids, ill-formed parts as U+FFFD. Errors: as tt_tokenizer_decode. */
tt_status tt_decoder_push(tt_decoder *decoder, int32_t id, const char **text, size_t *bytes, tt_error *err);
/** No more ids: U+FFFD when a character was cut, else nothing (*text lent). Frees nothing. */
void tt_decoder_finish(tt_decoder *decoder, const char **text, size_t *bytes);
/** Free what the decoder holds. */
void tt_decoder_close(tt_decoder *decoder);

#endif
