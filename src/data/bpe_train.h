/* Learn the merges of a byte-level BPE from texts, and write them as tokenizer.json. The result is that of the tokenizers
 * library's BpeTrainer with the byte alphabet. */
#ifndef TT_DATA_BPE_TRAIN_H
#define TT_DATA_BPE_TRAIN_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tt_bpe_trainer tt_bpe_trainer;

typedef struct tt_bpe_train_opts {
    int32_t vocab_size;    /* special tokens, 256 bytes and merges together; at least the first two */
    int64_t min_frequency; /* a pair that is seen less often is not merged */
    const char *pattern;   /* where texts are cut: "gpt2", "llama3", "qwen2" or "o200k" */
    const char *const *special; /* n_special texts, ids from 0; borrowed until destroyed */
    int n_special;
} tt_bpe_train_opts;

/** Errors: TT_ERR_USAGE (vocab_size, pattern), TT_ERR_NOMEM. */
tt_status tt_bpe_trainer_create(const tt_bpe_train_opts *opts, tt_bpe_trainer **trainer, tt_error *err);
void tt_bpe_trainer_destroy(tt_bpe_trainer **trainer); /* accepts NULL */

/** Count the pieces of one text (ill-formed UTF-8 becomes U+FFFD). Errors: TT_ERR_NOMEM. */
tt_status tt_bpe_trainer_add(tt_bpe_trainer *trainer, const char *text, size_t n, tt_error *err);

/** Learn: merge the pair seen most often (of several, the one of the smallest ids) until the vocabulary is full or no pair is
 *  frequent enough. Errors: TT_ERR_NOMEM. Source: Sennrich, Haddow, Birch 2016, arXiv:1508.07909. */
tt_status tt_bpe_trainer_run(tt_bpe_trainer *trainer, tt_error *err);

/** Number of merges, and the spelling "left right" of the i-th (lent). */
int64_t tt_bpe_trainer_merges(const tt_bpe_trainer *trainer);
const char *tt_bpe_trainer_merge(const tt_bpe_trainer *trainer, int64_t i);
int32_t tt_bpe_trainer_vocab(const tt_bpe_trainer *trainer);

/** Write tokenizer.json. Errors: TT_ERR_IO, TT_ERR_NOMEM. */
tt_status tt_bpe_trainer_write(const tt_bpe_trainer *trainer, const char *path, tt_error *err);

#endif
