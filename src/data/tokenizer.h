/* Tokenizers: text to ids and back, behind one interface.
 *
 * "byte" needs no file: ids 0..255 are the bytes, 256 begins a document, 257 ends it. */
#ifndef TT_DATA_TOKENIZER_H
#define TT_DATA_TOKENIZER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_tokenizer tt_tokenizer;

/** Open the tokenizer called `name` ("byte"). Errors: TT_ERR_CONFIG (unknown; lists what there is). */
tt_status tt_tokenizer_open(const char *name, tt_tokenizer **tokenizer, tt_error *err);
/** Close; accepts NULL. */
void tt_tokenizer_close(tt_tokenizer **tokenizer);

/** Its name, for messages; borrowed. */
const char *tt_tokenizer_name(const tt_tokenizer *tokenizer);
/** Number of ids; ids are 0 .. vocab-1. */
int32_t tt_tokenizer_vocab(const tt_tokenizer *tokenizer);
/** Id that begins and that ends a document, -1 when there is none. */
int32_t tt_tokenizer_bos(const tt_tokenizer *tokenizer);
int32_t tt_tokenizer_eos(const tt_tokenizer *tokenizer);

/** Ids of text[bytes], without BOS and EOS: *ids is malloc'd (caller frees), *n their number.
 *  Errors: TT_ERR_NOMEM. Pure; may be called from several threads. */
tt_status tt_tokenizer_encode(const tt_tokenizer *tokenizer, const char *text, size_t bytes, int32_t **ids, size_t *n,
                              tt_error *err);

/** Text of ids[n], special ids left out: *text is malloc'd (caller frees) and ends with an extra NUL; *bytes its length.
 *  Errors: TT_ERR_DATA (an id outside the vocabulary), TT_ERR_NOMEM. */
tt_status tt_tokenizer_decode(const tt_tokenizer *tokenizer, const int32_t *ids, size_t n, char **text, size_t *bytes,
                              tt_error *err);

#endif
